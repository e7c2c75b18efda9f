use proptest::prelude::*;
use proptest::sample::Index;

use fiord_types::{Bytes, Dir, Nanos};

use super::*;
use crate::priority::MAX_PRIORITIES;
use crate::recorder::{Recorder, Times, axes};
use crate::report::SteadyState;
use crate::shares::TimeShares;
use crate::slices::Slices;

const MS: Nanos = Nanos::from_millis(1);

/// One completed I/O: the part that does it, and what is recorded of it.
#[derive(Debug, Clone)]
struct Sample {
    part: usize,
    dir: Dir,
    bytes: Bytes,
    times: Times,
    late: Nanos,
    priority: u8,
    depth: u32,
}

/// Realistic latencies: every power of two up to 17 s is equally likely.
fn latency() -> impl Strategy<Value = u64> {
    (0u32..34, any::<u64>()).prop_map(|(bits, n)| n & ((1 << bits) - 1))
}

fn sample() -> impl Strategy<Value = Sample> {
    let dir = (0usize..3).prop_map(|dir| Dir::ALL[dir]);
    (0usize..4, dir, 1u64..1 << 20, (latency(), latency(), latency()), 0u8..3, 1u32..70).prop_map(
        |(part, dir, bytes, (slat, clat, late), priority, depth)| Sample {
            part,
            dir,
            bytes: Bytes(bytes),
            times: Times { slat: Nanos(slat), clat: Nanos(clat), lat: Nanos(slat + clat) },
            late: Nanos(late),
            priority,
            depth,
        },
    )
}

/// A job that has recorded some samples.
fn job<'a>(all: &'a [Sample], mine: impl Fn(&Sample) -> bool + 'a) -> JobData {
    let mut recorder = Recorder::new(axes::ASYNC, &Dir::ALL);
    recorder.prioritize(&Dir::ALL, [7u16, 8, 9].into_iter());
    recorder.slices =
        Some(Box::new(Slices::new(Nanos::from_secs(1), &[MS, MS.saturating_mul(64)], 4)));
    recorder.begin_slices(Nanos::ZERO);
    for (n, s) in all.iter().enumerate() {
        if mine(s) {
            recorder.issued(s.dir);
            recorder.depth.record(s.depth);
            recorder.submit.record(s.depth);
            recorder.complete.record(s.depth / 2);
            recorder.complete::<{ axes::ASYNC }>(s.dir, s.bytes, s.times);
            recorder.prioritized(s.dir, s.priority, s.times);
            let from_due = s.times.lat.saturating_add(s.late);
            recorder.intended(s.dir, from_due);
            let end = MS.saturating_mul(n as u64 * 100).saturating_add(s.times.lat);
            recorder.sliced(end, s.times.lat, from_due);
            recorder.synced(s.late);
        }
    }
    recorder.finish();
    let runtime = Nanos::from_secs(1);
    JobData { recorder, runtime, members: 1, ..JobData::default() }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn merged_parts_equal_one_recorder_that_received_all_samples(
        samples in prop::collection::vec(sample(), 0..800),
    ) {
        let one = job(&samples, |_| true);
        let parts = (0..4).map(|part| job(&samples, move |s| s.part == part));
        // Each part travels as text.
        let read = |part: JobData| JobData::from_json(&part.to_json()).unwrap();
        let merged = parts.map(read).reduce(|mut all, part| { all.merge(&part); all }).unwrap();
        prop_assert_eq!(&merged.recorder.dirs, &one.recorder.dirs);
        prop_assert_eq!(merged.recorder.latency_buckets(), one.recorder.latency_buckets());
        prop_assert_eq!(merged.recorder.depth, one.recorder.depth);
        prop_assert_eq!(merged.recorder.submit, one.recorder.submit);
        prop_assert_eq!(merged.recorder.complete, one.recorder.complete);
        prop_assert_eq!(merged.recorder.sync, one.recorder.sync);
        prop_assert_eq!(&merged.recorder.sync_hist, &one.recorder.sync_hist);
        let slices = |job: &JobData| job.recorder.slices.as_ref().unwrap().counted().to_vec();
        prop_assert_eq!(slices(&merged), slices(&one));
        prop_assert_eq!((merged.members, merged.runtime), (4, Nanos::from_secs(4)));
    }

    #[test]
    fn data_is_read_as_it_was_written(
        samples in prop::collection::vec(sample(), 0..50),
        mean: f64,
        name: String,
    ) {
        let mut data = job(&samples, |_| true);
        data.settings.name = name;
        data.error_site = Some(("/data/x".into(), "read".into()));
        data.steady_state = Some(SteadyState { criterion: 1.0 / 3.0, ..SteadyState::default() });
        data.shares = TimeShares::of([1, 2, 3, 4, 5].map(Nanos), 6, 7);
        data.zone_resets = Some(u64::MAX);
        data.windows.bw[Dir::Write].record(17);
        data.windows.bw[Dir::Write].mean = if mean.is_finite() { mean } else { 0.1 };
        let text = data.to_json();
        prop_assert!(!text.contains('\n'));
        let mut read = JobData::from_json(&text).unwrap();
        prop_assert_eq!(read.to_json(), text);
        // Slices also contain the place of the recorder, which is left out.
        (read.recorder.slices, data.recorder.slices) = (None, None);
        prop_assert_eq!(read, data);
    }

    /// Whatever a text says, it can be refused, or read, merged and reported.
    #[test]
    fn no_text_causes_a_panic(
        samples in prop::collection::vec(sample(), 1..20),
        changes in prop::collection::vec((any::<Index>(), "[0-9A-Za-z\":,{}\\[\\]]{0,12}"), 1..4),
        number: u64,
    ) {
        let text = job(&samples, |_| true).to_json();
        let wild = with_numbers(&text, number, changes[0].0);
        let mut text = text.into_bytes();
        for (at, bytes) in &changes {
            let at = at.index(text.len());
            let end = (at + bytes.len()).min(text.len());
            text.splice(at..end, bytes.bytes());
        }
        for text in [String::from_utf8(text).unwrap(), wild] {
            let Ok(mut data) = JobData::from_json(&text) else { continue };
            data.merge(&data.clone());
            data.merge(&JobData { settings: data.settings.clone(), ..JobData::default() });
            crate::job::assemble(vec![data.clone(), data], &|errno| errno.to_string());
        }
    }
}

