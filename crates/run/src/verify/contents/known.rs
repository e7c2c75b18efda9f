//! What a job knows about the data that it reads.

use std::ops::Range;

use fiord_load::verify::{GranuleState, WriteValue};

/// What is known about the write, or the writes, of a read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum KnownWrite<'s> {
    /// Another run, or another job, wrote them.
    Nothing,
    /// The whole read is one write of this job.
    Write {
        number: u64,
        /// Generation of its blocks.
        generation: u16,
    },
    /// The state of each granule that the read touches.
    States {
        /// Bytes of a granule. Granules begin at multiples of it.
        granule: u64,
        states: &'s [GranuleState],
        /// Generations of each granule before those that its state counts. Empty: there were none.
        before: &'s [u16],
    },
}

impl KnownWrite<'_> {
    /// The number of the write, if the whole read is one.
    pub(crate) fn number(&self) -> Option<u64> {
        match *self {
            KnownWrite::Write { number, .. } => Some(number),
            KnownWrite::Nothing | KnownWrite::States { .. } => None,
        }
    }

    /// The parts of a read of `len` bytes at `offset` whose knowledge differs, as ranges of positions.
    #[inline]
    pub(crate) fn parts(
        &self,
        offset: u64,
        len: usize,
    ) -> impl Iterator<Item = (Range<usize>, KnownPart)> {
        let known = *self;
        let count = match known {
            KnownWrite::States { states, .. } => states.len(),
            KnownWrite::Nothing | KnownWrite::Write { .. } => 1,
        };
        (0..count).map(move |index| known.part(index, offset, len))
    }

    #[inline]
    fn part(&self, index: usize, offset: u64, len: usize) -> (Range<usize>, KnownPart) {
        match *self {
            KnownWrite::Nothing => (0..len, KnownPart::Nothing),
            KnownWrite::Write { number, generation } => {
                (0..len, KnownPart::Write { number, generation })
            }
            KnownWrite::States { granule, states, before } => {
                let first = offset / granule + index as u64;
                let place = |index: u64| {
                    let start = index.saturating_mul(granule).saturating_sub(offset);
                    usize::try_from(start).unwrap_or(usize::MAX).min(len)
                };
                (place(first)..place(first + 1), {
                    let before = before.get(index).copied().unwrap_or(0);
                    KnownPart::State { state: states[index], before }
                })
            }
        }
    }
}

/// What is known about a part of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownPart {
    /// See [`KnownWrite::Nothing`].
    Nothing,
    /// See [`KnownWrite::Write`].
    Write { number: u64, generation: u16 },
    /// The state of its granule, and the generations before those that it counts.
    State { state: GranuleState, before: u16 },
}

/// What a write or trim leaves in its blocks.
#[derive(Clone, Copy)]
pub(crate) enum StoredContents<'v> {
    /// The data of a write. The function returns the value of each granule from its state before.
    Data(&'v dyn Fn(GranuleState) -> WriteValue),
    /// A command without data has filled the blocks with zeros.
    Zeros,
    /// The blocks were trimmed.
    Trimmed,
}

/// What is known about the granules of an I/O.
#[derive(Debug, Clone, Default)]
pub(crate) struct GranuleStates {
    pub states: Vec<GranuleState>,
    /// Generations of each granule before those that its state counts. Empty: there were none.
    pub before: Vec<u16>,
}

impl GranuleStates {
    /// The knowledge, borrowed. `granule`: bytes of a granule.
    pub(crate) fn known(&self, granule: u64) -> KnownWrite<'_> {
        KnownWrite::States { granule, states: &self.states, before: &self.before }
    }
}

/// What is known about a read, until it has been checked.
#[derive(Debug, Clone)]
pub(crate) enum ReadKnowledge {
    /// See [`KnownWrite::Nothing`].
    Nothing,
    /// See [`KnownWrite::Write`].
    Write { number: u64, generation: u16 },
    /// See [`KnownWrite::States`].
    States { granule: u64, states: GranuleStates },
}

impl ReadKnowledge {
    /// The knowledge, borrowed.
    pub(crate) fn as_known(&self) -> KnownWrite<'_> {
        match *self {
            ReadKnowledge::Nothing => KnownWrite::Nothing,
            ReadKnowledge::Write { number, generation } => KnownWrite::Write { number, generation },
            ReadKnowledge::States { granule, ref states } => states.known(granule),
        }
    }
}
