//! Logs of the I/Os of jobs (`write_iolog`). Jobs with the same path share a log, so that its lines have one time line.
//! A thread writes each log; a job waits for it only if the storage of the log is slower than the job for long.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use fiord_formats::trace::iolog::{IologColumns, IologWriter};
use fiord_formats::trace::{TraceIo, TraceTarget};
use fiord_plan::IologPlan;
use fiord_sys::file::{FileGuard, Open, RowFile};
use fiord_types::{Errno, Nanos};

use crate::error::{JobError, Stage};

/// Bytes of lines that are written together.
const CHUNK: usize = 128 << 10;
/// Maximum number of chunks that wait for the thread.
const MAX_CHUNKS: usize = 64;

/// The logs of a run, by path.
#[derive(Debug, Default)]
pub(crate) struct Iologs {
    open: Mutex<HashMap<PathBuf, Arc<Iolog>>>,
}

/// The log of one or several jobs.
#[derive(Debug)]
pub(crate) struct Iolog {
    path: PathBuf,
    lines: Mutex<Lines>,
    thread: Mutex<Option<JoinHandle<()>>>,
    failed: Arc<Failure>,
}

/// Why a log could not be written.
#[derive(Debug, Default)]
struct Failure {
    is_set: AtomicBool,
    errno: Mutex<Option<Errno>>,
}

/// The lines that are not written yet.
#[derive(Debug)]
struct Lines {
    writer: IologWriter,
    chunk: Vec<u8>,
    /// `None`: the log is closed.
    chunks: Option<SyncSender<Vec<u8>>>,
    /// The files of the log and how many jobs use them.
    files: HashMap<PathBuf, (TraceTarget, u32)>,
    /// When the log begins, ns of the clock of the jobs.
    start: Option<u64>,
    last: Nanos,
    /// Jobs that use the log.
    jobs: u32,
}

impl Iologs {
    /// Opens the log of a job whose first I/O is at `now` (ns), or returns the one that another job has opened.
    pub(crate) fn open(&self, plan: &IologPlan) -> Result<Arc<Iolog>, JobError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(log) = open.get(&plan.path)
            && log.join()
        {
            return Ok(Arc::clone(log));
        }
        let log = Arc::new(Iolog::create(plan)?);
        open.insert(plan.path.clone(), Arc::clone(&log));
        Ok(log)
    }
}

