//! The examples of fio's documentation, and the rules that follow from them.

use super::*;
use proptest::prelude::*;

const OLD: Bases = Bases { kb: 1024 };
const SI: Bases = Bases { kb: 1000 };

fn all(bases: &Bases, texts: &[&str], value: u64) {
    for t in texts {
        assert_eq!(bytes(t, bases), Ok(value), "{t} under {bases:?}");
    }
}

#[test]
fn documented_sizes_under_kb_base_1024() {
    all(&OLD, &["4096", "4096b", "4096B", "4k", "4kb", "4kB", "4K", "4KB", "4 kB"], 4096);
    all(&OLD, &["1048576", "1m", "1024k"], 1 << 20);
    all(&OLD, &["1000000", "1mib", "1000kib", "1MiB"], 1_000_000);
    all(&OLD, &["1099511627776", "1t", "1024g", "1048576m"], 1 << 40);
    all(&OLD, &["1tib", "1000gib", "1000000mib"], 1_000_000_000_000);
    all(&OLD, &["1p"], 1 << 50);
    all(&OLD, &["4GiB"], 4_000_000_000);
}

#[test]
fn documented_sizes_under_kb_base_1000() {
    all(&SI, &["4096", "4096b", "4096B", "4kib", "4kiB", "4KIB", "4KiB"], 4096);
    all(&SI, &["1048576", "1mib", "1024kib"], 1 << 20);
    all(&SI, &["1000000", "1m", "1000k"], 1_000_000);
    all(&SI, &["1099511627776", "1tib", "1024gib", "1048576mib"], 1 << 40);
    all(&SI, &["1t", "1000g", "1000000m", "1000000000k"], 1_000_000_000_000);
}

/// Differs from fio's documentation but matches fio 3.42: an `i` counts only before a `b`.
#[test]
fn an_i_without_a_b_has_no_effect() {
    all(&OLD, &["4ki", "4Ki", "4KI"], 4096);
    all(&OLD, &["1mi", "1024ki"], 1 << 20);
    all(&OLD, &["1gi"], 1 << 30);
    all(&SI, &["1mi", "1000ki"], 1_000_000);
}

#[test]
fn hexadecimal_fractions_and_signs() {
    all(&OLD, &["0x1000", "0X1000"], 0x1000);
    all(&OLD, &["1.5k", "1.5K", "+1536", "1536.0", " 1536 "], 1536);
    all(&OLD, &["1.5m"], 3 << 19);
    all(&OLD, &[".5k"], 512);
    all(&OLD, &["0x10k"], 16 << 10);
    assert_eq!(integer("-5", Unit::Count, &OLD), Ok(-5));
    assert_eq!(integer("70%", Unit::Percent, &OLD), Ok(70));
    // A fraction of a byte is dropped; a fraction of a count is an error.
    assert_eq!(bytes("1.0001k", &OLD), Ok(1024));
    assert!(integer("1.9", Unit::Count, &OLD).is_err());
}

#[test]
fn documented_times() {
    const S: u64 = 1_000_000_000;
    for (text, ns) in [
        ("5", 5 * S),
        ("10m", 600 * S),
        ("10M", 600 * S),
        ("1d", 86_400 * S),
        ("2H", 7_200 * S),
        ("30s", 30 * S),
        ("30sec", 30 * S),
        ("250ms", S / 4),
        ("250msec", S / 4),
        ("7us", 7_000),
        ("7usec", 7_000),
        ("1.5", 3 * S / 2),
        ("1.5m", 90 * S),
        // In parentheses, a bare number is in microseconds.
        ("(5)", 5_000),
        ("(5s)", 5 * S),
        ("(1m+30s)", 90 * S),
        ("(1h/2)", 1_800 * S),
        ("(2*30s)", 60 * S),
    ] {
        assert_eq!(nanos(text, Unit::Seconds), Ok(ns), "{text}");
    }
    assert_eq!(nanos("5", Unit::Micros), Ok(5_000));
    assert_eq!(nanos("5", Unit::Millis), Ok(5_000_000));
    assert_eq!(nanos("5ms", Unit::Micros), Ok(5_000_000));
    assert_eq!(integer("5ms", Unit::Micros, &OLD), Ok(5_000));
}

