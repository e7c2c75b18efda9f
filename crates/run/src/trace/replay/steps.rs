//! Turns the events of a trace into the steps of a replay: which file, offset and time each I/O gets.

use fiord_formats::trace::{TraceEvent, TraceFlags, TraceIo, TraceKind, TraceName};
use fiord_load::source::replay::{ReplayKind, ReplayStep};
use fiord_plan::{FileKind, JobPlan, ReplayFit, ReplayPlan, ReplayTargets, TraceInput};
use fiord_types::{Bytes, Dir, Errno, FileIndex, Nanos};

use crate::error::{JobError, Stage};

/// Makes the steps of one replay.
pub(super) struct TraceSteps<'a> {
    job: &'a JobPlan,
    plan: &'a ReplayPlan,
    /// Where the I/Os of each target of the trace go.
    targets: Vec<Place>,
    /// Time of the first I/O in the trace.
    first: Option<Nanos>,
    /// Largest read or write.
    largest: u64,
    /// I/Os that the options skip.
    skipped: u64,
}

/// Where the I/Os of a target go.
#[derive(Debug, Clone, Copy)]
enum Place {
    /// To a file, of which they use at most this many bytes.
    File(FileIndex, ReplayFit, u64),
    /// Nowhere: they are skipped.
    Nowhere,
    /// The planner did not know the target.
    Unknown,
}

/// An I/O of a stream that cannot be replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CannotReplay {
    /// The I/O goes to a file that the beginning of the stream does not name.
    UnknownFile(String),
    /// The I/O is larger than the buffers.
    TooLarge { len: u64, most: u64 },
    /// The I/O ends beyond the target.
    Beyond { end: u64, size: u64 },
    /// The job must not change data.
    ReadOnly,
}

impl CannotReplay {
    pub(super) fn error(&self) -> JobError {
        let (errno, detail) = match self {
            CannotReplay::UnknownFile(name) => (
                Errno::ENOENT,
                format!(
                    "the trace names `{name}` only after its first I/O, and a stream is planned from its beginning. \
                     To fix: add the file at the beginning, use replay_redirect, or write the trace to a file"
                ),
            ),
            CannotReplay::TooLarge { len, most } => (
                Errno::EINVAL,
                format!(
                    "the trace has an I/O of {len} bytes, and the buffers have {most}. To fix: set bs={len}, or write \
                     the trace to a file"
                ),
            ),
            CannotReplay::Beyond { end, size } => (
                Errno::EINVAL,
                format!(
                    "the trace has an I/O that ends at offset {end}, and its target has {size} bytes. To fix: use a \
                     larger target, or divide the offsets with replay_scale"
                ),
            ),
            CannotReplay::ReadOnly => (
                Errno::EROFS,
                "the trace changes data, and the run is --readonly. To fix: leave out --readonly, or use \
                 replay_skip=write,trim"
                    .into(),
            ),
        };
        JobError::new(Stage::ReadTrace, errno, detail)
    }
}

impl<'a> TraceSteps<'a> {
    pub(super) fn new(job: &'a JobPlan, plan: &'a ReplayPlan) -> Self {
        let blocks = [Dir::Read, Dir::Write].map(|dir| {
            if job.load.mix.has(dir) { u64::from(job.load.blocks[dir].max()) } else { 0 }
        });
        TraceSteps {
            job,
            plan,
            targets: Vec::new(),
            first: None,
            largest: blocks[0].max(blocks[1]),
            skipped: 0,
        }
    }

