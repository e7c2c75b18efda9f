use proptest::prelude::*;

use super::*;
use crate::verify::pattern::ResolvedPart;

/// A job's format, the length of a write, and the number of bytes that its headers take.
#[derive(Debug, Clone)]
struct Case {
    format: WriteFormat,
    parts: Vec<ResolvedPart>,
    piece: u64,
    length: usize,
}

fn parts() -> impl Strategy<Value = Vec<ResolvedPart>> {
    let part = prop_oneof![
        prop::collection::vec(any::<u8>(), 1..40).prop_map(ResolvedPart::Bytes),
        Just(ResolvedPart::Offset),
    ];
    prop::collection::vec(part, 0..4)
}

prop_compose! {
    fn cases()(
        method in prop::sample::select(&Method::ALL[..]),
        (intervals, moved) in (1usize..4, any::<bool>()),
        slack in 0usize..300,
        parts in parts(),
        piece in prop_oneof![Just(0u64), 1u64..600],
    ) -> Case {
        let needed = header_and_digest(HeaderLayout::Current, method);
        let interval = 2 * needed + slack;
        let offset = if moved { needed + slack / 2 } else { 0 };
        let pattern = BodyPattern::new(parts.clone(), piece);
        let format = WriteFormat::new(method, interval as u32, offset as u32, pattern).unwrap();
        Case { format, parts, piece, length: intervals * interval }
    }
}

const ID: WriteIdentity = WriteIdentity {
    offset: 0x10_2030,
    seed: 0x1234_5678_9abc_def1,
    number: 77,
    thread: 3,
    seconds: 5,
    nanos: 6,
};
const EXPECTED: ExpectedWrite =
    ExpectedWrite { offset: ID.offset, seed: Some(ID.seed), number: Some(ID.number) };

/// The bytes of a pattern, one after the other.
fn naive(parts: &[ResolvedPart], piece: u64, offset: u64, length: usize) -> Vec<u8> {
    let piece = if piece == 0 { length } else { piece as usize };
    let mut all = Vec::new();
    while all.len() < length {
        let start = (offset + all.len() as u64).to_le_bytes();
        let once = parts.iter().flat_map(|part| match part {
            ResolvedPart::Bytes(bytes) => bytes.clone(),
            ResolvedPart::Offset => start.to_vec(),
        });
        let once: Vec<u8> = once.collect();
        all.extend(once.iter().copied().cycle().take(piece.min(length - all.len())));
    }
    all
}

