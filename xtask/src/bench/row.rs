//! A row of the benchmark: a job, a measurement, and comparisons.

/// Size in bytes of the file that the rows read and write.
pub(super) const FILE_BYTES: u64 = 256 << 20;

/// A row of the benchmark.
pub(super) struct Row {
    /// The name of the row in the table.
    pub name: &'static str,
    pub what: What,
    pub job: Job,
    /// The comparisons, each with the required ratio.
    pub than: &'static [(Than, Bound)],
}

/// The options of a job, in one or several texts, separated by blanks. Words in capitals stand for:
///
/// | word | meaning |
/// |---|---|
/// | `FILE` | a file of 256 MiB in the page cache |
/// | `TARGET` | that file as the target of an engine with an option of its own for it |
/// | `SEALED` | such a file that the program itself writes before with the job's `verify` |
/// | `NFS`, `ISCSI` | engine and target on a server that the benchmark starts (needs root) |
/// | `RADOS`, `RBD`, `GFAPI` | target on a cluster that `cargo xtask servers` has started |
/// | `LOOP` | a loop device over such a file (needs root) |
/// | `HTTP` | objects on a WebDAV server that the benchmark starts |
/// | `NBD` | an NBD export of 256 MiB in the memory of nbdkit |
/// | `TRACE` | a trace to replay |
/// | `TWO_CPUS` | one CPU per job |
/// | `SHARED_CPUS` | two CPUs for all threads of a job |
/// | `SECOND_CPU` | another CPU than the job's for threads of `verify_async` |
/// | `PEER` | the options after it are those of a second job, which ends the first one |
#[derive(Debug, Clone, Copy)]
pub(super) struct Job(pub &'static [&'static str]);

impl Job {
    /// Returns the options one by one.
    pub(super) fn options(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|text| text.split(' '))
    }

    /// Returns whether the job has an option, spelled exactly like this.
    pub(super) fn has(self, option: &str) -> bool {
        self.options().any(|own| own == option)
    }
}

/// A measurement of a run. The ratio is fiord's result divided by the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// I/Os per second.
    Rate,
    /// I/Os per second of a job on names that runs to its end in an empty directory.
    NameRate,
    /// CPU time of the jobs, in per cent of their run time.
    CpuTime,
    /// Instructions per I/O in user space (callgrind).
    Instructions,
    /// Peak of the process's private memory: anonymous and shared memory. Pages of programs and libraries are
    /// in the page cache, and all processes that map them share them.
    OwnMemory,
    /// Peak of resident memory, including pages of programs and libraries.
    Resident,
    /// Time from the start of the process to its first I/O.
    FirstIo,
    /// Time from the last I/O to the end of the process.
    Exit,
    /// Bytes per second at which a file is laid out.
    Layout,
    /// Time of a whole run that lays out and reads very many files of 4 KiB.
    ManyFiles,
    /// Time of a whole run.
    WholeRun,
}

impl What {
    /// A short description for the table.
    pub(super) fn unit(self) -> &'static str {
        match self {
            What::Rate | What::NameRate => "I/Os per second",
            What::CpuTime => "per cent of a CPU",
            What::Instructions => "user instructions per I/O",
            What::OwnMemory => "peak of private memory",
            What::Resident => "peak of resident memory",
            What::FirstIo => "time to the first I/O",
            What::Exit => "time from the last I/O",
            What::Layout => "bytes per second",
            What::ManyFiles | What::WholeRun => "time of the run",
        }
    }
}

/// A program or job that fiord is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Than {
    /// fio with the same job.
    Fio,
    /// fio as distributions build it, not for the native CPU.
    PlainFio,
    /// The bare loop, with its engine and settings, separated by blanks.
    Bare(&'static str),
    /// fio's `t/io_uring`, with its options, separated by blanks.
    Tool(&'static str),
    /// fiord with another job, and the name of that job.
    Itself(&'static str, Job),
    /// `dd bs=1M`.
    Dd,
    /// Another fiord with the same job (`--against`).
    OtherFiord,
}

impl Than {
    /// The name for the table.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Than::Fio => "fio",
            Than::PlainFio => "plain fio",
            Than::Bare(settings) if settings.contains("fixed=1") => "bare, fixed",
            Than::Bare(_) => "bare loop",
            Than::Tool(_) => "t/io_uring",
            Than::Itself(name, _) => name,
            Than::Dd => "dd",
            Than::OtherFiord => "other fiord",
        }
    }
}

/// A requirement for a ratio.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    /// The ratio must be at least this.
    AtLeast(f64),
    /// The ratio must be at most this.
    AtMost(f64),
    /// There is no requirement.
    Any,
}

impl Bound {
    /// Returns whether a ratio meets the requirement; `None` if there is none.
    pub(super) fn met(self, ratio: f64) -> Option<bool> {
        match self {
            Bound::AtLeast(least) => Some(ratio >= least),
            Bound::AtMost(most) => Some(ratio <= most),
            Bound::Any => None,
        }
    }
}
