//! The rows of the benchmark: a job at the options' defaults unless named, what is measured of it,
//! and what it is compared with.

/// One row.
pub struct Row {
    /// What it shows.
    pub name: &'static str,
    /// What is measured.
    pub what: What,
    /// The job's options. `FILE` stands for a file of 256 MiB in the page cache, `LOOP` for a loop
    /// device over one (needs root), `TWO_CPUS` for one CPU a job.
    pub job: &'static [&'static str],
    /// What it is compared with, and what the ratio must be.
    pub than: &'static [(Than, Bound)],
}

/// What is measured of a run. The ratio is fiord's figure divided by the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// I/Os a second.
    Rate,
    /// Instructions an I/O in user space (callgrind).
    Instructions,
    /// Peak of the memory that is the process's own: anonymous and shared memory. Pages of programs
    /// and libraries are in the page cache, where every process that maps them shares them.
    OwnMemory,
    /// Peak of resident memory, pages of programs and libraries included.
    Resident,
    /// Time from the start of the process to its first I/O.
    FirstIo,
    /// Time from the last I/O to the end of the process.
    Exit,
    /// Bytes a second at which a file is laid out.
    Layout,
}

impl What {
    /// In a few words, for the table.
    pub fn unit(self) -> &'static str {
        match self {
            What::Rate => "I/Os a second",
            What::Instructions => "user instructions an I/O",
            What::OwnMemory => "peak of its own memory",
            What::Resident => "peak of resident memory",
            What::FirstIo => "time to the first I/O",
            What::Exit => "time from the last I/O",
            What::Layout => "bytes a second",
        }
    }
}

/// What fiord is compared with.
#[derive(Debug, Clone, Copy)]
pub enum Than {
    /// fio doing the same job.
    Fio,
    /// fio as distributions build it, not for the native CPU.
    PlainFio,
    /// The bare loop: its engine and settings.
    Bare(&'static [&'static str]),
    /// fio's `t/io_uring`: its options.
    Tool(&'static [&'static str]),
    /// Another job by fiord itself, and what it is called.
    Itself(&'static str, &'static [&'static str]),
    /// `dd bs=1M`.
    Dd,
}

impl Than {
    /// What it is called.
    pub fn name(&self) -> &'static str {
        match self {
            Than::Fio => "fio",
            Than::PlainFio => "plain fio",
            Than::Bare(settings) if settings.contains(&"fixed=1") => "bare, fixed",
            Than::Bare(_) => "bare loop",
            Than::Tool(_) => "t/io_uring",
            Than::Itself(name, _) => name,
            Than::Dd => "dd",
        }
    }
}

/// What a ratio must be.
#[derive(Debug, Clone, Copy)]
pub enum Bound {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Nothing is required.
    Any,
}

impl Bound {
    /// Whether a ratio is as required. `None`: nothing is.
    pub fn met(self, ratio: f64) -> Option<bool> {
        match self {
            Bound::AtLeast(least) => Some(ratio >= least),
            Bound::AtMost(most) => Some(ratio <= most),
            Bound::Any => None,
        }
    }
}

use Bound::{Any, AtLeast, AtMost};
use Than::{Bare, Dd, Fio, Itself, PlainFio, Tool};
use What::{Exit, FirstIo, Instructions, Layout, OwnMemory, Rate, Resident};

const READ_4K: &[&str] = &["--ioengine=psync", "--rw=randread", "--bs=4k", "FILE"];
const NULL_READ: &[&str] =
    &["--ioengine=null", "--rw=randread", "--bs=4k", "--norandommap", "--size=256m"];

const NULL_READ_32: &[&str] = &[
    "--ioengine=null",
    "--iodepth=32",
    "--rw=randread",
    "--bs=4k",
    "--norandommap",
    "--size=256m",
];

