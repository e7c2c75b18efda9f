//! The types that declare options.
//!
//! The parser, `--cmdhelp`, `--enghelp`, `--showcmd`, "did you mean" and the reference pages all
//! use these declarations.

use super::value::ReadValue;

/// The declaration of an option of a job file or a job option of the command line. The macro
/// `options!` creates it, together with a typed handle ([`Opt`](super::handle::Opt)).
#[derive(Debug, Clone, Copy)]
pub struct OptionDef {
    /// The name in fio's documentation.
    pub name: &'static str,
    /// Other names with the same meaning.
    pub aliases: &'static [&'static str],
    /// The jobs that may use it.
    pub scope: Scope,
    /// The kind of its values.
    pub kind: Kind,
    /// The value if the option is not set, as a user would type it. `None`: no value.
    pub default: Option<&'static str>,
    /// The chapter of the reference that describes it.
    pub category: Category,
    /// The option that this one refines. Help output indents refinements.
    pub parent: Option<&'static str>,
    /// One paragraph of documentation, in fiord's own words: the comment of the declaration.
    pub doc: &'static str,
    /// An example, as a line of a job file.
    pub example: &'static str,
    /// The first known release of fio with this option ("3.33" means 3.33 or earlier), or "fiord"
    /// if only fiord has it.
    pub since: &'static str,
    /// Whether fiord supports it.
    pub support: Support,
    /// The value of the bare name (`write_bw_log` without `=`). `None`: a value is required, unless
    /// the kind is [`Kind::Switch`].
    pub bare: Option<&'static str>,
    /// Whether its value is a secret, which reports, messages and stored results do not contain ([`crate::secret`]).
    pub secret: bool,
}

impl OptionDef {
    /// Whether a job with this engine may set the option.
    #[must_use]
    pub fn fits(&self, engine: &str) -> bool {
        match self.scope {
            Scope::Job => true,
            Scope::Engine(engines) => engines.contains(&engine),
        }
    }
}

/// Two declarations are equal only if they are the same declaration.
impl PartialEq for OptionDef {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
impl Eq for OptionDef {}

/// Which jobs may use an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All jobs. The option may be in a job section, in `[global]` and on the command line.
    Job,
    /// Only jobs with one of these engines. On the command line, the option must follow
    /// `ioengine=`.
    Engine(&'static [&'static str]),
}

/// Whether fiord supports an option, a value word or an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    Built,
    /// Accepted without effect, because there is nothing to do. The string says why, in one clause.
    Accepted(&'static str),
    /// An engine of builds with its cargo feature, which this build lacks: a run that uses it ends before any I/O.
    WithoutFeature,
    /// Parsed and checked, but not supported yet: a run that uses it ends before any I/O.
    Later,
}

/// A word that a value may be.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// The word, as documented.
    pub name: &'static str,
    /// The word of which this one is another spelling (`"1"` for `"native"`).
    pub means: Option<&'static str>,
    /// A clause that describes the effect.
    pub doc: &'static str,
    /// Whether fiord supports it.
    pub support: Support,
}

impl Word {
    /// Declares a supported word.
    #[must_use]
    pub const fn new(name: &'static str, doc: &'static str) -> Self {
        Word { name, means: None, doc, support: Support::Built }
    }
    /// Declares another spelling of the word `means`.
    #[must_use]
    pub const fn alias(name: &'static str, means: &'static str) -> Self {
        Word { name, means: Some(means), doc: "", support: Support::Built }
    }
    /// Declares another spelling of the word `means`, which is not supported yet.
    #[must_use]
    pub const fn later_alias(name: &'static str, means: &'static str) -> Self {
        Word { name, means: Some(means), doc: "", support: Support::Later }
    }
    /// Declares a word that is not supported yet.
    #[must_use]
    pub const fn later(name: &'static str, doc: &'static str) -> Self {
        Word { name, means: None, doc, support: Support::Later }
    }
}

/// What may follow a value word after a colon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Suffix {
    /// Nothing.
    None,
    /// An integer (`sync_file_range=write:8`).
    Int,
    /// After words that start with `rand`, an integer of 1 or more (`rw=randread:8`). After other
    /// words, a number of bytes, which may be negative (`rw=read:-4k`).
    Step,
    /// Free text that a later stage parses (`random_distribution=zipf:1.2/0.5`).
    Text,
}

