//! Each fault of a write in one of fio's formats gets its class, as far as the format allows.

use proptest::prelude::*;

use super::*;
use crate::integrity::diagnosis::FaultClass;
use crate::verify::pattern::{BodyPattern, ResolvedPart};
use crate::verify::write::WriteIdentity;

const OFFSET: u64 = 1 << 20;
const LENGTH: usize = 16384;

fn format(method: Method, interval: u32) -> WriteFormat {
    let pattern = match method {
        Method::PatternHdr => vec![ResolvedPart::Bytes(b"fiord".to_vec())],
        Method::Pattern => vec![ResolvedPart::Bytes(vec![0xa5; 56]), ResolvedPart::Offset],
        _ => Vec::new(),
    };
    WriteFormat::new(method, interval, 0, BodyPattern::new(pattern, 0)).expect("it fits")
}

fn identity(number: u64) -> WriteIdentity {
    let seed = 0x1234_5678_9abc_def1 ^ number << 9;
    WriteIdentity { offset: OFFSET, seed, number, thread: 1, seconds: 5000, nanos: 77 }
}

fn filled(format: &WriteFormat, id: WriteIdentity) -> Vec<u8> {
    let mut data = vec![0; LENGTH];
    format.seal_write(&id, &mut data).expect("it fits");
    data
}

fn diagnose(format: &WriteFormat, found: &[u8]) -> Vec<BadExtent> {
    let id = identity(50);
    let expected = ExpectedWrite { offset: OFFSET, seed: Some(id.seed), number: Some(id.number) };
    let intervals = ExpectedIntervals {
        format,
        promise: Promise::Acknowledged,
        began: Some(4000),
        newest: None,
    };
    intervals.diagnose(&expected, found)
}

fn one(format: &WriteFormat, found: &[u8]) -> BadExtent {
    let mut extents = diagnose(format, found);
    assert_eq!(extents.len(), 1, "{format:?}: {extents:?}");
    extents.remove(0)
}

fn whole(format: &WriteFormat, found: &[u8]) -> Diagnosis {
    let extent = one(format, found);
    assert_eq!((extent.start, extent.length), (Bytes(OFFSET), Bytes(LENGTH as u64)));
    extent.diagnosis
}

/// Formats with a header and a computed body, with one and with several intervals.
fn formats() -> Vec<WriteFormat> {
    let methods = [Method::Md5, Method::Crc32c, Method::Crc7, Method::Sha512, Method::Xxhash];
    methods.into_iter().flat_map(|method| [format(method, 0), format(method, 4096)]).collect()
}

#[test]
fn right_data_has_no_extents() {
    for method in Method::ALL {
        let format = format(method, 0);
        assert_eq!(diagnose(&format, &filled(&format, identity(50))), [], "{method:?}");
    }
}

#[test]
fn blank_data() {
    for format in formats() {
        assert_eq!(whole(&format, &[0; LENGTH]), Diagnosis::Blank { ones: false });
        assert_eq!(whole(&format, &[0xff; LENGTH]), Diagnosis::Blank { ones: true });
    }
}

#[test]
fn an_older_write_is_stale() {
    for format in formats() {
        let Diagnosis::Stale(stale) = whole(&format, &filled(&format, identity(20))) else {
            panic!()
        };
        assert_eq!((stale.found.number, stale.missing.map(|w| w.number)), (20, Some(50)));
        let earlier = WriteIdentity { seconds: 3999, ..identity(20) };
        let diagnosis = whole(&format, &filled(&format, earlier));
        assert_eq!(diagnosis, Diagnosis::EarlierRun { run: None, belongs: None });
    }
}

#[test]
fn a_write_of_another_offset_is_misdirected() {
    for format in formats() {
        let other = WriteIdentity { offset: OFFSET + 65536, ..identity(51) };
        let expected = Misdirection { other: Bytes(OFFSET + 65536), foreign: true };
        let diagnosis = whole(&format, &filled(&format, other));
        assert_eq!(diagnosis, Diagnosis::Misdirected(expected));
    }
}

#[test]
fn torn_at_any_boundary() {
    for format in formats() {
        let (new, old) = (filled(&format, identity(50)), filled(&format, identity(20)));
        for (at, unit) in
            [(4096, TearUnit::Page), (512 * 9, TearUnit::Sector), (5000, TearUnit::Byte)]
        {
            let mut data = new.clone();
            data[at..].copy_from_slice(&old[at..]);
            let extent = one(&format, &data);
            assert_eq!(extent.end(), Bytes(OFFSET + LENGTH as u64));
            let Diagnosis::Torn(tear) = extent.diagnosis else { panic!("{format:?} {extent:?}") };
            assert_eq!((tear.unit, tear.order), (unit, TearOrder::HeadNew));
            assert!(tear.at.0.abs_diff(at as u64) < 8, "{tear:?}");
            let mut data = old.clone();
            data[at..].copy_from_slice(&new[at..]);
            let extent = one(&format, &data);
            assert_eq!(extent.start, Bytes(OFFSET));
            let Diagnosis::Torn(tear) = extent.diagnosis else { panic!("{format:?} {extent:?}") };
            assert_eq!((tear.unit, tear.order), (unit, TearOrder::TailNew));
        }
    }
}

