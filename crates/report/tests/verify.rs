//! Results of verification in the text for people and in JSON.

use fiord_formats::integrity::diagnosis::*;
use fiord_formats::integrity::recheck::RereadConclusion;
use fiord_formats::integrity::sector::{RunId, SectorWriter, TargetId};
use fiord_stat::report::{DirKind, DirReport, JobReport, LatencySummary, RateSummary, Report};
use fiord_stat::verify::{Unverified, VerifyResults};
use fiord_types::{Bytes, Errno, Nanos};

/// One of each class.
fn diagnoses() -> Vec<Diagnosis> {
    let found = SectorWriter { job: 1, number: 20 };
    let missing = Some(SectorWriter { job: 1, number: 50 });
    let tear = |order, unit, at| {
        Diagnosis::Torn(Tear { write: Bytes(1 << 20), at: Bytes(at), order, unit, boundaries: 1 })
    };
    let flip = |at, found| FlippedBits { at: Bytes(at), expected: 0x40, found };
    let flips = |count, units, first| {
        let first: Vec<FlippedBits> = first;
        let lines = 0x10_0000_0000;
        Diagnosis::BitFlips(BitFlips { count, ones: count, lines, units, uniform: true, first })
    };
    let unknown = |first_difference| {
        Diagnosis::Unrecognized(Unrecognized { first_bytes: [0x5a; 16], first_difference })
    };
    let misdirected =
        |foreign| Diagnosis::Misdirected(Misdirection { other: Bytes(65536), foreign });
    vec![
        Diagnosis::ReadError { errno: Errno::EIO },
        Diagnosis::Blank { ones: false },
        Diagnosis::Blank { ones: true },
        Diagnosis::EarlierRun { run: Some(RunId::new(1_700_000_000, 7)), belongs: None },
        Diagnosis::EarlierRun { run: None, belongs: Some(Bytes(512)) },
        Diagnosis::OtherTarget { target: TargetId(0x1234), belongs: Bytes(512) },
        misdirected(true),
        misdirected(false),
        Diagnosis::Stale(Staleness {
            generations: Some(1),
            found,
            missing,
            promise: Promise::Flushed,
        }),
        Diagnosis::Stale(Staleness {
            generations: None,
            found,
            missing: None,
            promise: Promise::Unknown,
        }),
        tear(TearOrder::HeadNew, TearUnit::Page, 8192),
        tear(TearOrder::TailNew, TearUnit::Byte, 100),
        flips(1, 1, vec![flip(100, 0x41)]),
        flips(5, 5, vec![flip(100, 0x41), flip(612, 0x41)]),
        Diagnosis::Shifted { by: -3 },
        Diagnosis::Swapped { with: Bytes(65536) },
        Diagnosis::OtherJob { found },
        unknown(None),
        unknown(Some(Bytes(200))),
    ]
}

fn report() -> Report {
    let mut results = VerifyResults::default();
    results.coverage.written = Bytes(1 << 20);
    results.coverage.verified = Bytes(1 << 19);
    results.coverage.skip(Unverified::RuntimeEnded, Bytes(1 << 18));
    results.coverage.skip(Unverified::Trimmed, Bytes(1 << 18));
    for (i, diagnosis) in diagnoses().into_iter().enumerate() {
        let start = Bytes(1 << 20).saturating_add(Bytes(i as u64 * 8192));
        let extent = BadExtent { start, length: Bytes(4096), diagnosis };
        results.add("/dev/sdx", extent, RereadConclusion::ALL.get(i).copied());
    }
    (0..12).for_each(|i| {
        let diagnosis = Diagnosis::Blank { ones: false };
        let start = Bytes(1 << 30).saturating_add(Bytes(i * 8192));
        results.add("/dev/sdx", BadExtent { start, length: Bytes(512), diagnosis }, None);
    });
    results.finish();
    let none = LatencySummary::default;
    let dir = DirReport {
        kind: DirKind::Read,
        io_bytes: Bytes(4096),
        bw: Bytes(4096),
        iops: 1.0,
        runtime: Nanos::from_secs(1),
        total_ios: 1,
        short_ios: 0,
        drop_ios: 0,
        slat: none(),
        clat: none(),
        lat: none(),
        priorities: Vec::new(),
        bw_samples: RateSummary::default(),
        iops_samples: RateSummary::default(),
    };
    let job = JobReport {
        name: "v".into(),
        verify: Some(results),
        dirs: vec![dir],
        ..JobReport::default()
    };
    Report { jobs: vec![job], ..Report::default() }
}

fn written(write: impl Fn(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("it is text")
}

#[test]
fn text_of_all_classes() {
    let text = written(|out| fiord_report::normal(&report(), out));
    let ours = text.find("  fiord: verify").expect("a section of its own");
    let end = text.find("\nRun status").unwrap_or(text.len());
    insta::assert_snapshot!(&text[ours..end]);
}

#[test]
fn json_of_all_classes() {
    let text = written(|out| fiord_report::json(&report(), out));
    fiord_golden::json::Json::parse(&text).expect("it is JSON");
    let ours = text.find("\"verify\" : {").expect("a key of its own");
    insta::assert_snapshot!(&text[ours..]);
}

#[test]
fn json_is_read_as_written() {
    let report = report();
    let text = written(|out| fiord_report::json(&report, out));
    let read = fiord_report::read(&text).expect("it was written here");
    let (read, written) = (&read.jobs[0].verify, &report.jobs[0].verify);
    let (read, written) = (read.as_ref().expect("results"), written.as_ref().expect("results"));
    assert_eq!(read.coverage, written.coverage);
    assert_eq!(read.counts(), written.counts());
    assert_eq!(read.extents(), written.extents());
}

/// Earlier versions did not state the sizes of files.
#[test]
fn sizes_of_files_are_read_if_they_are_there() {
    let mut report = report();
    let sizes = |text: &str| {
        let read = fiord_report::read(text).expect("it was written here");
        let results = read.jobs[0].verify.clone().expect("results");
        results.extents().iter().map(|extent| extent.file_size).collect::<Vec<_>>()
    };
    let before = written(|out| fiord_report::json(&report, out));
    assert!(!before.contains("file_size") && sizes(&before).iter().all(Option::is_none));
    let results = report.jobs[0].verify.as_mut().expect("results");
    results.state_sizes(|file| (file == "/dev/sdx").then_some(Bytes(1 << 40)));
    let now = written(|out| fiord_report::json(&report, out));
    assert!(sizes(&now).iter().all(|size| *size == Some(Bytes(1 << 40))), "{now}");
}

/// Jobs that do not verify have no such section, and terse output never has.
#[test]
fn without_results_there_is_no_section() {
    let mut report = report();
    let terse = written(|out| fiord_report::terse(&report, fiord_report::TerseVersion::V3, out));
    report.jobs[0].verify = None;
    assert_eq!(
        terse,
        written(|out| fiord_report::terse(&report, fiord_report::TerseVersion::V3, out))
    );
    assert!(!written(|out| fiord_report::normal(&report, out)).contains("verify"));
    assert!(!written(|out| fiord_report::json(&report, out)).contains("verify"));
}
