//! How the job knows which write each block contains.
//!
//! | question | module |
//! |---|---|
//! | which of these ways does a job use | here |
//! | which number does a write have, what is in each slot | `slot_use.rs` |
//! | by the order of the writes, if each block is written once | `replay.rs` |
//! | by a map, if blocks are written more than once | `map.rs` |
//! | which writes wait to be read back (`verify_backlog`) | `unread.rs` |
//! | which writes of an earlier run are checked (`verify_state_load`) | `expected.rs` |
//! | and if it wrote blocks more than once | `last_writes.rs` |
//! | what is read instead of the writes of an earlier run on zones | `zone_walk.rs` |
//! | which ranges of files are in a set | `ranges.rs` |

mod expected;
mod last_writes;
mod map;
mod ranges;
mod replay;
mod slot_use;
mod unread;
mod zone_walk;

pub(super) use self::expected::OrderSums;
pub(super) use self::map::{MapStep, ReadStates, TrackedMaps};
pub(super) use self::replay::PassStep;
pub(super) use self::slot_use::{SlotUse, WriteNumbers};
pub(super) use self::zone_walk::ZoneWalk;

use fiord_engine::Op;
use fiord_load::verify::GranuleState;
use fiord_load::{Io, any_source};
use fiord_plan::{JobPlan, Tracking, VerifyPass, VerifyPlan};
use fiord_types::{Bytes, Dir};

use self::expected::ExpectedWrites;
use self::last_writes::LastWrites;
use self::replay::Replay;
use super::contents::{ReadKnowledge, StoredContents};
use crate::error::JobError;
use crate::hook::{Admission, IssuedIo};
use crate::maps::VerifyMaps;

/// How the job knows which write a block contains.
pub(super) enum Tracker {
    /// The job does not know which write a block contains.
    None,
    /// The job repeats its writes in their order.
    Replay(Box<Replay>),
    /// A map says so.
    Map(Box<TrackedMaps>),
    /// The job reads what an earlier run has written to the zones.
    Zones(ZoneWalk),
}

impl Tracker {
    pub(super) fn of(
        job: &JobPlan,
        plan: &VerifyPlan,
        maps: &VerifyMaps,
    ) -> Result<Self, JobError> {
        match (plan.pass, plan.tracking) {
            // The order of the writes is repeated without them.
            (VerifyPass::Only, _) if job.load.zoned.is_some() => {
                if let Some(state) = plan.state.as_ref().filter(|_| job.load.mix.has(Dir::Write)) {
                    expected::check_order(state, job, Dir::Write)?;
                }
                Ok(Tracker::Zones(ZoneWalk::default()))
            }
            (VerifyPass::Only, _) => {
                let dir = if job.load.mix.has(Dir::Write) { Dir::Write } else { Dir::Read };
                let state = plan.state.as_ref();
                let expected =
                    state.map(|state| ExpectedWrites::of(state, job, dir)).transpose()?;
                let most = expected.as_ref().map_or(u64::MAX, ExpectedWrites::number);
                let last = LastWrites::are_needed(job)
                    .then(|| LastWrites::of(job, &mut any_source(job)?, dir, most))
                    .transpose()?;
                let loops = (dir, job.end.loops);
                let replay = Replay::of_earlier_run(any_source(job)?, loops, expected, last);
                Ok(Tracker::Replay(Box::new(replay)))
            }
            (VerifyPass::AfterWrites, Tracking::Replay) => {
                Ok(Tracker::Replay(Box::new(Replay::new(any_source(job)?, true))))
            }
            (_, Tracking::Map { .. } | Tracking::Records) => {
                let backlog = plan.backlog.filter(|_| plan.pass == VerifyPass::AfterWrites);
                let maps = TrackedMaps::of(job, maps, backlog)?;
                Ok(Tracker::Map(Box::new(maps)))
            }
            _ => Ok(Tracker::None),
        }
    }

    /// Whether a map says which write a block contains.
    pub(super) fn has_map(&self) -> bool {
        matches!(self, Tracker::Map(_))
    }

    /// Number of writes that wait to be read back (`verify_backlog`).
    pub(super) fn unread(&self, numbers: &WriteNumbers) -> u64 {
        match self {
            Tracker::None | Tracker::Zones(_) => 0,
            Tracker::Replay(replay) => numbers.issued_writes() - replay.next_number(),
            Tracker::Map(maps) => maps.unread(),
        }
    }

