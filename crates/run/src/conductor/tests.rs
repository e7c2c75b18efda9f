use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use fiord_plan::{EnginePlan, ExitWhat};
use fiord_stat::progress::Progress;
use fiord_types::{Bytes, Dir, JobIndex, Nanos};

use super::*;
use crate::events::queue::MAX_REPORTS;
use crate::events::{Event, channel};

fn name(event: &Event) -> String {
    match &event.kind {
        EventKind::JobStarted { index, .. } => format!("start {index}"),
        EventKind::JobEnded { index, failure, .. } => format!("end {index} {}", failure.is_some()),
        EventKind::Status(report) => format!("status {}", report.jobs.len()),
        EventKind::Terminating { signal } => format!("signal {signal}"),
        EventKind::BadBlock { job, what } => format!("bad block of {job}: {what}"),
        other => format!("{other:?}"),
    }
}

/// Interrupts at given times after the start, ms.
struct At(VecDeque<(u64, Interrupt)>, u64);

impl Interrupts for At {
    fn next(&mut self) -> Option<Interrupt> {
        let elapsed = clock::monotonic() - self.1;
        let due = self.0.front().is_some_and(|(at, _)| elapsed >= at * MS);
        if due { self.0.pop_front().map(|(_, interrupt)| interrupt) } else { None }
    }
}

fn jobs(n: usize) -> Vec<JobPlan> {
    let mut jobs = vec![JobPlan::plain(EnginePlan::Null, 1 << 20); n];
    for (index, job) in jobs.iter_mut().enumerate() {
        job.identity.index = JobIndex(index);
        job.identity.name = format!("job{index}");
        job.reporting.stats = true;
        job.target.layout.serialize = true;
    }
    jobs
}

fn options() -> RunOptions {
    RunOptions::new("fio-3.42 (test)")
}

/// Interrupts that come one after the other as soon as a progress event has shown I/Os of the first job.
struct OnceIosAreSeen(VecDeque<Interrupt>, Arc<AtomicBool>);

impl Interrupts for OnceIosAreSeen {
    fn next(&mut self) -> Option<Interrupt> {
        if self.1.load(Ordering::Relaxed) { self.0.pop_front() } else { None }
    }
}

/// Runs jobs, and sends `interrupts` when the first job has done I/Os. Returns the names of all events except progress.
fn run_all(jobs: Vec<JobPlan>, interrupts: Vec<Interrupt>) -> (RunResult, Vec<String>) {
    let plan = Arc::new(Plan { jobs, global_options: Vec::new() });
    let (sender, events) = channel();
    let seen = Arc::new(AtomicBool::new(false));
    let options = RunOptions { progress: (!interrupts.is_empty()).then_some(10 * MS), ..options() };
    let mut interrupts = OnceIosAreSeen(interrupts.into(), seen.clone());
    let observer = std::thread::spawn(move || {
        let mut names = Vec::new();
        for event in events {
            match &event.kind {
                EventKind::Progress(progress) => {
                    let ios = progress.jobs[0].totals.ios[Dir::Read];
                    seen.fetch_or(ios > 0, Ordering::Relaxed);
                }
                _ => names.push(name(&event)),
            }
        }
        names
    });
    let result = run(plan, &options, &sender, &mut interrupts, &mut || {});
    drop(sender);
    (result, observer.join().expect("the observer ends"))
}

fn forever(job: &mut JobPlan) {
    job.end.time_based = true;
    job.end.runtime = Some(Nanos(30 * SECOND));
}

#[test]
fn jobs_run_and_are_reported() {
    let mut jobs = jobs(3);
    jobs[2].start.stonewall = true;
    let (result, log) = run_all(jobs, Vec::new());
    assert_eq!(result.report.jobs.len(), 3);
    assert!(result.report.jobs.iter().all(|job| job.dirs[0].io_bytes.0 == 1 << 20));
    assert!(result.errors.is_empty() && result.signal.is_none() && result.stuck.is_empty());
    let third = log.iter().position(|line| line == "start 2").unwrap();
    assert!(log.iter().position(|line| line == "end 0 false").unwrap() < third, "{log:?}");
}

