//! Features that follow individual I/Os. Only loops of `Managed` modes (`worker/loops/mode.rs`)
//! call them, so a job without such features runs a loop that has no test for them.
//!
//! The hooks are in `worker/hooks/` and `verify/`.
//!
//! # The life of an I/O
//!
//! 1. [`Hook::ready`]: may the job issue another I/O? [`Hook::extra`]: a hook may ask for an op of its own.
//! 2. [`Hook::direction`]; then the source draws the I/O; then [`Hook::due`] and [`Hook::admit`].
//! 3. The payload, or [`Hook::fill`], fills the buffer of a write. The I/O gets its sequence number. [`Hook::issued`].
//! 4. The engine gets the op, unless a hook carries it out itself ([`Hook::carry_out`]).
//! 5. [`Hook::completed`]: once for each I/O, whether it succeeded or failed. The rest of a short transfer
//!    has been transferred by then.
//! 6. If a hook holds the slot: [`Hook::hold`], and later [`Hook::released`].
//!
//! Each step calls the hooks in the order of the list. Steps 1 and 2 end at the first hook that delays the
//! I/O, and begin again later.

use std::ops::BitOr;

use fiord_engine::{FreeSlot, HeldSlot, Op, Outcome, Slot};
use fiord_formats::verify::state::VerifyState;
use fiord_load::{Displaced, Io};
use fiord_stat::hooks::HookReport;
use fiord_stat::live::ReadBackProgress;
use fiord_stat::recorder::{Recorder, Times};
use fiord_types::{Dir, FileIndex, Nanos, PerDir};

use crate::error::JobError;
use crate::zones::Counts;

/// Marks a time that does not come, ns.
pub(crate) const NEVER: u64 = u64::MAX;

/// A set of methods of [`Hook`] that the worker calls for each I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Events(u16);

impl Events {
    /// None of them.
    pub(crate) const NONE: Events = Events(0);
    pub(crate) const READY: Events = Events(1);
    pub(crate) const DIRECTION: Events = Events(1 << 9);
    pub(crate) const DUE: Events = Events(1 << 2);
    pub(crate) const ADMIT: Events = Events(1 << 3);
    pub(crate) const ISSUED: Events = Events(1 << 4);
    pub(crate) const CARRY_OUT: Events = Events(1 << 5);
    pub(crate) const COMPLETED: Events = Events(1 << 6);
    pub(crate) const EXTRA: Events = Events(1 << 1);
    /// [`Hook::issued`] and [`Hook::completed`] are also called for flushes.
    pub(crate) const FLUSHES: Events = Events(1 << 7);
    /// [`Hook::issued`] and [`Hook::completed`] get the bytes of reads and writes.
    pub(crate) const DATA: Events = Events(1 << 8);
    pub(crate) const FILL: Events = Events(1 << 10);

    /// All that happens before an I/O is issued.
    pub(crate) const BEFORE_ISSUE: Events = Events(
        Events::READY.0 | Events::EXTRA.0 | Events::DIRECTION.0 | Events::DUE.0 | Events::ADMIT.0,
    );

    /// Whether the set contains one of `others`.
    #[inline(always)]
    pub(crate) const fn has(self, others: Events) -> bool {
        self.0 & others.0 != 0
    }

    /// This set, or none if `on` is false.
    pub(crate) const fn only_if(self, on: bool) -> Events {
        if on { self } else { Events::NONE }
    }
}

impl BitOr for Events {
    type Output = Events;
    fn bitor(self, other: Events) -> Events {
        Events(self.0 | other.0)
    }
}

/// How long an I/O must wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Delay {
    /// The I/O need not wait.
    None,
    /// Until this time, ns of the engine's clock.
    Until(u64),
    /// Until this time, ns. The job keeps its CPU busy meanwhile, even if I/Os are in flight.
    Busy(u64),
    /// Until an I/O in flight has completed.
    Completion,
    /// Until something changes that the worker cannot see. With nothing in flight the worker calls
    /// [`Hook::wait`]. Otherwise it asks again after each completion, and at this time, ns.
    Event(u64),
}

/// Answer of [`Hook::admit`].
#[derive(Debug)]
pub(crate) enum Admission {
    /// Issue the I/O as it was drawn.
    AsDrawn,
    /// Issue the I/O as the hook has changed it. [`Source::placed`](fiord_load::Source::placed) tells its
    /// source.
    Placed,
    /// Not now. The same I/O is offered again after the delay.
    Later(Delay),
    /// Do not issue it. [`Source::displaced`](fiord_load::Source::displaced) tells its source why.
    Drop(Displaced),
    Fail(Box<JobError>),
}

