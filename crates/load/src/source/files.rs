//! Choice of the file of the next I/O (`file_service_type`, `openfiles`).
//!
//! Files come into service and leave it one by one, and a job may have a hundred thousand of them.
//! A step therefore takes constant time on average, whatever the number of files.

use fiord_plan::{FileService, JobPlan};
use fiord_types::FileIndex;

use super::spread::SkewedFiles;
use crate::rng::Rng;

/// The files of a job that are not done.
#[derive(Debug, Clone)]
pub(super) struct FilesInService {
    /// Files that came into service in this pass, in order. With `random`, files that are done are
    /// removed; otherwise they stay, and `next` leads past them.
    active: Vec<FileIndex>,
    /// For each position in `active`: the position itself while its file is in service, otherwise a
    /// later position on the way to the next file in service (a union-find forest). Empty with
    /// `random`.
    next: Vec<u32>,
    /// Order in which the files come into service in a pass.
    order: Vec<FileIndex>,
    /// Number of files of `order` that have come into service.
    begun: usize,
    /// Maximum number of files in service at a time.
    limit: usize,
    /// Position in `active` of the present file, or the length of `active` if all are done; and the
    /// number of I/Os that the file still gets.
    at: usize,
    turn: u32,
    /// I/Os per turn; 0: until the file is done.
    turns: u32,
    random: bool,
    /// Draws the next file if some files get more I/O than others.
    skewed: Option<SkewedFiles>,
    /// Which files are open, if fewer may be open than there are files.
    open: Option<Vec<bool>>,
}

impl FilesInService {
    /// The files of a job. At least one of them must hold a block.
    pub(super) fn new(job: &JobPlan, rng: &mut Rng) -> Self {
        let target = &job.target;
        let count = target.files.len();
        let limit = (target.open_files.max(1) as usize).min(count);
        let (turns, random) = match target.service {
            FileService::RoundRobin(n) => (n.max(1), false),
            FileService::Random(n) => (n.max(1), true),
            FileService::Skewed(_) => (1, false),
            FileService::Sequential => (0, false),
        };
        let skewed = match target.service {
            FileService::Skewed(skew) => Some(SkewedFiles::new(skew, count as u64, job.load.seed)),
            _ => None,
        };
        let mut files = FilesInService {
            active: Vec::with_capacity(limit),
            next: Vec::new(),
            order: (0..count as u32).map(FileIndex).collect(),
            begun: 0,
            limit,
            at: 0,
            turn: 0,
            turns,
            random,
            skewed,
            open: (limit < count || target.reopens).then(|| vec![false; count]),
        };
        files.begin_pass(rng);
        files
    }

    /// Begins a pass: all files come into service again. Called when all are done.
    pub(super) fn begin_pass(&mut self, rng: &mut Rng) {
        self.active.clear();
        if self.random && self.limit < self.order.len() {
            for i in (1..self.order.len()).rev() {
                self.order.swap(i, rng.below(i as u64 + 1) as usize);
            }
        }
        self.active.extend_from_slice(&self.order[..self.limit]);
        self.next.clear();
        if !self.random {
            self.next.extend(0..self.limit as u32);
        }
        self.begun = self.limit;
        self.at = 0;
        self.start_turn(rng);
    }

    /// The first position from `at` on whose file is in service; the length of `active` if there is
    /// none.
    #[inline]
    fn in_service(&mut self, mut at: usize) -> usize {
        while let Some(&next) = self.next.get(at) {
            if next as usize == at {
                break;
            }
            // Path halving: each look-up halves the path of the next one.
            let beyond = self.next.get(next as usize).copied().unwrap_or(next);
            self.next[at] = beyond;
            at = beyond as usize;
        }
        at
    }

    /// The first position from `at` on whose file is in service, and after the end from 0 on.
    #[inline]
    fn around(&mut self, at: usize) -> usize {
        let found = self.in_service(at);
        if found < self.active.len() { found } else { self.in_service(0) }
    }

    fn start_turn(&mut self, rng: &mut Rng) {
        if let Some(skewed) = &self.skewed {
            // A file that is done or not yet in service passes its I/O to the next one in service.
            let file = skewed.draw(rng);
            let at = self.active.partition_point(|&f| f < file);
            self.at = self.around(at);
        } else if self.random {
            self.at = rng.below(self.active.len() as u64) as usize;
        } else {
            self.at = self.around(self.at);
        }
        self.turn = self.turns;
    }

    /// The present file; `None` if all are done.
    #[inline]
    pub(super) fn current(&self) -> Option<FileIndex> {
        self.active.get(self.at).copied()
    }

    /// Whether this file must be opened before the next I/O. Marks it as open.
    #[inline]
    pub(super) fn must_open(&mut self, file: FileIndex) -> bool {
        match &mut self.open {
            None => false,
            Some(open) => !std::mem::replace(&mut open[file], true),
        }
    }

    /// The present file got an I/O.
    #[inline]
    pub(super) fn count(&mut self, rng: &mut Rng) {
        if self.turns == 0 {
            return;
        }
        self.turn -= 1;
        if self.turn == 0 {
            self.at += 1;
            self.start_turn(rng);
        }
    }

    /// The present file is done, and the next one comes into service. Returns whether the file must
    /// be closed.
    pub(super) fn finish(&mut self, rng: &mut Rng) -> bool {
        // In a random order it does not matter which file takes the position of the one that is
        // done.
        let file = match self.random {
            true => self.active.swap_remove(self.at),
            false => {
                self.next[self.at] = self.at as u32 + 1;
                self.active[self.at]
            }
        };
        if let Some(&next) = self.order.get(self.begun) {
            self.begun += 1;
            if !self.random {
                self.next.push(self.active.len() as u32);
            }
            self.active.push(next);
        }
        self.start_turn(rng);
        match &mut self.open {
            None => false,
            Some(open) => std::mem::replace(&mut open[file], false),
        }
    }

    /// The caller closed all files.
    pub(super) fn all_closed(&mut self) {
        if let Some(open) = &mut self.open {
            open.fill(false);
        }
    }
}
