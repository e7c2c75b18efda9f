//! Options of engines that need an external library. fio has these options only if it was built
//! with that library, so these declarations follow its documentation.

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
        "The directory for the job's files.",
        "hdfsdirectory=/bench",
    )
    .of(&["libhdfs"])
    .later(),
    option(
        "chunk_size",
        Kind::BYTES64,
        "The size of the chunks into which a file is divided.",
        "chunk_size=1m",
    )
    .of(&["libhdfs", "dfs"])
    .later(),
    option("pool", Kind::Text, "The DAOS pool, by label or UUID.", "pool=bench")
        .of(&["dfs"])
        .later(),
    option("cont", Kind::Text, "The DAOS container in the pool, by label or UUID.", "cont=bench")
        .of(&["dfs"])
        .later(),
    option(
        "object_class",
        Kind::Text,
        "The DAOS class of the objects that hold a file.",
        "object_class=SX",
    )
    .of(&["dfs"])
    .later(),
    option(
        "gpu_dev_ids",
        Kind::Text,
        "The numbers of the GPUs to use, separated by colons; the workers take them in turn.",
        "gpu_dev_ids=0:1",
    )
    .of(&["libcufile", "libhipfile"])
    .later(),
    option(
        "cuda_io",
        Kind::words(&[
            Word::later("cufile", "directly to the memory of the GPU"),
            Word::later("posix", "with a copy through ordinary memory"),
        ]),
        "How data reaches the memory of an NVIDIA GPU.",
        "cuda_io=posix",
    )
    .of(&["libcufile"])
    .default("cufile")
    .later(),
    option(
        "rocm_io",
        Kind::words(&[
            Word::later("hipfile", "directly to the memory of the GPU"),
            Word::later("posix", "with a copy through ordinary memory"),
        ]),
        "How data reaches the memory of an AMD GPU.",
        "rocm_io=posix",
    )
    .of(&["libhipfile"])
    .default("hipfile")
    .later(),
    option(
        "hipri",
        Kind::Switch,
        "Polls the device for completions, if the chosen interface supports it.",
        "hipri",
    )
    .of(&["xnvme", "libblkio"])
    .later(),
    option(
        "sqthread_poll",
        Kind::Switch,
        "Lets a kernel thread take I/Os from the ring, if the chosen interface has one.",
        "sqthread_poll",
    )
    .of(&["xnvme"])
    .later(),
    option(
        "xnvme_async",
        Kind::words(&[
            Word::later("emu", "emulated with the synchronous interface"),
            Word::later("thrpool", "threads that use the synchronous interface"),
            Word::later("io_uring", "`io_uring`"),
            Word::later("io_uring_cmd", "`io_uring` with passthrough"),
            Word::later("libaio", "Linux native AIO"),
            Word::later("posix", "POSIX AIO"),
            Word::later("vfio", "user space, through libvfn"),
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
            Word::later("block", "`pread(2)` and `pwrite(2)`, with ioctls for zones"),
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
        "The namespace to use with a user space driver.",
        "xnvme_dev_nsid=1",
    )
    .of(&["xnvme"])
    .later(),
    option(
        "xnvme_dev_subnqn",
        Kind::Text,
        "The NVMe qualified name of the fabrics subsystem.",
        "xnvme_dev_subnqn=nqn.2024-01.org.example:s1",
    )
    .of(&["xnvme"])
    .later(),
    option(
        "xnvme_mem",
        Kind::words(&[
            Word::later("posix", "ordinary memory"),
            Word::later("hugepage", "huge pages"),
            Word::later("spdk", "memory from SPDK"),
            Word::later("vfio", "memory from libvfn"),
        ]),
        "How xNVMe allocates its buffers.",
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
        "The path that the driver opens.",
        "libblkio_path=/dev/nvme0n1",
    )
    .of(&["libblkio"])
    .later(),
    option(
        "libblkio_pre_connect_props",
        Kind::Text,
        "Properties `NAME=VALUE`, separated by colons, to set before connecting.",
        "libblkio_pre_connect_props=read-only=true",
    )
    .of(&["libblkio"])
    .later(),
    option(
        "libblkio_num_entries",
        Kind::COUNT,
        "The number of entries in the driver's queues.",
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
        "Properties `NAME=VALUE`, separated by colons, to set before starting.",
        "libblkio_pre_start_props=num-queues=2",
    )
    .of(&["libblkio"])
    .later(),
    option("libblkio_vectored", Kind::Switch, "Uses vectored requests.", "libblkio_vectored")
        .of(&["libblkio"])
        .later(),
    option(
        "libblkio_write_zeroes_on_trim",
        Kind::Switch,
        "Turns trims into requests that write zeroes.",
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
        "How libblkio waits for completions.",
        "libblkio_wait_mode=loop",
    )
    .of(&["libblkio"])
    .default("block")
    .later(),
    option(
        "libblkio_force_enable_completion_eventfd",
        Kind::Switch,
        "Enables the event descriptor for completions even if nothing waits for it.",
        "libblkio_force_enable_completion_eventfd",
    )
    .of(&["libblkio"])
    .later(),
];
