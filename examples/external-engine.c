/*
 * An engine for ioengine=external: pread(2) and pwrite(2) when fiord reaps.
 *
 *     cc -O2 -shared -fPIC -I include -o example.so examples/external-engine.c
 *     fiord --name=a --ioengine=external:./example.so --size=1m --rw=randrw --iodepth=8
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "fiord-engine.h"

struct engine {
	uint32_t depth;
	int *fds;
	/* The ops that were queued, in their order. */
	struct fiord_op *ops;
	uint32_t first;
	uint32_t count;
	uint32_t unsubmitted;
};

uint32_t fiord_engine_api(void)
{
	return FIORD_ENGINE_API;
}

int fiord_engine_open(const struct fiord_config *config, void **engine)
{
	struct engine *e = calloc(1, sizeof(*e));

	if (!e)
		return -ENOMEM;
	e->depth = config->depth;
	e->fds = calloc(config->files, sizeof(*e->fds));
	e->ops = calloc(config->depth, sizeof(*e->ops));
	if (!e->fds || !e->ops) {
		free(e->fds);
		free(e->ops);
		free(e);
		return -ENOMEM;
	}
	*engine = e;
	return 0;
}

int fiord_engine_attach(void *engine, uint32_t file, const struct fiord_file *info)
{
	struct engine *e = engine;

	e->fds[file] = info->fd;
	return 0;
}

int fiord_engine_detach(void *engine, uint32_t file)
{
	struct engine *e = engine;

	e->fds[file] = -1;
	return 0;
}

int fiord_engine_queue(void *engine, const struct fiord_op *op)
{
	struct engine *e = engine;

	if (e->count == e->depth)
		return -EAGAIN;
	e->ops[(e->first + e->count++) % e->depth] = *op;
	e->unsubmitted++;
	return 0;
}

int fiord_engine_flush(void *engine)
{
	struct engine *e = engine;
	uint32_t submitted = e->unsubmitted;

	e->unsubmitted = 0;
	return submitted;
}

static int64_t carry_out(struct engine *e, const struct fiord_op *op)
{
	int fd = e->fds[op->file];
	int64_t result = -EOPNOTSUPP;

	switch (op->kind) {
	case FIORD_READ:
		result = pread(fd, op->data, op->bytes, op->offset);
		break;
	case FIORD_WRITE:
		result = pwrite(fd, op->data, op->bytes, op->offset);
		break;
	case FIORD_TRIM:
		result = fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, op->offset, op->bytes);
		break;
	case FIORD_FSYNC:
		result = fsync(fd);
		break;
	case FIORD_FDATASYNC:
		result = fdatasync(fd);
		break;
	default:
		return result;
	}
	return result < 0 ? -errno : result;
}

int fiord_engine_reap(void *engine, uint32_t min, uint32_t max, int64_t timeout_ns,
		      struct fiord_completion *completions)
{
	struct engine *e = engine;
	uint32_t n;

	(void)min;
	(void)timeout_ns;
	e->unsubmitted = 0;
	for (n = 0; n < max && e->count > 0; n++) {
		const struct fiord_op *op = &e->ops[e->first];

		completions[n].slot = op->slot;
		completions[n].result = carry_out(e, op);
		e->first = (e->first + 1) % e->depth;
		e->count--;
	}
	return n;
}

int fiord_engine_close(void *engine)
{
	struct engine *e = engine;

	free(e->fds);
	free(e->ops);
	free(e);
	return 0;
}
