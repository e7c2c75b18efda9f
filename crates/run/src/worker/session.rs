//! What both loops share: the clock, the things that are looked at now and then, the end of loops.

use std::path::Path;

use fiord_engine::{Engine, Time};
use fiord_load::{Io, Source};
use fiord_plan::{EnginePlan, JobPlan};
use fiord_stat::delays::ThreadDelays;
use fiord_stat::live::Live;
use fiord_stat::recorder::{self, Recorder};
use fiord_stat::shares::Part;
use fiord_sys::bus::Watch;
use fiord_sys::usage::{self, Usage};

use super::pacing::{Judged, Pacing};
use super::shares::{SAMPLED, Shares};
use super::{Files, WorkerResult};
use crate::control::{JobControl, Phase, Snapshot, StopReason};
use crate::error::JobError;
use crate::steady::Sampler;
use crate::zones::{Counts, Placer};

/// How often a worker publishes its counters and looks around, ns. Between two looks it costs one
/// comparison an I/O.
const TICK: u64 = 5_000_000;

/// The contents of writes, or none: a job that only reads or trims has no test for them.
pub trait Fill {
    /// Whether the job writes at all.
    const WRITES: bool;
    /// Fills the buffer of a write. False if there was nothing to do, so that no time has passed.
    fn fill(&mut self, buffer: &mut [u8], io: &Io) -> bool;
    /// Once a slot, before the first I/O.
    fn prepare(&mut self, buffer: &mut [u8]);
}

/// A job instance while it runs.
pub struct Session<'a, E: Engine, S, C> {
    pub engine: E,
    pub source: S,
    pub content: C,
    pub job: &'a JobPlan,
    pub files: &'a mut dyn Files,
    pub control: &'a JobControl,
    pub recorder: Recorder,
    pub clock: E::Clock,
    pub error: Option<JobError>,
    /// The first error of the measured part that the job survived.
    pub survived: Option<JobError>,
    /// When I/Os are made; looked at only by loops with `PACED` in their axes.
    pub pacing: Pacing,
    /// Where in a zone I/Os go; looked at only by loops with `ZONED` in their axes.
    pub placer: Option<Placer>,
    /// What is next waits for a zone.
    pub blocked: bool,
    /// Buffers in a file (`mem=mmapshared:FILE`), which may become shorter.
    buffers: Vec<Watch>,
    /// What the time goes to.
    pub shares: Shares,
    /// The loop makes one I/O at a time and leaves it to [`Session::complete_books`] to count what
    /// follows from that.
    pub one_by_one: bool,
    live: &'a Live,
    /// When [`Session::look`] is due.
    tick: u64,
    /// When measuring began.
    begin: u64,
    /// When the run time is over; `u64::MAX`: never.
    deadline: u64,
    ramp: Option<Ramp>,
    /// `steadystate`, once the measured part has begun.
    steady: Option<Sampler<'a>>,
    loops_left: u64,
    /// I/Os asked of the source since it was restarted.
    pub drawn: u64,
    /// I/Os that failed in the measured part, by direction.
    pub failed: [u64; 3],
    usage: Usage,
    /// Time that the thread had waited for a CPU when measuring began, ns.
    ready: Option<u64>,
    /// Clock reads are spread over this many I/Os when nothing is measured.
    stride: u32,
    until_read: u32,
}

/// The part of a run that is not measured.
struct Ramp {
    until: u64,
    bytes: u64,
}

