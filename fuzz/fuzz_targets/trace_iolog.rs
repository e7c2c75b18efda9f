//! Any bytes as an I/O log: `cargo +nightly fuzz run trace_iolog`.
#![no_main]

use fiord_formats::trace::iolog::{IologColumns, IologReader, IologWriter};
use fiord_formats::trace::{InvalidLines, TraceEvent, TraceName, TraceOptions, TraceReader};
use fiord_types::Nanos;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    for (invalid, longest_gap) in
        [(InvalidLines::Stop, Nanos::from_secs(86400)), (InvalidLines::Skip, Nanos::MAX)]
    {
        let Ok(mut reader) = IologReader::new(bytes, &TraceOptions { invalid, longest_gap }) else {
            return;
        };
        let (mut events, mut time) = (Vec::new(), Nanos::ZERO);
        while let Ok(Some(event)) = reader.next_event() {
            if let TraceEvent::Io(io) = &event {
                assert!(io.time >= time);
                time = io.time;
            }
            events.push(event);
        }

        // What is written is read again.
        let mut writer = IologWriter::new(IologColumns::Completion);
        let mut out = Vec::new();
        writer.header(&mut out);
        for event in &events {
            match event {
                TraceEvent::Target(_, TraceName::Path(name)) => {
                    writer.add(Nanos::ZERO, name.as_encoded_bytes(), &mut out);
                }
                TraceEvent::Open(target) => writer.open(Nanos::ZERO, *target, &mut out),
                TraceEvent::Close(target) => writer.close(Nanos::ZERO, *target, &mut out),
                TraceEvent::Io(io) => writer.io(io, &mut out),
                _ => unreachable!("a log has no other events"),
            }
        }
        let options = TraceOptions { invalid: InvalidLines::Skip, longest_gap: Nanos::MAX };
        let mut reader = IologReader::new(&out[..], &options).unwrap();
        while reader.next_event().unwrap().is_some() {}
    }
});
