use super::*;

#[test]
fn small_values_have_their_own_bucket() {
    for ns in 0..128 {
        assert_eq!(bucket_of(ns), ns as usize);
        assert_eq!(value_of(ns as usize), ns);
    }
    assert_eq!(bucket_of(128), 128);
    assert_eq!(bucket_of(129), 128);
    assert_eq!(bucket_of(130), 129);
}

#[test]
fn bucket_values_equal_those_of_fio() {
    // From `compat/golden/lat-slat-percentiles/json+`.
    for value in [42240, 44800, 1400, 49920, 4145152, 4227072, 3227648, 2192, 1302528] {
        assert_eq!(value_of(bucket_of(value)), value);
    }
}

#[test]
fn every_bucket_starts_where_the_last_one_ended() {
    let mut last = 0;
    for shift in 0..40 {
        for step in 0..256u64 {
            let ns = (1u64 << shift) + (step << shift >> 8);
            let bucket = bucket_of(ns);
            assert!(bucket >= last || shift < 8, "{ns}");
            last = bucket;
        }
    }
    assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    assert_eq!(bucket_of(u64::MAX >> 14), BUCKETS - 1);
}

use proptest::prelude::*;

/// Realistic latencies: every power of two is equally likely.
fn latency() -> impl Strategy<Value = u64> {
    (0u32..36, any::<u64>()).prop_map(|(bits, n)| n & ((1 << bits) - 1))
}

fn filled(values: &[u64]) -> (Histogram, Splits) {
    let (mut histogram, mut splits) = (Histogram::new(), Splits::default());
    values.iter().for_each(|ns| histogram.record_splitting(Nanos(*ns), 1, &mut splits));
    (histogram, splits)
}

proptest! {
    #[test]
    fn a_value_is_near_the_value_of_its_bucket(ns in 0u64..(1 << 34)) {
        let bucket = bucket_of(ns);
        let end = if bucket + 1 < BUCKETS { start_of(bucket + 1) } else { u64::MAX };
        prop_assert!(start_of(bucket) <= ns && ns < end);
        prop_assert_eq!(bucket_of(value_of(bucket)), bucket);
    }

    #[test]
    fn merging_is_exact(a in prop::collection::vec(latency(), 0..200),
                        b in prop::collection::vec(latency(), 0..200)) {
        let (mut merged, mut splits) = filled(&a);
        let (other, other_splits) = filled(&b);
        merged.merge(&other);
        splits.merge(&other_splits);
        let all: Vec<u64> = a.iter().chain(&b).copied().collect();
        let (whole, whole_splits) = filled(&all);
        prop_assert_eq!(merged.bins(), whole.bins());
        prop_assert_eq!(merged.count(), all.len() as u64);
        prop_assert_eq!(splits, whole_splits);
    }

    #[test]
    fn coarse_buckets_follow_exactly(values in prop::collection::vec(latency(), 0..300),
                                     near in prop::collection::vec((0usize..31, -9i64..9), 0..99)) {
        let close = near.iter().map(|(i, off)| LATENCY_BOUNDS[*i].saturating_add_signed(*off));
        let values: Vec<u64> = values.iter().copied().chain(close).collect();
        let mut counted = LatencyBuckets::default();
        values.iter().for_each(|ns| counted.record(Nanos(*ns)));
        let (histogram, splits) = filled(&values);
        prop_assert_eq!(splits.coarse(&histogram), counted);
    }

    #[test]
    fn percentiles_are_within_a_bucket(values in prop::collection::vec(latency(), 1..500),
                                       percent in 0.0f64..100.0) {
        let (histogram, _) = filled(&values);
        let mut sorted = values.clone();
        sorted.sort_unstable();
        let rank = (percent / 100.0 * sorted.len() as f64).ceil().max(1.0) as usize;
        let exact = sorted[rank.min(sorted.len()) - 1];
        prop_assert_eq!(histogram.percentiles(&[percent]), vec![(percent, Nanos(value_of(bucket_of(exact))))]);
    }
}

#[test]
fn a_known_distribution() {
    // Uniform from 1 µs to 1 ms: each percentile equals its value.
    let mut histogram = Histogram::new();
    for ns in 1000..1_000_000 {
        histogram.record(Nanos(ns));
    }
    let list = crate::job::DEFAULT_PERCENTILES;
    for (p, ns) in histogram.percentiles(&list) {
        let exact = 1000 + (p / 100.0 * 999_000.0).ceil() as u64 - 1;
        assert_eq!(bucket_of(ns.0), bucket_of(exact), "{p}");
    }
}

