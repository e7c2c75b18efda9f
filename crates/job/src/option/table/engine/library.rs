//! Options of engines that need an external library. fio has these options only if it was built
//! with that library, so these declarations follow its documentation.

use crate::option::declare::*;

words! {
    /// The words of `cuda_io`.
    pub enum CudaIo {
        Cufile = later("cufile", "directly to the memory of the GPU"),
        Posix = later("posix", "with a copy through ordinary memory"),
    }

    /// The words of `rocm_io`.
    pub enum RocmIo {
        Hipfile = later("hipfile", "directly to the memory of the GPU"),
        Posix = later("posix", "with a copy through ordinary memory"),
    }

    /// The words of `xnvme_async`.
    pub enum XnvmeAsync {
        Emu = new("emu", "emulated with the synchronous interface"),
        Thrpool = new("thrpool", "threads that use the synchronous interface"),
        IoUring = new("io_uring", "`io_uring`"),
        IoUringCmd = new("io_uring_cmd", "`io_uring` with passthrough"),
        Libaio = new("libaio", "Linux native AIO"),
        Posix = new("posix", "POSIX AIO"),
        Vfio = new("vfio", "user space, through libvfn"),
        Nil = new("nil", "moves no data"),
    }

    /// The words of `xnvme_sync`.
    pub enum XnvmeSync {
        Nvme = new("nvme", "ioctls of the NVMe driver"),
        Psync = new("psync", "`pread(2)` and `pwrite(2)`"),
        Block = new("block", "`pread(2)` and `pwrite(2)`, with ioctls for zones"),
    }

    /// The words of `xnvme_admin`.
    pub enum XnvmeAdmin {
        Nvme = new("nvme", "ioctls of the NVMe driver"),
        Block = new("block", "ioctls of the block layer, and sysfs"),
    }

    /// The words of `xnvme_mem`.
    pub enum XnvmeMem {
        Posix = new("posix", "ordinary memory"),
        Hugepage = new("hugepage", "huge pages"),
        Spdk = new("spdk", "memory from SPDK"),
        Vfio = new("vfio", "memory from libvfn"),
    }

    /// The words of `libblkio_driver`.
    pub enum LibblkioDriver {
        IoUring = new("io_uring", "a file or a block device, through `io_uring`"),
        NvmeIoUring = new("nvme-io_uring", "an NVMe generic character device, through `io_uring`"),
        VfioPci = new("virtio-blk-vfio-pci", "a PCI device that VFIO hands to this process"),
        VhostUser = new("virtio-blk-vhost-user", "a vhost-user server, through its Unix socket"),
        VhostVdpa = new("virtio-blk-vhost-vdpa", "a vDPA device, through its character device"),
    }

    /// The words of `libblkio_wait_mode`.
    pub enum LibblkioWaitMode {
        Block = new("block", "a blocking call"),
        Eventfd = new("eventfd", "a read of an event descriptor"),
        Loop = new("loop", "a busy loop"),
    }
}

