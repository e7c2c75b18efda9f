//! Tests of values with their own syntax: documented examples, and the behaviour of fio 3.42 for
//! other values.

use std::num::NonZeroU64;

use super::*;
use crate::option::value::{
    Bases, ErrorLists, NumaPolicy, PatternPart, ReadValue, Reader, SizeRange, TimeRange,
};
use fiord_types::{Bytes, Dir, Nanos};
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
fn faults_have_effects_and_triggers() {
    use crate::option::fault::{CrashTime, FaultEffect, FaultTrigger, SimCrash, SimFault};
    let fault = |effect, trigger| SimFault { effect, trigger };
    let op = NonZeroU64::new(17);
    let text = "misdirected_write:op=17:by=-4k, bit_flip:rate=0.1%:bits=2:dir=read,\
                torn:bytes=1m-2m:sector=3:count=17";
    let expected = vec![
        fault(
            FaultEffect::Misdirected { dir: Dir::Write, by: Some(-4096) },
            FaultTrigger { op, ..FaultTrigger::default() },
        ),
        fault(
            FaultEffect::BitFlip { dir: Dir::Read, bits: 2 },
            FaultTrigger { rate: Some(0.1), ..FaultTrigger::default() },
        ),
        fault(
            FaultEffect::Torn { sectors: Some(3), unit: Bytes(512) },
            FaultTrigger {
                bytes: Some((Bytes(1 << 20), Bytes(2 << 20))),
                count: op,
                ..FaultTrigger::default()
            },
        ),
    ];
    assert_eq!(faults(text, &B), Ok(expected));
    assert_eq!(faults("", &B), Ok(vec![]));
    let at = CrashTime::Op(NonZeroU64::new(5).unwrap());
    assert_eq!(crash("op=5", &B), Ok(SimCrash { at, survive: 0.0, down: false }));
    let at = CrashTime::Time(Nanos(2_000_000_000));
    let all = SimCrash { at, survive: 30.0, down: true };
    assert_eq!(crash("time=2s:survive=30:down=1", &B), Ok(all));
}

#[test]
fn every_word_of_a_fault_is_the_word_of_its_effect() {
    for word in [
        "misdirected_write",
        "misdirected_read",
        "stale_read",
        "bit_flip",
        "torn",
        "shifted",
        "zeroed",
        "ones",
        "lost",
        "lost_after_flush",
        "swapped",
        "ignored_flush",
    ] {
        let all = faults(&format!("{word}:op=1"), &B).unwrap();
        assert_eq!(all[0].effect.word(), word);
    }
}

#[test]
fn an_error_in_a_list_of_faults_points_at_its_part() {
    for (text, part) in [
        ("lost:op=1,flip:op=1", "flip"),
        ("lost:op=1,lost", "lost"),
        ("lost:count=3", "lost:count=3"),
        ("lost:op=0", "0"),
        ("lost:op=1:op=2", "op=2"),
        ("lost:op=1:by=4k", "by=4k"),
        ("lost:op", "op"),
        ("torn:rate=101", "101"),
        ("torn:op=1:unit=0", "0"),
        ("bit_flip:op=1:dir=up", "up"),
        ("bit_flip:op=1:bits=0", "0"),
        ("lost:bytes=2m-1m", "2m-1m"),
        ("lost:bytes=1x-2m", "x"),
        ("shifted:op=1:by=0", "0"),
        ("misdirected_read:op=1:by=99999999999g", "99999999999g"),
    ] {
        let error = faults(text, &B).expect_err(text);
        let (start, end) = error.span.expect(text);
        assert_eq!(&text[start..end], part, "{text}: {error}");
        // The last of equal parts is the wrong one.
        assert_eq!(start, text.rfind(part).unwrap(), "{text}: {error}");
    }
    for text in ["", "op=5:time=1s", "survive=30", "op=5:down=2", "op=5:survive=101", "at=5"] {
        assert!(crash(text, &B).is_err(), "{text}");
    }
}

#[test]
fn error_lists_have_names_and_numbers() {
    let lists = |text: &str| {
        let ErrorLists { reads, writes, verification } = error_lists(text, &B).unwrap();
        [reads, writes, verification]
    };
    assert_eq!(lists("EAGAIN,ENOSPC:122"), [vec![11], vec![28, 122], vec![]]);
    assert_eq!(lists(",,EILSEQ"), [vec![], vec![], vec![84]]);
    assert_eq!(lists("::EIO:,-28,"), [vec![5], vec![28], vec![]]);
    assert_eq!(lists("0x281:EDEADLOCK:ENOTSUP"), [vec![0x281, 35, 95], vec![], vec![]]);
    for (text, what, span) in [
        ("EIO,ENOSP", "unknown error `ENOSP`", (4, 9)),
        ("0", "unknown error `0`", (0, 1)),
        ("EIO:eio", "unknown error `eio`", (4, 7)),
        ("EIO,EIO,EIO,EIO", "list", (12, 15)),
    ] {
        let error = error_lists(text, &B).unwrap_err();
        assert!(error.what.contains(what), "{text}: {error:?}");
        assert_eq!(error.span, Some(span), "{text}");
    }
    let near = error_lists("eio", &B).unwrap_err();
    assert_eq!(near.help, Some("did you mean `EIO`?".into()));
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
        let readers: [&dyn ReadValue; 12] = [
            &Reader(error_lists), &Reader(faults), &Reader(crash),
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
