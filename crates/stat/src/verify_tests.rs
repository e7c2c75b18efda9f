//! Results of verification: merging and relations.

use fiord_formats::integrity::diagnosis::{Promise, Staleness};
use fiord_formats::integrity::sector::SectorWriter;
use proptest::prelude::*;

use super::*;

fn extent(start: u64, length: u64, diagnosis: Diagnosis) -> BadExtent {
    BadExtent { start: Bytes(start), length: Bytes(length), diagnosis }
}

fn stale(start: u64) -> BadExtent {
    let found = SectorWriter { job: 0, number: 3 };
    let promise = Promise::Acknowledged;
    let stale = Staleness { generations: Some(1), found, missing: None, promise };
    extent(start, 4096, Diagnosis::Stale(stale))
}

fn foreign(start: u64, belongs: u64) -> BadExtent {
    let other = Bytes(belongs);
    extent(start, 4096, Diagnosis::Misdirected(Misdirection { other, foreign: true }))
}

fn blank(start: u64) -> BadExtent {
    extent(start, 4096, Diagnosis::Blank { ones: false })
}

fn classes(results: &VerifyResults) -> Vec<(FaultClass, u64)> {
    results.counts().iter().map(|(class, count)| (*class, count.extents)).collect()
}

fn found(extents: &[BadExtent]) -> VerifyResults {
    let mut results = VerifyResults::default();
    for extent in extents {
        results.add("f", extent.clone(), None);
    }
    results.finish();
    results
}

#[test]
fn the_first_of_each_class_are_kept() {
    let mut results = VerifyResults::showing(2);
    for i in 0..5 {
        results.add("f", blank(i * 100_000), None);
        results.add("f", stale(i * 100_000 + 50_000), Some(RereadConclusion::Medium));
    }
    results.finish();
    assert_eq!(classes(&results), [(FaultClass::Blank, 5), (FaultClass::Stale, 5)]);
    assert_eq!((results.extents().len(), results.not_shown()), (4, 6));
}

#[test]
fn adjacent_extents_merge_unless_their_details_differ() {
    let mut results = VerifyResults::default();
    assert_eq!(results.add("f", blank(0), None), None);
    assert_eq!(results.add("f", blank(4096), None), None);
    let first = results.add("g", blank(8192), None).expect("another file");
    assert_eq!(first.extent.length, Bytes(8192));
    assert!(results.add("g", blank(12288), Some(RereadConclusion::Transit)).is_some());
    assert!(results.add("g", stale(16384), Some(RereadConclusion::Transit)).is_some());
    assert!(results.finish().is_some());
    assert_eq!(results.finish(), None);
    assert_eq!(classes(&results), [(FaultClass::Blank, 3), (FaultClass::Stale, 1)]);
}

/// A misdirected write leaves two marks: foreign data at one place, old data at the other. They are one fault.
#[test]
fn both_ends_of_a_misdirected_write_have_its_class() {
    for order in [[foreign(4096, 65536), stale(65536)], [stale(65536), foreign(4096, 65536)]] {
        let results = found(&order);
        assert_eq!(classes(&results), [(FaultClass::Misdirected, 2)]);
        let ends = results.extents().iter().map(|e| &e.extent).collect::<Vec<_>>();
        let lost = ends.iter().find(|e| e.start == Bytes(65536)).expect("the other end");
        let expected = Misdirection { other: Bytes(4096), foreign: false };
        assert_eq!(lost.diagnosis, Diagnosis::Misdirected(expected));
        assert_eq!(expected.distance(Bytes(65536)), 4096 - 65536);
    }
    let unrelated = found(&[foreign(4096, 65536), stale(69632)]);
    let expected = [(FaultClass::Misdirected, 1), (FaultClass::Stale, 1)];
    assert_eq!(classes(&unrelated), expected);
}

#[test]
fn exchanged_blocks_are_swapped() {
    let results = found(&[foreign(4096, 65536), foreign(65536, 4096)]);
    assert_eq!(classes(&results), [(FaultClass::Swapped, 2)]);
    assert_eq!(results.extents()[0].extent.diagnosis, Diagnosis::Swapped { with: Bytes(65536) });
    assert_eq!(results.extents()[1].extent.diagnosis, Diagnosis::Swapped { with: Bytes(4096) });
}

#[test]
fn coverage() {
    let mut coverage = Coverage { written: Bytes(100), verified: Bytes(80), ..Coverage::default() };
    coverage.skip(Unverified::Overwritten, Bytes(20));
    coverage.skip(Unverified::InFlight, Bytes::ZERO);
    assert!(!coverage.is_incomplete());
    assert_eq!(coverage.unverified.len(), 1);
    coverage.skip(Unverified::InFlight, Bytes(1));
    assert!(coverage.is_incomplete());
}

proptest! {
    /// One job that finds all extents, and two jobs that find half of them each, have equal counts.
    #[test]
    fn merging_adds(places in proptest::collection::vec((0u64..3, 0u64..1000), 0..40), half in 0usize..40) {
        let make = |(kind, place): &(u64, u64)| match kind {
            0 => blank(place * 8192),
            1 => stale(place * 8192),
            _ => extent(place * 8192, 512, Diagnosis::Shifted { by: 3 }),
        };
        let extents: Vec<BadExtent> = places.iter().map(make).collect();
        let (first, second) = extents.split_at(half.min(extents.len()));
        let (mut first, second, all) = (found(first), found(second), found(&extents));
        first.merge(&second);
        prop_assert_eq!(first.counts(), all.counts());
        let text = serde_json::to_string(&all).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<VerifyResults>(&text).expect("the same"), all);
    }
}
