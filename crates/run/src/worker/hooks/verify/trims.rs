//! `trim_percentage`: the job trims a part of what it has written. Trimmed blocks must read as zeros
//! (`trim_verify_zero`), or they are not checked.

use std::collections::VecDeque;

use fiord_engine::Op;
use fiord_formats::verify::diagnosis::{BadExtent, Diagnosis, Promise, Staleness, Unrecognized};
use fiord_formats::verify::header::VerifyHeader;
use fiord_formats::verify::sector::{SectorHeader, SectorWriter};
use fiord_load::rng::splitmix;
use fiord_load::verify::GranuleState;
use fiord_load::{Io, IoAttributes};
use fiord_plan::{JobPlan, VerifyPass, VerifyPlan, VerifyTrims};
use fiord_types::{Bytes, Dir, FileIndex};

use super::super::Admission;
use super::check::{BadContents, BadRead};
use super::known::{KnownPart, KnownWrite};
use super::map::TrackedMaps;
use super::policy::JudgedRead;

/// Most blocks that wait to be trimmed. Further ones are not trimmed.
const MOST_WAITING: usize = 1 << 16;

/// Chooses which blocks a job trims, and when.
#[derive(Debug)]
pub(super) struct TrimQueue {
    plan: VerifyTrims,
    seed: u64,
    /// Blocks that wait to be trimmed, in the order of their writes.
    waiting: VecDeque<Io>,
    /// Writes since the last round of trims.
    writes: u64,
    /// Trims left in this round.
    left: u32,
}

impl TrimQueue {
    /// `None`: the job does not trim what it has written.
    pub(super) fn of(job: &JobPlan, plan: &VerifyPlan) -> Option<Self> {
        let writes = matches!(plan.pass, VerifyPass::AfterWrites | VerifyPass::WritesOnly);
        let trims = plan.trims.filter(|_| writes)?;
        let (seed, waiting) = (job.load.seed, VecDeque::new());
        Some(TrimQueue { plan: trims, seed, waiting, writes: 0, left: 0 })
    }

    /// The write with this number has succeeded.
    pub(super) fn written(&mut self, number: u64, op: &Op) {
        self.writes += 1;
        let mut state = self.seed ^ number.rotate_left(32);
        let chosen = splitmix(&mut state) % 100 < u64::from(self.plan.percent);
        if chosen && self.waiting.len() < MOST_WAITING {
            let Op { file, offset, len, .. } = *op;
            let attributes = IoAttributes::PLAIN;
            self.waiting.push_back(Io { dir: Dir::Trim, file, offset, len, attributes });
        }
    }

    /// The file of the next trim, if one is due.
    pub(super) fn due_file(&mut self, maps: &TrackedMaps) -> Option<FileIndex> {
        self.due(maps).map(|trim| trim.file)
    }

    /// The next trim, if one is due and no other I/O uses its blocks.
    pub(super) fn next(&mut self, maps: &mut TrackedMaps) -> Option<Io> {
        let trim = self.due(maps)?;
        let Admission::AsDrawn = maps.admit(&trim) else { return None };
        self.waiting.pop_front();
        self.left -= 1;
        Some(trim)
    }

    fn due(&mut self, maps: &TrackedMaps) -> Option<Io> {
        if self.left == 0 {
            if self.writes < self.plan.backlog || self.waiting.is_empty() {
                return None;
            }
            (self.left, self.writes) = (self.plan.batch, 0);
        }
        loop {
            match self.waiting.front().copied() {
                Some(trim) if maps.is_unread(&trim) => return Some(trim),
                // As in fio, what has been read back is not trimmed any more (`verify_backlog`).
                Some(_) => self.waiting.pop_front(),
                None => {
                    self.left = 0;
                    return None;
                }
            };
        }
    }

    /// The loop has ended: what still waits is not trimmed.
    pub(super) fn end_loop(&mut self) {
        self.waiting.clear();
        (self.left, self.writes) = (0, 0);
    }
}

/// How trimmed blocks are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrimmedBlocks {
    /// The map knows them. `zeros`: they must read as zeros.
    Known { zeros: bool },
    /// An earlier run may have trimmed any block, so a block of zeros is right.
    Possible,
}

impl TrimmedBlocks {
    pub(super) fn of(plan: &VerifyPlan) -> Self {
        let earlier = matches!(plan.pass, VerifyPass::Only | VerifyPass::Reads);
        match plan.trims {
            Some(_) if earlier => TrimmedBlocks::Possible,
            trims => {
                TrimmedBlocks::Known { zeros: trims.is_some_and(|trims| trims.must_read_zero) }
            }
        }
    }

    /// Whether trimmed blocks are read back.
    pub(super) fn must_read_zero(self) -> bool {
        self == TrimmedBlocks::Known { zeros: true }
    }

