//! What a trace contains. The planner reads a trace in files completely, and the beginning of a stream.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufReader, BufWriter, Read};
use std::thread;

use fiord_formats::trace::{
    self, TraceError, TraceEvent, TraceIo, TraceKind, TraceName, TraceReader, TraceTarget,
};
use fiord_job::option::table::{BS, READ_IOLOG};
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use crate::load::blocks;
use crate::machine::survey::Survey;
use crate::model::{MergePlan, ReplayPlan, StreamRest, TraceContents, TraceInput};
use crate::options::reading::Reading;
use crate::replay::map::MapOption;

/// Maximum number of bytes of a stream that are searched for its first I/O.
const MAX_HEAD: usize = 16 << 20;
/// The largest I/O of a stream for which buffers are prepared, unless `bs` is larger.
const STREAM_BLOCK: u32 = 1 << 20;
/// Maximum size of an I/O in bytes.
const MAX_IO: u64 = 1 << 30;

/// What the planner knows about a trace.
pub(super) struct Scan {
    /// Smallest and largest I/O by direction.
    pub(super) blocks: PerDir<Option<(u32, u32)>>,
    /// The files and devices that the trace names.
    pub(super) names: Vec<NameUse>,
    /// The trace continues after what is known.
    pub(super) is_stream: bool,
}

/// How a trace uses one of its files or devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NameUse {
    pub(super) name: TraceName,
    /// Directions of its I/Os.
    pub(super) has: PerDir<bool>,
    pub(super) syncs: bool,
    /// Largest end of one of its I/Os, after `replay_scale` and `replay_align`.
    pub(super) end: Bytes,
    /// Largest end of a read of bytes that the trace has not written before.
    pub(super) read_end: Bytes,
    /// Largest end of a write so far.
    written: Bytes,
    /// `replay_map` skips its I/Os.
    pub(super) skipped: bool,
}

impl NameUse {
    fn new(name: TraceName, skipped: bool) -> Self {
        NameUse {
            name,
            has: PerDir::all(false),
            syncs: false,
            end: Bytes::ZERO,
            read_end: Bytes::ZERO,
            written: Bytes::ZERO,
            skipped,
        }
    }

    /// A file without I/Os.
    pub(super) fn unused() -> Self {
        NameUse::new(TraceName::Volume(String::new()), false)
    }

    /// Whether any I/O goes to it.
    pub(super) fn is_used(&self) -> bool {
        self.syncs || self.has.values().any(|has| *has)
    }

    fn transfers(&mut self, dir: Dir, offset: u64, len: u64) {
        let end = Bytes(offset.saturating_add(len));
        self.has[dir] = true;
        self.end = self.end.max(end);
        match dir {
            Dir::Read if end > self.written => self.read_end = self.read_end.max(end),
            Dir::Write => self.written = self.written.max(end),
            Dir::Read | Dir::Trim => {}
        }
    }
}

impl Scan {
    /// Whether the trace has I/Os of a direction.
    pub(super) fn has(&self, dir: Dir) -> bool {
        self.blocks[dir].is_some()
    }
}

/// Reads the beginning of a stream: at least its first I/O, if it has one.
pub(super) fn head(mut tail: Box<dyn Read + Send>) -> io::Result<StreamRest> {
    let mut head = Vec::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        let count = match tail.read(&mut buffer) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        head.extend_from_slice(&buffer[..count]);
        if count == 0 || head.len() > MAX_HEAD || has_io(whole_lines(&trace::readable_start(&head)))
        {
            return Ok(StreamRest { head, tail });
        }
    }
}

/// The part of the beginning of a stream that ends with a whole line.
fn whole_lines(head: &[u8]) -> &[u8] {
    head.iter().rposition(|byte| *byte == b'\n').map_or(head, |end| &head[..=end])
}

fn has_io(head: &[u8]) -> bool {
    let Ok(mut reader) = trace::open(head, &trace::TraceOptions::default()) else { return false };
    while let Ok(Some(event)) = reader.next_event() {
        if matches!(event, TraceEvent::Io(_)) {
            return true;
        }
    }
    false
}

