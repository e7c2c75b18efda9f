use proptest::prelude::*;

use super::*;
use crate::recorder::{Recorder, Times, axes};

const MS: u64 = 1_000_000;

fn complete(recorder: &mut Recorder, us: u64) {
    let ns = Nanos::from_micros(us);
    let times = Times { slat: Nanos::ZERO, clat: ns, lat: ns };
    recorder.complete::<{ axes::ASYNC }>(Dir::Read, Bytes(4096), times);
}

/// Samples of a job that begins at `begin` ms and completes an I/O each `every` ms until `end` ms.
fn job(begin: u64, end: u64, every: u64) -> Samples {
    let mut recorder = Recorder::new(axes::ASYNC, &[Dir::Read]);
    let mut sampler =
        SampleRecorder::begin(Nanos(begin * MS), Nanos::ZERO, WindowLimit::in_run_of(1));
    for ms in (begin + every..=end).step_by(every as usize) {
        complete(&mut recorder, ms % 50 + 1);
        if sampler.due() <= Nanos(ms * MS) {
            sampler.sample(Nanos(ms * MS), &recorder);
        }
    }
    sampler.sample(Nanos(end * MS), &recorder);
    sampler.samples().clone()
}

fn totals(samples: &Samples) -> (u64, u64, u64) {
    let reads = samples.dir(Dir::Read).iter();
    reads.fold((0, 0, 0), |(ios, bytes, n), sample| {
        (ios + sample.ios(), bytes + sample.bytes().0, n + sample.latencies().count())
    })
}

#[test]
fn windows_lie_on_the_grid_and_cover_the_job() {
    let samples = job(40, 1000, 5);
    let spans: Vec<_> = samples.spans().collect();
    assert_eq!(spans[0], (Nanos(40 * MS), MIN_WINDOW * 2));
    assert_eq!(spans.last().unwrap().1, Nanos(1000 * MS));
    assert!(spans.windows(2).all(|pair| pair[0].1 == pair[1].0), "{spans:?}");
    assert_eq!(spans.len(), 31);
    assert_eq!(totals(&samples), (192, 192 * 4096, 192));
}

#[test]
fn a_long_job_has_a_bounded_number_of_longer_windows() {
    let samples = job(0, 100_000, 10);
    assert_eq!(samples.window(), Nanos::from_millis(500));
    assert_eq!(samples.spans().len(), 200);
    assert!(samples.dir(Dir::Read).iter().all(|sample| (49..=51).contains(&sample.ios())));
    assert_eq!(totals(&samples).0, 10_000);
}

#[test]
fn a_stall_leaves_windows_without_ios() {
    let mut recorder = Recorder::new(axes::ASYNC, &[Dir::Read]);
    let mut sampler = SampleRecorder::begin(Nanos::ZERO, Nanos::ZERO, WindowLimit::in_run_of(1));
    complete(&mut recorder, 10);
    sampler.sample(Nanos(40 * MS), &recorder);
    complete(&mut recorder, 500_000);
    sampler.sample(Nanos(540 * MS), &recorder);
    complete(&mut recorder, 10);
    sampler.sample(Nanos(600 * MS), &recorder);
    let ios: Vec<u64> = sampler.samples().dir(Dir::Read).iter().map(WindowSample::ios).collect();
    assert_eq!(ios[..2], [1, 1]);
    assert_eq!(ios[17], 1);
    assert_eq!(ios.iter().sum::<u64>(), 3);
}

#[test]
fn the_ramp_is_sampled_and_marked() {
    let mut recorder = Recorder::new(axes::ASYNC, &[Dir::Read]);
    let mut sampler = SampleRecorder::begin(Nanos::ZERO, Nanos::ZERO, WindowLimit::in_run_of(1));
    (0..5).for_each(|_| complete(&mut recorder, 10));
    sampler.sample(Nanos(50 * MS), &recorder);
    sampler.restart(Nanos(50 * MS));
    recorder.reset();
    complete(&mut recorder, 10);
    sampler.sample(Nanos(100 * MS), &recorder);
    assert_eq!(sampler.samples().measured(), Nanos(50 * MS));
    assert_eq!(totals(sampler.samples()), (6, 6 * 4096, 6));
}

#[test]
fn samples_of_a_job_that_did_nothing_are_left_out_of_its_data() {
    let data = crate::job::JobData::default();
    assert!(!data.to_json().contains("begin_ns\":0,\"measured"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn merging_adds_exactly_and_keeps_the_order(
        jobs in prop::collection::vec((0u64..20_000, 1u64..20_000, 1u64..40), 1..5)
    ) {
        let all: Vec<Samples> =
            jobs.iter().map(|(begin, length, every)| job(*begin, begin + length, *every)).collect();
        let mut sum = Samples::default();
        all.iter().for_each(|samples| sum.merge(samples));
        let mut other_way = Samples::default();
        all.iter().rev().for_each(|samples| other_way.merge(samples));
        prop_assert_eq!(&sum, &other_way);
        let parts = all.iter().map(totals).fold((0, 0, 0), |a, b| (a.0 + b.0, a.1 + b.1, a.2 + b.2));
        prop_assert_eq!(totals(&sum), parts);
        prop_assert!(sum.spans().len() <= MAX_WINDOWS);
        prop_assert!(sum.dir(Dir::Read).len() <= sum.spans().len());
    }

    #[test]
    fn stored_samples_are_read_back(begin in 0u64..5000, length in 1u64..30_000, every in 1u64..50) {
        let samples = job(begin, begin + length, every);
        let text = serde_json::to_string(&samples).unwrap();
        prop_assert_eq!(serde_json::from_str::<Samples>(&text).unwrap(), samples);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[A-Za-z0-9+/]{0,40}={0,2}", ios in prop::collection::vec(0u64..9, 0..9)) {
        let stored = serde_json::json!({
            "begin_ns": 0, "measured_ns": 0, "end_ns": 281_250_000, "window_ns": 31_250_000,
            "read": { "ios": ios, "bytes": ios, "latencies": text },
        });
        let _ = serde_json::from_value::<Samples>(stored);
    }

    #[test]
    fn a_percentile_is_within_its_bucket(mut values in prop::collection::vec(1u64..10_000_000_000, 1..200)) {
        let latencies = SampleLatencies::of_values(values.iter().map(|ns| Nanos(*ns)));
        values.sort_unstable();
        for percent in [0.0, 50.0, 90.0, 99.0, 100.0] {
            let rank = (percent / 100.0 * values.len() as f64).ceil().max(1.0) as usize;
            let exact = values[rank - 1] as f64;
            let found = latencies.percentile(percent).unwrap().as_f64();
            prop_assert!((found - exact).abs() <= exact / 8.0 + 4.0, "{percent}: {found} for {exact}");
        }
    }
}
