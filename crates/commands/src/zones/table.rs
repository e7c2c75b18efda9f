//! Zones as a table for people.

use std::fmt::Write;
use std::path::Path;

use fiord_sys::zone::{State, Zone, ZoneType, ZonedFacts};
use fiord_types::Bytes;

use crate::amount::{exact, rounded};
use crate::columns::{Align, aligned};
use crate::zones::summary::ZoneSums;

/// What to show, and how.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Path of the device as typed.
    pub device: &'a Path,
    /// Facts about the device.
    pub facts: &'a ZonedFacts,
    /// All zones of the device.
    pub zones: &'a [Zone],
    /// Range of zone numbers to show: first, and one past the last.
    pub shown: (usize, usize),
    /// Print one line for each zone.
    pub each: bool,
    /// Print in colour.
    pub colours: bool,
}

/// Formats the device, its sums and its zones.
#[must_use]
pub fn text(view: &View) -> String {
    heading(view) + "\n" + &lines(view)
}

fn heading(view: &View) -> String {
    let ZonedFacts { model, size: bytes, zone_size, count, block, write_granularity, .. } =
        *view.facts;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}, {} in {count} zones of {}",
        view.device.display(),
        model.word(),
        rounded(bytes),
        exact(zone_size)
    );
    let sums = ZoneSums::of(view.zones);
    let _ = writeln!(
        out,
        "open {} of {}, active {} of {}; blocks of {}, writes in multiples of {}{}",
        sums.open(),
        limit(view.facts.max_open),
        sums.active(),
        limit(view.facts.max_active),
        exact(block),
        exact(write_granularity),
        match view.facts.append_max {
            Bytes::ZERO => String::new(),
            bytes => format!(", appends to {}", exact(bytes)),
        }
    );
    let states: Vec<String> =
        sums.present().map(|(state, n)| format!("{n} {}", paint(state, view.colours))).collect();
    let _ = writeln!(
        out,
        "{}; written {} of {}",
        states.join(", "),
        rounded(sums.written),
        rounded(sums.capacity)
    );
    out
}

/// Formats an optional limit.
fn limit(most: Option<u32>) -> String {
    most.map_or("any number".into(), |n| n.to_string())
}

/// Whether two adjacent zones can share a line: they differ only in their position.
fn alike(a: &Zone, b: &Zone) -> bool {
    let what = |zone: &Zone| (zone.kind, zone.state, zone.len, zone.capacity, zone.written());
    what(a) == what(b)
}

fn lines(view: &View) -> String {
    let (first, end) = view.shown;
    let shown = &view.zones[first..end];
    let mut rows = vec![HEADING.map(String::from).to_vec()];
    let mut at = first;
    if view.each {
        let one = |(i, zone): (usize, &Zone)| row(first + i, &[*zone], view.colours);
        rows.extend(shown.iter().enumerate().map(one));
    } else {
        for same in shown.chunk_by(alike) {
            rows.push(row(at, same, view.colours));
            at += same.len();
        }
    }
    aligned(&rows, |column| if TEXT.contains(&column) { Align::Left } else { Align::Right })
}

const HEADING: [&str; 8] =
    ["zones", "type", "state", "start", "write pointer", "written", "capacity", "size"];
/// Columns with text; the others are numbers.
const TEXT: [usize; 2] = [1, 2];

/// The line for equal adjacent zones, the first of which is number `index`.
fn row(index: usize, zones: &[Zone], colours: bool) -> Vec<String> {
    let zone = zones[0];
    let name = match zones.len() {
        1 => index.to_string(),
        n => format!("{index}-{}", index + n - 1),
    };
    let pointer = match (zone.state, zones.len()) {
        (State::NoWritePointer | State::ReadOnly | State::Offline, _) | (_, 2..) => "-".into(),
        _ => zone.write_pointer.0.to_string(),
    };
    vec![
        name,
        kind(zone.kind).into(),
        paint(zone.state, colours),
        zone.start.0.to_string(),
        pointer,
        rounded(zone.written()),
        exact(zone.capacity),
        exact(zone.len),
    ]
}

/// Short name of a zone type.
#[must_use]
pub fn kind(kind: ZoneType) -> &'static str {
    match kind {
        ZoneType::Conventional => "cnv",
        ZoneType::SequentialRequired => "seq",
        ZoneType::SequentialPreferred => "seq-preferred",
    }
}

/// The name of a state, in its colour if `colours` is set (ECMA-48, 8.3.117).
fn paint(state: State, colours: bool) -> String {
    let code = match state {
        State::NoWritePointer | State::Empty => 0,
        State::ImplicitlyOpen | State::ExplicitlyOpen => 32,
        State::Closed => 33,
        State::Full => 36,
        State::ReadOnly | State::Offline => 31,
    };
    match (colours, code) {
        (false, _) | (_, 0) => state.word().into(),
        (true, code) => format!("\x1b[{code}m{}\x1b[0m", state.word()),
    }
}
