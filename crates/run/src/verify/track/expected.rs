//! Which writes of an earlier run are checked (`verify_state_load`).

use std::collections::HashSet;

use fiord_formats::verify::state::VerifyState;
use fiord_load::rng::splitmix;
use fiord_load::{Io, Next, Source, any_source};
use fiord_plan::JobPlan;
use fiord_types::{Dir, Errno};

use super::ranges::FileRanges;
use crate::error::{JobError, Stage};

/// Checksums of the places and lengths of the first writes of a job: of none, of the first one, and so on.
#[derive(Debug, Clone)]
pub(crate) struct OrderSums(Vec<u64>);

impl OrderSums {
    /// The order in which a source draws its I/Os of a direction.
    pub(crate) fn of(source: &mut dyn Source, dir: Dir) -> Self {
        /// Maximum number of writes that the checksum covers.
        const MAX_WRITES: usize = 1024;
        let mut state = 0;
        let mut list = vec![state];
        while list.len() <= MAX_WRITES {
            match source.next() {
                Next::Io(io) if io.dir == dir => {
                    for word in [io.file.get() as u64, io.offset, u64::from(io.len)] {
                        state ^= word;
                        state = splitmix(&mut state);
                    }
                    list.push(state);
                }
                Next::End => break,
                _ => {}
            }
        }
        OrderSums(list)
    }

    /// The checksum of the order of the first `writes` writes.
    pub(crate) fn of_first(&self, writes: u64) -> u64 {
        let last = self.0.len() - 1;
        self.0[usize::try_from(writes).map_or(last, |writes| writes.min(last))]
    }
}

/// The writes of an earlier run that are on the target.
#[derive(Debug)]
pub(super) struct ExpectedWrites {
    /// Number of writes. Later ones are not checked.
    number: u64,
    /// What writes that may be incomplete, or later ones, wrote: it can contain the data before them, or a part of it.
    uncertain: FileRanges,
}

impl ExpectedWrites {
    /// The writes of a state. `dir`: the direction of the I/Os of the job that stand for its writes.
    ///
    /// # Errors
    /// The state belongs to a job that wrote other blocks, or in another order.
    pub(super) fn of(state: &VerifyState, job: &JobPlan, dir: Dir) -> Result<Self, JobError> {
        check_order(state, job, dir)?;
        Ok(ExpectedWrites {
            number: state.number,
            uncertain: uncertain(state, &mut any_source(job)?, dir),
        })
    }

    /// Number of writes that are checked, apart from incomplete ones.
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// Whether an I/O can be checked.
    pub(super) fn is_certain(&self, io: &Io) -> bool {
        !self.uncertain.overlaps(io.file, &range_of(io))
    }
}

/// Checks that a state belongs to a job that draws the same I/Os of a direction.
///
/// # Errors
/// It does not.
pub(super) fn check_order(state: &VerifyState, job: &JobPlan, dir: Dir) -> Result<(), JobError> {
    let Some(mark) = state.mark() else { return Ok(()) };
    if OrderSums::of(&mut any_source(job)?, dir).of_first(mark.issued()) == mark.order() {
        return Ok(());
    }
    let detail = "the state of verify_state_load belongs to a job that wrote other blocks, or in another order. To \
                  fix: use the block sizes, offsets, size, rw and randseed of that job";
    Err(JobError::new(Stage::SetUp, Errno::EINVAL, detail))
}

/// The ranges of writes that may be incomplete. `source` draws the I/Os of the job from the first one.
fn uncertain(state: &VerifyState, source: &mut dyn Source, dir: Dir) -> FileRanges {
    let incomplete: HashSet<u64> = state.incomplete.iter().flatten().copied().collect();
    let issued = state.mark().map_or(0, |mark| mark.issued());
    let mut ranges = FileRanges::default();
    if incomplete.is_empty() && issued <= state.number {
        return ranges;
    }
    let end = incomplete.iter().max().map_or(0, |last| last + 1).max(issued);
    let mut number = 0;
    let mut loop_start = 0;
    while number < end {
        match source.next() {
            Next::Io(io) if io.dir == dir => {
                if number >= state.number || incomplete.contains(&number) {
                    ranges.insert(io.file, range_of(&io));
                }
                number += 1;
            }
            // A loop without writes would repeat forever.
            Next::End if number == loop_start => break,
            Next::End => {
                loop_start = number;
                source.restart();
            }
            _ => {}
        }
    }
    ranges
}

fn range_of(io: &Io) -> std::ops::Range<u64> {
    io.offset..io.offset + u64::from(io.len)
}
