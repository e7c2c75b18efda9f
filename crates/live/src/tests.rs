//! Screens of fixed models, as snapshots.

use fiord_run::events::{EventKind, JobFailure};
use fiord_stat::histogram::Histogram;
use fiord_stat::live::Totals;
use fiord_stat::progress::{IntervalLatency, JobPhase, JobProgress, Progress, RunKind};
use fiord_types::{Bytes, Errno, HostIndex, Nanos, PerDir};
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use crate::controls::LiveControls;
use crate::draw::draw;
use crate::keys::keys;
use crate::look::LiveLook;
use crate::model::{LiveDevice, LiveFinding, LiveModel, LiveSeverity};

const PLAIN: LiveLook = LiveLook { ascii: false, color: true };

/// The screen of a size after these keys.
fn screen(model: &LiveModel, look: LiveLook, typed: &[u8], size: (u16, u16)) -> String {
    screen_of(model, LiveControls::new(false), look, typed, size)
}

/// The screen of a size after these keys, from these choices on.
pub(crate) fn screen_of(
    model: &LiveModel,
    mut controls: LiveControls,
    look: LiveLook,
    typed: &[u8],
    (width, height): (u16, u16),
) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let mut show = |controls: &mut LiveControls| {
        terminal.draw(|frame| draw(model, controls, look, frame.buffer_mut())).unwrap();
        terminal.backend().to_string()
    };
    let mut shown = show(&mut controls);
    for key in keys(typed) {
        let _ = controls.press(key, model);
        shown = show(&mut controls);
    }
    shown.lines().map(|line| line.trim_matches('"').trim_end().to_owned() + "\n").collect()
}

/// A few I/Os around a latency, and a slow one.
fn latencies(us: u64, slow: bool) -> IntervalLatency {
    let mut histogram = Histogram::new();
    for (share, n) in [(60, 50), (100, 900), (200, 45), (900, 5)] {
        histogram.record_n(Nanos(us * share * 10), n);
    }
    if slow {
        histogram.record(Nanos::from_millis(30));
    }
    IntervalLatency::of(histogram)
}

fn job_progress(phase: JobPhase, second: u64, size: u64) -> JobProgress {
    let iops = 10_000 + 1000 * (second % 7) * size;
    let reads = PerDir::new(1, u64::from(phase == JobPhase::Running(RunKind::RandMixed)), 0);
    JobProgress {
        phase,
        totals: Totals {
            bytes: reads.map(|n| Bytes(n * second * iops * 4096)),
            ios: reads.map(|n| n * second * iops),
        },
        bw: reads.map(|n| Bytes(n * iops * 4096)),
        iops: reads.map(|n| n * iops),
        latency: Some(reads.map(|n| match n {
            0 => IntervalLatency::default(),
            _ => latencies(80 * size, second.is_multiple_of(5)),
        })),
        done: Some(second as f64 / 60.0),
        eta: Some(Nanos::from_secs(60 - second)),
        behind: None,
    }
}

fn progress(jobs: Vec<JobProgress>, second: u64) -> Progress {
    let sum = |of: fn(&JobProgress, usize) -> u64| {
        PerDir::new(0, 1, 2).map(|dir| jobs.iter().map(|job| of(job, dir)).sum::<u64>())
    };
    Progress {
        interval: Nanos::from_secs(1),
        open_files: 1,
        done: Some(second as f64 / 60.0),
        bw: sum(|job, dir| job.bw.as_array()[dir].0).map(Bytes),
        iops: sum(|job, dir| job.iops.as_array()[dir]),
        eta: Some(Nanos::from_secs(60 - second)),
        elapsed: Nanos::from_secs(second),
        jobs,
        ..Progress::default()
    }
}

const READ: JobPhase = JobPhase::Running(RunKind::RandRead);
const MIXED: JobPhase = JobPhase::Running(RunKind::RandMixed);

/// Two jobs on one device, 30 s after the start.
fn two_jobs() -> LiveModel {
    let about = "rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=io_uring, iodepth=32";
    let names = vec![("index".into(), about.into()), ("log\x1b[2J".into(), "rw=randrw".into())];
    let mut model = LiveModel::of_jobs("fiord-0.1.0".into(), names);
    for index in 0..2 {
        model.event(HostIndex(0), EventKind::JobStarted { index, pid: 1 });
    }
    for second in 1..=30 {
        let jobs = vec![job_progress(READ, second, 1), job_progress(MIXED, second, 4)];
        model.event(HostIndex(0), EventKind::Progress(Box::new(progress(jobs, second))));
    }
    model.devices = vec![LiveDevice {
        name: "nvme0n1".into(),
        queue: (0..30).map(|n| (n % 9) as f32 * 4.0).collect(),
        util: 98.4,
        rates: (123_456_789.0, 45_678.0),
        temperature: Some(41.85),
    }];
    model.find(LiveFinding {
        severity: LiveSeverity::Suspect,
        what: "depth-ignored: index: iodepth=32 has no effect with ioengine=psync".into(),
        more: vec!["psync has one I/O in flight".into(), "To fix: use ioengine=io_uring".into()],
    });
    let what = "log: the file is fragmented. To fix: preallocate it".into();
    model.event(HostIndex(0), EventKind::Warning { job: None, what });
    model
}