    /// I/Os that the options skip.
    pub(super) fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Passes the steps of an event to `feed`.
    #[inline]
    pub(super) fn of<E: From<CannotReplay>>(
        &mut self,
        event: &TraceEvent,
        feed: impl FnMut(ReplayStep) -> Result<(), E>,
    ) -> Result<(), E> {
        match event {
            TraceEvent::Io(io) => self.of_io(io, feed),
            TraceEvent::Target(_, name) => {
                let place = self.place(name);
                if let Place::Unknown = place {
                    return Err(CannotReplay::UnknownFile(name.to_string()).into());
                }
                self.targets.push(place);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Where the I/Os of a target go.
    fn place(&self, name: &TraceName) -> Place {
        // The planner has checked the offsets of a trace in files.
        let is_stream = matches!(self.plan.input, TraceInput::Stream(_));
        let file = |index: FileIndex, fit| {
            let file = &self.job.target.files[index];
            let fixed = is_stream && matches!(file.kind, FileKind::Block | FileKind::Char);
            Place::File(index, fit, if fixed { file.len.0 } else { u64::MAX })
        };
        match &self.plan.targets {
            ReplayTargets::One(fit) => file(FileIndex(0), *fit),
            ReplayTargets::Named(names) => match names.iter().find(|(known, _)| known == name) {
                Some((_, Some((index, fit)))) => file(*index, *fit),
                Some((_, None)) => Place::Nowhere,
                None => Place::Unknown,
            },
        }
    }

    #[inline]
    fn of_io<E: From<CannotReplay>>(
        &mut self,
        io: &TraceIo,
        mut feed: impl FnMut(ReplayStep) -> Result<(), E>,
    ) -> Result<(), E> {
        let place = self.targets.get(io.target.index()).copied().unwrap_or(Place::Unknown);
        let Place::File(file, fit, size) = place else {
            self.skipped += 1;
            return Ok(());
        };
        let empty = io.kind.dir().is_some() && io.len == Bytes::ZERO;
        if !self.plan.replays(io.kind) || empty {
            self.skipped += 1;
            return Ok(());
        }
        let first = *self.first.get_or_insert(io.time);
        let due = self.plan.due(io.time.saturating_sub(first));
        let step = |kind, offset, len| ReplayStep {
            due,
            kind,
            file,
            offset: Bytes(offset),
            len: Bytes(len),
        };
        let kind = match io.kind {
            TraceKind::Sync => return feed(step(ReplayKind::Fsync, 0, 0)),
            TraceKind::DataSync => return feed(step(ReplayKind::Fdatasync, 0, 0)),
            TraceKind::Read => ReplayKind::Io(Dir::Read),
            TraceKind::Write => ReplayKind::Io(Dir::Write),
            TraceKind::Trim => ReplayKind::Io(Dir::Trim),
        };
        let len = io.len.0;
        let offset = fit.place(self.plan.offset(io.offset.0), len);
        self.check(io.kind, offset, len, size)?;
        if io.kind == TraceKind::Write && io.flags != TraceFlags::NONE {
            let flushes = io.flags.contains(TraceFlags::PREFLUSH);
            let durable = io.flags.contains(TraceFlags::FUA);
            if flushes {
                feed(step(ReplayKind::Preflush, 0, 0))?;
            }
            let own = durable && self.plan.durable_flag;
            feed(step(if own { ReplayKind::DurableWrite } else { kind }, offset, len))?;
            if durable && !own {
                feed(step(ReplayKind::Postflush, 0, 0))?;
            }
            return Ok(());
        }
        let mut done = 0;
        while done < len {
            let part = ReplayPlan::part(io.kind, len - done);
            feed(step(kind, offset + done, part))?;
            done += part;
        }
        Ok(())
    }

    /// Checks what only the run knows about a stream.
    #[inline]
    fn check(&self, kind: TraceKind, offset: u64, len: u64, size: u64) -> Result<(), CannotReplay> {
        if kind != TraceKind::Trim && len > self.largest {
            return Err(match kind == TraceKind::Write && !self.job.load.mix.has(Dir::Write) {
                true => CannotReplay::ReadOnly,
                false => CannotReplay::TooLarge { len, most: self.largest },
            });
        }
        if self.job.target.open.read_only && kind != TraceKind::Read {
            return Err(CannotReplay::ReadOnly);
        }
        let end = offset.saturating_add(len);
        if end > size { Err(CannotReplay::Beyond { end, size }) } else { Ok(()) }
    }
}