impl Iolog {
    fn create(plan: &IologPlan) -> Result<Self, JobError> {
        let path = plan.path.clone();
        // As in fio, a log is added to the file.
        let opened = FileGuard::typed()
            .open(Open::write_only().append(true).create(true).mode(0o666), &path);
        let file = opened.and_then(|opened| RowFile::new(File::from(opened.fd)));
        let mut file = file.map_err(|error| {
            let detail = format!("could not open the log of I/Os: {error}");
            JobError::new(Stage::WriteTrace, error.errno, detail).at(&path)
        })?;
        let columns = match plan.at_completion {
            true => IologColumns::Completion,
            false => IologColumns::Issue,
        };
        let writer = IologWriter::new(columns);
        let mut chunk = Vec::with_capacity(CHUNK);
        writer.header(&mut chunk);
        let (sender, receiver) = sync_channel(MAX_CHUNKS);
        let failed = Arc::new(Failure::default());
        let failure = Arc::clone(&failed);
        let thread = std::thread::Builder::new().name("fiord-iolog".into());
        let thread = thread.spawn(move || write_chunks(&receiver, &mut file, &failure));
        let thread = thread.map_err(|error| {
            let detail = "cannot create the thread that writes the log. To fix: raise the limit on threads (ulimit \
                          -u, pids.max)";
            JobError::new(Stage::WriteTrace, Errno::of(&error), detail).at(&path)
        })?;
        let lines = Lines {
            writer,
            chunk,
            chunks: Some(sender),
            files: HashMap::new(),
            start: None,
            last: Nanos::ZERO,
            jobs: 1,
        };
        let (lines, thread) = (Mutex::new(lines), Mutex::new(Some(thread)));
        Ok(Iolog { path, lines, thread, failed })
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Another job uses the log. False if the log is closed.
    fn join(&self) -> bool {
        let mut lines = self.lock();
        let open = lines.chunks.is_some();
        lines.jobs += u32::from(open);
        open
    }

    /// Adds and opens the files of a job, in their order. `now`: the time, ns of the job's clock.
    pub(crate) fn begin(&self, files: &[&Path], now: u64) -> Vec<TraceTarget> {
        let lines = &mut *self.lock();
        let time = lines.time(now);
        let mut targets = Vec::with_capacity(files.len());
        for file in files {
            if let Some((target, jobs)) = lines.files.get_mut(*file) {
                *jobs += 1;
                targets.push(*target);
                continue;
            }
            let name = file.as_os_str().as_encoded_bytes();
            let target = lines.writer.add(time, name, &mut lines.chunk);
            lines.files.insert(file.to_path_buf(), (target, 1));
            targets.push(target);
        }
        for (file, target) in files.iter().zip(&targets) {
            if lines.files.get(*file).is_some_and(|(_, jobs)| *jobs == 1) {
                lines.writer.open(time, *target, &mut lines.chunk);
            }
        }
        targets
    }

    /// Adds the line of an I/O that was issued at `time` (ns of the job's clock).
    #[inline]
    pub(crate) fn add(&self, time: u64, io: &TraceIo) {
        let lines = &mut *self.lock();
        let time = lines.time(time);
        lines.writer.io(&TraceIo { time, ..*io }, &mut lines.chunk);
        if lines.chunk.len() >= CHUNK - 1024 {
            lines.pass_on();
        }
    }

    /// Why the log could not be written, if it could not.
    #[inline]
    pub(crate) fn failure(&self) -> Option<JobError> {
        if !self.failed.is_set.load(Ordering::Relaxed) { None } else { Some(self.error()) }
    }

    #[cold]
    fn error(&self) -> JobError {
        let errno = *self.failed.errno.lock().unwrap_or_else(PoisonError::into_inner);
        let fix = match errno {
            Some(Errno::ENOSPC | Errno::EDQUOT) => "free space on its disk, or use a larger one",
            _ => "use another disk for write_iolog",
        };
        let detail =
            format!("could not write the log of I/Os; it is whole up to here. To fix: {fix}");
        JobError::new(Stage::WriteTrace, errno, detail).at(&self.path)
    }

    /// A job uses the log no more. Closes its files that no other job uses. After the last job, waits until the log is
    /// written.
    pub(crate) fn end(&self, files: &[&Path], now: u64) -> Result<(), JobError> {
        let is_last = {
            let lines = &mut *self.lock();
            let time = lines.time(now);
            for file in files {
                if let Some((target, jobs)) = lines.files.get_mut(*file) {
                    *jobs = jobs.saturating_sub(1);
                    if *jobs == 0 {
                        let target = *target;
                        lines.writer.close(time, target, &mut lines.chunk);
                    }
                }
            }
            lines.jobs = lines.jobs.saturating_sub(1);
            let is_last = lines.jobs == 0;
            if is_last {
                lines.pass_on();
                lines.chunks = None;
            }
            is_last
        };
        if is_last {
            let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(thread) = thread {
                let _ = thread.join();
            }
        }
        self.failure().map_or(Ok(()), Err)
    }
}

impl Lines {
    /// The time in the log. It does not decrease, except in logs of completions, which name the time of the issue.
    fn time(&mut self, now: u64) -> Nanos {
        let start = *self.start.get_or_insert(now);
        // Flushes at the end of a job come without a time.
        let time = if now == 0 { self.last } else { Nanos(now.saturating_sub(start)) };
        self.last = self.last.max(time);
        time
    }

    /// Hands the lines to the thread.
    fn pass_on(&mut self) {
        let chunk = std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK));
        if let Some(chunks) = &self.chunks {
            // The thread ends before the log only after an error, which it has reported.
            let _ = chunks.send(chunk);
        }
    }
}

/// The thread of a log.
fn write_chunks(chunks: &Receiver<Vec<u8>>, file: &mut RowFile, failure: &Failure) {
    for chunk in chunks {
        if let Err(error) = file.write_lines(&chunk) {
            let errno = Errno::of(&error).unwrap_or(Errno::EIO);
            *failure.errno.lock().unwrap_or_else(PoisonError::into_inner) = Some(errno);
            failure.is_set.store(true, Ordering::Relaxed);
            return;
        }
    }
}
