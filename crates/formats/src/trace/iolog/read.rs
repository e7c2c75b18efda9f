//! Reads I/O logs of versions 2 and 3.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::BufRead;
use std::os::unix::ffi::OsStringExt;

use fiord_types::{Bytes, Errno, Nanos};

use crate::lines::{Lines, MAX_LINE, TextLine};
use crate::trace::error::{RowProblem, TraceError, TraceNotes, quoted};
use crate::trace::record::{TraceEvent, TraceIo, TraceKind, TraceName, TraceOutcome, TraceTarget};
use crate::trace::timeline::Timeline;
use crate::trace::window::SortWindow;
use crate::trace::{InvalidLines, TraceFormat, TraceOptions, TraceReader};

/// Lines that a log with completions may be out of order: the order of issue is exact if no more I/Os than this
/// complete between the issue and the completion of an I/O.
pub const WINDOW: usize = 4096;

/// Reads an I/O log.
#[derive(Debug)]
pub struct IologReader<R> {
    lines: Lines<R>,
    rows: Rows,
    invalid: InvalidLines,
    notes: TraceNotes,
    timeline: Timeline,
    /// Sorts the lines of a log with completions.
    window: Option<SortWindow<TraceEvent>>,
}

impl<R: BufRead> IologReader<R> {
    /// Reads the first line.
    ///
    /// # Errors
    /// The source cannot be read, or the first line is not that of an I/O log of version 2 or 3.
    pub fn new(source: R, options: &TraceOptions) -> Result<Self, TraceError> {
        let mut lines = Lines::new(source);
        let version = match lines.next().map_err(TraceError::Read)? {
            None => return Err(TraceError::Empty),
            Some(TextLine::TooLong(start)) => {
                return Err(TraceError::Unknown { start: quoted(start) });
            }
            Some(TextLine::Whole(line)) => Version::of(line)?,
        };
        Ok(IologReader {
            lines,
            rows: Rows::new(version),
            invalid: options.invalid,
            notes: TraceNotes::default(),
            timeline: Timeline::new(options.longest_gap),
            window: None,
        })
    }

    /// The next line that is an event, with the event's time. Not in order of time if the log has completions.
    #[inline]
    fn row(&mut self) -> Result<Option<(Nanos, TraceEvent)>, TraceError> {
        loop {
            let Some(line) = self.lines.next().map_err(TraceError::Read)? else { return Ok(None) };
            let (text, row) = match line {
                TextLine::Whole(text) => (text, self.rows.parse(text)),
                TextLine::TooLong(text) => (text, Err(RowProblem::TooLong { most: MAX_LINE })),
            };
            let problem = match row {
                Ok(Row::Event(time, event)) => match self.timeline.check(time) {
                    Ok(()) => return Ok(Some((time, event))),
                    Err(problem) => problem,
                },
                Ok(Row::Nothing) => continue,
                Ok(Row::Restart(version)) => {
                    self.rows.restart(version, self.timeline.latest_read());
                    continue;
                }
                Err(problem) => problem,
            };
            let text = quoted(text);
            let number = self.lines.number();
            self.notes.tolerate(self.invalid, number, text.as_bytes(), problem)?;
        }
    }

    /// The next event in the order of time.
    #[inline]
    fn sorted(&mut self) -> Result<Option<(Nanos, TraceEvent)>, TraceError> {
        if self.window.is_none() {
            match self.row()? {
                Some((time, TraceEvent::Io(io))) if io.outcome.is_some() => {
                    self.window = Some(SortWindow::new(WINDOW));
                    self.sort_in(time, TraceEvent::Io(io));
                }
                other => return Ok(other),
            }
        }
        while self.window.as_ref().is_some_and(|window| !window.is_full()) {
            match self.row()? {
                Some((time, event)) => self.sort_in(time, event),
                None => break,
            }
        }
        Ok(self.window.as_mut().and_then(SortWindow::take))
    }

    fn sort_in(&mut self, time: Nanos, event: TraceEvent) {
        if let Some(window) = &mut self.window {
            window.put(time, event);
        }
    }
}

impl<R: BufRead> TraceReader for IologReader<R> {
    fn next_event(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        let Some((time, mut event)) = self.sorted()? else { return Ok(None) };
        let time = self.timeline.place(time, &mut self.notes);
        if let TraceEvent::Io(io) = &mut event {
            io.time = time;
        }
        Ok(Some(event))
    }
    fn notes(&self) -> &TraceNotes {
        &self.notes
    }
    fn format(&self) -> TraceFormat {
        TraceFormat::Iolog
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    Two,
    Three,
}

impl Version {
    /// The version in a first line.
    fn of(line: &[u8]) -> Result<Version, TraceError> {
        let mut rest = line;
        for word in [&b"fio"[..], b"version"] {
            if take_word(&mut rest) != word {
                return Err(TraceError::Unknown { start: quoted(line) });
            }
        }
        match (take_word(&mut rest), take_word(&mut rest)) {
            (b"2", b"iolog") => Ok(Version::Two),
            (b"3", b"iolog") => Ok(Version::Three),
            (found, _) => Err(TraceError::Version { found: quoted(found) }),
        }
    }
}

/// What a line says.
enum Row {
    Event(Nanos, TraceEvent),
    /// A line without meaning.
    Nothing,
    /// The first line of a log that was appended to this one.
    Restart(Version),
}

/// Understands lines, which depend on earlier lines.
#[derive(Debug)]
struct Rows {
    version: Version,
    /// Added to times: where the log that was appended last begins.
    base: Nanos,
    /// The time of the last `wait`, with the base.
    waited: Nanos,
    names: Names,
}

impl Rows {
    fn new(version: Version) -> Self {
        Rows { version, base: Nanos::ZERO, waited: Nanos::ZERO, names: Names::default() }
    }

