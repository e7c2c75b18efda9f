//! Judges reads: checks their bytes, and reports, counts and diagnoses what is bad.
//!
//! | question | module |
//! |---|---|
//! | is a read good, and what follows if it is not | here |
//! | which threads check it (`verify_async`) | `checkers.rs` |
//! | where is bad data wrong, and where is it listed | `evidence.rs` |
//! | and is it wrong on the medium, or on its way | `reread.rs` |

mod checkers;
mod evidence;
mod reread;

pub(super) use self::checkers::{CheckerThreads, WaitingRead};

use std::sync::Arc;

use fiord_engine::Op;
use fiord_formats::integrity::diagnosis::{BadExtent, Diagnosis, FaultClass, Promise};
use fiord_load::verify::GranuleState;
use fiord_plan::{JobPlan, VerifyPass, VerifyPlan};
use fiord_stat::verify::Unverified;
use fiord_types::{Bytes, Errno};

use self::checkers::HeldRead;
use self::evidence::BadDataEvidence;
use super::VerifyServices;
use super::act::{ErrorPolicy, Tally};
use super::contents::{Contents, JudgedRead, KnownPart, KnownWrite};
use super::track::Tracker;
use crate::error::JobError;
use crate::hook::Disposition;

/// Judges the reads of one job.
pub(super) struct Judge {
    pub contents: Contents,
    pub tally: Tally,
    policy: ErrorPolicy,
    pass: VerifyPass,
    evidence: BadDataEvidence,
    /// When the first write was filled, in seconds of the engine's clock.
    began: Option<u32>,
}

impl Judge {
    pub(super) fn of(
        job: &JobPlan,
        plan: &VerifyPlan,
        services: &VerifyServices,
    ) -> Result<Self, JobError> {
        let contents = Contents::of(job, plan)?;
        Ok(Judge {
            policy: ErrorPolicy::of(job, plan, services.aux_path, Arc::clone(&services.bad_block)),
            pass: plan.pass,
            evidence: BadDataEvidence::of(job, services)?,
            tally: Tally::new(match contents.fills() {
                true => plan.pass,
                false => VerifyPass::WritesOnly,
            }),
            began: None,
            contents,
        })
    }

    /// A write is filled at `now`, ns.
    pub(super) fn filled(&mut self, now: u64) {
        self.began.get_or_insert((now / 1_000_000_000) as u32);
    }

    /// A trim has discarded `bytes` bytes of writes.
    pub(super) fn trimmed(&mut self, bytes: Bytes) {
        if !self.contents.trimmed().must_read_zero() {
            self.tally.trimmed(bytes);
        }
    }

    /// Whether the job can know which write a read returns. What an earlier run wrote has its generation.
    pub(super) fn knows(&self) -> bool {
        self.contents.knows(self.pass)
    }

    /// Judges the bytes of a read that succeeded.
    #[inline]
    pub(super) fn judge(
        &mut self,
        tracker: &mut Tracker,
        read: &JudgedRead<'_>,
        wait: &WaitingRead,
    ) -> Disposition {
        let mut good = true;
        let checked = self.contents.check(read, &wait.knowledge.as_known(), &mut |_| {
            good = false;
            false
        });
        if good {
            self.tally.verified(checked);
            self.tally.uncertain(self.contents.uncertain().0);
            self.count_unchecked(&wait.knowledge.as_known(), read);
            return Disposition::Release;
        }
        self.bad_read(tracker, read, wait)
    }

    /// Judges a read that was checked by another thread.
    pub(super) fn judge_held(&mut self, tracker: &mut Tracker, held: &HeldRead) -> Disposition {
        match held.good() {
            Some(checked) => {
                self.tally.verified(checked);
                let unchecked = held.read().data.len() as u64 - checked;
                self.tally.uncertain(if self.contents.leaves_out() { unchecked } else { 0 });
                self.count_unchecked(&held.wait.knowledge.as_known(), &held.read());
                Disposition::Release
            }
            None => self.judge(tracker, &held.read(), &held.wait),
        }
    }

