//! What the declaration of an option is made of.
//!
//! From one [`OptionDef`] come the parser, `--cmdhelp`, `--enghelp`, `--showcmd`, "did you mean" and
//! the reference pages.

use super::value::{Value, ValueError};

/// Gives a module `option(name, kind, doc, example)`, an [`OptionDef::new`] of the one category to
/// which all its options belong.
macro_rules! options_of {
    ($category:expr) => {
        const fn option(
            name: &'static str,
            kind: $crate::option::def::Kind,
            doc: &'static str,
            example: &'static str,
        ) -> $crate::option::def::OptionDef {
            $crate::option::def::OptionDef::new(name, kind, $category, doc, example)
        }
    };
}
pub(crate) use options_of;

/// One option of a job file or of the command line's job part.
///
/// Declare it with [`OptionDef::new`], then name what differs from a plain, supported job option:
///
/// ```
/// use fiord_job::option::def::{Category, Kind, OptionDef};
/// const NICE: OptionDef = OptionDef::new(
///     "nice",
///     Kind::int(-20, 19),
///     Category::Process,
///     "Adds this to the scheduling niceness of the job's thread.",
///     "nice=5",
/// )
/// .default("0");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct OptionDef {
    /// The name under which fio documents it.
    pub name: &'static str,
    /// Other names with the same meaning.
    pub aliases: &'static [&'static str],
    /// Where it may stand.
    pub scope: Scope,
    /// What its value looks like.
    pub kind: Kind,
    /// The value it has when it is not given, as a user would type it. `None`: no value.
    pub default: Option<&'static str>,
    /// Where the reference shows it.
    pub category: Category,
    /// The option that this one refines, for the indentation in help output.
    pub parent: Option<&'static str>,
    /// One paragraph, in fiord's own words.
    pub doc: &'static str,
    /// One line that a job file could hold.
    pub example: &'static str,
    /// The first release of fio that had it, where that is known ("3.33" means 3.33 or earlier).
    pub since: &'static str,
    /// Whether fiord does it today.
    pub support: Support,
    /// The value that the name alone stands for (`write_bw_log` without `=`). `None`: a value must
    /// follow, unless the kind is [`Kind::Switch`] or [`Kind::Bool`].
    pub bare: Option<&'static str>,
}

impl OptionDef {
    /// A supported job option without aliases, default or parent.
    pub const fn new(
        name: &'static str,
        kind: Kind,
        category: Category,
        doc: &'static str,
        example: &'static str,
    ) -> Self {
        OptionDef {
            name,
            aliases: &[],
            scope: Scope::Job,
            kind,
            default: None,
            category,
            parent: None,
            doc,
            example,
            since: "3.33",
            support: Support::Built,
            bare: None,
        }
    }

    /// The same with other names.
    pub const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }
    /// The same with a default.
    pub const fn default(mut self, value: &'static str) -> Self {
        self.default = Some(value);
        self
    }
    /// The same as a refinement of another option.
    pub const fn under(mut self, parent: &'static str) -> Self {
        self.parent = Some(parent);
        self
    }
    /// The same, known and not built yet.
    pub const fn later(mut self) -> Self {
        self.support = Support::Later;
        self
    }
    /// The same, where nothing has to be done: `why` is one clause.
    pub const fn accepted(mut self, why: &'static str) -> Self {
        self.support = Support::Accepted(why);
        self
    }
    /// The same, first seen in this release of fio (or `fiord` where it is ours).
    pub const fn since(mut self, release: &'static str) -> Self {
        self.since = release;
        self
    }
    /// The same, only for these engines.
    pub const fn of(mut self, engines: &'static [&'static str]) -> Self {
        self.scope = Scope::Engine(engines);
        self
    }
    /// The same, where the name alone stands for this value.
    pub const fn bare(mut self, value: &'static str) -> Self {
        self.bare = Some(value);
        self
    }
    /// Whether it may be set for a job of this engine.
    pub fn fits(&self, engine: &str) -> bool {
        match self.scope {
            Scope::Job => true,
            Scope::Engine(engines) => engines.contains(&engine),
        }
    }
}

/// Where an option may stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// In a job section, in `[global]` and on the command line.
    Job,
    /// As `Job`, but only after an `ioengine=` that names one of these engines.
    Engine(&'static [&'static str]),
}

/// Whether fiord does what the option (or value word, or engine) asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It works.
    Built,
    /// It works, but there is nothing to do: the text says why (one clause).
    Accepted(&'static str),
    /// It is parsed and checked; a run that uses it ends before any I/O.
    Later,
}

/// One word that a value may be.
#[derive(Debug, Clone, Copy)]
pub struct Word {
    /// As documented.
    pub name: &'static str,
    /// The word that this one is only another spelling of (`"1"` for `"native"`).
    pub means: Option<&'static str>,
    /// A clause that says what it does.
    pub doc: &'static str,
    /// Whether fiord does it today.
    pub support: Support,
}

impl Word {
    /// A word that works.
    pub const fn new(name: &'static str, doc: &'static str) -> Self {
        Word { name, means: None, doc, support: Support::Built }
    }
    /// Another spelling of `means`.
    pub const fn alias(name: &'static str, means: &'static str) -> Self {
        Word { name, means: Some(means), doc: "", support: Support::Built }
    }
    /// A word that is known and not built yet.
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
    /// After a word that begins with `rand` an integer of 1 or more (`rw=randread:8`), after others
    /// a number of bytes, below 0 too (`rw=read:-4k`).
    Step,
    /// Free text that a later stage reads (`random_distribution=zipf:1.2/0.5`).
    Text,
}

