//! The slots of a job with many I/Os in flight, and the sizes of its submissions and reaps.

use fiord_engine::{Completions, FreeSlot, IoAttributes, Op, OpKind, Slot, Want};
use fiord_load::{Io, Next};
use fiord_types::{Dir, FileIndex, PerDir};

use super::super::core::JobState;

/// The state of a loop with many I/Os in flight.
pub(super) struct LoopState {
    pub slots: Slots,
    pub batching: Batching,
    /// An operation of the source that could not be carried out yet.
    pub held: Option<Next>,
    /// The time of the last clock read, ns.
    pub now: u64,
    /// No more I/Os are issued; the loop waits for those in flight.
    pub ended: bool,
}

impl LoopState {
    /// At the begin of the loop, `now`. Takes the slots of the loop out of `slots` and lends the others to the hooks. Like
    /// [`LoopState::end`], it is compiled once for all loops.
    #[inline(never)]
    pub(super) fn begin(state: &mut JobState<'_>, slots: &mut Vec<FreeSlot>, now: u64) -> Self {
        let mut slots = std::mem::take(slots);
        let all = slots.len();
        let depth = state.job.depth.depth.max(1) as usize;
        state.hooks.lend(slots.split_off(depth.min(all)));
        LoopState {
            slots: Slots::new(slots, all),
            batching: Batching::of(&state.job.depth),
            held: None,
            now,
            ended: false,
        }
    }

    /// Returns all slots that are free to `slots`.
    #[inline(never)]
    pub(super) fn end(self, state: &mut JobState<'_>, slots: &mut Vec<FreeSlot>) {
        *slots = self.slots.free;
        slots.extend(state.hooks.take_spare());
    }
}

/// An op that was queued.
#[derive(Debug, Clone, Copy)]
pub(super) struct InFlight {
    /// The rest of it that has not completed.
    pub op: Op,
    /// When its payload, and those of all ops submitted with it, were ready. ns.
    pub start: u64,
    /// When it was issued, ns.
    pub issue: u64,
    /// The op moved less than it should at least once.
    pub short: bool,
}

/// The slots of a job and their ops.
pub(super) struct Slots {
    /// Slots without an op. The last one is used first, so that few buffers stay in the CPU's caches.
    pub free: Vec<FreeSlot>,
    /// The current, or else the last, op of each slot.
    pub flights: Vec<InFlight>,
    /// Slots queued since the last submission, for their issue timestamp.
    pub fresh: Vec<Slot>,
    /// How many of those are flushes. They do not count as I/Os.
    pub fresh_flushes: u64,
    /// Payloads were made for some of them. Their latency must not contain that time.
    pub filled: bool,
    /// The op of this slot, which is free, was issued and refused by the engine.
    pub refused: Option<Slot>,
    /// The completions of the last reap.
    pub done: Completions,
    /// Slots of the loop that no hook holds.
    usable: usize,
    /// Slots of the loop: `iodepth`.
    depth: usize,
}

impl Slots {
    /// With no op in flight. `free`: the first slots, in the order of their indices. `all`: number of slots of the
    /// engine.
    pub(super) fn new(mut free: Vec<FreeSlot>, all: usize) -> Self {
        let depth = free.len();
        free.reverse();
        let nothing = Op {
            kind: OpKind::Read,
            file: FileIndex(0),
            offset: 0,
            len: 0,
            at: 0,
            attributes: IoAttributes::PLAIN,
        };
        let idle = InFlight { op: nothing, start: 0, issue: 0, short: false };
        Slots {
            free,
            flights: vec![idle; all],
            fresh: Vec::with_capacity(depth),
            fresh_flushes: 0,
            filled: false,
            refused: None,
            done: Completions::with_capacity(depth as u32),
            usable: depth,
            depth,
        }
    }

    /// Ops in flight.
    #[inline(always)]
    pub(super) fn in_flight(&self) -> u32 {
        (self.usable - self.free.len()) as u32
    }

    /// The op of a slot has completed, and a hook holds the slot. `spare` takes its place.
    pub(super) fn held(&mut self, slot: Slot, spare: Option<FreeSlot>) {
        // It overlaps no other op any more.
        self.flights[slot as usize].op.kind = OpKind::Fsync;
        match spare {
            Some(spare) => self.free.push(spare),
            None => self.usable -= 1,
        }
    }

    /// A hook has released a slot. Returns it if the loop has all its slots.
    pub(super) fn released(&mut self, slot: FreeSlot) -> Option<FreeSlot> {
        if self.usable == self.depth {
            return Some(slot);
        }
        self.usable += 1;
        self.free.push(slot);
        None
    }