impl<'a, E: Engine, S: Source, C: Fill> Session<'a, E, S, C> {
    /// Everything is set up; the time starts now.
    pub fn new(
        (mut engine, source, content): (E, S, C),
        (job, files): (&'a JobPlan, &'a mut dyn Files),
        (control, live): (&'a JobControl, &'a Live),
        (mut recorder, cycle_hertz): (Recorder, u64),
        placer: Option<Placer>,
    ) -> Self {
        let clock = engine.clock();
        let now = clock.now();
        let end = &job.end;
        let ramp = (end.ramp_time > 0 || end.ramp_size > 0)
            .then(|| Ramp { until: now.saturating_add(end.ramp_time), bytes: end.ramp_size });
        match ramp {
            Some(_) => control.set_phase(Phase::Ramp),
            None => control.begin_measuring(),
        }
        let deadline = match (end.runtime, &ramp) {
            (Some(runtime), None) => now.saturating_add(runtime),
            _ => u64::MAX,
        };
        recorder.begin_slices(now);
        let seat = control.take_seat();
        let buffers = watch_buffers(&mut engine, job);
        let mut session = Session {
            buffers,
            pacing: Pacing::new(job, seat, cycle_hertz, now),
            placer,
            blocked: false,
            shares: Shares::new(job.record.shares && !matches!(job.engine, EnginePlan::Sim(_))),
            engine,
            source,
            content,
            job,
            files,
            control,
            recorder,
            clock,
            error: None,
            survived: None,
            one_by_one: false,
            live,
            tick: 0,
            begin: now,
            deadline,
            steady: match ramp {
                None => control.steady().map(|steady| Sampler::begin(steady, now)),
                Some(_) => None,
            },
            ramp,
            loops_left: end.loops.max(1),
            drawn: 0,
            failed: [0; 3],
            usage: used(),
            ready: usage::ready_time(),
            stride: 1,
            until_read: 1,
        };
        session.set_tick(now);
        session
    }

    /// Whether [`Session::look`] has something to see.
    #[inline(always)]
    pub fn due(&self, now: u64) -> bool {
        now >= self.tick || self.control.attention()
    }

    /// Looks around: publishes the counters, ends the ramp, delivers a snapshot. False when the job
    /// is to issue no more.
    #[cold]
    pub fn look(&mut self, now: u64) -> bool {
        if self.control.attention() {
            if self.control.snapshot_wanted() {
                self.control.deliver_snapshot(Box::new(self.snapshot(now)));
            }
            if self.control.stopped() {
                return false;
            }
        }
        if let Some(ramp) = &self.ramp {
            let bytes: u64 = self.recorder.totals().iter().map(|t| t.0).sum();
            if now >= ramp.until && bytes >= ramp.bytes {
                self.begin_measuring(now);
            }
        }
        if !self.has_its_buffers() {
            return false;
        }
        let good = self.ramp.is_some() || self.judge(now);
        self.publish();
        if self.steady.as_mut().is_some_and(|steady| steady.look(now, &self.recorder)) {
            self.control.stop(StopReason::Steady);
            return false;
        }
        self.set_tick(now);
        good && now < self.deadline
    }

    /// Whether the buffers are whole. Keeps an error if they are not.
    pub fn has_its_buffers(&mut self) -> bool {
        let lost = self.buffers.iter().any(Watch::has_fault);
        if lost && self.error.is_none() {
            let error = JobError::new("use of the I/O buffers", EFAULT, BUFFERS_LOST);
            self.error = Some(error.at(self.job.process.memory.path().unwrap_or(Path::new("-"))));
        }
        !lost
    }

    /// Checks floors and goals. False when the job is to stop.
    fn judge(&mut self, now: u64) -> bool {
        match self.pacing.judge(now, self.recorder.totals()) {
            Judged::GoOn => true,
            Judged::Anew => {
                self.measure_anew(now);
                true
            }
            Judged::Found => false,
            Judged::Missed(error) => {
                self.error.get_or_insert(error);
                false
            }
        }
    }

    /// A part of a round has ended, where this round is sampled.
    #[inline(always)]
    pub fn lap<const A: u32>(&mut self, part: Part) {
        if A & SAMPLED != 0 {
            self.shares.lap(part, self.clock.now());
        }
    }

    /// A sampled round has ended; `before`: the I/Os that had completed when it began. False at the
    /// end of the burst.
    pub fn sampled(&mut self, before: u64) -> bool {
        // So that nothing but a read of the clock lies between the last part and the end.
        self.lap::<SAMPLED>(Part::Rest);
        // The round may have been the one in which measuring began anew.
        let ios = self.completed().saturating_sub(before);
        self.shares.end(ios, self.clock.now())
    }

    /// I/Os that have completed.
    pub fn completed(&self) -> u64 {
        self.recorder.totals().iter().map(|t| t.1).sum()
    }

    /// Whether a burst of samples is to end at once: the next round is not to be begun before it was
    /// looked around. The ticks that only publish counters can wait: a burst takes two rounds.
    pub fn hurried(&self, now: u64) -> bool {
        self.control.attention() || now >= self.until(now)
    }

    fn set_tick(&mut self, now: u64) {
        self.tick = self.until(now).min(now + TICK);
    }