#[test]
fn two_jobs_on_the_usual_screen() {
    insta::assert_snapshot!(screen(&two_jobs(), PLAIN, b"", (80, 24)));
}

#[test]
fn two_jobs_on_a_wide_screen() {
    insta::assert_snapshot!(screen(&two_jobs(), PLAIN, b"", (140, 40)));
}

#[test]
fn two_jobs_in_ascii_on_a_narrow_screen() {
    let look = LiveLook { ascii: true, color: false };
    insta::assert_snapshot!(screen(&two_jobs(), look, b"", (50, 20)));
}

#[test]
fn one_job_in_detail() {
    insta::assert_snapshot!(screen(&two_jobs(), PLAIN, b"\r", (80, 30)));
}

#[test]
fn findings_and_help() {
    insta::assert_snapshot!(screen(&two_jobs(), PLAIN, b"f", (60, 12)));
    insta::assert_snapshot!(screen(&two_jobs(), PLAIN, b"?", (80, 24)));
}

#[test]
fn a_thousand_jobs_are_sorted_and_paged() {
    let names = (0..1000).map(|n| (format!("job{n}"), String::new())).collect();
    let mut model = LiveModel::of_jobs("fiord-0.1.0".into(), names);
    for second in 1..=3 {
        let jobs = (0..1000).map(|n| job_progress(READ, second, 1 + n % 10)).collect();
        model.event(HostIndex(0), EventKind::Progress(Box::new(progress(jobs, second))));
    }
    let failure = JobFailure {
        errno: Errno::EIO,
        file: "/dev/x".into(),
        operation: "read".into(),
        meaning: "Input/output error".into(),
        message: "read of /dev/x failed: Input/output error\nTo fix: replace the drive".into(),
    };
    let ended =
        EventKind::JobEnded { index: 995, job: "job995".into(), pid: 1, failure: Some(failure) };
    model.event(HostIndex(0), ended);
    insta::assert_snapshot!(screen(&model, PLAIN, b"ss\x1b[6~", (80, 24)));
    insta::assert_snapshot!(screen(&model, PLAIN, b"\x1b[F\x1b[A\x1b[A\x1b[A\x1b[A", (80, 24)));
}

#[test]
fn hosts_and_the_jobs_of_one() {
    let hosts = ["alpha", "beta", "gamma"].map(String::from).to_vec();
    let mut model = LiveModel::of_hosts("fiord-0.1.0".into(), hosts);
    for host in [0, 1] {
        let names = vec![("a".into(), String::new()), ("b".into(), String::new())];
        model.set_jobs(HostIndex(host), names);
    }
    model.error("host gamma: cannot connect: No route to host\n  To fix: check its name");
    model.host_ended(HostIndex(2), "failed");
    for second in 1..=10 {
        for host in [0, 1] {
            let jobs = vec![job_progress(READ, second, 1), job_progress(READ, second, 2)];
            let event = EventKind::Progress(Box::new(progress(jobs, second)));
            model.state(HostIndex(host), "running");
            model.event(HostIndex(host), event);
        }
    }
    insta::assert_snapshot!(screen(&model, PLAIN, b"", (80, 24)));
    insta::assert_snapshot!(screen(&model, PLAIN, b"j\r", (80, 24)));
}

#[test]
fn a_run_that_has_not_started() {
    let names = vec![("a".into(), "rw=write".into())];
    let mut model = LiveModel::of_jobs("fiord-0.1.0".into(), names);
    let event = EventKind::LayingOut { job: "a".into(), files: 4, bytes: Bytes(1 << 32) };
    model.event(HostIndex(0), event);
    insta::assert_snapshot!(screen(&model, PLAIN, b"", (80, 12)));
}

#[test]
fn no_size_is_too_small() {
    let model = two_jobs();
    for width in (1..30).chain([60, 200]) {
        for height in (1..20).chain([60]) {
            for typed in [&b""[..], b"\r", b"f\x1b[F", b"?\x1b[F"] {
                let _ = screen(&model, PLAIN, typed, (width, height));
            }
        }
    }
}
