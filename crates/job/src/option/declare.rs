//! The vocabulary in which the table declares options: `options!`, `words!`, and the kinds of
//! values.
//!
//! ```ignore
//! options! {
//!     Category::Process;
//!
//!     /// Added to the niceness of the job's threads. 19 is the lowest priority; negative numbers
//!     /// need privileges.
//!     pub const NICE: Opt<i32> = option("nice", int(-20, 19), "nice=5").default("0");
//! }
//! ```
//!
//! The documentation comment is the text of the reference, of `--cmdhelp` and of the man page. The
//! functions in this module create the kinds of values; each returns a [`TypedKind`] kind, so the
//! compiler refuses a handle of another type.

use std::marker::PhantomData;

use super::def::{Kind, Scope, Support};
use super::handle::{Whole, WordEnum};
use super::value::Value;

pub(crate) use fiord_types::{Bytes, Nanos, PerDir};

pub(crate) use super::def::{Category, OptionDef, Suffix, Unit, Word};
pub(crate) use super::handle::WithSuffix;
pub(crate) use super::read;
pub(crate) use super::value::{Amount, NumaPolicy, PatternPart, Reader, SizeRange, TimeRange};

/// A kind of values, with the type that `JobSpec::get` returns for them.
#[derive(Clone, Copy)]
pub(crate) struct TypedKind<G> {
    kind: Kind,
    result: PhantomData<fn() -> G>,
}

const fn typed<G>(kind: Kind) -> TypedKind<G> {
    TypedKind { kind, result: PhantomData }
}

/// A switch: the name alone turns it on, `=0` turns it off.
pub(crate) const SWITCH: TypedKind<bool> = typed(Kind::Switch);
/// `0` or `1`. As in fio, the name alone is an error.
pub(crate) const BOOL: TypedKind<bool> = typed(Kind::Bool);
/// Free text.
pub(crate) const TEXT: TypedKind<Option<String>> = typed(Kind::Text);
/// A 32-bit count.
pub(crate) const COUNT: TypedKind<Option<u32>> = int(0, u32::MAX as u64);
/// A 64-bit count.
pub(crate) const COUNT64: TypedKind<Option<u64>> = int(0, u64::MAX);
/// A 32-bit number of bytes.
pub(crate) const BYTES: TypedKind<Option<Bytes>> = bytes(0, u32::MAX as u64);
/// A 64-bit number of bytes.
pub(crate) const BYTES64: TypedKind<Option<Bytes>> = bytes(0, u64::MAX);
/// A percentage from 0 to 100.
pub(crate) const PERCENT: TypedKind<Option<u8>> = whole(0, 100, Unit::Percent);
/// A duration. A number without a unit is in seconds.
pub(crate) const SECONDS: TypedKind<Option<Nanos>> = typed(Kind::Time { unit: Unit::Seconds });
/// A duration. A number without a unit is in milliseconds.
pub(crate) const MILLIS: TypedKind<Option<Nanos>> = typed(Kind::Time { unit: Unit::Millis });
/// A duration. A number without a unit is in microseconds.
pub(crate) const MICROS: TypedKind<Option<Nanos>> = typed(Kind::Time { unit: Unit::Micros });
/// A size: bytes, a percentage (`20%`) or zones (`8z`).
pub(crate) const AMOUNT: TypedKind<Option<Amount>> = typed(Kind::Amount { max_percent: 100.0 });
/// A size like [`AMOUNT`], which may exceed the target: the job then goes over it again.
pub(crate) const AMOUNT_OF_IO: TypedKind<Option<Amount>> =
    typed(Kind::Amount { max_percent: f64::INFINITY });

