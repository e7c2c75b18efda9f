//! `verify=fiord`: each sector identifies its target, address, run, job and generation.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

use fiord_formats::integrity::diagnosis::{
    BadExtent, Diagnosis, ExpectedSectors, Promise, SectorState,
};
use fiord_formats::integrity::sector::{
    RunId, SectorCheck, SectorExpected, SectorFlags, SectorHeader, SectorSize, SectorWrite,
    SectorWriter, TargetId,
};
use fiord_formats::verify::method::Method;
use fiord_load::verify::{GENERATIONS, GranuleState, WriteValue};
use fiord_plan::{JobPlan, VerifyPlan};
use fiord_simd::vectors::{VectorWork, widest};
use fiord_types::{Bytes, Errno, FileIndex};

use super::bad_read::{BadContents, BadRead};
use super::certain::CertainWrites;
use super::known::{KnownPart, KnownWrite};
use super::trimmed::TrimmedBlocks;
use crate::error::{JobError, Stage};

/// Writes and checks the sectors of one job.
#[derive(Debug, Clone)]
pub(crate) struct SectorFormat {
    size: SectorSize,
    flags: SectorFlags,
    /// By file.
    targets: Vec<TargetId>,
    /// By file: the target that the data of an earlier run states; 0 before the first read. All threads of the job share
    /// them.
    earlier: Arc<[AtomicU64]>,
    run: RunId,
    job: u16,
    pub trimmed: TrimmedBlocks,
    /// The writes that are checked; `None`: all.
    pub certain: Option<CertainWrites>,
    /// Bytes of the last read that were not checked, because their writes may be incomplete.
    pub uncertain: Bytes,
}

impl SectorFormat {
    pub(super) fn of(job: &JobPlan, plan: &VerifyPlan) -> Result<Self, JobError> {
        let bytes = plan.interval.map_or(0, |interval| interval.0);
        let size = SectorSize::new(bytes).ok_or_else(|| {
            let detail = format!("verify=fiord does not support sectors of {bytes} bytes");
            JobError::new(Stage::FillBuffers, Errno::EINVAL, detail)
        })?;
        Ok(SectorFormat {
            size,
            trimmed: TrimmedBlocks::of(plan),
            certain: CertainWrites::of(job, plan),
            uncertain: Bytes::ZERO,
            flags: if plan.durable_writes { SectorFlags::DURABLE } else { SectorFlags::NONE },
            targets: job.target.files.iter().map(|file| target_id(&file.path)).collect(),
            earlier: job.target.files.iter().map(|_| AtomicU64::new(0)).collect(),
            run: this_run(),
            job: (job.identity.index.get() + 1) as u16,
        })
    }

    /// Fills the buffer of a write. `known`: the generations of its parts.
    pub(super) fn fill(
        &self,
        file: FileIndex,
        number: u64,
        offset: u64,
        data: &mut [u8],
        known: &KnownWrite<'_>,
    ) {
        let write = SectorWrite {
            size: self.size,
            flags: self.flags,
            target: self.target(file),
            run: self.run,
            job: self.job,
            number,
            start: offset,
            length: u32::try_from(data.len()).unwrap_or(u32::MAX),
        };
        for (range, part) in known.parts(offset, data.len()) {
            let generation = generation(&part).unwrap_or(1);
            let address = offset + range.start as u64;
            widest(FillSectors { write: &write, address, generation, data: &mut data[range] });
        }
    }

    /// Checks the bytes of a read at `offset`. Calls `bad` for each bad extent, until it returns false. Returns the
    /// number of bytes that were checked.
    pub(super) fn check(
        &mut self,
        file: FileIndex,
        offset: u64,
        data: &[u8],
        known: &KnownWrite<'_>,
        bad: &mut dyn FnMut(BadRead) -> bool,
    ) -> u64 {
        if self.certain.is_some() {
            return self.check_certain(file, offset, data, bad);
        }
        self.check_all(file, offset, data, known, bad)
    }

    /// Checks the sectors whose writes are complete, and counts the others.
    fn check_certain(
        &mut self,
        file: FileIndex,
        offset: u64,
        data: &[u8],
        bad: &mut dyn FnMut(BadRead) -> bool,
    ) -> u64 {
        let size = self.size.bytes();
        let is_certain = |sector: &[u8]| {
            let write = SectorHeader::read(sector).map(|header| header.write.number);
            self.certain.as_ref().is_none_or(|certain| certain.includes(write))
        };
        let sectors: Vec<bool> = data.chunks(size).map(is_certain).collect();
        let (mut checked, mut at) = (0, 0);
        let mut more = true;
        for run in sectors.chunk_by(|one, next| one == next) {
            let part = &data[at..(at + run.len() * size).min(data.len())];
            if run[0] && more {
                let start = offset + at as u64;
                checked += self.check_all(file, start, part, &KnownWrite::Nothing, &mut |one| {
                    more = bad(one);
                    more
                });
            }
            at += part.len();
        }
        self.uncertain = Bytes(data.len() as u64 - checked);
        checked
    }

