//! Any bytes as blktrace files: `cargo +nightly fuzz run trace_blktrace`.
#![no_main]

use std::io::BufRead;

use fiord_formats::trace::blktrace::{BlktraceReader, MergeSource, merge};
use fiord_formats::trace::{TraceEvent, TraceOptions, TraceReader};
use fiord_types::Nanos;
use libfuzzer_sys::fuzz_target;

fn times<'a>(files: impl IntoIterator<Item = &'a [u8]>) -> Option<u64> {
    let options = TraceOptions { longest_gap: Nanos::MAX, ..TraceOptions::default() };
    let mut reader = BlktraceReader::new(files, &options);
    let (mut ios, mut time) = (0, Nanos::ZERO);
    loop {
        match reader.next_event() {
            Ok(Some(TraceEvent::Io(io))) => {
                assert!(io.time >= time);
                (time, ios) = (io.time, ios + 1);
            }
            Ok(Some(_)) => {}
            Ok(None) => return Some(ios),
            Err(_) => return None,
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let (first, second) = bytes.split_at(bytes.len() / 96 * 48);
    let found = times([first, second]);
    let whole = bytes.to_vec();
    let open = Box::new(move || {
        let halves = whole.split_at(whole.len() / 96 * 48);
        let boxed =
            |half: &[u8]| -> Box<dyn BufRead> { Box::new(std::io::Cursor::new(half.to_vec())) };
        Ok(vec![boxed(halves.0), boxed(halves.1)])
    });
    let mut out = Vec::new();
    if merge(vec![MergeSource { open, scalar: 100.0, iterations: 1 }], &mut out).is_ok() {
        // A merged trace has the I/Os of its source.
        assert_eq!(times([&out[..]]), found);
    }
});