    /// Whether a read contains what a trim has left, so that nothing else is checked.
    pub(super) fn explain(self, data: &[u8]) -> bool {
        self == TrimmedBlocks::Possible && first_byte(data).is_none()
    }

    /// Checks the trimmed parts of a read. Calls `bad` for each one that is bad, until it returns false. Returns the
    /// number of bytes that were checked.
    pub(super) fn check(
        self,
        offset: u64,
        data: &[u8],
        known: &KnownWrite<'_>,
        bad: &mut dyn FnMut(BadRead) -> bool,
    ) -> u64 {
        let mut checked = 0;
        if !self.must_read_zero() || !matches!(known, KnownWrite::States { .. }) {
            return 0;
        }
        let parts = known.parts(offset, data.len());
        let trimmed = |part: &KnownPart| {
            matches!(part, KnownPart::State { state: GranuleState::Trimmed, .. })
        };
        for (range, _) in parts.into_iter().filter(|(_, part)| trimmed(part)) {
            checked += range.len() as u64;
            let Some((position, found)) = first_byte(&data[range.clone()]) else { continue };
            let position = (range.start + position) as u64;
            let difference = BadContents::Trimmed { position, found };
            let start = Bytes(offset + range.start as u64);
            if !bad(BadRead { offset: start, len: Bytes(range.len() as u64), difference }) {
                break;
            }
        }
        checked
    }
}

/// Says what is wrong with trimmed blocks that are not zero.
pub(super) fn diagnose(read: &JudgedRead<'_>, bad: &[BadRead]) -> Vec<BadExtent> {
    let trimmed = bad.iter().filter(|one| matches!(one.difference, BadContents::Trimmed { .. }));
    let extent = |one: &BadRead| {
        let data = &read.data[one.offset.saturating_sub(read.offset()).0 as usize..];
        let found = SectorHeader::read(data)
            .map(|header| SectorWriter { job: header.write.job, number: header.write.number })
            .or_else(|| {
                let header = VerifyHeader::read(data).ok()?;
                Some(SectorWriter { job: header.thread, number: header.number })
            });
        let diagnosis = match found {
            Some(found) => Diagnosis::Stale(Staleness {
                generations: None,
                found,
                missing: None,
                promise: Promise::Unknown,
            }),
            None => {
                let mut first_bytes = [0; 16];
                let count = data.len().min(16);
                first_bytes[..count].copy_from_slice(&data[..count]);
                Diagnosis::Unrecognized(Unrecognized { first_bytes, first_difference: None })
            }
        };
        BadExtent { start: one.offset, length: one.len, diagnosis }
    };
    trimmed.map(extent).collect()
}

/// Position and value of the first byte that is not zero.
fn first_byte(data: &[u8]) -> Option<(usize, u8)> {
    data.iter().position(|byte| *byte != 0).map(|position| (position, data[position]))
}

#[cfg(test)]
mod tests {
    use fiord_engine::OpKind;
    use fiord_types::FileIndex;

    use super::*;

    #[test]
    fn a_trimmed_block_that_is_not_zero_is_bad() {
        let states = [GranuleState::Trimmed, GranuleState::Unknown, GranuleState::Trimmed];
        let known = KnownWrite::States { granule: 4096, states: &states, before: &[] };
        let mut data = vec![0; 3 * 4096];
        let bad = |data: &[u8], trimmed: TrimmedBlocks| {
            let mut all = Vec::new();
            let checked = trimmed.check(8192, data, &known, &mut |bad| {
                all.push(bad);
                true
            });
            (checked, all)
        };
        let zeros = TrimmedBlocks::Known { zeros: true };
        data[5000] = 1;
        assert_eq!(bad(&data, zeros), (8192, Vec::new()));
        data[9000] = 7;
        let (checked, found) = bad(&data, zeros);
        let difference = BadContents::Trimmed { position: 9000, found: 7 };
        let block = BadRead { offset: Bytes(16384), len: Bytes(4096), difference };
        assert_eq!((checked, &found), (8192, &vec![block]));
        let attributes = IoAttributes::PLAIN;
        let (kind, file) = (OpKind::Read, FileIndex(0));
        let op = Op { kind, file, offset: 8192, len: 12288, at: 0, attributes };
        let extents = diagnose(&JudgedRead { op, data: &data }, &found);
        assert!(matches!(extents[0].diagnosis, Diagnosis::Unrecognized(_)), "{extents:?}");
        assert_eq!(bad(&data, TrimmedBlocks::Known { zeros: false }).0, 0);
        assert!(!TrimmedBlocks::Possible.explain(&data));
        assert!(TrimmedBlocks::Possible.explain(&data[..4096]));
    }
}
