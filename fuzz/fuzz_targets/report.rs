//! Any bytes as a report, JSON or terse lines: `cargo +nightly fuzz run report`.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(reports) = fiord_report::read_all(text) else { return };
    for report in &reports {
        let _ = fiord_report::json_plus(report, &mut Vec::new());
        let _ = fiord_report::normal(report, &mut Vec::new());
        let _ = fiord_report::terse(report, fiord_report::TerseVersion::V5, &mut Vec::new());
    }
});