#[test]
fn a_signal_ends_running_and_waiting_jobs() {
    let mut jobs = jobs(2);
    forever(&mut jobs[0]);
    jobs[1].start.stonewall = true;
    let (result, log) = run_all(jobs, vec![Interrupt::End(2)]);
    assert_eq!(result.signal, Some(2));
    assert!(log.contains(&"signal 2".to_owned()));
    assert_eq!(result.report.jobs.len(), 2);
    assert!(result.report.jobs[0].dirs[0].io_bytes.0 > 0);
    assert!(result.report.jobs[0].runtime > Nanos(0));
    assert_eq!(result.report.jobs[1].runtime.as_millis(), 0);
}

#[test]
fn the_user_can_end_a_run_early_with_a_normal_report() {
    let mut jobs = jobs(2);
    forever(&mut jobs[0]);
    jobs[1].start.stonewall = true;
    let (result, log) = run_all(jobs, vec![Interrupt::Finish, Interrupt::Finish]);
    assert_eq!(result.signal, None);
    assert!(result.errors.is_empty() && result.stuck.is_empty());
    assert!(result.report.jobs[0].dirs[0].io_bytes.0 > 0);
    assert_eq!(result.report.jobs[1].runtime.as_millis(), 0);
    let [warning] = &result.report.extras.warnings[..] else { panic!("{log:?}") };
    assert!(warning.what.starts_with("the user ended the run early, after "), "{warning:?}");
}

#[test]
fn a_status_report_does_not_disturb_the_jobs() {
    let mut jobs = jobs(2);
    forever(&mut jobs[0]);
    forever(&mut jobs[1]);
    let (result, log) =
        run_all(jobs, vec![Interrupt::Status, Interrupt::Status, Interrupt::End(15)]);
    assert_eq!(log.iter().filter(|line| *line == "status 2").count(), 2);
    assert_eq!(result.signal, Some(15));
}

#[test]
fn exitall_ends_the_others() {
    let mut jobs = jobs(3);
    forever(&mut jobs[1]);
    jobs[0].end.exitall = true;
    jobs[0].end.exit_what = ExitWhat::All;
    jobs[2].start.stonewall = true;
    let (result, _) = run_all(jobs, Vec::new());
    assert!(result.report.jobs[1].runtime.as_millis() < 10_000);
    assert_eq!(result.report.jobs[2].runtime.as_millis(), 0);
}

#[test]
fn a_failed_job_does_not_stop_the_others() {
    let mut jobs = jobs(2);
    jobs[0].start.prerun = Some("exit 3".into());
    let dir = crate::scratch::Scratch::new();
    let plan = Arc::new(Plan { jobs, global_options: Vec::new() });
    let options = RunOptions { aux_path: dir.path().to_path_buf(), ..options() };
    let result = run(plan, &options, &EventSender::ignored(), &mut NoInterrupts, &mut || {});
    assert_eq!(result.errors.len(), 1);
    assert_eq!(result.errors[0].0, 0);
    assert!(result.report.jobs[0].error.is_some());
    assert_eq!(result.report.jobs[1].error, None);
    assert_eq!(result.report.jobs[1].dirs[0].io_bytes.0, 1 << 20);
}

#[test]
fn a_thousand_jobs_start_and_end_quickly() {
    let jobs = jobs(1000);
    let before = clock::monotonic();
    let (result, _) = run_all(jobs, Vec::new());
    assert_eq!(result.report.jobs.len(), 1000);
    // A release build takes less than two seconds; the limit leaves room for a debug build on a busy machine.
    assert!(clock::monotonic() - before < 20 * SECOND);
}

/// Counts the polls for interrupts: one for each step of the conductor.
struct Counted(At, u64);

impl Interrupts for Counted {
    fn next(&mut self) -> Option<Interrupt> {
        self.1 += 1;
        self.0.next()
    }
}