    fn restart(&mut self, version: Version, base: Nanos) {
        (self.version, self.base, self.waited) = (version, base, base);
    }

    #[inline]
    fn parse(&mut self, line: &[u8]) -> Result<Row, RowProblem> {
        let mut rest = skip_blanks(line);
        if rest.is_empty() {
            return Ok(Row::Nothing);
        }
        if rest.starts_with(b"fio version ")
            && let Ok(version) = Version::of(rest)
        {
            return Ok(Row::Restart(version));
        }
        let time = match self.version {
            Version::Two => self.waited,
            Version::Three => {
                let micros = take_number(&mut rest, "timestamp")?;
                self.base.saturating_add(Nanos::from_micros(micros))
            }
        };
        // Most lines go to the file of the line before.
        if let Some((target, after)) = self.names.same_as_before(rest)
            && let Some(action) = Action::of(after)
        {
            let row = self.action(time, target, action);
            if row.is_ok() || self.names.lengths_with_blanks.is_empty() {
                return row;
            }
        }
        self.other_file(time, rest)
    }

    /// A line about another file than the line before.
    #[cold]
    fn other_file(&mut self, time: Nanos, rest: &[u8]) -> Result<Row, RowProblem> {
        let mut problem = None;
        let word_end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
        for candidate in 0..=self.names.lengths_with_blanks.len() {
            let len = *self.names.lengths_with_blanks.get(candidate).unwrap_or(&word_end);
            let Some((name, after)) = rest.split_at_checked(len) else { continue };
            if let (Some(target), Some(action)) = (self.names.find(name), Action::of(after)) {
                match self.action(time, target, action) {
                    Err(first) => problem = problem.or(Some(first)),
                    row => {
                        self.names.remember(target);
                        return row;
                    }
                }
            }
        }
        let line = rest.trim_ascii_end();
        if let Some(name) = line.strip_suffix(b"add")
            && name.last().is_some_and(u8::is_ascii_whitespace)
        {
            return Ok(self.add(time, name.trim_ascii_end()));
        }
        Err(problem.unwrap_or_else(|| not_understood(&rest[word_end..])))
    }

    fn add(&mut self, time: Nanos, name: &[u8]) -> Row {
        match self.names.add(name) {
            Some(target) => {
                let name = TraceName::Path(OsString::from_vec(name.to_vec()));
                Row::Event(time, TraceEvent::Target(target, name))
            }
            None => Row::Nothing,
        }
    }

    #[inline]
    fn action(
        &mut self,
        time: Nanos,
        target: TraceTarget,
        (action, mut rest): (Action, &[u8]),
    ) -> Result<Row, RowProblem> {
        let kind = match action {
            Action::Add => return Ok(Row::Nothing),
            Action::Open => return Ok(Row::Event(time, TraceEvent::Open(target))),
            Action::Close => return Ok(Row::Event(time, TraceEvent::Close(target))),
            Action::Wait => return self.wait(rest),
            Action::Io(kind) => kind,
        };
        let offset = take_number(&mut rest, "offset")?;
        let len = take_number(&mut rest, "length")?;
        if offset.checked_add(len).is_none_or(|end| end > i64::MAX as u64) {
            return Err(RowProblem::TooFar);
        }
        let mut io = TraceIo::new(time, target, kind, Bytes(offset), Bytes(len));
        if !rest.is_empty() && self.version == Version::Three {
            io.outcome = outcome(rest);
        }
        Ok(Row::Event(time, TraceEvent::Io(io)))
    }

