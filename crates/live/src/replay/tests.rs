//! Replays of fixed runs.

use fiord_stat::finding::{Finding, Severity};
use fiord_stat::hosts::{HostReport, HostsReport};
use fiord_stat::progress::{JobPhase, RunKind};
use fiord_stat::report::{JobReport, Report};
use fiord_stat::samples::{SampleLatencies, Samples, WindowSample};
use fiord_types::{Bytes, Dir, HostIndex, JobIndex, Nanos, PerDir};

use super::*;
use crate::controls::LiveControls;
use crate::history::{LiveTick, band_start};
use crate::look::LiveLook;
use crate::page::LivePage;
use crate::rows::{LiveSort, rows};
use crate::tests::screen_of;

const WINDOW: Nanos = Nanos::from_millis(500);

/// A job that reads from `begin` to `end` with `ios` I/Os in each half second.
fn job(name: &str, (begin, measured, end): (u64, u64, u64), ios: u64) -> JobReport {
    let latencies = || {
        let slow = Nanos::from_millis(5);
        let all = std::iter::repeat_n(Nanos::from_micros(100), 99).chain([slow]);
        SampleLatencies::of_values(all)
    };
    let sample = |n: u64| WindowSample::new(ios + n % 3, Bytes(4096 * ios), latencies());
    let mut dirs = PerDir::<Vec<WindowSample>>::default();
    dirs[Dir::Read] = (0..(end - begin).div_ceil(500) + 1).map(sample).collect();
    let ms = Nanos::from_millis;
    JobReport {
        name: name.to_owned(),
        members: 1,
        options: vec![("rw".into(), "randread:8".into()), ("direct".into(), String::new())],
        samples: Samples::new(ms(begin), ms(measured), ms(end), WINDOW, dirs),
        ..JobReport::default()
    }
}

/// One job with a ramp over the whole run of 20 s, and one that fails after 5 s.
fn report() -> Report {
    let mut report = Report {
        jobs: vec![
            job("index", (250, 4000, 20_000), 1000),
            job("log\u{1b}[2J", (250, 250, 5100), 50),
        ],
        global_options: vec![("rw".into(), "write".into()), ("bs".into(), "4k".into())],
        ..Report::default()
    };
    report.jobs[0].options.push(("ramp_time".into(), "4".into()));
    report.jobs[1].failed = true;
    report.jobs[1].error_text = "write to x: Input/output error".into();
    report.extras.findings.push(Finding {
        id: "depth-ignored".into(),
        severity: Severity::Suspect,
        job: None,
        what: "iodepth=32 has no effect".into(),
        evidence: String::new(),
        remedy: String::new(),
        option: None,
        location: None,
        claim: Default::default(),
    });
    report
}

fn view(report: &Report) -> (ReplayView, LiveModel) {
    ReplayView::new(ReplayRun::of_report("result.json".into(), report).unwrap())
}

/// The overview, or another page after these keys.
fn screen(model: &LiveModel, typed: &[u8]) -> String {
    let look = LiveLook { ascii: false, color: true };
    screen_of(model, LiveControls::new(true), look, typed, (80, 24))
}

fn phases(model: &LiveModel) -> Vec<JobPhase> {
    model.jobs().map(|job| job.phase).collect()
}

#[test]
fn a_replay_at_some_moments() {
    let (mut view, mut model) = view(&report());
    model.stage = "replay, speed 1x".into();
    assert_eq!(view.lengths().len(), 40);
    assert_eq!(view.lengths()[..2], [Nanos::from_millis(250), WINDOW]);
    insta::assert_snapshot!(screen(&model, b""));
    view.show(9, &mut model);
    insta::assert_snapshot!(screen(&model, b""));
    view.show(40, &mut model);
    insta::assert_snapshot!(screen(&model, b""));
    insta::assert_snapshot!(screen(&model, b"\r"));
    insta::assert_snapshot!(screen(&model, b"?"));
}

