//! Tests of percentiles of known distributions, as the binary prints them.

use crate::fiord::Place;

/// I/Os of a run with a random latency: seconds of virtual time, a moment of real time.
const SAMPLES: u64 = 200_000;

/// Runs a job on the simulated device and compares every percentile with the distribution: `quantile` maps a
/// share to a latency, and `slope` is its derivative.
///
/// fiord prints the middle of a bucket. There are 64 buckets per power of two, so the width of a bucket is at most a
/// 64th of its values. The quantile of a sample also varies by chance; the device has a fixed seed, so every
/// run has the same result.
#[track_caller]
fn check(
    (latency, samples): (&str, u64),
    quantile: impl Fn(f64) -> f64,
    slope: impl Fn(f64) -> f64,
) {
    let place = Place::new();
    let line = format!(
        "--output-format=json --name=j --ioengine=sim --sim_latency={latency} --sim_seed=7 \
         --rw=randread --norandommap --bs=4k --size=1g --number_ios={samples} --io_size=1t \
         --lat_percentiles=1 --percentile_list=1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9"
    );
    let document = place.run(&line).ok().json();
    let read = &document["jobs"][0]["read"];
    assert_eq!(read["total_ios"].as_u64(), Some(samples));
    for kind in ["clat_ns", "lat_ns"] {
        let list = read[kind]["percentile"].as_object().unwrap();
        assert_eq!(list.len(), 15);
        for (percent, printed) in list {
            let share: f64 = percent.parse::<f64>().unwrap() / 100.0;
            let (printed, expected) = (printed.as_f64().unwrap(), quantile(share));
            let bucket = expected / 64.0;
            let deviation = (share * (1.0 - share) / samples as f64).sqrt() * slope(share);
            assert!(
                (printed - expected).abs() <= bucket + 3.0 * deviation,
                "{latency} {kind} {percent}: {printed}, should be {expected}"
            );
        }
    }
}

#[test]
fn constant() {
    check(("constant:100us", 2000), |_| 100e3, |_| 0.0);
    check(("constant:7ms", 2000), |_| 7e6, |_| 0.0);
}

#[test]
fn uniform() {
    check(("uniform:20us:220us", SAMPLES), |p| 20e3 + 200e3 * p, |_| 200e3);
}

#[test]
fn exponential() {
    check(("exponential:150us", SAMPLES), |p| -150e3 * (1.0 - p).ln(), |p| 150e3 / (1.0 - p));
}
