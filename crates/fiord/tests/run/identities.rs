//! Tests that numbers in a report that count the same I/Os in different ways are equal: in loops compiled for
//! common measurements, in loops that decide at run time, and in sampled rounds, which occur in runs longer
//! than a few milliseconds.

use serde_json::Value;

use crate::fiord::Place;

/// Options of measurements, and the kinds of latency that a report then has, with or without percentiles.
const MEASURED: [(&str, [bool; 3], [bool; 3]); 7] = [
    ("", [true, true, true], [false, true, false]),
    (
        "--slat_percentiles=1 --clat_percentiles=1 --lat_percentiles=1",
        [true, true, true],
        [true, true, true],
    ),
    ("--clat_percentiles=0", [true, true, true], [false, false, false]),
    ("--disable_clat=1 --lat_percentiles=1", [true, false, true], [false, false, true]),
    ("--disable_clat=1 --disable_slat=1", [false, false, true], [false, false, false]),
    ("--disable_lat=1 --disable_slat=1", [false, true, false], [false, true, false]),
    ("--gtod_reduce=1", [false, false, false], [false, false, false]),
];

const KINDS: [&str; 3] = ["slat_ns", "clat_ns", "lat_ns"];

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a count"))
}

/// Checks one direction of a job whose I/Os have all completed, and returns their number.
fn check(dir: &Value, at_once: bool, measured: [bool; 3], binned: [bool; 3], what: &str) -> u64 {
    let ios = number(&dir["io_bytes"]) / 4096;
    assert_eq!(number(&dir["io_bytes"]), ios * 4096, "{what}");
    for (kind, (measured, binned)) in KINDS.into_iter().zip(measured.into_iter().zip(binned)) {
        let none = !measured || at_once && kind == "slat_ns";
        let n = number(&dir[kind]["N"]);
        assert_eq!(n, if none { 0 } else { ios }, "{kind} of {what}");
        let bins = dir[kind]["bins"].as_object();
        let sum: u64 = bins.iter().flat_map(|bins| bins.values()).map(number).sum();
        assert_eq!(sum, if none || !binned { 0 } else { ios }, "bins of {kind} of {what}");
    }
    ios
}

/// Checks a job's entry in a report.
fn check_job(job: &Value, at_once: bool, (measured, binned): ([bool; 3], [bool; 3]), what: &str) {
    for dir in ["read", "write"] {
        assert!(check(&job[dir], at_once, measured, binned, what) > 0, "{dir} of {what}");
    }
    let sum = |keys: &[&str]| -> f64 {
        let levels = keys.iter().flat_map(|key| job[key].as_object().unwrap().values());
        levels.map(|share| share.as_f64().unwrap()).sum()
    };
    // Not exactly 100: a share above zero is printed as at least the smallest number that the format can
    // show.
    let depths = sum(&["iodepth_level"]);
    assert!((depths - 100.0).abs() < 1.0, "depths of {what}: {depths}");
    let buckets = sum(&["latency_ns", "latency_us", "latency_ms"]);
    let expected = if measured[1] { 100.0 } else { 0.0 };
    assert!((buckets - expected).abs() < 1.0, "latency buckets of {what}: {buckets}");
}

/// Whether there is an I/O of each direction. On a busy machine, the first report, and only that one, may
/// come before it.
fn has_begun(report: &Value) -> bool {
    ["read", "write"].iter().all(|dir| number(&report["jobs"][0][dir]["io_bytes"]) > 0)
}

#[test]
fn what_is_counted_in_several_ways_is_counted_alike() {
    let place = Place::new();
    place.write("f", vec![1; 1 << 20]);
    for (engine, depth) in [("psync", 1), ("io_uring", 4), ("null", 1), ("null", 4)] {
        for (options, measured, binned) in MEASURED {
            let line = format!(
                "--output-format=json+ --name=a --filename=f --size=1m --ioengine={engine} \
                 --iodepth={depth} --rw=randrw --bs=4k --time_based --runtime=150ms \
                 --findings=off --status-interval=60ms {options}"
            );
            let reports = place.run(&line).ok().documents();
            assert!(reports.len() > 1, "{line}");
            for (i, report) in reports.iter().skip_while(|report| !has_begun(report)).enumerate() {
                let what = format!("report {i} of {line}");
                // A running job has I/Os in flight: fio counts them as issued, and they have not completed.
                let most = if report["fiord"]["interim"] == 1 { depth } else { 0 };
                let in_flight = ["read", "write"].map(|dir| {
                    let dir = &report["jobs"][0][dir];
                    number(&dir["total_ios"]) - number(&dir["io_bytes"]) / 4096
                });
                assert!(in_flight.iter().sum::<u64>() <= most, "{in_flight:?} of {what}");
                check_job(&report["jobs"][0], depth == 1, (measured, binned), &what);
            }
        }
    }
}

#[test]
fn every_report_says_what_was_issued() {
    let place = Place::new();
    place.write("f", vec![1; 1 << 20]);
    for engine in ["psync", "pvsync2", "vsync", "mmap", "null", "io_uring"] {
        let ran = place.run(&format!(
            "--name=a --filename=f --size=1m --ioengine={engine} --rw=randread --bs=4k \
             --time_based --runtime=250ms --status-interval=100ms"
        ));
        let out = ran.ok().out;
        let issued: Vec<u64> = out
            .lines()
            .filter_map(|line| line.trim().strip_prefix("issued rwts: total="))
            .map(|rest| rest.split(',').next().unwrap().parse().unwrap())
            .collect();
        assert!(issued.len() > 1, "{engine}: {out}");
        // Reports before the first I/O come first: the counts of later ones never fall.
        assert!(issued.is_sorted() && issued.last() > Some(&0), "{engine}: {issued:?}");
        let empty = issued.iter().filter(|issued| **issued == 0).count();
        let no_depths = out.matches("IO depths    : 1=0.0%").count();
        assert_eq!(no_depths, empty, "{engine}: {out}");
    }
}
