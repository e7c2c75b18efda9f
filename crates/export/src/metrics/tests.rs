use fiord_stat::finding::Severity;
use fiord_stat::histogram::Histogram;
use fiord_stat::progress::JobPhase;

use super::*;
use crate::fixture::{READING, job, run};

fn finding(id: &str, job: Option<&str>) -> Finding {
    Finding {
        id: id.into(),
        severity: Severity::Suspect,
        job: job.map(String::from),
        what: "what".into(),
        evidence: String::new(),
        remedy: String::new(),
        option: None,
        location: None,
        claim: Default::default(),
    }
}

fn state() -> MetricsState {
    let mut state = MetricsState::new("fio-3.42-fiord-0.1.0", ["node1".to_owned()]);
    let host = HostIndex(0);
    let jobs = vec![job("a\"\\\nb", READING, 10), job("c", JobPhase::Waiting, 0)];
    state.snapshot(host, Nanos::from_millis(1_795_485_951_500), run(2500, jobs));
    state.bad_block(host, "c");
    state.warning(host);
    let findings = [finding("cached", Some("c")), finding("cached", Some("c")), finding("x", None)];
    state.findings(host, findings.into());
    state
}

#[test]
fn text() {
    let text = String::from_utf8(state().written(ExpositionFormat::Text)).unwrap();
    insta::assert_snapshot!(text);
}

#[test]
fn open_metrics() {
    let text = String::from_utf8(state().written(ExpositionFormat::OpenMetrics)).unwrap();
    insta::assert_snapshot!(text);
}

/// `protoc --decode_raw` shows the same.
#[test]
fn protocol_buffers() {
    let bytes = state().written(ExpositionFormat::Protobuf);
    let rows: Vec<String> = bytes
        .chunks(32)
        .map(|row| row.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        .collect();
    insta::assert_snapshot!(rows.join("\n"));
}

#[test]
fn names_are_unique_and_follow_the_conventions() {
    let mut names: Vec<_> = FAMILIES.iter().map(|def| def.sample_name()).collect();
    for def in &FAMILIES {
        assert!(def.name.starts_with("fiord_") && def.help.ends_with('.'), "{}", def.name);
        assert!(def.name.ends_with(def.unit), "{}", def.name);
    }
    names.sort();
    names.dedup();
    assert_eq!(names.len(), FAMILIES.len());
}

#[test]
fn both_kinds_of_buckets_hold_every_latency() {
    let mut histogram = Histogram::new();
    for ns in [0, 1, 999, 1000, 1001, 123_456, 7_000_000_000, 90_000_000_000] {
        histogram.record(Nanos(ns));
    }
    let classic = buckets::classic(&histogram);
    assert!(classic.is_sorted() && *classic.last().unwrap() == 7);
    let native = buckets::native(&histogram);
    let positive: u64 = native.positive.iter().map(|(_, n)| n).sum();
    assert_eq!((native.zeros(), positive), (1, 7));
    assert!(native.positive.is_sorted());
    // 123456 ns is in the bucket above 2^-13.03125 s and up to 2^-13 s.
    let bucket = (123_456e-9_f64.log2() * 32.0).ceil() as i32;
    assert!(native.positive.iter().any(|(index, _)| *index == bucket));
}

/// The dashboard shows metrics that exist, with labels that exist.
#[test]
fn the_dashboard_uses_metrics_that_exist() {
    let text = include_str!("../../../../examples/grafana/fiord.json");
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    assert!(document["panels"].as_array().unwrap().len() >= 8);
    let mut known: Vec<String> = FAMILIES.iter().map(FamilyDef::sample_name).collect();
    known.extend(["bucket", "sum", "count"].map(|part| format!("fiord_latency_seconds_{part}")));
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: Vec<&str> = text.split(|c| !is_name(c)).collect();
    let used = || words.iter().filter(|word| word.starts_with("fiord_"));
    let unknown: Vec<_> = used().filter(|name| !known.contains(&name.to_string())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
    for name in ["fiord_ios_total", "fiord_io_bytes_total", "fiord_finding_info"] {
        assert!(used().any(|used| *used == name), "{name}");
    }
    assert!(!words.contains(&"exported_job"));
}
