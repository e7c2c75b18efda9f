//! Validated option values, still in the terms of the job file.

use std::fmt;

use fiord_types::PerDir;

use super::fault::{SimCrash, SimFault};

/// The bases that decide the meaning of `k` and `Ki`; see `kb_base`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bases {
    /// 1024 (the default, with the meanings of `k` and `kib` swapped, as fio documents) or 1000
    /// (SI).
    pub kb: u32,
}

impl Default for Bases {
    fn default() -> Self {
        Bases { kb: 1024 }
    }
}

/// A size that may depend on the target, which only the plan knows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// A number of bytes.
    Bytes(u64),
    /// A percentage of the file or device. May exceed 100 for `io_size`.
    Percent(f64),
    /// A number of zones of a zoned device.
    Zones(u64),
}

/// Defines a range whose lower bound is at most its upper bound.
macro_rules! range {
    ($(#[$doc:meta])+ $Range:ident) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub struct $Range {
            low: u64,
            high: u64,
        }

        impl $Range {
            /// The range between two bounds, which may be in either order.
            #[must_use]
            pub const fn between(a: u64, b: u64) -> Self {
                if a < b { $Range { low: a, high: b } } else { $Range { low: b, high: a } }
            }
            /// The lower bound.
            #[must_use]
            pub const fn low(self) -> u64 {
                self.low
            }
            /// The upper bound.
            #[must_use]
            pub const fn high(self) -> u64 {
                self.high
            }
        }
    };
}

range! {
    /// One size or a range of sizes, in bytes and inclusive.
    SizeRange
}
range! {
    /// One time or a range of times, in nanoseconds and inclusive.
    TimeRange
}

/// The NUMA nodes for memory. An empty list of nodes means all nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumaPolicy {
    /// The policy of the system.
    Default,
    /// The node of the CPU that first uses the memory.
    Local,
    /// This node while it has memory.
    Prefer(u32),
    /// Only these nodes.
    Bind(Vec<u32>),
    /// These nodes in turn, page by page.
    Interleave(Vec<u32>),
}

/// A part of a buffer or verify pattern. A pattern consists of parts in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PatternPart {
    /// These bytes.
    Bytes(Vec<u8>),
    /// The offset of the I/O as 8 little-endian bytes (`%o`).
    Offset,
    /// The contents of this file.
    File(String),
}

/// A validated value. The comment of each variant names the [`Kind`](super::def::Kind) or the
/// options with such values.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// `Switch` and `Bool`.
    Flag(bool),
    Text(String),
    Int(i128),
    /// `Ints`: read, write, trim. `None` if the value was left empty and the default applies.
    Ints(PerDir<Option<i128>>),
    Amount(Amount),
    /// `Time`, in nanoseconds.
    Time(u64),
    /// `startdelay`.
    TimeRange(TimeRange),
    Floats(Vec<f64>),
    /// `Ranges`: read, write, trim. Missing values follow the rules of `Ints`.
    Ranges(PerDir<Option<SizeRange>>),
    /// `filesize`.
    SizeRange(SizeRange),
    /// `Words`: the word (aliases are resolved) and the text after its colon.
    Word(&'static str, Option<String>),
    /// `WordList`: the words (aliases are resolved) and the texts after their colons.
    Words(Vec<(&'static str, Option<String>)>),
    /// `bssplit`: for read, write and trim, a list of block sizes in bytes with their weights in
    /// per cent. The weights of each direction add up to 100.
    Splits(PerDir<Vec<(u64, u8)>>),
    /// CPU numbers or NUMA nodes, in ascending order and without repetitions.
    Set(Vec<u32>),
    /// `numa_mem_policy`.
    NumaPolicy(NumaPolicy),
    /// `buffer_pattern`, `verify_pattern`.
    Pattern(Vec<PatternPart>),
    /// `ignore_error`.
    ErrorLists(ErrorLists),
    Faults(Vec<SimFault>),
    Crash(SimCrash),
    /// File or directory names, with backslashes before colons removed.
    Paths(Vec<String>),
}

/// `ignore_error`: numbers of errors after which a job continues.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorLists {
    pub reads: Vec<i32>,
    /// Errors of writes, trims and flushes.
    pub writes: Vec<i32>,
    pub verification: Vec<i32>,
}

/// Why a text is not a value of an option. The caller adds the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueError {
    /// What is wrong, as a clause: "`x7` is not a number".
    pub what: String,
    /// A remedy or a hint: "To fix: write a size such as `4k`".
    pub help: Option<String>,
    /// The byte range of the wrong part in the text.
    pub span: Option<(usize, usize)>,
}

impl ValueError {
    /// Creates an error about the whole text.
    pub fn new(what: impl Into<String>) -> Self {
        ValueError { what: what.into(), help: None, span: None }
    }
    /// Creates an error about a number outside its option's range. Scripts search for the words
    /// `value out of range`, which fio prints.
    pub fn out_of_range(number: impl fmt::Display, bound: impl fmt::Display) -> Self {
        ValueError::new(format!("value out of range: {number} ({bound})"))
    }
    /// Creates an error about a list with more than `most` items. Scripts search for the words `the
    /// list exceeding max length`, which fio prints.
    #[must_use]
    pub fn list_too_long(items: &str, most: usize) -> Self {
        ValueError::new(format!("too many {items}: the list exceeding max length {most}"))
    }
    /// Adds a remedy or a hint.
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
    /// Sets the byte range of the wrong part of the value's text.
    #[must_use]
    pub fn at(mut self, start: usize, end: usize) -> Self {
        self.span = Some((start, end));
        self
    }
    /// Moves the range of the error from a part of a text, which starts at byte `by`, to the whole
    /// text. An error without a range gets the range of this part, which is `len` bytes long.
    #[must_use]
    pub fn shifted(mut self, by: usize, len: usize) -> Self {
        let (s, e) = self.span.unwrap_or((0, len));
        self.span = Some((s + by, e + by));
        self
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.help {
            Some(help) => write!(f, "{}. {help}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for ValueError {}

/// A parser for values with their own syntax.
///
/// ```
/// use fiord_job::option::value::{Bases, ReadValue, Value, ValueError};
///
/// /// A parser for the answer to a question.
/// #[derive(Debug)]
/// struct Answer;
///
/// impl ReadValue for Answer {
///     fn read(&self, text: &str, _bases: &Bases) -> Result<Value, ValueError> {
///         match text {
///             "yes" => Ok(Value::Flag(true)),
///             "no" => Ok(Value::Flag(false)),
///             _ => Err(ValueError::new(format!("`{text}` is not an answer"))),
///         }
///     }
/// }
///
/// assert_eq!(Answer.read("no", &Bases::default()).unwrap(), Value::Flag(false));
/// assert!(Answer.read("maybe", &Bases::default()).is_err());
/// ```
pub trait ReadValue: fmt::Debug + Sync {
    /// Parses a text.
    ///
    /// # Errors
    /// The text is not a value.
    fn read(&self, text: &str, bases: &Bases) -> Result<Value, ValueError>;
}

/// A function that parses values of one type.
pub struct Reader<T>(pub fn(&str, &Bases) -> Result<T, ValueError>);

impl<T> fmt::Debug for Reader<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Reader")
    }
}

impl<T: Into<Value>> ReadValue for Reader<T> {
    fn read(&self, text: &str, bases: &Bases) -> Result<Value, ValueError> {
        (self.0)(text, bases).map(Into::into)
    }
}