#[test]
fn every_bucket_that_contains_a_bound_is_marked() {
    for bound in LATENCY_BOUNDS {
        let through = start_of(bucket_of(bound)) != bound;
        assert_eq!(is_split(bucket_of(bound)), through, "{bound}");
    }
}

#[test]
fn values_beyond_the_last_bucket_lie_on_no_side_of_a_bound() {
    for bits in 34..64 {
        for ns in [1u64 << bits, (1 << bits) + (1 << (bits - 1)), u64::MAX >> (63 - bits)] {
            let (histogram, splits) = filled(&[ns]);
            assert_eq!((histogram.count(), splits), (1, Splits::default()), "{ns}");
        }
    }
}

/// Percentiles computed from the bins of fio's json+ output equal those that fio printed.
#[test]
fn percentiles_equal_those_of_fio() {
    let bins: [(u64, u64); 8] = [
        (2008, 1),
        (2512, 1),
        (5024, 1),
        (5984, 2),
        (129_536, 1),
        (301_056, 1),
        (5_013_504, 1),
        (69_730_304, 1),
    ];
    let mut histogram = Histogram::new();
    bins.iter().for_each(|(value, n)| histogram.record_n(Nanos(*value), *n));
    assert_eq!(histogram.bins(), bins.map(|(value, n)| (Nanos(value), n)));
    let found = histogram.percentiles(&[1.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0]);
    let values: Vec<u64> = found.into_iter().map(|(_, ns)| ns.0).collect();
    let expected = [2008, 2008, 2512, 5024, 5984, 5984, 129_536, 301_056, 5_013_504, 69_730_304];
    assert_eq!(values, expected);
}

#[test]
fn the_difference_of_two_states_is_what_was_recorded_between_them() {
    let (before, _) = filled(&[5, 5, 900]);
    let (mut now, _) = filled(&[5, 5, 900]);
    let (between, _) = filled(&[5, 1_000_000]);
    now.merge(&between);
    assert_eq!(now.since(&before), between);
    assert_eq!(now.since(&Histogram::new()), now);
    // The counts were cleared after `now`.
    assert_eq!(between.since(&now), between);
}

#[test]
fn a_copy_takes_the_memory_of_its_buckets_and_counts_on() {
    let (full, _) = filled(&[5, 900]);
    let mut copy = full.clone();
    assert_eq!((full.buckets.len(), copy.buckets.len()), (RESERVED, bucket_of(900) + 1));
    assert_eq!(copy, full);
    assert_eq!(full.since(&copy), Histogram::new());
    assert_eq!(bucket_of(1 << 24), RESERVED);
    copy.record(Nanos((1 << 24) - 1));
    copy.record(Nanos::MAX);
    assert_eq!(copy.bins().len(), 4);
    assert_eq!(full.since(&copy), full, "the copy has values that the histogram has not");
    assert_eq!(copy.since(&full).count(), 2);
    let mut shrunk = copy.clone();
    shrunk.clear();
    shrunk.shrink();
    assert_eq!((shrunk.buckets.capacity(), &shrunk), (0, &Histogram::new()));
    shrunk.merge(&full);
    assert_eq!(shrunk, full);
    assert_eq!(Histogram::try_from(String::from(full.clone())).unwrap(), full);
}

#[test]
fn latencies_of_hours_have_percentiles_between_the_smallest_and_the_largest() {
    for seconds in [17, 18, 20, 60, 3600, 86_400] {
        let mut histogram = Histogram::new();
        let (min, max) = (Nanos::from_secs(seconds), Nanos::from_secs(seconds * 2));
        histogram.record(min);
        histogram.record(max);
        let found = histogram.percentiles(&[1.0, 100.0]);
        for ((_, found), true_value) in found.iter().zip([min, max]) {
            let off = found.abs_diff(true_value).0 as f64 / true_value.as_f64();
            assert!(off < 1.0 / 128.0, "{found:?} for {true_value:?}");
        }
        let (from, to) = histogram.last_bucket().unwrap();
        assert!(from <= max && max <= to && to.0 - from.0 <= max.0 / 64, "{from:?} {to:?}");
    }
    assert_eq!(Histogram::new().last_bucket(), None);
}
