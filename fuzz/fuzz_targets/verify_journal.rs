//! Any bytes as a journal: `cargo +nightly fuzz run verify_journal`.
#![no_main]

use fiord_formats::integrity::crash::{CrashTable, JournalSummary};
use fiord_formats::integrity::journal::{
    JOURNAL_UNIT, JournalHeader, JournalReader, JournalWriter,
};
use fiord_formats::integrity::sector::RunId;
use fiord_types::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = JournalHeader::read(bytes) {
        assert_eq!(JournalHeader::read(&header.write()), Ok(header));
    }
    // Most inputs are shorter than a block, which is then padded with zeros.
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(JOURNAL_UNIT), 0);
    let run = RunId(0);
    let mut reader = JournalReader::new(run);
    reader.push(&padded);
    let (mut records, mut all) = (Vec::new(), Vec::new());
    while let Ok(true) = reader.next_block(&mut records) {
        all.append(&mut records);
    }
    let _ = reader.end();

    let mut summary = JournalSummary::default();
    all.iter().for_each(|record| summary.apply(*record));
    let mut table = CrashTable::new(&summary, Bytes(4096), 0..1 << 16);
    all.iter().for_each(|record| table.apply(*record));
    table.finish();
    let _ = table.next_run(0, 16);

    // Records are read as they were written.
    let mut writer = JournalWriter::new(run);
    all.iter().for_each(|record| writer.add(*record));
    let (mut reader, mut again, mut block) = (JournalReader::new(run), Vec::new(), Vec::new());
    while writer.take_block(&mut block) {
        reader.push(&block);
        block.clear();
        assert_eq!(reader.next_block(&mut records), Ok(true));
        again.append(&mut records);
    }
    assert_eq!(again, all);
});