/// A whole number in the inclusive range.
pub(crate) const fn int<T: Whole>(min: i64, max: u64) -> TypedKind<Option<T>> {
    whole(min, max, Unit::Count)
}
/// A number of bytes in the inclusive range.
pub(crate) const fn bytes(min: i64, max: u64) -> TypedKind<Option<Bytes>> {
    whole(min, max, Unit::Bytes)
}
/// A whole number in the inclusive range, in a unit.
pub(crate) const fn whole<T: Whole>(min: i64, max: u64, unit: Unit) -> TypedKind<Option<T>> {
    assert!(min as i128 >= T::LOWEST && max as i128 <= T::HIGHEST, "the range exceeds the type");
    typed(Kind::Int { min, max, unit })
}
/// One to three whole numbers for read, write and trim, separated by commas. A number may be left
/// empty.
pub(crate) const fn per_dir<T: Whole>(
    min: i64,
    max: u64,
    unit: Unit,
) -> TypedKind<Option<PerDir<Option<T>>>> {
    assert!(min as i128 >= T::LOWEST && max as i128 <= T::HIGHEST, "the range exceeds the type");
    typed(Kind::Ints { min, max, unit })
}
/// One to three ranges of sizes for read, write and trim, separated by commas.
pub(crate) const fn ranges(min: u64) -> TypedKind<Option<PerDir<Option<SizeRange>>>> {
    typed(Kind::Ranges { min })
}
/// A floating point number in the inclusive range.
pub(crate) const fn float(min: f64, max: f64) -> TypedKind<Option<f64>> {
    typed(Kind::Floats { min, max, max_len: 1 })
}
/// One to `max_len` floating point numbers, separated by colons.
pub(crate) const fn floats(min: f64, max: f64, max_len: usize) -> TypedKind<Option<Vec<f64>>> {
    typed(Kind::Floats { min, max, max_len })
}
/// One of the words of an enum, which `words!` defines.
pub(crate) const fn one_of<W: WordEnum>() -> TypedKind<Option<W>> {
    typed(Kind::Words { words: W::WORDS, suffix: Suffix::None })
}
/// One of the words of an enum, which `words!` defines, with something after a colon.
pub(crate) const fn one_of_with<W: WordEnum>(suffix: Suffix) -> TypedKind<Option<WithSuffix<W>>> {
    typed(Kind::Words { words: W::WORDS, suffix })
}
/// Several of the words of an enum, which `words!` defines, separated by commas.
pub(crate) const fn list_of<W: WordEnum>() -> TypedKind<Option<Vec<W>>> {
    typed(Kind::WordList { words: W::WORDS, suffix: Suffix::None })
}
/// Several of the words of an enum, which `words!` defines, separated by commas, each with
/// something after a colon.
pub(crate) const fn list_of_with<W: WordEnum>(
    suffix: Suffix,
) -> TypedKind<Option<Vec<WithSuffix<W>>>> {
    typed(Kind::WordList { words: W::WORDS, suffix })
}
/// One of several names, such as those of engines.
pub(crate) const fn name_of(
    words: &'static [Word],
    suffix: Suffix,
) -> TypedKind<Option<&'static str>> {
    typed(Kind::Words { words, suffix })
}
/// Several names, separated by commas.
pub(crate) const fn names_of(words: &'static [Word]) -> TypedKind<Option<Vec<&'static str>>> {
    typed(Kind::WordList { words, suffix: Suffix::None })
}
/// A value with its own syntax. `name` describes the syntax for help texts.
pub(crate) const fn custom<T: Into<Value>>(
    name: &'static str,
    read: &'static Reader<T>,
) -> TypedKind<Option<T>> {
    typed(Kind::Custom { name, read })
}

/// A declaration before it enters the table. `G` is the type that `JobSpec::get` returns.
pub(crate) struct Declaration<G> {
    def: OptionDef,
    result: PhantomData<fn() -> G>,
}

/// Declares a supported job option without aliases, default or parent. `example` is a line of a job
/// file. Call methods for what differs from this.
pub(crate) const fn option<G>(
    name: &'static str,
    kind: TypedKind<G>,
    example: &'static str,
) -> Declaration<G> {
    let def = OptionDef {
        name,
        aliases: &[],
        scope: Scope::Job,
        kind: kind.kind,
        default: None,
        category: Category::Job,
        parent: None,
        doc: "",
        example,
        since: "3.33",
        support: Support::Built,
        bare: None,
        secret: false,
    };
    Declaration { def, result: PhantomData }
}

impl<T> Declaration<Option<T>> {
    /// Sets the default, as a user would type it. `JobSpec::get` then returns a value and not an
    /// `Option`.
    pub(crate) const fn default(self, value: &'static str) -> Declaration<T> {
        let def = OptionDef { default: Some(value), ..self.def };
        Declaration { def, result: PhantomData }
    }
}

impl Declaration<bool> {
    /// Sets the default.
    pub(crate) const fn default(mut self, value: &'static str) -> Self {
        self.def.default = Some(value);
        self
    }
}

impl<G> Declaration<G> {
    /// Adds other names.
    pub(crate) const fn alias(mut self, aliases: &'static [&'static str]) -> Self {
        self.def.aliases = aliases;
        self
    }
    /// Marks the option as a refinement of another option.
    pub(crate) const fn under(mut self, parent: &'static str) -> Self {
        self.def.parent = Some(parent);
        self
    }
    /// Marks the option as not supported yet.
    pub(crate) const fn later(mut self) -> Self {
        self.def.support = Support::Later;
        self
    }
    /// Marks the option as accepted without effect. `why` is one clause.
    pub(crate) const fn accepted(mut self, why: &'static str) -> Self {
        self.def.support = Support::Accepted(why);
        self
    }
    /// Sets the first release of fio with the option, or `fiord` for an option that fio does not
    /// have.
    pub(crate) const fn since(mut self, release: &'static str) -> Self {
        self.def.since = release;
        self
    }
    /// Marks the value as a secret: reports, messages and stored results show `***`, and the value may be `env:NAME` or
    /// `@file:PATH`.
    pub(crate) const fn secret(mut self) -> Self {
        self.def.secret = true;
        self
    }
    /// Restricts the option to these engines.
    pub(crate) const fn of(mut self, engines: &'static [&'static str]) -> Self {
        self.def.scope = Scope::Engine(engines);
        self
    }
    /// Sets the value of the bare name.
    pub(crate) const fn bare(mut self, value: &'static str) -> Self {
        self.def.bare = Some(value);
        self
    }
    /// Completes the declaration with the chapter of the reference and the paragraph of
    /// documentation. Each line of a documentation comment starts with a space.
    pub(crate) const fn complete(mut self, category: Category, doc: &'static str) -> OptionDef {
        self.def.category = category;
        self.def.doc = doc.split_at(1).1;
        self.def
    }
}

