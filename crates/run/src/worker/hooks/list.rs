//! The hooks of one job.

use fiord_engine::{FreeSlot, HeldSlot, IoAttributes, Op, OpKind, Slot};
use fiord_load::Io;
use fiord_stat::live::ReadBackProgress;
use fiord_stat::recorder::Recorder;
use fiord_types::{Dir, FileIndex, Nanos, PerDir};

use super::super::ops::direction;
use crate::error::JobError;
use crate::hook::{
    Admission, Check, Completed, Delay, Disposition, Events, Extra, Hook, HookResults, IssuedIo,
    NEVER, ReleasedSlot,
};

/// The hooks of one job, and the ops that they have seen as issued and not yet as completed.
pub(crate) struct Hooks {
    /// The first hook. Most jobs with hooks have only this one. The loops call it directly, and have a call for the
    /// others, because a loop over hooks takes registers from the loop around it.
    first: Entry,
    others: Vec<Entry>,
    /// All events that a hook of the list wants.
    wanted: Events,
    /// The op of each slot, by index.
    issued: Vec<IssuedIo>,
    next_seq: u64,
    /// The last I/O that was offered, as the hooks have changed it.
    admitted: Io,
    /// The next op is one that a hook asked for.
    extra: bool,
    /// The source has ended, and a hook asks for more ops.
    prolonged: bool,
    /// The hook that holds the slot of the op that has just completed.
    holder: Option<usize>,
    /// The error of a hook about that op.
    failure: Option<Box<JobError>>,
    /// The error of a hook that the job survives, and whether the job ends.
    survived: Option<(Box<JobError>, bool)>,
    /// Slots that hooks hold.
    held: u32,
    /// Free slots that the loop does not use. They take the places of those that are held.
    spare: Vec<FreeSlot>,
    /// Number of slots that the loop has lent.
    lent: u32,
}

/// A hook and the methods to call.
type Entry = (Events, Box<dyn Hook>);

/// Takes the first place if a job has no hooks.
struct NoHook;

impl Hook for NoHook {
    fn events(&self) -> Events {
        Events::NONE
    }
}

impl Hooks {
    /// No hooks, for a plain loop.
    pub(crate) fn none() -> Self {
        Hooks::new(Vec::new(), 0)
    }

    /// These hooks, which are called in this order, for a job with `slots` slots.
    pub(crate) fn new(list: Vec<Box<dyn Hook>>, slots: u32) -> Self {
        let mut list = list.into_iter().map(|hook| (hook.events(), hook));
        let first = list.next().unwrap_or_else(|| (Events::NONE, Box::new(NoHook)));
        let others: Vec<_> = list.collect();
        let op = Op {
            kind: OpKind::Read,
            file: FileIndex(0),
            offset: 0,
            len: 0,
            at: 0,
            attributes: IoAttributes::PLAIN,
        };
        let idle = IssuedIo {
            seq: 0,
            extra: false,
            flush: false,
            slot: 0,
            dir: Dir::Read,
            op,
            due: NEVER,
            start: 0,
        };
        Hooks {
            wanted: others.iter().fold(first.0, |all, (events, _)| all | *events),
            first,
            others,
            issued: vec![idle; slots as usize],
            next_seq: 0,
            admitted: Io {
                dir: Dir::Read,
                file: FileIndex(0),
                offset: 0,
                len: 0,
                attributes: IoAttributes::PLAIN,
            },
            extra: false,
            prolonged: false,
            holder: None,
            failure: None,
            survived: None,
            held: 0,
            spare: Vec::new(),
            lent: 0,
        }
    }

    /// Whether a hook wants one of these events.
    #[inline(always)]
    pub(crate) fn want(&self, events: Events) -> bool {
        self.wanted.has(events)
    }

    /// Whether hooks neither delay, place nor add I/Os, and hold no slots: the loop issues what the source draws.
    #[inline(always)]
    pub(crate) fn let_the_source_run(&self) -> bool {
        self.held == 0 && !self.wanted.has(Events::BEFORE_ISSUE)
    }

    /// [`Hook::ready`] of all hooks, up to the first that delays the I/O.
    #[inline]
    pub(crate) fn ready(&mut self, now: u64, in_flight: u32) -> Delay {
        if self.prolonged {
            return Delay::None;
        }
        let (events, hook) = &mut self.first;
        if events.has(Events::READY) {
            let delay = hook.ready(now, in_flight);
            if delay != Delay::None {
                return delay;
            }
        }
        match self.others.is_empty() {
            true => Delay::None,
            false => self.others_ready(now, in_flight),
        }
    }

