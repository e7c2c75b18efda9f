//! `trim_percentage`: the job trims a part of what it has written. Trimmed blocks must read as zeros
//! (`trim_verify_zero`), or they are not checked.

use std::collections::VecDeque;

use fiord_engine::Op;
use fiord_load::rng::splitmix;
use fiord_load::{Io, IoAttributes};
use fiord_plan::{JobPlan, VerifyPass, VerifyPlan, VerifyTrims};
use fiord_types::{Dir, FileIndex};

use crate::hook::Admission;
use crate::verify::track::TrackedMaps;

/// Maximum number of blocks that wait to be trimmed. Further ones are not trimmed.
const MAX_WAITING: usize = 1 << 16;

/// Chooses which blocks a job trims, and when.
#[derive(Debug)]
pub(crate) struct TrimQueue {
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
    pub(crate) fn of(job: &JobPlan, plan: &VerifyPlan) -> Option<Self> {
        let writes = matches!(plan.pass, VerifyPass::AfterWrites | VerifyPass::WritesOnly);
        let trims = plan.trims.filter(|_| writes)?;
        let (seed, waiting) = (job.load.seed, VecDeque::new());
        Some(TrimQueue { plan: trims, seed, waiting, writes: 0, left: 0 })
    }

    /// The write with this number has succeeded.
    pub(crate) fn written(&mut self, number: u64, op: &Op) {
        self.writes += 1;
        let chosen = is_chosen(self.seed, number, self.plan.percent);
        if chosen && self.waiting.len() < MAX_WAITING {
            let Op { file, offset, len, .. } = *op;
            let attributes = IoAttributes::PLAIN;
            self.waiting.push_back(Io { dir: Dir::Trim, file, offset, len, attributes });
        }
    }

    /// The file of the next trim, if one is due.
    pub(crate) fn due_file(&mut self, maps: &TrackedMaps) -> Option<FileIndex> {
        self.due(maps).map(|trim| trim.file)
    }

    /// The next trim, if one is due and no other I/O uses its blocks.
    pub(crate) fn next(&mut self, maps: &mut TrackedMaps) -> Option<Io> {
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
    pub(crate) fn end_loop(&mut self) {
        self.waiting.clear();
        (self.left, self.writes) = (0, 0);
    }
}

/// Whether the write with this number is trimmed. Of each 8 writes in a row, `percent` per cent are trimmed, at random
/// among them, so that the share of trims is exact also in a short run.
fn is_chosen(seed: u64, number: u64, percent: u8) -> bool {
    const FEW: u64 = 8;
    let first = number - number % FEW;
    let until = |number: u64| number * u64::from(percent) / 100;
    let wanted = until(first + FEW) - until(first);
    let luck = |number: u64| {
        let mut state = seed ^ number.rotate_left(32);
        (splitmix(&mut state), number)
    };
    let own = luck(number);
    let before = (first..first + FEW).filter(|other| luck(*other) < own).count();
    (before as u64) < wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_trims_is_exact() {
        for percent in [0, 1, 10, 33, 50, 99, 100] {
            for seed in 0..20 {
                for writes in [8, 64, 800] {
                    let trims =
                        (0..writes).filter(|number| is_chosen(seed, *number, percent)).count();
                    assert_eq!(
                        trims as u64,
                        writes * u64::from(percent) / 100,
                        "{percent} {writes}"
                    );
                }
            }
        }
        let chosen = |seed| (0..64).map(|number| is_chosen(seed, number, 50)).collect::<Vec<_>>();
        assert_ne!(chosen(1), chosen(2));
    }
}
