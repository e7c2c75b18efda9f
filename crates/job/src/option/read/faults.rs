//! `sim_faults` and `sim_crash`.

use std::num::NonZeroU64;

use fiord_types::{Bytes, Dir, Nanos};

use crate::number;
use crate::option::def::Unit;
use crate::option::fault::{CrashTime, FaultEffect, FaultTrigger, SimCrash, SimFault};
use crate::option::value::{Bases, ValueError};

/// The kinds of faults with the parameters that each has in addition to its triggers.
const KINDS: &[(&str, &[&str])] = &[
    ("misdirected_write", &["by"]),
    ("misdirected_read", &["by"]),
    ("stale_read", &[]),
    ("bit_flip", &["bits", "dir"]),
    ("torn", &["sector", "unit"]),
    ("shifted", &["by", "dir"]),
    ("zeroed", &["dir"]),
    ("ones", &["dir"]),
    ("lost", &[]),
    ("lost_after_flush", &[]),
    ("swapped", &[]),
    ("ignored_flush", &[]),
];

const TRIGGERS: &[&str] = &["op", "rate", "bytes", "count"];

/// Parses a list such as `misdirected_write:op=17:by=4096,bit_flip:rate=0.1:bits=1`.
///
/// # Errors
/// A fault is unknown, has an unknown, repeated or invalid parameter, or has no trigger.
pub fn faults(text: &str, bases: &Bases) -> Result<Vec<SimFault>, ValueError> {
    let mut all = Vec::new();
    for (at, item) in parts(text, ',') {
        all.push(fault(item, bases).map_err(|e| e.shifted(at, item.len()))?);
    }
    Ok(all)
}

/// Parses a crash such as `op=500` or `time=2s:survive=30:down=1`.
///
/// # Errors
/// A parameter is unknown, repeated or invalid, or the time is missing.
pub fn crash(text: &str, _: &Bases) -> Result<SimCrash, ValueError> {
    let params = Params::of(text, 0, &[&["op", "time", "survive", "down"]])?;
    let at = match (params.get("op", positive)?, params.get("time", nanos)?) {
        (Some(op), None) => CrashTime::Op(op),
        (None, Some(time)) => CrashTime::Time(time),
        _ => {
            return Err(ValueError::new("exactly one of `op` and `time` must be given")
                .with_help("To fix: write `op=500` or `time=2s`"));
        }
    };
    let survive = params.get("survive", percent)?.unwrap_or(0.0);
    let down = params.get("down", flag)?.unwrap_or(false);
    Ok(SimCrash { at, survive, down })
}

fn fault(text: &str, bases: &Bases) -> Result<SimFault, ValueError> {
    let word = text.split(':').next().unwrap_or_default();
    let known = KINDS.iter().find(|(kind, _)| *kind == word.trim());
    let Some((kind, own)) = known else {
        let kinds: Vec<&str> = KINDS.iter().map(|(kind, _)| *kind).collect();
        return Err(ValueError::new(format!("unknown fault `{}`", word.trim()))
            .at(0, word.len())
            .with_help(format!("To fix: use one of {}", kinds.join(", "))));
    };
    let rest = text.get(word.len() + 1..).unwrap_or_default();
    let params = Params::of(rest, word.len() + 1, &[own, TRIGGERS])?;
    let trigger = FaultTrigger {
        op: params.get("op", positive)?,
        rate: params.get("rate", percent)?,
        bytes: params.get("bytes", |text| range(text, bases))?,
        count: params.get("count", positive)?,
    };
    if trigger == (FaultTrigger { count: trigger.count, ..FaultTrigger::default() }) {
        return Err(ValueError::new(format!("`{kind}` does not say when it strikes"))
            .at(0, text.len())
            .with_help(format!(
                "To fix: add a trigger: `{kind}:op=17`, `{kind}:rate=0.1` or `{kind}:bytes=1m-2m`"
            )));
    }
    Ok(SimFault { effect: effect(kind, &params, bases)?, trigger })
}

fn effect(kind: &str, params: &Params, bases: &Bases) -> Result<FaultEffect, ValueError> {
    let by = params.get("by", |text| distance(text, bases))?;
    let dir = params.get("dir", direction)?.unwrap_or(Dir::Write);
    Ok(match kind {
        "misdirected_write" => FaultEffect::Misdirected { dir: Dir::Write, by },
        "misdirected_read" => FaultEffect::Misdirected { dir: Dir::Read, by },
        "stale_read" => FaultEffect::Stale,
        "bit_flip" => FaultEffect::BitFlip { dir, bits: params.get("bits", bits)?.unwrap_or(1) },
        "torn" => FaultEffect::Torn {
            sectors: params.get("sector", |text| number::bytes(text, bases))?,
            unit: params.get("unit", |text| unit(text, bases))?.unwrap_or(Bytes(512)),
        },
        "shifted" => FaultEffect::Shifted { dir, by: by.unwrap_or(8) },
        "zeroed" => FaultEffect::Filled { dir, byte: 0 },
        "ones" => FaultEffect::Filled { dir, byte: 0xff },
        "lost" => FaultEffect::Lost,
        "lost_after_flush" => FaultEffect::LostAfterFlush,
        "swapped" => FaultEffect::Swapped,
        _ => FaultEffect::IgnoredFlush,
    })
}

