//! What a row of the benchmark is: a job, what is measured of it, and what it is compared with.

/// One row.
pub(super) struct Row {
    /// What it shows.
    pub name: &'static str,
    /// What is measured.
    pub what: What,
    /// What is done.
    pub job: Job,
    /// What it is compared with, and what the ratio must be.
    pub than: &'static [(Than, Bound)],
}

/// A job's options, in one text or several, by blanks; what is not named is at its default. `FILE`
/// stands for a file of 256 MiB in the page cache, `LOOP` for a loop device over one (needs root),
/// `TWO_CPUS` for one CPU a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Job(pub &'static [&'static str]);

impl Job {
    /// The options one by one.
    pub(super) fn options(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().flat_map(|text| text.split(' '))
    }

    /// Whether an option is among them, as it is written.
    pub(super) fn has(self, option: &str) -> bool {
        self.options().any(|own| own == option)
    }
}

/// What is measured of a run. The ratio is fiord's figure divided by the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
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
    /// Time of a whole run that lays out and reads very many files of 4 KiB.
    ManyFiles,
}

impl What {
    /// In a few words, for the table.
    pub(super) fn unit(self) -> &'static str {
        match self {
            What::Rate => "I/Os a second",
            What::Instructions => "user instructions an I/O",
            What::OwnMemory => "peak of its own memory",
            What::Resident => "peak of resident memory",
            What::FirstIo => "time to the first I/O",
            What::Exit => "time from the last I/O",
            What::Layout => "bytes a second",
            What::ManyFiles => "time of the run",
        }
    }
}

/// What fiord is compared with.
#[derive(Debug, Clone, Copy)]
pub(super) enum Than {
    /// fio doing the same job.
    Fio,
    /// fio as distributions build it, not for the native CPU.
    PlainFio,
    /// The bare loop: its engine and settings, by blanks.
    Bare(&'static str),
    /// fio's `t/io_uring`: its options, by blanks.
    Tool(&'static str),
    /// Another job by fiord itself, and what it is called.
    Itself(&'static str, Job),
    /// `dd bs=1M`.
    Dd,
    /// Another fiord doing the same job (`--against`).
    OtherFiord,
}

impl Than {
    /// What it is called.
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

/// What a ratio must be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Bound {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
    /// Nothing is required.
    Any,
}

impl Bound {
    /// Whether a ratio is as required. `None`: nothing is.
    pub(super) fn met(self, ratio: f64) -> Option<bool> {
        match self {
            Bound::AtLeast(least) => Some(ratio >= least),
            Bound::AtMost(most) => Some(ratio <= most),
            Bound::Any => None,
        }
    }
}
