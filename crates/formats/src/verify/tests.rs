use proptest::prelude::*;

use super::body::Body;
use super::header::{Corruption, Expected, HeaderLayout, VerifyHeader};
use super::interval::{self, IntervalError, check, exchange, header_and_digest, seal};
use super::method::Method;
use super::pattern::{BodyPattern, ResolvedPart};
use super::state::{VerifyState, VerifyStateError};

/// Methods that have a header.
fn methods() -> impl Strategy<Value = Method> {
    let methods = Method::ALL.into_iter().filter(|method| method.has_header());
    prop::sample::select(methods.collect::<Vec<_>>())
}

prop_compose! {
    fn headers()(
        current: bool,
        method in methods(),
        length in 176u32..1500,
        (seed, offset, number) in any::<(u64, u64, u64)>(),
        (seconds, fraction, thread) in any::<(u32, u32, u16)>(),
    ) -> VerifyHeader {
        let layout = if current { HeaderLayout::Current } else { HeaderLayout::Before341 };
        let number = if current { number } else { u64::from(number as u16) };
        VerifyHeader { layout, method, length, seed, offset, seconds, fraction, number, thread }
    }
}

fn expected(header: &VerifyHeader) -> Expected {
    Expected {
        length: header.length,
        offset: header.offset,
        seed: Some(header.seed),
        number: Some(header.number),
    }
}

fn sealed(header: &VerifyHeader) -> Vec<u8> {
    let mut interval = vec![0; header.length as usize];
    Body::new(header.seed, header.length.into()).fill(0, &mut interval);
    seal(&mut interval, header).unwrap();
    interval
}

/// The field of the current layout that contains a byte of the header.
fn names_field(corruption: &Corruption, byte: usize) -> bool {
    match byte {
        0..2 => matches!(corruption, Corruption::Magic { .. }),
        2 => matches!(corruption, Corruption::Version { .. }),
        4..8 => matches!(corruption, Corruption::Length { .. }),
        8..16 => matches!(corruption, Corruption::Seed { .. }),
        16..24 => matches!(corruption, Corruption::Offset { .. }),
        32..40 => matches!(corruption, Corruption::Number { .. }),
        3..48 => matches!(corruption, Corruption::HeaderChecksum { .. }),
        _ => matches!(corruption, Corruption::Digest(_)),
    }
}

