//! The report of a run on many hosts: snapshots, and the keys and lines that fio 3.42 writes with `--client`.

use fiord_report::output::Formats;
use fiord_report::{TerseVersion, hosts};
use fiord_stat::finding::{Finding, Severity, Unchecked};
use fiord_stat::hosts::*;
use fiord_stat::report::*;
use fiord_types::{Bytes, HostIndex, Nanos};

/// The keys of a job of a client, as fio orders them.
const JOB_KEYS: [&str; 27] = [
    "jobname",
    "groupid",
    "job_start",
    "error",
    "job options",
    "read",
    "write",
    "trim",
    "sync",
    "job_runtime",
    "usr_cpu",
    "sys_cpu",
    "ctx",
    "majf",
    "minf",
    "iodepth_level",
    "iodepth_submit",
    "iodepth_complete",
    "latency_ns",
    "latency_us",
    "latency_ms",
    "latency_depth",
    "latency_target",
    "latency_target_ns",
    "latency_percentile",
    "latency_window",
    "latency_window_us",
];

fn latency(base: u64) -> LatencySummary {
    LatencySummary {
        min: Nanos(base),
        max: Nanos(base * 90),
        mean: base as f64 * 3.25,
        stddev: base as f64 / 3.0,
        n: 1000,
        percentiles: vec![(50.0, Nanos(base * 2)), (99.5, Nanos(base * 80))],
        bins: vec![(Nanos(base * 2), 900), (Nanos(base * 80), 100)],
    }
}

fn direction(kind: DirKind, ios: u64) -> DirReport {
    let rate = RateSummary { min: 900, max: 1100, agg: 99.5, mean: 1000.0, dev: 12.5, samples: 4 };
    let (samples, lat) = match ios {
        0 => (RateSummary::default(), LatencySummary::default()),
        _ => (rate, latency(52_000)),
    };
    let runtime = if ios > 0 { Nanos::from_secs(2) } else { Nanos::ZERO };
    DirReport {
        kind,
        io_bytes: Bytes(4096 * ios),
        bw: Bytes(2048 * ios),
        iops: ios as f64 / 2.0,
        runtime,
        total_ios: ios,
        short_ios: 0,
        drop_ios: 0,
        slat: LatencySummary::default(),
        clat: lat,
        lat: LatencySummary::default(),
        priorities: Vec::new(),
        bw_samples: samples,
        iops_samples: samples,
    }
}

