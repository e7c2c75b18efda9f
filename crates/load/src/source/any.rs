//! Any source as one type.

use fiord_plan::{Dir, TrimRange};

use super::general::General;
use super::mixed::Mixed;
use super::plain::{Permuted, Sequential, Uneven, Uniform};
use crate::{Displaced, Io, Next, Source};

/// A source whose kind is found at each call, by a branch that is always the same: for loops that
/// wait for a schedule anyway, so that they are not compiled for each source.
#[derive(Debug, Clone)]
pub enum AnySource {
    /// One block after the other.
    Sequential(Sequential),
    /// Any block at any time.
    Uniform(Uniform),
    /// Some blocks more often than others.
    Uneven(Uneven),
    /// Every block once, in random order.
    Permuted(Permuted),
    /// Reads and writes at random.
    Mixed(Box<Mixed>),
    /// Everything else.
    General(Box<General>),
}

impl Source for AnySource {
    #[inline]
    fn next(&mut self) -> Next {
        match self {
            AnySource::Sequential(source) => source.next(),
            AnySource::Uniform(source) => source.next(),
            AnySource::Uneven(source) => source.next(),
            AnySource::Permuted(source) => source.next(),
            AnySource::Mixed(source) => source.next(),
            AnySource::General(source) => source.next(),
        }
    }

    #[inline]
    fn next_of(&mut self, dir: Dir) -> Next {
        match self {
            AnySource::Mixed(source) => source.next_of(dir),
            AnySource::General(source) => source.next_of(dir),
            plain => plain.next(),
        }
    }

    fn placed(&mut self, io: &Io) {
        if let AnySource::General(source) = self {
            source.placed(io);
        }
    }

    fn displaced(&mut self, io: &Io, why: Displaced) {
        if let AnySource::General(source) = self {
            source.displaced(io, why);
        }
    }

    fn ranges(&self) -> &[TrimRange] {
        match self {
            AnySource::General(source) => source.ranges(),
            _ => &[],
        }
    }

    fn restart(&mut self) {
        match self {
            AnySource::Sequential(source) => source.restart(),
            AnySource::Uniform(source) => source.restart(),
            AnySource::Uneven(source) => source.restart(),
            AnySource::Permuted(source) => source.restart(),
            AnySource::Mixed(source) => source.restart(),
            AnySource::General(source) => source.restart(),
        }
    }
}
