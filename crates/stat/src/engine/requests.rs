//! Counts of requests to servers, and the time until their answers begin.

use fiord_types::Nanos;
use serde::{Deserialize, Serialize};

use crate::named::{ByName, count_names};

count_names! {
    /// What is counted about requests.
    RequestCount {
        /// Requests that were sent, also those without a valid answer.
        Sent = "sent",
        /// Connections that were made during the run, because the server had closed the one before.
        Reconnects = "reconnects",
        /// Answers that ask the client to slow down (status 429 or 503).
        Throttled = "throttled",
        /// Requests that were sent again after a pause (`http_retries`). They are among those that were sent.
        Retries = "retries",
        /// Names in the answers to lists.
        Listed = "listed",
        /// TLS handshakes during the run.
        Handshakes = "handshakes",
        /// The time of these handshakes together, ns.
        HandshakeNanos = "handshake_total_ns",
        /// Uploads in parts that failed, and that the job removed from the server.
        AbortedUploads = "aborted_uploads",
        /// Requests without an answer that the job gave up: after `endpoint_timeout`, or because the user ended the run.
        Unanswered = "unanswered",
    }
}

/// Buckets of each power of two. A time is known to 1/16 of itself.
const PARTS: usize = 16;

/// The number of buckets.
const BUCKETS: usize = 61 * PARTS;

/// Times in buckets, with their sum and extremes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct TimeBuckets {
    /// How many times are in each bucket. Shorter if the last buckets are empty.
    counts: Vec<u64>,
    sum: u64,
    smallest: u64,
    largest: u64,
}

impl Default for TimeBuckets {
    fn default() -> Self {
        TimeBuckets { counts: Vec::new(), sum: 0, smallest: u64::MAX, largest: 0 }
    }
}

impl TimeBuckets {
    /// No times, with room for all.
    fn with_room() -> Self {
        TimeBuckets { counts: vec![0; BUCKETS], ..TimeBuckets::default() }
    }

    #[inline]
    fn add(&mut self, time: Nanos) {
        let at = bucket(time.0);
        if self.counts.len() <= at {
            self.counts.resize(at + 1, 0);
        }
        self.counts[at] += 1;
        self.sum = self.sum.saturating_add(time.0);
        self.smallest = self.smallest.min(time.0);
        self.largest = self.largest.max(time.0);
    }

    fn merge(&mut self, other: &TimeBuckets) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (sum, count) in self.counts.iter_mut().zip(&other.counts) {
            *sum = sum.saturating_add(*count);
        }
        self.sum = self.sum.saturating_add(other.sum);
        self.smallest = self.smallest.min(other.smallest);
        self.largest = self.largest.max(other.largest);
    }

    /// `None` if there are no times.
    fn summary(&self) -> Option<AnswerTimes> {
        let answers: u64 = self.counts.iter().fold(0, |sum, count| sum.saturating_add(*count));
        let mean = self.sum.checked_div(answers)?;
        let percentile = |per_mille: u64| {
            let wanted = (u128::from(answers) * u128::from(per_mille)).div_ceil(1000) as u64;
            let mut seen = 0u64;
            let at = self.counts.iter().position(|count| {
                seen = seen.saturating_add(*count);
                seen >= wanted
            });
            Nanos(at.map_or(self.largest, upper_end).clamp(self.smallest, self.largest))
        };
        Some(AnswerTimes {
            answers: AnswerCount(answers),
            min: Nanos(self.smallest),
            mean: Nanos(mean),
            p50: percentile(500),
            p99: percentile(990),
            p999: percentile(999),
            max: Nanos(self.largest),
        })
    }
}

/// What an engine counted about its requests.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestCounts {
    #[serde(with = "ByName::<RequestCount>")]
    counts: [u64; RequestCount::ALL.len()],
    /// How long answers took to begin.
    first_byte: TimeBuckets,
    /// How long parts of uploads took.
    parts: TimeBuckets,
    /// How long the slowest look-up of a server's name took before the run.
    lookup: Nanos,
}

impl RequestCounts {
    /// Nothing so far, with room for all times, so that counting allocates no memory.
    #[must_use]
    pub fn with_room() -> Self {
        let (first_byte, parts) = (TimeBuckets::with_room(), TimeBuckets::with_room());
        RequestCounts { first_byte, parts, ..RequestCounts::default() }
    }

    #[must_use]
    pub const fn get(&self, what: RequestCount) -> u64 {
        self.counts[what as usize]
    }

    pub fn add(&mut self, what: RequestCount, count: u64) {
        let now = &mut self.counts[what as usize];
        *now = now.saturating_add(count);
    }

    /// The look-up of a server's name took this time.
    pub fn looked_up(&mut self, time: Nanos) {
        self.lookup = self.lookup.max(time);
    }

    /// The answer to a request began after this time.
    #[inline]
    pub fn began_after(&mut self, time: Nanos) {
        self.first_byte.add(time);
    }

    /// A part of an upload took this time, until the end of its answer.
    pub fn part_took(&mut self, time: Nanos) {
        self.parts.add(time);
    }

    /// Adds the counts of another job.
    pub fn merge(&mut self, other: &RequestCounts) {
        RequestCount::ALL.into_iter().for_each(|what| self.add(what, other.get(what)));
        self.looked_up(other.lookup);
        self.first_byte.merge(&other.first_byte);
        self.parts.merge(&other.parts);
    }

