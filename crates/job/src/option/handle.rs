//! Typed handles of options: which type of value an option has.

use std::fmt;
use std::marker::PhantomData;

use fiord_types::{Bytes, Nanos, PerDir};

use super::def::{OptionDef, Word};
use super::fault::{SimCrash, SimFault};
use super::value::{Amount, ErrorLists, NumaPolicy, PatternPart, SizeRange, TimeRange, Value};

/// A typed handle of a declared option. [`JobSpec::get`](crate::spec::JobSpec::get) takes a handle
/// and returns a `G`: the type of the option's value, or an [`Option`] of it if the option has no
/// default.
///
/// Each declaration in the option table defines a handle: a constant with the name of the option in
/// capital letters. Because the type follows from the declaration, a wrong type does not compile:
///
/// ```
/// use fiord_job::option::table::{NICE, UID};
/// # fn example(job: &fiord_job::spec::JobSpec) {
/// let nice: i32 = job.get(NICE);
/// let uid: Option<u32> = job.get(UID);
/// # }
/// ```
///
/// ```compile_fail,E0308
/// # use fiord_job::option::table::NICE;
/// # fn example(job: &fiord_job::spec::JobSpec) {
/// let nice: bool = job.get(NICE);
/// # }
/// ```
///
/// Neither does a wrong name:
///
/// ```compile_fail,E0432
/// use fiord_job::option::table::NYCE;
/// ```
///
/// Code that handles options of several types in one list uses their declarations:
/// `[UID.def(), NICE.def()]`.
pub struct Opt<G> {
    def: &'static OptionDef,
    value: PhantomData<fn() -> G>,
}

impl<G> Opt<G> {
    /// Creates the handle of a declaration. Only the macro `options!` calls this: it takes both
    /// from one declaration.
    pub(crate) const fn new(def: &'static OptionDef) -> Self {
        Opt { def, value: PhantomData }
    }
    /// The option's declaration.
    #[must_use]
    pub const fn def(self) -> &'static OptionDef {
        self.def
    }
    /// The option's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.def.name
    }
}

impl<G> Clone for Opt<G> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<G> Copy for Opt<G> {}
impl<G> fmt::Debug for Opt<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opt({})", self.def.name)
    }
}
impl<G> From<Opt<G>> for &'static OptionDef {
    fn from(option: Opt<G>) -> Self {
        option.def
    }
}

/// A type that [`JobSpec::get`](crate::spec::JobSpec::get) can return.
///
/// ```
/// use fiord_job::option::handle::Get;
/// use fiord_job::option::value::Value;
///
/// // An option with a default, and one without.
/// assert_eq!(<u32 as Get>::get(Some(Value::Int(8))), 8);
/// assert_eq!(<Option<u32> as Get>::get(None), None);
/// ```
pub trait Get: Sized {
    /// Converts the value that is set or the default. `None`: there is neither.
    fn get(value: Option<Value>) -> Self;
}

/// A switch without a default is off.
impl Get for bool {
    fn get(value: Option<Value>) -> Self {
        matches!(value, Some(Value::Flag(true)))
    }
}

impl<T: OptionValue> Get for Option<T> {
    fn get(value: Option<Value>) -> Self {
        value.and_then(T::from_value)
    }
}

impl<T: OptionValue> Get for T {
    fn get(value: Option<Value>) -> Self {
        let Some(value) = value.and_then(T::from_value) else {
            unreachable!("an option with this type has a default, and its values have this type")
        };
        value
    }
}

/// A type of values. Each kind in a declaration has one such type.
///
/// ```
/// use fiord_job::option::handle::OptionValue;
/// use fiord_job::option::value::Value;
///
/// assert_eq!(u8::from_value(Value::Int(70)), Some(70));
/// assert_eq!(u8::from_value(Value::Flag(true)), None);
/// ```
pub trait OptionValue: Sized {
    /// Converts a value. `None` if the value has another type: this does not happen for values of
    /// an option whose handle has this type.
    fn from_value(value: Value) -> Option<Self>;
}

/// Implements [`OptionValue`] for types that a variant of [`Value`] holds.
macro_rules! held_by {
    ($($type:ty = $variant:ident),* $(,)?) => {
        $(impl OptionValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::$variant(held) => Some(held),
                    _ => None,
                }
            }
        }
        impl From<$type> for Value {
            fn from(held: $type) -> Self {
                Value::$variant(held)
            }
        })*
    };
}

held_by! {
    String = Text,
    Amount = Amount,
    TimeRange = TimeRange,
    SizeRange = SizeRange,
    PerDir<Option<SizeRange>> = Ranges,
    PerDir<Vec<(u64, u8)>> = Splits,
    Vec<f64> = Floats,
    Vec<u32> = Set,
    Vec<String> = Paths,
    Vec<PatternPart> = Pattern,
    NumaPolicy = NumaPolicy,
    Vec<SimFault> = Faults,
    SimCrash = Crash,
    ErrorLists = ErrorLists,
}

