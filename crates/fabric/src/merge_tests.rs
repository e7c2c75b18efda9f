use fiord_stat::hosts::{ClockError, HostFailure, HostStage};
use fiord_stat::job::JobSettings;
use fiord_stat::recorder::{Recorder, Times, axes};
use fiord_stat::samples::{SampleLatencies, Samples, WindowSample};
use fiord_types::{Bytes, Dir, PerDir};
use proptest::prelude::*;

use super::*;
use crate::message::{Ended, FromHost, decode, encode};

const US: Nanos = Nanos::from_micros(1);

/// An I/O of a host.
#[derive(Debug, Clone, Copy)]
struct Sample {
    host: usize,
    dir: Dir,
    bytes: Bytes,
    latency: Nanos,
}

fn sample() -> impl Strategy<Value = Sample> {
    let dir = prop::sample::select(Dir::ALL.to_vec());
    (0usize..5, dir, 0u64..1 << 20, 0u32..40, any::<u64>()).prop_map(
        |(host, dir, bytes, bits, latency)| Sample {
            host,
            dir,
            bytes: Bytes(bytes),
            latency: Nanos(latency & ((1 << bits) - 1)),
        },
    )
}

/// What a job recorded that received the I/Os for which `mine` holds.
fn job(samples: &[Sample], mine: impl Fn(&Sample) -> bool) -> JobData {
    let settings = JobSettings { name: "a".into(), ..JobSettings::default() };
    let recorder = Recorder::new(axes::ASYNC, &Dir::ALL);
    let mut job = JobData { settings, recorder, members: 1, ..JobData::default() };
    for one in samples.iter().filter(|one| mine(one)) {
        let slat = Nanos(one.latency.0 / 3);
        let clat = one.latency.saturating_sub(slat);
        let all = Times { slat, clat, lat: one.latency };
        job.recorder.complete::<{ axes::ASYNC }>(one.dir, one.bytes, all);
    }
    job.dir_runtime = fiord_types::PerDir::all(Nanos::from_secs(1));
    job.runtime = Nanos::from_secs(1);
    job
}

fn host(data: Vec<JobData>) -> HostOutcome {
    let ended = Some(Ended { status: Some(0), ..Ended::default() });
    HostOutcome { name: "h".into(), data, ended, ..HostOutcome::default() }
}

/// Sends the data of a job as an agent does.
fn travelled(data: JobData) -> JobData {
    let message = FromHost::Result { job: fiord_types::JobIndex(0), data: Box::new(data) };
    match decode::<FromHost>(&encode(&message, &[])).unwrap().0 {
        FromHost::Result { data, .. } => *data,
        other => panic!("{other:?}"),
    }
}

fn no_text(_: Errno) -> String {
    String::new()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn all_clients_equal_one_recorder_that_received_all_samples(
        samples in prop::collection::vec(sample(), 1..600),
        order in Just([0usize, 1, 2, 3, 4]).prop_shuffle(),
    ) {
        let hosts = order.map(|n| host(vec![travelled(job(&samples, move |s| s.host == n))]));
        let report = merged(HostsOutcome { hosts: hosts.into(), ..HostsOutcome::default() },
            Report::default(), &no_text);
        let mut one = job(&samples, |_| true);
        one.recorder.finish();
        let one = one.summarise(&no_text);
        let all = &report.all.jobs[0];
        prop_assert_eq!((all.name.as_str(), all.members), (ALL_CLIENTS, 5));
        for (mine, theirs) in all.dirs.iter().zip(&one.dirs) {
            prop_assert_eq!(mine, theirs);
        }
        prop_assert_eq!(all.latency_us, one.latency_us);
        prop_assert_eq!(all.latency_ms, one.latency_ms);
        prop_assert_eq!(all.issued, one.issued);
    }
}

/// A host that read 1000 I/Os of 4 KiB in each second from `begin`, all times by the coordinator's clock.
fn reader(name: &str, (begin, tenths): (Nanos, usize), bound: Nanos) -> HostOutcome {
    let mut data = job(&[], |_| true);
    let second = Nanos::from_secs(1);
    let from = begin.saturating_sub(BASE);
    let end = from + Nanos::from_millis(100) * tenths as u64;
    let mut dirs = PerDir::<Vec<WindowSample>>::default();
    let mut at = from;
    while at < end {
        // Windows lie on a grid of whole seconds.
        let to = (second * (at / second + 1)).min(end);
        let ios = to.saturating_sub(at).as_micros() / 1000;
        dirs[Dir::Read].push(WindowSample::new(ios, Bytes(4096 * ios), SampleLatencies::default()));
        at = to;
    }
    data.samples = Samples::new(from, from, end, second, dirs);
    data.recorder.dirs[Dir::Read].ios = 100 * tenths as u64;
    data.recorder.dirs[Dir::Read].bytes = Bytes(4096 * 100 * tenths as u64);
    let runtime = Nanos::from_millis(100 * tenths as u64);
    data.dir_runtime[Dir::Read] = runtime;
    HostOutcome {
        name: name.into(),
        clock: Some(ClockError { bound, round_trip: US }),
        started: vec![begin],
        finished: Some(begin.saturating_add(runtime)),
        ..host(vec![data])
    }
}

