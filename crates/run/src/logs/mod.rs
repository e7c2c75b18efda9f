//! Logs of bandwidth, IOPS and latencies (`write_bw_log` and similar options), which one thread writes during the run.
//!
//! | question | module |
//! |---|---|
//! | which logs does a run have, who writes them | here |
//! | how does a worker record its I/Os and windows | `worker.rs` |
//! | how are sums of a recorder cut into windows | `windows.rs` |
//! | how do I/Os get to the writer, what if it is too slow | `ring.rs`, `channel.rs` |
//! | which rows do they become | `sink.rs` |
//! | how do rows become bytes | `form.rs` |
//! | when are rows written | `writer.rs` |
//! | how are the files opened, what if a disk is full | `files.rs` |
//! | bandwidth of all jobs together (`--bandwidth-log`) | `aggregate.rs` |
//!
//! No row is dropped: a worker waits if the writer is too slow, and the time is in the results.

mod aggregate;
mod channel;
mod files;
mod form;
mod ring;
mod sink;
mod windows;
mod worker;
mod writer;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use fiord_formats::log::histogram::BINS;
use fiord_plan::{JobPlan, LogPlan, Plan};
use fiord_sys::cpu::CpuSet;
use fiord_types::{Bytes, Dir, Errno, Nanos, PerDir};

use self::channel::WindowBudget;
use self::files::LogFiles;
use self::sink::JobSink;
use self::writer::LogWriter;
use crate::error::{JobError, Stage};

pub(crate) use aggregate::BandwidthLog;
pub(crate) use channel::LogChannel;
pub(crate) use worker::JobLog;

/// Total memory of the rings in bytes.
const RINGS: usize = 44 << 20;
/// Largest ring in bytes.
const RING: usize = 8 << 20;
/// Memory of all windows that wait for the writer, bytes.
const WINDOWS: usize = 12 << 20;