    #[inline(never)]
    fn others_ready(&mut self, now: u64, in_flight: u32) -> Delay {
        let hooks = self.others.iter_mut().filter(|(events, _)| events.has(Events::READY));
        let mut delays = hooks.map(|(_, hook)| hook.ready(now, in_flight));
        delays.find(|delay| *delay != Delay::None).unwrap_or(Delay::None)
    }

    /// All hooks, in their order.
    fn all(&mut self) -> impl Iterator<Item = &mut Entry> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    /// The hooks that want an event, in their order.
    fn that_want(&mut self, event: Events) -> impl Iterator<Item = &mut Box<dyn Hook>> {
        self.all().filter(move |(events, _)| events.has(event)).map(|(_, hook)| hook)
    }

    /// [`Hook::extra`] of the first hook that asks for an op, which must be issued next.
    pub(crate) fn extra(&mut self, now: u64, ending: bool) -> Option<Extra> {
        let extra = self.that_want(Events::EXTRA).find_map(|hook| hook.extra(now, ending));
        self.extra = matches!(extra, Some(Extra::Io(_)));
        if ending {
            self.prolonged = extra.is_some();
        }
        extra
    }

    /// [`Hook::fill`] of the hook that fills the buffers of writes.
    #[inline]
    pub(crate) fn fill(&mut self, io: &Io, data: &mut [u8], now: u64) {
        let (events, hook) = &mut self.first;
        if events.has(Events::FILL) {
            return hook.fill(io, data, now);
        }
        self.others_fill(io, data, now);
    }

    #[inline(never)]
    fn others_fill(&mut self, io: &Io, data: &mut [u8], now: u64) {
        let hook = self.others.iter_mut().find(|(events, _)| events.has(Events::FILL));
        if let Some((_, hook)) = hook {
            hook.fill(io, data, now);
        }
    }

    /// Whether the next op is one that a hook asked for.
    #[inline(always)]
    pub(crate) fn next_is_extra(&self) -> bool {
        self.extra
    }

    /// Whether a hook asked for the op in a slot.
    pub(crate) fn is_extra(&self, slot: Slot) -> bool {
        self.issued.get(slot as usize).is_some_and(|io| io.extra)
    }

    /// [`Hook::direction`] of the first hook that decides it.
    #[inline]
    pub(crate) fn direction(&mut self, now: u64) -> Option<Dir> {
        if !self.want(Events::DIRECTION) {
            return None;
        }
        self.that_want(Events::DIRECTION).find_map(|hook| hook.direction(now))
    }

    /// [`Hook::due`] of all hooks, up to the first that delays the I/O.
    #[inline]
    pub(crate) fn due(&mut self, dir: Dir, now: u64) -> Delay {
        if !self.want(Events::DUE) {
            return Delay::None;
        }
        let (events, hook) = &mut self.first;
        if events.has(Events::DUE) {
            let delay = hook.due(dir, now);
            if delay != Delay::None {
                return delay;
            }
        }
        match self.others.is_empty() {
            true => Delay::None,
            false => self.others_due(dir, now),
        }
    }

    #[inline(never)]
    fn others_due(&mut self, dir: Dir, now: u64) -> Delay {
        let hooks = self.others.iter_mut().filter(|(events, _)| events.has(Events::DUE));
        let mut delays = hooks.map(|(_, hook)| hook.due(dir, now));
        delays.find(|delay| *delay != Delay::None).unwrap_or(Delay::None)
    }

    /// Offers an I/O: [`Hook::admit`] of all hooks, up to the first that does not admit it.
    pub(crate) fn admit(&mut self, drawn: Io) -> Admission {
        let mut io = drawn;
        let mut answer = Admission::AsDrawn;
        for hook in self.that_want(Events::ADMIT) {
            match hook.admit(&mut io) {
                Admission::AsDrawn => {}
                Admission::Placed => answer = Admission::Placed,
                other => return other,
            }
        }
        self.admitted = io;
        answer
    }

    /// The I/O that was admitted, where it is issued.
    #[inline(always)]
    pub(crate) fn admitted(&self) -> Io {
        self.admitted
    }