/// How a number is written and what it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// A plain count; `k`, `m`, `g` suffixes are understood as fio does.
    Count,
    /// Bytes.
    Bytes,
    /// Microseconds when no time unit follows.
    Micros,
    /// Milliseconds when no time unit follows.
    Millis,
    /// Seconds when no time unit follows.
    Seconds,
    /// Per cent.
    Percent,
}

/// The shape of a value.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// The name alone switches it on; `=0` turns it off again.
    Switch,
    /// `0` or `1`; the name alone is an error, as in fio.
    Bool,
    /// Free text.
    Text,
    /// One whole number. `min..=max` inclusive.
    Int {
        /// The smallest allowed.
        min: i64,
        /// The largest allowed.
        max: u64,
        /// What a number counts.
        unit: Unit,
    },
    /// One to three whole numbers for read, write and trim, by commas; a place may be left empty.
    Ints {
        /// The smallest allowed.
        min: i64,
        /// The largest allowed.
        max: u64,
        /// What a number counts.
        unit: Unit,
    },
    /// A size: bytes, a percentage (`20%`) or zones (`8z`).
    Amount,
    /// A duration. Stored in nanoseconds; the unit is the one a bare number has.
    Time {
        /// The unit of a bare number.
        unit: Unit,
    },
    /// One to `max_len` floating point numbers by colons.
    Floats {
        /// The smallest allowed.
        min: f64,
        /// The largest allowed.
        max: f64,
        /// How many there may be.
        max_len: usize,
    },
    /// One to three ranges `low-high` for read, write and trim, by commas.
    Ranges {
        /// The smallest allowed low end.
        min: u64,
    },
    /// One of these words.
    Words {
        /// The words, aliases among them.
        words: &'static [Word],
        /// What may follow one.
        suffix: Suffix,
    },
    /// Several of these words, by commas.
    WordList {
        /// The words, aliases among them.
        words: &'static [Word],
        /// What may follow each.
        suffix: Suffix,
    },
    /// A shape of its own, read by this function. `name` says in help what it looks like.
    Custom {
        /// What it looks like.
        name: &'static str,
        /// Reads it.
        read: ReadValue,
    },
}

/// Reads the text of a custom value.
pub type ReadValue = fn(&str, &super::value::Bases) -> Result<Value, ValueError>;

impl Kind {
    /// A plain count of 0 or more that fits 32 bits.
    pub const COUNT: Kind = Kind::Int { min: 0, max: u32::MAX as u64, unit: Unit::Count };
    /// A plain count of 0 or more that fits 64 bits.
    pub const COUNT64: Kind = Kind::Int { min: 0, max: u64::MAX, unit: Unit::Count };
    /// A number of bytes that fits 32 bits.
    pub const BYTES: Kind = Kind::Int { min: 0, max: u32::MAX as u64, unit: Unit::Bytes };
    /// A number of bytes that fits 64 bits.
    pub const BYTES64: Kind = Kind::Int { min: 0, max: u64::MAX, unit: Unit::Bytes };
    /// 0 to 100 per cent.
    pub const PERCENT: Kind = Kind::Int { min: 0, max: 100, unit: Unit::Percent };
    /// A duration whose bare numbers are seconds.
    pub const SECONDS: Kind = Kind::Time { unit: Unit::Seconds };
    /// A duration whose bare numbers are milliseconds.
    pub const MILLIS: Kind = Kind::Time { unit: Unit::Millis };
    /// A duration whose bare numbers are microseconds.
    pub const MICROS: Kind = Kind::Time { unit: Unit::Micros };

    /// A plain count between two bounds.
    pub const fn int(min: i64, max: u64) -> Self {
        Kind::Int { min, max, unit: Unit::Count }
    }
    /// One of these words, with nothing after it.
    pub const fn words(words: &'static [Word]) -> Self {
        Kind::Words { words, suffix: Suffix::None }
    }
}

/// The chapters of the reference, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Category {
    /// `kb_base`, `unit_base`.
    Units,
    /// `name`, `description`, `loops`, `numjobs`.
    Job,
    /// Run times, delays, clocks.
    Time,
    /// Files, directories, devices, zones.
    Target,
    /// Kind of I/O: `rw`, mixes, distributions, flushing.
    IoType,
    /// `bs` and its family.
    BlockSize,
    /// What the bytes are.
    Buffers,
    /// `size`, `offset`.
    IoSize,
    /// The engine and its own options.
    Engine,
    /// `iodepth` and its family.
    Depth,
    /// `rate`, `thinktime`, `latency_target`.
    Rate,
    /// Recording and replaying.
    Replay,
    /// CPUs, priorities, cgroups, groups of jobs.
    Process,
    /// Verification.
    Verify,
    /// Steady state.
    SteadyState,
    /// Logs, percentiles, reporting.
    Results,
    /// What happens on an error.
    Errors,
    /// Whole runs defined by a name.
    Profile,
}

impl Category {
    /// All of them, in order.
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

    /// The heading of its chapter.
    pub const fn title(self) -> &'static str {
        match self {
            Category::Units => "Units",
            Category::Job => "Jobs",
            Category::Time => "Time and clocks",
            Category::Target => "Files, devices and zones",
            Category::IoType => "Kind of I/O",
            Category::BlockSize => "Block size",
            Category::Buffers => "Buffers and memory",
            Category::IoSize => "Amount of I/O",
            Category::Engine => "Engines",
            Category::Depth => "Queue depth",
            Category::Rate => "Rate, think time and latency goals",
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

/// One I/O engine as the language knows it.
#[derive(Debug, Clone, Copy)]
pub struct EngineDef {
    /// The word after `ioengine=`.
    pub name: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub doc: &'static str,
    /// Whether fiord has it today.
    pub support: Support,
    /// It completes each I/O before the next can be queued: `iodepth` above 1 has no effect.
    pub synchronous: bool,
}
