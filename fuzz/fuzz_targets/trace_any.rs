//! Any bytes as a trace of a format that its contents tell: `cargo +nightly fuzz run trace_any`.
#![no_main]

use fiord_formats::trace::{InvalidLines, TraceEvent, TraceOptions, open};
use fiord_types::Nanos;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for (invalid, longest_gap) in
        [(InvalidLines::Stop, Nanos::from_secs(86400)), (InvalidLines::Skip, Nanos::MAX)]
    {
        let Ok(mut reader) = open(bytes, &TraceOptions { invalid, longest_gap }) else { return };
        let (mut time, mut targets) = (Nanos::ZERO, 0);
        while let Ok(Some(event)) = reader.next_event() {
            match event {
                TraceEvent::Target(target, _) => {
                    assert_eq!(target.index(), targets);
                    targets += 1;
                }
                TraceEvent::Io(io) => {
                    assert!(io.time >= time && io.target.index() < targets);
                    assert!(io.offset.0.checked_add(io.len.0).is_some_and(|end| end < 1 << 63));
                    time = io.time;
                }
                _ => {}
            }
        }
    }
});
