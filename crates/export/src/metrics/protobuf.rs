//! Metrics as Prometheus' protocol buffers: messages `io.prometheus.client.MetricFamily`, each after its length. The
//! numbers of the fields are those of `metrics.proto` in Prometheus' client model.
//!
//! A histogram has both native and classic buckets. Prometheus takes the native ones if it is configured for them.

use fiord_formats::varint;
use fiord_stat::histogram::Histogram;
use fiord_stat::summary::Summary;

use super::buckets::{CLASSIC, SCHEMA, classic, native};
use super::families::{Family, FamilyKind, MetricSample, MetricValue};
use super::text::seconds;

/// Values up to this are counted as 0. The default of Prometheus' clients, 2^-128.
const ZERO_THRESHOLD: f64 = 2.938_735_877_055_719e-39;
/// Maximum number of empty buckets in a row that are written as such, because a new span takes more space.
const MAX_EMPTY: i32 = 2;

/// Writes the metrics.
pub(super) fn write(families: &[Family<'_>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(16 << 10);
    for family in families {
        let mut message = Message::default();
        message.text(1, &family.def.sample_name());
        message.text(2, family.def.help);
        message.number(
            3,
            match family.def.kind {
                FamilyKind::Counter => 0,
                FamilyKind::Gauge | FamilyKind::Info => 1,
                FamilyKind::Histogram => 4,
            },
        );
        for sample in &family.samples {
            message.message(4, metric(family.def.kind, sample));
        }
        if !family.def.unit.is_empty() {
            message.text(5, family.def.unit);
        }
        varint::put(message.0.len() as u64, &mut out);
        out.append(&mut message.0);
    }
    out
}

fn metric(kind: FamilyKind, sample: &MetricSample<'_>) -> Message {
    let mut metric = Message::default();
    for (name, value) in sample.labels.iter().filter(|(_, value)| !value.is_empty()) {
        let mut label = Message::default();
        label.text(1, name);
        label.text(2, value);
        metric.message(1, label);
    }
    match &sample.value {
        MetricValue::Number(value) => {
            let mut number = Message::default();
            number.double(1, *value);
            metric.message(if kind == FamilyKind::Counter { 3 } else { 2 }, number);
        }
        MetricValue::Latencies(latencies, summary) => {
            metric.message(7, histogram(latencies, summary));
        }
    }
    metric
}

fn histogram(latencies: &Histogram, summary: &Summary) -> Message {
    let mut message = Message::default();
    let count = latencies.count();
    message.number(1, count);
    message.double(2, seconds(latencies, summary));
    for ((_, bound), n) in CLASSIC.iter().zip(classic(latencies)) {
        let mut bucket = Message::default();
        bucket.number(1, n);
        bucket.double(2, *bound as f64 / 1e9);
        message.message(3, bucket);
    }
    let buckets = native(latencies);
    message.number(5, varint::zigzag(i64::from(SCHEMA)));
    message.double(6, ZERO_THRESHOLD);
    message.number(7, buckets.zeros());
    let (spans, deltas) = spans(&buckets.positive);
    for (offset, length) in spans {
        let mut span = Message::default();
        span.number(1, varint::zigzag(i64::from(offset)));
        span.number(2, u64::from(length));
        message.message(12, span);
    }
    let mut packed = Vec::new();
    deltas.iter().for_each(|delta| varint::put(varint::zigzag(*delta), &mut packed));
    message.bytes(13, &packed);
    message
}

/// Runs of buckets, and the difference of each count to the one before. The offset of a run is the index of its first
/// bucket, for later ones the number of buckets since the end of the run before.
fn spans(buckets: &[(i32, u64)]) -> (Vec<(i32, u32)>, Vec<i64>) {
    let mut spans: Vec<(i32, u32)> = Vec::new();
    let mut deltas = Vec::new();
    let (mut next, mut last) = (0, 0);
    let mut count = |n: u64, deltas: &mut Vec<i64>| {
        let n = i64::try_from(n).unwrap_or(i64::MAX);
        deltas.push(n - last);
        last = n;
    };
    for &(index, n) in buckets {
        let gap = index - next;
        match spans.last_mut() {
            Some((_, length)) if gap <= MAX_EMPTY => {
                for _ in 0..gap {
                    count(0, &mut deltas);
                }
                *length += gap as u32 + 1;
            }
            _ => spans.push((gap, 1)),
        }
        count(n, &mut deltas);
        next = index + 1;
    }
    (spans, deltas)
}

/// A message of protocol buffers.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

impl Message {
    fn key(&mut self, field: u32, kind: u32) {
        varint::put(u64::from(field << 3 | kind), &mut self.0);
    }

    fn number(&mut self, field: u32, value: u64) {
        self.key(field, 0);
        varint::put(value, &mut self.0);
    }

    fn double(&mut self, field: u32, value: f64) {
        self.key(field, 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.key(field, 2);
        varint::put(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u32, text: &str) {
        self.bytes(field, text.as_bytes());
    }

    fn message(&mut self, field: u32, message: Message) {
        self.bytes(field, &message.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_buckets_have_offsets_and_differences() {
        let buckets = [(-3, 5), (-2, 7), (1, 7), (9, 1)];
        let (spans, deltas) = spans(&buckets);
        assert_eq!(spans, [(-3, 5), (7, 1)]);
        assert_eq!(deltas, [5, 2, -7, 0, 7, -6]);
    }
}
