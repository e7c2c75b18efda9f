//! What the writes of a job contain, in any of the formats: how they are filled, checked and diagnosed.
//!
//! | question | module |
//! |---|---|
//! | which format has a job | here |
//! | fio's formats: which bytes does a write have | `fill.rs` |
//! | and which part of a body is compressible or a duplicate | `shape.rs` |
//! | and does a read contain what was written | `check.rs` |
//! | `verify=fiord`: how are sectors written and checked | `sectors.rs` |
//! | how are trimmed blocks checked | `trimmed.rs` |
//! | what is known about a read | `known.rs` |
//! | which blocks of zones are checked | `certain.rs` |
//! | how does a read differ from what was written | `bad_read.rs` |

mod bad_read;
mod certain;
mod check;
mod fill;
mod known;
mod sectors;
mod shape;
mod trimmed;

pub(super) use self::bad_read::{BadContents, BadRead, JudgedRead};
pub(super) use self::known::{GranuleStates, KnownPart, KnownWrite, ReadKnowledge, StoredContents};
pub(super) use self::sectors::{target_id, this_run};
pub(super) use self::trimmed::TrimmedBlocks;

use fiord_formats::integrity::diagnosis::BadExtent;
use fiord_formats::verify::method::Method;
use fiord_load::verify::{GranuleState, WriteValue};
use fiord_plan::{JobPlan, VerifyMethod, VerifyPass, VerifyPlan};
use fiord_types::{Bytes, FileIndex};

use self::check::IntervalChecker;
use self::fill::JobFormat;
use self::sectors::SectorFormat;
use crate::error::JobError;

/// What writes contain.
#[derive(Clone)]
pub(super) enum Contents {
    /// fio's formats.
    Intervals(JobFormat, Box<IntervalChecker>),
    /// `verify=fiord`.
    Sectors(SectorFormat),
}

impl Contents {
    pub(super) fn of(job: &JobPlan, plan: &VerifyPlan) -> Result<Self, JobError> {
        Ok(match plan.method {
            VerifyMethod::Fio(method) => {
                let format = JobFormat::of(job, plan, method)?;
                let checker = IntervalChecker::new(format.clone(), job, plan);
                Contents::Intervals(format, Box::new(checker))
            }
            VerifyMethod::Fiord => Contents::Sectors(SectorFormat::of(job, plan)?),
        })
    }

    /// Whether a block that a source repeats can be told from other writes.
    pub(super) fn knows(&self, pass: VerifyPass) -> bool {
        match self {
            Contents::Intervals(..) => true,
            Contents::Sectors(_) => pass == VerifyPass::AfterWrites,
        }
    }

    pub(super) fn fills(&self) -> bool {
        !matches!(self, Contents::Intervals(format, _) if format.method == Method::Null)
    }

    /// The value in the map of a granule that the write with this number has written.
    pub(super) fn value(&self, number: u64, before: GranuleState) -> WriteValue {
        match (self, before) {
            (Contents::Intervals(format, _), _) => {
                WriteValue::of_number(number, u32::from(format.thread()))
            }
            (Contents::Sectors(_), GranuleState::Written(value)) => value.next(),
            // The generation before is unknown. This one should differ from it.
            (Contents::Sectors(_), GranuleState::Unknown | GranuleState::Trimmed) => {
                WriteValue::of_number(number, 0)
            }
            (Contents::Sectors(_), _) => WriteValue::of_generation(0),
        }
    }

    /// How trimmed blocks are checked.
    pub(super) fn trimmed(&self) -> TrimmedBlocks {
        match self {
            Contents::Intervals(_, checker) => checker.trimmed,
            Contents::Sectors(format) => format.trimmed,
        }
    }

    /// Whether parts of reads are left out, because their writes may be incomplete.
    pub(super) fn leaves_out(&self) -> bool {
        match self {
            Contents::Intervals(_, checker) => checker.certain.is_some(),
            Contents::Sectors(format) => format.certain.is_some(),
        }
    }

    /// Bytes of the read that was checked last that were left out, because their writes may be incomplete.
    pub(super) fn uncertain(&self) -> Bytes {
        match self {
            Contents::Intervals(_, checker) => checker.uncertain,
            Contents::Sectors(format) => format.uncertain,
        }
    }

