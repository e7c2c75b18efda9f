//! The source of a job that replays a trace (`read_iolog`).
//!
//! A thread reads the trace and [feeds](ReplayFeeder) a bounded ring. The worker takes the steps from it: a hook waits
//! until the next one is due, and the source hands it out. Both share a [`ReplayCursor`].

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use fiord_plan::{IoAttributes, Load, WriteCommand};
use fiord_types::{Bytes, Dir, FileIndex, Nanos};

use super::attributes::AttributeSource;
use crate::{Flush, Io, Next, Source};

/// Steps that the ring holds; a power of two.
const ROOM: usize = 1 << 15;

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplayKind {
    /// Transfers or discards data.
    Io(Dir),
    /// A write that is durable when it completes.
    DurableWrite,
    /// Flushes data and metadata of the file.
    Fsync,
    /// Flushes data of the file.
    Fdatasync,
    /// Flushes data of the file before the next step begins: a write with a flush before it follows.
    Preflush,
    /// Flushes data of the file when all steps before have completed: a durable write precedes it.
    Postflush,
}

const KINDS: [ReplayKind; 8] = [
    ReplayKind::Io(Dir::Read),
    ReplayKind::Io(Dir::Write),
    ReplayKind::Io(Dir::Trim),
    ReplayKind::DurableWrite,
    ReplayKind::Fsync,
    ReplayKind::Fdatasync,
    ReplayKind::Preflush,
    ReplayKind::Postflush,
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplayStep {
    /// When it is due, since the first step.
    pub due: Nanos,
    /// What it does.
    pub kind: ReplayKind,
    /// File of the operation.
    pub file: FileIndex,
    /// First byte.
    pub offset: Bytes,
    /// Number of bytes, less than 4 GiB.
    pub len: Bytes,
}

/// A value in a cache line of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct OwnLine<T>(T);

/// Steps between the thread that reads the trace and the worker.
#[derive(Debug)]
struct ReplayRing {
    /// Time, offset, length and file, kind.
    steps: Box<[[AtomicU64; 4]]>,
    /// Number of steps that were taken.
    taken: OwnLine<AtomicU64>,
    /// Number of steps that were fed.
    fed: OwnLine<AtomicU64>,
    /// No more steps follow.
    ended: AtomicBool,
    /// No more steps are taken.
    closed: AtomicBool,
}

/// The end of the ring at which steps are added.
#[derive(Debug)]
pub struct ReplayFeeder {
    ring: Arc<ReplayRing>,
    fed: u64,
    /// Steps that were taken, when the feeder looked last.
    taken: u64,
}

/// The end of the ring at which steps are taken.
#[derive(Debug)]
pub struct ReplayCursor {
    ring: Arc<ReplayRing>,
    taken: Cell<u64>,
    /// Steps that were fed, when the cursor looked last.
    fed: Cell<u64>,
    /// Due time and kind of the step that was taken last, until it is issued.
    drawn: Cell<Option<(Nanos, ReplayKind)>>,
}

/// The next step of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upcoming {
    /// A step was taken and is not issued yet. It is due at this time.
    Drawn(Nanos),
    /// A step is due at this time.
    Step(Nanos),
    /// The reading thread has not got so far.
    Unknown,
    /// No more steps follow.
    End,
}

/// Makes an empty ring.
#[must_use]
pub fn replay_ring() -> (ReplayFeeder, ReplayCursor) {
    let ring = Arc::new(ReplayRing {
        steps: (0..ROOM).map(|_| Default::default()).collect(),
        taken: OwnLine::default(),
        fed: OwnLine::default(),
        ended: AtomicBool::new(false),
        closed: AtomicBool::new(false),
    });
    let cursor = ReplayCursor {
        ring: Arc::clone(&ring),
        taken: Cell::new(0),
        fed: Cell::new(0),
        drawn: Cell::new(None),
    };
    (ReplayFeeder { ring, fed: 0, taken: 0 }, cursor)
}

impl ReplayFeeder {
    /// Adds a step. Returns false if the ring is full.
    #[inline]
    #[must_use]
    pub fn try_feed(&mut self, step: &ReplayStep) -> bool {
        if self.fed - self.taken >= ROOM as u64 {
            self.taken = self.ring.taken.0.load(Ordering::Acquire);
            if self.fed - self.taken >= ROOM as u64 {
                return false;
            }
        }
        let kind = KINDS.iter().position(|kind| *kind == step.kind).unwrap_or(0) as u64;
        let words = &self.ring.steps[self.fed as usize % ROOM];
        words[0].store(step.due.0, Ordering::Relaxed);
        words[1].store(step.offset.0, Ordering::Relaxed);
        words[2].store(step.len.0 << 32 | u64::from(step.file.0), Ordering::Relaxed);
        words[3].store(kind, Ordering::Relaxed);
        self.fed += 1;
        self.ring.fed.0.store(self.fed, Ordering::Release);
        true
    }