    /// When something changes by itself.
    pub fn until(&self, now: u64) -> u64 {
        match &self.ramp {
            // A size has no time of its own: look after every I/O.
            Some(ramp) if now >= ramp.until => now,
            Some(ramp) => ramp.until,
            None => {
                let sample = self.steady.as_ref().map_or(u64::MAX, Sampler::due);
                self.deadline.min(self.pacing.next_check()).min(sample)
            }
        }
    }

    fn begin_measuring(&mut self, now: u64) {
        self.ramp = None;
        self.measure_anew(now);
        self.deadline = self.job.end.runtime.map_or(u64::MAX, |t| now.saturating_add(t));
        self.control.begin_measuring();
    }

    /// Forgets everything that was measured so far.
    pub fn measure_anew(&mut self, now: u64) {
        self.recorder.reset();
        self.recorder.begin_slices(now);
        self.shares.forget();
        self.failed = [0; 3];
        self.survived = None;
        self.begin = now;
        self.usage = used();
        self.ready = usage::ready_time();
        self.steady = self.control.steady().map(|steady| Sampler::begin(steady, now));
        self.pacing.restart(now);
        if let Some(placer) = &mut self.placer {
            placer.forget();
        }
    }

    /// Makes the counters visible to the monitor.
    fn publish(&self) {
        for dir in recorder::Dir::ALL {
            let (bytes, ios) = self.recorder.totals()[dir as usize];
            self.live.publish(dir, bytes, ios);
        }
    }

    fn snapshot(&self, now: u64) -> Snapshot {
        let usage = used().since(&self.usage);
        let mut recorder = self.recorder.clone();
        self.complete_books(&mut recorder);
        Snapshot {
            recorder,
            runtime_ns: now.saturating_sub(self.begin),
            user_ns: usage.user_ns,
            system_ns: usage.system_ns,
            ctx: usage.switches(),
            majf: usage.major_faults,
            minf: usage.minor_faults,
            zones: self.zone_counts(),
            survived: self.survived.clone(),
        }
    }

    /// Adds to what was recorded what follows from it and is not counted I/O by I/O.
    fn complete_books(&self, recorder: &mut Recorder) {
        if self.one_by_one {
            // What was issued is what completed or failed.
            for dir in recorder::Dir::ALL {
                let issued = recorder.totals()[dir as usize].1 + self.failed[dir as usize];
                recorder.issued_one_by_one(dir, issued);
            }
        }
        recorder.keep_asked();
        recorder.finish();
    }

    /// The time, where no latency is measured: read only as often as keeps it within about a
    /// millisecond of the truth on a fast device. On a slow one the monitor's stop comes first.
    #[inline]
    pub fn rough_time(&mut self, last: u64) -> u64 {
        self.until_read -= 1;
        if self.until_read > 0 {
            return last;
        }
        let now = self.clock.now();
        let passed = now - last;
        self.stride = if passed < 500_000 { (self.stride * 2).min(4096) } else { 1 };
        self.until_read = self.stride;
        now
    }

    /// The source has said that its work is done. True when there is another loop.
    pub fn another_loop(&mut self) -> bool {
        self.loops_left = self.loops_left.saturating_sub(1);
        let again = self.job.end.time_based || self.loops_left > 0;
        // A loop without a single I/O would spin for ever.
        if !again || self.drawn == 0 {
            return false;
        }
        self.drawn = 0;
        if self.job.target.unlink_each_loop
            && let Err(error) = self.remake_files()
        {
            self.error = Some(error);
            return false;
        }
        self.source.restart();
        true
    }

    fn remake_files(&mut self) -> Result<(), JobError> {
        for file in 0..self.files.count() {
            self.detach(file)?;
            self.files.close(file)?;
        }
        self.files.next_loop()?;
        if self.opens_all() { open_all(&mut self.engine, self.files) } else { Ok(()) }
    }

    /// Whether all files are open at once; if not, the source says when to open which.
    pub fn opens_all(&self) -> bool {
        opens_all(self.job)
    }

    /// Opens a file and makes it known to the engine.
    pub fn attach(&mut self, file: u32) -> Result<(), JobError> {
        attach(&mut self.engine, self.files, file)
    }