/// All rows, in the order in which they run.
pub const ROWS: &[Row] = &[
    // The kernel does the work.
    Row {
        name: "psync random read 4 KiB, page cache",
        what: Rate,
        job: READ_4K,
        than: &[(Fio, AtLeast(1.2)), (Bare(&["psync", "bs=4096"]), AtLeast(0.95))],
    },
    Row {
        name: "psync random read 512 B, page cache",
        what: Rate,
        job: &["--ioengine=psync", "--rw=randread", "--bs=512", "FILE"],
        than: &[(Fio, AtLeast(1.25)), (Bare(&["psync", "bs=512"]), AtLeast(0.92))],
    },
    Row {
        name: "psync sequential read 128 KiB, page cache",
        what: Rate,
        job: &["--ioengine=psync", "--rw=read", "--bs=128k", "FILE"],
        than: &[(Fio, Any)],
    },
    Row {
        name: "psync random write 4 KiB, page cache",
        what: Rate,
        job: &["--ioengine=psync", "--rw=randwrite", "--bs=4k", "FILE"],
        than: &[(Fio, Any)],
    },
    Row {
        name: "io_uring depth 32 random read 512 B",
        what: Rate,
        job: &["--ioengine=io_uring", "--iodepth=32", "--rw=randread", "--bs=512", "FILE"],
        than: &[
            (Fio, AtLeast(2.2)),
            (Bare(&["io_uring", "depth=32", "bs=512"]), AtLeast(0.9)),
            (Bare(&["io_uring", "depth=32", "bs=512", "fixed=1"]), Any),
            // Buffered, and otherwise as it is by default: registered buffers and files, batches of
            // 32.
            (Tool(&["-d32", "-s32", "-c32", "-b512", "-p0", "-O0"]), AtLeast(0.9)),
        ],
    },
    Row {
        name: "io_uring depth 32, batches of 16, fixed, 512 B",
        what: Rate,
        job: &[
            "--ioengine=io_uring",
            "--iodepth=32",
            "--iodepth_batch_submit=16",
            "--iodepth_batch_complete_min=16",
            "--fixedbufs",
            "--registerfiles",
            "--rw=randread",
            "--bs=512",
            "FILE",
        ],
        than: &[
            (Fio, AtLeast(1.25)),
            (Bare(&["io_uring", "depth=32", "bs=512", "batch=16", "fixed=1"]), AtLeast(0.95)),
        ],
    },
    Row {
        name: "io_uring depth 1 random read 4 KiB",
        what: Rate,
        job: &["--ioengine=io_uring", "--rw=randread", "--bs=4k", "FILE"],
        than: &[(Fio, AtLeast(1.25)), (Bare(&["io_uring", "bs=4096"]), AtLeast(0.95))],
    },
    Row {
        name: "io_uring depth 32 random read 4 KiB",
        what: Rate,
        job: &["--ioengine=io_uring", "--iodepth=32", "--rw=randread", "--bs=4k", "FILE"],
        than: &[(Fio, AtLeast(1.5)), (Bare(&["io_uring", "depth=32", "bs=4096"]), AtLeast(0.95))],
    },
    Row {
        name: "libaio depth 1 random read 4 KiB, page cache",
        what: Rate,
        job: &["--ioengine=libaio", "--rw=randread", "--bs=4k", "FILE"],
        than: &[(Fio, Any), (Bare(&["libaio", "bs=4096"]), Any)],
    },
    Row {
        name: "libaio depth 32 random read 4 KiB, page cache",
        what: Rate,
        job: &["--ioengine=libaio", "--iodepth=32", "--rw=randread", "--bs=4k", "FILE"],
        than: &[(Fio, Any), (Bare(&["libaio", "depth=32", "bs=4096"]), AtLeast(0.95))],
    },
    Row {
        name: "libaio depth 32, O_DIRECT on a loop device",
        what: Rate,
        job: &[
            "--ioengine=libaio",
            "--iodepth=32",
            "--direct=1",
            "--rw=randread",
            "--bs=4k",
            "LOOP",
        ],
        than: &[(Fio, Any), (Bare(&["libaio", "depth=32", "bs=4096", "direct=1"]), AtLeast(0.95))],
    },
    Row {
        name: "mmap random read 4 KiB",
        what: Rate,
        job: &["--ioengine=mmap", "--rw=randread", "--bs=4k", "FILE"],
        than: &[(Fio, Any), (Bare(&["mmap", "bs=4096"]), AtLeast(0.9))],
    },
    // Nobody does the work: the generator alone.
    Row {
        name: "null depth 1 random read",
        what: Rate,
        job: NULL_READ,
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null depth 32 random read",
        what: Rate,
        job: NULL_READ_32,
        than: &[(Fio, AtLeast(8.0))],
    },
    Row {
        name: "null depth 32 random write",
        what: Rate,
        job: &["--ioengine=null", "--iodepth=32", "--rw=randwrite", "--bs=4k", "--norandommap"],
        than: &[(Fio, AtLeast(8.0))],
    },
    Row {
        name: "null depth 32 mixed 70/30",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--iodepth=32",
            "--rw=randrw",
            "--rwmixread=70",
            "--bs=4k",
            "--norandommap",
        ],
        than: &[(Fio, Any)],
    },
    Row {
        name: "null writes 128 KiB, scrambled",
        what: Rate,
        job: &["--ioengine=null", "--rw=write", "--bs=128k"],
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null writes 128 KiB, refilled",
        what: Rate,
        job: &["--ioengine=null", "--rw=write", "--bs=128k", "--refill_buffers"],
        than: &[(Fio, AtLeast(1.0)), (PlainFio, AtLeast(3.0))],
    },
    Row {
        name: "null random read, 64 GB with the random map",
        what: Rate,
        job: &["--ioengine=null", "--rw=randread", "--bs=4k", "--size=64g"],
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null zipf",
        what: Rate,
        job: &["--ioengine=null", "--rw=randread", "--bs=4k", "--random_distribution=zipf:1.2"],
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null pareto",
        what: Rate,
        job: &["--ioengine=null", "--rw=randread", "--bs=4k", "--random_distribution=pareto:0.2"],
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null mixed 70/30 with bssplit",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--rw=randrw",
            "--rwmixread=70",
            "--bssplit=4k/60:8k/30:64k/10",
            "--norandommap",
        ],
        than: &[(Fio, AtLeast(3.0))],
    },
    Row {
        name: "null with a latency log of every I/O",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--rw=randread",
            "--bs=4k",
            "--norandommap",
            "--size=256m",
            "--write_lat_log=bench",
        ],
        than: &[(Itself("without a log", NULL_READ), AtLeast(0.8)), (Fio, Any)],
    },
    Row {
        name: "null without latencies (gtod_reduce)",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--rw=randread",
            "--bs=4k",
            "--norandommap",
            "--size=256m",
            "--gtod_reduce=1",
        ],
        than: &[(Itself("with latencies", NULL_READ), Any), (Fio, Any)],
    },
    Row {
        name: "null without percentiles (clat_percentiles=0)",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--rw=randread",
            "--bs=4k",
            "--norandommap",
            "--size=256m",
            "--clat_percentiles=0",
        ],
        than: &[(Itself("with percentiles", NULL_READ), AtLeast(0.97))],
    },
    Row {
        name: "null with self-measurement",
        what: Rate,
        job: NULL_READ,
        than: &[(
            Itself(
                "unmeasured",
                &[
                    "--ioengine=null",
                    "--rw=randread",
                    "--bs=4k",
                    "--norandommap",
                    "--size=256m",
                    "--generator_shares=0",
                ],
            ),
            AtLeast(0.99),
        )],
    },
    Row {
        name: "null with the total latency alone",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--rw=randread",
            "--bs=4k",
            "--norandommap",
            "--size=256m",
            "--disable_clat=1",
            "--disable_slat=1",
        ],
        than: &[(Itself("with all three", NULL_READ), Any)],
    },
    Row {
        name: "null depth 32 without latencies",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--iodepth=32",
            "--rw=randread",
            "--bs=4k",
            "--norandommap",
            "--size=256m",
            "--gtod_reduce=1",
        ],
        than: &[(Itself("with latencies", NULL_READ_32), Any)],
    },
    Row {
        name: "null depth 32 with the total latency alone",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--iodepth=32",
            "--rw=randread",
            "--bs=4k",
            "--norandommap",
            "--size=256m",
            "--disable_clat=1",
            "--disable_slat=1",
        ],
        than: &[(Itself("with all three", NULL_READ_32), Any)],
    },
    // Two jobs.
    Row {
        name: "2 jobs on 2 cores, psync",
        what: Rate,
        job: &["--ioengine=psync", "--rw=randread", "--bs=4k", "FILE", "--numjobs=2", "TWO_CPUS"],
        than: &[(Itself("one job", READ_4K), AtLeast(1.95)), (Fio, Any)],
    },
    Row {
        name: "2 jobs on 2 cores, null",
        what: Rate,
        job: &[
            "--ioengine=null",
            "--rw=randread",
            "--bs=4k",
            "--norandommap",
            "--size=256m",
            "--numjobs=2",
            "TWO_CPUS",
        ],
        than: &[(Itself("one job", NULL_READ), AtLeast(1.95)), (Fio, Any)],
    },
    // What it takes.
    Row {
        name: "instructions an I/O, psync 4 KiB",
        what: Instructions,
        job: READ_4K,
        than: &[(PlainFio, AtMost(1.0 / 3.0))],
    },
    Row {
        name: "instructions an I/O, null",
        what: Instructions,
        job: NULL_READ,
        than: &[(PlainFio, AtMost(1.0 / 3.0))],
    },
    Row {
        name: "instructions an I/O, null depth 32",
        what: Instructions,
        job: NULL_READ_32,
        than: &[(PlainFio, Any)],
    },
    Row { name: "memory of one job", what: OwnMemory, job: READ_4K, than: &[(Fio, AtMost(0.25))] },
    Row {
        name: "memory of one job, all resident",
        what: Resident,
        job: READ_4K,
        than: &[(Fio, Any)],
    },
    Row {
        name: "memory of 1000 jobs",
        what: Resident,
        job: &["--ioengine=null", "--rw=randread", "--size=1m", "--numjobs=1000"],
        than: &[(Fio, AtMost(0.25))],
    },
    Row {
        name: "memory of a random map over 4 TB",
        what: Resident,
        job: &["--ioengine=null", "--rw=randread", "--bs=4k", "--size=4t"],
        than: &[(Fio, AtMost(0.25))],
    },
    Row {
        name: "from the start to the first I/O",
        what: FirstIo,
        job: &["--ioengine=psync", "--rw=randread", "--bs=4k", "--io_size=4k", "FILE"],
        than: &[(Fio, AtMost(0.5))],
    },
    Row {
        name: "from the last I/O to the exit",
        what: Exit,
        job: &["--ioengine=psync", "--rw=randread", "--bs=4k", "--io_size=4k", "FILE"],
        than: &[(Fio, AtMost(0.5))],
    },
    Row {
        name: "laying out a file of 4 GiB",
        what: Layout,
        job: &["--ioengine=psync", "--rw=read", "--bs=4k", "--create_only=1"],
        than: &[(Fio, AtLeast(1.0)), (Dd, AtLeast(0.95))],
    },
    Row {
        name: "null writes 128 KiB, compressible by half",
        what: Rate,
        job: &["--ioengine=null", "--rw=write", "--bs=128k", "--buffer_compress_percentage=50"],
        than: &[(Fio, AtLeast(1.0))],
    },
    Row {
        name: "null trims 128 KiB: an op without data",
        what: Rate,
        job: &["--ioengine=null", "--rw=trim", "--bs=128k"],
        than: &[(Fio, AtLeast(3.0))],
    },
];
