//! Housekeeping of a worker: publishes its counters, delivers snapshots, ends the ramp, checks minimum rates and
//! steady state, and ends the job at the end of its run time.

use std::path::Path;

use fiord_stat::delays::ThreadDelays;
use fiord_stat::recorder::Recorder;
use fiord_stat::snapshot::JobCounts;
use fiord_sys::bus::BusWatch;
use fiord_sys::usage::{self, ResourceUsage};
use fiord_types::{Dir, Errno, Nanos, PerDir};

use super::JobState;
use crate::error::{JobError, Stage};
use crate::hook::Check;
use crate::job::control::StopReason;
use crate::job::steady::Sampler;
use crate::worker_result::{DeliveredCounts, WorkerResult};

/// How often a worker publishes its counters, ns. In between, housekeeping costs one comparison for
/// each round of the loop.
const INTERVAL: u64 = 5_000_000;

impl JobState<'_> {
    /// Whether [`JobState::keep_house`] has something to do.
    #[inline(always)]
    pub(crate) fn housekeeping_due(&self, now: u64) -> bool {
        self.control.housekeeping_due(now)
    }

    /// Publishes the counters, ends the ramp, delivers a snapshot. False when the job must issue no
    /// more I/Os.
    #[cold]
    pub(crate) fn keep_house(&mut self, now: u64) -> bool {
        if self.control.attention() {
            if self.control.snapshot_wanted() {
                self.control.deliver_snapshot(self.snapshot(now));
            }
            if self.control.counts_wanted() {
                self.control.deliver_counts(Box::new(self.counts()));
            }
            if self.control.stopped() && !self.winding_down {
                if !self.has_pairs() {
                    self.control.become_quiet();
                }
                return false;
            }
        }
        if self.winding_down {
            self.schedule_housekeeping(now);
            return true;
        }
        if self.control.end().is_done() {
            return false;
        }
        if let Some(ramp) = &self.ramp {
            let bytes: u64 = self.recorder.totals().values().map(|t| t.0.0).sum();
            if now >= ramp.until && bytes >= ramp.bytes {
                self.begin_measuring(now);
            }
        }
        if !self.check_buffers() {
            return false;
        }
        if let Some(error) = self.log.failure() {
            self.error.get_or_insert(error);
            return false;
        }
        let goes_on = self.ramp.is_some() || self.check_hooks(now);
        self.publish(&self.recorder);
        if self.steady.as_mut().is_some_and(|steady| steady.look(now, &self.recorder)) {
            self.control.stop(StopReason::Steady);
            return false;
        }
        self.cut_windows(now);
        self.schedule_housekeeping(now);
        goes_on && (now < self.deadline || self.begin_reading_back())
    }

    /// The run time is over. Whether the job reads back what it has written now.
    fn begin_reading_back(&mut self) -> bool {
        self.reading_back = self.job.reads_back_after_runtime();
        self.closing = self.reading_back;
        self.deadline = u64::MAX;
        self.reading_back
    }

    /// Whether the buffers are whole. Keeps an error if they are not.
    pub(crate) fn check_buffers(&mut self) -> bool {
        let lost = self.buffers.iter().any(BusWatch::has_fault);
        if lost && self.error.is_none() {
            let error = JobError::new(Stage::UseBuffers, Errno::EFAULT, BUFFERS_LOST);
            self.error = Some(error.at(self.job.process.memory.path().unwrap_or(Path::new("-"))));
        }
        !lost
    }

    /// Carries out the checks of the hooks, such as minimum rates. False when the job must stop.
    fn check_hooks(&mut self, now: u64) -> bool {
        let totals = self.recorder.totals().map(|(bytes, ios)| (bytes.0, ios));
        match self.hooks.check(now, totals) {
            Check::GoOn => true,
            Check::MeasureAgain => {
                self.restart_measuring(now);
                true
            }
            Check::End => false,
            Check::Fail(error) => {
                self.error.get_or_insert(*error);
                false
            }
        }
    }

    /// Whether housekeeping must run before the next round. The publishing of counters alone can wait
    /// for the end of a burst of samples, which takes only a few rounds.
    pub(crate) fn housekeeping_urgent(&self, now: u64) -> bool {
        self.control.attention() || self.ramps_by_size(now) || now >= self.next_event(now)
    }

    pub(super) fn schedule_housekeeping(&self, now: u64) {
        let next = if self.ramps_by_size(now) { now } else { self.next_event(now) };
        let due = next.min(now + INTERVAL).min(self.cut_due);
        self.control.schedule_housekeeping(due);
    }

    /// Whether the job is in a ramp that an I/O will end (`ramp_size`), so that housekeeping follows each I/O.
    fn ramps_by_size(&self, now: u64) -> bool {
        self.ramp.as_ref().is_some_and(|ramp| now >= ramp.until)
    }

    /// When the next thing happens that depends on the clock alone: the end of the ramp or of the run
    /// time, a check of rates, an interval of steady state. ns of the engine's clock.
    pub(crate) fn next_event(&self, now: u64) -> u64 {
        match &self.ramp {
            // An I/O ends it, not the clock: a wait for the clock to pass would never end on a virtual clock.
            Some(ramp) if now >= ramp.until => u64::MAX,
            Some(ramp) => ramp.until,
            None => {
                let sample = self.steady.as_ref().map_or(u64::MAX, Sampler::due);
                self.deadline.min(self.hooks.next_check()).min(sample)
            }
        }
    }

    fn begin_measuring(&mut self, now: u64) {
        self.ramp = None;
        self.restart_measuring(now);
        self.deadline = self.job.end.runtime.map_or(u64::MAX, |t| now.saturating_add(t.0));
        self.control.begin_measuring();
    }

    /// Forgets everything that was measured so far.
    fn restart_measuring(&mut self, now: u64) {
        self.log.restart(now, &self.recorder);
        if let Some(samples) = &mut self.samples {
            samples.sample(Nanos(now), &self.recorder);
            samples.restart(Nanos(now));
        }
        self.rates = self.fresh_rates(now);
        self.schedule_cut();
        self.recorder.reset();
        self.recorder.begin_slices(Nanos(now));
        self.stages.forget();
        self.failed = PerDir::all(0);
        self.unanswered = 0;
        self.survived = None;
        self.begin = now;
        self.usage = thread_usage();
        self.ready = usage::ready_time();
        self.steady = self.control.steady().map(|steady| Sampler::begin(steady, now));
        self.waiting.delays = ThreadDelays::default();
        self.hooks.restart(now);
    }

    /// Makes the counters of the recorder visible to the monitor.
    fn publish(&self, recorder: &Recorder) {
        for dir in Dir::ALL {
            let (bytes, ios) = recorder.totals()[dir];
            self.live.publish(dir, bytes, ios);
        }
        if let Some(behind) = self.hooks.behind() {
            self.live.publish_behind(behind);
        }
        if self.job.verify.is_some() {
            self.live.publish_read_back(self.hooks.read_back());
        }
    }

    /// The results so far.
    fn snapshot(&self, now: u64) -> Box<WorkerResult> {
        let mut recorder = Box::new(self.recorder.clone());
        self.add_derived_counts(&mut recorder);
        let mut result = self.result_with(recorder, now);
        result.survived.clone_from(&self.survived);
        result
    }

    /// The counts so far.
    fn counts(&self) -> DeliveredCounts {
        DeliveredCounts {
            at: Nanos(fiord_sys::clock::monotonic()),
            in_ramp: self.ramp.is_some(),
            totals: JobCounts::totals(&self.recorder),
            counts: JobCounts::of(&self.recorder),
        }
    }

    /// The results at `now`, without errors and shares.
    fn result_with(&self, recorder: Box<Recorder>, now: u64) -> Box<WorkerResult> {
        let mut hooks = self.hooks.results();
        let fatal = self.job.verify.as_ref().is_some_and(|verify| verify.fatal);
        if let Some(verify) = &mut hooks.report.verify
            && (self.error.is_some() || fatal && self.survived.is_some())
        {
            verify.coverage.job_failed();
        }
        Box::new(WorkerResult {
            recorder,
            runtime: Nanos(now.saturating_sub(self.begin)),
            usage: thread_usage().since(&self.usage),
            delays: self.delays(),
            error: hooks.failure.take(),
            hooks,
            samples: self.samples.as_ref().map(|s| s.samples().clone()).unwrap_or_default(),
            windows: self.rates.as_ref().map(|r| r.windows().clone()).unwrap_or_default(),
            ..WorkerResult::default()
        })
    }

    /// Adds the counters that derive from others, so that the loop need not update them for each I/O.
    fn add_derived_counts(&self, recorder: &mut Recorder) {
        if self.one_by_one {
            // An I/O that was issued has completed or failed.
            for dir in Dir::ALL {
                let issued = recorder.totals()[dir].1 + self.failed[dir];
                recorder.issued_one_by_one(dir, issued);
            }
        }
        recorder.keep_asked();
        recorder.finish();
    }

    /// Time that the thread lost to the machine in the measured part.
    fn delays(&self) -> ThreadDelays {
        let waited = usage::ready_time().zip(self.ready);
        let ready = waited.map(|(now, then)| now.saturating_sub(then));
        ThreadDelays { ready, log: self.log.wait(), ..self.waiting.delays }
    }

    /// The result of the job. Its last I/O or flush has just ended.
    pub(crate) fn result(&mut self, now: u64) -> Box<WorkerResult> {
        if self.ramp.is_some() {
            // The job ended within its ramp: nothing of it counts.
            self.begin_measuring(now);
        }
        self.finish_windows(now);
        if let Some(error) = self.log.failure() {
            self.error.get_or_insert(error);
        }
        if self.control.snapshot_wanted() {
            // The request came too late for the loop to see.
            self.control.deliver_snapshot(self.snapshot(now));
        }
        let mut recorder = Box::new(std::mem::take(&mut self.recorder));
        let counts = recorder.drops_histograms().then(|| Box::new(JobCounts::of(&recorder)));
        self.add_derived_counts(&mut recorder);
        self.publish(&recorder);
        self.control.end_snapshots();
        let mut result = self.result_with(recorder, now);
        result.counts = counts;
        result.shares = self.stages.result(now.saturating_sub(self.begin));
        result.error = self.error.take().or(result.error.take());
        result.survived = self.survived.take();
        result
    }
}

/// The error of a job whose buffers lie in a file that became shorter.
pub(super) const BUFFERS_LOST: &str = "the file of `mem` became shorter, or its file system is full, and the \
                                buffers in it were lost. To fix: leave the file alone during the run";

/// Resource usage of this thread so far. `getrusage(2)` has no reason to fail for the calling thread;
/// if it did, the report would show 0.
pub(super) fn thread_usage() -> ResourceUsage {
    ResourceUsage::of_thread().unwrap_or_default()
}