    /// Returns the next unread write, if one can be read now, and its number if known.
    pub(super) fn next_unread(&mut self, numbers: &WriteNumbers) -> Option<(Io, Option<u64>)> {
        match self {
            Tracker::None | Tracker::Zones(_) => None,
            Tracker::Replay(replay) => {
                replay.next_unread(numbers).map(|(io, number)| (io, Some(number)))
            }
            Tracker::Map(maps) => maps.next_unread().map(|io| (io, None)),
        }
    }

    /// Whether other jobs may write to the files, too.
    pub(super) fn is_shared(&self) -> bool {
        matches!(self, Tracker::Map(maps) if maps.is_shared())
    }

    /// Whether a write or trim may be issued now.
    pub(super) fn admit(&mut self, io: &Io) -> Admission {
        match self {
            Tracker::Map(maps) if io.dir != Dir::Read => maps.admit(io),
            _ => Admission::AsDrawn,
        }
    }

    /// An op is issued.
    pub(super) fn issued(&mut self, io: &IssuedIo) {
        if let Tracker::Map(maps) = self {
            match io.dir {
                Dir::Read => maps.read_issued(io.slot, io.op.file, io.op.offset, io.op.len),
                Dir::Write | Dir::Trim => maps.write_issued(io.slot),
            }
        }
    }

    /// A write or trim has completed. `stored`: what it leaves in its blocks. Returns the bytes of writes that a trim has
    /// discarded.
    pub(super) fn write_completed(
        &mut self,
        io: &IssuedIo,
        succeeded: bool,
        number: u64,
        stored: StoredContents<'_>,
    ) -> Bytes {
        match self {
            Tracker::None | Tracker::Zones(_) => {}
            Tracker::Replay(replay) => {
                if io.dir == Dir::Write && !succeeded {
                    replay.failed(number);
                }
            }
            Tracker::Map(maps) => {
                let start = io.op.offset - u64::from(io.op.at);
                let range = start..io.op.offset + u64::from(io.op.len);
                return maps.write_completed(io.slot, range, succeeded, stored);
            }
        }
        Bytes::ZERO
    }

    /// What is known about a read that has completed. `None`: other jobs wrote at the same time, so it is read again
    /// instead of being judged. Otherwise it must be [judged](Self::judged).
    pub(super) fn knowledge(
        &mut self,
        slot: u32,
        read: &Op,
        used: SlotUse,
        pass: VerifyPass,
    ) -> Option<ReadKnowledge> {
        let Tracker::Map(maps) = self else {
            let generation = used.generation();
            let write = used.number().map(|number| ReadKnowledge::Write { number, generation });
            return Some(write.unwrap_or(ReadKnowledge::Nothing));
        };
        match maps.read_states(slot, read) {
            ReadStates::Known(states) => {
                let unwritten = |state: &GranuleState| *state == GranuleState::NeverWritten;
                let end = read.offset + u64::from(read.len);
                let earlier = pass == VerifyPass::Reads && maps.has_earlier_data(read.file, end);
                if earlier && states.states.iter().all(unwritten) {
                    return Some(ReadKnowledge::Nothing);
                }
                Some(ReadKnowledge::States { granule: maps.granule(read.file), states })
            }
            ReadStates::Changed => {
                maps.changed(slot, read.file, read.offset, read.len);
                None
            }
        }
    }

    /// A read has been judged, or it failed. Returns whether a bad result is final, because no write can have
    /// interfered. Otherwise the read must be [repeated](Self::repeat).
    pub(super) fn judged(&mut self, slot: u32) -> bool {
        match self {
            Tracker::Map(maps) => maps.judged(slot),
            _ => true,
        }
    }

    /// Takes back the memory of what was known about a read.
    #[inline]
    pub(super) fn take_back(&mut self, knowledge: ReadKnowledge) {
        if let (Tracker::Map(maps), ReadKnowledge::States { states, .. }) = (self, knowledge) {
            maps.take_back(states);
        }
    }

    /// Reads again what a read has read, and keeps writes away meanwhile.
    pub(super) fn repeat(&mut self, read: &Op) {
        if let Tracker::Map(maps) = self {
            maps.repeat(read.file, read.offset, read.len);
        }
    }

    /// Waits a moment for other jobs.
    pub(super) fn wait(&self) {
        if let Tracker::Map(maps) = self {
            maps.wait();
        }
    }
}
