//! The statistics agree with published tables and with scipy (`data/scipy_values.py` recorded the values).

use fiord_compare::bootstrap::{ComparedWindow, Resampler, SplitMix};
use fiord_compare::distribution::{normal_tail, normal_upper, student_tail, student_upper};
use fiord_compare::few::{mean_shift, pooled_deviation};
use fiord_compare::metric::{CompareMetric, Percent};
use fiord_compare::multiple::holm;
use fiord_compare::needed::{fewest_runs, runs_needed};
use fiord_compare::rank::{mann_whitney, median, ratio_interval, smallest_p};
use fiord_stat::samples::SampleLatencies;
use fiord_types::Nanos;
use proptest::prelude::*;
use serde_json::Value;

fn recorded() -> Value {
    serde_json::from_str(include_str!("data/scipy_values.json")).expect("it is JSON")
}

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

fn near(left: f64, right: f64, error: f64) -> bool {
    (left - right).abs() <= error * right.abs().max(1e-12)
}

#[test]
fn distributions_agree_with_scipy() {
    let recorded = recorded();
    for row in recorded["normal"].as_array().unwrap() {
        let (z, p) = (number(&row[0]), number(&row[1]));
        assert!(near(normal_tail(z), p, 1e-7), "{z}: {} and not {p}", normal_tail(z));
        if p > 1e-9 {
            assert!((normal_upper(p) - z).abs() < 1e-5, "{p}: {}", normal_upper(p));
        }
    }
    for row in recorded["student"].as_array().unwrap() {
        let (t, df, p) = (number(&row[0]), number(&row[1]), number(&row[2]));
        let own = student_tail(t, df);
        assert!(near(own, p, 1e-7), "{t} with {df}: {own} and not {p}");
        if p > 1e-9 {
            assert!((student_upper(p, df) - t).abs() < 1e-4 * t.abs().max(1.0), "{t} with {df}");
        }
    }
}

#[test]
fn tests_of_runs_agree_with_scipy() {
    let recorded = recorded();
    let cases = recorded["cases"].as_array().unwrap();
    assert!(cases.len() > 25);
    for case in cases {
        let (a, b) = (floats(&case["a"]), floats(&case["b"]));
        let test = mann_whitney(&a, &b);
        assert_eq!(test.u, number(&case["u"]), "{case}");
        assert!(near(test.p_larger, number(&case["larger"]), 1e-7), "{test:?} {case}");
        assert!(near(test.p_smaller, number(&case["smaller"]), 1e-7), "{test:?} {case}");
        let shift = mean_shift(&a, &b, 0.0).unwrap();
        assert!(near(shift.freedom, number(&case["welch_df"]), 1e-9), "{shift:?} {case}");
        assert!(near(shift.p_above(0.0), number(&case["welch_larger"]), 1e-6), "{shift:?}");
        let (low, high) = shift.interval(0.95);
        let wanted = floats(&case["welch_interval"]);
        assert!(near(low, wanted[0], 1e-5) && near(high, wanted[1], 1e-5), "{low} {high} {case}");
    }
}

#[test]
fn corrections_agree() {
    for row in recorded()["holm"].as_array().unwrap() {
        let (raw, wanted) = (floats(&row[0]), floats(&row[1]));
        let some: Vec<Option<f64>> = raw.iter().map(|p| Some(*p)).collect();
        for (own, wanted) in holm(&some).iter().zip(wanted) {
            assert!(near(own.unwrap(), wanted, 1e-12));
        }
    }
    assert_eq!(holm(&[None, Some(0.04), None]), [None, Some(0.04), None]);
}

/// Two-sided critical values of U at 5 %, which most textbooks have (Lehmann, "Nonparametrics", table B).
const CRITICAL: [(usize, usize, usize); 9] = [
    (4, 4, 0),
    (5, 5, 2),
    (5, 8, 6),
    (6, 6, 5),
    (7, 9, 12),
    (8, 8, 13),
    (10, 10, 23),
    (15, 15, 64),
    (20, 20, 127),
];

#[test]
fn critical_values_of_published_tables() {
    for (n, m, critical) in CRITICAL {
        let p = |u: usize| {
            let a: Vec<f64> = (0..n).map(|i| i as f64 * 2.0).collect();
            // The number of values of a below each value of b is chosen so that U is as wanted.
            let mut left = u;
            let mut place = |i: usize| {
                let over = left.min(n);
                left -= over;
                over as f64 * 2.0 - 1.0 + i as f64 * 1e-9
            };
            let b: Vec<f64> = (0..m).map(&mut place).collect();
            let test = mann_whitney(&a, &b);
            assert_eq!(test.u, u as f64);
            2.0 * test.p_smaller
        };
        assert!(p(critical) <= 0.05 && p(critical + 1) > 0.05, "{n} {m}");
    }
}

#[test]
fn intervals_leave_out_as_many_ratios_as_the_test_rejects() {
    let a = [1.0, 2.0, 3.0, 4.0, 5.0];
    let b = [10.0, 20.0, 30.0, 40.0, 50.0];
    let mut ratios: Vec<f64> = b.iter().flat_map(|b| a.iter().map(move |a| b / a)).collect();
    ratios.sort_by(f64::total_cmp);
    // The critical value of five and five is 2: the third ratio from each end.
    assert_eq!(ratio_interval(&a, &b, 0.95), Some((ratios[2], ratios[22])));
    assert_eq!(ratio_interval(&a[..3], &b[..3], 0.95), None);
}

