//! Contents of a simulated file: the blocks that were written, and zeros elsewhere; and the volatile cache of the
//! device.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fiord_plan::{FaultEffect, JobPlan};
use fiord_types::Bytes;

use super::options::SimOptions;

const BLOCK: u64 = 4096;

/// The simulated files of a run. Jobs that name the same file share its contents.
#[derive(Debug, Clone, Default)]
pub struct SimDisks {
    disks: HashMap<PathBuf, SharedDisk>,
}

impl SimDisks {
    /// The files of all jobs on simulated devices that store data. Leaves out jobs whose options are invalid: their
    /// engine reports that.
    #[must_use]
    pub fn of<'a>(jobs: impl IntoIterator<Item = &'a JobPlan>) -> SimDisks {
        let mut all = SimDisks::default();
        for job in jobs {
            let options = job.engine.simulated().and_then(|plan| SimOptions::of(plan).ok());
            let Some(options) = options.filter(|options| options.store) else { continue };
            for file in &job.target.files {
                let disk = all.disks.entry(file.path.clone()).or_default();
                disk.lock().prepare(&options);
            }
        }
        all
    }

    /// The files of a job, in the order of its plan; empty if its device stores no data.
    #[must_use]
    pub fn of_job(&self, job: &JobPlan) -> Vec<SharedDisk> {
        let disk = |path| self.disks.get(path).cloned();
        let all: Option<Vec<_>> = job.target.files.iter().map(|file| disk(&file.path)).collect();
        all.unwrap_or_default()
    }
}

/// A simulated file that several jobs use.
#[derive(Debug, Clone, Default)]
pub struct SharedDisk(Arc<Mutex<SimDisk>>);

impl SharedDisk {
    /// The file, for one operation.
    pub(super) fn lock(&self) -> MutexGuard<'_, SimDisk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The contents of a simulated file, and what its device would lose in a crash.
#[derive(Debug, Default)]
pub(super) struct SimDisk {
    now: Blocks,
    /// What each byte was before its last write; `None` if no fault needs it.
    before: Option<Blocks>,
    /// Number of crashes that are still to come. The device remembers the writes that are not durable until then.
    crashes: u32,
    /// Writes and trims that are not durable, in their order.
    cached: Vec<CachedWrite>,
}

/// A write or trim that no flush followed.
#[derive(Debug)]
struct CachedWrite {
    offset: u64,
    /// The bytes before it.
    old: Box<[u8]>,
    /// The bytes that it stored.
    new: Box<[u8]>,
    /// The next flush discards this write.
    doomed: bool,
}

impl SimDisk {
    /// Prepares for the faults of a job.
    pub(super) fn prepare(&mut self, options: &SimOptions) {
        self.crashes += u32::from(options.crash.is_some());
        if options.faults.iter().any(|fault| fault.effect == FaultEffect::Stale) {
            self.before.get_or_insert_default();
        }
    }

    /// Copies the bytes from `offset` on to `data`.
    pub(super) fn read(&self, offset: u64, data: &mut [u8]) {
        self.now.read(offset, data);
    }

    /// Copies to `data` what the bytes from `offset` on were before their last write. False if that is unknown or
    /// equal to the present contents.
    pub(super) fn read_stale(&self, offset: u64, data: &mut [u8]) -> bool {
        let Some(before) = &self.before else { return false };
        let mut now = vec![0; data.len()];
        self.now.read(offset, &mut now);
        before.read(offset, data);
        now != data
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) {
        self.remember(offset, data, false);
        self.now.write(offset, data);
    }

    /// Stores `data` from `offset` on. The next flush undoes it.
    pub(super) fn write_until_flush(&mut self, offset: u64, data: &[u8]) {
        self.remember(offset, data, true);
        self.now.write(offset, data);
    }

    /// Zeroes `len` bytes from `offset` on.
    pub(super) fn trim(&mut self, offset: u64, len: u32) {
        if self.remembers() || self.before.is_some() {
            self.remember(offset, &vec![0; len as usize], false);
        }
        self.now.trim(offset, len);
    }

    fn remembers(&self) -> bool {
        self.crashes > 0 || !self.cached.is_empty()
    }

    fn remember(&mut self, offset: u64, new: &[u8], doomed: bool) {
        let cached = doomed || self.remembers();
        if !cached && self.before.is_none() {
            return;
        }
        let mut old = vec![0; new.len()].into_boxed_slice();
        self.now.read(offset, &mut old);
        if let Some(before) = &mut self.before {
            before.write(offset, &old);
        }
        if cached {
            self.cached.push(CachedWrite { offset, old, new: new.into(), doomed });
        }
    }

    /// Makes all writes durable, except those that a fault undoes.
    pub(super) fn flush(&mut self) {
        if self.cached.iter().any(|write| write.doomed) {
            self.keep(|write| !write.doomed);
        }
        self.cached.clear();
    }

    /// Loses the writes that are not durable, except those that `survives` selects. Returns how many bytes of writes
    /// were lost.
    pub(super) fn crash(&mut self, mut survives: impl FnMut() -> bool) -> Bytes {
        let lost = self.keep(|_| survives());
        self.cached.clear();
        self.crashes = self.crashes.saturating_sub(1);
        lost
    }

    /// Undoes the cached writes that `keeps` does not select. Returns how many bytes these are.
    fn keep(&mut self, mut keeps: impl FnMut(&CachedWrite) -> bool) -> Bytes {
        for write in self.cached.iter().rev() {
            self.now.write(write.offset, &write.old);
        }
        let mut lost = Bytes::ZERO;
        for write in &self.cached {
            if keeps(write) {
                self.now.write(write.offset, &write.new);
            } else {
                lost += Bytes(write.new.len() as u64);
            }
        }
        lost
    }
}

/// Bytes by number of their block. Blocks that are not here are zeros.
#[derive(Debug, Default)]
struct Blocks {
    blocks: HashMap<u64, Box<[u8; BLOCK as usize]>>,
}

impl Blocks {
    fn read(&self, offset: u64, data: &mut [u8]) {
        each_block(offset, data.len(), |block, within, range| {
            let part = &mut data[range];
            match self.blocks.get(&block) {
                Some(held) => part.copy_from_slice(&held[within..within + part.len()]),
                None => part.fill(0),
            }
        });
    }

    fn write(&mut self, offset: u64, data: &[u8]) {
        each_block(offset, data.len(), |block, within, range| {
            let held = self.blocks.entry(block).or_insert_with(|| Box::new([0; BLOCK as usize]));
            let part = &data[range];
            held[within..within + part.len()].copy_from_slice(part);
        });
    }

    fn trim(&mut self, offset: u64, len: u32) {
        each_block(offset, len as usize, |block, within, range| {
            if range.len() as u64 == BLOCK {
                self.blocks.remove(&block);
            } else if let Some(held) = self.blocks.get_mut(&block) {
                held[within..within + range.len()].fill(0);
            }
        });
    }
}

/// Calls `each` for every block that a range touches, with the number of the block, the position of
/// the part in the block, and the position of the part in the range.
fn each_block(offset: u64, len: usize, mut each: impl FnMut(u64, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < len {
        let at = offset + done as u64;
        let within = (at % BLOCK) as usize;
        let part = (BLOCK as usize - within).min(len - done);
        each(at / BLOCK, within, done..done + part);
        done += part;
    }
}