/// Reads the trace of a plan. `None`: a message says why it cannot be replayed.
pub(super) fn scan(
    job: Reading,
    plan: &mut ReplayPlan,
    survey: &Survey,
    readonly: bool,
) -> Option<Scan> {
    let map = MapOption::read(job);
    let mut counts = Counts::new(&map);
    let result = match &plan.input {
        TraceInput::Files(_) => {
            let opened = plan.open(&|path| survey.facts.open_trace(path));
            opened.and_then(|mut reader| counts.read(plan, &mut *reader))
        }
        TraceInput::Merged(merge) => scan_merged(plan, merge, &mut counts, survey),
        TraceInput::Stream(stream) => {
            stream.look_at_head(|head| {
                // The rest of the trace may complete what is incomplete here. The run reports errors.
                let head = trace::readable_start(head);
                if let Ok(mut reader) = trace::open(whole_lines(&head), &plan.reading()) {
                    let _ = counts.read(plan, &mut *reader);
                }
            });
            Ok(())
        }
    };
    let path = plan.input.path().display();
    if let Err(error) = result {
        let what = match std::error::Error::source(&error) {
            Some(cause) => format!("`{path}`: {error}: {cause}"),
            None => format!("`{path}`: {error}"),
        };
        let mut message = job.error(READ_IOLOG, what);
        if matches!(error, TraceError::Line { .. }) {
            message = message
                .help("To fix: correct the line, or skip invalid lines with `replay_invalid=skip`");
        }
        job.report(message);
        return None;
    }
    let is_stream = matches!(plan.input, TraceInput::Stream(_));
    if !is_stream && counts.contents.transfers() == 0 && !counts.contents.flushes {
        let help = "To fix: check the trace, and `replay_skip` and `replay_map`";
        job.report(job.error(READ_IOLOG, format!("`{path}` has no I/O to replay")).help(help));
        return None;
    }
    if let Some(largest) = counts.too_large {
        let what = format!("`{path}` has an I/O of {largest} bytes, more than {MAX_IO}");
        job.report(job.error(READ_IOLOG, what).help("To fix: check the units of the trace"));
        return None;
    }
    let mut blocks =
        counts.contents.blocks.map(|range| range.map(|(min, max)| (min.0 as u32, max.0 as u32)));
    if is_stream {
        let own = blocks::sizes(job);
        let largest = if job.is_set(BS) { largest(&own) } else { STREAM_BLOCK };
        for dir in [Dir::Read, Dir::Write] {
            if dir == Dir::Write && readonly {
                continue;
            }
            let (min, max) = blocks[dir].unwrap_or((512, 512));
            blocks[dir] = Some((min, max.max(largest)));
        }
    } else {
        plan.contents = Some(counts.contents.clone());
    }
    Some(Scan { blocks, names: counts.names, is_stream })
}

/// Reads the trace that is going to be merged, without writing it.
fn scan_merged(
    plan: &ReplayPlan,
    merge: &MergePlan,
    counts: &mut Counts,
    survey: &Survey,
) -> Result<(), TraceError> {
    let (reader, writer) = io::pipe().map_err(TraceError::Read)?;
    thread::scope(|scope| {
        let counting = scope.spawn(|| {
            let mut reader = trace::open(BufReader::new(reader), &plan.reading())?;
            counts.read(plan, &mut *reader)
        });
        let mut out = BufWriter::with_capacity(64 << 10, writer);
        let merged = merge.write(&|path| survey.facts.open_trace(path), &mut out);
        drop(out);
        let counted = counting.join().unwrap_or(Ok(()));
        match merged {
            // The other end of the pipe was closed, because the trace is invalid.
            Err(TraceError::Write(_)) | Ok(_) => counted,
            Err(error) => Err(error),
        }
    })
}