    /// Makes the engine forget a file.
    pub fn detach(&mut self, file: u32) -> Result<(), JobError> {
        self.engine
            .detach(file)
            .map_err(|e| JobError::new("close", e.errno, e.to_string()).at(self.files.path(file)))
    }

    /// A file was gone through and is begun anew: what the page cache holds of it goes. Nothing is in
    /// flight.
    pub fn begin_again(&mut self, file: u32) -> Result<(), JobError> {
        if self.job.target.unlink_each_loop {
            // It was made anew, and its pages went as it was opened.
            return Ok(());
        }
        // The kernel keeps pages that are mapped.
        let mapped = matches!(self.job.engine, EnginePlan::Mmap { .. });
        if mapped {
            self.detach(file)?;
        }
        self.files.forget_pages(file)?;
        if mapped { self.attach(file) } else { Ok(()) }
    }

    /// Keeps an error. True when there is none.
    pub fn note(&mut self, result: Result<(), JobError>) -> bool {
        match result {
            Ok(()) => true,
            Err(error) => {
                self.error.get_or_insert(error);
                false
            }
        }
    }

    /// What was done to zones, if the job changes any.
    fn zone_counts(&self) -> Option<Counts> {
        self.placer.as_ref().map(|placer| placer.counts())
    }

    /// What the thread lost to the machine in the measured time.
    fn delays(&self) -> ThreadDelays {
        let waited = usage::ready_time().zip(self.ready);
        let ready_ns = waited.map(|(now, then)| now.saturating_sub(then));
        ThreadDelays { ready_ns, ..self.pacing.delays }
    }

    /// The whole result. The last thing has just ended.
    pub fn result(mut self) -> WorkerResult {
        let now = self.clock.now();
        if self.ramp.is_some() {
            // Nothing of it was to be measured.
            self.begin_measuring(now);
        }
        if self.control.snapshot_wanted() {
            // It was asked for too late for the loop to see.
            self.control.deliver_snapshot(Box::new(self.snapshot(now)));
        }
        let mut recorder = std::mem::take(&mut self.recorder);
        self.complete_books(&mut recorder);
        self.recorder = recorder;
        self.publish();
        self.control.set_phase(Phase::Ended);
        WorkerResult {
            shares: self.shares.result(now.saturating_sub(self.begin)),
            depth_found: self.pacing.depth(),
            zones: self.zone_counts(),
            usage: used().since(&self.usage),
            delays: self.delays(),
            recorder: self.recorder,
            error: self.error,
            survived: self.survived,
            runtime_ns: now.saturating_sub(self.begin),
        }
    }
}

/// `EFAULT` of `errno-base.h`.
pub const EFAULT: i32 = 14;

/// What became of buffers in a file.
pub const BUFFERS_LOST: &str = "the file of `mem` became shorter, or its file system is full, and the \
                                buffers in it were lost. To fix: leave the file alone during the run";

/// Watches over the buffers of a job that has them in a file. Nothing is in flight yet, so that the
/// engine has all of them. Those of `io_submit_mode=offload` lie in a region for each slot.
fn watch_buffers(engine: &mut impl Engine, job: &JobPlan) -> Vec<Watch> {
    if job.process.memory.path().is_none() {
        return Vec::new();
    }
    let slots = if engine.completes_at_once() { 1 } else { job.depth.depth.max(1) };
    let mut watches: Vec<Watch> =
        (0..slots).filter_map(|slot| Watch::over(engine.buffer(slot).as_ptr())).collect();
    watches.dedup();
    watches
}

/// Whether all files of a job are open at once.
pub fn opens_all(job: &JobPlan) -> bool {
    job.target.open_files as usize >= job.target.files.len()
}

/// Opens every file and makes it known to the engine.
pub fn open_all(engine: &mut impl Engine, files: &mut dyn Files) -> Result<(), JobError> {
    for file in 0..files.count() {
        attach(engine, files, file)?;
    }
    files.ready()
}

fn attach(engine: &mut impl Engine, files: &mut dyn Files, file: u32) -> Result<(), JobError> {
    let target = files.open(file)?;
    engine
        .attach(file, &target)
        .map_err(|e| JobError::new("open", e.errno, e.to_string()).at(files.path(file)))
}

/// What this thread has used so far. The call has no reason to fail; if it did, the report says 0.
fn used() -> Usage {
    Usage::of_thread().unwrap_or_default()
}
