//! The I/O engines and what each can do.
//!
//! To add an engine, add an entry (`docs/dev/engine.md`). The parser, `--enghelp`, the reference, the planner, the run and
//! the findings use it.

use crate::option::def::{Support, Word};
use crate::option::engine::{
    CountedBytes, DepthSupport, EngineAccess, EngineDef, NameCall, PmemTarget, SupportedDirections,
    WritePlacement,
};

use DepthSupport::{Combined, Many, ManyIfDirect, ManyOnCharDevice, One, OnePerFile};
use EngineAccess::{
    Endpoint, Extents, Flash, Library, Mapping, Memory, Names, Nothing, NvmeCommands,
    PersistentMemory, ScsiCommands, Stream,
};

/// Declares a supported engine that moves data with system calls on files, without any of the
/// optional features. The methods state what differs.
const fn engine(name: &'static str, in_flight: DepthSupport, doc: &'static str) -> EngineDef {
    EngineDef {
        name,
        aliases: &[],
        doc,
        support: Support::Built,
        feature: "",
        needs: "",
        tested: "",
        runs_as: &[],
        access: EngineAccess::Calls,
        in_flight,
        moves_data: true,
        keeps_contents: false,
        counts: CountedBytes::Data,
        directions: SupportedDirections::All,
        does_io: true,
        counts_bits: false,
        runs_programs: false,
        target_named_by: "",
        needs_zones: false,
        virtual_time: false,
        atomic: false,
        priorities: false,
        trim_ranges: false,
        placement: WritePlacement::None,
    }
}

/// Declares an engine that is not supported yet, like [`engine`].
const fn later(name: &'static str, in_flight: DepthSupport, doc: &'static str) -> EngineDef {
    EngineDef { support: Support::Later, ..engine(name, in_flight, doc) }
}

/// Declares an engine that makes one system call on each name and moves no data.
const fn on_names(name: &'static str, call: NameCall, doc: &'static str) -> EngineDef {
    EngineDef {
        directions: SupportedDirections::ReadsAndWrites,
        counts: CountedBytes::BlockSize,
        tested: "2026-11: tmpfs, ext4, XFS and btrfs",
        ..engine(name, One, doc)
    }
    .on(Names(call))
    .without_data()
}

impl EngineDef {
    const fn on(self, access: EngineAccess) -> Self {
        EngineDef { access, ..self }
    }
    const fn without_data(self) -> Self {
        EngineDef { moves_data: false, ..self }
    }
    const fn without_io(self) -> Self {
        EngineDef { does_io: false, ..self.on(Nothing).without_data() }
    }
    const fn in_bits(self) -> Self {
        EngineDef { counts_bits: true, ..self }
    }
    const fn needs(self, needs: &'static str) -> Self {
        EngineDef { needs, ..self }
    }
    /// Marks an engine that a build has only with the cargo feature of its name.
    const fn feature(self, enabled: bool) -> Self {
        let support = if enabled { Support::Built } else { Support::WithoutFeature };
        EngineDef { support, feature: self.name, ..self }
    }
    const fn tested(self, tested: &'static str) -> Self {
        EngineDef { tested, ..self }
    }
}

/// What the engines for files and block devices ran against.
const FILES_AND_NVME: &str = "2026-11: files on ext4; an NVMe namespace in `cargo xtask vm`";

