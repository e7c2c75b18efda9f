//! The state of a job instance that does not depend on its engine, source or payload, so that
//! everything that happens rarely is compiled once.
//!
//! | question | module |
//! |---|---|
//! | what happens now and then: counters, snapshots, ramp, run time, steady state | `housekeeping.rs` |
//! | which I/O counts in which window of time | `cuts.rs` |
//! | what the thread's time goes to | `stages.rs` |
//! | what happens when an I/O fails | `failure.rs` |
//! | how hooks learn that an I/O ended | `following.rs` |
//! | how a loop waits until an I/O is due | `waiting.rs` |
//! | what a job completes before it ends (`trimwrite`) | `closing.rs` |

mod closing;
mod cuts;
mod failure;
mod following;
mod housekeeping;
pub(super) mod stages;
mod waiting;

use fiord_engine::Time;
use fiord_load::{Io, Next};
use fiord_plan::{JobPlan, LogPlan};
use fiord_stat::live::Live;
use fiord_stat::recorder::{Recorder, axes};
use fiord_stat::samples::{SampleRecorder, WindowLimit};
use fiord_stat::windows::WindowRecorder;
use fiord_sys::bus::BusWatch;
use fiord_sys::usage::{self, ResourceUsage};
use fiord_types::{Bytes, FileIndex, Nanos, PerDir};

use self::stages::StageTimes;
use self::waiting::Waiting;
use super::ErrorDump;
use super::hooks::Hooks;
use crate::error::JobError;
use crate::files::Files;
use crate::job::control::{JobControl, Phase};
use crate::job::steady::Sampler;
use crate::logs::JobLog;

/// A job instance while it runs, without its engine, source and payload.
pub(super) struct JobState<'a> {
    pub job: &'a JobPlan,
    pub files: &'a mut dyn Files,
    pub control: &'a JobControl,
    pub recorder: Recorder,
    pub error: Option<JobError>,
    /// The first error of the measured part that the job survived.
    pub survived: Option<JobError>,
    /// Receives a line for each error that the job survives (`error_dump`), and the number of these errors.
    pub error_dump: Option<(ErrorDump, u64)>,
    /// Buffers in a file (`mem=mmapshared:FILE`), which may become shorter.
    pub buffers: Vec<BusWatch>,
    /// Features that follow individual I/Os. Used only by loops with hooks.
    pub hooks: Hooks,
    /// The job's logs. Loops that decide at run time what to record add each I/O, all others only end windows.
    pub log: JobLog,
    /// What is recorded of an I/O that completes at once. Loops that record only the default measurements ignore it.
    pub at_once: AtOnce,
    /// What the next I/O waits for. Used only by loops with hooks.
    pub waiting: Waiting,
    /// An operation of the source that waits, in a loop with hooks that issues one I/O at a time.
    pub held: Option<Next>,
    /// The file that a hook has opened to read it.
    pub visited: Option<FileIndex>,
    /// Samples of what the thread's time goes to.
    pub stages: StageTimes,
    /// The loop issues one I/O at a time. [`JobState::add_derived_counts`] then adds the counters that
    /// follow from that.
    pub one_by_one: bool,
    /// I/Os drawn from the source since its last restart.
    pub drawn: u64,
    /// I/Os that failed in the measured part, by direction.
    pub failed: PerDir<u64>,
    /// I/Os and flushes of the measured part that a server did not answer.
    unanswered: u64,
    live: &'a Live,
    /// When measuring began.
    begin: u64,
    /// When the run time is over; `u64::MAX`: never.
    deadline: u64,
    ramp: Option<Ramp>,
    /// `steadystate`, once the measured part has begun.
    steady: Option<Sampler<'a>>,
    /// What the job does in windows of time; `None` if it does no I/O.
    samples: Option<SampleRecorder>,
    /// Rates of the job in windows of time; `None`: they are not measured.
    rates: Option<WindowRecorder>,
    /// Windows of logs, samples or rates must be ended before an I/O that completes at this time or later is recorded; ns of
    /// the engine's clock.
    cut_due: u64,
    loops_left: u64,
    /// The run time is over, and the job only reads back what it has written.
    pub reading_back: bool,
    /// The job begins nothing new: its source only completes what it has begun ([`Source::owed`]).
    ///
    /// [`Source::owed`]: fiord_load::Source::owed
    pub closing: bool,
    /// The loop has ended, and continues only to complete what the source has begun.
    pub winding_down: bool,
    /// A trim that was drawn and is not issued any more.
    dropped_trim: Option<Io>,
    /// The error that ended the job while it completes what its source has begun.
    ended_by: Option<JobError>,
    /// The thread's resource usage when measuring began.
    usage: ResourceUsage,
    /// Time that the thread had waited for a CPU when measuring began, ns.
    ready: Option<Nanos>,
    /// I/Os between two clock reads, when no latency is measured.
    stride: u32,
    until_read: u32,
}

/// What is recorded of an I/O that completes at once. In the first two cases, which are common, the loop knows all
/// measurements from this value and does not test each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AtOnce {
    /// The default measurements.
    Default,
    /// The total latency, without a histogram.
    Total,
    /// What the recorder's axes say, and the logs of I/Os.
    Other,
}