    /// Numbers an op and announces it: [`Hook::issued`] of all hooks. `now`: when it is handed to the engine.
    #[inline]
    pub(crate) fn issued(&mut self, slot: Slot, op: &Op, data: &mut [u8], now: u64) {
        let Some(io) = self.issued.get_mut(slot as usize) else { return };
        let extra = std::mem::take(&mut self.extra);
        let (seq, flush) = (self.next_seq, is_flush(op));
        *io = IssuedIo {
            seq,
            extra,
            flush,
            slot,
            dir: direction(op),
            op: *op,
            due: NEVER,
            start: now,
        };
        self.next_seq += 1;
        let event = if flush { Events::FLUSHES } else { Events::ISSUED };
        let (events, hook) = &mut self.first;
        if events.has(event) {
            hook.issued(io, data);
        }
        if !self.others.is_empty() {
            self.others_issued(slot, event, data);
        }
    }

    #[inline(never)]
    fn others_issued(&mut self, slot: Slot, event: Events, data: &mut [u8]) {
        let Some(io) = self.issued.get_mut(slot as usize) else { return };
        for (_, hook) in self.others.iter_mut().filter(|(events, _)| events.has(event)) {
            hook.issued(io, data);
        }
    }

    /// [`Hook::carry_out`] of the first hook that carries out the op.
    pub(crate) fn carry_out(&mut self, slot: Slot) -> Option<Result<(), JobError>> {
        let io = self.issued.get(slot as usize)?;
        let mut hooks = std::iter::once(&mut self.first).chain(&mut self.others);
        hooks.find_map(|(_, hook)| hook.carry_out(io))
    }

    /// [`Hook::completed`] of all hooks. True if all of them release the slot. If not, the caller asks for the
    /// [failure](Hooks::take_failure) and the [holder](Hooks::take_holder).
    #[inline(always)]
    pub(crate) fn completed(
        &mut self,
        slot: Slot,
        data: &[u8],
        end: &Completed,
        recorder: &mut Recorder,
    ) -> bool {
        let Some(io) = self.issued.get(slot as usize) else { return true };
        let event = if io.flush { Events::FLUSHES } else { Events::COMPLETED };
        let (events, hook) = &mut self.first;
        let mut released = true;
        if events.has(event) {
            let answer = hook.completed(io, data, end, recorder);
            released = matches!(answer, Disposition::Release) || self.keep_answer(0, answer);
        }
        if !self.others.is_empty() {
            released &= self.others_completed((slot, event), data, end, recorder);
        }
        released
    }

    #[inline(never)]
    fn others_completed(
        &mut self,
        (slot, event): (Slot, Events),
        data: &[u8],
        end: &Completed,
        recorder: &mut Recorder,
    ) -> bool {
        let mut released = true;
        for index in 0..self.others.len() {
            let Some(io) = self.issued.get(slot as usize) else { return true };
            let (events, hook) = &mut self.others[index];
            if events.has(event) {
                let answer = hook.completed(io, data, end, recorder);
                released &=
                    matches!(answer, Disposition::Release) || self.keep_answer(index + 1, answer);
            }
        }
        released
    }

    /// Keeps what a hook answered to a completion. `index`: its place among all hooks. False unless it releases the
    /// slot.
    #[cold]
    #[inline(never)]
    fn keep_answer(&mut self, index: usize, answer: Disposition) -> bool {
        match answer {
            Disposition::Release => return true,
            Disposition::Hold => self.holder = Some(index),
            Disposition::Fail(error) => self.failure = self.failure.take().or(Some(error)),
            Disposition::Survive(error) => self.survived = Some((error, false)),
            Disposition::End(error) => self.survived = Some((error, true)),
        }
        false
    }

    /// The first error with which a hook answered the last completion.
    pub(crate) fn take_failure(&mut self) -> Option<JobError> {
        self.failure.take().map(|error| *error)
    }

    /// The error of a hook about the last completion that the job survives, and whether the job ends.
    pub(crate) fn take_survived(&mut self) -> Option<(JobError, bool)> {
        self.survived.take().map(|(error, ends)| (*error, ends))
    }

    /// The hook that holds the slot of the last completion.
    pub(crate) fn take_holder(&mut self) -> Option<usize> {
        self.holder.take()
    }

    /// Gives a slot to the hook that holds it.
    pub(crate) fn hold(&mut self, holder: usize, slot: HeldSlot) {
        match holder.checked_sub(1) {
            Some(index) => self.others[index].1.hold(slot),
            None => self.first.1.hold(slot),
        }
        self.held += 1;
    }