    /// Whether the worker takes no more steps.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.ring.closed.load(Ordering::Relaxed)
    }

    /// Number of steps for which the ring has no room.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.fed - self.ring.taken.0.load(Ordering::Relaxed)
    }

    /// Steps that the ring holds at most.
    #[must_use]
    pub const fn room(&self) -> u64 {
        ROOM as u64
    }
}

/// No more steps follow.
impl Drop for ReplayFeeder {
    fn drop(&mut self) {
        self.ring.ended.store(true, Ordering::Release);
    }
}

impl ReplayCursor {
    /// What comes next.
    #[inline]
    #[must_use]
    pub fn upcoming(&self) -> Upcoming {
        if let Some((due, _)) = self.drawn.get() {
            return Upcoming::Drawn(due);
        }
        let taken = self.taken.get();
        if taken == self.fed.get() && !self.look(taken) {
            // The end is announced after the last step.
            if !self.ring.ended.load(Ordering::Acquire) {
                return Upcoming::Unknown;
            }
            if !self.look(taken) {
                return Upcoming::End;
            }
        }
        Upcoming::Step(Nanos(self.ring.steps[taken as usize % ROOM][0].load(Ordering::Relaxed)))
    }

    /// Checks whether steps were fed.
    fn look(&self, taken: u64) -> bool {
        self.fed.set(self.ring.fed.0.load(Ordering::Acquire));
        self.fed.get() > taken
    }

    /// Takes the next step; `None` at the end.
    #[inline]
    fn take(&self) -> Option<ReplayStep> {
        self.drawn.set(None);
        loop {
            match self.upcoming() {
                Upcoming::Step(due) => {
                    let taken = self.taken.get();
                    let words = &self.ring.steps[taken as usize % ROOM];
                    let [offset, sizes, kind] =
                        [1, 2, 3].map(|index: usize| words[index].load(Ordering::Relaxed));
                    self.taken.set(taken + 1);
                    self.ring.taken.0.store(taken + 1, Ordering::Release);
                    let kind = KINDS[kind as usize % KINDS.len()];
                    self.drawn.set(Some((due, kind)));
                    let (len, file) = (Bytes(sizes >> 32), FileIndex(sizes as u32));
                    let offset = Bytes(offset);
                    return Some(ReplayStep { due, kind, file, offset, len });
                }
                Upcoming::End | Upcoming::Drawn(_) => return None,
                // The hook waits for steps. This is only for the moment in which it does not.
                Upcoming::Unknown => std::hint::spin_loop(),
            }
        }
    }

    /// The step that was taken is issued. Returns when it was due, and its kind.
    #[inline]
    pub fn issued(&self) -> Option<(Nanos, ReplayKind)> {
        self.drawn.take()
    }
}

/// The feeder stops when it notices.
impl Drop for ReplayCursor {
    fn drop(&mut self) {
        self.ring.closed.store(true, Ordering::Relaxed);
    }
}

/// The I/Os of a trace.
#[derive(Debug, Clone)]
pub struct TraceSource {
    cursor: Rc<ReplayCursor>,
    /// Attributes of the I/Os; `None` if all are plain, or as the trace says.
    attributes: Option<Box<AttributeSource>>,
}

impl TraceSource {
    /// A source that takes the steps of this cursor and gives the I/Os the attributes of this load.
    #[must_use]
    pub fn new(cursor: Rc<ReplayCursor>, load: &Load) -> Self {
        TraceSource { cursor, attributes: AttributeSource::new(load) }
    }

    /// An I/O with its attributes. `command`: that of the trace, unless the job writes with another one.
    #[inline]
    fn io(&mut self, dir: Dir, step: &ReplayStep, command: WriteCommand) -> Next {
        let (offset, len) = (step.offset.0, step.len.0 as u32);
        let attributes = IoAttributes { command, ..IoAttributes::PLAIN };
        let mut io = Io { dir, file: step.file, offset, len, attributes };
        if let Some(attributes) = &mut self.attributes {
            io.attributes = attributes.of(&io);
            if io.attributes.command == WriteCommand::Data {
                io.attributes.command = command;
            }
        }
        Next::Io(io)
    }
}

impl Source for TraceSource {
    fn next(&mut self) -> Next {
        let Some(step) = self.cursor.take() else { return Next::End };
        let ReplayStep { kind, file, .. } = step;
        match kind {
            ReplayKind::Io(dir) => self.io(dir, &step, WriteCommand::Data),
            ReplayKind::DurableWrite => self.io(Dir::Write, &step, WriteCommand::Durable),
            ReplayKind::Fsync => Next::Flush(Flush::Fsync, file, 0, 0, false),
            ReplayKind::Fdatasync | ReplayKind::Preflush => {
                Next::Flush(Flush::Fdatasync, file, 0, 0, false)
            }
            ReplayKind::Postflush => Next::Flush(Flush::Fdatasync, file, 0, 0, true),
        }
    }

