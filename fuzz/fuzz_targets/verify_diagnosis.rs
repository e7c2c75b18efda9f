//! Any bytes as data that was read back: `cargo +nightly fuzz run verify_diagnosis`.
#![no_main]

use fiord_formats::integrity::diagnosis::{
    ExpectedIntervals, ExpectedSectors, Promise, SectorState,
};
use fiord_formats::integrity::sector::{RunId, SectorExpected, SectorSize, TargetId};
use fiord_formats::verify::method::Method;
use fiord_formats::verify::write::{ExpectedWrite, WriteFormat};
use fiord_types::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let expected = SectorExpected { generation: Some(1), writer: None };
    let sectors = ExpectedSectors {
        size: SectorSize::MIN,
        target: TargetId(1),
        run: RunId(1),
        cycle: Some(251),
        state: &|_| SectorState::Written { expected, promise: Promise::Unknown },
    };
    let _ = sectors.diagnose(Bytes(4096), bytes);
    for method in [Method::Crc32c, Method::Meta, Method::Sha512] {
        let Ok(format) = WriteFormat::new(method, 0, 0, None) else { continue };
        let write = ExpectedWrite { offset: 4096, seed: Some(3), number: Some(5) };
        let intervals = ExpectedIntervals {
            format: &format,
            promise: Promise::Unknown,
            began: Some(7),
            newest: None,
        };
        let _ = intervals.diagnose(&write, bytes);
    }
});