#[derive(Debug, Default)]
pub(crate) struct RunLogs {
    /// By job.
    channels: Vec<Option<Arc<LogChannel>>>,
    /// The bandwidth of all jobs together (`--bandwidth-log`).
    all: Option<Arc<LogChannel>>,
    /// Jobs whose logs cannot be created.
    errors: Vec<(usize, JobError)>,
    files: Arc<Mutex<LogFiles>>,
    /// Jobs whose logs are opened after their `exec_prerun`, and the numbers of these logs.
    late: Vec<(usize, Vec<usize>)>,
    over: Arc<AtomicBool>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl RunLogs {
    /// Creates the logs of a plan, and starts the thread that writes them. `bandwidth_log`: how the names of the logs
    /// of all jobs together begin. Logs of earlier runs are emptied, unless jobs append to them. If a log cannot be
    /// created, [`RunLogs::errors`] says why, and nothing is written. The logs of a job with `exec_prerun` are opened by
    /// [`RunLogs::open_late`], because the command may create or mount their directory.
    pub(crate) fn open(plan: &Plan, bandwidth_log: Option<&str>) -> Self {
        let mut logs = RunLogs::default();
        let jobs = plan.jobs.iter().filter_map(|job| Some((job, job.log.as_ref()?)));
        let (count, rings) = jobs.clone().fold((0, 0), |(count, rings), (_, log)| {
            (count + 1, rings + usize::from(log.has_single_ios()))
        });
        if count == 0 && bandwidth_log.is_none() {
            return logs;
        }
        let mut writer = LogWriter {
            sinks: Vec::new(),
            files: Arc::clone(&logs.files),
            cpus: cpus(jobs),
            over: Arc::clone(&logs.over),
        };
        let ring = (RINGS / rings.max(1)).min(RING);
        let windows = Arc::new(WindowBudget::new(WINDOWS));
        for (index, job) in plan.jobs.iter().enumerate() {
            let channel = job.log.as_ref().map(|log| {
                let ring = if log.has_single_ios() { ring } else { 0 };
                let channel = Arc::new(LogChannel::new(ring, &windows));
                let opened = open_files(&mut logs.files(), plan, job, log, &channel);
                match opened {
                    Ok(files) => {
                        if job.start.prerun.is_some() {
                            logs.late.push((index, files.clone()));
                        }
                        writer.sinks.push(JobSink::of(job, log, &files, Arc::clone(&channel)));
                    }
                    Err(error) => logs.errors.push((index, error)),
                }
                channel
            });
            logs.channels.push(channel);
        }
        if let Some(prefix) = bandwidth_log {
            let channel = Arc::new(LogChannel::new(0, &windows));
            let opened = open_aggregate(&mut logs.files(), plan, prefix);
            match opened {
                Ok(files) => writer.sinks.push(JobSink::of_all(files, Arc::clone(&channel))),
                Err(error) => logs.errors.push((0, error)),
            }
            logs.all = Some(channel);
        }
        form::share_memory(writer.sinks.iter_mut().flat_map(JobSink::forms));
        if logs.errors.is_empty()
            && let Err(error) = logs.start(writer)
        {
            logs.errors.push((0, error));
        }
        logs
    }

    fn start(&mut self, writer: LogWriter) -> Result<(), JobError> {
        let thread = std::thread::Builder::new().name("fiord-logs".into());
        let thread = thread.spawn(move || writer.run()).map_err(|error| {
            let detail = "cannot create the thread that writes logs. To fix: raise the limit on threads (ulimit -u, \
                          pids.max)";
            JobError::new(Stage::Log, Errno::of(&error), detail)
        })?;
        let channels = self.channels.iter().flatten().chain(&self.all);
        channels.for_each(|channel| channel.serve_by(thread.thread()));
        self.thread = Mutex::new(Some(thread));
        Ok(())
    }

    fn files(&self) -> MutexGuard<'_, LogFiles> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the logs of a job whose `exec_prerun` is over.
    pub(crate) fn open_late(&self, job: usize, plan: &Plan) -> Result<(), JobError> {
        let late = self.late.iter().filter(|(of, _)| *of == job).flat_map(|(_, files)| files);
        let mut files = self.files();
        late.into_iter().try_for_each(|number| files.open_late(*number, plan))
    }

    /// What a job shares with the writer; `None`: it has no logs.
    pub(crate) fn channel(&self, job: usize) -> Option<&Arc<LogChannel>> {
        self.channels.get(job)?.as_ref()
    }

    /// The bandwidth of all jobs together (`--bandwidth-log`).
    pub(crate) fn all(&self) -> Option<&Arc<LogChannel>> {
        self.all.as_ref()
    }

    /// Why logs cannot be created: jobs by index, and their errors.
    pub(crate) fn errors(&self) -> &[(usize, JobError)] {
        &self.errors
    }

    /// Writes the last rows, and ends the thread. With `hurry`, does not wait for it.
    pub(crate) fn end(&self, hurry: bool) {
        self.over.store(true, Ordering::Release);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            thread.thread().unpark();
            if !hurry {
                // A panic of the thread is a bug that its message reports.
                let _ = thread.join();
            }
        }
    }
}

/// An I/O that has completed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LoggedIo {
    /// When it completed, since the begin of the log.
    end: Nanos,
    /// Completion latency.
    clat: Nanos,
    /// Submission latency.
    slat: Nanos,
    /// First byte of the I/O in the file.
    offset: Bytes,
    /// Length of the I/O in bytes.
    len: u32,
    /// Direction of the I/O.
    dir: Dir,
    /// Priority of the I/O: 0 is the job's own, n is the n-th of `cmdprio`.
    priority: u8,
}

/// Which windows a record is about. Each has its own length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WindowKind {
    Latency,
    Bandwidth,
    Iops,
    Histogram,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct LatencySum {
    /// Number of I/Os.
    n: u64,
    /// Sum of their latencies.
    sum: Nanos,
    /// The largest. 0 if the log has no maxima.
    most: Nanos,
}

/// What completed in a window, in one direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct WindowSums {
    ios: u64,
    bytes: Bytes,
    slat: LatencySum,
    clat: LatencySum,
    lat: LatencySum,
}