fn job(name: &str, ios: u64) -> JobReport {
    JobReport {
        name: name.into(),
        members: 1,
        pid: 4242,
        start: Nanos::from_millis(1_795_170_888_100),
        elapsed: Nanos::from_secs(3),
        options: vec![("rw".into(), "read".into())],
        percentile_list: vec![50.0, 99.5],
        percentile_decimals: 2,
        dirs: vec![
            direction(DirKind::Read, ios),
            direction(DirKind::Write, 0),
            direction(DirKind::Trim, 0),
        ],
        runtime: Nanos::from_secs(2),
        usr_cpu: 1.5,
        sys_cpu: 2.25,
        ctx: 2002,
        depth_level: [100.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        issued: [ios, 0, 0, 0],
        latency_us: [0.0, 0.0, 0.0, 0.0, 0.0, 100.0, 0.0, 0.0, 0.0, 0.0],
        latency_depth: 1,
        latency_percentile: 100.0,
        ..JobReport::default()
    }
}

fn finding(id: &str, job: Option<&str>, evidence: &str) -> Finding {
    Finding {
        id: id.into(),
        severity: Severity::Suspect,
        job: job.map(str::to_owned),
        what: "something is wrong".into(),
        evidence: evidence.into(),
        remedy: "do it differently".into(),
        option: None,
        location: None,
        claim: Default::default(),
    }
}

fn host(name: &str, port: u16, ios: u64) -> HostReport {
    let jobs = vec![job("a", ios)];
    let counts = DiskCounts { ios: [ios, 0], util: 50.0, ..DiskCounts::default() };
    let disks = vec![DiskReport { name: "sda".into(), counts, ..DiskReport::default() }];
    let extras = Extras {
        findings: vec![finding("too-short", Some("a"), &format!("{ios} I/Os"))],
        unchecked: vec![Unchecked { id: "governor".into(), why: "no files".into() }],
        ..Extras::default()
    };
    let report = Report {
        version: "fio-3.42-agent".into(),
        written: Nanos::from_secs(1_795_170_890),
        global_options: vec![("ioengine".into(), "psync".into())],
        groups: fiord_stat::job::groups(&jobs),
        jobs,
        disks,
        extras,
        ..Report::default()
    };
    HostReport {
        name: name.into(),
        port: Some(port),
        facts: Some(HostFacts {
            hostname: format!("own-{name}"),
            os: "Linux".into(),
            kernel: "6.12".into(),
            arch: "x86-64".into(),
            version: "fio-3.42-agent".into(),
            wide: true,
            ..HostFacts::default()
        }),
        report: Some(report),
        clock: Some(ClockError { bound: Nanos(900), round_trip: Nanos(1700) }),
        started: Some(Nanos(ios * 10)),
        finished: Some(Nanos::from_millis(2000 + ios)),
        total: Some(HostTotal {
            bytes: Bytes(4096 * ios),
            runtime: Nanos::from_secs(2),
            iops: ios as f64 / 2.0,
            bw: Bytes(2048 * ios),
        }),
        complete: true,
        status: Some(0),
        ..HostReport::default()
    }
}

fn report() -> HostsReport {
    let head = Report {
        version: "fio-3.42-here".into(),
        written: Nanos::from_millis(1_795_170_891_500),
        jobs: vec![JobReport {
            name: ALL_CLIENTS.into(),
            members: 2,
            pid: 0,
            start: Nanos::ZERO,
            options: Vec::new(),
            ..job(ALL_CLIENTS, 3000)
        }],
        ..Report::default()
    };
    HostsReport {
        all: head,
        hosts: vec![host("n2", 8802, 2000), host("n1", 8801, 1000)],
        start: Some(HostsStart {
            skew: Nanos(35_040),
            clock_error: Some(Nanos(900)),
            last: HostIndex(0),
            worst_clock: HostIndex(1),
        }),
        together: Some(TogetherRate {
            begin: Nanos(20_000),
            end: Nanos::from_secs(3),
            iops: 1500.0,
            bw: Bytes(1500 * 4096),
        }),
        signal: None,
        refused: false,
        shares_targets: false,
        insecure: false,
    }
}

fn lost() -> HostsReport {
    let mut report = report();
    let failure = HostFailure {
        stage: HostStage::Run,
        why: "nothing came from it for 4 s\nsecond line".into(),
        at: Nanos::from_millis(1500),
        refused: false,
    };
    let gone = HostReport {
        name: "n3".into(),
        seen: Some(Bytes(9 << 20)),
        failure: Some(failure),
        ..HostReport::default()
    };
    report.hosts.push(gone);
    (report.insecure, report.signal) = (true, Some(2));
    report
}

fn written(report: &HostsReport, format: &str) -> String {
    let formats = Formats {
        normal: format == "normal",
        json: format == "json",
        json_plus: format == "json+",
        terse: format == "terse",
        terse_version: TerseVersion::V3,
        columns: None,
    };
    let mut out = Vec::new();
    hosts::write(report, formats, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("it is text")
}

fn document(report: &HostsReport, format: &str) -> serde_json::Value {
    serde_json::from_str(&written(report, format)).expect("it is one JSON document")
}

#[test]
fn text() {
    insta::assert_snapshot!(written(&report(), "normal"));
}

#[test]
fn text_of_a_run_that_lost_a_host() {
    let text = written(&lost(), "normal");
    let (_, table) = text.split_once("Hosts by finishing time:").expect("a table");
    insta::assert_snapshot!(table);
}

#[test]
fn additions_to_json() {
    let fiord = &document(&lost(), "json")["fiord"];
    insta::assert_snapshot!(serde_json::to_string_pretty(fiord).expect("JSON"));
}

/// The keys of the object that begins in a line, in the order of the text.
fn keys_behind(text: &str, line: &str) -> Vec<String> {
    let (_, rest) = text.split_once(line).expect("the line");
    let margin = "      \"";
    let inside = rest.lines().take_while(|line| !line.starts_with("    }"));
    let keys = inside.filter_map(|line| line.strip_prefix(margin)?.split_once('"'));
    keys.map(|(key, _)| key.to_owned()).collect()
}

#[test]
fn json_has_the_keys_of_fio_in_its_order() {
    let text = written(&report(), "json");
    let top = text.lines().filter_map(|line| line.strip_prefix("  \"")?.split_once('"'));
    let top: Vec<&str> = top.map(|(key, _)| key).collect();
    let expected = [
        "fio version",
        "timestamp",
        "time",
        "global options",
        "client_stats",
        "disk_util",
        "fiord",
    ];
    assert_eq!(top, expected);
    let mut expected: Vec<&str> = JOB_KEYS[1..].to_vec();
    expected.extend(["hostname", "port"]);
    assert_eq!(keys_behind(&text, "\"jobname\" : \"a\",\n"), expected);
    expected.retain(|key| *key != "job options" && !JOB_KEYS[21..].contains(key));
    assert_eq!(keys_behind(&text, "\"jobname\" : \"All clients\",\n"), expected);
}

#[test]
fn json_values() {
    let document = document(&report(), "json");
    let jobs = document["client_stats"].as_array().expect("a list");
    let names: Vec<_> =
        jobs.iter().map(|job| (&job["jobname"], &job["hostname"], &job["port"])).collect();
    assert_eq!(
        serde_json::to_value(names).expect("JSON"),
        serde_json::json!([["a", "n2", 8802], ["a", "n1", 8801], ["All clients", "n1", 8801]])
    );
    assert_eq!(
        document["global options"],
        serde_json::json!([
            {"hostname": "n2", "port": 8802, "ioengine": "psync"},
            {"hostname": "n1", "port": 8801, "ioengine": "psync"}
        ])
    );
    let disk = &document["disk_util"][1];
    assert_eq!((disk["name"].as_str(), disk["port"].as_u64()), (Some("sda"), Some(8801)));
    assert!(jobs[2]["read"]["clat_ns"].get("bins").is_none());
    let plus = self::document(&report(), "json+");
    assert!(plus["client_stats"][2]["read"]["clat_ns"]["bins"].is_object());
}

#[test]
fn one_host_has_an_object_of_options_and_no_table() {
    let mut report = report();
    report.hosts.truncate(1);
    report.all.jobs.clear();
    (report.start, report.together) = (None, None);
    let text = written(&report, "normal");
    assert!(text.starts_with("<own-n2> \na: (groupid=0, jobs=1): err= 0: pid=4242: "), "{text}");
    assert!(!text.contains("Hosts by"), "{text}");
    let document = document(&report, "json");
    assert_eq!(document["global options"], serde_json::json!({"ioengine": "psync"}));
    assert_eq!(document["client_stats"].as_array().map(Vec::len), Some(1));
}

#[test]
fn the_document_is_read_again() {
    let read = fiord_report::read(&written(&lost(), "json")).expect("a report");
    let names: Vec<&str> = read.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a", "a"]);
    assert_eq!(read.groups[0].dirs[0].io_bytes, Bytes(3000 * 4096));
    let findings: Vec<&str> =
        read.extras.findings.iter().map(|finding| finding.what.as_str()).collect();
    assert_eq!(findings, ["n2: something is wrong", "n1: something is wrong"]);
}

#[test]
fn targets_of_hosts_are_read_again() {
    let mut report = report();
    let device = HostTarget {
        path: "/dev/nvme0n1".into(),
        shared_id: Some("wwid:eui.1".into()),
        kind: "MODEL, 1.0 TB".into(),
        scheduler: "none".into(),
        begin: Bytes(4096),
        end: Bytes(1 << 40),
        writes: true,
    };
    let file = HostTarget { path: "/data/f".into(), kind: "ext4".into(), ..HostTarget::default() };
    report.hosts[0].targets = vec![device, file];
    let text = written(&report, "json");
    let read = fiord_report::read_hosts(&text).expect("it was written here");
    assert_eq!(read.hosts[0].targets, report.hosts[0].targets);
    assert_eq!(read.hosts[1].targets, []);
    let keys = &document(&report, "json")["fiord"]["hosts"][0]["targets"][1];
    let expected = serde_json::json!(
        {"path": "/data/f", "storage": "ext4", "begin_bytes": 0, "writes": 0}
    );
    assert_eq!(*keys, expected);
}

#[test]
fn a_run_without_any_result_is_a_document_too() {
    let failure = HostFailure {
        stage: HostStage::Greet,
        why: "no route".into(),
        at: Nanos::ZERO,
        refused: false,
    };
    let host = HostReport { name: "x".into(), failure: Some(failure), ..HostReport::default() };
    let report = HostsReport { hosts: vec![host], ..HostsReport::default() };
    let value = document(&report, "json");
    assert_eq!(value["client_stats"], serde_json::json!([]));
    assert_eq!(value["fiord"]["hosts"][0]["failure"], "no route");
    assert!(written(&report, "normal").contains("lost, while the connection was made: no route"));
}

#[test]
fn terse_has_a_line_for_each_job_and_the_sum() {
    let text = written(&report(), "terse");
    let third = |line: &str| line.split(';').nth(2).map(str::to_owned);
    let names: Vec<_> = text.lines().filter_map(third).collect();
    assert_eq!(names, ["a", "a", ALL_CLIENTS]);
    assert!(text.lines().all(|line| line.starts_with("3;fio-3.42-here;")), "{text}");
}
