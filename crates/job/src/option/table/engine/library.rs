//! Options of engines that need another project's library, which fio has only where it was built
//! with that library: the documentation is the source here.

use crate::option::def::{Category, Kind, OptionDef, Word, options_of};

options_of!(Category::Engine);

pub(in crate::option::table) const OPTIONS: &[OptionDef] = &[
    option("namenode", Kind::Text, "The host of the Hadoop name node.", "namenode=hdfs1")
        .of(&["libhdfs"])
        .later(),
    option("port", Kind::int(1, 65535), "The port of the Hadoop name node.", "port=9000")
        .of(&["libhdfs"])
        .later(),
    option(
        "hdfsdirectory",
        Kind::Text,
        "The directory in which the files are made.",
        "hdfsdirectory=/bench",
    )
    .of(&["libhdfs"])
    .later(),
    option(
        "chunk_size",
        Kind::BYTES64,
        "The size of the chunks that a file is cut into.",
        "chunk_size=1m",
    )
    .of(&["libhdfs", "dfs"])
    .later(),
    option("pool", Kind::Text, "Which DAOS pool to connect to, by label or UUID.", "pool=bench")
        .of(&["dfs"])
        .later(),
    option(
        "cont",
        Kind::Text,
        "Which container of that pool to use, by label or UUID.",
        "cont=bench",
    )
    .of(&["dfs"])
    .later(),
    option(
        "object_class",
        Kind::Text,
        "The class of the objects that hold a file.",
        "object_class=SX",
    )
    .of(&["dfs"])
    .later(),
    option(
        "gpu_dev_ids",
        Kind::Text,
        "The GPUs to use, as numbers by colons; the workers take one each in turn.",
        "gpu_dev_ids=0:1",
    )
    .of(&["libcufile", "libhipfile"])
    .later(),
    option(
        "cuda_io",
        Kind::words(&[
            Word::later("cufile", "straight to the memory of the GPU"),
            Word::later("posix", "through ordinary memory, copied"),
        ]),
        "How data gets to an NVIDIA GPU.",
        "cuda_io=posix",
    )
    .of(&["libcufile"])
    .default("cufile")
    .later(),
    option(
        "rocm_io",
        Kind::words(&[
            Word::later("hipfile", "straight to the memory of the GPU"),
            Word::later("posix", "through ordinary memory, copied"),
        ]),
        "How data gets to an AMD GPU.",
        "rocm_io=posix",
    )
    .of(&["libhipfile"])
    .default("hipfile")
    .later(),
    option(
        "hipri",
        Kind::Switch,
        "Polls the device for completions, where the chosen interface can.",
        "hipri",
    )
    .of(&["xnvme", "libblkio"])
    .later(),
    option(
        "sqthread_poll",
        Kind::Switch,
        "Has a kernel thread take I/Os from the ring, where the chosen interface has one.",
        "sqthread_poll",
    )
    .of(&["xnvme"])
    .later(),
    option(
        "xnvme_async",
        Kind::words(&[
            Word::later("emu", "emulated on the synchronous interface"),
            Word::later("thrpool", "threads on the synchronous interface"),
            Word::later("io_uring", "`io_uring`"),
            Word::later("io_uring_cmd", "`io_uring` with passthrough"),
            Word::later("libaio", "Linux native AIO"),
            Word::later("posix", "POSIX AIO"),
            Word::later("vfio", "user space, by libvfn"),
            Word::later("nil", "moves no data"),
        ]),
        "The asynchronous interface that xNVMe uses.",
        "xnvme_async=io_uring",
    )
    .of(&["xnvme"])
    .default("emu")
    .later(),
    option(
        "xnvme_sync",
        Kind::words(&[
            Word::later("nvme", "ioctls of the NVMe driver"),
            Word::later("psync", "`pread(2)` and `pwrite(2)`"),
            Word::later("block", "the same, with ioctls for zones"),
        ]),
        "The synchronous interface that xNVMe uses.",
        "xnvme_sync=psync",
    )
    .of(&["xnvme"])
    .default("nvme")
    .later(),
    option(
        "xnvme_admin",
        Kind::words(&[
            Word::later("nvme", "ioctls of the NVMe driver"),
            Word::later("block", "ioctls of the block layer, and sysfs"),
        ]),
        "The interface that xNVMe uses for admin commands.",
        "xnvme_admin=block",
    )
    .of(&["xnvme"])
    .default("nvme")
    .later(),
    option(
        "xnvme_dev_nsid",
        Kind::COUNT,
        "The namespace to use with a driver in user space.",
        "xnvme_dev_nsid=1",
    )
    .of(&["xnvme"])
    .later(),
    option(
        "xnvme_dev_subnqn",
        Kind::Text,
        "The qualified name of the subsystem of a fabrics target.",
        "xnvme_dev_subnqn=nqn.2024-01.org.example:s1",
    )
    .of(&["xnvme"])
    .later(),
    option(
        "xnvme_mem",
        Kind::words(&[
            Word::later("posix", "ordinary memory"),
            Word::later("hugepage", "huge pages"),
            Word::later("spdk", "memory of SPDK"),
            Word::later("vfio", "memory of libvfn"),
        ]),
        "Where xNVMe takes its buffers from.",
        "xnvme_mem=hugepage",
    )
    .of(&["xnvme"])
    .default("posix")
    .later(),
    option("xnvme_iovec", Kind::COUNT, "Uses vectored commands.", "xnvme_iovec=1")
        .of(&["xnvme"])
        .later(),
    option(
        "libblkio_driver",
        Kind::Text,
        "The driver that libblkio uses.",
        "libblkio_driver=io_uring",
    )
    .of(&["libblkio"])
    .later(),
    option(
        "libblkio_path",
        Kind::Text,
        "What the driver is to open.",
        "libblkio_path=/dev/nvme0n1",
    )
    .of(&["libblkio"])
    .later(),
    option(
        "libblkio_pre_connect_props",
        Kind::Text,
        "Properties `NAME=VALUE` by colons, set before connecting.",
        "libblkio_pre_connect_props=read-only=true",
    )
    .of(&["libblkio"])
    .later(),
    option(
        "libblkio_num_entries",
        Kind::COUNT,
        "The number of entries of the driver's queues.",
        "libblkio_num_entries=128",
    )
    .of(&["libblkio"])
    .later(),
    option(
        "libblkio_queue_size",
        Kind::COUNT,
        "The size of the driver's queues.",
        "libblkio_queue_size=128",
    )
    .of(&["libblkio"])
    .later(),
    option(
        "libblkio_pre_start_props",
        Kind::Text,
        "Properties `NAME=VALUE` by colons, set before starting.",
        "libblkio_pre_start_props=num-queues=2",
    )
    .of(&["libblkio"])
    .later(),
    option("libblkio_vectored", Kind::Switch, "Makes vectored requests.", "libblkio_vectored")
        .of(&["libblkio"])
        .later(),
    option(
        "libblkio_write_zeroes_on_trim",
        Kind::Switch,
        "Makes trims into requests to write zeroes.",
        "libblkio_write_zeroes_on_trim",
    )
    .of(&["libblkio"])
    .later(),
    option(
        "libblkio_wait_mode",
        Kind::words(&[
            Word::later("block", "a blocking call"),
            Word::later("eventfd", "a read of an event descriptor"),
            Word::later("loop", "a busy loop"),
        ]),
        "How completions are waited for.",
        "libblkio_wait_mode=loop",
    )
    .of(&["libblkio"])
    .default("block")
    .later(),
    option(
        "libblkio_force_enable_completion_eventfd",
        Kind::Switch,
        "Switches the event descriptor of completions on even where nothing waits for it.",
        "libblkio_force_enable_completion_eventfd",
    )
    .of(&["libblkio"])
    .later(),
];