proptest! {
    #[test]
    fn what_is_sealed_is_intact_and_every_change_is_found(
        case in cases(), at: prop::sample::Index, bit in 0u32..8,
    ) {
        let mut write = vec![0; case.length];
        case.format.seal_write(&ID, &mut write).unwrap();
        let sealed = write.clone();
        prop_assert_eq!(case.format.check_write(&EXPECTED, &mut write), Ok(()));
        prop_assert_eq!(&write, &sealed, "a check leaves the write as it is");
        let at = at.index(write.len());
        write[at] ^= 1u8 << bit;
        let changed = write.clone();
        let result = case.format.check_write(&EXPECTED, &mut write);
        prop_assert_eq!(&write, &changed, "a failed check, too");
        let covers = match case.format.method {
            Method::Null => false,
            method if method.compares_pattern() => case.format.pattern.is_some(),
            method => method.digest_length() > 0,
        };
        if covers {
            let bad = result.unwrap_err();
            prop_assert!((bad.position..bad.position + bad.length).contains(&at), "{}", bad);
        }
    }

    #[test]
    fn a_write_of_another_place_or_job_is_found(case in cases()) {
        let mut write = vec![0; case.length];
        case.format.seal_write(&ID, &mut write).unwrap();
        if case.format.method.has_header() {
            for other in [
                ExpectedWrite { offset: ID.offset + 4096, ..EXPECTED },
                ExpectedWrite { seed: Some(1), ..EXPECTED },
                ExpectedWrite { number: Some(78), ..EXPECTED },
            ] {
                prop_assert!(case.format.check_write(&other, &mut write).is_err());
            }
            let less = ExpectedWrite { seed: None, number: None, ..EXPECTED };
            prop_assert_eq!(case.format.check_write(&less, &mut write), Ok(()));
        }
    }

    #[test]
    fn patterns_repeat(case in cases(), length in 0usize..20_000, from: prop::sample::Index) {
        let Some(pattern) = BodyPattern::new(case.parts.clone(), case.piece) else { return Ok(()) };
        let mut filled = vec![0; length];
        pattern.fill(ID.offset, &mut filled);
        prop_assert_eq!(&filled, &naive(&case.parts, case.piece, ID.offset, length));
        let from = from.index(length + 1);
        prop_assert_eq!(pattern.first_difference(ID.offset, from as u64, &filled[from..]), None);
        if let Some(byte) = filled.get_mut(from) {
            *byte ^= 16;
            let difference = pattern.first_difference(ID.offset, 0, &filled).unwrap();
            prop_assert_eq!((difference.position, difference.bits()), (from as u64, 16));
        }
    }

    #[test]
    fn a_crc_that_is_computed_with_the_body_is_that_of_its_bytes(
        lengths in prop::sample::select(&[(4096usize, 4096usize), (131_072, 131_072), (0, 0)][..]),
        other in (53usize..3000, 53usize..20_000),
        seed: u64,
    ) {
        let (interval, length) = if lengths.0 == 0 { other } else { lengths };
        let format = WriteFormat::new(Method::Crc32c, interval as u32, 0, None).unwrap();
        let id = WriteIdentity { seed, ..ID };
        let mut write = vec![0x55; length];
        let sealed = format.seal_write(&id, &mut write);
        let last = length % interval;
        prop_assert_eq!(sealed.is_ok(), last == 0 || last >= 52);
        let mut body = vec![0; length];
        Body::new(seed, length as u64).fill(0, &mut body);
        for (found, expected) in write.chunks(interval).zip(body.chunks(interval)) {
            if found.len() >= 52 {
                prop_assert_eq!(&found[52..], &expected[52..]);
                prop_assert_eq!(&found[42..44], &expected[42..44]);
                let crc = fiord_simd::crc::CRC32C.update(0xffff_ffff, &expected[52..]) as u32;
                prop_assert_eq!(&found[48..52], crc.to_le_bytes());
            }
        }
    }

    /// The words of the four lanes, one after the other.
    #[test]
    fn a_body_consists_of_the_words_of_four_lanes(seed: u64, length in 0usize..2000) {
        let mut lanes = [1, 2, 3, 5].map(|factor: u64| seed.wrapping_mul(factor));
        let mut expected = Vec::new();
        while expected.len() < length {
            let lane = if expected.len() < length / 32 * 32 { expected.len() / 8 % 4 } else { 0 };
            expected.extend(lanes[lane].to_le_bytes());
            lanes[lane] = lanes[lane].wrapping_mul(0x61c8_8646_80b5_83eb);
        }
        expected.truncate(length);
        let mut filled = vec![0; length];
        Body::new(seed, length as u64).fill(0, &mut filled);
        prop_assert_eq!(filled, expected);
    }
}

#[test]
fn intervals_that_cannot_hold_their_header_are_refused() {
    let new = |interval, offset| WriteFormat::new(Method::Sha512, interval, offset, None);
    let too_short = IntervalError::TooShort { length: 175, needed: 176 };
    assert_eq!(new(175, 0).unwrap_err(), too_short);
    assert!(new(176, 0).is_ok());
    assert!(new(352, 176).is_ok());
    let wrong = |offset| IntervalError::Offset { offset, low: 176, high: 336 };
    assert_eq!(new(512, 175).unwrap_err(), wrong(175));
    assert_eq!(new(512, 337).unwrap_err(), wrong(337));
    let unaligned = new(0, 0).unwrap();
    assert!(unaligned.seal_write(&ID, &mut [0; 100]).is_err());
    assert!(unaligned.check_write(&EXPECTED, &mut [0; 100]).is_err());
    assert!(unaligned.check_write(&EXPECTED, &mut []).is_ok(), "an empty write has no interval");
}
