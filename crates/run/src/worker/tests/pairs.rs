//! `trimwrite`: each block that a job has trimmed is written, whatever ends the job.

use std::collections::HashSet;

use fiord_plan::FilePlan;

use super::hooks::HookInputs;
use super::loops::mode::Managed;
use super::*;
use crate::error::Stage;
use crate::job::control::StopReason;

/// A job that trims and writes the blocks of `files` files.
fn pairs(files: u32, depth: u32) -> JobPlan {
    let mut job = on_sim(&[("sim_latency", "constant:100us")]);
    job.load.mix = Mix::TrimWrite;
    job.depth.depth = depth;
    let file: FilePlan = job.target.files[0].clone();
    job.target.files = vec![file; files as usize];
    job
}

/// Trims and writes of a job.
fn counts(result: &WorkerResult) -> (u64, u64) {
    (result.recorder.dirs[Dir::Trim].ios, result.recorder.dirs[Dir::Write].ios)
}

#[test]
fn the_run_time_ends_after_the_write_of_the_last_trim() {
    for depth in [1, 2, 8] {
        for files in [1, 3] {
            for hundredths in 1..12 {
                let mut job = pairs(files, depth);
                job.end.time_based = true;
                job.end.runtime = Some(Nanos(hundredths * 130_000));
                let control = JobControl::new();
                control.go();
                let mut files = NoFiles(files);
                let clock = MachineClock::best();
                let result = run(&job, clock, &mut files, &control, &Live::new(), &nowhere());
                assert_eq!(result.error, None);
                let (trims, writes) = counts(&result);
                assert_eq!(trims, writes, "depth {depth}, run time {hundredths}");
                assert!(trims > 0);
            }
        }
    }
}

/// The last write does not wait for its turn: the job ends soon after its run time.
#[test]
fn a_rate_does_not_delay_the_last_write() {
    for depth in [1, 8] {
        let mut job = pairs(1, depth);
        job.pace.rate = PerDir::all(Some(fiord_plan::Rate::Ios(1)));
        job.end.time_based = true;
        job.end.runtime = Some(Nanos::from_secs(7));
        let result = run_plain(&job);
        assert_eq!(result.error, None);
        let (trims, writes) = counts(&result);
        assert_eq!(trims, writes);
        assert!(result.runtime < Nanos(7_010_000_000), "{:?}", result.runtime);
    }
}

/// Runs a job on a scripted engine that can stop it. Returns the result and the ops.
fn run_scripted(
    job: &JobPlan,
    files: u32,
    mut answer: impl FnMut(&JobControl, usize, &Op) -> Outcome,
) -> (WorkerResult, Vec<Op>) {
    let (control, live, mut files) = (JobControl::new(), Live::new(), NoFiles(files));
    let depth = job.depth.depth;
    let mut engine = Scripted::new(depth == 1, depth, |n, op: &Op| answer(&control, n, op));
    let slots = engine.take_slots();
    let recorder = Recorder::new(axes::ASYNC, &[Dir::Write, Dir::Trim]);
    let now = engine.clock().now();
    let hooks = Hooks::of(job, HookInputs::default(), 1_000_000_000, now);
    let state = JobState::new(job, &mut files, &control, &live, recorder, hooks, now);
    let source = fiord_load::any_source(job).unwrap();
    let mut worker = Worker::new((engine, slots), source, Nothing, state);
    match depth {
        1 => worker.run_direct::<Managed>(),
        _ => worker.run_queued::<Managed>(),
    }
    worker.finish();
    let log = std::mem::take(&mut worker.engine.log);
    (*worker.result(), log)
}

/// The blocks that were trimmed and not written.
fn left(ops: &[Op]) -> HashSet<(FileIndex, u64)> {
    let mut left = HashSet::new();
    for op in ops {
        match op.kind {
            OpKind::Trim => assert!(left.insert((op.file, op.offset))),
            OpKind::Write => assert!(left.remove(&(op.file, op.offset))),
            _ => {}
        }
    }
    left
}

#[test]
fn an_interrupt_ends_the_job_after_the_write_of_the_last_trim() {
    for depth in [1, 2, 5, 16] {
        for files in [1, 2, 3] {
            for at in 0..12 {
                let job = pairs(files, depth);
                let (result, ops) = run_scripted(&job, files, |control, n, op| {
                    if n == at {
                        control.stop(StopReason::Signal);
                    }
                    whole(n, op)
                });
                assert_eq!(result.error, None);
                assert!(ops.len() < 100, "the job ends: {}", ops.len());
                assert_eq!(left(&ops), HashSet::new(), "depth {depth}, {files} files, op {at}");
            }
        }
    }
}

#[test]
fn an_error_ends_the_job_after_the_writes_of_the_other_trims() {
    for depth in [1, 2, 5, 16] {
        for files in [1, 2, 3] {
            for at in 0..12 {
                let job = pairs(files, depth);
                let mut failed = None;
                let (result, ops) = run_scripted(&job, files, |_, n, op| {
                    if n == at {
                        failed = Some(*op);
                        return Outcome::err(Errno::EIO);
                    }
                    whole(n, op)
                });
                let failed = failed.unwrap();
                let stage = result.error.unwrap().stage;
                assert_eq!(stage, Stage::from(&failed));
                assert!(ops.len() < 100, "the job ends: {}", ops.len());
                // A block whose trim failed need not be written.
                let mut open = left(&ops);
                open.remove(&(failed.file, failed.offset));
                assert_eq!(open, HashSet::new(), "depth {depth}, {files} files, op {at}");
                if depth == 1 && files == 1 && failed.kind == OpKind::Trim {
                    assert_eq!(ops.last(), Some(&failed));
                }
            }
        }
    }
}
