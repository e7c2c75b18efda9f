//! All sources as one type.

use fiord_plan::TrimRange;
use fiord_types::Dir;

use super::cycles::Cycles;
use super::general::General;
use super::mixed::Mixed;
use super::one_each::OneEach;
use super::plain::{Permuted, Sequential, SkewedRandom, Uniform};
use super::replay::TraceSource;
use crate::{Displaced, Io, Next, Source};

/// A source whose kind is chosen by a branch in each call. For loops that wait for a schedule, so
/// that they need not be compiled for each source; the branch always goes the same way.
#[derive(Debug, Clone)]
pub enum AnySource {
    /// Consecutive blocks.
    Sequential(Sequential),
    /// Any block at any time, all equally likely.
    Uniform(Uniform),
    /// Any block at any time, some more likely than others.
    SkewedRandom(SkewedRandom),
    /// Every block once per pass, in random order.
    Permuted(Permuted),
    /// Random reads and writes.
    Mixed(Box<Mixed>),
    /// One block in each of many files.
    OneEach(OneEach),
    /// Every other load.
    General(Box<General>),
    /// The I/Os of a trace.
    Replay(TraceSource),
    /// The cycles of an engine that does no I/O.
    Cycles(Cycles),
    /// No I/O.
    Ended,
}

impl Source for AnySource {
    #[inline(never)]
    fn next(&mut self) -> Next {
        match self {
            AnySource::Sequential(source) => source.next(),
            AnySource::Uniform(source) => source.next(),
            AnySource::SkewedRandom(source) => source.next(),
            AnySource::Permuted(source) => source.next(),
            AnySource::Mixed(source) => source.next(),
            AnySource::OneEach(source) => source.next(),
            AnySource::General(source) => source.next(),
            AnySource::Replay(source) => source.next(),
            AnySource::Cycles(source) => source.next(),
            AnySource::Ended => Next::End,
        }
    }

    /// The quickest sources take less time than a call.
    #[inline(always)]
    fn next_inlined(&mut self) -> Next {
        match self {
            AnySource::Sequential(source) => source.next(),
            AnySource::Uniform(source) => source.next(),
            AnySource::Permuted(source) => source.next(),
            others => others.next(),
        }
    }

    #[inline]
    fn next_of(&mut self, dir: Dir) -> Next {
        match self {
            AnySource::Mixed(source) => source.next_of(dir),
            AnySource::General(source) => source.next_of(dir),
            AnySource::Sequential(source) => source.next(),
            AnySource::Uniform(source) => source.next(),
            AnySource::SkewedRandom(source) => source.next(),
            AnySource::Permuted(source) => source.next(),
            AnySource::OneEach(source) => source.next(),
            AnySource::Replay(source) => source.next(),
            AnySource::Cycles(source) => source.next(),
            AnySource::Ended => Next::End,
        }
    }

    fn owed(&mut self) -> Next {
        match self {
            AnySource::General(source) => source.owed(),
            _ => Next::End,
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
            AnySource::SkewedRandom(source) => source.restart(),
            AnySource::Permuted(source) => source.restart(),
            AnySource::Mixed(source) => source.restart(),
            AnySource::OneEach(source) => source.restart(),
            AnySource::General(source) => source.restart(),
            AnySource::Replay(source) => source.restart(),
            AnySource::Cycles(source) => source.restart(),
            AnySource::Ended => {}
        }
    }
}