    /// Checks the bytes of a read. Calls `bad` for each bad part, until it returns false. Returns the number of bytes
    /// that were checked.
    pub(super) fn check(
        &mut self,
        read: &JudgedRead<'_>,
        known: &KnownWrite<'_>,
        bad: &mut dyn FnMut(BadRead) -> bool,
    ) -> u64 {
        let trimmed = self.trimmed();
        if trimmed.explain(read.data) {
            match self {
                Contents::Intervals(_, checker) => checker.uncertain = Bytes::ZERO,
                Contents::Sectors(format) => format.uncertain = Bytes::ZERO,
            }
            return read.data.len() as u64;
        }
        let mut more = true;
        let mut found = |one| {
            more = bad(one);
            more
        };
        let found: &mut dyn FnMut(BadRead) -> bool = &mut found;
        let (offset, data) = (read.op.offset, read.data);
        let checked = match self {
            Contents::Intervals(_, checker) => checker.check(offset, data, known, found),
            Contents::Sectors(format) => format.check(read.op.file, offset, data, known, found),
        };
        match more && trimmed.must_read_zero() {
            true => checked + trimmed.check(offset, data, known, bad),
            false => checked,
        }
    }

    /// Fills the buffer of a write at an offset of a file. `number`: writes that the job issued before. `now`: ns.
    pub(super) fn fill(
        &mut self,
        number: u64,
        (file, offset): (FileIndex, u64),
        data: &mut [u8],
        now: u64,
        known: &KnownWrite<'_>,
    ) {
        match self {
            Contents::Intervals(format, _) => format.fill(number, offset, data, now),
            Contents::Sectors(format) => format.fill(file, number, offset, data, known),
        }
    }

    /// Fills the buffer of a Compare with what a block at an offset must contain. A block without this contents is read
    /// and judged.
    pub(super) fn expect(&self, offset: u64, data: &mut [u8]) {
        if let Contents::Intervals(format, _) = self
            && let Some(pattern) = &format.pattern
        {
            pattern.fill(offset, data);
        }
    }

    /// A whole read as it should be, if its headers are intact. `number`: that of the write, if it is known.
    pub(super) fn restored(&self, read: &JudgedRead<'_>, number: Option<u64>) -> Option<Vec<u8>> {
        let Contents::Intervals(format, _) = self else { return None };
        let mut expected = read.data.to_vec();
        format.restore(read.op.offset, &mut expected, number);
        Some(expected)
    }

    /// Says what is wrong with a read that has bad intervals. Each of them is a part of an extent.
    pub(super) fn diagnose(
        &self,
        read: &JudgedRead<'_>,
        known: &KnownWrite<'_>,
        began: Option<u32>,
        bad: &[BadRead],
    ) -> Vec<BadExtent> {
        let mut extents = trimmed::diagnose(read, bad);
        extents.extend(self.diagnose_written(read, known, began, bad));
        let unexplained =
            |one: &&BadRead| !extents.iter().any(|extent: &BadExtent| one.overlaps(extent));
        let unexplained: Vec<_> =
            bad.iter().filter(unexplained).map(|one| one.unrecognized(read)).collect();
        extents.extend(unexplained);
        extents.sort_by_key(|extent| extent.start);
        extents
    }

    fn diagnose_written(
        &self,
        read: &JudgedRead<'_>,
        known: &KnownWrite<'_>,
        began: Option<u32>,
        bad: &[BadRead],
    ) -> Vec<BadExtent> {
        match self {
            Contents::Intervals(_, checker) => {
                let mut extents = checker.diagnose(read.op.offset, read.data, known, began);
                // Parts that are not checked may contain anything.
                let reported = |extent: &BadExtent| bad.iter().any(|one| one.overlaps(extent));
                extents.retain(|extent| !self.leaves_out() || reported(extent));
                extents
            }
            Contents::Sectors(_) => {
                let extents = bad.iter().filter_map(|one| match &one.difference {
                    BadContents::Sectors(extent) => Some(extent.clone()),
                    _ => None,
                });
                extents.collect()
            }
        }
    }
}
