//! Tests of values with their own syntax: documented examples, and the behaviour of fio 3.42 for
//! other values.

use super::*;
use crate::option::value::{
    Bases, NumaPolicy, PatternPart, ReadValue, Reader, SizeRange, TimeRange,
};
use proptest::prelude::*;

const B: Bases = Bases { kb: 1024 };

fn bytes(text: &str) -> Vec<u8> {
    match &pattern(text, &B).unwrap()[..] {
        [PatternPart::Bytes(bytes)] => bytes.clone(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn patterns_are_the_bytes_that_fio_writes() {
    for (text, expected) in [
        ("0xdeadbeef", &[0xde, 0xad, 0xbe, 0xef][..]),
        ("0xabc", &[0x0a, 0xbc]),
        ("0XAB", &[0xab]),
        ("0x00", &[0]),
        ("0", &[0]),
        ("12", &[12]),
        ("+5", &[5]),
        ("010", &[10]),
        ("255", &[255]),
        ("256", &[0, 1]),
        ("12345", &[0x39, 0x30]),
        ("65536", &[0, 0, 1]),
        ("16777216", &[0, 0, 0, 1]),
        ("-12", &[0xf4, 0xff, 0xff, 0xff]),
        ("-300", &[0xd4, 0xfe, 0xff, 0xff]),
        ("-2147483648", &[0, 0, 0, 0x80]),
        ("\"abcd\"", b"abcd"),
        ("\"a\\x\"", b"a\\x"),
        ("12 13", &[12, 13]),
        ("12\"x\"", &[12, b'x']),
        ("0xdeadface\"abcd\"-12", b"\xde\xad\xfa\xceabcd\xf4\xff\xff\xff"),
    ] {
        assert_eq!(bytes(text), expected, "{text}");
    }
}

#[test]
fn patterns_may_hold_files_and_the_offset() {
    let parts = |t: &str| pattern(t, &B).unwrap();
    assert_eq!(parts("'filename'"), [PatternPart::File("filename".into())]);
    assert_eq!(
        parts("0xff%o\"abcd\"-12"),
        [
            PatternPart::Bytes(vec![0xff]),
            PatternPart::Offset,
            PatternPart::Bytes(b"abcd\xf4\xff\xff\xff".to_vec()),
        ]
    );
}

#[test]
fn splits_as_documented() {
    let read = |t: &str| splits(t, &B).unwrap().into_array();
    let k = |n: u64| n << 10;
    assert_eq!(read("4k/10:64k/50:32k/40")[0], [(k(4), 10), (k(64), 50), (k(32), 40)]);
    assert_eq!(read("4k/50:1k/:32k/")[0], [(k(4), 50), (k(1), 25), (k(32), 25)]);
    let two = read("2k/50:4k/50,4k/90:8k/10");
    assert_eq!(two[0], [(k(2), 50), (k(4), 50)]);
    assert_eq!(two[1], [(k(4), 90), (k(8), 10)]);
    assert_eq!(two[2], two[1], "the trim takes the write's");
    assert!(read(",4k/100")[0].is_empty());
    assert!(read("4k/100,")[1].is_empty());
    // The last size gets the remainder.
    assert_eq!(read("4k:8k:16k")[2], [(k(4), 33), (k(8), 33), (k(16), 34)]);
    assert_eq!(read("4k/40:8k/40")[0], [(k(4), 40), (k(8), 60)]);
    assert_eq!(read("4k/50:8k")[0], [(k(4), 50), (k(8), 50)]);
}

#[test]
fn sets_of_cpus() {
    assert_eq!(cpu_set("0,5,8-15", &B), Ok([0, 5].into_iter().chain(8..16).collect()));
    assert_eq!(cpu_set("3:1:1", &B), Ok(vec![1, 3]));
    assert_eq!(cpu_set("3-1", &B), Ok(vec![1, 2, 3]));
    assert_eq!(numa_nodes("all", &B), Ok(vec![]));
    assert_eq!(numa_policy("bind:0-1", &B), Ok(NumaPolicy::Bind(vec![0, 1])));
    assert_eq!(numa_policy("local", &B), Ok(NumaPolicy::Local));
    assert_eq!(numa_policy("interleave:all", &B), Ok(NumaPolicy::Interleave(vec![])));
}

#[test]
fn range_bounds_are_sorted() {
    const S: u64 = 1_000_000_000;
    let times = |low, high| Ok(TimeRange::between(low, high));
    let sizes = |low, high| Ok(SizeRange::between(low, high));
    assert_eq!(time_range("5", &B), times(5 * S, 5 * S));
    assert_eq!(time_range("10-5", &B), times(5 * S, 10 * S));
    assert_eq!(time_range("500ms:2s", &B), times(S / 2, 2 * S));
    assert_eq!(size_range("4k-1k", &B), sizes(1024, 4096));
    assert_eq!(size_range("1k:4m", &B), sizes(1024, 4 << 20));
    assert_eq!(size_range("4k", &B), sizes(4096, 4096));
    assert_eq!(size_range("(8k-4k)-16k", &B), sizes(4096, 16384));
}

#[test]
fn seeds_have_64_bits() {
    assert_eq!(seed("0x89", &B), Ok(0x89));
    assert_eq!(seed("18446744073709551615", &B), Ok(u64::MAX));
    assert_eq!(seed("-1", &B), Ok(u64::MAX));
}

proptest! {
    /// No parser panics, and every range in an error is inside the text.
    #[test]
    fn any_text_is_parsed_or_rejected_without_panic(text in "[-0-9a-z:/,%'\"x\\\\ µ]{0,24}|.{0,12}") {
        let readers: [&dyn ReadValue; 9] = [
            &Reader(cpu_set), &Reader(numa_nodes), &Reader(numa_policy), &Reader(paths), &Reader(pattern),
            &Reader(size_range), &Reader(time_range), &Reader(seed), &Reader(splits),
        ];
        for reader in readers {
            if let Err(e) = reader.read(&text, &B) {
                let (start, end) = e.span.unwrap_or_default();
                prop_assert!(start <= end && end <= text.len(), "{text:?} {start}..{end}");
            }
        }
    }

    #[test]
    fn split_weights_add_up(list in prop::collection::vec((1u64..1 << 20, prop::option::of(0u8..20)), 1..5)) {
        let text: Vec<String> = list.iter()
            .map(|(b, w)| format!("{b}/{}", w.map_or(String::new(), |w| w.to_string())))
            .collect();
        let out = splits(&text.join(":"), &B).unwrap();
        prop_assert_eq!(out.as_array()[0].iter().map(|(_, w)| u32::from(*w)).sum::<u32>(), 100);
    }

    #[test]
    fn escaped_names_come_back(names in prop::collection::vec("[a-z/:.]{1,8}", 1..4)) {
        let text: Vec<String> = names.iter().map(|n| n.replace(':', "\\:")).collect();
        prop_assert_eq!(paths(&text.join(":"), &B), Ok(names));
    }
}
