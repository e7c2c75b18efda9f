//! Reads a few blocks of the data that jobs read, to check for zeros: after the run, or before it for files
//! that the run removes.
//!
//! This never happens during a run. If the job read through the page cache, the blocks come from
//! there. Pages that were not cached before are dropped again: otherwise the files of the next run
//! would be partly cached, and unwritten data would look written.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::io::{Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fiord_plan::{FileKind, FilePlan, JobPlan, Plan};
use fiord_sys::file::{self, Open, PageCacheAdvice};
use fiord_types::{Bytes, Dir, JobIndex};
use foldhash::fast::FixedState;

use super::{Evidence, Unavailable};

/// Maximum number of blocks per file.
const BLOCKS: u64 = 16;
/// Size of a block, in bytes.
const BLOCK: usize = 4096;
/// Time for the samples of all files, of which each file gets an equal share. Slow devices have [`PATIENCE`] times as long for
/// [`MIN_BLOCKS`] of each file; no read starts after that.
const TIME: Duration = Duration::from_millis(50);

/// Returns the bytes of a file that a job reads; `None` if it reads nothing of it.
pub type ReadRange<'a> = &'a dyn Fn(&JobPlan, &FilePlan) -> Option<Range<Bytes>>;

/// Minimum number of blocks that say something about a file. The samples of a file are unavailable if there was no time for
/// them.
const MIN_BLOCKS: u64 = 4;
/// Multiple of the time for samples after which no read starts.
const PATIENCE: u32 = 3;

/// The sampled blocks of one file or device.
#[derive(Debug, Clone)]
pub struct SampledBlocks {
    /// The path of the file or device.
    pub path: PathBuf,
    /// The kind of file according to the plan.
    pub kind: FileKind,
    /// The job that reads it.
    pub job: JobIndex,
    /// The bytes that this job reads, of which some blocks were sampled.
    pub range: Range<Bytes>,
    /// The number of blocks that were read, and how many of them hold only zeros.
    pub zeros: Evidence<(u64, u64)>,
}

/// When samples are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum When {
    /// Before the run, of the files that it removes.
    Before,
    /// After the run, of the other files.
    After,
}

/// Samples every file that jobs only read. If there are very many files, only some of them.
pub(super) fn take(plan: &Plan, when: When, reads: ReadRange<'_>) -> Vec<SampledBlocks> {
    take_for(plan, when, reads, TIME)
}

fn take_for(plan: &Plan, when: When, reads: ReadRange<'_>, time: Duration) -> Vec<SampledBlocks> {
    let began = Instant::now();
    let last = began + time * PATIENCE;
    let removed: HashSet<&Path> = removed(plan).collect();
    let (chosen, _) = super::files::chosen(plan);
    let chosen: HashSet<&OsStr, FixedState> = chosen.into_iter().map(Path::as_os_str).collect();
    let written: HashSet<_> =
        files(plan, &chosen, |job| !reads_only(job)).map(|(_, file)| file.path.as_path()).collect();
    let mut seen = HashSet::new();
    let read = files(plan, &chosen, reads_only);
    let read = read.filter(|(_, file)| !written.contains(file.path.as_path()));
    let read =
        read.filter(|(_, file)| removed.contains(file.path.as_path()) == (when == When::Before));
    // A job that removes its file may also be the one that creates it.
    let read = read.filter(|(_, file)| when == When::After || file.path.exists());
    let read = read.filter_map(|(job, file)| Some((job, file, reads(job, file)?)));
    let read: Vec<_> = read.filter(|(_, file, _)| seen.insert(&file.path)).collect();
    let mut samples = Vec::new();
    for (n, (job, file, range)) in read.iter().enumerate() {
        let share = time.saturating_sub(began.elapsed())
            / u32::try_from(read.len() - n).unwrap_or(u32::MAX);
        let len = range.end.saturating_sub(range.start);
        let until = Instant::now() + share;
        let zeros = match Instant::now() < last {
            true => zeros(&file.path, range.start, len, (until, last)).transpose(),
            false => None,
        };
        let most = (time * PATIENCE).as_millis();
        let late = || Unavailable(format!("samples of files are read for {most} ms"));
        let zeros = zeros.unwrap_or_else(|| Err(late()));
        let job = job.identity.index;
        let (path, range) = (file.path.clone(), range.clone());
        samples.push(SampledBlocks { path, kind: file.kind, job, range, zeros });
    }
    samples
}