/// Parameters `key=value`, separated by colons.
struct Params<'a> {
    /// Key, value, and position of the value in the whole text.
    all: Vec<(&'a str, &'a str, usize)>,
}

impl<'a> Params<'a> {
    /// Splits a text that starts at byte `start` of the whole text. `known`: the keys that may occur.
    fn of(text: &'a str, start: usize, known: &[&[&str]]) -> Result<Self, ValueError> {
        let mut all: Vec<(&str, &str, usize)> = Vec::new();
        for (at, item) in parts(text, ':') {
            let wrong = |what: String| {
                let keys = known.concat().join(", ");
                let at = start + at;
                ValueError::new(what)
                    .at(at, at + item.len())
                    .with_help(format!("To fix: use the parameters {keys}, such as `key=value`"))
            };
            let Some((key, value)) = item.split_once('=') else {
                return Err(wrong(format!("`{}` has no value", item.trim())));
            };
            let name = key.trim();
            if !known.concat().contains(&name) {
                return Err(wrong(format!("unknown parameter `{name}`")));
            }
            if all.iter().any(|(other, _, _)| *other == name) {
                return Err(wrong(format!("`{name}` is given twice")));
            }
            all.push((name, value, start + at + key.len() + 1));
        }
        Ok(Params { all })
    }

    fn get<T>(
        &self,
        key: &str,
        read: impl Fn(&str) -> Result<T, ValueError>,
    ) -> Result<Option<T>, ValueError> {
        let found = self.all.iter().find(|(name, _, _)| *name == key);
        found.map(|(_, value, at)| read(value).map_err(|e| e.shifted(*at, value.len()))).transpose()
    }
}

/// The non-empty parts of a list, each with its position.
fn parts(text: &str, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    let all = text.split(separator).map(move |part| {
        let start = at;
        at += part.len() + separator.len_utf8();
        (start, part)
    });
    all.filter(|(_, part)| !part.trim().is_empty())
}

fn positive(text: &str) -> Result<NonZeroU64, ValueError> {
    text.trim().parse().map_err(|_| {
        ValueError::new(format!("`{}` is not a whole number from 1", text.trim()))
            .with_help("To fix: numbers start at 1")
    })
}

fn percent(text: &str) -> Result<f64, ValueError> {
    let digits = text.trim().trim_end_matches('%');
    let share = number::float(digits)?;
    if (0.0..=100.0).contains(&share) {
        Ok(share)
    } else {
        Err(ValueError::out_of_range(digits, "a share is from 0 to 100 per cent"))
    }
}

fn nanos(text: &str) -> Result<Nanos, ValueError> {
    number::nanos(text, Unit::Seconds).map(Nanos)
}

fn bits(text: &str) -> Result<u32, ValueError> {
    let bits = text.trim().parse().ok().filter(|bits| (1..=1024).contains(bits));
    bits.ok_or_else(|| ValueError::out_of_range(text.trim(), "1 to 1024 bits can flip"))
}

fn unit(text: &str, bases: &Bases) -> Result<Bytes, ValueError> {
    match number::bytes(text, bases)? {
        0 => Err(ValueError::out_of_range(0, "a sector has at least 1 byte")),
        unit => Ok(Bytes(unit)),
    }
}

fn flag(text: &str) -> Result<bool, ValueError> {
    match text.trim() {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(ValueError::new(format!("`{other}` is neither 0 nor 1"))),
    }
}

fn direction(text: &str) -> Result<Dir, ValueError> {
    match text.trim() {
        "read" => Ok(Dir::Read),
        "write" => Ok(Dir::Write),
        other => Err(ValueError::new(format!("`{other}` is neither read nor write"))),
    }
}

/// Parses a distance in bytes, which may be negative but not 0.
fn distance(text: &str, bases: &Bases) -> Result<i64, ValueError> {
    let bytes = number::integer(text, Unit::Bytes, bases)?;
    i64::try_from(bytes)
        .ok()
        .filter(|bytes| *bytes != 0)
        .ok_or_else(|| ValueError::out_of_range(text.trim(), "a distance in bytes, not 0"))
}

/// Parses `first-end`, or one offset.
fn range(text: &str, bases: &Bases) -> Result<(Bytes, Bytes), ValueError> {
    let (low, high) = text.split_once('-').map_or((text, None), |(low, high)| (low, Some(high)));
    let first = number::bytes(low, bases).map_err(|e| e.shifted(0, low.len()))?;
    let end = match high {
        None => first.saturating_add(1),
        Some(high) => {
            number::bytes(high, bases).map_err(|e| e.shifted(low.len() + 1, high.len()))?
        }
    };
    if first >= end {
        return Err(ValueError::new("the range is empty")
            .with_help("To fix: write `FIRST-END`; END is not included"));
    }
    Ok((Bytes(first), Bytes(end)))
}
