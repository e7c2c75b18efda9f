/*
 * The interface between fiord and an engine in a shared library:
 *
 *     ioengine=external:/path/to/library.so
 *
 * This is version 1. docs/external-engines.md explains it with an example.
 *
 * A library exports all functions below except fiord_engine_explain, which is optional. Each job has an
 * engine of its own, which one thread creates, uses and closes. Different jobs use their engines at the
 * same time, so data that they share needs locks.
 *
 * Functions return a negative errno for a failure, unless their comment says otherwise.
 */
#ifndef FIORD_ENGINE_H
#define FIORD_ENGINE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. */
#define FIORD_ENGINE_API 1

/* What an op does. */
enum fiord_op_kind {
	FIORD_READ = 0,      /* fills the buffer from the file */
	FIORD_WRITE = 1,     /* writes the buffer to the file */
	FIORD_TRIM = 2,      /* deallocates the range; no buffer */
	FIORD_FSYNC = 3,     /* makes all earlier writes durable; no range, no buffer */
	FIORD_FDATASYNC = 4, /* makes all earlier writes durable, without metadata; no range, no buffer */
};

/* What an engine is created for. */
struct fiord_config {
	uint32_t struct_bytes; /* sizeof(struct fiord_config) of this fiord */
	uint32_t depth;        /* ops in flight at most; slots are 0 .. depth - 1 */
	uint32_t files;        /* files at most; their numbers are 0 .. files - 1 */
	uint32_t direct;       /* 1: files are open with O_DIRECT */
	uint64_t buffer_bytes; /* length of each slot's buffer */
	void *buffers;         /* the buffer of slot n begins at buffers + n * stride */
	uint64_t stride;
};

/* A file or device that fiord has opened. */
struct fiord_file {
	uint32_t struct_bytes; /* sizeof(struct fiord_file) of this fiord */
	int32_t fd;            /* stays open until the file is detached */
	uint64_t offset;       /* first byte that the job uses */
	uint64_t bytes;        /* number of bytes that the job uses */
	uint32_t read_only;    /* 1: open without write access */
	uint32_t reserved;
};

/* One I/O. */
struct fiord_op {
	uint32_t slot;   /* has no other op in flight */
	uint32_t kind;   /* enum fiord_op_kind */
	uint32_t file;   /* is attached */
	uint32_t bytes;
	uint64_t offset;
	void *data;      /* in the slot's buffer, or NULL for an op without buffer */
};

/* How an op ended. */
struct fiord_completion {
	uint32_t slot;
	uint32_t reserved;
	int64_t result;  /* bytes transferred (0 for ops without buffer), or a negative errno */
};

/* Returns FIORD_ENGINE_API. */
uint32_t fiord_engine_api(void);

/* Creates the engine of a job. Returns 0. */
int fiord_engine_open(const struct fiord_config *config, void **engine);

/* Makes a file known. Returns 0. */
int fiord_engine_attach(void *engine, uint32_t file, const struct fiord_file *info);

/* Forgets a file. No op on it is in flight. Returns 0. */
int fiord_engine_detach(void *engine, uint32_t file);

/*
 * Accepts an op, which must complete exactly once through fiord_engine_reap. Until then the engine may
 * use the buffer. Returns 0; -EAGAIN if there is no room until another op completes; another negative
 * errno if the op has failed with it.
 *
 * The struct is valid only during the call.
 */
int fiord_engine_queue(void *engine, const struct fiord_op *op);

/* Submits the ops that were queued. Returns their number. A failure ends the job. */
int fiord_engine_flush(void *engine);

/*
 * Submits what was queued, waits until min ops have completed (min is never more than are in flight) or
 * timeout_ns has passed (-1: no limit), and stores at most max completions. Returning early is
 * allowed. Returns the number of completions. A failure ends the job.
 */
int fiord_engine_reap(void *engine, uint32_t min, uint32_t max, int64_t timeout_ns,
		      struct fiord_completion *completions);

/*
 * Ends the engine. Waits until nothing uses the buffers, and drops the completions of ops in flight.
 * Returns 0. After a failure, fiord keeps the memory of the buffers.
 */
int fiord_engine_close(void *engine);

/*
 * Optional. Explains why the last op of a slot failed, in one line, or returns NULL. The text stays
 * valid until the next call.
 */
const char *fiord_engine_explain(void *engine, uint32_t slot);

#ifdef __cplusplus
}
#endif

#endif
