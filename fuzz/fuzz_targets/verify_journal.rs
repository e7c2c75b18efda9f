//! Any bytes as a journal: `cargo +nightly fuzz run verify_journal`.
#![no_main]

use fiord_formats::verify::journal::{JournalHeader, JournalReader, JournalWriter};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(header) = JournalHeader::read(bytes) {
        assert_eq!(JournalHeader::read(&header.write()), Ok(header));
    }
    let mut reader = JournalReader::default();
    reader.push(bytes);
    let mut writer = JournalWriter::default();
    let mut written = Vec::new();
    while let Ok(Some(records)) = reader.next_block() {
        records.into_iter().for_each(|record| writer.add(record));
        written.extend(writer.take_block().unwrap_or_default());
    }
    assert!(bytes.starts_with(&written), "a block is written as it was read");
    let _ = reader.end();
});