    fn check_all(
        &self,
        file: FileIndex,
        offset: u64,
        data: &[u8],
        known: &KnownWrite<'_>,
        bad: &mut dyn FnMut(BadRead) -> bool,
    ) -> u64 {
        let (target, run) = self.identity(file, data, known);
        let mut check = SectorCheck::new(self.size, target, run);
        let (mut checked, mut good) = (0, true);
        for (range, part) in known.parts(offset, data.len()) {
            if matches!(part, KnownPart::State { state, .. } if !is_written(state)) {
                continue;
            }
            checked += range.len() as u64;
            let at = offset + range.start as u64;
            let expected = self.expected(&part);
            let data = &data[range];
            let work = CheckSectors { check: &mut check, address: at, expected, data };
            good &= widest(work).is_none();
        }
        if !good {
            let mut extents = self.diagnose(target, run, offset, data, known);
            if extents.is_empty() {
                // A bad read never passes for a good one because nothing explains it.
                let (start, length) = (Bytes(offset), Bytes(data.len() as u64));
                let diagnosis = Diagnosis::unrecognized(data, None);
                extents.push(BadExtent { start, length, diagnosis });
            }
            for extent in extents {
                let (offset, len) = (extent.start, extent.length);
                if !bad(BadRead { offset, len, difference: BadContents::Sectors(extent) }) {
                    break;
                }
            }
        }
        checked
    }

    /// Says what is wrong with a read that has bad sectors.
    fn diagnose(
        &self,
        target: TargetId,
        run: RunId,
        offset: u64,
        data: &[u8],
        known: &KnownWrite<'_>,
    ) -> Vec<BadExtent> {
        let parts: Vec<_> = known.parts(offset, data.len()).collect();
        let state = |address: u64| {
            let position = address.saturating_sub(offset) as usize;
            let part = parts.iter().find(|(range, _)| range.contains(&position));
            match part.map(|(_, part)| *part) {
                Some(KnownPart::State { state, .. }) if !is_written(state) => {
                    SectorState::Unchecked
                }
                Some(part) => SectorState::Written {
                    expected: self.expected(&part),
                    promise: Promise::Unknown,
                },
                None => SectorState::Unchecked,
            }
        };
        let cycle = Some(GENERATIONS);
        let expected = ExpectedSectors { size: self.size, target, run, cycle, state: &state };
        expected.diagnose(Bytes(offset), data)
    }

    /// What the sectors of a part must contain.
    fn expected(&self, part: &KnownPart) -> SectorExpected {
        let writer = match *part {
            KnownPart::Write { number, .. } => Some(SectorWriter { job: self.job, number }),
            _ => None,
        };
        SectorExpected { generation: generation(part), writer }
    }

    /// The target and run of a read. Data of an earlier run states its own.
    fn identity(&self, file: FileIndex, data: &[u8], known: &KnownWrite<'_>) -> (TargetId, RunId) {
        let own = (self.target(file), self.run);
        if !matches!(known, KnownWrite::Nothing) {
            return own;
        }
        let headers = data.chunks_exact(self.size.bytes()).find_map(SectorHeader::read);
        headers.map_or(own, |header| {
            (self.earlier_target(file, header.write.target), header.write.run)
        })
    }

    /// The target that data of an earlier run must state, when a read states `found`. A file may be a copy, so the data
    /// need not state its own path. But all of it states one target: its own, or else that of the first read.
    fn earlier_target(&self, file: FileIndex, found: TargetId) -> TargetId {
        let Some(earlier) = self.earlier.get(file.get()) else { return found };
        let own = self.target(file);
        if found == own {
            earlier.store(own.0, Ordering::Relaxed);
            return own;
        }
        match earlier.compare_exchange(0, found.0, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => found,
            Err(first) => TargetId(first),
        }
    }

    fn target(&self, file: FileIndex) -> TargetId {
        self.targets.get(file.get()).copied().unwrap_or(TargetId(0))
    }
}

/// [`SectorWrite::fill`] with wide vectors.
struct FillSectors<'a> {
    write: &'a SectorWrite,
    address: u64,
    generation: u16,
    data: &'a mut [u8],
}

impl VectorWork for FillSectors<'_> {
    type Output = ();
    #[inline(always)]
    fn run(self) {
        self.write.fill(self.address, self.generation, self.data);
    }
}

/// [`SectorCheck::first_bad`] with wide vectors.
struct CheckSectors<'a> {
    check: &'a mut SectorCheck,
    address: u64,
    expected: SectorExpected,
    data: &'a [u8],
}

impl VectorWork for CheckSectors<'_> {
    type Output = Option<usize>;
    #[inline(always)]
    fn run(self) -> Option<usize> {
        self.check.first_bad(self.address, &self.expected, self.data)
    }
}

fn is_written(state: GranuleState) -> bool {
    matches!(state, GranuleState::Written(_))
}

/// The generation of a part, if it is known.
fn generation(part: &KnownPart) -> Option<u16> {
    match *part {
        KnownPart::Write { generation, .. } => Some(generation),
        KnownPart::State { state: GranuleState::Written(value), before } => {
            Some(number_of(value, before))
        }
        KnownPart::State { .. } | KnownPart::Nothing => None,
    }
}

/// The generation that a value of the map stands for, if there were `before` generations before those that it counts: 1 to
/// 65535.
fn number_of(value: WriteValue, before: u16) -> u16 {
    let counted = value.generations_since(WriteValue::of_generation(0));
    1 + ((u32::from(before) + u32::from(counted)) % u32::from(GENERATIONS)) as u16
}

/// Identifies a target by its path: the first bytes of the MD5 of it. Later versions must compute the same number,
/// because it is stored on the target.
pub(crate) fn target_id(path: &Path) -> TargetId {
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let digest = Method::Md5.digest(path.as_os_str().as_bytes());
    let first = digest.as_bytes().first_chunk().copied().unwrap_or_default();
    TargetId(u64::from_le_bytes(first))
}

/// Identifies this run.
pub(crate) fn this_run() -> RunId {
    static RUN: OnceLock<RunId> = OnceLock::new();
    *RUN.get_or_init(|| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        (now.subsec_nanos(), std::process::id()).hash(&mut hasher);
        RunId::new(now.as_secs() as u32, hasher.finish() as u32)
    })
}
