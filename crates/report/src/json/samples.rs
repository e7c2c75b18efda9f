//! What a job did in windows of time.

use fiord_formats::block;
use fiord_stat::samples::{Samples, WindowSample};
use fiord_types::Dir;

use super::document::{Value, integer, text};

/// The times of the windows and, for each direction in use, the I/Os, bytes and latencies of each window, and the sums of the latencies.
pub(super) fn samples(samples: &Samples) -> Value {
    let mut keys = vec![
        ("begin_ns".to_string(), integer(samples.begin().0)),
        ("measured_ns".into(), integer(samples.measured().0)),
        ("end_ns".into(), integer(samples.end().0)),
        ("window_ns".into(), integer(samples.window().0)),
    ];
    for dir in Dir::ALL {
        let list = samples.dir(dir);
        if list.is_empty() {
            continue;
        }
        let mut object = vec![
            ("ios".into(), Value::Series(list.iter().map(WindowSample::ios).collect())),
            ("bytes".into(), Value::Series(list.iter().map(|sample| sample.bytes().0).collect())),
            ("latencies".into(), text(block::bytes_to_text(&Samples::latencies_block(list)))),
        ];
        let sums = Samples::latency_sums(list);
        if !sums.is_empty() {
            let sums = sums.into_iter().map(|sum| sum.0).collect();
            object.push(("latency_sum_ns".into(), Value::Series(sums)));
        }
        keys.push((dir.name().into(), Value::Object(object)));
    }
    Value::Object(keys)
}