/// For values with their own syntax.
impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Value::Int(number.into())
    }
}

/// An integer type, or a type that holds an integer, that can hold the value of an option. The limits of the option's range are
/// checked against the limits of the type when the declaration is compiled.
///
/// ```
/// use fiord_job::option::handle::Whole;
///
/// assert_eq!((i32::LOWEST, i32::HIGHEST), (-2_147_483_648, 2_147_483_647));
/// assert_eq!(u8::from_integer(256), None);
/// ```
pub trait Whole: OptionValue + Copy {
    /// The smallest value of the type.
    const LOWEST: i128;
    /// The largest value of the type.
    const HIGHEST: i128;
    /// Converts a number between the two.
    fn from_integer(number: i128) -> Option<Self>;
}

macro_rules! whole {
    ($($type:ty),*) => {
        $(impl Whole for $type {
            const LOWEST: i128 = <$type>::MIN as i128;
            const HIGHEST: i128 = <$type>::MAX as i128;
            fn from_integer(number: i128) -> Option<Self> {
                Self::try_from(number).ok()
            }
        }
        impl OptionValue for $type {
            fn from_value(value: Value) -> Option<Self> {
                match value {
                    Value::Int(number) => Self::from_integer(number),
                    _ => None,
                }
            }
        })*
    };
}
whole!(u8, u16, u32, u64, i32, i64);

impl Whole for Bytes {
    const LOWEST: i128 = u64::LOWEST;
    const HIGHEST: i128 = u64::HIGHEST;
    fn from_integer(number: i128) -> Option<Self> {
        u64::from_integer(number).map(Bytes)
    }
}

impl OptionValue for Bytes {
    fn from_value(value: Value) -> Option<Self> {
        u64::from_value(value).map(Bytes)
    }
}

impl OptionValue for Nanos {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Time(nanos) => Some(Nanos(nanos)),
            _ => None,
        }
    }
}

/// Values for reads, writes and trims. `None`: left empty.
impl<T: Whole> OptionValue for PerDir<Option<T>> {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Ints(numbers) => Some(numbers.map(|n| n.and_then(T::from_integer))),
            _ => None,
        }
    }
}

impl OptionValue for f64 {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Floats(list) => list.first().copied(),
            _ => None,
        }
    }
}

/// A value that is one of several words. The macro `words!` defines such types; a plain `&str` is
/// for words that are names of something, such as engines.
///
/// ```
/// use fiord_job::option::handle::WordValue;
/// use fiord_job::option::table::Sequencer;
///
/// assert!(Sequencer::from_word("identical").is_some());
/// assert!(Sequencer::from_word("random").is_none());
/// ```
pub trait WordValue: Sized {
    /// The value of a documented word.
    fn from_word(word: &'static str) -> Option<Self>;
}

/// An enum of value words, which the macro `words!` defines.
///
/// ```
/// use fiord_job::option::handle::{WordEnum, WordValue};
/// use fiord_job::option::table::Sequencer;
///
/// for word in Sequencer::WORDS {
///     assert_eq!(Sequencer::from_word(word.name).unwrap().word(), word.name);
/// }
/// ```
pub trait WordEnum: WordValue {
    /// All words, including aliases, in the order of the reference.
    const WORDS: &'static [Word];
    /// The word, as documented.
    fn word(self) -> &'static str;
}

impl WordValue for &'static str {
    fn from_word(word: &'static str) -> Option<Self> {
        Some(word)
    }
}

/// A value word with the text after its colon (`zipf:1.2`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WithSuffix<W> {
    pub word: W,
    /// The text after the colon.
    pub suffix: Option<String>,
}

impl<W: WordValue> OptionValue for W {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word(word, _) => W::from_word(word),
            _ => None,
        }
    }
}

impl<W: WordValue> OptionValue for WithSuffix<W> {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Word(word, suffix) => Some(WithSuffix { word: W::from_word(word)?, suffix }),
            _ => None,
        }
    }
}

impl<W: WordValue> OptionValue for Vec<W> {
    fn from_value(value: Value) -> Option<Self> {
        match value {
            Value::Words(list) => list.into_iter().map(|(word, _)| W::from_word(word)).collect(),
            _ => None,
        }
    }
}

impl<W: WordValue> OptionValue for Vec<WithSuffix<W>> {
    fn from_value(value: Value) -> Option<Self> {
        let Value::Words(list) = value else { return None };
        let item = |(word, suffix)| Some(WithSuffix { word: W::from_word(word)?, suffix });
        list.into_iter().map(item).collect()
    }
}