#[test]
fn numbers_of_runs() {
    assert!(near(smallest_p(5, 5), 2.0 / 252.0, 1e-12));
    let fewest = [1, 6, 7].map(|results| fewest_runs(0.05, results));
    assert_eq!(fewest, [5, 5, 6]);
    // 2 (1.960 + 0.842)² (5 / 5)² π / 3 = 16.4.
    assert_eq!(runs_needed(0.05, 0.05, 0.05, 1), Some(17));
    assert_eq!(runs_needed(0.5, 0.05, 0.05, 1), Some(5));
    assert_eq!(runs_needed(0.0, 0.05, 0.05, 1), None);
    let pooled = pooled_deviation(&[&[1.0, 1f64.exp()], &[2.0]]).unwrap();
    assert!(near(pooled, 0.5f64.sqrt(), 1e-12));
}

#[test]
fn medians() {
    assert_eq!((median(&[3.0, 1.0, 2.0]), median(&[4.0, 1.0, 2.0, 3.0])), (2.0, 2.5));
    assert!(median(&[]).is_nan());
}

#[test]
fn a_single_value_is_compared_with_several() {
    let shift = mean_shift(&[100.0, 101.0, 99.0], &[150.0], 0.0).unwrap();
    assert_eq!(shift.freedom, 2.0);
    assert!(shift.p_above(0.0) < 0.001);
    assert!(mean_shift(&[1.0], &[2.0], 0.0).is_none());
    // Equal values that were read from a coarse histogram are not certain.
    let exact = mean_shift(&[100.0, 100.0], &[101.0, 101.0], 0.0).unwrap();
    let coarse = mean_shift(&[100.0, 100.0], &[101.0, 101.0], 0.0045).unwrap();
    assert!(exact.p_above(0.0) == 0.0 && coarse.p_above(0.0) > 0.05);
}

/// Windows whose rate is an autoregressive process: each keeps 0.9 of the deviation of the window before it.
fn windows(seed: u64, count: usize) -> Vec<ComparedWindow> {
    let mut random = SplitMix::new(seed);
    let mut deviation = 0.0;
    let mut one = |_| {
        deviation = 0.9 * deviation + 0.0436 * random.normal();
        let ios = 1000.0 * (1.0 + deviation);
        let latencies = [1000.0, 2000.0].map(|ns| Nanos((ns / (1.0 + deviation)) as u64));
        let latencies = SampleLatencies::of_values(latencies);
        ComparedWindow { ios, bytes: ios * 4096.0, seconds: 1.0, latencies }
    };
    (0..count).map(&mut one).collect()
}

#[test]
fn blocks_of_windows_vary_as_much_as_correlated_windows_do() {
    let median_latency = CompareMetric::Percentile(Percent::new(50.0).unwrap());
    let metrics = [CompareMetric::Iops, CompareMetric::Bandwidth, median_latency];
    let (mut errors, mut means) = (Vec::new(), Vec::new());
    for seed in 0..40 {
        let resampler = Resampler::new(&windows(seed, 256)).unwrap();
        assert!(resampler.block() > 6.3, "{}", resampler.block());
        means.push(resampler.whole(&metrics)[0]);
        let mut random = SplitMix::new(1);
        let drawn: Vec<f64> = (0..200).map(|_| resampler.draw(&mut random, &metrics)[0]).collect();
        errors.push(deviation(&drawn));
    }
    // The deviation of the means of many runs, against the one that each run expects.
    let (true_error, expected) = (deviation(&means), median(&errors));
    assert!((0.6..1.5).contains(&(expected / true_error)), "{expected} and not {true_error}");
    assert!(Resampler::new(&windows(1, 15)).is_none());
}

fn deviation(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len() - 1) as f64).sqrt()
}

fn positive() -> impl Strategy<Value = f64> {
    // Few different values, so that there are ties.
    prop_oneof![(1u32..20).prop_map(f64::from), 0.1f64..1e9]
}

proptest! {
    #[test]
    fn exchanging_the_sides_exchanges_the_probabilities(
        a in prop::collection::vec(positive(), 1..24),
        b in prop::collection::vec(positive(), 1..24),
    ) {
        let (there, back) = (mann_whitney(&a, &b), mann_whitney(&b, &a));
        prop_assert!(near(there.p_larger, back.p_smaller, 1e-9));
        prop_assert_eq!(there.u + back.u, (a.len() * b.len()) as f64);
        prop_assert!((0.0..=1.0 + 1e-9).contains(&there.p_larger));
        prop_assert!(there.p_larger + there.p_smaller >= 1.0 - 1e-9);
    }

    #[test]
    fn a_factor_moves_the_interval(
        a in prop::collection::vec(1f64..100.0, 5..12),
        b in prop::collection::vec(1f64..100.0, 5..12),
        factor in 0.5f64..2.0,
    ) {
        let (low, high) = ratio_interval(&a, &b, 0.95).unwrap();
        prop_assert!(low <= high);
        let larger: Vec<f64> = b.iter().map(|value| value * factor).collect();
        let moved = ratio_interval(&a, &larger, 0.95).unwrap();
        prop_assert!(near(moved.0, low * factor, 1e-9) && near(moved.1, high * factor, 1e-9));
        // The interval leaves out 1 if and only if the test rejects.
        let test = mann_whitney(&a, &b);
        let rejected = test.p_larger.min(test.p_smaller) <= 0.025;
        prop_assert_eq!(rejected, low > 1.0 || high < 1.0);
    }

    #[test]
    fn a_corrected_probability_is_never_smaller(
        raw in prop::collection::vec(prop::option::of(0f64..1.0), 0..12),
    ) {
        for (raw, corrected) in raw.iter().zip(holm(&raw)) {
            prop_assert_eq!(raw.is_some(), corrected.is_some());
            prop_assert!(corrected >= *raw);
        }
    }
}
