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
fn values_of_buckets_are_those_of_the_reference() {
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
    assert_eq!(bucket_of(u64::MAX >> 20), BUCKETS - 1);
}