/// Replaces every fifth number of a text, from one of the first five on.
fn with_numbers(text: &str, number: u64, from: Index) -> String {
    let mut changed = String::new();
    let mut numbers = from.index(5);
    let mut rest = text;
    while let Some(at) = rest.find([':', ',', '[']) {
        let (before, after) = rest.split_at(at + 1);
        changed.push_str(before);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        numbers += usize::from(digits > 0);
        match digits > 0 && numbers.is_multiple_of(5) {
            true => changed.push_str(&number.to_string()),
            false => changed.push_str(&after[..digits]),
        }
        rest = &after[digits..];
    }
    changed + rest
}

#[test]
fn a_later_version_is_refused_and_unknown_fields_are_not() {
    let text = JobData::default().to_json();
    assert!(text.starts_with("{\"version\":1,"), "{text}");
    let later = text.replacen("\"version\":1", "\"version\":2", 1);
    let error = JobData::from_json(&later).unwrap_err().to_string();
    assert!(error.contains("version 2") && error.contains("To fix:"), "{error}");
    let read =
        JobData::from_json("{\"ctx\":7,\"version\":1,\"colour\":{\"of\":[\"sky\"]}}").unwrap();
    assert_eq!(read, JobData { ctx: 7, ..JobData::default() });
    assert!(JobData::from_json("{\"ctx\":7}").is_err());
}

#[test]
fn a_short_text_cannot_claim_much_memory() {
    let entry = "{\"hist\":\"wA4AAQ==\"}";
    let list = |n| {
        format!(
            "{{\"version\":1,\"recorder\":{{\"dirs\":[{{\"priorities\":[{}]}},{{}},{{}}]}}}}",
            vec![entry; n].join(",")
        )
    };
    assert!(JobData::from_json(&list(MAX_PRIORITIES)).is_ok());
    assert!(JobData::from_json(&list(MAX_PRIORITIES + 1)).is_err());
}

/// What version 1 wrote about a real job: queue depth 8, two priorities, a rate, slices. Never change the file.
#[test]
fn data_of_version_1_is_read() {
    let text = include_str!("../tests/stored/job-data-v1.json").trim_end();
    let data = JobData::from_json(text).unwrap();
    assert_eq!((data.settings.name.as_str(), data.runtime), ("stored", Nanos::from_secs(2)));
    let read = &data.recorder.dirs[Dir::Read];
    assert_eq!((read.ios, read.bytes.0, read.lat.max()), (3997, 100_474_880, 8_011_718));
    assert_eq!((read.lat_hist.count(), read.intended_hist.count()), (3997, 3997));
    assert_eq!(read.priorities.len(), 2);
    assert_eq!(data.recorder.slices.as_ref().unwrap().counted().len(), 4);
    // Later versions have samples instead of a timeline.
    let (before, rest) = text.split_once("\"timeline\":").unwrap();
    let after = rest.split_once("},").unwrap().1;
    assert_eq!(data.to_json(), format!("{before}{after}"));
}
