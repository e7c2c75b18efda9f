//! Any bytes as a write in one of fio's formats: `cargo +nightly fuzz run verify_write`.
#![no_main]

use fiord_formats::integrity::diagnosis::{ExpectedIntervals, Promise};
use fiord_formats::verify::method::Method;
use fiord_formats::verify::pattern::{BodyPattern, ResolvedPart};
use fiord_formats::verify::write::{ExpectedWrite, WriteFormat, WriteIdentity};
use fiord_types::Bytes;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first bytes choose the format and what the reader expects.
    let Some(([method, interval, choice], found)) = bytes.split_first_chunk() else { return };
    let method = Method::ALL[*method as usize % Method::ALL.len()];
    let parts = vec![ResolvedPart::Bytes(vec![*choice, 7]), ResolvedPart::Offset];
    let pattern = BodyPattern::new(parts, u64::from(choice & 4) * 64);
    let pattern = pattern.filter(|_| choice & 1 != 0 || method == Method::Pattern);
    let interval = u32::from(*interval) * 64;
    let Ok(format) = WriteFormat::new(method, interval, u32::from(choice >> 6) * 128, pattern)
    else {
        return;
    };
    let expected = ExpectedWrite {
        offset: 1 << 20,
        seed: (choice & 8 != 0).then_some(5),
        number: (choice & 16 != 0).then_some(6),
    };
    // With this bit, the bytes are differences to an intact write: 0 is a byte as it was written.
    let mut found = found.to_vec();
    if choice & 2 != 0 {
        let (offset, seed, number) = (expected.offset, 5, 6);
        let id = WriteIdentity { offset, seed, number, thread: 1, seconds: 8, nanos: 9 };
        let mut intact = vec![0; found.len()];
        let _ = format.seal_write(&id, &mut intact);
        found.iter_mut().zip(&intact).for_each(|(byte, intact)| *byte ^= intact);
    }
    let found = &found[..];
    let began = (choice & 32 != 0).then_some(7);
    let expectation =
        ExpectedIntervals { format: &format, promise: Promise::Unknown, began, newest: None };
    let extents = expectation.diagnose(&expected, found);
    let mut end = Bytes(expected.offset);
    for extent in &extents {
        assert!(extent.start >= end && extent.length > Bytes::ZERO, "{extents:?}");
        end = extent.end();
        let _ = extent.to_string();
    }
    assert!(end.0 <= expected.offset + found.len() as u64, "{extents:?}");
});
