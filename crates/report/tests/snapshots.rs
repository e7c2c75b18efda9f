//! Snapshots of a fixed report that has what no reference run here has: an error, zones, a device
//! made of others, findings and interval reports.

use fiord_report::TerseVersion;
use fiord_stat::finding::{Finding, Severity};
use fiord_stat::report::*;
use fiord_types::{Bytes, Errno, Nanos};

fn latency(base: u64) -> LatencySummary {
    LatencySummary {
        min: Nanos(base),
        max: Nanos(base * 90),
        mean: base as f64 * 3.25,
        stddev: base as f64 / 3.0,
        n: 1000,
        percentiles: vec![
            (50.0, Nanos(base * 2)),
            (99.0, Nanos(base * 80)),
            (99.9, Nanos(base * 90)),
        ],
        bins: vec![(Nanos(base * 2), 900), (Nanos(base * 80), 99), (Nanos(base * 90), 1)],
    }
}

fn rate(mean: f64, agg: f64) -> RateSummary {
    RateSummary { min: 900, max: 1100, agg, mean, dev: 12.5, samples: 4 }
}

fn direction(kind: DirKind) -> DirReport {
    DirReport {
        kind,
        io_bytes: Bytes(4_096_000),
        bw: Bytes(2_048_000),
        iops: 500.25,
        runtime: Nanos::from_millis(2000),
        total_ios: 1000,
        short_ios: 1,
        drop_ios: 0,
        slat: LatencySummary { percentiles: vec![], bins: vec![], ..latency(700) },
        clat: latency(52_000),
        lat: LatencySummary { percentiles: vec![], bins: vec![], ..latency(52_700) },
        priorities: Vec::new(),
        bw_samples: rate(2000.0, 100.0),
        iops_samples: rate(500.0, 0.0),
    }
}

fn idle(kind: DirKind) -> DirReport {
    let none = LatencySummary::default();
    DirReport {
        kind,
        io_bytes: Bytes::ZERO,
        bw: Bytes::ZERO,
        iops: 0.0,
        runtime: Nanos::ZERO,
        total_ios: 0,
        short_ios: 0,
        drop_ios: 0,
        slat: none.clone(),
        clat: none.clone(),
        lat: none,
        priorities: Vec::new(),
        bw_samples: RateSummary::default(),
        iops_samples: RateSummary::default(),
    }
}

