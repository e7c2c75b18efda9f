//! What a target may contain after a crash.

use proptest::prelude::*;

use super::*;

fn writer(number: u64) -> SectorWriter {
    SectorWriter { job: 1, number }
}

fn intent(number: u64, offset: u64, length: u32) -> JournalRecord {
    JournalRecord::Intent { writer: writer(number), offset, length }
}

fn done(number: u64) -> JournalRecord {
    JournalRecord::Completed(writer(number))
}

fn flush(number: u64) -> [JournalRecord; 2] {
    [JournalRecord::FlushIssued(number), JournalRecord::FlushCompleted(number)]
}

fn state(records: &[JournalRecord]) -> CrashState {
    let mut state = CrashState::new(4096);
    records.iter().for_each(|record| state.apply(*record));
    state
}

#[test]
fn a_window_spans_from_the_last_flushed_write_to_the_last_issued() {
    let mut records = vec![intent(0, 0, 8192), done(0), intent(1, 4096, 4096), done(1)];
    records.extend(flush(0));
    records.extend([intent(2, 4096, 4096), done(2), intent(3, 4096, 4096)]);
    let state = state(&records);
    let expected = [
        (0, BlockWindow { flushed: Some(writer(0)), issued: vec![] }),
        (4096, BlockWindow { flushed: Some(writer(1)), issued: vec![writer(2), writer(3)] }),
    ];
    assert_eq!(state.windows().collect::<Vec<_>>(), expected);
    assert_eq!(state.window(8192), None);
    let judge = |number| state.judge(4096, Some(writer(number)));
    for number in 1..=3 {
        assert!(matches!(judge(number), CrashVerdict::Accepted { .. }), "{number}");
    }
    let lost = CrashVerdict::Lost { missing: writer(1), flush: 1 };
    assert_eq!(judge(0), lost);
    assert_eq!(state.judge(4096, None), lost);
    assert_eq!(state.judge(8192, Some(writer(0))), CrashVerdict::NotInJournal);
}

/// A flush covers what was completed before it was issued.
#[test]
fn a_flush_does_not_cover_later_completions() {
    let records = [
        intent(0, 0, 4096),
        JournalRecord::FlushIssued(0),
        done(0),
        JournalRecord::FlushCompleted(0),
    ];
    let accepted = CrashVerdict::Accepted { epoch: None };
    assert_eq!(state(&records).judge(0, None), accepted);
    // A flush that did not complete promises nothing.
    let records = [intent(0, 0, 4096), done(0), JournalRecord::FlushIssued(0)];
    assert_eq!(state(&records).judge(0, None), accepted);
    // Nor does a write that failed, or whose completion is not in the journal.
    let [issued, completed] = flush(0);
    let failed = JournalRecord::Failed(writer(0));
    assert_eq!(state(&[intent(0, 0, 4096), failed, issued, completed]).judge(0, None), accepted);
    assert_eq!(state(&[intent(0, 0, 4096), issued, completed]).judge(0, None), accepted);
}

#[test]
fn flushes_that_overlap_cover_what_they_must() {
    let records = [
        intent(0, 0, 4096),
        done(0),
        JournalRecord::FlushIssued(0),
        intent(1, 4096, 4096),
        done(1),
        JournalRecord::FlushIssued(1),
        JournalRecord::FlushCompleted(1),
        JournalRecord::FlushCompleted(0),
    ];
    let state = state(&records);
    assert!(matches!(state.judge(0, None), CrashVerdict::Lost { flush: 1, .. }));
    assert!(matches!(state.judge(4096, None), CrashVerdict::Lost { flush: 1, .. }));
}

#[test]
fn a_lost_write_is_out_of_order_if_a_later_one_survived() {
    let mut records = vec![intent(0, 0, 4096), done(0)];
    records.extend(flush(0));
    records.extend([intent(1, 4096, 4096), done(1)]);
    let state = state(&records);
    let mut tally = CrashTally::default();
    tally.add(state.judge(0, None));
    tally.add(state.judge(4096, None));
    assert_eq!((tally.accepted(), tally.lost(), tally.out_of_order()), (1, 1, 0));
    tally.add(state.judge(4096, Some(writer(1))));
    assert_eq!((tally.accepted(), tally.lost(), tally.out_of_order()), (2, 1, 1));
    tally.add(state.judge(4096, Some(writer(9))));
    assert_eq!(tally.not_in_journal(), 1);
}

proptest! {
    /// A target that keeps every flushed write, and any part of the others, is accepted: whatever was issued,
    /// completed and flushed, and however much of the journal's end is missing.
    #[test]
    fn an_honest_target_is_accepted(
        steps in proptest::collection::vec((0u64..8, 0u8..4), 1..80),
        keeps in proptest::collection::vec(any::<bool>(), 80),
        cut in 0usize..80,
    ) {
        let mut records = Vec::new();
        // By block: the durable write, and those after it.
        let mut durable = [None; 8];
        let mut cached: Vec<Vec<SectorWriter>> = vec![Vec::new(); 8];
        for (number, (block, kind)) in steps.iter().enumerate() {
            let number = number as u64;
            if *kind == 0 {
                records.extend(flush(number));
                for (durable, cached) in durable.iter_mut().zip(&mut cached) {
                    *durable = cached.pop().or(*durable);
                    cached.clear();
                }
            } else {
                records.extend([intent(number, block * 4096, 4096), done(number)]);
                cached[*block as usize].push(writer(number));
            }
        }
        // Completions and flushes at the end may be missing in the journal, intents never.
        let end = records.len().saturating_sub(cut);
        let is_intent = |record: &JournalRecord| matches!(record, JournalRecord::Intent { .. });
        let mut journal = records[..end].to_vec();
        journal.extend(records[end..].iter().filter(|record| is_intent(record)));
        let state = state(&journal);
        for block in 0..8 {
            let survivor = cached[block].iter().zip(&keeps).rev().find(|(_, keeps)| **keeps);
            let found = survivor.map(|(writer, _)| *writer).or(durable[block]);
            let verdict = state.judge(block as u64 * 4096, found);
            prop_assert!(matches!(verdict, CrashVerdict::Accepted { .. }), "{block}: {verdict:?}");
        }
    }
}