    /// A trace is replayed once.
    fn restart(&mut self) {}
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, IoPrio, JobPlan, Priorities, PriorityShare};
    use fiord_types::PerDir;

    use super::*;

    fn load() -> Load {
        JobPlan::plain(EnginePlan::Null, 1 << 20).load
    }

    fn step(due: u64, kind: ReplayKind) -> ReplayStep {
        ReplayStep {
            due: Nanos(due),
            kind,
            file: FileIndex(3),
            offset: Bytes(due << 20),
            len: Bytes(4096),
        }
    }

    #[test]
    fn steps_come_out_as_they_went_in() {
        let (mut feeder, cursor) = replay_ring();
        let cursor = Rc::new(cursor);
        let mut source = TraceSource::new(Rc::clone(&cursor), &load());
        assert_eq!(cursor.upcoming(), Upcoming::Unknown);
        for (due, kind) in KINDS.into_iter().enumerate() {
            assert!(feeder.try_feed(&step(due as u64, kind)));
        }
        for (due, kind) in KINDS.into_iter().enumerate() {
            let due = Nanos(due as u64);
            assert_eq!(cursor.upcoming(), Upcoming::Step(due));
            let next = source.next();
            assert_eq!(cursor.upcoming(), Upcoming::Drawn(due));
            match next {
                Next::Io(io) => {
                    assert_eq!((io.offset, io.len, io.file), (due.0 << 20, 4096, FileIndex(3)));
                    let durable = io.attributes.command == WriteCommand::Durable;
                    assert_eq!(durable, kind == ReplayKind::DurableWrite);
                }
                other => {
                    assert!(matches!(other, Next::Flush(_, FileIndex(3), 0, 0, _)), "{kind:?}")
                }
            }
            assert_eq!(cursor.issued(), Some((due, kind)));
        }
        assert_eq!(cursor.upcoming(), Upcoming::Unknown);
        drop(feeder);
        assert_eq!((cursor.upcoming(), source.next()), (Upcoming::End, Next::End));
    }

    #[test]
    fn ios_of_a_trace_have_the_attributes_of_the_job() {
        let mut load = load();
        let reads = vec![PriorityShare { block: None, percent: 100, priority: 1 }];
        let values = vec![IoPrio { class: 1, level: 0, hint: 0 }];
        load.priorities = Some(Priorities { values, shares: PerDir::new(reads, vec![], vec![]) });
        load.write_commands = vec![(WriteCommand::Zeroes, 100)];
        let (mut feeder, cursor) = replay_ring();
        let mut source = TraceSource::new(Rc::new(cursor), &load);
        let kinds = [
            ReplayKind::Io(Dir::Read),
            ReplayKind::Io(Dir::Write),
            ReplayKind::DurableWrite,
            ReplayKind::Io(Dir::Trim),
        ];
        assert!(kinds.into_iter().all(|kind| feeder.try_feed(&step(0, kind))));
        let found = kinds.map(|_| match source.next() {
            Next::Io(io) => (io.dir, io.attributes.priority, io.attributes.command),
            other => panic!("{other:?}"),
        });
        let expected = [
            (Dir::Read, 1, WriteCommand::Data),
            (Dir::Write, 0, WriteCommand::Zeroes),
            (Dir::Write, 0, WriteCommand::Zeroes),
            (Dir::Trim, 0, WriteCommand::Data),
        ];
        assert_eq!(found, expected);
        // Of the commands of the job, plain writes leave the choice to the trace.
        load.write_commands = vec![(WriteCommand::Data, 100)];
        let (mut feeder, cursor) = replay_ring();
        let mut source = TraceSource::new(Rc::new(cursor), &load);
        assert!(feeder.try_feed(&step(0, ReplayKind::DurableWrite)));
        let durable =
            |next| matches!(next, Next::Io(io) if io.attributes.command == WriteCommand::Durable);
        assert!(durable(source.next()));
    }

    #[test]
    fn a_full_ring_takes_no_more() {
        let (mut feeder, cursor) = replay_ring();
        let read = step(0, ReplayKind::Io(Dir::Read));
        assert_eq!((0..).take_while(|_| feeder.try_feed(&read)).count(), ROOM);
        assert_eq!(feeder.waiting(), feeder.room());
        assert!(cursor.take().is_some() && feeder.try_feed(&read) && !feeder.try_feed(&read));
        assert!(!feeder.is_closed());
        drop(cursor);
        assert!(feeder.is_closed());
    }
}