proptest! {
    #[test]
    fn sealed_intervals_are_read_as_they_were_written(header in headers()) {
        let interval = sealed(&header);
        prop_assert_eq!(VerifyHeader::read(&interval), Ok(header));
        prop_assert_eq!(check(&interval, header.method, &expected(&header)), Ok(header));
    }

    #[test]
    fn a_flipped_bit_is_found_and_named(header in headers(), at: prop::sample::Index, bit in 0u32..8) {
        let header = VerifyHeader { layout: HeaderLayout::Current, ..header };
        let mut interval = sealed(&header);
        let at = at.index(interval.len());
        interval[at] ^= 1u8 << bit;
        let start = header_and_digest(header.layout, header.method);
        let result = check(&interval, header.method, &expected(&header));
        if header.method.digest_length() > 0 || at < start {
            let corruption = result.unwrap_err();
            prop_assert!(names_field(&corruption, at), "byte {at}: {corruption}");
        }
        let body = Body::new(header.seed, header.length.into());
        let difference = body.first_difference(start as u64, &interval[start..]);
        let found = difference.map(|difference| (difference.position, difference.bits()));
        prop_assert_eq!(found, (at >= start).then_some((at as u64, 1u8 << bit)));
    }

    #[test]
    fn no_bytes_cause_a_panic(mut bytes: Vec<u8>, magic: bool, old: bool, method in methods()) {
        if let (true, Some(start)) = (magic, bytes.first_chunk_mut()) {
            *start = [0xca, 0xac, if old { 5 } else { 0x81 }, 0];
        }
        let _ = VerifyHeader::read(&bytes);
        let expected = Expected { length: 0, offset: 0, seed: None, number: None };
        let _ = check(&bytes, method, &expected);
        let _ = VerifyState::read(&bytes);
        let _ = exchange(&mut bytes, 48, 60);
    }

    #[test]
    fn any_part_of_a_body_equals_that_part_of_the_whole(
        seed: u64, length in 0usize..300, (from, to) in any::<(prop::sample::Index, prop::sample::Index)>(),
    ) {
        let body = Body::new(seed, length as u64);
        let mut whole = vec![0; length];
        body.fill(0, &mut whole);
        let (from, to) = (from.index(length + 1), to.index(length + 1));
        let mut part = vec![0; to.saturating_sub(from)];
        body.fill(from as u64, &mut part);
        prop_assert_eq!(&part, &whole[from..to.max(from)]);
        prop_assert_eq!(body.first_difference(from as u64, &part), None);
    }

    #[test]
    fn headers_are_exchanged_back_or_refused(
        mut bytes in prop::collection::vec(any::<u8>(), 0..400), taken in 40usize..180, offset in 0usize..500,
    ) {
        let before = bytes.clone();
        match exchange(&mut bytes, taken, offset) {
            Ok(()) => exchange(&mut bytes, taken, offset).unwrap(),
            Err(IntervalError::Offset { .. }) => {
                prop_assert!(offset < taken || offset + taken > bytes.len());
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
        prop_assert_eq!(bytes, before);
    }

    #[test]
    fn states_are_read_as_they_were_written(
        (number, index, flag) in any::<(u64, u64, u64)>(),
        generators: [[u8; 16]; 3],
        name in "[a-z.]{0,63}",
        incomplete in prop::collection::vec(prop::option::of(0..u64::MAX), 0..20),
        flipped: prop::sample::Index,
        bit in 0u32..8,
    ) {
        let generators = std::array::from_fn(|i| generators[i / 16][i % 16]);
        let name = name.into_bytes();
        let state = VerifyState { number, index, flag, generators, name, incomplete };
        let mut file = state.write().unwrap();
        prop_assert_eq!(VerifyState::read(&file), Ok(state));
        let flipped = flipped.index(file.len());
        prop_assert!(VerifyState::read(&file[..flipped]).is_err());
        file[flipped] ^= 1u8 << bit;
        // Version 7 differs from 5 and 6 in one bit each.
        prop_assert!(VerifyState::read(&file).is_err() || (flipped == 0 && bit < 2));
    }
}

#[test]
fn wrong_states_are_refused_with_what_was_expected() {
    let state = VerifyState {
        number: 3,
        index: 0,
        flag: 0,
        generators: [0; 48],
        name: b"a".to_vec(),
        incomplete: vec![Some(2), None],
    };
    let file = state.write().unwrap();
    let truncated = VerifyStateError::Truncated { expected: 184, found: 183 };
    assert_eq!(VerifyState::read(&file[..183]), Err(truncated));
    let trailing = VerifyStateError::Trailing { expected: 184, found: 185 };
    assert_eq!(VerifyState::read(&[&file[..], &[0]].concat()), Err(trailing));
    let mut old = file.clone();
    old[0] = 4;
    assert_eq!(VerifyState::read(&old), Err(VerifyStateError::Version { found: 4 }));
    // Without I/Os in flight, a length that is too small left nothing out.
    let mut short = VerifyState { incomplete: Vec::new(), ..state.clone() }.write().unwrap();
    short[8] = 16;
    let trailing = VerifyStateError::Trailing { expected: 40, found: 168 };
    assert_eq!(VerifyState::read(&short), Err(trailing));
    let long = VerifyState { name: vec![b'a'; 64], ..state };
    assert_eq!(long.write(), Err(VerifyStateError::Name { most: 63, found: 64 }));
}

#[test]
fn the_interval_divides_the_smallest_and_the_largest_write() {
    // Configured, smallest and largest write, and the length in the headers that fio 3.42 wrote.
    let facts = [
        (None, 4096, 8192, 4096),
        (None, 4096, 6144, 2048),
        (Some(4096), 6144, 8192, 2048),
        (Some(3072), 4096, 8192, 4096),
        (Some(8192), 4096, 8192, 4096),
        (Some(1000), 4096, 4096, 4096),
        (Some(400), 4000, 4000, 400),
        (None, 4096, 10240, 2048),
    ];
    for (configured, smallest, largest, length) in facts {
        assert_eq!(interval::length(configured, smallest, largest), length, "{configured:?}");
    }
    assert_eq!(interval::length(Some(0), 0, 0), 0);
}

#[test]
fn patterns_equal_those_of_fio() {
    let text = |text: &[u8]| ResolvedPart::Bytes(text.to_vec());
    let cases = [
        (
            // 0xff%o"abcd"-12
            vec![text(b"\xff"), ResolvedPart::Offset, text(b"abcd\xf4\xff\xff\xff")],
            0,
            b"\xff\0\x04\0\0\0\0\0\0abcd\xf4\xff\xff\xff\xff\0\x04\0\0\0\0\0\0abcd\xf4\xff\xff".to_vec(),
        ),
        (
            // 0x1234567%o in pieces of 20 bytes
            vec![text(b"\x01\x23\x45\x67"), ResolvedPart::Offset],
            20,
            b"\x01\x23\x45\x67\0\x04\0\0\0\0\0\0\x01\x23\x45\x67\0\x04\0\0\x01\x23\x45\x67\x14\x04\0"
                .to_vec(),
        ),
    ];
    for (parts, interval, expected) in cases {
        let mut write = vec![0; expected.len()];
        BodyPattern::new(parts, interval).unwrap().fill(1024, &mut write);
        assert_eq!(write, expected);
    }
    assert_eq!(BodyPattern::new(vec![text(b"")], 0), None);
}
