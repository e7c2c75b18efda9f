//! The worker's side of its logs: single I/Os go into the ring at once, windows are cut from the recorder's sums when
//! they end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use fiord_engine::Op;
use fiord_plan::JobPlan;
use fiord_stat::recorder::{Recorder, Times};
use fiord_sys::clock;
use fiord_types::{Dir, Nanos};

use super::LoggedIo;
use super::channel::LogChannel;
use super::ring::{self, LogRing, RingEntry};
use super::windows::WindowTracks;
use crate::error::JobError;

/// Marks a time that does not come, ns.
const NEVER: u64 = u64::MAX;
/// How long a worker sleeps while it waits for the writer.
const NAP: Duration = Duration::from_micros(50);

/// The logs of a job, as its worker sees them. Without logs it does nothing.
#[derive(Debug)]
pub(crate) struct JobLog {
    /// From this time on, a window must be cut before an I/O is recorded, ns of the engine's clock.
    due: u64,
    /// Single I/Os matter: they have rows, or windows have maxima.
    follows: bool,
    /// The worker has waited for the writer since [`JobLog::take_waited`] was called.
    waited: bool,
    /// The begin of the log, ns of the engine's clock.
    begin: u64,
    /// The ring of single I/Os.
    ring: Option<RingWriter>,
    rest: Option<Box<LogParts>>,
}

/// The parts of [`JobLog`] that are needed rarely.
#[derive(Debug)]
struct LogParts {
    channel: Arc<LogChannel>,
    windows: WindowTracks,
    clock: Option<i32>,
    begun: bool,
    /// Time in which the worker waited for the writer.
    wait: Nanos,
}

#[derive(Debug)]
struct RingWriter {
    ring: Arc<LogRing>,
    channel: Arc<LogChannel>,
    /// Entries that were ever written.
    head: u64,
    /// At this entry the worker must look how full the ring is.
    limit: u64,
}

impl JobLog {
    /// A job without logs.
    pub(crate) fn none() -> Self {
        JobLog { due: NEVER, follows: false, waited: false, begin: 0, ring: None, rest: None }
    }

    /// The logs of a job. `submission`: it measures submission latencies. They begin with [`JobLog::restart`].
    pub(crate) fn of(job: &JobPlan, channel: Option<&Arc<LogChannel>>, submission: bool) -> Self {
        let (Some(plan), Some(channel)) = (&job.log, channel) else { return JobLog::none() };
        let ring = channel.ring.as_ref().map(|ring| RingWriter {
            ring: Arc::clone(ring),
            channel: Arc::clone(channel),
            head: 0,
            limit: 0,
        });
        channel.submission.store(submission, Ordering::Relaxed);
        let parts = LogParts {
            channel: Arc::clone(channel),
            windows: WindowTracks::of(plan, plan.has_maxima()),
            clock: plan.clock,
            begun: false,
            wait: Nanos::ZERO,
        };
        JobLog { ring, rest: Some(Box::new(parts)), ..JobLog::none() }
    }

    /// Whether windows have ended before `now`. [`JobLog::cut`] must then be called before an I/O that completed at `now`
    /// is recorded.
    #[inline(always)]
    pub(crate) fn is_due(&self, now: u64) -> bool {
        now >= self.due
    }

    /// Ends the windows that ended before `now`.
    #[cold]
    #[inline(never)]
    pub(crate) fn cut(&mut self, now: u64, recorder: &Recorder) {
        let Some(parts) = &mut self.rest else { return };
        let (channel, wait) = (&parts.channel, &mut parts.wait);
        let mut waited = false;
        let since = now.saturating_sub(self.begin);
        parts.windows.cut(since, recorder, &mut |record| {
            waited |= wait_for(channel, wait, || channel.try_add(record));
        });
        self.waited |= waited;
        self.due = parts.windows.due().saturating_add(self.begin).saturating_add(1);
    }

    /// From when on a window must be cut before an I/O is recorded, ns of the engine's clock.
    pub(crate) fn due(&self) -> u64 {
        self.due
    }

    /// Whether [`JobLog::io`] has something to do.
    #[inline(always)]
    pub(crate) fn follows(&self) -> bool {
        self.follows
    }

