//! Tests of values of every kind.

use super::*;
use crate::option::table;
use crate::option::value::SizeRange;

fn read(name: &str, text: &str) -> Result<Value, ValueError> {
    value(table::find(name).unwrap(), Some(text), &Bases::default())
}

/// The examples for `bs` in fio's documentation.
#[test]
fn lists_for_read_write_and_trim() {
    const K: i128 = 1024;
    for (text, expected) in [
        ("256k", [Some(256 * K); 3]),
        ("8k,32k", [Some(8 * K), Some(32 * K), Some(32 * K)]),
        ("8k,32k,", [Some(8 * K), Some(32 * K), None]),
        (",8k", [None, Some(8 * K), Some(8 * K)]),
        (",8k,", [None, Some(8 * K), None]),
        ("4k,", [Some(4 * K), None, None]),
        ("4k,,8k", [Some(4 * K), None, Some(8 * K)]),
        ("1k,2k,3k,", [Some(K), Some(2 * K), Some(3 * K)]),
        ("(1k*2),(4k/2)", [Some(2 * K); 3]),
        // These are not ranges: fio uses the second number for the positions that follow.
        ("4k-16k", [Some(4 * K), Some(16 * K), Some(16 * K)]),
        ("4k:16k", [Some(4 * K), Some(16 * K), Some(16 * K)]),
        ("4k-16k,8k", [Some(4 * K), Some(8 * K), Some(8 * K)]),
        ("8k,4k-16k", [Some(8 * K), Some(4 * K), Some(16 * K)]),
        ("(8k-4k)", [Some(4 * K); 3]),
    ] {
        assert_eq!(read("bs", text), Ok(Value::Ints(expected.into())), "{text}");
    }
}

#[test]
fn ranges_for_read_write_and_trim() {
    let range = |low, high| Some(SizeRange::between(low, high));
    let (a, b) = (range(1024, 4096), range(8192, 32768));
    for (text, expected) in [
        ("1k-4k", [a; 3]),
        ("4k-1k", [a; 3]),
        ("1k:4k", [a; 3]),
        ("1k-4k,8k-32k", [a, b, b]),
        ("1k-4k/8k-32k", [a, b, b]),
        ("1k-4k,", [a, None, None]),
        (",1k-4k", [None, a, a]),
        ("(1k*1)-(1k*4)", [a; 3]),
    ] {
        assert_eq!(read("bsrange", text), Ok(Value::Ranges(expected.into())), "{text}");
    }
}

#[test]
fn amounts() {
    for (text, expected) in [
        ("1g", Amount::Bytes(1 << 30)),
        ("(4k*8)", Amount::Bytes(32 << 10)),
        ("20%", Amount::Percent(20.0)),
        ("20.5%", Amount::Percent(20.5)),
        ("8z", Amount::Zones(8)),
        ("8Z", Amount::Zones(8)),
        ("(2*4)z", Amount::Zones(8)),
        ("0x1000", Amount::Bytes(4096)),
    ] {
        assert_eq!(read("size", text), Ok(Value::Amount(expected)), "{text}");
    }
}

#[test]
fn only_the_amount_of_io_may_exceed_the_target() {
    assert_eq!(read("io_size", "250%"), Ok(Value::Amount(Amount::Percent(250.0))));
    assert_eq!(read("size", "100%"), Ok(Value::Amount(Amount::Percent(100.0))));
    assert!(read("size", "100.5%").is_err());
    assert!(read("offset", "101%").is_err());
}

#[test]
fn words_and_their_suffixes() {
    assert_eq!(read("rw", "randread"), Ok(Value::Word("randread", None)));
    assert_eq!(read("rw", "randrw:8"), Ok(Value::Word("randrw", Some("8".into()))));
    assert_eq!(read("rw", "read:4k"), Ok(Value::Word("read", Some("4k".into()))));
    assert_eq!(read("readwrite", "readwrite"), Ok(Value::Word("rw", None)));
}

#[test]
fn switches_and_floats() {
    let stonewall = table::find("stonewall").unwrap();
    assert_eq!(value(stonewall, None, &Bases::default()), Ok(Value::Flag(true)));
    assert_eq!(read("stonewall", "0"), Ok(Value::Flag(false)));
    assert_eq!(read("direct", "1"), Ok(Value::Flag(true)));
    assert_eq!(read("percentile_list", "99:99.9"), Ok(Value::Floats(vec![99.0, 99.9])));
}

/// Every option reads its own default and its own example.
#[test]
fn every_default_and_example_can_be_parsed() {
    for def in table::options().iter().chain(table::engine_options()) {
        if let Some(default) = def.default {
            let read = value(def, Some(default), &Bases::default());
            assert!(read.is_ok(), "{}={default}: {read:?}", def.name);
        }
        let (name, text) = match def.example.split_once('=') {
            Some((name, text)) => (name, Some(text)),
            None => (def.example, None),
        };
        let read = value(def, text, &Bases::default());
        assert!(read.is_ok(), "{}: {read:?}", def.example);
        assert!(name == def.name || def.aliases.contains(&name), "{}", def.example);
    }
}