/// The unit of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain count. The suffixes `k`, `m`, `g` are valid, as in fio.
    Count,
    Bytes,
    /// Bytes per second: a rate. `/s` may follow the number.
    BytesPerSecond,
    /// Microseconds if the number has no time unit.
    Micros,
    /// Milliseconds if the number has no time unit.
    Millis,
    /// Seconds if the number has no time unit.
    Seconds,
    /// Per cent.
    Percent,
}

/// The kind of a value.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A switch: the name alone turns it on, `=0` turns it off.
    Switch,
    /// `0` or `1`. As in fio, the name alone is an error.
    Bool,
    /// Free text.
    Text,
    /// One whole number in the inclusive range `min..=max`.
    Int {
        /// The smallest valid number.
        min: i64,
        /// The largest valid number.
        max: u64,
        /// The unit of the number.
        unit: Unit,
    },
    /// One to three whole numbers for read, write and trim, separated by commas. A number may be
    /// left empty.
    Ints {
        /// The smallest valid number.
        min: i64,
        /// The largest valid number.
        max: u64,
        /// The unit of the numbers.
        unit: Unit,
    },
    /// A size: bytes, a percentage (`20%`) or zones (`8z`).
    Amount {
        /// The largest valid percentage.
        max_percent: f64,
    },
    /// A duration, stored in nanoseconds.
    Time {
        /// The unit of a bare number.
        unit: Unit,
    },
    /// One to `max_len` floating point numbers, separated by colons.
    Floats {
        /// The smallest valid number.
        min: f64,
        /// The largest valid number.
        max: f64,
        /// The maximum length of the list.
        max_len: usize,
    },
    /// One to three ranges `low-high` for read, write and trim, separated by commas.
    Ranges {
        /// The smallest valid lower bound.
        min: u64,
    },
    /// One of these words.
    Words {
        /// The words, including aliases.
        words: &'static [Word],
        /// What may follow a word.
        suffix: Suffix,
    },
    /// Several of these words, separated by commas.
    WordList {
        /// The words, including aliases.
        words: &'static [Word],
        /// What may follow each word.
        suffix: Suffix,
    },
    /// A value with its own syntax.
    Custom {
        /// A short description of the syntax, for help texts.
        name: &'static str,
        read: &'static dyn ReadValue,
    },
}

/// The chapters of the reference, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// `kb_base`, `unit_base`.
    Units,
    /// `name`, `description`, `loops`, `numjobs`.
    Job,
    /// Run time, delays and clocks.
    Time,
    /// Files, directories, devices, zones.
    Target,
    /// Type of I/O: `rw`, mixes, distributions, flushing.
    IoType,
    /// `bs` and related options.
    BlockSize,
    /// Contents and memory of buffers.
    Buffers,
    /// `size`, `offset`.
    IoSize,
    /// The engine and its own options.
    Engine,
    /// `iodepth` and related options.
    Depth,
    /// `rate`, `thinktime`, `latency_target`.
    Rate,
    /// Recording and replaying I/Os.
    Replay,
    /// CPUs, priorities, control groups, groups of jobs.
    Process,
    /// Verification.
    Verify,
    SteadyState,
    /// Logs, percentiles, reporting.
    Results,
    /// Error handling.
    Errors,
    /// Built-in loads with a name.
    Profile,
}

impl Category {
    /// All categories, in order.
    pub const ALL: [Category; 18] = [
        Category::Units,
        Category::Job,
        Category::Time,
        Category::Target,
        Category::IoType,
        Category::BlockSize,
        Category::Buffers,
        Category::IoSize,
        Category::Engine,
        Category::Depth,
        Category::Rate,
        Category::Replay,
        Category::Process,
        Category::Verify,
        Category::SteadyState,
        Category::Results,
        Category::Errors,
        Category::Profile,
    ];

    /// The heading of the chapter.
    #[must_use]
    pub const fn title(self) -> &'static str {
        match self {
            Category::Units => "Units",
            Category::Job => "Jobs",
            Category::Time => "Time and clocks",
            Category::Target => "Files, devices and zones",
            Category::IoType => "Type of I/O",
            Category::BlockSize => "Block size",
            Category::Buffers => "Buffers and memory",
            Category::IoSize => "Amount of I/O",
            Category::Engine => "Engines",
            Category::Depth => "Queue depth",
            Category::Rate => "Rate, think time and latency target",
            Category::Replay => "Recording and replaying",
            Category::Process => "Threads, CPUs and the order of jobs",
            Category::Verify => "Verification",
            Category::SteadyState => "Steady state",
            Category::Results => "Measurement and reports",
            Category::Errors => "Errors",
            Category::Profile => "Profiles",
        }
    }
}
