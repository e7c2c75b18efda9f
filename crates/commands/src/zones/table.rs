//! Zones as a table for people.

use std::fmt::Write;
use std::path::Path;

use fiord_sys::zone::{Facts, Kind, State, Zone};

use crate::zones::size;
use crate::zones::summary::Summary;

/// What to show, and how.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    /// Path of the device as typed.
    pub device: &'a Path,
    /// Facts about the device.
    pub facts: &'a Facts,
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
pub fn text(view: &View) -> String {
    heading(view) + "\n" + &lines(view)
}

fn heading(view: &View) -> String {
    let Facts { model, size: bytes, zone_size, count, block, write_granularity, .. } = *view.facts;
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{}: {}, {} in {count} zones of {}",
        view.device.display(),
        model.word(),
        size::rounded(bytes),
        size::exact(zone_size)
    );
    let sums = Summary::of(view.zones);
    let _ = writeln!(
        out,
        "open {} of {}, active {} of {}; blocks of {}, writes in multiples of {}{}",
        sums.open(),
        limit(view.facts.max_open),
        sums.active(),
        limit(view.facts.max_active),
        size::exact(block.into()),
        size::exact(write_granularity.into()),
        match view.facts.append_max {
            0 => String::new(),
            bytes => format!(", appends to {}", size::exact(bytes)),
        }
    );
    let states: Vec<String> =
        sums.present().map(|(state, n)| format!("{n} {}", paint(state, view.colours))).collect();
    let _ = writeln!(
        out,
        "{}; written {} of {}",
        states.join(", "),
        size::rounded(sums.written),
        size::rounded(sums.capacity)
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
    let mut rows = vec![Row::heading()];
    let mut at = first;
    if view.each {
        rows.extend(shown.iter().enumerate().map(|(i, zone)| Row::new(first + i, &[*zone])));
    } else {
        for same in shown.chunk_by(alike) {
            rows.push(Row::new(at, same));
            at += same.len();
        }
    }
    aligned(&rows, view.colours)
}

/// One line of the table. The cell of the state is coloured.
struct Row {
    cells: [String; 8],
    state: Option<State>,
}

/// Index of the column with the state.
const STATE: usize = 2;
/// Columns with text, aligned left; the others are numbers, aligned right.
const LEFT: [usize; 2] = [1, STATE];

impl Row {
    fn heading() -> Row {
        let names =
            ["zones", "type", "state", "start", "write pointer", "written", "capacity", "size"];
        Row { cells: names.map(String::from), state: None }
    }

    /// The line for equal adjacent zones, the first of which is number `index`.
    fn new(index: usize, zones: &[Zone]) -> Row {
        let zone = zones[0];
        let name = match zones.len() {
            1 => index.to_string(),
            n => format!("{index}-{}", index + n - 1),
        };
        let pointer = match (zone.state, zones.len()) {
            (State::NoWritePointer | State::ReadOnly | State::Offline, _) | (_, 2..) => "-".into(),
            _ => zone.write_pointer.to_string(),
        };
        let cells = [
            name,
            kind(zone.kind).into(),
            zone.state.word().into(),
            zone.start.to_string(),
            pointer,
            size::rounded(zone.written()),
            size::exact(zone.capacity),
            size::exact(zone.len),
        ];
        Row { cells, state: Some(zone.state) }
    }
}

/// Short name of a zone type.
pub fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Conventional => "cnv",
        Kind::SequentialRequired => "seq",
        Kind::SequentialPreferred => "seq-preferred",
    }
}

fn aligned(rows: &[Row], colours: bool) -> String {
    let width = |column: usize| rows.iter().map(|row| row.cells[column].len()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
    let mut out = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.cells.iter().zip(widths).enumerate() {
            if column > 0 {
                line.push_str("  ");
            }
            let spaces = " ".repeat(width - cell.len());
            let cell = match row.state.filter(|_| column == STATE) {
                Some(state) => paint(state, colours),
                None => cell.clone(),
            };
            match LEFT.contains(&column) {
                true => line += &(cell + &spaces),
                false => line += &(spaces + &cell),
            }
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
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