fn reads_only(job: &JobPlan) -> bool {
    job.load.mix.has(Dir::Read) && !job.load.mix.has(Dir::Write)
}

fn files<'p>(
    plan: &'p Plan,
    chosen: &HashSet<&OsStr, FixedState>,
    wanted: impl Fn(&JobPlan) -> bool,
) -> impl Iterator<Item = (&'p JobPlan, &'p FilePlan)> {
    let jobs = plan.jobs.iter().filter(move |job| wanted(job));
    let real = |file: &FilePlan| matches!(file.kind, FileKind::Regular | FileKind::Block);
    let files = jobs.flat_map(|job| job.target.files.iter().map(move |file| (job, file)));
    files.filter(move |(_, file)| real(file) && chosen.contains(file.path.as_os_str()))
}

/// The files that jobs remove at their end or after each loop.
fn removed(plan: &Plan) -> impl Iterator<Item = &Path> {
    let jobs = plan.jobs.iter().filter(|job| job.target.unlink || job.target.unlink_each_loop);
    let files = jobs.flat_map(|job| &job.target.files);
    files.filter(|file| file.kind == FileKind::Regular).map(|file| file.path.as_path())
}

/// Returns how many blocks were read, and how many of them hold only zeros; `None` if the time was too short.
/// After `until`, no more than the minimum is read; after `last`, nothing.
fn zeros(
    path: &Path,
    from: Bytes,
    len: Bytes,
    (until, last): (Instant, Instant),
) -> Evidence<Option<(u64, u64)>> {
    let fd = Open::read_only().open(path).map_err(|e| Unavailable::of(&e))?;
    // Without read-ahead, a block costs one read of the device.
    let _ = file::advise(&fd, from, len, PageCacheAdvice::Random);
    let mut file = std::fs::File::from(fd);
    let block_bytes = Bytes(BLOCK as u64);
    let blocks = (len / block_bytes).max(1);
    let (mut looked, mut zero) = (0, 0);
    let wanted = BLOCKS.min(blocks);
    for i in 0..wanted {
        // Spread over the range. The odd step avoids the boundaries that data is often aligned to.
        let at = from + block_bytes * (blocks * (2 * i + 1) / (2 * wanted));
        let mut block = [0u8; BLOCK];
        let cached = file::cached_pages(&file, at, block_bytes).is_ok_and(|pages| pages.cached > 0);
        let read = file.seek(SeekFrom::Start(at.0)).and_then(|_| file.read(&mut block));
        let n = read.map_err(|e| Unavailable(e.to_string()))?;
        if !cached {
            let _ = file::advise(&file, at, block_bytes, PageCacheAdvice::DontNeed);
        }
        looked += u64::from(n > 0);
        zero += u64::from(n > 0 && block[..n].iter().all(|byte| *byte == 0));
        let enough = i + 1 >= MIN_BLOCKS.min(wanted);
        if Instant::now() >= if enough { until } else { last } {
            return Ok(enough.then_some((looked, zero)));
        }
    }
    Ok(Some((looked, zero)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{plan, scratch};

    #[test]
    fn no_read_starts_after_the_time_limit() {
        let paths = [scratch(), scratch(), scratch()];
        paths.iter().for_each(|path| std::fs::write(path, vec![7u8; 1 << 20]).unwrap());
        let job = |path: &PathBuf| format!("--name=a --rw=read --filename={}", path.display());
        let (plan, _) = plan(&paths.each_ref().map(job).join(" "));
        let all_of = |_: &JobPlan, file: &FilePlan| Some(file.offset..file.end());
        let samples = take_for(&plan, When::After, &all_of, Duration::ZERO);
        let all = take_for(&plan, When::After, &all_of, Duration::from_secs(60));
        paths.iter().for_each(|path| std::fs::remove_file(path).unwrap());
        let unavailable = Err(Unavailable("samples of files are read for 0 ms".into()));
        assert!(samples.iter().all(|sample| sample.zeros == unavailable), "{samples:?}");
        assert!(all.iter().all(|sample| sample.zeros == Ok((BLOCKS, 0))), "{all:?}");
    }
}