#[test]
fn jobs_wait_ramp_run_fail_and_end() {
    let (mut view, mut model) = view(&report());
    let running = JobPhase::Running(RunKind::RandRead);
    assert_eq!(phases(&model), [JobPhase::Waiting, JobPhase::Waiting]);
    view.show(1, &mut model);
    assert_eq!(phases(&model), [JobPhase::Ramping, running]);
    // The job ends within the eleventh window.
    view.show(11, &mut model);
    assert_eq!(phases(&model), [running, running]);
    assert_eq!(model.findings.len(), 1);
    view.show(12, &mut model);
    assert_eq!(phases(&model), [running, JobPhase::Failed]);
    assert_eq!(model.findings.len(), 2);
    view.show(40, &mut model);
    assert_eq!(phases(&model), [JobPhase::Reaped, JobPhase::Failed]);
    assert_eq!((model.done, model.eta), (Some(1.0), Some(Nanos::ZERO)));
    view.show(3, &mut model);
    assert_eq!((phases(&model)[1], model.findings.len()), (running, 1));
}

/// The measured part of merged jobs begins when that of the last job does.
#[test]
fn merged_jobs_that_start_one_after_another_do_not_ramp() {
    let report = Report { jobs: vec![job("a", (0, 5000, 9000), 10)], ..Report::default() };
    let (mut view, mut model) = view(&report);
    view.show(4, &mut model);
    assert_eq!(phases(&model), [JobPhase::Running(RunKind::RandRead)]);
}

#[test]
fn jobs_of_one_name_are_numbered() {
    let jobs = ["a", "b", "a"].map(|name| job(name, (0, 0, 9000), 10)).to_vec();
    let (_, model) = view(&Report { jobs, ..Report::default() });
    let names: Vec<&str> = model.jobs().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a (1)", "b", "a (2)"]);
}

#[test]
fn rates_latencies_and_totals_are_those_of_the_samples() {
    let report = report();
    let (mut view, mut model) = view(&report);
    view.show(40, &mut model);
    let jobs: Vec<&LiveJob> = model.jobs().collect();
    for (job, of) in jobs.iter().zip(&report.jobs) {
        let sum: u64 = of.samples.dir(Dir::Read).iter().map(WindowSample::ios).sum();
        assert_eq!(job.totals.ios[Dir::Read], sum);
    }
    assert!(
        jobs[0].about.contains("bs=4k, rw=randread:8, direct, ramp_time=4"),
        "{}",
        jobs[0].about
    );
    view.show(4, &mut model);
    let tick = *model.jobs().next().unwrap().history.latest().unwrap();
    assert_eq!(tick.iops, [2000.0, 0.0, 0.0]);
    let hot: Vec<(Nanos, u8)> = (0..tick.heat.len())
        .filter(|b| tick.heat[*b] > 0)
        .map(|b| (band_start(b), tick.heat[b]))
        .collect();
    assert_eq!(hot, [(Nanos(65_536), 5), (Nanos(4_194_304), 3)]);
    let [p50, .., max] = model.hosts[0].jobs[0].history.all_percentiles().unwrap();
    assert!(
        p50.as_micros().abs_diff(100) <= 7 && max.as_millis().abs_diff(5) <= 1,
        "{p50:?} {max:?}"
    );
    let sum = model.total.latest().map(LiveTick::all_iops);
    let parts: f32 =
        model.jobs().filter_map(|job| job.history.latest()).map(LiveTick::all_iops).sum();
    assert_eq!(sum, Some(parts));
}

/// A rate over a tenth of a window would be noise.
#[test]
fn a_window_much_shorter_than_the_others_has_the_rate_of_two() {
    let report = Report { jobs: vec![job("a", (0, 0, 2010), 500)], ..Report::default() };
    let (mut view, mut model) = view(&report);
    view.show(5, &mut model);
    let rate = model.total.latest().unwrap().all_iops();
    assert!((1900.0..2100.0).contains(&rate), "1001 I/Os in 0.51 s: {rate}");
}