/// Declares the options of a module: a typed handle for each, and the list `OPTIONS`.
macro_rules! options {
    (
        $category:expr;
        $($(#[doc = $doc:literal])+ $vis:vis const $HANDLE:ident: Opt<$G:ty> = $declaration:expr;)*
    ) => {
        $($(#[doc = $doc])+
        $vis const $HANDLE: $crate::option::handle::Opt<$G> = {
            static DEF: $crate::option::def::OptionDef = {
                const DECLARATION: $crate::option::declare::Declaration<$G> = $declaration;
                DECLARATION.complete($category, concat!($($doc),+))
            };
            $crate::option::handle::Opt::new(&DEF)
        };)*

        pub(crate) const OPTIONS: &[&$crate::option::def::OptionDef] = &[$($HANDLE.def()),*];
    };
}
pub(crate) use options;

/// Declares the words that a value can be, as an enum. A line is `Variant = new("word", "effect")`,
/// `later` instead of `new` for a word that is not supported yet, or `_ = alias("other spelling",
/// "word")`.
macro_rules! words {
    ($($(#[doc = $doc:literal])+ pub enum $Enum:ident { $($lines:tt)+ })+) => {
        $($crate::option::declare::words! {
            @sort [$(#[doc = $doc])+ $Enum] [] [] $($lines)+
        })+
    };
    // Sorts the lines into variants and words.
    (
        @sort $head:tt [$($variants:tt)*] [$($words:tt)*]
        _ = $alias:ident($name:literal, $means:literal $(,)?), $($rest:tt)*
    ) => {
        $crate::option::declare::words! {
            @sort $head [$($variants)*] [$($words)* ($alias $name $means)] $($rest)*
        }
    };
    (
        @sort $head:tt [$($variants:tt)*] [$($words:tt)*]
        $Variant:ident = $new:ident($name:literal, $effect:literal $(,)?), $($rest:tt)*
    ) => {
        $crate::option::declare::words! {
            @sort $head
            [$($variants)* ($Variant $name $effect)] [$($words)* ($new $name $effect)] $($rest)*
        }
    };
    (
        @sort [$(#[doc = $doc:literal])+ $Enum:ident]
        [$(($Variant:ident $variant:literal $effect:literal))+]
        [$(($new:ident $name:literal $second:literal))+]
    ) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $Enum {
            $(#[doc = concat!("`", $variant, "`: ", $effect, ".")] $Variant,)+
        }
        impl $crate::option::handle::WordValue for $Enum {
            fn from_word(word: &'static str) -> Option<Self> {
                match word {
                    $($variant => Some($Enum::$Variant),)+
                    _ => None,
                }
            }
        }
        impl $crate::option::handle::WordEnum for $Enum {
            const WORDS: &'static [$crate::option::def::Word] =
                &[$($crate::option::def::Word::$new($name, $second)),+];
            fn word(self) -> &'static str {
                match self {
                    $($Enum::$Variant => $variant,)+
                }
            }
        }
    };
}
pub(crate) use words;