const LIST: &[EngineDef] = &[
    engine("psync", One, "`pread(2)` and `pwrite(2)`. This is the default.").tested(FILES_AND_NVME),
    engine("sync", One, "`lseek(2)`, then `read(2)` or `write(2)`.").tested(FILES_AND_NVME),
    engine(
        "vsync",
        Combined,
        "`readv(2)` and `writev(2)`, with adjacent I/Os combined into one call.",
    )
    .tested(FILES_AND_NVME),
    engine("pvsync", One, "`preadv(2)` and `pwritev(2)`.").tested("2026-11: files on ext4"),
    EngineDef {
        atomic: true,
        ..engine(
            "pvsync2",
            One,
            "`preadv2(2)` and `pwritev2(2)`, which accept flags for each call.",
        )
        .tested(FILES_AND_NVME)
    },
    EngineDef {
        aliases: &["aio", "linuxaio"],
        atomic: true,
        priorities: true,
        ..engine("libaio", ManyIfDirect, "Linux native AIO through its system calls.")
            .tested(FILES_AND_NVME)
    },
    EngineDef {
        atomic: true,
        priorities: true,
        placement: WritePlacement::KernelStreams,
        ..engine(
            "io_uring",
            Many,
            "`io_uring`, Linux's current asynchronous interface, with rings shared with the \
             kernel.",
        )
        .tested(FILES_AND_NVME)
    },
    EngineDef {
        trim_ranges: true,
        placement: WritePlacement::Commands,
        ..engine("io_uring_cmd", Many, "NVMe or SCSI commands, passed through `io_uring`.")
            .on(NvmeCommands)
            .tested(
                "2026-11: NVMe namespaces of QEMU in `cargo xtask vm` (plain, with protection \
                 information, with data placement, zoned)",
            )
    },
    engine("posixaio", OnePerFile, "POSIX asynchronous I/O: `aio_read(3)` and `aio_write(3)`.")
        .tested("2026-11: files on ext4, a loop device (glibc 2.36)"),
    engine("mmap", One, "Maps the file into memory and copies data from and to the mapping.")
        .on(Mapping)
        .tested("2026-11: files on ext4"),
    engine("splice", One, "`splice(2)` and `vmsplice(2)` through a pipe.")
        .tested("2026-11: files on ext4 and tmpfs, a loop device"),
    engine("sg", ManyOnCharDevice, "SCSI commands through version 3 of the SCSI generic driver.")
        .on(ScsiCommands)
        .tested("2026-11: `scsi_debug` in `cargo xtask vm`"),
    EngineDef {
        needs_zones: true,
        ..engine(
            "libzbc",
            One,
            "SCSI commands to a zoned disk, one at a time. fiord does not use the library libzbc.",
        )
        .on(ScsiCommands)
        .tested("2026-11: `scsi_debug zbc=managed` in `cargo xtask vm`")
    },
    engine(
        "null",
        Many,
        "Completes every I/O immediately without moving data. It measures fiord itself.",
    )
    .on(Nothing)
    .without_data()
    .tested("2026-11: itself"),
    EngineDef {
        virtual_time: true,
        ..engine("sim", Many, "A simulated device with a seeded model of latencies and faults.")
            .on(Nothing)
            .without_data()
            .tested("2026-11: itself")
    },
    engine("net", One, "Sends or receives data over a network socket.")
        .on(Stream)
        .in_bits()
        .tested("2026-11: fio 3.42 and itself, over loopback, multicast groups and Unix sockets; vsock in `cargo xtask vm`"),
    engine("netsplice", One, "Sends or receives data over a network socket with `splice(2)`.")
        .on(Stream)
        .in_bits()
        .tested("2026-11: itself and `net`, over loopback and Unix sockets"),
    engine("cpuio", One, "Burns CPU time and does no I/O.")
        .without_io()
        .tested("2026-11: one and two CPUs, idle and busy"),
    engine("rdma", Many, "Remote memory access or messages over InfiniBand, RoCE or iWARP.")
        .on(Stream)
        .needs("librdmacm, libibverbs (packages `librdmacm1`, `libibverbs1`) and an RDMA device")
        .tested("2026-11: fio 3.33 and itself, over RoCE in software (`rdma_rxe`) in `cargo xtask vm`"),
    EngineDef {
        counts: CountedBytes::Space,
        ..engine(
            "falloc",
            One,
            "Each I/O is an `fallocate(2)`: a read reserves space and keeps the size, a write extends \
             the file, a trim punches a hole.",
        )
        .on(Extents)
        .without_data()
        .tested("2026-11: files on tmpfs, ext4, XFS and btrfs")
    },
    EngineDef {
        directions: SupportedDirections::Writes,
        counts: CountedBytes::BlockSize,
        ..engine(
            "ftruncate",
            One,
            "Each write is an `ftruncate(2)`, which sets the size of the file to the write's offset.",
        )
        .on(Extents)
        .without_data()
        .tested("2026-11: files on tmpfs, ext4, XFS and btrfs")
    },
    EngineDef {
        directions: SupportedDirections::Writes,
        keeps_contents: true,
        ..engine("e4defrag", One, "Each write exchanges extents with a donor file on ext4.")
    }
    .on(Extents)
    .without_data()
    .tested("2026-11: files on ext4"),
    engine("rados", Many, "Objects in a Ceph cluster, through librados.")
        .on(Endpoint)
        .needs("librados (package `librados2`) and a Ceph cluster")
        .tested("2026-11: Ceph 16.2 with one memstore OSD, next to fio 3.42"),
    EngineDef {
        target_named_by: "rbdname",
        ..engine("rbd", Many, "Block images in a Ceph cluster, through librbd.")
    }
    .on(Endpoint)
    .needs("librbd (package `librbd1`) and a Ceph cluster")
    .tested("2026-11: Ceph 16.2 with one memstore OSD, next to fio 3.42"),
    engine("http", Many, "Objects on a WebDAV, S3 or Swift server: a read is a GET, a write a PUT, a trim a DELETE.")
        .on(Endpoint)
        .tested("2026-11: nginx (WebDAV, also over TLS), moto and SeaweedFS (S3), Swift 2.30, next to fio 3.42"),
    engine("gfapi", One, "Files of a GlusterFS volume, with one synchronous call at a time.")
        .on(Endpoint)
        .needs("libgfapi (package `libgfapi0`) and a GlusterFS volume")
        .tested("2026-11: GlusterFS 10.3 with one brick, next to fio 3.42"),
    engine("gfapi_async", Many, "Files of a GlusterFS volume, with asynchronous calls.")
        .on(Endpoint)
        .needs("libgfapi (package `libgfapi0`) and a GlusterFS volume")
        .tested("2026-11: GlusterFS 10.3 with one brick, next to fio 3.42"),
    engine("mtd", One, "Raw flash through its character device. Trims erase blocks.")
        .on(Flash)
        .tested("2026-11: `mtdram` and `nandsim` in `cargo xtask vm`, next to fio 3.33"),
    EngineDef {
        directions: SupportedDirections::ReadsAndWrites,
        ..engine(
            "dev-dax",
            One,
            "Copies data from and to persistent memory through its device-DAX character device, with flushes from \
             user space. fiord does not use the library PMDK.",
        )
        .on(PersistentMemory(PmemTarget::Device))
        .tested("2026-11: an NVDIMM of QEMU in `cargo xtask vm`, next to fio 3.33")
    },
    EngineDef {
        directions: SupportedDirections::ReadsAndWrites,
        ..engine(
            "libpmem",
            One,
            "Copies data from and to a mapped file in persistent memory, with flushes from user space. fiord does \
             not use the library PMDK.",
        )
        .on(PersistentMemory(PmemTarget::File))
        .tested("2026-11: ext4 with DAX on an NVDIMM of QEMU in `cargo xtask vm`, next to fio 3.33")
    },
    engine(
        "libiscsi",
        Many,
        "Logical units of iSCSI targets, through libiscsi, without the kernel's initiator.",
    )
    .on(Endpoint)
    .needs("libiscsi (package `libiscsi7`) and an iSCSI target")
    .tested("2026-11: tgt 1.0.85, next to fio 3.42"),
    EngineDef {
        target_named_by: "uri",
        ..engine("nbd", Many, "A network block device, without the kernel's client.")
    }
    .on(Endpoint)
    .tested("2026-11: nbdkit 1.32 and qemu-nbd 10.0, over Unix sockets and loopback, next to fio 3.42"),
    EngineDef {
        directions: SupportedDirections::ReadsAndWrites,
        ..engine("nfs", Many, "Files of an NFS server, through libnfs, without the kernel's client.")
            .on(Endpoint)
            .needs("libnfs (package `libnfs13`) and an NFS server")
            .tested("2026-11: nfs-ganesha 4.3 with NFS 3, next to fio 3.42")
    },
    later("libhdfs", One, "Files of a Hadoop file system, through libhdfs.")
        .on(Endpoint)
        .needs("libhdfs, a Java runtime and a Hadoop cluster"),
    later("dfs", Many, "Files of a DAOS file system, through libdfs.")
        .on(Endpoint)
        .needs("libdfs and a DAOS cluster"),
    EngineDef {
        runs_as: &["io_uring", "io_uring_cmd", "libaio", "posixaio"],
        ..engine(
            "xnvme",
            Many,
            "NVMe devices. fiord does not use the xNVMe library: it runs the job on its own engine for \
             the interface that `xnvme_async` names.",
        )
        .tested("2026-11: files on ext4")
    },
    EngineDef {
        target_named_by: "libblkio_path",
        ..engine(
            "libblkio",
            Many,
            "Files, block devices and virtio-blk devices (vhost-user, vhost-vdpa, VFIO), through the libblkio \
             library, in builds with the cargo feature `libblkio`.",
        )
        .tested("2026-11: files on ext4; vhost-user exports of `qemu-storage-daemon`; an NVMe namespace in `cargo xtask vm`")
        .feature(cfg!(feature = "libblkio"))
    },
    later("libcufile", One, "Files, with data directly in the memory of NVIDIA GPUs.")
        .needs("libcufile and an NVIDIA GPU"),
    later("libhipfile", One, "Files, with data directly in the memory of AMD GPUs.")
        .needs("libhipfile and an AMD GPU"),
    later("ime_psync", One, "DDN's Infinite Memory Engine, with one call per I/O.")
        .on(Endpoint)
        .needs("libim_client and a DDN Infinite Memory Engine"),
    later(
        "ime_psyncv",
        Combined,
        "DDN's Infinite Memory Engine, with adjacent I/Os combined into one call.",
    )
    .on(Endpoint)
    .needs("libim_client and a DDN Infinite Memory Engine"),
    later("ime_aio", Many, "DDN's Infinite Memory Engine, with asynchronous calls.")
        .on(Endpoint)
        .needs("libim_client and a DDN Infinite Memory Engine"),
    EngineDef {
        runs_programs: true,
        ..engine("exec", One, "Runs another program for the duration of the job.")
            .without_io()
            .tested("2026-11: programs, shells and their descendants")
    },
    EngineDef {
        directions: SupportedDirections::ReadsAndWrites,
        ..engine(
            "page_fault",
            One,
            "Copies data from and to anonymous memory. The first access to a page causes a page \
             fault.",
        )
        .on(Memory)
        .tested("2026-11: pages of 4 KiB, transparent huge pages")
    },
    EngineDef {
        runs_programs: true,
        ..engine(
            "external",
            Many,
            "An engine in a shared library, `ioengine=external:/path/to.so`, through fiord's C interface.",
        )
        .on(Library)
        .tested("2026-11: the example library, files on ext4, XFS and btrfs")
    },
    on_names("filecreate", NameCall::CreateFile, "Creates files: one `open(2)` for each file."),
    on_names("filestat", NameCall::StatFile, "Reads the attributes of files: one `stat(2)` each."),
    on_names("filedelete", NameCall::RemoveFile, "Removes files: one `unlink(2)` each."),
    on_names("dircreate", NameCall::CreateDirectory, "Creates directories: one `mkdir(2)` each."),
    on_names(
        "dirstat",
        NameCall::StatDirectory,
        "Reads the attributes of directories: one `stat(2)` each.",
    ),
    on_names("dirdelete", NameCall::RemoveDirectory, "Removes directories: one `rmdir(2)` each."),
];

/// All engines. A static, because each crate that uses an entry of a constant gets a copy of the whole table.
pub(super) static ENGINES: [EngineDef; LIST.len()] = {
    let mut table = [LIST[0]; LIST.len()];
    let mut i = 1;
    while i < table.len() {
        table[i] = LIST[i];
        i += 1;
    }
    table
};

/// The number of engine names and aliases.
const WORD_COUNT: usize = {
    let mut count = 0;
    let mut i = 0;
    while i < ENGINES.len() {
        count += 1 + ENGINES[i].aliases.len();
        i += 1;
    }
    count
};

/// The words of `ioengine`: engine names and their aliases.
pub(super) const WORDS: [Word; WORD_COUNT] = {
    let mut words = [Word::new("", ""); WORD_COUNT];
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
