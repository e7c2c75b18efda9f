//! Any bytes as sectors of `verify=fiord`: `cargo +nightly fuzz run verify_sector`.
#![no_main]

use fiord_formats::integrity::diagnosis::{ExpectedSectors, Promise, SectorState};
use fiord_formats::integrity::sector::{
    RunId, SectorCheck, SectorExpected, SectorFlags, SectorHeader, SectorSize, SectorWrite,
    TargetId,
};
use fiord_types::Bytes;
use libfuzzer_sys::fuzz_target;

const START: u64 = 1 << 20;

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses what the reader expects.
    let Some((choice, found)) = bytes.split_first() else { return };
    let size = SectorSize::new(512 << (choice % 4)).expect("a power of two");
    // With the highest bit, the bytes are differences to intact sectors: 0 is a byte as it was written.
    let mut found = found.to_vec();
    if choice & 128 != 0 {
        let mut intact = vec![0; found.len()];
        let (flags, target, run) = (SectorFlags::NONE, TargetId(1), RunId(1));
        let length = found.len() as u32;
        let write =
            SectorWrite { size, flags, target, run, job: 1, number: 9, start: START, length };
        write.fill(START, 3, &mut intact);
        found.iter_mut().zip(&intact).for_each(|(byte, intact)| *byte ^= intact);
    }
    let found = &found[..];
    let header = SectorHeader::read(found);
    let (target, run) = match header {
        Some(header) if choice & 4 == 0 => (header.write.target, header.write.run),
        _ => (TargetId(1), RunId(1)),
    };
    let expected = SectorExpected { generation: (choice & 8 != 0).then_some(3), writer: None };
    let state = |address: u64| match (choice >> 4 & 3, address % 8192 < 4096) {
        (1, true) => SectorState::Unchecked,
        (2, true) => SectorState::Trimmed,
        _ => SectorState::Written { expected, promise: Promise::Unknown },
    };
    let cycle = (choice & 64 != 0).then_some(251);
    let sectors = ExpectedSectors { size, target, run, cycle, state: &state };
    let extents = sectors.diagnose(Bytes(START), found);
    let mut end = Bytes(START);
    for extent in &extents {
        assert!(extent.start >= end && extent.length > Bytes::ZERO, "{extents:?}");
        end = extent.end();
        let _ = extent.to_string();
    }
    assert!(end.0 <= START + found.len() as u64, "{extents:?}");
    // Both readers agree on whether something is wrong.
    if choice >> 4 & 3 == 0 {
        let bad = SectorCheck::new(size, target, run).first_bad(START, &expected, found);
        assert_eq!(bad.is_some(), !extents.is_empty(), "{bad:?} {extents:?}");
    }
    if let Some(header) = header {
        let mut written = vec![0; header.write.size.bytes()];
        header.fill(&mut written);
        assert_eq!(SectorHeader::read(&written), Some(header));
    }
});
