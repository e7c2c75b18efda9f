//! Journals: written and read, truncated, damaged, and of another target.

use proptest::prelude::*;

use super::*;

const HEADER: JournalHeader =
    JournalHeader { target: TargetId(0x1234), run: RunId(0x5678), block: 4096 };

fn any_record() -> impl Strategy<Value = JournalRecord> {
    let writer =
        (any::<u16>(), any::<u64>()).prop_map(|(job, number)| SectorWriter { job, number });
    prop_oneof![
        (writer.clone(), any::<u64>(), any::<u32>())
            .prop_map(|(writer, offset, length)| JournalRecord::Intent { writer, offset, length }),
        writer.clone().prop_map(JournalRecord::Completed),
        writer.prop_map(JournalRecord::Failed),
        any::<u64>().prop_map(JournalRecord::FlushIssued),
        any::<u64>().prop_map(JournalRecord::FlushCompleted),
    ]
}

fn blocks(records: &[Vec<JournalRecord>]) -> Vec<Vec<u8>> {
    let mut writer = JournalWriter::default();
    let mut blocks = Vec::new();
    for records in records {
        records.iter().for_each(|record| writer.add(*record));
        blocks.extend(writer.take_block());
    }
    blocks
}

/// All blocks that can be read, and how the journal ends.
fn read(bytes: &[u8]) -> (Vec<Vec<JournalRecord>>, Result<JournalEnd, JournalError>) {
    let mut reader = JournalReader::default();
    let mut all = Vec::new();
    for part in bytes.chunks(97) {
        reader.push(part);
        loop {
            match reader.next_block() {
                Ok(Some(records)) => all.push(records),
                Ok(None) => break,
                Err(e) => return (all, Err(e)),
            }
        }
    }
    (all, reader.end())
}

#[test]
fn headers() {
    let bytes = HEADER.write();
    assert_eq!(JournalHeader::read(&bytes), Ok(HEADER));
    assert_eq!(HEADER.check_target(TargetId(0x1234)), Ok(()));
    let other = HEADER.check_target(TargetId(7)).unwrap_err();
    assert!(other.to_string().contains("of target 0000000000001234"), "{other}");
    for length in 0..JOURNAL_HEADER {
        assert_eq!(JournalHeader::read(&bytes[..length]), Err(JournalError::NotAJournal));
    }
    for bit in 0..JOURNAL_HEADER * 8 {
        let mut damaged = bytes;
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(JournalHeader::read(&damaged), Err(JournalError::NotAJournal));
    }
}

#[test]
fn a_damaged_block_before_others_is_an_error() {
    let flush = |n| vec![JournalRecord::FlushIssued(n), JournalRecord::FlushCompleted(n)];
    let all = [flush(0), flush(1), flush(2)];
    let blocks = blocks(&all);
    let first = blocks[0].len();
    for bit in 0..blocks[1].len() * 8 {
        let mut bytes = blocks.concat();
        bytes[first + bit / 8] ^= 1 << (bit % 8);
        let (records, end) = read(&bytes);
        assert_eq!(records, all[..1]);
        let at = (JOURNAL_HEADER + first) as u64;
        assert_eq!(end, Err(JournalError::Damaged { at }), "bit {bit}");
    }
    // The last block may be damaged by a power cut.
    let mut bytes = blocks.concat();
    *bytes.last_mut().unwrap() ^= 1;
    let (records, end) = read(&bytes);
    assert_eq!(records, all[..2]);
    let at = (JOURNAL_HEADER + first * 2) as u64;
    assert_eq!(end, Ok(JournalEnd::Torn { at }));
}

proptest! {
    #[test]
    fn records_are_read_as_written(
        records in proptest::collection::vec(proptest::collection::vec(any_record(), 1..20), 0..10),
    ) {
        let (found, end) = read(&blocks(&records).concat());
        prop_assert_eq!(found, records);
        prop_assert_eq!(end, Ok(JournalEnd::Complete));
    }

    /// A journal that is cut anywhere gives all blocks before the cut, and no error.
    #[test]
    fn a_cut_journal_gives_all_whole_blocks(
        records in proptest::collection::vec(proptest::collection::vec(any_record(), 1..5), 1..6),
        cut: proptest::sample::Index,
    ) {
        let blocks = blocks(&records);
        let bytes = blocks.concat();
        let cut = cut.index(bytes.len());
        let mut whole = 0;
        let mut length = 0;
        while whole < blocks.len() && length + blocks[whole].len() <= cut {
            length += blocks[whole].len();
            whole += 1;
        }
        let (found, end) = read(&bytes[..cut]);
        prop_assert_eq!(&found[..], &records[..whole]);
        let torn = JournalEnd::Torn { at: (JOURNAL_HEADER + length) as u64 };
        prop_assert_eq!(end, Ok(if cut == length { JournalEnd::Complete } else { torn }));
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
        let _ = JournalHeader::read(&bytes);
        let mut with_magic = BLOCK_MAGIC.to_vec();
        with_magic.extend(&bytes);
        let _ = read(&bytes);
        let _ = read(&with_magic);
    }
}