    /// Logs an I/O that was done completely. `op`: the last part of it. `end`: when it completed.
    #[inline(always)]
    pub(crate) fn io(&mut self, op: &Op, dir: Dir, times: &Times, end: u64) {
        if self.follows {
            // Numbers: an op whose address escapes would be spilled to memory in each loop.
            let form = ring::form(op.len + op.at, dir, op.attributes.priority);
            self.follow(end, form, times.clat.0, times.slat.0, op.offset - u64::from(op.at));
        }
    }

    #[inline(never)]
    fn follow(&mut self, end: u64, form: u64, clat: u64, slat: u64, offset: u64) {
        let end = end.wrapping_sub(self.begin);
        let Some(ring) = &mut self.ring else {
            return self.follow_maxima([end, form, clat, slat, offset]);
        };
        if ring.head == ring.limit {
            let Some(parts) = &mut self.rest else { return };
            self.waited |= ring.make_room(&mut parts.wait);
        }
        ring.ring.write(ring.head, [end, form, clat, slat, offset]);
        ring.head += 1;
    }

    /// Notes the latencies of an I/O for the maxima of windows.
    fn follow_maxima(&mut self, entry: RingEntry) {
        let io = LoggedIo::of_entry(entry);
        if let Some(parts) = &mut self.rest {
            let times = Times { slat: io.slat, clat: io.clat, lat: io.lat() };
            parts.windows.follow(io.dir, &times);
        }
    }

    /// Whether the worker has waited for the writer since [`JobLog::take_waited`] was called.
    #[inline(always)]
    pub(crate) fn has_waited(&self) -> bool {
        self.waited
    }

    /// Whether the worker has waited for the writer since the last call: then time has passed.
    #[inline(always)]
    pub(crate) fn take_waited(&mut self) -> bool {
        std::mem::take(&mut self.waited)
    }

    /// Measuring begins at `now`, for the first time or again. The recorder is about to forget its sums.
    pub(crate) fn restart(&mut self, now: u64, recorder: &Recorder) {
        let Some(parts) = &mut self.rest else { return };
        if std::mem::replace(&mut parts.begun, true) {
            parts.windows.carry_over(recorder);
            return;
        }
        self.begin = now;
        parts.windows.begin();
        if let Some(id) = parts.clock {
            let epoch = clock::read_id(id).unwrap_or_default() / 1_000_000;
            parts.channel.epoch_ms.store(epoch, Ordering::Relaxed);
        }
        self.follows = self.ring.is_some() || parts.windows.has_maxima();
        self.due = parts.windows.due().saturating_add(now).saturating_add(1);
    }

    /// Ends the logs at `now`, and waits until all rows are written.
    pub(crate) fn finish(&mut self, now: u64, recorder: &Recorder) {
        if self.is_due(now) {
            self.cut(now, recorder);
        }
        let since = now.saturating_sub(self.begin);
        let Some(parts) = &mut self.rest else { return };
        let (channel, wait) = (&parts.channel, &mut parts.wait);
        if parts.begun {
            parts.windows.finish(since, recorder, &mut |record| {
                wait_for(channel, wait, || channel.try_add(record));
            });
        }
        self.follows = false;
        self.due = NEVER;
        channel.end();
        channel.wait_until_written();
    }

    /// Why a log could not be written, if so.
    pub(crate) fn failure(&self) -> Option<JobError> {
        self.rest.as_ref()?.channel.failure()
    }

    /// How long the worker has waited for the writer.
    pub(crate) fn wait(&self) -> Nanos {
        self.rest.as_ref().map_or(Nanos::ZERO, |parts| parts.wait)
    }
}

impl RingWriter {
    /// Makes sure that the ring has room. Wakes the writer if it is half full. Returns whether the worker has waited.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self, wait: &mut Nanos) -> bool {
        let ring = &self.ring;
        let (head, room) = (self.head, ring.room());
        // A writer that has given up takes nothing.
        let free = || room.saturating_sub(head - ring.taken());
        if free() <= room / 2 {
            self.channel.wake();
        }
        let waited = wait_for(&self.channel, wait, || free() > 0);
        let free = free();
        // Look again when the ring may be half full, then often.
        let ahead = if free > room / 2 { free - room / 2 } else { free.min(room / 8).max(1) };
        self.limit = head + ahead;
        waited
    }
}