options! {
    Category::Engine;

    /// The host of the Hadoop name node.
    pub const NAMENODE: Opt<Option<String>> = option("namenode", TEXT, "namenode=hdfs1")
        .of(&["libhdfs"])
        .later();

    /// The port of the Hadoop name node.
    pub const PORT: Opt<Option<u32>> = option("port", int(1, 65535), "port=9000")
        .of(&["libhdfs"])
        .later();

    /// The directory for the job's files.
    pub const HDFSDIRECTORY: Opt<Option<String>> =
        option("hdfsdirectory", TEXT, "hdfsdirectory=/bench").of(&["libhdfs"]).later();

    /// The size of the chunks into which a file is divided.
    pub const CHUNK_SIZE: Opt<Option<Bytes>> = option("chunk_size", BYTES64, "chunk_size=1m")
        .of(&["libhdfs", "dfs"])
        .later();

    /// The DAOS pool, by label or UUID.
    pub const POOL: Opt<Option<String>> = option("pool", TEXT, "pool=bench")
        .of(&["dfs"])
        .later();

    /// The DAOS container in the pool, by label or UUID.
    pub const CONT: Opt<Option<String>> = option("cont", TEXT, "cont=bench")
        .of(&["dfs"])
        .later();

    /// The DAOS class of the objects that hold a file.
    pub const OBJECT_CLASS: Opt<Option<String>> = option("object_class", TEXT, "object_class=SX")
        .of(&["dfs"])
        .later();

    /// The numbers of the GPUs to use, separated by colons; the workers take them in turn.
    pub const GPU_DEV_IDS: Opt<Option<String>> = option("gpu_dev_ids", TEXT, "gpu_dev_ids=0:1")
        .of(&["libcufile", "libhipfile"])
        .later();

    /// How data reaches the memory of an NVIDIA GPU.
    pub const CUDA_IO: Opt<CudaIo> = option("cuda_io", one_of(), "cuda_io=posix")
        .of(&["libcufile"])
        .default("cufile")
        .later();

    /// How data reaches the memory of an AMD GPU.
    pub const ROCM_IO: Opt<RocmIo> = option("rocm_io", one_of(), "rocm_io=posix")
        .of(&["libhipfile"])
        .default("hipfile")
        .later();

    /// Polls the device for completions, if the chosen interface supports it.
    pub const HIPRI: Opt<bool> = option("hipri", SWITCH, "hipri")
        .of(&["xnvme", "libblkio"]);

    /// Lets a kernel thread take I/Os from the ring, if the chosen interface has one.
    pub const SQTHREAD_POLL: Opt<bool> = option("sqthread_poll", SWITCH, "sqthread_poll")
        .of(&["xnvme"]);

    /// The asynchronous interface that xNVMe uses.
    pub const XNVME_ASYNC: Opt<XnvmeAsync> = option("xnvme_async", one_of(), "xnvme_async=io_uring")
        .of(&["xnvme"])
        .default("emu");

    /// The synchronous interface that xNVMe uses.
    pub const XNVME_SYNC: Opt<XnvmeSync> = option("xnvme_sync", one_of(), "xnvme_sync=psync")
        .of(&["xnvme"])
        .default("nvme");

    /// The interface that xNVMe uses for admin commands.
    pub const XNVME_ADMIN: Opt<XnvmeAdmin> = option("xnvme_admin", one_of(), "xnvme_admin=block")
        .of(&["xnvme"])
        .default("nvme");

    /// The namespace to use with a user space driver.
    pub const XNVME_DEV_NSID: Opt<Option<u32>> = option("xnvme_dev_nsid", COUNT, "xnvme_dev_nsid=1")
        .of(&["xnvme"]);

    /// The NVMe qualified name of the fabrics subsystem.
    pub const XNVME_DEV_SUBNQN: Opt<Option<String>> =
        option("xnvme_dev_subnqn", TEXT, "xnvme_dev_subnqn=nqn.2024-01.org.example:s1")
            .of(&["xnvme"]);

    /// How xNVMe allocates its buffers.
    pub const XNVME_MEM: Opt<XnvmeMem> = option("xnvme_mem", one_of(), "xnvme_mem=hugepage")
        .of(&["xnvme"])
        .default("posix");

    /// Uses vectored commands.
    pub const XNVME_IOVEC: Opt<Option<u32>> = option("xnvme_iovec", COUNT, "xnvme_iovec=1")
        .of(&["xnvme"]);

    /// The driver of libblkio that does the I/O. The job must set it.
    pub const LIBBLKIO_DRIVER: Opt<Option<LibblkioDriver>> =
        option("libblkio_driver", one_of(), "libblkio_driver=io_uring").of(&["libblkio"]);

    /// The target of the job: the path of a file or a device, of a vhost-user server's socket, or of a PCI device in
    /// sysfs. The job must set it; it replaces `filename`.
    pub const LIBBLKIO_PATH: Opt<Option<String>> =
        option("libblkio_path", TEXT, "libblkio_path=/dev/nvme0n1").of(&["libblkio"]);

    /// Properties `NAME=VALUE`, separated by colons, to set before connecting.
    pub const LIBBLKIO_PRE_CONNECT_PROPS: Opt<Option<String>> =
        option("libblkio_pre_connect_props", TEXT, "libblkio_pre_connect_props=read-only=true")
            .of(&["libblkio"]);

    /// The number of entries in the rings of the drivers that use `io_uring`.
    pub const LIBBLKIO_NUM_ENTRIES: Opt<Option<u32>> =
        option("libblkio_num_entries", COUNT, "libblkio_num_entries=128").of(&["libblkio"]);

    /// The number of descriptors in the queues of the virtio-blk drivers, a power of two.
    pub const LIBBLKIO_QUEUE_SIZE: Opt<Option<u32>> =
        option("libblkio_queue_size", COUNT, "libblkio_queue_size=128").of(&["libblkio"]);

    /// Properties `NAME=VALUE`, separated by colons, to set before starting.
    pub const LIBBLKIO_PRE_START_PROPS: Opt<Option<String>> =
        option("libblkio_pre_start_props", TEXT, "libblkio_pre_start_props=num-queues=2")
            .of(&["libblkio"]);

    /// Uses vectored requests.
    pub const LIBBLKIO_VECTORED: Opt<bool> =
        option("libblkio_vectored", SWITCH, "libblkio_vectored").of(&["libblkio"]);

    /// Turns trims into requests that write zeroes, which regular files support too.
    pub const LIBBLKIO_WRITE_ZEROES_ON_TRIM: Opt<bool> =
        option("libblkio_write_zeroes_on_trim", SWITCH, "libblkio_write_zeroes_on_trim")
            .of(&["libblkio"]);

    /// How libblkio waits for completions.
    pub const LIBBLKIO_WAIT_MODE: Opt<LibblkioWaitMode> =
        option("libblkio_wait_mode", one_of(), "libblkio_wait_mode=loop")
            .of(&["libblkio"])
            .default("block");

    /// Enables the event descriptor for completions even if nothing waits for it.
    pub const LIBBLKIO_FORCE_ENABLE_COMPLETION_EVENTFD: Opt<bool> = option(
        "libblkio_force_enable_completion_eventfd",
        SWITCH,
        "libblkio_force_enable_completion_eventfd",
    )
    .of(&["libblkio"]);
}
