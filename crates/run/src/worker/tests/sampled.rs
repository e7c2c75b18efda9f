//! Checks that sampled rounds behave like the others, and that the samples are right.

use std::cell::Cell;
use std::rc::Rc;

use fiord_plan::Rate;
use fiord_stat::shares::LoopStage;
use fiord_types::{Dir, Nanos, PerDir};

use super::hooks::HookInputs;
use super::loops::mode::{Managed, Synchronous};
use super::*;

/// Contents that take 500 ns for each write.
struct Slow(Hand);

impl Payload for Slow {
    fn writes(&self) -> bool {
        true
    }
    fn fill(&mut self, _buffer: &mut [u8], _io: &Io) -> bool {
        self.0.0.set(self.0.0.get() + 500);
        true
    }
    fn prepare(&mut self, _buffer: &mut [u8]) {}
}

/// The loop to run.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Loop {
    Direct,
    Queued,
    PacedDirect,
    PacedQueued,
}

use Loop::{Direct, PacedDirect, PacedQueued, Queued as Many};

/// Runs a list on an engine where an I/O takes 1 µs and its contents take 0.5 µs.
fn run_loop<F: FnMut(usize, &Op) -> Outcome>(
    which: Loop,
    job: &JobPlan,
    control: &JobControl,
    (at_once, list): (bool, Vec<Next>),
    answer: F,
) -> (WorkerResult, usize) {
    let depth = job.depth.depth;
    let mut engine = Scripted::new(at_once, depth, answer);
    let slots = engine.take_slots();
    let contents = Slow(engine.clock.clone());
    let live = Live::new();
    let mut files = NoFiles(1);
    let recorder = Recorder::new(axes::ASYNC, &[Dir::Write]);
    let now = engine.clock().now();
    let state = {
        let hooks = Hooks::of(job, HookInputs::default(), 1_000_000_000, now);
        JobState::new(job, &mut files, control, &live, recorder, hooks, now)
    };
    let mut worker = Worker::new((engine, slots), List(list, 0), contents, state);
    match which {
        Direct => worker.run_direct::<Dynamic>(),
        Many => worker.run_queued::<Dynamic>(),
        PacedDirect => worker.run_direct::<Managed>(),
        PacedQueued => worker.run_queued::<Managed>(),
    }
    worker.finish();
    let made = worker.engine.log.len();
    (*worker.result(), made)
}

fn writes(n: u64) -> Vec<Next> {
    (0..n).map(write_at).collect()
}

#[test]
fn flushes_between_writes_count_as_waiting() {
    let fsync = Next::Flush(Flush::Fsync, FileIndex(0), 0, 0, true);
    let list = || (0..20_000).flat_map(|n| [write_at(n), fsync]).collect();
    for which in [Direct, Many, PacedDirect, PacedQueued] {
        let control = JobControl::new();
        let (result, _) = run_loop(which, &plain(), &control, (true, list()), whole);
        assert_eq!((result.error, result.recorder.sync.n()), (None, 20_000));
        assert_eq!(result.recorder.sync.max(), 1000, "{which:?}");
        let shares = result.shares.expect("it ran for longer than a tick");
        // A write with its contents, then a flush; a burst may begin with either.
        assert!((shares.share(LoopStage::Waiting) - 0.8).abs() < 0.01, "{which:?}: {shares:?}");
        assert!((shares.share(LoopStage::Contents) - 0.2).abs() < 0.01, "{which:?}: {shares:?}");
        assert!(shares.ios > 100 && shares.rounds > 100, "{shares:?}");
    }
}

#[test]
fn latencies_exclude_the_time_for_contents() {
    for (which, at_once, depth) in [
        (Direct, true, 1),
        (Many, true, 1),
        (Many, true, 4),
        (Many, false, 1),
        (PacedQueued, true, 4),
    ] {
        let mut job = plain();
        job.depth.depth = depth;
        let (result, made) =
            run_loop(which, &job, &JobControl::new(), (at_once, writes(20_000)), whole);
        let write = &result.recorder.dirs[Dir::Write];
        let what = format!("{which:?}, {depth} deep, at once: {at_once}");
        assert_eq!((result.error, made, write.ios), (None, 20_000, 20_000), "{what}");
        assert_eq!((write.lat.min(), write.lat.max()), (1000, 1000), "{what}");
        assert_eq!((write.clat.min(), write.clat.max()), (1000, 1000), "{what}");
        assert_eq!(
            (write.issued, write.lat.n(), write.clat_hist.count()),
            (20_000, 20_000, 20_000)
        );
        let shares = result.shares.expect("it ran for longer than a tick");
        assert!((shares.share(LoopStage::Contents) - 1.0 / 3.0).abs() < 1e-9, "{what}: {shares:?}");
        assert!((shares.share(LoopStage::Waiting) - 2.0 / 3.0).abs() < 1e-9, "{what}: {shares:?}");
    }
}