/// Waits until the writer has made room. Returns whether it was necessary to wait.
fn wait_for(channel: &LogChannel, wait: &mut Nanos, has_room: impl Fn() -> bool) -> bool {
    if has_room() {
        return false;
    }
    let began = Instant::now();
    loop {
        channel.wake();
        std::thread::sleep(NAP);
        if has_room() || channel.is_given_up() {
            break;
        }
    }
    *wait = wait.saturating_add(Nanos(began.elapsed().as_nanos() as u64));
    true
}

#[cfg(test)]
mod tests {
    use fiord_engine::{IoAttributes, OpKind};
    use fiord_formats::log::LogKind;
    use fiord_plan::{EnginePlan, LogFilePlan, LogForm, LogPlan, LogWindowValue};
    use fiord_types::{Bytes, FileIndex};

    use super::*;
    use crate::logs::channel::WindowBudget;
    use crate::logs::ring::ENTRY_BYTES;

    fn job() -> JobPlan {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
        job.log = Some(LogPlan {
            files: vec![LogFilePlan {
                kind: LogKind::CompletionLatency,
                name: "x".into(),
                path: "x".into(),
            }],
            append: false,
            form: LogForm::Text,
            columns: Default::default(),
            window: None,
            bandwidth_window: Nanos::ZERO,
            iops_window: Nanos::ZERO,
            value: LogWindowValue::Avg,
            histogram_window: None,
            coarseness: Default::default(),
            empty_windows: false,
            clock: None,
            cpus: None,
        });
        job
    }

    fn log_one(log: &mut JobLog, number: u64) {
        let op = Op {
            kind: OpKind::Read,
            file: FileIndex(0),
            offset: number * 4096 + 512,
            len: 3584,
            at: 512,
            attributes: IoAttributes::PLAIN,
        };
        let times = Times { clat: Nanos(number), ..Times::default() };
        log.io(&op, Dir::Read, &times, 1000 + number);
    }

    #[test]
    fn a_worker_waits_for_a_slow_writer_and_loses_nothing() {
        const COUNT: u64 = 500;
        let channel = Arc::new(LogChannel::new(4 * ENTRY_BYTES, &Arc::new(WindowBudget::new(1))));
        let mut log = JobLog::of(&job(), Some(&channel), true);
        log_one(&mut log, 99);
        log.restart(1000, &Recorder::default());
        let waited = std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                (0..COUNT).for_each(|number| log_one(&mut log, number));
                log.finish(2000, &Recorder::default());
                (log.take_waited(), log.wait())
            });
            let mut block = Vec::new();
            while (block.len() as u64) < COUNT {
                channel.ring.as_ref().unwrap().take(3, &mut block);
                std::thread::sleep(Duration::from_micros(20));
            }
            channel.set_done();
            for (number, io) in (0..).zip(&block) {
                // The whole I/O, after a short transfer. The I/O before the begin is not in the log.
                assert_eq!((io.end, io.clat), (Nanos(number), Nanos(number)));
                assert_eq!((io.offset, io.len), (Bytes(number * 4096), 4096));
            }
            worker.join().unwrap()
        });
        assert!(waited.0 && waited.1 > Nanos::ZERO, "{waited:?}");
    }

    #[test]
    fn a_worker_does_not_wait_for_a_writer_that_has_ended() {
        let channel = Arc::new(LogChannel::new(2 * ENTRY_BYTES, &Arc::new(WindowBudget::new(1))));
        let mut log = JobLog::of(&job(), Some(&channel), true);
        log.restart(0, &Recorder::default());
        channel.set_done();
        (0..9).for_each(|number| log_one(&mut log, number));
        log.finish(2000, &Recorder::default());
    }

    #[test]
    fn a_job_without_logs_has_nothing_to_do() {
        let mut log = JobLog::of(&JobPlan::plain(EnginePlan::Null, 1), None, true);
        log.restart(0, &Recorder::default());
        assert!(!log.is_due(u64::MAX - 1));
        log_one(&mut log, 1);
        log.finish(5, &Recorder::default());
        assert_eq!((log.failure(), log.wait()), (None, Nanos::ZERO));
    }
}