/// The conductor sleeps while jobs run: on a single CPU it would take time from their I/O.
#[test]
fn the_conductor_sleeps_while_jobs_run() {
    type Change = fn(&mut JobPlan);
    let cases: [Change; 2] = [|_| {}, |job| job.end.ramp_size = Bytes::MAX];
    for change in cases {
        let mut jobs = jobs(1);
        forever(&mut jobs[0]);
        change(&mut jobs[0]);
        let at = At([(400, Interrupt::End(2))].into(), clock::monotonic());
        let mut counted = Counted(at, 0);
        let plan = Arc::new(Plan { jobs, global_options: Vec::new() });
        run(plan, &options(), &EventSender::ignored(), &mut counted, &mut || {});
        // Eight sleeps of 50 ms, the start, the end.
        assert!(counted.1 < 40, "{} turns in 400 ms", counted.1);
    }
}

/// The observer sleeps for longer than the run takes. The run ends in time, and no event is lost but progress that
/// newer progress replaced.
#[test]
fn a_slow_observer_does_not_delay_the_run() {
    let mut jobs = jobs(3);
    for job in &mut jobs {
        job.end.time_based = true;
        job.end.runtime = Some(Nanos(150 * MS));
    }
    let plan = Arc::new(Plan { jobs, global_options: Vec::new() });
    let options = RunOptions { progress: Some(2 * MS), status: Some(2 * MS), ..options() };
    let (sender, events) = channel();
    let observer = std::thread::spawn(move || {
        let slow = events.inspect(|_| std::thread::sleep(Duration::from_millis(60)));
        slow.map(|event| event.kind).collect::<Vec<EventKind>>()
    });
    let before = clock::monotonic();
    run(plan, &options, &sender, &mut NoInterrupts, &mut || {});
    drop(sender);
    let spent = clock::monotonic() - before;
    let kinds = observer.join().unwrap();
    let watched = clock::monotonic() - before;
    assert!(spent + SECOND / 10 < watched, "the run took {spent} ns, its observer {watched} ns");
    let count = |wanted: fn(&EventKind) -> bool| kinds.iter().filter(|kind| wanted(kind)).count();
    assert_eq!(count(|kind| matches!(kind, EventKind::LaidOut)), 1);
    assert_eq!(count(|kind| matches!(kind, EventKind::JobStarted { .. })), 3);
    assert_eq!(count(|kind| matches!(kind, EventKind::JobEnded { failure: None, .. })), 3);
    let reports = count(|kind| matches!(kind, EventKind::Status(_)));
    let progress = count(|kind| matches!(kind, EventKind::Progress(_)));
    assert!((1..=MAX_REPORTS + 8).contains(&reports), "{reports}");
    assert!((1..10).contains(&progress), "{progress}");
}

/// Ends the run when a flag is set.
#[derive(Debug)]
struct EndWhen(Arc<AtomicBool>);

impl Interrupts for EndWhen {
    fn next(&mut self) -> Option<Interrupt> {
        self.0.swap(false, Ordering::Relaxed).then_some(Interrupt::Finish)
    }
}

