//! Journals: written and read, truncated, damaged, and of another target.

use proptest::prelude::*;

use std::path::PathBuf;

use super::*;
use crate::integrity::sector::{SectorSize, TargetId};

const RUN: RunId = RunId(0x5678);

fn header() -> JournalHeader {
    JournalHeader {
        run: RUN,
        block: Bytes(4096),
        sector: SectorSize::MIN,
        sectors_may_tear: true,
        targets: vec![target(0)],
    }
}

fn target(base: u64) -> JournaledTarget {
    JournaledTarget {
        id: TargetId(0x1234 + base),
        size: Bytes(1 << 40),
        base: Bytes(base),
        path: PathBuf::from("/dev/sdx"),
    }
}

fn any_record() -> impl Strategy<Value = JournalRecord> {
    let writer =
        (any::<u16>(), any::<u64>()).prop_map(|(job, number)| SectorWriter { job, number });
    prop_oneof![
        (writer.clone(), any::<u64>(), any::<u32>()).prop_map(|(writer, offset, length)| {
            let write = AnnouncedWrite { start: Bytes(offset), length: Bytes(u64::from(length)) };
            JournalRecord::Announced(writer, write)
        }),
        any::<u16>().prop_map(|job| JournalRecord::Issued { job }),
        (writer.clone(), any::<u16>(), any::<bool>()).prop_map(|(writer, target, durable)| {
            JournalRecord::Completed { writer, target, durable }
        }),
        writer.prop_map(JournalRecord::Failed),
        (any::<u64>(), any::<u16>())
            .prop_map(|(flush, target)| JournalRecord::FlushIssued { flush, target }),
        (any::<u64>(), any::<u64>()).prop_map(|(start, length)| JournalRecord::Trimmed {
            start: Bytes(start),
            length: Bytes(length)
        }),
        any::<u64>().prop_map(JournalRecord::FlushCompleted),
    ]
}

fn blocks(records: &[Vec<JournalRecord>]) -> Vec<Vec<u8>> {
    let mut writer = JournalWriter::new(RUN);
    let mut blocks = Vec::new();
    for records in records {
        records.iter().for_each(|record| writer.add(*record));
        let mut block = Vec::new();
        assert!(writer.take_block(&mut block));
        blocks.push(block);
    }
    blocks
}

/// All blocks that can be read, and how the journal ends.
fn read(bytes: &[u8]) -> (Vec<Vec<JournalRecord>>, Result<JournalEnd, JournalError>) {
    let mut reader = JournalReader::new(RUN);
    let (mut all, mut records) = (Vec::new(), Vec::new());
    for part in bytes.chunks(3097) {
        reader.push(part);
        loop {
            match reader.next_block(&mut records) {
                Ok(true) => all.push(records.clone()),
                Ok(false) => break,
                Err(e) => return (all, Err(e)),
            }
        }
    }
    (all, reader.end())
}

#[test]
fn headers() {
    let bytes = header().write();
    assert_eq!(bytes.len(), JOURNAL_UNIT);
    assert_eq!(JournalHeader::read(&bytes), Ok(header()));
    for length in 0..JOURNAL_UNIT {
        assert_eq!(JournalHeader::read(&bytes[..length]), Err(JournalError::NotAJournal));
    }
    for bit in (0..80 * 8).chain(4080 * 8..4096 * 8) {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(JournalHeader::read(&damaged), Err(JournalError::NotAJournal));
    }
    let path = PathBuf::from("x".repeat(4095));
    let long = JournalHeader { targets: vec![JournaledTarget { path, ..target(0) }], ..header() };
    assert_eq!(JournalHeader::read(&long.write()).unwrap().targets[0].known_path(), None);
    let of = |bases: &[u64]| JournalHeader {
        targets: bases.iter().map(|base| target(*base)).collect(),
        ..header()
    };
    let several = of(&[0, 4096, 1 << 30]);
    let bytes = several.write();
    assert_eq!(JournalHeader::read(&bytes).as_ref(), Ok(&several));
    assert_eq!(JournalHeader::read(&[&bytes[..], &[7; 100]].concat()), Ok(several));
    assert_eq!(JournalHeader::read(&bytes[..bytes.len() - 1]), Err(JournalError::NotAJournal));
    for wrong in [&[0, 4096, 4096][..], &[0, 100], &[4096], &[0, 8192, 4096]] {
        assert_eq!(JournalHeader::read(&of(wrong).write()), Err(JournalError::NotAJournal));
    }
}

/// The rest of a device can contain the journal of an earlier run.
#[test]
fn blocks_of_another_run_are_ignored() {
    let mut other = JournalWriter::new(RunId(9));
    other.add(JournalRecord::FlushIssued { flush: 0, target: 0 });
    let mut bytes = blocks(&[vec![JournalRecord::FlushIssued { flush: 4, target: 0 }]]).concat();
    for _ in 0..2 {
        other.add(JournalRecord::FlushIssued { flush: 1, target: 0 });
        other.take_block(&mut bytes);
    }
    let (found, end) = read(&bytes);
    assert_eq!(found, [[JournalRecord::FlushIssued { flush: 4, target: 0 }]]);
    assert!(end.is_ok(), "{end:?}");
}

/// Blocks have at most a megabyte of records, and no record lies in two of them.
#[test]
fn many_records_fill_several_blocks() {
    let mut writer = JournalWriter::new(RUN);
    let writes: Vec<AnnouncedWrite> = (0..200_000)
        .map(|i| AnnouncedWrite { start: Bytes(i * 4096), length: Bytes(4096) })
        .collect();
    writer.announce(SectorWriter { job: 1, number: 5 }, &writes);
    for number in 0..100_000 {
        let writer_of = SectorWriter { job: 1, number };
        writer.add(JournalRecord::Completed { writer: writer_of, target: 0, durable: false });
    }
    let mut bytes = Vec::new();
    let mut count = 0;
    while writer.take_block(&mut bytes) {
        count += 1;
    }
    assert_eq!(count, 4);
    assert_eq!(writer.pending_bytes(), 0);
    let (found, end) = read(&bytes);
    assert_eq!(end, Ok(JournalEnd::Complete));
    let all = found.concat();
    assert_eq!(all.len(), 300_000);
    let last = SectorWriter { job: 1, number: 200_004 };
    assert_eq!(all[199_999], JournalRecord::Announced(last, writes[199_999]));
}

#[test]
fn a_damaged_block_before_others_is_an_error() {
    let flush = |n| {
        vec![JournalRecord::FlushIssued { flush: n, target: 0 }, JournalRecord::FlushCompleted(n)]
    };
    let all = [flush(0), flush(1), flush(2)];
    let blocks = blocks(&all);
    let first = blocks[0].len();
    for bit in (0..60 * 8).chain([4095 * 8]) {
        let mut bytes = blocks.concat();
        bytes[first + bit / 8] ^= 1 << (bit % 8);
        let (records, end) = read(&bytes);
        assert_eq!(records, all[..1]);
        let at = (JOURNAL_UNIT + first) as u64;
        assert_eq!(end, Err(JournalError::Damaged { at }), "bit {bit}");
    }
    // The last block may be damaged by a power cut.
    let mut bytes = blocks.concat();
    bytes[2 * first + 30] ^= 1;
    let (records, end) = read(&bytes);
    assert_eq!(records, all[..2]);
    let at = (JOURNAL_UNIT + first * 2) as u64;
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
        let torn = JournalEnd::Torn { at: (JOURNAL_UNIT + length) as u64 };
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