#[test]
fn documented_expressions() {
    for (text, value) in [
        ("(4k*8)", 32 << 10),
        ("(4k * 8 + 1)", (32 << 10) + 1),
        ("(10-4)", 6),
        ("(10/4)", 2),
        ("(10/4*2)", 5),
        ("(10%4)", 2),
        ("(2^10)", 1024),
        ("(2^3^2)", 512),
        ("(1+2*3^2)", 19),
        ("(8-4-2)", 2),
        ("((2+1)*4)", 12),
        ("(-(2-6))", 4),
        ("(2^-1*4)", 2),
        ("(0x10+1)", 17),
        ("(1.5*2)", 3),
        ("(1)+(2)", 3),
    ] {
        assert_eq!(integer(text, Unit::Count, &OLD), Ok(value), "{text}");
    }
    assert_eq!(integer("(4kib)", Unit::Bytes, &SI), Ok(4096));
    assert_eq!(float("(1/4)"), Ok(0.25));
}

#[test]
fn deep_and_long_expressions_end_with_a_message() {
    for open in ["(", "-(", "2^(", "2^", "-", "(1+"] {
        let text = format!("({}", open.repeat(100_000));
        assert!(integer(&text, Unit::Count, &OLD).is_err());
    }
    let sum = format!("({}1)", "1+".repeat(10_000));
    assert_eq!(integer(&sum, Unit::Count, &OLD), Ok(10_001));
}

proptest! {
    #[test]
    fn any_text_is_parsed_or_rejected_without_panic(text in "[-+*/%^(). 0-9a-zA-Zxµ]{0,24}|.{0,12}") {
        let spans = [
            integer(&text, Unit::Count, &OLD).err(),
            bytes(&text, &SI).err(),
            nanos(&text, Unit::Seconds).err(),
            float(&text).err(),
        ];
        for (start, end) in spans.into_iter().flatten().filter_map(|e| e.span) {
            prop_assert!(start <= end && end <= text.len(), "{text:?} {start}..{end}");
        }
    }

    #[test]
    fn a_suffix_multiplies_the_number(n in 0u64..1 << 20, power in 0usize..6) {
        let suffix = ["", "k", "m", "g", "t", "p"][power];
        let exact = |base: u128| u64::try_from(u128::from(n) * base.pow(power as u32)).ok();
        prop_assert_eq!(bytes(&format!("{n}{suffix}"), &OLD).ok(), exact(1024));
        prop_assert_eq!(bytes(&format!("{n}{suffix}B"), &SI).ok(), exact(1000));
        if power > 0 {
            prop_assert_eq!(bytes(&format!("{n}{suffix}iB"), &OLD).ok(), exact(1000));
            prop_assert_eq!(bytes(&format!("{n}{suffix}iB"), &SI).ok(), exact(1024));
            prop_assert_eq!(bytes(&format!("{n}{suffix}i"), &SI).ok(), exact(1000));
        }
    }

    #[test]
    fn expressions_follow_the_precedence(a in 0i128..1000, b in 1i128..1000, c in 1i128..1000) {
        let read = |t: String| integer(&t, Unit::Count, &OLD).unwrap();
        prop_assert_eq!(read(format!("({a}+{b}*{c})")), a + b * c);
        prop_assert_eq!(read(format!("(({a}+{b})*{c})")), (a + b) * c);
        prop_assert_eq!(read(format!("({a}-{b}-{c})")), a - b - c);
        prop_assert_eq!(read(format!("({a}%{b}+{c})")), a % b + c);
        prop_assert_eq!(read(format!("({a}/{b}*{b})")), a);
    }
}