    /// Slots that hooks hold.
    #[inline(always)]
    pub(crate) fn held(&self) -> u32 {
        self.held
    }

    /// Lends the hooks the slots that a loop does not use while they hold none.
    pub(crate) fn lend(&mut self, slots: Vec<FreeSlot>) {
        self.lent = slots.len() as u32;
        self.spare = slots;
    }

    /// Whether hooks hold slots that the loop needs, because it has lent too few.
    #[inline(always)]
    pub(crate) fn are_short_of_slots(&self) -> bool {
        self.held > self.lent
    }

    /// Returns the slots that the loop has lent.
    pub(crate) fn take_spare(&mut self) -> Vec<FreeSlot> {
        std::mem::take(&mut self.spare)
    }

    /// A slot that the loop has lent, in the place of one that is held.
    pub(crate) fn spare_slot(&mut self) -> Option<FreeSlot> {
        self.spare.pop()
    }

    /// Keeps a slot that was released for later.
    pub(crate) fn keep(&mut self, slot: FreeSlot) {
        self.spare.push(slot);
    }

    /// A slot that a hook has released, and whether there is an answer to its op. Then the caller asks for the
    /// [failure](Hooks::take_failure).
    pub(crate) fn released(&mut self) -> Option<(FreeSlot, bool)> {
        if self.held == 0 {
            return None;
        }
        let ReleasedSlot { slot, verdict } = self.all().find_map(|(_, hook)| hook.released())?;
        self.held -= 1;
        match verdict {
            Disposition::Release | Disposition::Hold => return Some((slot, false)),
            Disposition::Fail(error) => self.failure = self.failure.take().or(Some(error)),
            Disposition::Survive(error) => self.survived = Some((error, false)),
            Disposition::End(error) => self.survived = Some((error, true)),
        }
        Some((slot, true))
    }

    /// The current, or else the last, op of a slot.
    pub(crate) fn op(&self, slot: Slot) -> Option<&Op> {
        self.issued.get(slot as usize).map(|io| &io.op)
    }

    pub(crate) fn flushed(&mut self, file: FileIndex) {
        self.all().for_each(|(_, hook)| hook.flushed(file));
    }

    /// What the hooks say about the I/O that has just failed.
    pub(crate) fn explain(&mut self) -> Option<String> {
        self.all().find_map(|(_, hook)| hook.explain())
    }

    pub(crate) fn wait(&mut self) {
        self.all().for_each(|(_, hook)| hook.wait());
    }

    /// When the next check is due; [`NEVER`] if no hook checks anything.
    pub(crate) fn next_check(&self) -> u64 {
        let others = self.others.iter().map(|(_, hook)| hook.next_check());
        others.fold(self.first.1.next_check(), u64::min)
    }

    /// [`Hook::check`] of all hooks, up to the first that wants a change.
    pub(crate) fn check(&mut self, now: u64, totals: PerDir<(u64, u64)>) -> Check {
        let mut checks = self.all().map(|(_, hook)| hook.check(now, totals));
        checks.find(|check| *check != Check::GoOn).unwrap_or(Check::GoOn)
    }

    /// Measuring begins now.
    pub(crate) fn restart(&mut self, now: u64) {
        self.all().for_each(|(_, hook)| hook.restart(now));
    }

    /// [`Hook::end`] of all hooks: the first error.
    pub(crate) fn end(&mut self, now: u64) -> Result<(), JobError> {
        self.all().map(|(_, hook)| hook.end(now)).fold(Ok(()), Result::and)
    }

    /// How far the verify pass of the job is.
    pub(crate) fn read_back(&self) -> Option<ReadBackProgress> {
        let others = self.others.iter().find_map(|(_, hook)| hook.read_back());
        self.first.1.read_back().or(others)
    }

    /// How far the job is behind its recorded times.
    pub(crate) fn behind(&self) -> Option<Nanos> {
        let others = self.others.iter().find_map(|(_, hook)| hook.behind());
        self.first.1.behind().or(others)
    }

    /// What the hooks add to the result of the job.
    pub(crate) fn results(&self) -> HookResults {
        let mut results = HookResults::default();
        self.first.1.add_results(&mut results);
        self.others.iter().for_each(|(_, hook)| hook.add_results(&mut results));
        results
    }
}

/// Whether an op moves and discards no data.
fn is_flush(op: &Op) -> bool {
    !matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim)
}
