//! Reads traces in text columns.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead;

use fiord_types::Nanos;

use super::columns::CsvLayout;
use super::row::CsvRow;
use crate::lines::{Lines, MAX_LINE, TextLine};
use crate::trace::error::{RowProblem, TraceError, TraceNotes, quoted};
use crate::trace::record::{TraceEvent, TraceIo, TraceName, TraceOutcome, TraceTarget};
use crate::trace::timeline::Timeline;
use crate::trace::window::SortWindow;
use crate::trace::{InvalidLines, TraceFormat, TraceOptions, TraceReader};

/// Lines that may be out of order: rows that are written at completion.
pub const WINDOW: usize = 4096;

/// Reads a trace in text columns.
#[derive(Debug)]
pub struct CsvReader<R> {
    lines: Lines<R>,
    layout: CsvLayout,
    invalid: InvalidLines,
    notes: TraceNotes,
    window: SortWindow<TraceIo>,
    ended: bool,
    volumes: Volumes,
    /// The time of the first I/O.
    start: Option<Nanos>,
    timeline: Timeline,
    /// New volumes, which come before their I/Os.
    pending: VecDeque<TraceEvent>,
}

impl<R: BufRead> CsvReader<R> {
    /// Reads the first line, which tells the format.
    ///
    /// # Errors
    /// The source cannot be read, or the first line is that of no known format.
    pub fn new(source: R, options: &TraceOptions) -> Result<Self, TraceError> {
        let mut lines = Lines::new(source);
        let (layout, row) = match lines.next().map_err(TraceError::Read)? {
            None => return Err(TraceError::Empty),
            Some(TextLine::TooLong(line)) => {
                return Err(TraceError::Unknown { start: quoted(line) });
            }
            Some(TextLine::Whole(line)) => match CsvLayout::of(line) {
                None => return Err(TraceError::Unknown { start: quoted(line) }),
                Some((layout, true)) => (layout, None),
                Some((layout, false)) => (layout, Some(line.to_vec())),
            },
        };
        let mut reader = CsvReader {
            lines,
            layout,
            invalid: options.invalid,
            notes: TraceNotes::default(),
            window: SortWindow::new(WINDOW),
            ended: false,
            volumes: Volumes::default(),
            start: None,
            timeline: Timeline::floating(options.longest_gap),
            pending: VecDeque::new(),
        };
        if let Some(line) = row
            && let Err(problem) = take(
                &reader.layout.clone(),
                &line,
                &mut reader.timeline,
                &mut reader.volumes,
                &mut reader.pending,
                &mut reader.window,
            )
        {
            reader.notes.tolerate(reader.invalid, 1, &line, problem)?;
        }
        Ok(reader)
    }

    #[inline]
    fn fill(&mut self) -> Result<(), TraceError> {
        while !self.ended && !self.window.is_full() {
            let Some(line) = self.lines.next().map_err(TraceError::Read)? else {
                self.ended = true;
                break;
            };
            let (text, result) = match line {
                TextLine::TooLong(text) => (text, Err(RowProblem::TooLong { most: MAX_LINE })),
                TextLine::Whole(text) if text.trim_ascii().is_empty() => continue,
                TextLine::Whole(text) => {
                    let result = take(
                        &self.layout,
                        text,
                        &mut self.timeline,
                        &mut self.volumes,
                        &mut self.pending,
                        &mut self.window,
                    );
                    (text, result)
                }
            };
            if let Err(problem) = result {
                let text = quoted(text);
                let number = self.lines.number();
                self.notes.tolerate(self.invalid, number, text.as_bytes(), problem)?;
            }
        }
        Ok(())
    }
}

/// Takes a line into the window.
#[inline]
fn take(
    layout: &CsvLayout,
    line: &[u8],
    timeline: &mut Timeline,
    volumes: &mut Volumes,
    pending: &mut VecDeque<TraceEvent>,
    window: &mut SortWindow<TraceIo>,
) -> Result<(), RowProblem> {
    let CsvRow { issued, volume, kind, offset, len, flags, latency } = layout.row(line)?;
    timeline.check(issued)?;
    let target = volumes.target(volume, pending);
    let outcome = latency.map(|latency| TraceOutcome { latency, result: Ok(len) });
    let io = TraceIo::new(issued, target, kind, offset, len);
    window.put(issued, TraceIo { flags, outcome, ..io });
    Ok(())
}

impl<R: BufRead> TraceReader for CsvReader<R> {
    fn next_event(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        self.fill()?;
        if let Some(event) = self.pending.pop_front() {
            return Ok(Some(event));
        }
        let Some((issued, io)) = self.window.take() else { return Ok(None) };
        let start = *self.start.get_or_insert(issued);
        let time = self.timeline.place(issued.saturating_sub(start), &mut self.notes);
        Ok(Some(TraceEvent::Io(TraceIo { time, ..io })))
    }
    fn notes(&self) -> &TraceNotes {
        &self.notes
    }
    fn format(&self) -> TraceFormat {
        self.layout.format()
    }
}

#[derive(Debug, Default)]
struct Volumes {
    targets: HashMap<Box<[u8]>, TraceTarget>,
    /// The volume of the line before: the length of the first part of its name, and both parts.
    before: Option<(usize, Vec<u8>, TraceTarget)>,
}

impl Volumes {
    #[inline]
    fn target(
        &mut self,
        (first, second): (&[u8], &[u8]),
        pending: &mut VecDeque<TraceEvent>,
    ) -> TraceTarget {
        if let Some((len, name, target)) = &self.before
            && *len == first.len()
            && name[..*len] == *first
            && name[*len..] == *second
        {
            return *target;
        }
        let mut name = first.to_vec();
        if !second.is_empty() {
            name.push(b'_');
            name.extend_from_slice(second);
        }
        let next = TraceTarget::new(self.targets.len() as u32);
        let target = *self.targets.entry(name.clone().into()).or_insert(next);
        if target == next {
            let name = String::from_utf8_lossy(&name).into_owned();
            pending.push_back(TraceEvent::Target(target, TraceName::Volume(name)));
        }
        self.before = Some((first.len(), [first, second].concat(), target));
        target
    }
}