/// An op that was issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IssuedIo {
    /// Number of the op in the order of issue, from 0. Flushes and extra I/Os have numbers, too.
    pub seq: u64,
    /// A hook asked for it ([`Hook::extra`]).
    pub extra: bool,
    /// The op is a flush, not an I/O.
    pub flush: bool,
    /// Slot of the op.
    pub slot: Slot,
    /// Direction of the op; a flush has [`Dir::Write`].
    pub dir: Dir,
    /// The whole op, even after a short transfer: file, offset, length and attributes.
    pub op: Op,
    /// When a rate wanted it to be issued, ns; [`NEVER`] without a rate.
    pub due: u64,
    /// When it was announced, ns. The latencies of [`Completed`] may begin later, when the I/Os that were submitted
    /// with it were ready.
    pub start: u64,
}

/// How an I/O completed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Completed {
    /// The latencies, ns.
    pub times: Times,
    /// When it completed, ns. It was issued at `end - times.clat`.
    pub end: u64,
    /// Result of the op. After a short transfer this is the result of the last part.
    pub outcome: Outcome,
    /// All of it was done. Without this, an outcome of 0 bytes is the end of the file.
    pub succeeded: bool,
}

impl Completed {
    /// An op that transferred all of its bytes.
    #[inline]
    pub(crate) fn ok(bytes: u32, times: Times, end: u64) -> Self {
        Completed { times, end, outcome: Outcome::ok(bytes), succeeded: true }
    }

    /// An op that failed.
    pub(crate) fn failed(outcome: Outcome, times: Times, end: u64) -> Self {
        Completed { times, end, outcome, succeeded: false }
    }
}

/// An op that a hook asks for ([`Hook::extra`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extra {
    Io(Io),
    /// Opens a file. Only if `openfiles` is less than the number of files.
    Open(FileIndex),
    /// Closes a file. No op may be in flight.
    Close(FileIndex),
    /// Flushes a file and drops its cached pages (`invalidate`), so that reads get the bytes of the device. The
    /// flush does not count as a sync of the job. No op may be in flight.
    Settle(FileIndex),
    /// Opens a file, unless it is open.
    Visit(FileIndex),
    /// Closes a file that the last [`Extra::Visit`] has opened. No op may be in flight.
    Leave(FileIndex),
    /// Waits a moment for other jobs ([`Hook::wait`]), then asks again.
    Wait,
}

/// Answer of [`Hook::completed`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Disposition {
    /// The slot is free, as far as this hook is concerned.
    Release,
    /// The slot stays in use: [`Hook::hold`] gets it. At most one hook of a job may answer so, and only if the op
    /// succeeded.
    Hold,
    Fail(Box<JobError>),
    /// The error counts, and the job continues.
    Survive(Box<JobError>),
    /// The error counts, and the job ends without an error of its own.
    End(Box<JobError>),
}

/// A slot that a hook has held.
#[derive(Debug)]
pub(crate) struct ReleasedSlot {
    pub slot: FreeSlot,
    /// What follows from its op; anything but [`Disposition::Hold`].
    pub verdict: Disposition,
}

/// Result of [`Hook::check`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Check {
    /// The job continues.
    GoOn,
    /// Discard the measurements so far.
    MeasureAgain,
    /// The job has reached its goal and ends.
    End,
    Fail(Box<JobError>),
}

/// What hooks add to the result of a job.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct HookResults {
    /// What reports show.
    pub report: HookReport,
    /// The depth that `latency_target` found.
    pub depth: Option<u32>,
    /// What the job did to zones.
    pub zones: Option<Counts>,
    /// Time in which the job only read its writes back (`verify`).
    pub read_back: Nanos,
    /// The job has also read some of its writes back while it wrote.
    pub reads_between: bool,
    /// What the job saves about its writes (`verify_state_save`).
    pub verify_state: Option<VerifyState>,
    /// Why the job could not do all of its work.
    pub failure: Option<JobError>,
    /// Warnings about the I/Os of the job.
    pub warnings: Vec<String>,
}

/// A feature that follows the I/Os of one job.
///
/// Hooks run on the worker's thread, on the path of every I/O. They must not allocate memory, read a
/// clock or wait, except in the methods that say so. Times are ns of the engine's clock.
pub(crate) trait Hook {
    /// The methods to call for each I/O. The set must not change.
    fn events(&self) -> Events;

