//! Terse lines of fio 3.42 and of fiord are read.

use fiord_report::{TerseVersion, read, terse};
use fiord_stat::report::{DirKind, Report, Unified};
use fiord_types::{Bytes, Errno, Nanos};
use proptest::prelude::*;
use proptest::sample::Index;

fn golden() -> std::path::PathBuf {
    std::path::PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../compat/golden"))
}

fn stored(name: &str) -> String {
    std::fs::read_to_string(golden().join(name)).expect("the file is stored")
}

fn written(report: &Report, version: u32) -> String {
    let mut out = Vec::new();
    let version = TerseVersion::from_number(version).unwrap();
    terse(report, version, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("it is text")
}

#[test]
fn a_line_that_was_read_is_written_as_it_was() {
    let mut lines = 0;
    for case in std::fs::read_dir(golden()).unwrap() {
        for version in [3, 4, 5] {
            let path = case.as_ref().unwrap().path().join(format!("terse{version}"));
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            let wanted: String = text
                .lines()
                .filter(|line| line.starts_with(&format!("{version};")))
                .map(|line| format!("{line}\n"))
                .collect();
            match read(&text) {
                Ok(report) => assert_eq!(written(&report, version), wanted, "{}", path.display()),
                Err(_) => assert_eq!(wanted, "", "{}", path.display()),
            }
            lines += wanted.lines().count();
        }
    }
    assert!(lines > 50, "{lines} lines");
}

#[test]
fn the_fields_of_every_version() {
    for version in [3, 4, 5] {
        let report = read(&stored(&format!("randread-libaio-qd16-direct/terse{version}"))).unwrap();
        assert!(report.version.starts_with("fio-3.42") && report.schema == 0);
        let job = &report.jobs[0];
        let dir = &job.dirs[0];
        assert_eq!((dir.kind, job.unified), (DirKind::Read, Unified::Separate));
        assert_eq!(job.dirs.len(), if version == 3 { 2 } else { 3 });
        assert!(dir.iops > 1.0 && dir.bw > Bytes(1024) && dir.runtime > Nanos::ZERO);
        let expected = dir.io_bytes.0 as f64 / dir.bw.0 as f64 * dir.iops;
        assert!((dir.total_ios as f64 / expected - 1.0).abs() < 0.02, "{dir:?}");
        assert_eq!(dir.clat.percentiles.len(), 17);
        assert!(dir.clat.percentiles.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1));
        assert!(dir.clat.mean > 1000.0 && dir.clat.max.0 as f64 >= dir.clat.mean);
        assert_eq!(report.groups[0].dirs[0].io_bytes, dir.io_bytes);
    }
}

#[test]
fn one_row_is_that_of_all_directions() {
    for (case, unified, rows) in
        [("unified-mixed", Unified::Mixed, [1, 1]), ("unified-both", Unified::Both, [3, 4])]
    {
        for (version, rows) in [(3, rows[0]), (5, rows[1])] {
            let report = read(&stored(&format!("{case}/terse{version}"))).unwrap();
            let job = &report.jobs[0];
            assert_eq!((job.unified, job.dirs.len()), (unified, rows), "{case} {version}");
            assert_eq!(job.dirs.last().unwrap().kind, DirKind::Mixed);
        }
    }
}

/// The line of a job with two directions, up to the end of the latency buckets.
fn line(name: &str, end: &str) -> String {
    let dir = ";1024;512;128;2000;1;2;1.5;0.5;10;900;40.25;5;50.000000%=40;99.000000%=77"
        .to_owned()
        + &";0%=0".repeat(18)
        + ";11;901;41;5;500;520;50.000000%;510.000000;5.000000";
    let shares = ";0.0%".repeat(7) + &";0.00%".repeat(22);
    format!("3;fio-3.36;{name};4;5{dir}{dir};1.5%;2.5%;7;8;9{shares}{end}\n")
}

#[test]
fn names_and_descriptions_may_contain_semicolons() {
    let disk = ";sda;1;2;3;4;5;6;7;8.50%";
    let members = ";slaves;1;2;3;4;5;6;7;8.50%";
    let text = line("a;b", &format!("{disk}{members};2;110;about; it"));
    let report = read(&text).unwrap();
    let job = &report.jobs[0];
    assert_eq!((job.name.as_str(), job.group_id), ("a;b", 4));
    assert_eq!((job.error, job.failed), (Some(Errno::from_raw(5)), false));
    assert_eq!(job.description.as_deref(), Some("about; it"));
    let errors = job.errors.as_ref().unwrap();
    assert_eq!((errors.total, errors.first), (2, Some(Errno::from_raw(110))));
    assert_eq!(report.disks.len(), 1);
    assert_eq!((report.disks[0].counts.merges, report.disks[0].counts.util), ([3, 4], 8.5));
    assert!(report.disks[0].aggregate.is_some());
    let read_row = &job.dirs[0];
    assert_eq!((read_row.io_bytes, read_row.total_ios), (Bytes(1 << 20), 256));
    assert_eq!(read_row.clat.percentiles[1], (99.0, Nanos::from_micros(77)));
    assert_eq!((read_row.clat.mean, read_row.lat.mean), (40_250.0, 41_000.0));
    assert_eq!((job.ctx, job.issued), (7, [256, 256, 0, 0]));
}

#[test]
fn several_lines_are_one_report_and_other_lines_are_ignored() {
    let text = format!("note: a text\n{}{}\n3;short\n", line("a", ""), line("b", ";words"));
    let report = read(&text).unwrap();
    let names: Vec<&str> = report.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    assert_eq!(report.jobs[1].description.as_deref(), Some("words"));
    assert_eq!(report.groups[0].dirs[0].io_bytes, Bytes(2 << 20));
}

#[test]
fn the_description_of_version_2_has_a_line_of_its_own() {
    let text = line("a", "").replacen("3;fio-3.36;", "2;", 1) + ";about; it\n";
    let report = read(&text).unwrap();
    assert_eq!(report.jobs[0].description.as_deref(), Some("about; it"));
    assert_eq!((report.jobs[0].name.as_str(), report.version.as_str()), ("a", ""));
}

#[test]
fn percentiles_of_total_latencies() {
    let text = line("a", "").replace(";10;900;40.25;5;", ";0;0;0.000000;0.000000;");
    let row = &read(&text).unwrap().jobs[0].dirs[0];
    assert_eq!((row.clat.percentiles.len(), row.lat.percentiles.len()), (0, 2));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A damaged line is ignored, or read and printed in every format.
    #[test]
    fn no_text_causes_a_panic(
        case in prop::sample::select(&["unified-both", "numjobs2-nogroup", "continue-on-error"]),
        version in 3u32..6,
        changes in prop::collection::vec((any::<Index>(), "[0-9;%=.-]{0,9}"), 1..6),
    ) {
        let mut bytes = stored(&format!("{case}/terse{version}")).into_bytes();
        for (at, new) in &changes {
            let at = at.index(bytes.len());
            bytes.splice(at..(at + new.len()).min(bytes.len()), new.bytes());
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let huge = text.replace("0.000000", "18446744073709551615");
        for text in [text, huge] {
            let Ok(report) = read(&text) else { continue };
            fiord_report::json_plus(&report, &mut Vec::new()).unwrap();
            fiord_report::normal(&report, &mut Vec::new()).unwrap();
            for version in 2..=5 {
                written(&report, version);
            }
        }
    }
}