fn largest(blocks: &PerDir<crate::model::BlockSize>) -> u32 {
    blocks.values().map(|block| block.max()).max().unwrap_or(STREAM_BLOCK)
}

/// What was read of a trace so far.
struct Counts<'a> {
    map: &'a MapOption,
    contents: TraceContents,
    names: Vec<NameUse>,
    depth: DepthCount,
    first: Option<Nanos>,
    too_large: Option<Bytes>,
}

impl<'a> Counts<'a> {
    fn new(map: &'a MapOption) -> Self {
        Counts {
            map,
            contents: TraceContents::default(),
            names: Vec::new(),
            depth: DepthCount::default(),
            first: None,
            too_large: None,
        }
    }

    fn read(&mut self, plan: &ReplayPlan, reader: &mut dyn TraceReader) -> Result<(), TraceError> {
        let result = loop {
            match reader.next_event() {
                Ok(Some(TraceEvent::Io(io))) => self.io(plan, &io),
                Ok(Some(event)) => self.event(event),
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        self.contents.depth = self.depth.result();
        result
    }

    fn event(&mut self, event: TraceEvent) {
        match event {
            TraceEvent::Target(_, name) => {
                let skipped = self.map.skips(&name);
                self.names.push(NameUse::new(name, skipped));
            }
            TraceEvent::Merged(target) if !self.skips(target) => self.depth.merged(),
            TraceEvent::Completed(end) if !self.skips(end.target) => self.depth.completed(),
            _ => {}
        }
    }

    fn skips(&self, target: TraceTarget) -> bool {
        self.names.get(target.index()).is_none_or(|name| name.skipped)
    }

    #[inline]
    fn io(&mut self, plan: &ReplayPlan, io: &TraceIo) {
        let contents = &mut self.contents;
        let name = self.names.get_mut(io.target.index());
        let Some(name) = name.filter(|name| !name.skipped && plan.replays(io.kind)) else {
            return;
        };
        let first = *self.first.get_or_insert(io.time);
        contents.span = io.time.saturating_sub(first);
        self.depth.issued(io);
        let Some(dir) = io.kind.dir() else {
            contents.flushes = true;
            name.syncs = true;
            return;
        };
        if io.len == Bytes::ZERO {
            return;
        }
        contents.ios[dir] += 1;
        contents.bytes[dir] = contents.bytes[dir].saturating_add(io.len);
        name.transfers(dir, plan.offset(io.offset.0), io.len.0);
        if io.len.0 > MAX_IO && io.kind != TraceKind::Trim {
            self.too_large = self.too_large.max(Some(io.len));
        }
        let len = Bytes(ReplayPlan::part(io.kind, io.len.0));
        let (min, max) = contents.blocks[dir].unwrap_or((len, len));
        contents.blocks[dir] = Some((min.min(len), max.max(len)));
    }
}

/// Counts how many I/Os are in flight.
#[derive(Default)]
struct DepthCount {
    /// I/Os in flight, of those whose ends are events of their own.
    open: u64,
    /// When the I/Os in flight end, of those whose ends are known.
    ends: BinaryHeap<Reverse<Nanos>>,
    deepest: u64,
    has_ends: bool,
}

impl DepthCount {
    #[inline]
    fn issued(&mut self, io: &TraceIo) {
        if let Some(outcome) = &io.outcome {
            self.has_ends = true;
            while self.ends.peek().is_some_and(|end| end.0 <= io.time) {
                self.ends.pop();
            }
            self.ends.push(Reverse(io.time.saturating_add(outcome.latency)));
            self.deepest = self.deepest.max(self.ends.len() as u64);
        } else {
            self.open += 1;
            self.deepest = self.deepest.max(self.open);
        }
    }

    fn merged(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    fn completed(&mut self) {
        self.has_ends = true;
        self.open = self.open.saturating_sub(1);
    }

    fn result(&self) -> Option<u32> {
        self.has_ends.then(|| u32::try_from(self.deepest).unwrap_or(u32::MAX).max(1))
    }
}