#[test]
fn torn_between_intervals() {
    let format = format(Method::Crc32c, 512);
    let mut data = filled(&format, identity(50));
    data[512 * 3..].copy_from_slice(&filled(&format, identity(20))[512 * 3..]);
    let Diagnosis::Torn(tear) = one(&format, &data).diagnosis else { panic!() };
    let expected = Tear {
        write: Bytes(OFFSET),
        at: Bytes(512 * 3),
        order: TearOrder::HeadNew,
        unit: TearUnit::Interval,
        boundaries: 1,
    };
    assert_eq!(tear, expected);
}

#[test]
fn shifted_by_bytes() {
    for format in formats() {
        for by in [1, 8, 100, 512] {
            let mut data = filled(&format, identity(50));
            data.copy_within(..LENGTH - by, by);
            data[..by].fill(0x55);
            let extents = diagnose(&format, &data);
            let all = |e: &BadExtent| e.diagnosis == Diagnosis::Shifted { by: by as i64 };
            assert!(extents.iter().all(all), "{format:?} {by}: {extents:?}");
            let mut data = filled(&format, identity(50));
            data.copy_within(by.., 0);
            let first = diagnose(&format, &data).remove(0);
            assert_eq!(first.diagnosis, Diagnosis::Shifted { by: -(by as i64) }, "{format:?}");
        }
    }
}

/// The header says another method, so it differs from the expected one at its start, and nothing before that is old.
#[test]
fn data_of_another_method_has_an_extent_with_bytes() {
    let format = format(Method::Crc32c, 0);
    let (method, length, layout) = (Method::Crc7, 5, HeaderLayout::Current);
    let (seconds, fraction, number, thread, seed) = (9, 6, 1, 23, 8);
    let offset = OFFSET;
    let header =
        VerifyHeader { layout, method, length, seed, offset, seconds, fraction, number, thread };
    let mut found = vec![0; 135];
    header.write(&mut found).expect("it fits");
    let expected = ExpectedWrite { offset, seed: None, number: None };
    let intervals =
        ExpectedIntervals { format: &format, promise: Promise::Unknown, began: None, newest: None };
    let extents = intervals.diagnose(&expected, &found);
    assert_eq!(extents.len(), 1, "{extents:?}");
    assert_eq!((extents[0].start, extents[0].length), (Bytes(OFFSET), Bytes(135)));
    assert_eq!(extents[0].diagnosis.class(), FaultClass::Unrecognized);
}

#[test]
fn intact_data_of_another_method() {
    let data = filled(&format(Method::Crc32c, 4096), identity(50));
    let md5 = format(Method::Md5, 4096);
    let expected = ExpectedWrite { offset: OFFSET, seed: None, number: None };
    let read = |began, data: &[u8]| {
        let intervals =
            ExpectedIntervals { format: &md5, promise: Promise::Unknown, began, newest: None };
        intervals.diagnose(&expected, data)
    };
    let extents = read(None, &data);
    assert_eq!(extents.len(), 1, "{extents:?}");
    assert_eq!(
        extents[0].to_string(),
        "other-method: written with verify=crc32c, the job has verify=md5: not a fault of the \
         medium. To fix: set verify=crc32c"
    );
    // The job has written: its own data is missing.
    assert!(read(Some(4000), &data)[0].diagnosis.class() != FaultClass::OtherMethod);
    let mut damaged = data;
    damaged[5000] ^= 1;
    let classes: Vec<_> = read(None, &damaged).iter().map(|e| e.diagnosis.class()).collect();
    assert_eq!(classes.len(), 3, "{classes:?}");
    assert!(classes[1] != FaultClass::OtherMethod, "{classes:?}");
}

#[test]
fn garbage_is_unrecognized() {
    for format in formats() {
        let mut data = filled(&format, identity(50));
        data[4096..8192].fill(0x5a);
        assert_eq!(one(&format, &data).diagnosis.class(), FaultClass::Unrecognized);
    }
}

#[test]
fn patterns_without_headers() {
    let format = format(Method::Pattern, 0);
    let mut data = filled(&format, identity(50));
    data[700] ^= 8;
    let extent = one(&format, &data);
    assert_eq!(extent.start, Bytes(OFFSET + 512));
    assert_eq!(extent.diagnosis.class(), FaultClass::BitFlips);
    let other = WriteIdentity { offset: OFFSET + 65536, ..identity(50) };
    let expected = Misdirection { other: Bytes(OFFSET + 65536), foreign: true };
    assert_eq!(whole(&format, &filled(&format, other)), Diagnosis::Misdirected(expected));
    assert_eq!(whole(&format, &[0; LENGTH]), Diagnosis::Blank { ones: false });
}

proptest! {
    /// A flipped bit in header, digest or body is located, whatever the method.
    #[test]
    fn single_flipped_bits_are_located(bit in 0usize..LENGTH * 8, near in 0usize..70 * 8, first: bool, which in 0usize..10) {
        let format = formats().remove(which);
        let bit = if first { near } else { bit };
        let mut data = filled(&format, identity(50));
        data[bit / 8] ^= 1 << (bit % 8);
        let extent = one(&format, &data);
        let Diagnosis::BitFlips(flips) = &extent.diagnosis else { panic!("{extent:?}") };
        prop_assert_eq!(flips.count, 1);
        let at = extent.start.0 - OFFSET + flips.first[0].at.0;
        prop_assert_eq!((at as usize, flips.first[0].mask()), (bit / 8, 1 << (bit % 8)));
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600), which in 0usize..18) {
        let format = format(Method::ALL[which], 0);
        let _ = diagnose(&format, &bytes);
    }
}