/// A window that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
struct WindowRecord {
    kind: WindowKind,
    /// When it ended, since the begin of the log.
    end: Nanos,
    length: Nanos,
    /// Number of windows just before it in which nothing completed. All have the normal length.
    empty_before: u64,
    /// The normal length of a window.
    normal: Nanos,
    sums: PerDir<WindowSums>,
    /// Completion latencies by bin. Empty for other kinds than histograms.
    bins: PerDir<WindowBins>,
}

impl WindowRecord {
    /// Bytes of memory that it occupies.
    fn memory(&self) -> usize {
        let bins = self.bins.values().map(|bins| size_of_val(&bins.0[..])).sum::<usize>();
        size_of::<WindowRecord>() + bins
    }
}

/// The bins of a histogram that are not empty: their numbers and counts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct WindowBins(Box<[(u16, u64)]>);

impl WindowBins {
    /// The counts of a histogram. The last bin of a log has all longer latencies, too.
    fn of(counts: &[u64]) -> Self {
        let (counts, longer) = counts.split_at(counts.len().min(BINS));
        let bins = (0..).zip(counts).filter(|(_, count)| **count > 0);
        let mut bins: Vec<(u16, u64)> = bins.map(|(bin, count)| (bin, *count)).collect();
        let longer = longer.iter().fold(0, |sum: u64, count| sum.saturating_add(*count));
        match bins.last_mut() {
            Some((bin, count)) if usize::from(*bin) == BINS - 1 => {
                *count = count.saturating_add(longer);
            }
            _ if longer > 0 => bins.push((BINS as u16 - 1, longer)),
            _ => {}
        }
        WindowBins(bins.into_boxed_slice())
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The counts of all bins, up to the last that is not empty.
    fn expand(&self) -> Vec<u64> {
        let mut counts = vec![0; self.0.last().map_or(0, |(bin, _)| usize::from(*bin) + 1)];
        self.0.iter().for_each(|(bin, count)| counts[usize::from(*bin)] = *count);
        counts
    }
}

/// The CPUs of the thread that writes logs; `None`: all.
fn cpus<'a>(jobs: impl Iterator<Item = (&'a JobPlan, &'a LogPlan)>) -> Option<CpuSet> {
    let set: CpuSet =
        jobs.flat_map(|(_, log)| log.cpus.iter().flatten()).map(|cpu| *cpu as usize).collect();
    (!set.is_empty()).then_some(set)
}

/// Opens the logs of a job, or adds them if they are opened later. Returns their numbers.
fn open_files(
    files: &mut LogFiles,
    plan: &Plan,
    job: &JobPlan,
    log: &LogPlan,
    channel: &Arc<LogChannel>,
) -> Result<Vec<usize>, JobError> {
    let open = |file: &fiord_plan::LogFilePlan| {
        let number = match job.start.prerun {
            Some(_) => files.add(&file.path, log.append),
            None => files.open(&file.path, log.append, plan)?,
        };
        if let Some(file) = files.get(number) {
            file.users.push(Arc::clone(channel));
        }
        Ok(number)
    };
    log.files.iter().map(open).collect()
}

/// Opens the logs of `--bandwidth-log`.
fn open_aggregate(
    files: &mut LogFiles,
    plan: &Plan,
    prefix: &str,
) -> Result<PerDir<usize>, JobError> {
    let mut numbers = PerDir::all(0);
    for dir in Dir::ALL {
        let name = format!("{prefix}-{}_bw.log", dir.name());
        numbers[dir] = files.open(Path::new(&name), false, plan)?;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bin_of_a_log_has_all_longer_latencies() {
        let mut counts = vec![0; BINS + 100];
        (counts[5], counts[BINS - 1], counts[BINS], counts[BINS + 70]) = (1, 2, 3, 4);
        let bins = WindowBins::of(&counts).expand();
        assert_eq!((bins.len(), bins[5], bins[BINS - 1]), (BINS, 1, 9));
        counts[BINS - 1] = 0;
        assert_eq!(WindowBins::of(&counts).expand()[BINS - 1], 7);
        assert_eq!(WindowBins::of(&counts[..6]).expand(), [0, 0, 0, 0, 0, 1]);
    }
}
