//! Any bytes as a log in fio's text format: `cargo +nightly fuzz run log_text`.
#![no_main]

use fiord_formats::log::LogRow;
use fiord_formats::log::text::{RowWriter, TextReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = TextReader::new(bytes);
    let mut rows: Vec<LogRow> = Vec::new();
    loop {
        match reader.next_row() {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => break,
            Err(_) => {}
        }
    }
    let columns = reader.columns().expect("bytes in memory");

    // What is written has a line for each row, and can be read. A log of invalid rows may look like one with other
    // columns.
    let (mut writer, mut text) = (RowWriter::new(columns), Vec::new());
    rows.iter().for_each(|row| writer.push(row, &mut text));
    let mut again = TextReader::new(&*text);
    if again.columns().expect("bytes in memory") != columns {
        return;
    }
    for _ in &rows {
        assert!(again.next_row().expect("a row of the writer").is_some());
    }
    assert!(again.next_row().expect("the end").is_none());
});