    /// Counts the parts of a read of a job that only reads that say nothing, because the run has not written them as the
    /// job expects them.
    fn count_unchecked(&mut self, known: &KnownWrite<'_>, read: &JudgedRead<'_>) {
        let KnownWrite::States { .. } = known else { return };
        if self.pass != VerifyPass::Reads || !self.contents.fills() {
            return;
        }
        for (range, part) in known.parts(read.op.offset, read.data.len()) {
            let why = match part {
                KnownPart::State { state: GranuleState::NeverWritten, .. } => {
                    Unverified::NeverWritten
                }
                KnownPart::State { state: GranuleState::Trimmed, .. } => Unverified::Trimmed,
                KnownPart::State {
                    state: GranuleState::Unknown | GranuleState::InFlight, ..
                } => Unverified::Overwritten,
                _ => continue,
            };
            self.tally.unchecked(why, range.len() as u64);
        }
    }

    /// Reports a read that is bad, unless another write can have interfered: then it is read again.
    #[cold]
    #[inline(never)]
    fn bad_read(
        &mut self,
        tracker: &mut Tracker,
        read: &JudgedRead<'_>,
        wait: &WaitingRead,
    ) -> Disposition {
        if !wait.is_final {
            tracker.repeat(&read.op);
            return Disposition::Release;
        }
        let known = wait.knowledge.as_known();
        let mut bad = Vec::new();
        let fatal = self.policy.is_fatal();
        let checked = self.contents.check(read, &known, &mut |one| {
            bad.push(one);
            !fatal
        });
        self.tally.verified(checked);
        self.tally.uncertain(self.contents.uncertain().0);
        self.count_unchecked(&known, read);
        let Some(first) = bad.first() else { return Disposition::Release };
        let mut extents = self.contents.diagnose(read, &known, self.began, &bad);
        if wait.is_flushed {
            extents.iter_mut().for_each(|extent| extent.promise(Promise::Flushed));
        }
        for one in &bad {
            let expected = match self.policy.dumps() && one.has_intact_header() {
                true => self.contents.restored(read, known.number()),
                false => None,
            };
            self.policy.report(*read, one, &extents, expected.as_deref());
        }
        // Later writes of the job, or of other jobs, could interfere with further reads.
        let alone = !tracker.has_map() || wait.is_flushed && !tracker.is_shared();
        self.keep_evidence(read, &known, extents, alone);
        self.policy.consequence(*read, first)
    }

    /// Reads bad data again if the job is `alone` on its files, and adds its extents to the results.
    fn keep_evidence(
        &mut self,
        read: &JudgedRead<'_>,
        known: &KnownWrite<'_>,
        extents: Vec<BadExtent>,
        alone: bool,
    ) {
        let contents = &mut self.contents;
        let mut right = |again: &[u8]| {
            let mut right = true;
            let again = JudgedRead { op: read.op, data: again };
            contents.check(&again, known, &mut |_| {
                right = false;
                false
            });
            right
        };
        let place = (read.offset(), Bytes(read.data.len() as u64));
        // Intact data of another method is right on the medium, whatever further reads return.
        let doubtful = |extent: &BadExtent| extent.diagnosis.class() != FaultClass::OtherMethod;
        let reread = match alone && extents.iter().any(doubtful) {
            true => self.evidence.reread(read.op.file, place, read.data, &mut right),
            false => None,
        };
        for extent in extents {
            let complete = self.tally.bad(self.policy.path(read.op.file), extent, reread);
            self.evidence.list(complete);
        }
    }

    /// A read that was to be checked failed.
    pub(super) fn unreadable(&mut self, op: &Op, errno: Errno) {
        let (start, length) = (Bytes(op.offset), Bytes(u64::from(op.len)));
        self.tally.verified(length.0);
        // What the block contains is not known, so a read that succeeds counts as right.
        let reread = self.evidence.reread(op.file, (start, length), &[], &mut |_| true);
        let extent = BadExtent { start, length, diagnosis: Diagnosis::ReadError { errno } };
        let complete = self.tally.bad(self.policy.path(op.file), extent, reread);
        self.evidence.list(complete);
    }
}

/// The last extent is complete when the job ends.
impl Drop for Judge {
    fn drop(&mut self) {
        let last = self.tally.finish();
        self.evidence.list(last);
    }
}
