//! Results of verification, under the key `"fiord"` of a job.

use fiord_formats::integrity::diagnosis::FaultClass;
use fiord_stat::verify::{FaultCount, FileExtent, VerifyResults};

use super::document::{Value, integer};

/// Coverage, the number of bad extents of each class, and one object for each extent that is shown in full.
pub(super) fn results(results: &VerifyResults) -> Value {
    let coverage = &results.coverage;
    let unverified =
        coverage.unverified.iter().map(|(why, bytes)| (why.word().into(), integer(bytes.0)));
    let count = |(class, count): (&FaultClass, &FaultCount)| {
        let keys = vec![
            ("extents".to_string(), integer(count.extents())),
            ("bytes".into(), integer(count.bytes.0)),
        ];
        (class.word().to_string(), Value::Object(keys))
    };
    let mut keys = vec![
        ("written_bytes".to_string(), integer(coverage.written.0)),
        ("verified_bytes".into(), integer(coverage.verified.0)),
        ("unverified_bytes".into(), Value::Object(unverified.collect())),
        ("faults".into(), Value::Object(results.counts().iter().map(count).collect())),
    ];
    if !results.extents().is_empty() {
        let extents = results.extents().iter().map(|extent: &FileExtent| Value::of(extent));
        keys.push(("extents".into(), Value::Array(extents.collect())));
    }
    Value::Object(keys)
}