fn job() -> JobReport {
    JobReport {
        name: "log \"a\"".into(),
        description: Some("appends".into()),
        members: 2,
        pid: 4242,
        start: Nanos::from_millis(1_795_170_888_100),
        error: Some(Errno::EIO),
        error_text: "file:/data/x, func=write, error=Input/output error".into(),
        elapsed: Nanos::from_secs(3),
        options: vec![("rw".into(), "write".into()), ("time_based".into(), String::new())],
        percentile_list: vec![50.0, 99.0, 99.9],
        percentile_decimals: 1,
        dirs: vec![idle(DirKind::Read), direction(DirKind::Write), idle(DirKind::Trim)],
        sync: SyncReport { total_ios: 1000, lat: latency(3_000_000) },
        runtime: Nanos::from_millis(4000),
        usr_cpu: 1.5,
        sys_cpu: 2.25,
        ctx: 2002,
        minf: 7,
        depth_level: [0.1, 0.0, 99.9, 0.0, 0.0, 0.0, 0.0],
        depth_submit: [0.0, 100.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        depth_complete: [25.0, 75.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        issued: [0, 1001, 0, 1000],
        short: [0, 1, 0, 0],
        latency_us: [0.0, 0.0, 0.0, 0.0, 0.0, 90.0, 0.0, 0.0, 0.0, 0.0],
        latency_ms: [0.0, 0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.01],
        errors: Some(ErrorReport {
            total: 1,
            first: Some(Errno::EIO),
            first_text: "Input/output error".into(),
        }),
        latency_depth: 4,
        latency_target: Nanos::from_millis(10),
        latency_percentile: 99.0,
        latency_window: Nanos::from_secs(5),
        zone_resets: Some(12),
        ..JobReport::default()
    }
}

fn disk(name: &str, util: f64) -> DiskReport {
    let counts = DiskCounts {
        ios: [3, 1001],
        sectors: [24, 8008],
        merges: [0, 5],
        time: [1, 950].map(Nanos::from_millis),
        in_queue: Nanos::from_millis(951),
        util,
    };
    DiskReport { name: name.into(), counts, ..DiskReport::default() }
}

fn report() -> Report {
    let members = vec![disk("sda", 40.25), disk("sdb", 41.5)];
    let aggregate = DiskCounts::aggregate(&members);
    let dm = DiskReport { members, aggregate, ..disk("dm-0", 42.0) };
    let jobs = vec![job()];
    let whole = Report {
        schema: SCHEMA,
        version: "fio-3.42-fiord-0.1.0".into(),
        written: Nanos::from_millis(1_795_170_888_474),
        utc_offset_s: 3600,
        global_options: vec![("ioengine".into(), "libaio".into())],
        groups: fiord_stat::job::groups(&jobs),
        jobs,
        disks: vec![dm],
        extras: Extras::default(),
        courses: Vec::new(),
    };
    let finding = Finding {
        id: "depth-not-reached".into(),
        severity: Severity::Suspect,
        job: Some("log \"a\"".into()),
        what: "the device never saw the depth that was asked for".into(),
        evidence: "1.2 in flight on average, 4 asked for".into(),
        remedy: "use ioengine=io_uring".into(),
        option: None,
        location: None,
        claim: Default::default(),
    };
    let clock = ClockReport { source: "tsc".into(), cost_ns: 9.5, resolution_ns: 0.4 };
    let extras =
        Extras { clock: Some(clock), findings: vec![finding], interim: true, ..Extras::default() };
    Report { extras, ..whole }
}

fn written(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("it is text")
}

#[test]
fn text_for_people() {
    insta::assert_snapshot!(written(|o| fiord_report::normal(&report(), o)));
}

#[test]
fn json_with_bins() {
    let text = written(|o| fiord_report::json_plus(&report(), o));
    fiord_golden::json::Json::parse(&text).expect("it is JSON");
    insta::assert_snapshot!(text);
}

#[test]
fn terse_lines() {
    let line = |version| written(|o| fiord_report::terse(&report(), version, o));
    let lines = [TerseVersion::V2, TerseVersion::V3, TerseVersion::V4, TerseVersion::V5].map(line);
    insta::assert_snapshot!(lines.concat());
}

#[test]
fn nothing_to_report() {
    let empty = Report { version: "fio-3.42".into(), ..Report::default() };
    let text = written(|o| fiord_report::json(&empty, o));
    fiord_golden::json::Json::parse(&text).expect("it is JSON");
    assert_eq!(written(|o| fiord_report::normal(&empty, o)), "\n");
    assert_eq!(written(|o| fiord_report::terse(&empty, TerseVersion::V3, o)), "");
}

/// fio 3.42 after `create_only=1`: no block in the text, and in the object nothing of depth and
/// latency targets, while what follows them stays.
#[test]
fn jobs_that_did_nothing() {
    let dirs = vec![idle(DirKind::Read), idle(DirKind::Write), idle(DirKind::Trim)];
    let (runtime, latency_depth) = (Nanos::ZERO, 0);
    let jobs =
        vec![JobReport { dirs, issued: [0; 4], error: None, runtime, latency_depth, ..job() }];
    let groups = fiord_stat::job::groups(&jobs);
    let report = Report { jobs, groups, ..Report::default() };
    assert_eq!(
        written(|o| fiord_report::normal(&report, o)),
        "\n\nRun status group 0 (all jobs):\n"
    );
    let text = written(|o| fiord_report::json(&report, o));
    let of = |key: &str| text.contains(&format!("\"{key}\""));
    assert!(!of("latency_depth") && !of("latency_target") && !of("latency_window_us"), "{text}");
    assert!(of("latency_ms") && of("total_err") && of("desc"), "{text}");
    // A job that ran without I/O (`ioengine=cpuio`, a rate below one I/O) has them.
    let mut report = report;
    report.jobs[0].latency_depth = 4;
    let text = written(|o| fiord_report::json(&report, o));
    assert!(text.contains("\"latency_depth\" : 4") && text.contains("\"latency_window_us\""));
}

/// fio 3.42: `total_ios` counts what was issued; bytes and latencies are of what ended well.
#[test]
fn io_that_failed_was_issued() {
    let text = written(|o| fiord_report::json(&report(), o));
    let write = &text[text.find("\"write\" : {").expect("a row")..];
    assert!(write[..400].contains("\"total_ios\" : 1001"), "{write}");
}

#[test]
fn several_formats_in_their_order() {
    use fiord_report::output::{Formats, write};
    let formats = Formats { json: true, terse: true, ..Formats::default() };
    let text = written(|o| write(&report(), formats, o));
    let starts = ["3;fio-3.42", "\n{\n", "\n}\n\nlog"].map(|s| text.find(s).expect(s));
    assert!(starts.is_sorted(), "{starts:?}");
}
