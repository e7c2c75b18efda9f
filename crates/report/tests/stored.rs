//! Reports that earlier versions of fiord wrote, and reports of fio 3.42, are read with their values. `stored/` only
//! grows: a file that can no longer be read breaks the rule of compatibility (`fiord_report::read`).

use fiord_formats::integrity::diagnosis::FaultClass;
use fiord_report::{ReadError, read, read_all};
use fiord_stat::device::{DeviceDir, DeviceView, Issued};
use fiord_stat::engine::FlashCount;
use fiord_stat::finding::Severity;
use fiord_stat::report::{DirKind, Extras, JobReport, Report, SteadyKind, Unified};
use fiord_stat::shares::LoopStage;
use fiord_stat::slices::Verdict;
use fiord_types::{Bytes, Dir, Nanos, PerDir};
use proptest::prelude::*;
use proptest::sample::Index;

fn stored(name: &str) -> String {
    let path = format!("{}/tests/stored/{name}", env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(path).expect("the file is stored")
}

fn written(report: &Report, bins: bool) -> String {
    let mut out = Vec::new();
    let write = if bins { fiord_report::json_plus } else { fiord_report::json };
    write(report, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("it is text")
}

#[test]
fn a_report_that_was_read_is_written_as_it_was() {
    for name in ["v1-grouped", "v1-zoned", "v1-bins", "v1-limits", "fio-3.42-grouped"] {
        let text = stored(&format!("{name}.json"));
        let report = read(&text).expect(name);
        assert_eq!(report.schema, u32::from(name.starts_with("v1")), "{name}");
        let again = written(&report, text.contains("\"bins\""));
        for (n, (before, after)) in text.lines().zip(again.lines()).enumerate() {
            assert_eq!(before, after, "{name}, line {}", n + 1);
        }
        assert_eq!(text, again, "{name}");
    }
}

#[test]
fn a_group_of_version_1() {
    let report = read(&stored("v1-grouped.json")).unwrap();
    assert_eq!((report.jobs.len(), report.written.as_secs()), (1, 1_795_344_521));
    let job = &report.jobs[0];
    assert_eq!((job.name.as_str(), job.members, job.group_id), ("grouped", 3, 0));
    assert_eq!(job.description.as_deref(), Some("three of one group"));
    assert_eq!((job.issued, job.unified), ([1800, 450, 0, 0], Unified::Separate));
    let read = &job.dirs[0];
    assert_eq!(
        (read.io_bytes, read.iops, read.runtime.as_millis()),
        (Bytes(7_372_800), 6000.0, 300)
    );
    assert_eq!((read.clat.max, read.clat.mean), (Nanos(3_993_994), 35_594.221667));
    assert_eq!(read.clat.percentiles[1], (99.0, Nanos(209_920)));
    let (kind, intended) = &job.intended[0];
    assert_eq!((*kind, intended.n, intended.max), (DirKind::Read, 1800, Nanos(8_149_155)));
    assert_eq!(report.groups[0].dirs[0].agg_bw, Bytes(24_576_000));
    let extras = &report.extras;
    let shares = extras.generator.as_ref().unwrap().shares.unwrap();
    assert!((shares.share(LoopStage::Waiting) - 0.999363).abs() < 1e-6 && shares.ios() == 234);
    let device = &extras.devices[0];
    assert_eq!((device.name.as_str(), device.dirs[Dir::Read].ios), ("vda", 805));
    assert_eq!(device.issued.unwrap().ios[Dir::Read], 1800);
    let first = &extras.findings[0];
    assert_eq!((first.id.as_str(), first.option.is_some()), ("cache-hits", true));
    assert!(extras.findings.iter().any(|finding| finding.severity > Severity::Note));
}

#[test]
fn many_hosts_of_version_1() {
    let report = read(&stored("v1-hosts.json")).unwrap();
    assert_eq!(report.jobs.len(), 2, "the sum of all hosts would count twice");
    assert!(report.jobs.iter().all(|job| job.name == "a" && job.issued == [256, 0, 0, 0]));
    assert_eq!(report.groups[0].dirs[0].io_bytes, Bytes(2 << 20));
    let found: Vec<(&str, &str)> =
        report.extras.findings.iter().map(|f| (f.id.as_str(), f.what.as_str())).collect();
    assert_eq!(found[0], ("start-skew", "the hosts did not start together: n2 was last"));
    assert!(found[1].1.starts_with("n1: job a made too few reads"), "{found:?}");
    assert_eq!(found.len(), 3);
}

#[test]
fn zones_bins_and_limits_of_version_1() {
    let zoned = read(&stored("v1-zoned.json")).unwrap();
    assert_eq!(zoned.jobs[0].zone_resets, Some(16));
    let bins = read(&stored("v1-bins.json")).unwrap();
    for (job, dir, ios) in [(0, 0, 256), (1, 1, 256)] {
        let clat = &bins.jobs[job].dirs[dir].clat;
        assert_eq!((clat.n, clat.bins.iter().map(|(_, n)| n).sum()), (ios, ios));
        assert!(clat.bins.is_sorted() && clat.bins.len() > 10);
    }
    let limits = read(&stored("v1-limits.json")).unwrap();
    let steady = limits.jobs[0].steady_state.as_ref().unwrap();
    assert!(steady.attained && matches!(steady.kind, SteadyKind::Pts { .. }));
    assert_eq!(steady.iops_data, [999, 1000, 1000, 1000, 1000]);
    let table = &limits.extras.slices[0];
    assert_eq!(
        (table.verdict, table.slices.len(), table.limits[0].over),
        (Verdict::Open, 3, Nanos::from_micros(100))
    );
    let spec = &limits.extras.spec[0];
    assert_eq!((spec.stated, spec.achieved, spec.bytes), (100_000.0, 1000.0, false));
}

#[test]
fn fio_mixes_formats_in_one_file() {
    let report = read(&stored("fio-3.42-two-formats.txt")).unwrap();
    assert!(report.version.starts_with("fio-3.42") && report.schema == 0);
    assert_eq!(report.jobs[0].dirs[0].total_ios, 256);
}

#[test]
fn what_cannot_be_read_is_refused_and_what_is_unknown_is_ignored() {
    let text = stored("v1-bins.json");
    let later = text.replace("\"schema\" : 1", "\"schema\" : 2");
    let error = read(&later).unwrap_err().to_string();
    assert!(error.contains("version 2") && error.contains("To fix:"), "{error}");
    assert!(matches!(read(&text[..text.len() / 2]), Err(ReadError::Invalid(_))));
    assert!(matches!(read("nothing\n"), Err(ReadError::NoDocument)));
    assert!(matches!(read("{\"a\":[]}"), Err(ReadError::NotAReport)));
    let more = text.replace("\"schema\" : 1", "\"schema\" : 1, \"colour\" : [{\"sky\" : null}]");
    assert_eq!(read(&more).unwrap(), read(&text).unwrap());
    // A status report and the final report.
    let interim = text.replacen("\"schema\" : 1", "\"schema\" : 1, \"interim\" : 1", 1);
    let both = read_all(&(interim + &text)).unwrap();
    assert_eq!(both.iter().map(|report| report.extras.interim).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn a_part_of_another_type_is_left_out_alone() {
    let fiord = r#""fiord" : {
        "network" : "none", "ring" : {"sq_thread_wakeups" : 3}, "flash" : {"erases" : "many", "bad_blocks" : 2},
        "replay" : {"timed" : 1, "took_ns" : 5, "lateness_ns" : {"mean" : "late", "max" : 9, "bins" : {"7" : 2, "x" : 1}}},
        "verify" : {"written_bytes" : 4096, "faults" : {"new-class" : {"extents" : 1}, "torn" : {"extents" : 2, "bytes" : ""}}}
    }"#;
    let report = read(&format!(r#"{{"jobs" : [{{"jobname" : "a", {fiord}}}]}}"#)).unwrap();
    let JobReport { engine, replay, verify, .. } = &report.jobs[0];
    assert_eq!((&engine.network, engine.ring.unwrap().sq_thread_wakeups), (&None, 3));
    let flash = engine.flash.unwrap();
    assert_eq!((flash.get(FlashCount::Erases), flash.get(FlashCount::BadBlocks)), (0, 2));
    let replay = replay.as_ref().unwrap();
    let lateness = replay.lateness.as_ref().unwrap();
    assert_eq!((replay.timed, replay.took, lateness.max), (false, Nanos(5), Nanos(9)));
    assert_eq!(lateness.bins, [(Nanos(7), 2)]);
    let verify = verify.as_ref().unwrap();
    assert_eq!((verify.coverage.written, verify.counts().len()), (Bytes(4096), 1));
    assert_eq!(verify.counts()[&FaultClass::Torn].extents(), 2);
}

/// Hosts send each other reports, with keys that JSON leaves out.
#[test]
fn a_device_reaches_another_host_complete() {
    let seen = DeviceDir { ios: 800, merges: 5, bytes: Bytes(100 << 20), mean_ms: 1.5 };
    let issued = Issued {
        ios: PerDir::new(100, 0, 0),
        bytes: PerDir::new(100 << 20, 0, 0).map(Bytes),
        failed_bytes: PerDir::new(4096, 0, 0).map(Bytes),
        depth: Some(7.5),
        ..Issued::default()
    };
    let member = DeviceView { name: "sda".into(), ..DeviceView::default() };
    let known = DeviceView {
        name: "dm-0".into(),
        dirs: PerDir::new(seen, DeviceDir::default(), DeviceDir::default()),
        dir_seconds: PerDir::new(2.5, 0.0, 0.0),
        issued: Some(issued),
        members: vec![member.clone()],
        ..DeviceView::default()
    };
    let idle = DeviceView { issued: Some(Issued::default()), ..member.clone() };
    for view in [known, idle, member] {
        let text = serde_json::to_string(&view).unwrap();
        assert_eq!(serde_json::from_str::<DeviceView>(&text).unwrap(), view);
        let extras = Extras { devices: vec![view], ..Extras::default() };
        assert!(!written(&Report { extras, ..Report::default() }, true).contains("wire:"));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A damaged report is refused, or read and printed in every format.
    #[test]
    fn no_text_causes_a_panic(
        file in 0usize..4,
        changes in prop::collection::vec((any::<Index>(), "[0-9\":,{}\\[\\]e.-]{0,9}"), 1..6),
    ) {
        let text = stored(["v1-grouped.json", "v1-zoned.json", "v1-bins.json", "v1-limits.json"][file]);
        // A number in the place of another, and bytes in the place of others.
        let numbers = |text: &str, at: &Index, number: &str| {
            let starts: Vec<usize> = text.match_indices(" : ").map(|(at, _)| at + 3).collect();
            let start = starts[at.index(starts.len())];
            let length = text[start..].find([',', '\n']).unwrap_or(0);
            format!("{}{number}{}", &text[..start], &text[start + length..])
        };
        let (at, _) = &changes[0];
        let mut bytes = text.clone().into_bytes();
        for (at, new) in &changes {
            let at = at.index(bytes.len());
            bytes.splice(at..(at + new.len()).min(text.len()), new.bytes());
        }
        let damaged = String::from_utf8_lossy(&bytes).into_owned();
        for text in [numbers(&text, at, "18446744073709551615"), numbers(&text, at, "-1e308"), damaged] {
            let Ok(report) = read(&text) else { continue };
            written(&report, true);
            fiord_report::normal(&report, &mut Vec::new()).unwrap();
            fiord_report::terse(&report, fiord_report::TerseVersion::V5, &mut Vec::new()).unwrap();
        }
    }
}
