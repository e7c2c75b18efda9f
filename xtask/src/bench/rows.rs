//! The rows of the benchmark.

mod network;
mod servers;
mod verification;

use super::row::Bound::{Any, AtLeast, AtMost};
use super::row::Than::{Bare, Dd, Fio, Itself, PlainFio, Tool};
use super::row::What::{
    CpuTime, Exit, FirstIo, Instructions, Layout, ManyFiles, NameRate, OwnMemory, Rate, Resident,
    WholeRun,
};
use super::row::{Job, Row, Than};

const READ_4K: &str = "--ioengine=psync --rw=randread --bs=4k FILE";
const OFFLOADED: &str = "--io_submit_mode=offload --iodepth=8";
const NULL_READ: &str = "--ioengine=null --rw=randread --bs=4k --norandommap --size=256m";
const NULL_READ_32: &str =
    "--ioengine=null --iodepth=32 --rw=randread --bs=4k --norandommap --size=256m";

/// Half of the load of the row about `cpuio`.
const LOAD_20: Than =
    Itself("cpuload=20", Job(&["--ioengine=cpuio --cpuload=20 --cpuchunks=5000"]));

/// The row of an engine that works on names, next to fio and to the system calls alone.
macro_rules! on_names {
    ($what:literal, $engine:literal, $options:literal, $of_fio:expr) => {
        Row {
            name: concat!($engine, ": ", $what),
            what: NameRate,
            job: Job(&[concat!("--ioengine=", $engine), $options]),
            than: &[(Fio, $of_fio), (Bare($engine), AtLeast(0.85))],
        }
    };
}

pub(super) fn all() -> impl Iterator<Item = &'static Row> {
    ROWS.iter().chain(network::ROWS).chain(servers::ROWS).chain(verification::ROWS)
}