#[test]
fn going_back_shows_what_was_there_before() {
    let report = report();
    let (mut moved, mut model) = view(&report);
    for position in [3, 40, 0, 17, 16, 39, 12, 11, 1] {
        moved.show(position, &mut model);
        let (mut fresh, mut expected) = view(&report);
        fresh.show(position, &mut expected);
        for typed in [&b""[..], b"\r", b"f"] {
            assert_eq!(screen(&model, typed), screen(&expected, typed), "{position}");
        }
    }
}

#[test]
fn jobs_are_sorted_at_each_moment() {
    let (mut view, mut model) = view(&report());
    view.show(8, &mut model);
    let first = |model: &LiveModel, sort| rows(model, LivePage::Overview, (sort, false))[0].page;
    assert_eq!(first(&model, LiveSort::Iops), LivePage::Job(HostIndex(0), JobIndex(0)));
    assert_eq!(first(&model, LiveSort::Done), LivePage::Job(HostIndex(0), JobIndex(0)));
    assert_eq!(first(&model, LiveSort::Name), LivePage::Job(HostIndex(0), JobIndex(0)));
}

#[test]
fn hosts_and_jobs_without_samples() {
    let idle = JobReport { name: "cpu".into(), ..JobReport::default() };
    let one = |name: &str, end| HostReport {
        name: name.into(),
        report: Some(Report {
            jobs: vec![job("a", (0, 0, end), 10), idle.clone()],
            ..Report::default()
        }),
        ..HostReport::default()
    };
    let report = HostsReport {
        hosts: vec![
            one("alpha", 4000),
            one("beta", 2000),
            HostReport { name: "gamma".into(), ..HostReport::default() },
        ],
        ..HostsReport::default()
    };
    let run = ReplayRun::of_hosts("hosts.json".into(), &report).unwrap();
    let (mut view, mut model) = ReplayView::new(run);
    view.show(5, &mut model);
    let states: Vec<&str> = model.hosts.iter().map(|host| host.state.as_str()).collect();
    assert_eq!(states, ["running", "done", "no data"]);
    insta::assert_snapshot!(screen(&model, b""));
    assert!(
        ReplayRun::of_report("x".into(), &Report { jobs: vec![idle], ..Report::default() })
            .is_none()
    );
}

/// Such times are wrong, but a result can contain them.
#[test]
fn times_near_the_largest_one_do_no_harm() {
    let last = u64::MAX / 1_000_000;
    let jobs = vec![job("a", (0, last, 400), 10), job("b", (last - 700, 0, last), 10)];
    let report = Report { jobs, ..Report::default() };
    let (mut view, mut model) = view(&report);
    let windows = view.lengths().len();
    assert!((1..=256).contains(&windows), "{windows}");
    let mut player = player::ReplayPlayer::new(view.lengths(), None);
    for position in [1, windows, 0] {
        view.show(position, &mut model);
        let _ = (screen(&model, b""), screen(&model, b"\r"), player.next_change());
        player.advance(Nanos(u64::MAX));
    }
}

#[test]
fn no_size_and_no_number_of_windows_is_too_small() {
    let look = LiveLook { ascii: true, color: false };
    for end in [1, 20, 500, 300_000] {
        let report = Report { jobs: vec![job("a", (0, 0, end), 1)], ..Report::default() };
        let (mut view, mut model) = view(&report);
        for position in [0, 1, usize::MAX] {
            view.show(position, &mut model);
            for size in [(1, 1), (20, 5), (21, 6), (80, 24), (200, 50)] {
                for typed in [&b""[..], b"\r", b"f", b"?"] {
                    let _ = screen_of(&model, LiveControls::new(true), look, typed, size);
                }
            }
        }
    }
}