const BASE: Nanos = Nanos::from_secs(1000);

#[test]
fn start_skew_common_time_and_order() {
    let later = BASE.saturating_add(Nanos::from_micros(35));
    let hosts = vec![
        reader("slow", (BASE, 40), Nanos(700)),
        reader("quick", (later, 20), Nanos(900)),
        reader("mid", (BASE, 30), Nanos(800)),
    ];
    let outcome = HostsOutcome { hosts, start: Some(BASE), signal: None };
    let report = merged(outcome, Report::default(), &no_text);
    let expected = HostsStart {
        skew: Nanos(35_000),
        clock_error: Some(Nanos(900)),
        last: HostIndex(1),
        worst_clock: HostIndex(1),
    };
    assert_eq!(report.start, Some(expected));
    let together = report.together.unwrap();
    assert_eq!(together.begin, Nanos(35_000));
    assert_eq!(together.end, Nanos(2_000_035_000));
    // The I/Os of each host are whole numbers.
    assert!((together.iops - 3000.0).abs() < 5.0, "{together:?}");
    let names: Vec<&str> = report.by_finish().into_iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["quick", "mid", "slow"]);
    assert_eq!(report.hosts[0].total.unwrap().iops, 1000.0);
    // As fio: all bytes over the longest run time.
    let read = &report.all.jobs[0].dirs[0];
    assert_eq!(read.bw, Bytes(4096 * 9000 / 4));
    assert!(!report.is_partial());
}

#[test]
fn a_lost_host_makes_the_totals_partial() {
    let why = "no sign of life".to_owned();
    let failure = HostFailure { stage: HostStage::Run, why, at: BASE, refused: false };
    let lost = HostOutcome {
        name: "gone".into(),
        started: vec![BASE],
        failure: Some(failure),
        ..HostOutcome::default()
    };
    let hosts = vec![reader("a", (BASE, 9), US), lost, reader("b", (BASE, 10), US)];
    let outcome = HostsOutcome { hosts, start: Some(BASE), signal: None };
    let report = merged(outcome, Report::default(), &no_text);
    assert!(report.is_partial());
    assert_eq!(report.by_finish().last().unwrap().name, "gone");
    assert_eq!(report.all.jobs[0].members, 2);
    assert!((report.together.unwrap().iops - 2000.0).abs() < 1e-6);
    assert_eq!(report.start.unwrap().clock_error, None, "the clock of the lost host is unknown");
}

#[test]
fn a_report_without_jobs_gets_them_from_their_data() {
    let mut host = reader("a", (BASE, 9), US);
    let findings = Report { version: "of the host".into(), ..Report::default() };
    host.report = Some(findings);
    let outcome = HostsOutcome { hosts: vec![host], start: Some(BASE), ..HostsOutcome::default() };
    let report = merged(outcome, Report::default(), &no_text);
    let of_host = report.hosts[0].report.as_ref().unwrap();
    assert_eq!((of_host.version.as_str(), of_host.jobs.len()), ("of the host", 1));
}

#[test]
fn one_entry_has_no_sum_and_hidden_jobs_do_not_count() {
    let mut hidden = job(&[], |_| true);
    hidden.settings.stats = false;
    let mut only = reader("a", (BASE, 9), US);
    only.data.push(hidden);
    let outcome = HostsOutcome { hosts: vec![only], start: Some(BASE), signal: None };
    let report = merged(outcome, Report::default(), &no_text);
    assert!(report.all.jobs.is_empty());
    assert_eq!((report.start, report.together), (None, None));
    assert_eq!(report.hosts[0].report.as_ref().unwrap().jobs.len(), 1);
}

#[test]
fn nothing_at_all_gives_an_empty_report() {
    let report = merged(HostsOutcome::default(), Report::default(), &no_text);
    assert_eq!(report, HostsReport::default());
    let never = HostsOutcome { hosts: vec![HostOutcome::default()], ..HostsOutcome::default() };
    assert!(merged(never, Report::default(), &no_text).is_partial());
}