    fn wait(&mut self, mut rest: &[u8]) -> Result<Row, RowProblem> {
        if self.version != Version::Two {
            return Err(RowProblem::Wait);
        }
        let millis = take_number(&mut rest, "time to wait for")?;
        self.waited = self.base.saturating_add(Nanos::from_millis(millis));
        Ok(Row::Nothing)
    }
}

/// Latency and result after the length. Other text there has no meaning, as in fio.
#[cold]
fn outcome(mut rest: &[u8]) -> Option<TraceOutcome> {
    let latency = Nanos(take_number(&mut rest, "latency").ok()?);
    let result = match rest.strip_prefix(b"-") {
        Some(mut errno) => {
            let number = take_number(&mut errno, "result").ok()?;
            Err(Errno::from_raw(i32::try_from(number).ok()?))
        }
        None => Ok(Bytes(take_number(&mut rest, "result").ok()?)),
    };
    Some(TraceOutcome { latency, result })
}

/// What is wrong with a line whose file or action is unknown. `after` follows the first word of the name.
fn not_understood(after: &[u8]) -> RowProblem {
    let mut rest = skip_blanks(after);
    if rest.is_empty() {
        return RowProblem::Missing { field: "action" };
    }
    match Action::of(after) {
        Some(_) => RowProblem::NotAdded,
        None => {
            // A name with blanks that no line added: the action is further on.
            let mut words =
                std::iter::from_fn(|| Some(take_word(&mut rest)).filter(|w| !w.is_empty()));
            match words.any(|word| Action::of_word(word).is_some()) {
                true => RowProblem::NotAdded,
                false => RowProblem::Action,
            }
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Action {
    Add,
    Open,
    Close,
    Wait,
    Io(TraceKind),
}

impl Action {
    #[inline]
    fn of_word(word: &[u8]) -> Option<Action> {
        Some(match word {
            b"read" => Action::Io(TraceKind::Read),
            b"write" => Action::Io(TraceKind::Write),
            b"trim" => Action::Io(TraceKind::Trim),
            b"sync" => Action::Io(TraceKind::Sync),
            b"datasync" => Action::Io(TraceKind::DataSync),
            b"add" => Action::Add,
            b"open" => Action::Open,
            b"close" => Action::Close,
            b"wait" => Action::Wait,
            _ => return None,
        })
    }

    /// The action that follows a name, and what follows the action. `after` begins with the space after the name.
    #[inline]
    fn of(after: &[u8]) -> Option<(Action, &[u8])> {
        if !after.first().is_some_and(u8::is_ascii_whitespace) {
            return None;
        }
        let mut rest = skip_blanks(after);
        let action = Action::of_word(take_word(&mut rest))?;
        Some((action, rest))
    }
}

/// The files of a log.
#[derive(Debug, Default)]
struct Names {
    targets: HashMap<Box<[u8]>, TraceTarget>,
    names: Vec<Box<[u8]>>,
    /// Lengths of the names that contain blanks, the longest first.
    lengths_with_blanks: Vec<usize>,
    before: Option<TraceTarget>,
}

impl Names {
    /// The target of the line before if `rest` begins with its name, and what follows the name.
    #[inline]
    fn same_as_before<'a>(&self, rest: &'a [u8]) -> Option<(TraceTarget, &'a [u8])> {
        let target = self.before?;
        Some((target, rest.strip_prefix(&*self.names[target.index()])?))
    }
    fn find(&self, name: &[u8]) -> Option<TraceTarget> {
        self.targets.get(name).copied()
    }
    fn remember(&mut self, target: TraceTarget) {
        self.before = Some(target);
    }
    /// Adds a name; `None` if it is known.
    fn add(&mut self, name: &[u8]) -> Option<TraceTarget> {
        if self.targets.contains_key(name) {
            return None;
        }
        let target = TraceTarget::new(u32::try_from(self.names.len()).ok()?);
        self.targets.insert(name.into(), target);
        self.names.push(name.into());
        if name.iter().any(u8::is_ascii_whitespace) {
            self.lengths_with_blanks.push(name.len());
            self.lengths_with_blanks.sort_unstable_by(|a, b| b.cmp(a));
            self.lengths_with_blanks.dedup();
        }
        self.remember(target);
        Some(target)
    }
}

#[inline]
fn skip_blanks(text: &[u8]) -> &[u8] {
    text.trim_ascii_start()
}

/// Removes the first word and the spaces after it. Empty if there is none.
#[inline]
fn take_word<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let end = rest.iter().position(u8::is_ascii_whitespace).unwrap_or(rest.len());
    let (word, after) = rest.split_at(end);
    *rest = skip_blanks(after);
    word
}

/// Removes a decimal number and the spaces after it.
#[inline]
fn take_number(rest: &mut &[u8], field: &'static str) -> Result<u64, RowProblem> {
    let mut value = 0u64;
    let mut digits = 0;
    for byte in *rest {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        digits += 1;
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    if digits >= DIGITS {
        value = exact(&rest[..digits]).ok_or(RowProblem::NotANumber { field })?;
    }
    let after = &rest[digits..];
    match after.first() {
        None if digits == 0 => return Err(RowProblem::Missing { field }),
        Some(byte) if digits == 0 || !byte.is_ascii_whitespace() => {
            return Err(RowProblem::NotANumber { field });
        }
        _ => {}
    }
    *rest = skip_blanks(after);
    Ok(value)
}

/// Numbers with fewer digits fit in 64 bits.
const DIGITS: usize = 20;

/// The value of many digits; `None` if it has more than 64 bits.
#[cold]
fn exact(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}
