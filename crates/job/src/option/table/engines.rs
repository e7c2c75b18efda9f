//! The I/O engines.

use crate::option::def::{EngineDef, Support, Word};

/// Declares a synchronous engine, which completes each I/O before it accepts the next one.
const fn one_by_one(name: &'static str, doc: &'static str) -> EngineDef {
    EngineDef { name, aliases: &[], doc, support: Support::Built, synchronous: true }
}

/// Declares an asynchronous engine, which can have many I/Os in flight.
const fn queueing(name: &'static str, doc: &'static str) -> EngineDef {
    EngineDef { name, aliases: &[], doc, support: Support::Built, synchronous: false }
}

const fn later(engine: EngineDef) -> EngineDef {
    EngineDef { support: Support::Later, ..engine }
}

pub(super) const ENGINES: &[EngineDef] = &[
    one_by_one("psync", "`pread(2)` and `pwrite(2)`. This is the default."),
    one_by_one("sync", "`lseek(2)`, then `read(2)` or `write(2)`."),
    one_by_one("vsync", "`readv(2)` and `writev(2)`, with adjacent I/Os combined into one call."),
    one_by_one("pvsync", "`preadv(2)` and `pwritev(2)`."),
    one_by_one("pvsync2", "`preadv2(2)` and `pwritev2(2)`, which accept flags for each call."),
    EngineDef {
        aliases: &["aio", "linuxaio"],
        ..queueing("libaio", "Linux native AIO through its system calls.")
    },
    queueing(
        "io_uring",
        "`io_uring`, Linux's current asynchronous interface, with rings shared \
                          with the kernel.",
    ),
    queueing("io_uring_cmd", "NVMe or SCSI commands, passed through `io_uring`."),
    later(queueing("posixaio", "POSIX asynchronous I/O: `aio_read(3)` and `aio_write(3)`.")),
    one_by_one("mmap", "Maps the file into memory and copies data from and to the mapping."),
    later(one_by_one("splice", "`splice(2)` and `vmsplice(2)` through a pipe.")),
    queueing("sg", "SCSI commands through version 3 of the SCSI generic driver."),
    queueing(
        "null",
        "Completes every I/O immediately without moving data. It measures fiord \
                      itself.",
    ),
    queueing("sim", "A simulated device with a seeded model of latencies and faults."),
    later(one_by_one("net", "Sends or receives data over a network socket.")),
    later(one_by_one(
        "netsplice",
        "Sends or receives data over a network socket with `splice(2)`.",
    )),
    later(one_by_one("cpuio", "Burns CPU time and does no I/O.")),
    later(queueing("rdma", "Remote memory access or messages over InfiniBand, RoCE or iWARP.")),
    later(one_by_one(
        "falloc",
        "Each I/O is an `fallocate(2)` that reserves space, extends the \
                                file or punches a hole.",
    )),
    later(one_by_one(
        "ftruncate",
        "Each write truncates or extends the file to the write's offset.",
    )),
    later(one_by_one("e4defrag", "Each write exchanges extents with a donor file on ext4.")),
    later(queueing("rados", "Objects in a Ceph cluster, through librados.")),
    later(queueing("rbd", "Block images in a Ceph cluster, through librbd.")),
    later(one_by_one("http", "Objects on a WebDAV, S3 or Swift server.")),
    later(one_by_one("gfapi", "Files of a GlusterFS volume, with one synchronous call at a time.")),
    later(queueing("gfapi_async", "Files of a GlusterFS volume, with asynchronous calls.")),
    later(one_by_one("mtd", "Raw flash through its character device. Trims erase blocks.")),
    later(one_by_one("dev-dax", "Persistent memory through its DAX character device.")),
    later(one_by_one(
        "libpmem",
        "A mapped file in persistent memory, with flushes from user space.",
    )),
    later(queueing("libiscsi", "An iSCSI logical unit, without the kernel's initiator.")),
    later(queueing("nbd", "A network block device, without the kernel's client.")),
    later(queueing("nfs", "Files of an NFS server, without the kernel's client.")),
    later(one_by_one("libzbc", "A zoned device, through libzbc.")),
    later(one_by_one("libhdfs", "Files of a Hadoop file system, through libhdfs.")),
    later(queueing("dfs", "Files of a DAOS file system, through libdfs.")),
    later(queueing("xnvme", "NVMe devices, through the xNVMe library.")),
    later(queueing("libblkio", "Block devices, through the libblkio library.")),
    later(one_by_one("libcufile", "Files, with data directly in the memory of NVIDIA GPUs.")),
    later(one_by_one("libhipfile", "Files, with data directly in the memory of AMD GPUs.")),
    later(one_by_one("ime_psync", "DDN's Infinite Memory Engine, with one call per I/O.")),
    later(one_by_one(
        "ime_psyncv",
        "DDN's Infinite Memory Engine, with adjacent I/Os combined into \
                                    one call.",
    )),
    later(queueing("ime_aio", "DDN's Infinite Memory Engine, with asynchronous calls.")),
    later(one_by_one("exec", "Runs another program for the duration of the job.")),
    later(one_by_one("page_fault", "Each I/O touches anonymous memory and causes a page fault.")),
    later(one_by_one("filecreate", "Each I/O creates a file.")),
    later(one_by_one("filestat", "Each I/O reads the attributes of a file.")),
    later(one_by_one("filedelete", "Each I/O removes a file.")),
    later(one_by_one("dircreate", "Each I/O creates a directory.")),
    later(one_by_one("dirstat", "Each I/O reads the attributes of a directory.")),
    later(one_by_one("dirdelete", "Each I/O removes a directory.")),
];

/// The number of engine names and aliases, plus one for `external`.
const WORD_COUNT: usize = {
    let mut count = 1;
    let mut i = 0;
    while i < ENGINES.len() {
        count += 1 + ENGINES[i].aliases.len();
        i += 1;
    }
    count
};

/// The words of `ioengine`: engine names, their aliases, and `external`.
pub(super) const WORDS: [Word; WORD_COUNT] = {
    let external =
        Word::later("external", "An engine from the shared object file after the colon.");
    let mut words = [external; WORD_COUNT];
    let mut at = 0;
    let mut i = 0;
    while i < ENGINES.len() {
        let engine = &ENGINES[i];
        let support = engine.support;
        words[at] = Word { name: engine.name, means: None, doc: engine.doc, support };
        at += 1;
        let mut j = 0;
        while j < engine.aliases.len() {
            let means = Some(engine.name);
            words[at] = Word { name: engine.aliases[j], means, doc: "", support };
            at += 1;
            j += 1;
        }
        i += 1;
    }
    words
};