    /// Whether the job may issue another I/O with `in_flight` I/Os in flight.
    fn ready(&mut self, _now: u64, _in_flight: u32) -> Delay {
        Delay::None
    }

    /// An op that this hook asks for, in addition to those of the source. It is issued at once: the hook makes
    /// sure that it may be. `ending`: the source has no more work, no op is in flight and no slot is held. The loop
    /// of the job (`loops`) ends if no hook asks for another op then. If one does, the source has nothing to do until
    /// that hook has answered `None` with `ending`, and no hook delays the ops of that time.
    fn extra(&mut self, _now: u64, _ending: bool) -> Option<Extra> {
        None
    }

    /// Fills the buffer of a write. If a hook wants [`Events::FILL`], the job has no other payload. `data` has the
    /// length of the write. The op is the next one that is issued. Its latency begins after this call.
    fn fill(&mut self, _io: &Io, _data: &mut [u8], _now: u64) {}

    /// The direction of the next I/O, if this hook decides it.
    fn direction(&mut self, _now: u64) -> Option<Dir> {
        None
    }

    /// Whether an I/O of this direction may be issued now.
    fn due(&mut self, _dir: Dir, _now: u64) -> Delay {
        Delay::None
    }

    /// Whether this I/O may be issued now, and where. Changes `io` to issue it elsewhere. The hooks after this
    /// one may delay an I/O that was admitted; then it is offered again. May wait for the kernel.
    fn admit(&mut self, _io: &mut Io) -> Admission {
        Admission::AsDrawn
    }

    /// The worker issues an op: it has its sequence number, and the engine gets it next. Called once for each
    /// op, even if the engine accepts it only later. `data`: the bytes of a write, which the hook may change. It is
    /// empty if no hook wants [`Events::DATA`].
    fn issued(&mut self, _io: &mut IssuedIo, _data: &mut [u8]) {}

    /// Carries out an op instead of the engine. `None`: the engine carries it out.
    fn carry_out(&mut self, _io: &IssuedIo) -> Option<Result<(), JobError>> {
        None
    }

    /// An op has completed. Measurements go to the recorder. `data`: the bytes of a read or write that succeeded.
    /// It is empty if no hook wants [`Events::DATA`].
    fn completed(
        &mut self,
        _io: &IssuedIo,
        _data: &[u8],
        _end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        Disposition::Release
    }

    /// Gets the slot that this hook holds. The hook can pass it to another thread, which reads its buffer.
    fn hold(&mut self, _slot: HeldSlot) {}

    /// Returns a slot that this hook held and that is free again. The worker asks in every round of its loop
    /// while the hook holds slots. The job ends only when all slots were returned.
    fn released(&mut self) -> Option<ReleasedSlot> {
        None
    }

    /// The worker has flushed a file with nothing in flight, at the end of the job or for [`Extra::Settle`]: what was
    /// written is durable.
    fn flushed(&mut self, _file: FileIndex) {}

    /// Text to add to the error of the I/O that has just failed.
    fn explain(&mut self) -> Option<String> {
        None
    }

    /// Waits, with nothing in flight, for the change of a [`Delay::Event`], or until a slot that this hook holds can
    /// be released. Returns within about 50 ms.
    fn wait(&mut self) {}

    /// When [`Hook::check`] is due; [`NEVER`] if it is not.
    fn next_check(&self) -> u64 {
        NEVER
    }

    /// Checks the job. `totals`: bytes and I/Os by direction since measuring began. May allocate memory.
    fn check(&mut self, _now: u64, _totals: PerDir<(u64, u64)>) -> Check {
        Check::GoOn
    }

    /// Measuring begins now, for the first time or again.
    fn restart(&mut self, _now: u64) {}

    /// The job issues no more ops. May wait. `now`: the time, ns.
    fn end(&mut self, _now: u64) -> Result<(), JobError> {
        Ok(())
    }

    /// How far the verify pass is; `None` outside of a pass.
    fn read_back(&self) -> Option<ReadBackProgress> {
        None
    }

    /// How far the job is behind its recorded times; `None` if it has none.
    fn behind(&self) -> Option<Nanos> {
        None
    }

    /// Adds what this hook knows to the result of the job.
    fn add_results(&self, _results: &mut HookResults) {}
}