/// The ramp ends within a sampled round, and the counts before that are cleared.
#[test]
fn measuring_begins_within_a_sampled_round() {
    for (which, depth) in [(PacedDirect, 1), (PacedQueued, 4)] {
        let mut job = plain();
        job.depth.depth = depth;
        job.load.mix = Mix::Write;
        job.pace.rate = PerDir::all(Some(Rate::Ios(100)));
        job.end.ramp_time = Nanos(1_000_000_000);
        job.end.time_based = true;
        job.end.runtime = Some(Nanos(1_000_000_000));
        let list = (which == PacedDirect, writes(1000));
        let (result, _) = run_loop(which, &job, &JobControl::new(), list, whole);
        assert_eq!(result.error, None);
        let ios = result.recorder.dirs[Dir::Write].ios;
        assert!((99..=101).contains(&ios), "{which:?}: {ios}");
        let shares = result.shares.expect("jobs with a rate are sampled as well");
        assert!(shares.share(LoopStage::Waiting) > 0.99, "{which:?}: {shares:?}");
    }
}

/// Stops the job at every position in a burst.
#[test]
fn nothing_is_issued_after_a_stop() {
    for (which, depth) in [(Direct, 1), (Many, 4), (PacedDirect, 1), (PacedQueued, 4)] {
        let mut job = plain();
        job.depth.depth = depth;
        let sync = matches!(which, Direct | PacedDirect);
        for last in (3_320..3_400).step_by(3) {
            let control = JobControl::new();
            let answer = |n: usize, op: &Op| {
                if n == last {
                    control.stop(crate::job::control::StopReason::Runtime);
                }
                whole(n, op)
            };
            let (result, made) = run_loop(which, &job, &control, (sync, writes(9_000)), answer);
            assert_eq!(result.error, None);
            // The I/Os in flight complete.
            assert_eq!(made, last + depth as usize, "{which:?}, {last}");
        }
    }
}

#[test]
fn the_run_time_may_end_at_any_position_in_a_burst() {
    for runtime in (7_400_000..7_700_000).step_by(10_700) {
        let mut job = plain();
        job.end.time_based = true;
        job.end.runtime = Some(Nanos(runtime));
        let list = (true, writes(9_000));
        let (_, made) = run_loop(Direct, &job, &JobControl::new(), list, whole);
        assert_eq!(made as u64, runtime.div_ceil(1500), "{runtime}");
    }
}

#[test]
fn a_status_report_has_everything_that_the_final_report_has() {
    let control = JobControl::new();
    let asked = Rc::new(Cell::new(0));
    let answer = |n: usize, op: &Op| {
        if n == 6_000 {
            control.request_snapshot();
            asked.set(n as u64);
        }
        whole(n, op)
    };
    let mut engine = Scripted::new(true, 1, answer);
    let slots = engine.take_slots();
    let contents = Slow(engine.clock.clone());
    let (live, job, mut files) = (Live::new(), plain(), NoFiles(1));
    let mut recorder = Recorder::new(axes::SYNC, &[Dir::Write]);
    recorder.lat_is_clat = true;
    let now = engine.clock().now();
    let state = { JobState::new(&job, &mut files, &control, &live, recorder, Hooks::none(), now) };
    let mut worker = Worker::new((engine, slots), List(writes(7_000), 0), contents, state);
    worker.run_direct::<Synchronous>();
    let snapshot = control.take_snapshot(std::time::Duration::ZERO).expect("it was asked for");
    let same = |recorder: &Recorder, n: u64| {
        let write = &recorder.dirs[Dir::Write];
        assert_eq!((write.issued, write.ios, write.clat.n(), write.lat.n()), (n, n, n, n));
        assert_eq!(write.clat_hist.count(), n);
        assert_eq!((recorder.depth.0[0], recorder.submit.0[1], recorder.complete.0[1]), (n, n, n));
    };
    same(&snapshot.recorder, 6_001);
    // A snapshot that is requested after the loop has ended.
    control.request_snapshot();
    same(&worker.result().recorder, 7_000);
    same(&control.take_snapshot(std::time::Duration::ZERO).unwrap().recorder, 7_000);
}

#[test]
fn a_submission_that_fails_in_a_sampled_round_is_reported() {
    let mut engine = Scripted { broken: true, ..Scripted::new(false, 4, whole) };
    let slots = engine.take_slots();
    let contents = Slow(engine.clock.clone());
    let (control, live, mut files) = (JobControl::new(), Live::new(), NoFiles(1));
    let mut job = plain();
    job.depth.depth = 4;
    let now = engine.clock().now();
    let state = JobState::new(
        &job,
        &mut files,
        &control,
        &live,
        Recorder::new(axes::ASYNC, &[Dir::Write]),
        Hooks::none(),
        now,
    );
    let mut worker = Worker::new((engine, slots), List(writes(20_000), 0), contents, state);
    worker.run_queued::<Asynchronous>();
    let error = worker.result().error.expect("the engine is broken");
    assert!(error.to_string().contains("submission"), "{error}");
}
