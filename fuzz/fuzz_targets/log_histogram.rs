//! Any bytes as a histogram log: `cargo +nightly fuzz run log_histogram`.
#![no_main]

use fiord_formats::log::histogram::{self, Coarseness, HistogramReader};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut reader = HistogramReader::new(bytes);
    loop {
        match reader.next_row() {
            Ok(Some(row)) => {
                let mut text = Vec::new();
                histogram::write_row(&row, &mut text);
                assert_eq!(histogram::parse(text.trim_ascii_end()), Ok(row.clone()));
                let coarsest = row.clone().coarser(Coarseness::MAX).expect("nothing is coarser");
                assert_eq!(coarsest.total(), row.total());
            }
            Ok(None) => break,
            Err(_) => {}
        }
    }
});