impl AtOnce {
    fn of(recorder: &Recorder, job: &JobPlan) -> Self {
        match recorder.axes {
            _ if job.log.as_ref().is_some_and(LogPlan::follows_ios) => AtOnce::Other,
            _ if recorder.lat_is_clat => AtOnce::Default,
            axes::LAT => AtOnce::Total,
            _ => AtOnce::Other,
        }
    }
}

/// The part of a run that is not measured.
struct Ramp {
    until: u64,
    bytes: u64,
}

impl<'a> JobState<'a> {
    /// The state of a job whose set-up is complete. Its time starts now.
    pub(super) fn new(
        job: &'a JobPlan,
        files: &'a mut dyn Files,
        control: &'a JobControl,
        live: &'a Live,
        mut recorder: Recorder,
        hooks: Hooks,
        now: u64,
    ) -> Box<Self> {
        let (end, def) = (&job.end, job.engine.def());
        let ramp = (end.ramp_time > Nanos::ZERO || end.ramp_size > Bytes::ZERO)
            .then(|| Ramp { until: now.saturating_add(end.ramp_time.0), bytes: end.ramp_size.0 });
        match ramp {
            Some(_) => control.set_phase(Phase::Ramp),
            None => control.begin_measuring(),
        }
        let deadline = match (end.runtime, &ramp) {
            (Some(runtime), None) => now.saturating_add(runtime.0),
            _ => u64::MAX,
        };
        recorder.begin_slices(Nanos(now));
        // In its own memory: it is large, and would be copied on the stack of each thread on its way to the loop.
        let mut state = Box::new(JobState {
            hooks,
            log: JobLog::none(),
            at_once: AtOnce::of(&recorder, job),
            waiting: Waiting::new(),
            held: None,
            visited: None,
            stages: StageTimes::new(job.record.shares && def.does_io && !def.virtual_time),
            job,
            files,
            control,
            recorder,
            error: None,
            survived: None,
            error_dump: None,
            buffers: Vec::new(),
            one_by_one: false,
            live,
            begin: now,
            deadline,
            steady: match ramp {
                None => control.steady().map(|steady| Sampler::begin(steady, now)),
                Some(_) => None,
            },
            ramp,
            samples: None,
            rates: None,
            cut_due: u64::MAX,
            loops_left: end.loops.max(1),
            reading_back: false,
            closing: false,
            winding_down: false,
            dropped_trim: None,
            ended_by: None,
            drawn: 0,
            failed: PerDir::all(0),
            unanswered: 0,
            usage: housekeeping::thread_usage(),
            ready: usage::ready_time(),
            stride: 1,
            until_read: 1,
        });
        state.rates = state.fresh_rates(now);
        state.schedule_cut();
        state.schedule_housekeeping(now);
        state
    }

    /// This state of a job with these logs. They begin with the measured part of the job.
    pub(super) fn with_log(mut self: Box<Self>, log: JobLog) -> Box<Self> {
        self.log = log;
        if self.ramp.is_none() {
            self.log.restart(self.begin, &self.recorder);
            self.schedule_cut();
            self.schedule_housekeeping(self.begin);
        }
        self
    }

    /// This state of a job that takes samples. `origin`: when the run began, by the clock of the
    /// job.
    pub(super) fn with_samples(mut self: Box<Self>, origin: u64, most: WindowLimit) -> Box<Self> {
        let begin = || SampleRecorder::begin(Nanos(self.begin), Nanos(origin), most);
        self.samples = self.job.engine.def().does_io.then(begin);
        self.schedule_cut();
        self.schedule_housekeeping(self.begin);
        self
    }

    /// I/Os that have completed.
    pub(super) fn completed(&self) -> u64 {
        self.recorder.totals().values().map(|t| t.1).sum()
    }

    /// The time, for loops that measure no latency: the clock is read only as often as keeps it within
    /// about a millisecond of the truth on a fast device. On a slow one the monitor's stop comes first.
    #[inline]
    pub(super) fn rough_time(&mut self, clock: &impl Time, last: u64) -> u64 {
        self.until_read -= 1;
        if self.until_read > 0 {
            return last;
        }
        let now = clock.now();
        let passed = now - last;
        self.stride = if passed < 500_000 { (self.stride * 2).min(4096) } else { 1 };
        self.until_read = self.stride;
        now
    }

    /// Whether another loop follows when the source has no more work. The caller creates the files again if
    /// necessary.
    pub(super) fn begin_next_loop(&mut self) -> bool {
        self.loops_left = self.loops_left.saturating_sub(1);
        // One pass verifies what all loops of an earlier run have written.
        let loops = self.loops_left > 0 && !self.job.only_verifies();
        let again = (self.job.end.time_based || loops) && !self.closing;
        // A job without a single I/O in a loop would repeat it forever.
        if !again || self.drawn == 0 {
            return false;
        }
        self.drawn = 0;
        true
    }

    /// Whether all files are open at once; if not, the source says when to open which.
    pub(super) fn opens_all(&self) -> bool {
        opens_all(self.job)
    }

    /// Keeps the first error of the job. True when there is none.
    pub(super) fn keep_error(&mut self, result: Result<(), JobError>) -> bool {
        match result {
            Ok(()) => true,
            Err(error) => {
                self.error.get_or_insert(error);
                false
            }
        }
    }
}

/// Whether all files of a job are open at once.
pub(super) fn opens_all(job: &JobPlan) -> bool {
    job.target.opens_all()
}
