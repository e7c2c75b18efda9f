//! How trimmed blocks are checked (`trim_verify_zero`), and those that a command has filled with zeros
//! (`write_mode=zeroes`).

use fiord_formats::integrity::diagnosis::{BadExtent, Diagnosis, Promise, Staleness};
use fiord_formats::integrity::sector::{SectorHeader, SectorWriter};
use fiord_formats::verify::header::VerifyHeader;
use fiord_load::verify::GranuleState;
use fiord_plan::{VerifyPass, VerifyPlan};
use fiord_types::Bytes;

use super::bad_read::{BadContents, BadRead, JudgedRead};
use super::known::{KnownPart, KnownWrite};

/// How blocks are checked that were trimmed or filled with zeros.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrimmedBlocks {
    /// The map knows them. `zeros`: they must read as zeros.
    Known { zeros: bool },
    /// An earlier run may have trimmed any block or filled it with zeros, so a block of zeros is right.
    Possible,
}

impl TrimmedBlocks {
    pub(crate) fn of(plan: &VerifyPlan) -> Self {
        let earlier = matches!(plan.pass, VerifyPass::Only | VerifyPass::Reads);
        match plan.trims {
            _ if earlier && (plan.zeroes || plan.trims.is_some()) => TrimmedBlocks::Possible,
            trims => {
                let zeros = plan.zeroes || trims.is_some_and(|trims| trims.must_read_zero);
                TrimmedBlocks::Known { zeros }
            }
        }
    }

    /// Whether trimmed blocks are read back.
    pub(crate) fn must_read_zero(self) -> bool {
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
            None => Diagnosis::unrecognized(data, None),
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
    use fiord_engine::{Op, OpKind};
    use fiord_load::IoAttributes;
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