    /// Takes the slot of the op that the engine refused.
    pub(super) fn take_refused(&mut self) -> Option<FreeSlot> {
        let index = self.refused.take()?;
        let position = self.free.iter().position(|slot| slot.index() == index)?;
        Some(self.free.swap_remove(position))
    }

    /// Whether an I/O touches a byte of an op in flight, and at least one of them changes it (`serialize_overlap`).
    pub(super) fn overlaps(&self, io: Io) -> bool {
        let (offset, end) = (io.offset, io.offset + u64::from(io.len));
        (0u32..).zip(&self.flights).any(|(slot, flight)| {
            let other = &flight.op;
            let other_start = other.offset - u64::from(other.at);
            let other_end = other.offset + u64::from(other.len);
            let changes = match other.kind {
                OpKind::Read => io.dir != Dir::Read,
                OpKind::Write | OpKind::Trim => true,
                OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => false,
            };
            changes
                && other.file == io.file
                && offset < other_end
                && other_start < end
                // A free slot still has its old op. That is rare, so search the list last.
                && !self.free.iter().any(|free| free.index() == slot)
        })
    }
}

/// The user's settings for submission and reaping.
pub(super) struct Batching {
    /// `iodepth`.
    pub depth: u32,
    /// Ops per submission.
    pub submit: u32,
    /// Submissions are separate from the wait.
    pub explicit: bool,
    /// Completions to wait for; 0: poll.
    pub min: u32,
    /// Completions to take at once.
    pub max: u32,
    /// The loop reaps until at most this many ops are in flight. 0: it waits for each submission to complete before
    /// the next one.
    pub low: u32,
}

impl Batching {
    /// The settings of a job.
    pub(super) fn of(depth: &fiord_plan::Depth) -> Self {
        let all = depth.depth.max(1);
        let low = depth.low.map_or(all, |n| n.min(all));
        // Without `iodepth_batch*`, the loop reaps only down to `iodepth_low`.
        let most = if low < all { all - low } else { all };
        Batching {
            depth: all,
            submit: depth.batch.map_or(all, |n| if n == 0 { all } else { n.min(all) }),
            explicit: depth.batch.is_some(),
            min: depth.complete_min.unwrap_or(1).min(all),
            max: depth.complete_max.map_or(most, |n| n.clamp(1, all)),
            low,
        }
    }

    /// Whether the loop reaps down to `low` with `in_flight` ops in flight: only when the queue is full.
    pub(super) fn comes_down(&self, in_flight: u32) -> bool {
        in_flight == self.depth || self.low == 0
    }

    /// What to reap next to get from `in_flight` down to `low`.
    pub(super) fn down(&self, in_flight: u32) -> Want {
        let max = if self.explicit { self.max } else { in_flight.saturating_sub(self.low).max(1) };
        Want { min: self.min.min(in_flight), max, timeout: None }
    }
}

/// Completions of one reap and direction with equal timestamps, recorded once with a count.
#[derive(Debug, Clone, Copy)]
pub(super) struct CompletionBatch {
    pub bytes: u64,
    pub start: u64,
    pub issue: u64,
    /// How many.
    pub count: u64,
}

/// One batch for each direction, so that a mix does not end the batch with each change of direction.
#[derive(Debug)]
pub(super) struct CompletionBatches {
    batches: PerDir<CompletionBatch>,
    /// The directions whose batch contains completions: a bit for each.
    filled: u8,
}

impl Default for CompletionBatches {
    /// No completions yet.
    #[inline(always)]
    fn default() -> Self {
        let none = CompletionBatch { bytes: 0, start: 0, issue: 0, count: 0 };
        CompletionBatches { batches: PerDir::all(none), filled: 0 }
    }
}

impl CompletionBatches {
    /// The batch of a direction, which gets a completion now.
    #[inline(always)]
    pub(super) fn batch(&mut self, dir: Dir) -> &mut CompletionBatch {
        self.filled |= 1 << dir as u8;
        &mut self.batches[dir]
    }

    /// Takes a batch with completions. One after the other, because the code that records a batch is large: a loop over
    /// all directions would be unrolled.
    #[inline(always)]
    pub(super) fn take(&mut self) -> Option<(Dir, &CompletionBatch)> {
        let dir = match self.filled.trailing_zeros() {
            0 => Dir::Read,
            1 => Dir::Write,
            2 => Dir::Trim,
            _ => return None,
        };
        self.filled &= self.filled - 1;
        Some((dir, &self.batches[dir]))
    }
}