#[test]
fn progress_contains_the_rates_and_latencies_of_each_job() {
    let mut jobs = jobs(2);
    for job in &mut jobs {
        job.end.time_based = true;
        job.end.runtime = Some(Nanos(60 * SECOND));
    }
    jobs[1].start.delay = (Nanos(90 * SECOND), Nanos(90 * SECOND));
    let plan = Arc::new(Plan { jobs, global_options: Vec::new() });
    let options = RunOptions { progress: Some(100 * MS), latencies: true, ..options() };
    let (sender, events) = channel();
    let enough = Arc::new(AtomicBool::new(false));
    let mut interrupts = EndWhen(enough.clone());
    let observer = std::thread::spawn(move || {
        let mut all: Vec<Progress> = Vec::new();
        for event in events {
            let EventKind::Progress(progress) = event.kind else { continue };
            // On a busy machine the job may not publish its latencies in each interval.
            let counted = |progress: &Progress| {
                progress.jobs[0].latency.as_ref().is_some_and(|latency| latency[Dir::Read].n > 0)
            };
            all.push(*progress);
            if all.len() >= 2 && all.iter().any(counted) {
                enough.store(true, Ordering::Relaxed);
            }
        }
        all
    });
    let result = run(plan, &options, &sender, &mut interrupts, &mut || {});
    drop(sender);
    let all = observer.join().unwrap();
    assert_eq!(all[0].jobs[1].done, Some(0.0));
    let (mut counted, mut last) = (0, 0);
    for progress in &all {
        let [job, waiting] = &progress.jobs[..] else { panic!("{progress:?}") };
        assert!(job.totals.ios[Dir::Read] >= last && progress.iops == job.iops, "{progress:?}");
        assert!(job.done.is_some_and(|done| done > 0.0) && job.eta.is_some());
        assert_eq!(waiting.totals.ios, [0; 3]);
        last = job.totals.ios[Dir::Read];
        let Some(latency) = &job.latency else { continue };
        let p: Vec<u64> = latency[Dir::Read].percentiles.iter().map(|(_, ns)| ns.0).collect();
        assert!(
            p.len() == 5 && p.is_sorted() && latency[Dir::Write].percentiles.is_empty(),
            "{latency:?}"
        );
        counted += latency[Dir::Read].n;
    }
    // Intervals do not overlap. The latencies of the last one may be newer than its number of I/Os.
    let made = result.report.jobs[0].dirs[0].total_ios;
    assert!(counted > 0 && counted <= made && last <= made, "{counted} latencies of {made} I/Os");
}

/// Opens `after` so long after the jobs are set up, and then asks them to start `ahead` later.
#[derive(Debug)]
struct Late {
    after: u64,
    ahead: u64,
    ready: std::sync::Mutex<Option<u64>>,
}

impl StartGate for Late {
    fn ready(&self) {
        *self.ready.lock().unwrap() = Some(clock::monotonic());
    }
    fn start(&self) -> Option<Nanos> {
        let opens = (*self.ready.lock().unwrap())? + self.after;
        (clock::monotonic() >= opens).then(|| Nanos(opens + self.ahead))
    }
}

#[test]
fn jobs_wait_for_the_start_time_of_the_gate() {
    let gate =
        Arc::new(Late { after: 40 * MS, ahead: 30 * MS, ready: std::sync::Mutex::new(None) });
    let mut jobs = jobs(3);
    jobs[2].start.stonewall = true;
    let plan = Arc::new(Plan { jobs, global_options: Vec::new() });
    let shut = RunOptions { gate: Some(gate.clone()), keep_data: true, ..options() };
    let result = run(plan, &shut, &EventSender::ignored(), &mut NoInterrupts, &mut || {});
    let start = gate.ready.lock().unwrap().unwrap() + 70 * MS;
    let started: Vec<u64> = result.started.iter().flatten().map(|at| at.0).collect();
    assert!(started.len() == 2 && started.iter().all(|at| *at >= start), "{started:?} {start}");
    // The third job does not wait at the gate, which opened long ago.
    assert_eq!(result.started[2], None);
    assert!(result.errors.is_empty());
    assert_eq!(result.data.len(), 3);
    assert_eq!(result.report.jobs[2].dirs[0].io_bytes, Bytes(1 << 20));
}

#[test]
fn a_signal_ends_jobs_that_wait_at_the_gate() {
    let never = Late { after: 3600 * SECOND, ahead: 0, ready: std::sync::Mutex::new(None) };
    let plan = Arc::new(Plan { jobs: jobs(2), global_options: Vec::new() });
    let shut = RunOptions { gate: Some(Arc::new(never)), ..options() };
    let mut interrupts = At(vec![(60, Interrupt::End(2))].into(), clock::monotonic());
    let result = run(plan, &shut, &EventSender::ignored(), &mut interrupts, &mut || {});
    assert_eq!(result.signal, Some(2));
    assert!(result.started.iter().all(Option::is_none));
}