const ROWS: &[Row] = &[
    // The kernel does the work.
    Row {
        name: "psync random read 4 KiB, page cache",
        what: Rate,
        job: Job(&[READ_4K]),
        than: &[(Fio, AtLeast(1.2)), (Bare("psync bs=4096"), AtLeast(0.95))],
    },
    Row {
        name: "psync random read 512 B, page cache",
        what: Rate,
        job: Job(&["--ioengine=psync --rw=randread --bs=512 FILE"]),
        than: &[(Fio, AtLeast(1.25)), (Bare("psync bs=512"), AtLeast(0.92))],
    },
    Row {
        name: "psync sequential read 128 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=psync --rw=read --bs=128k FILE"]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "psync random write 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=psync --rw=randwrite --bs=4k FILE"]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "sync random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=sync --rw=randread --bs=4k FILE"]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "vsync random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=vsync --rw=randread --bs=4k FILE"]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "pvsync random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=pvsync --rw=randread --bs=4k FILE"]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "pvsync2 random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=pvsync2 --rw=randread --bs=4k FILE"]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "splice random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=splice --rw=randread --bs=4k FILE"]),
        than: &[(Fio, AtLeast(1.0))],
    },
    Row {
        name: "splice random write 64 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=splice --rw=randwrite --bs=64k FILE"]),
        than: &[(Fio, AtLeast(1.0))],
    },
    Row {
        name: "posixaio depth 1 random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=posixaio --rw=randread --bs=4k FILE"]),
        than: &[(Fio, AtLeast(1.0))],
    },
    Row {
        name: "posixaio depth 8 random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=posixaio --iodepth=8 --rw=randread --bs=4k FILE"]),
        than: &[(Fio, AtLeast(1.0))],
    },
    Row {
        name: "libblkio depth 8 random read 4 KiB, page cache",
        what: Rate,
        job: Job(&[
            "--ioengine=libblkio --libblkio_driver=io_uring --iodepth=8 --rw=randread --bs=4k TARGET",
        ]),
        than: &[
            (Fio, Any),
            (
                Itself(
                    "io_uring",
                    Job(&["--ioengine=io_uring --iodepth=8 --rw=randread --bs=4k FILE"]),
                ),
                AtLeast(0.5),
            ),
        ],
    },
    Row {
        name: "psync on threads (io_submit_mode=offload), depth 8, one CPU",
        what: Rate,
        job: Job(&[READ_4K, OFFLOADED]),
        than: &[(Fio, AtLeast(1.5))],
    },
    Row {
        name: "psync on threads (io_submit_mode=offload), depth 8, two CPUs",
        what: Rate,
        job: Job(&[READ_4K, OFFLOADED, "SHARED_CPUS"]),
        than: &[(Fio, AtLeast(1.5))],
    },
    Row {
        name: "io_uring depth 32 random read 512 B",
        what: Rate,
        job: Job(&["--ioengine=io_uring --iodepth=32 --rw=randread --bs=512 FILE"]),
        than: &[
            (Fio, AtLeast(2.2)),
            (Bare("io_uring depth=32 bs=512"), AtLeast(0.9)),
            (Bare("io_uring depth=32 bs=512 fixed=1"), Any),
            // Buffered, and otherwise as it is by default: registered buffers and files, batches of
            // 32.
            (Tool("-d32 -s32 -c32 -b512 -p0 -O0"), AtLeast(0.9)),
        ],
    },
    Row {
        name: "io_uring depth 32, batches of 16, fixed, 512 B",
        what: Rate,
        job: Job(&[
            "--ioengine=io_uring --iodepth=32 --iodepth_batch_submit=16 --iodepth_batch_complete_min=16",
            "--fixedbufs --registerfiles --rw=randread --bs=512 FILE",
        ]),
        than: &[
            (Fio, AtLeast(1.25)),
            (Bare("io_uring depth=32 bs=512 batch=16 fixed=1"), AtLeast(0.95)),
        ],
    },
    Row {
        name: "io_uring depth 1 random read 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=io_uring --rw=randread --bs=4k FILE"]),
        than: &[(Fio, AtLeast(1.25)), (Bare("io_uring bs=4096"), AtLeast(0.95))],
    },
    Row {
        name: "io_uring depth 32 random read 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=io_uring --iodepth=32 --rw=randread --bs=4k FILE"]),
        than: &[(Fio, AtLeast(1.5)), (Bare("io_uring depth=32 bs=4096"), AtLeast(0.95))],
    },
    Row {
        name: "libaio depth 1 random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=libaio --rw=randread --bs=4k FILE"]),
        than: &[(Fio, Any), (Bare("libaio bs=4096"), Any)],
    },
    Row {
        name: "libaio depth 32 random read 4 KiB, page cache",
        what: Rate,
        job: Job(&["--ioengine=libaio --iodepth=32 --rw=randread --bs=4k FILE"]),
        than: &[(Fio, Any), (Bare("libaio depth=32 bs=4096"), AtLeast(0.95))],
    },
    Row {
        name: "libaio depth 32, O_DIRECT on a loop device",
        what: Rate,
        job: Job(&["--ioengine=libaio --iodepth=32 --direct=1 --rw=randread --bs=4k LOOP"]),
        than: &[(Fio, Any), (Bare("libaio depth=32 bs=4096 direct=1"), AtLeast(0.95))],
    },
    Row {
        name: "mmap random read 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=mmap --rw=randread --bs=4k FILE"]),
        than: &[(Fio, Any), (Bare("mmap bs=4096"), AtLeast(0.9))],
    },
    // The page cache stands in for persistent memory, which few machines have.
    Row {
        name: "libpmem random read 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=libpmem --pmem_force=1 --rw=randread --bs=4k FILE"]),
        than: &[(Bare("pmem bs=4096"), AtLeast(0.9))],
    },
    Row {
        name: "libpmem random write 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=libpmem --pmem_force=1 --sync=1 --rw=randwrite --bs=4k FILE"]),
        than: &[(Bare("pmem bs=4096 write=1"), AtLeast(0.9))],
    },
    Row {
        name: "page_fault random read 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=page_fault --rw=randread --bs=4k --size=256m"]),
        than: &[(Itself("mmap", Job(&["--ioengine=mmap --rw=randread --bs=4k FILE"])), Any)],
    },
    // The load must be exact: twice the load uses twice the CPU time.
    Row {
        name: "cpuio, cpuload=40",
        what: CpuTime,
        job: Job(&["--ioengine=cpuio --cpuload=40 --cpuchunks=5000"]),
        than: &[(Fio, Any), (LOAD_20, AtLeast(1.9)), (LOAD_20, AtMost(2.1))],
    },
    // No device does any work: the generator alone.
    Row {
        name: "null depth 1 random read",
        what: Rate,
        job: Job(&[NULL_READ]),
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null depth 32 random read",
        what: Rate,
        job: Job(&[NULL_READ_32]),
        than: &[(Fio, AtLeast(8.0))],
    },
    Row {
        name: "null depth 32 random write",
        what: Rate,
        job: Job(&["--ioengine=null --iodepth=32 --rw=randwrite --bs=4k --norandommap"]),
        than: &[(Fio, AtLeast(8.0))],
    },
    Row {
        name: "null depth 32 mixed 70/30",
        what: Rate,
        job: Job(&[
            "--ioengine=null --iodepth=32 --rw=randrw --rwmixread=70 --bs=4k --norandommap",
        ]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "null writes 128 KiB, scrambled",
        what: Rate,
        job: Job(&["--ioengine=null --rw=write --bs=128k"]),
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null writes 128 KiB, refilled",
        what: Rate,
        job: Job(&["--ioengine=null --rw=write --bs=128k --refill_buffers"]),
        than: &[(Fio, AtLeast(1.0)), (PlainFio, AtLeast(3.0))],
    },
    Row {
        name: "null random read, 64 GB with the random map",
        what: Rate,
        job: Job(&["--ioengine=null --rw=randread --bs=4k --size=64g"]),
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null zipf",
        what: Rate,
        job: Job(&["--ioengine=null --rw=randread --bs=4k --random_distribution=zipf:1.2"]),
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null pareto",
        what: Rate,
        job: Job(&["--ioengine=null --rw=randread --bs=4k --random_distribution=pareto:0.2"]),
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null mixed 70/30 with bssplit",
        what: Rate,
        job: Job(&[
            "--ioengine=null --rw=randrw --rwmixread=70 --bssplit=4k/60:8k/30:64k/10 --norandommap",
        ]),
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null with a latency log of every I/O",
        what: Rate,
        job: Job(&[NULL_READ, "--write_lat_log=bench"]),
        than: &[(Itself("without a log", Job(&[NULL_READ])), Any), (Fio, AtLeast(2.0))],
    },
    Row {
        name: "psync random read 4 KiB, page cache, latency log of every I/O",
        what: Rate,
        job: Job(&[READ_4K, "--write_lat_log=bench"]),
        than: &[(Itself("without a log", Job(&[READ_4K])), AtLeast(0.95)), (Fio, Any)],
    },
    Row {
        name: "psync random read 4 KiB, page cache, logs of windows and histograms",
        what: Rate,
        job: Job(&[
            READ_4K,
            "--write_lat_log=bench --write_bw_log=bench --write_iops_log=bench --log_avg_msec=100",
            "--write_hist_log=bench --log_hist_msec=100",
        ]),
        than: &[(Itself("without a log", Job(&[READ_4K])), AtLeast(0.98)), (Fio, Any)],
    },
    Row {
        name: "null without latencies (gtod_reduce)",
        what: Rate,
        job: Job(&[NULL_READ, "--gtod_reduce=1"]),
        than: &[(Itself("with latencies", Job(&[NULL_READ])), Any), (Fio, Any)],
    },
    Row {
        name: "null without percentiles (clat_percentiles=0)",
        what: Rate,
        job: Job(&[NULL_READ, "--clat_percentiles=0"]),
        than: &[(Itself("with percentiles", Job(&[NULL_READ])), AtLeast(0.97))],
    },
    Row {
        name: "null with self-measurement",
        what: Rate,
        job: Job(&[NULL_READ]),
        than: &[(Itself("unmeasured", Job(&[NULL_READ, "--generator_shares=0"])), AtLeast(0.99))],
    },
    Row {
        name: "null with the total latency alone",
        what: Rate,
        job: Job(&[NULL_READ, "--disable_clat=1 --disable_slat=1"]),
        than: &[(Itself("with all three", Job(&[NULL_READ])), Any)],
    },
    Row {
        name: "null depth 32 without latencies",
        what: Rate,
        job: Job(&[NULL_READ_32, "--gtod_reduce=1"]),
        than: &[(Itself("with latencies", Job(&[NULL_READ_32])), Any)],
    },
    Row {
        name: "null depth 32 with percentiles of all latencies",
        what: Rate,
        job: Job(&[NULL_READ_32, "--slat_percentiles=1 --lat_percentiles=1"]),
        than: &[(Itself("by default", Job(&[NULL_READ_32])), Any)],
    },
    Row {
        name: "null depth 32 with the total latency alone",
        what: Rate,
        job: Job(&[NULL_READ_32, "--disable_clat=1 --disable_slat=1"]),
        than: &[(Itself("with all three", Job(&[NULL_READ_32])), Any)],
    },
    // Two jobs.
    Row {
        name: "2 jobs on 2 cores, psync",
        what: Rate,
        job: Job(&[READ_4K, "--numjobs=2 TWO_CPUS"]),
        than: &[(Itself("one job", Job(&[READ_4K])), AtLeast(1.95)), (Fio, Any)],
    },
    Row {
        name: "2 jobs on 2 cores, null",
        what: Rate,
        job: Job(&[NULL_READ, "--numjobs=2 TWO_CPUS"]),
        than: &[(Itself("one job", Job(&[NULL_READ])), AtLeast(1.95)), (Fio, Any)],
    },
    // What it takes.
    Row {
        name: "instructions an I/O, psync 4 KiB",
        what: Instructions,
        job: Job(&[READ_4K]),
        than: &[(PlainFio, AtMost(1.0 / 3.0))],
    },
    Row {
        name: "instructions an I/O, null",
        what: Instructions,
        job: Job(&[NULL_READ]),
        than: &[(PlainFio, AtMost(1.0 / 3.0))],
    },
    Row {
        name: "instructions an I/O, null depth 32",
        what: Instructions,
        job: Job(&[NULL_READ_32]),
        than: &[(PlainFio, Any)],
    },
    Row {
        name: "memory of one job",
        what: OwnMemory,
        job: Job(&[READ_4K]),
        than: &[(Fio, AtMost(0.25))],
    },
    Row {
        name: "memory of one job, all resident",
        what: Resident,
        job: Job(&[READ_4K]),
        than: &[(Fio, Any)],
    },
    Row {
        name: "memory of 1000 jobs",
        what: Resident,
        job: Job(&["--ioengine=null --rw=randread --size=1m --numjobs=1000"]),
        than: &[(Fio, AtMost(0.25))],
    },
    Row {
        name: "memory of a random map over 4 TB",
        what: Resident,
        job: Job(&["--ioengine=null --rw=randread --bs=4k --size=4t"]),
        than: &[(Fio, AtMost(0.25))],
    },
    Row {
        name: "from the start to the first I/O",
        what: FirstIo,
        job: Job(&["--ioengine=psync --rw=randread --bs=4k --io_size=4k FILE"]),
        than: &[(Fio, AtMost(0.5))],
    },
    Row {
        name: "from the last I/O to the exit",
        what: Exit,
        job: Job(&["--ioengine=psync --rw=randread --bs=4k --io_size=4k FILE"]),
        than: &[(Fio, AtMost(0.5))],
    },
    Row {
        name: "laying out a file of 4 GiB",
        what: Layout,
        job: Job(&["--ioengine=psync --rw=read --bs=4k --create_only=1"]),
        than: &[(Fio, AtLeast(1.0)), (Dd, AtLeast(0.95))],
    },
    Row {
        name: "falloc 4 KiB",
        what: Rate,
        job: Job(&["--ioengine=falloc --rw=read --bs=4k --size=1m"]),
        than: &[(Fio, AtLeast(1.2))],
    },
    Row {
        name: "ftruncate",
        what: Rate,
        job: Job(&["--ioengine=ftruncate --rw=randwrite --bs=4k --size=1m"]),
        than: &[(Fio, AtLeast(1.2))],
    },
    on_names!("attributes of files", "filestat", "--create_fsync=0", AtLeast(1.2)),
    on_names!("attributes of directories", "dirstat", "--create_fsync=0", AtLeast(1.2)),
    // Few systems permit 40,000 open files.
    on_names!("creating files", "filecreate", "--openfiles=1000", AtLeast(1.2)),
    on_names!("creating directories", "dircreate", "--create_fsync=0", AtLeast(1.2)),
    on_names!("removing files", "filedelete", "--create_fsync=0", AtLeast(1.2)),
    // The system calls alone reach 1.17 times fio's rate.
    on_names!("removing directories", "dirdelete", "--create_fsync=0", AtLeast(1.05)),
    Row {
        name: "laying out and reading 100,000 files of 4 KiB",
        what: ManyFiles,
        // Without flushes, which would measure the disk.
        job: Job(&["--ioengine=psync --rw=read --bs=4k --create_fsync=0 --openfiles=1000"]),
        than: &[(Fio, AtMost(1.0))],
    },
    Row {
        name: "null writes 128 KiB, compressible by half",
        what: Rate,
        job: Job(&["--ioengine=null --rw=write --bs=128k --buffer_compress_percentage=50"]),
        than: &[(Fio, AtLeast(1.0))],
    },
    Row {
        name: "null trims 128 KiB: an op without data",
        what: Rate,
        job: Job(&["--ioengine=null --rw=trim --bs=128k"]),
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "replay of a million I/Os without delays, null",
        what: WholeRun,
        job: Job(&["--ioengine=null --replay_no_stall=1 TRACE"]),
        than: &[(Fio, AtMost(0.6))],
    },
    Row {
        name: "memory of a replay of a million I/Os",
        what: Resident,
        job: Job(&["--ioengine=null --replay_no_stall=1 TRACE"]),
        than: &[(Fio, AtMost(0.25))],
    },
];
