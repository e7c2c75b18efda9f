//! Any bytes as a compact log: `cargo +nightly fuzz run log_compact`.
#![no_main]

use fiord_formats::log::compact::{CompactEntry, CompactReader, CompactWriter, sealed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    entries(bytes);
    // A random checksum is never right, so also read the bytes as the contents of an intact block.
    let mut file = Vec::new();
    let _ = CompactWriter::new(&mut file);
    sealed(bytes, &mut file);
    let all = entries(&file);

    // What was read can be written and read again.
    let mut file = Vec::new();
    let mut writer = CompactWriter::new(&mut file);
    let logs: Vec<_> = all.1.iter().map(|definition| writer.define(definition)).collect();
    for entry in &all.0 {
        match entry {
            CompactEntry::Row(log, row) => writer.push(logs[log.0 as usize], row),
            CompactEntry::Histogram(log, row) => {
                writer.push_histogram(logs[log.0 as usize], row);
            }
        }
    }
    writer.flush(&mut file);
    assert_eq!(entries(&file).0.len(), all.0.len());
});

type Entries = (Vec<CompactEntry>, Vec<fiord_formats::log::compact::LogDefinition>);

fn entries(file: &[u8]) -> Entries {
    let Ok(mut reader) = CompactReader::new(file) else { return (Vec::new(), Vec::new()) };
    let mut entries = Vec::new();
    // Few bytes can describe many equal rows.
    while entries.len() < 100_000 {
        match reader.next_entry() {
            Ok(Some(entry)) => entries.push(entry),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    (entries, reader.definitions().to_vec())
}