    /// The times until the first byte of the answers. `None` if there were no answers.
    #[must_use]
    pub fn first_byte(&self) -> Option<AnswerTimes> {
        self.first_byte.summary()
    }

    /// The times of the parts of uploads. `None` if there were no parts.
    #[must_use]
    pub fn parts(&self) -> Option<AnswerTimes> {
        self.parts.summary()
    }
}

/// A number of answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerCount(pub u64);

/// How long servers took to answer, from the moment the job handed the request over. The percentiles are up to 1/16 too
/// large.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerTimes {
    /// How many answers there were.
    #[serde(rename = "N")]
    pub answers: AnswerCount,
    /// The shortest time.
    pub min: Nanos,
    pub mean: Nanos,
    pub p50: Nanos,
    /// 99 % of the times are at most this long.
    pub p99: Nanos,
    /// 99.9 % of the times are at most this long.
    #[serde(rename = "p99.9")]
    pub p999: Nanos,
    /// The longest time.
    pub max: Nanos,
}

/// The requests of a job, as reports show them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestSummary {
    #[serde(flatten, with = "ByName::<RequestCount>")]
    counts: [u64; RequestCount::ALL.len()],
    /// How long the slowest look-up of a server's name took before the run.
    #[serde(rename = "lookup_ns")]
    pub lookup: Nanos,
    /// The times until the first byte of the answers. `None` if there were no answers.
    #[serde(rename = "first_byte_ns", skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<AnswerTimes>,
    /// The times of the parts of uploads (`http_s3_part_size`). `None` if there were no parts.
    #[serde(rename = "part_ns", skip_serializing_if = "Option::is_none")]
    pub parts: Option<AnswerTimes>,
}

impl RequestSummary {
    /// Sums up counts.
    #[must_use]
    pub fn of(counts: &RequestCounts) -> Self {
        RequestSummary {
            counts: counts.counts,
            first_byte: counts.first_byte(),
            parts: counts.parts(),
            lookup: counts.lookup,
        }
    }

    #[must_use]
    pub const fn get(&self, what: RequestCount) -> u64 {
        self.counts[what as usize]
    }

    pub const fn set(&mut self, what: RequestCount, count: u64) {
        self.counts[what as usize] = count;
    }
}

const fn bucket(time: u64) -> usize {
    if time < PARTS as u64 {
        return time as usize;
    }
    let power = 63 - time.leading_zeros() as usize;
    (power - 3) * PARTS + ((time >> (power - 4)) as usize & (PARTS - 1))
}

/// The largest time in a bucket.
const fn upper_end(bucket: usize) -> u64 {
    if bucket < PARTS {
        return bucket as u64;
    }
    let (power, part) = (bucket / PARTS + 3, (bucket % PARTS) as u64);
    (((PARTS as u64 + part) as u128 + 1) << (power - 4)) as u64 - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        let mut last = 0;
        for shift in 0..64 {
            for offset in [0, 1, 7] {
                let time = (1u64 << shift).saturating_add((1u64 << shift) / 16 * offset);
                let at = bucket(time);
                assert!(at >= last && at < BUCKETS, "{time}");
                assert!(upper_end(at) >= time && upper_end(at) - time <= time / 16, "{time}");
                last = at;
            }
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn counts_are_read_by_name_whatever_else_the_writer_counted() {
        let mut all = RequestCounts::default();
        all.add(RequestCount::Sent, 7);
        all.add(RequestCount::AbortedUploads, 2);
        all.began_after(Nanos(40));
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<RequestCounts>(&text).unwrap(), all);
        let other = r#"{"counts":{"sent":7,"redirected":1,"listed":3},"redirects":9}"#;
        let read: RequestCounts = serde_json::from_str(other).unwrap();
        let counts = RequestCount::ALL.map(|what| read.get(what));
        assert_eq!((counts.iter().sum::<u64>(), read.get(RequestCount::Listed)), (10, 3));
        assert_eq!(read.first_byte(), None);
        let other = r#"{"sent":7,"redirects":{"ours":9},"lookup_ns":8}"#;
        let summary: RequestSummary = serde_json::from_str(other).unwrap();
        assert_eq!((summary.get(RequestCount::Sent), summary.lookup), (7, Nanos(8)));
    }

    #[test]
    fn percentiles_are_close_to_the_times() {
        let mut all = RequestCounts::with_room();
        assert_eq!(all.first_byte(), None);
        for time in 1..=1000 {
            all.began_after(Nanos(time * 1000));
        }
        let mut other = RequestCounts::default();
        other.add(RequestCount::Throttled, 3);
        other.began_after(Nanos(5_000_000));
        other.part_took(Nanos(7));
        all.merge(&other);
        let found = all.first_byte().unwrap();
        assert_eq!(
            (found.answers, found.min, found.max),
            (AnswerCount(1001), Nanos(1000), Nanos(5_000_000))
        );
        assert!(
            (500_000..540_000).contains(&found.p50.0)
                && (990_000..1_050_000).contains(&found.p99.0)
        );
        assert_eq!(all.get(RequestCount::Throttled), 3);
        let parts = all.parts().unwrap();
        assert_eq!((parts.answers, parts.p50, parts.max), (AnswerCount(1), Nanos(7), Nanos(7)));
    }
}
