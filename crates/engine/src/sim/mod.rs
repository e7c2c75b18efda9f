//! `sim`: a simulated device with a virtual clock. Its behaviour depends only on its options and
//! its seed.
//!
//! Time moves only when something waits for it: a reap that wants completions, a sleep on the
//! clock, the costs of submission and completion. A job of an hour is therefore over in
//! milliseconds, and ends in the same way every time.
//!
//! The device decides everything about an op when the op is submitted: it draws the latency,
//! assigns the op to the channel that is free first, draws the fault, and moves the data.

mod clock;
mod faults;
pub mod options;
pub mod random;
mod record;
mod store;

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;

use fiord_stat::engine::EngineReport;
use fiord_types::{Bytes, Errno, FileIndex};

pub use clock::SimClock;
pub use options::SimOptions;
pub use store::{SharedDisk, SimDisks};

use crate::buffers::{Buffers, slots_of_buffers};
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, Op, OpKind, Outcome,
    Queued, Slot, Time, Want, WriteCommand,
};
use faults::Injector;
use options::FaultOn;
use random::Random;
use record::DeviceRecord;

/// Torn and short transfers are whole sectors of this many bytes.
const SECTOR: u64 = 512;
/// Cost in nanoseconds of a reap that does not wait and finds nothing. Without it a poller would
/// poll forever at the same point in time.
const POLL_COST: u64 = 100;

/// One op as the device saw it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeviceAccess {
    /// Slot of the op.
    pub slot: Slot,
    pub op: Op,
    /// Time of submission, in nanoseconds of the engine's clock.
    pub submitted: u64,
    /// Time of completion, in nanoseconds of the engine's clock.
    pub ended: u64,
    pub outcome: Outcome,
}

/// All ops that the device saw, in the order of submission. The engine and its user share the list.
pub type Trace = Rc<RefCell<Vec<DeviceAccess>>>;

/// The `sim` engine.
#[derive(Debug)]
pub struct Sim {
    options: SimOptions,
    buffers: Buffers,
    clock: SimClock,
    random: Random,
    /// The contents of each file; empty if the device stores no data.
    disks: Vec<SharedDisk>,
    injector: Option<Box<Injector>>,
    /// Every write is durable when it completes.
    durable: bool,
    /// The device has crashed and stays down.
    down: bool,
    /// When each channel becomes free, in nanoseconds of the engine's clock.
    channels: Vec<u64>,
    queued: Vec<(FreeSlot, Op)>,
    /// Ops in flight: time of completion, order of submission, slot.
    in_flight: BinaryHeap<Reverse<(u64, u64, Slot)>>,
    /// The token of each slot in flight, and the outcome of its op.
    ends: Vec<Option<(FreeSlot, Outcome)>>,
    /// Number of ops submitted so far.
    count: u64,
    trace: Option<Trace>,
    record: Option<Box<DeviceRecord>>,
}

impl Sim {
    /// Creates the engine from the options of its plan.
    ///
    /// # Errors
    ///
    /// An option has an invalid value, or the buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.simulated();
        let options = plan.map_or_else(|| Ok(SimOptions::default()), SimOptions::of)?;
        Self::with_options(config, options)
    }

    /// Creates the engine with these options.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn with_options(config: &EngineConfig, options: SimOptions) -> Result<Self, EngineError> {
        let slots = config.slots as usize;
        let clock = SimClock::new(options.real_time.then_some(config.clock));
        let record = options
            .record
            .as_ref()
            .map(|path| DeviceRecord::create(path, slots, clock.start()).map(Box::new));
        Ok(Sim {
            buffers: Buffers::new(config)?,
            clock,
            record: record.transpose()?,
            random: Random::new(options.seed),
            disks: disks(config, &options),
            injector: Injector::new(&options),
            durable: config.durable,
            down: false,
            channels: vec![0; (options.channels as usize).min(slots)],
            queued: Vec::with_capacity(slots),
            in_flight: BinaryHeap::with_capacity(slots),
            ends: (0..slots).map(|_| None).collect(),
            count: 0,
            trace: None,
            options,
        })
    }

    /// Starts the trace, or returns the one that was started before.
    pub fn trace(&mut self) -> Trace {
        self.trace.get_or_insert_default().clone()
    }

    /// Time of completion of an op that is submitted now.
    fn end_of(&mut self, kind: OpKind) -> u64 {
        let which = match kind {
            OpKind::Read => 0,
            OpKind::Write => 1,
            OpKind::Trim => 2,
            OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => 3,
        };
        // At least 1 ns, so that time passes with any options.
        let latency = self.options.latency[which].draw(&mut self.random).max(1);
        let now = self.clock.now();
        let channel = self.channels.iter_mut().min();
        let free = channel.as_ref().map_or(now, |free| **free);
        let mut begin = free.max(now);
        let mut end = begin.saturating_add(latency);
        for (at, span) in &self.options.stalls {
            let from = self.clock.start().saturating_add(*at);
            let to = from.saturating_add(*span);
            if begin >= to || end <= from {
                continue;
            }
            // A stall interrupts the op: the rest of its latency follows the stall.
            let before = from.saturating_sub(begin);
            end = to.saturating_add(end - begin - before);
            begin = begin.max(to - before);
        }
        if let Some(free) = channel {
            *free = end;
        }
        end
    }

    /// Decides the outcome of an op, and moves its data accordingly.
    fn carry_out(&mut self, slot: &mut FreeSlot, op: &Op) -> Outcome {
        if let Some(errno) = self.fault(op) {
            return Outcome::err(errno);
        }
        let mut len = u64::from(op.len);
        let placed = matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim);
        if self.options.size > Bytes::ZERO && placed {
            let room = self.options.size.0.saturating_sub(op.offset);
            if room == 0 && len > 0 {
                let write = op.kind == OpKind::Write;
                return Outcome::err(if write { Errno::ENOSPC } else { Errno::EIO });
            }
            len = len.min(room);
        }
        match op.kind {
            OpKind::Read | OpKind::Write => {}
            OpKind::Trim => {
                if let Some(disk) = self.disks.get(op.file.get()) {
                    disk.lock().trim(op.offset, len as u32);
                }
                return Outcome::ok(0);
            }
            OpKind::Fsync | OpKind::Fdatasync => {
                self.make_durable(op);
                return Outcome::ok(0);
            }
            OpKind::SyncFileRange(_) => return Outcome::ok(0),
        }
        if self.random.chance(self.options.short_rate) {
            len = self.some_sectors(len);
        }
        self.move_data(slot, op, len as usize);
        Outcome::ok(len as u32)
    }

    /// Makes the writes of the op's file durable.
    fn make_durable(&mut self, op: &Op) {
        match &mut self.injector {
            Some(injector) => injector.flush(self.count, op, &self.disks),
            None => {
                if let Some(disk) = self.disks.get(op.file.get()) {
                    disk.lock().flush();
                }
            }
        }
    }

    /// Crashes the device if it is time (`sim_crash`). If it stays down, what is in flight fails.
    #[cold]
    fn crash_if_due(&mut self, op: &Op) {
        let Some(injector) = &mut self.injector else { return };
        let now = self.clock.now();
        if !injector.crash(self.count, now - self.clock.start(), op, &self.disks) {
            return;
        }
        self.down = true;
        for Reverse((end, _, slot)) in &self.in_flight {
            if let Some((_, outcome)) = &mut self.ends[*slot as usize]
                && *end > now
            {
                *outcome = Outcome::err(Errno::EIO);
            }
        }
    }

    /// The errno of an op that fails.
    fn fault(&mut self, op: &Op) -> Option<Errno> {
        if self.down {
            return Some(Errno::EIO);
        }
        let (first, end) = (op.offset, op.offset.saturating_add(u64::from(op.len)));
        let set = self.options.errors.iter().find(|fault| match fault.on {
            FaultOn::Op(nth) => nth == self.count,
            FaultOn::Bytes(from, to) => first < to && from < end,
        });
        if let Some(fault) = set {
            return Some(fault.errno);
        }
        self.random.chance(self.options.error_rate).then_some(Errno::EIO)
    }

    /// Draws a number of whole sectors that is less than `len` bytes and at least one; `len` if
    /// there is none.
    fn some_sectors(&mut self, len: u64) -> u64 {
        let sectors = len.div_ceil(SECTOR);
        if sectors < 2 { len } else { (1 + self.random.below(sectors - 1)) * SECTOR }
    }

    fn move_data(&mut self, slot: &mut FreeSlot, op: &Op, len: usize) {
        let Some(disk) = self.disks.get(op.file.get()) else { return };
        let data = &mut self.buffers.slice(slot)[op.at as usize..][..len];
        if op.kind == OpKind::Write && op.attributes.command == WriteCommand::Zeroes {
            data.fill(0);
        }
        match (&mut self.injector, op.kind) {
            (Some(injector), OpKind::Read) => injector.read(self.count, op, data, &self.disks),
            (Some(injector), _) => injector.write(self.count, op, data, &self.disks),
            (None, OpKind::Read) => disk.lock().read(op.offset, data),
            (None, _) => disk.lock().write(op.offset, data),
        }
        if self.durable && op.kind == OpKind::Write {
            disk.lock().flush();
        }
    }

    fn submit(&mut self) -> u32 {
        let mut queued = std::mem::take(&mut self.queued);
        let count = queued.len() as u32;
        let began = self.clock.now();
        if let Some(record) = self.record.as_mut().filter(|_| count > 0) {
            record.submits();
        }
        for (mut slot, op) in queued.drain(..) {
            self.clock.pass(self.options.submit_cost.0);
            self.count += 1;
            if self.injector.is_some() {
                self.crash_if_due(&op);
            }
            let submitted = self.clock.now();
            let ended = self.end_of(op.kind);
            let outcome = self.carry_out(&mut slot, &op);
            if let Some(trace) = &self.trace {
                let access = DeviceAccess { slot: slot.index(), op, submitted, ended, outcome };
                trace.borrow_mut().push(access);
            }
            if let Some(record) = &mut self.record {
                record.submitted(slot.index(), began, ended);
            }
            self.in_flight.push(Reverse((ended, self.count, slot.index())));
            let index = slot.index() as usize;
            self.ends[index] = Some((slot, outcome));
        }
        self.queued = queued;
        count
    }
}

/// The contents of the files: those of the run, or new ones.
fn disks(config: &EngineConfig, options: &SimOptions) -> Vec<SharedDisk> {
    if !options.store {
        return Vec::new();
    }
    if !config.disks.is_empty() {
        return config.disks.clone();
    }
    let new = || {
        let disk = SharedDisk::default();
        disk.lock().prepare(options);
        disk
    };
    (0..config.files.max(1)).map(|_| new()).collect()
}

impl Engine for Sim {
    const ASYNC: bool = true;
    type Clock = SimClock;

    fn clock(&self) -> SimClock {
        self.clock.clone()
    }

    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        Ok(())
    }

    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        Ok(())
    }

    slots_of_buffers!();

    fn report(&self, path: &dyn Fn(FileIndex) -> String) -> EngineReport {
        let faults = self.injector.as_ref().map(|injector| injector.report(path));
        EngineReport { faults, ..EngineReport::default() }
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let carries = matches!(op.kind, OpKind::Read | OpKind::Write);
        if carries && self.buffers.span(&slot, op.at, op.len).is_none() {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        }
        if let Some(record) = &mut self.record {
            record.queued(slot.index(), op, self.clock.now());
        }
        self.queued.push((slot, *op));
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(self.submit())
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.submit();
        let latest = want.timeout.map_or(u64::MAX, |ns| self.clock.now().saturating_add(ns));
        let mut taken = 0;
        while taken < want.max
            && let Some(Reverse((end, _, slot))) = self.in_flight.peek().copied()
        {
            if end > self.clock.now() {
                if taken >= want.min {
                    break;
                }
                self.clock.sleep_until(end.min(latest));
                if end > latest {
                    break;
                }
            }
            self.in_flight.pop();
            if let Some((slot, outcome)) = self.ends[slot as usize].take() {
                if let Some(record) = &mut self.record {
                    record.reaps(slot.index(), outcome);
                }
                done.push(slot, outcome);
            }
            taken += 1;
            self.clock.pass(self.options.complete_cost.0);
        }
        if taken == 0 && want.min == 0 {
            self.clock.pass(POLL_COST);
        }
        if let Some(record) = &mut self.record {
            record.reaped(self.clock.now());
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.record.take().map_or(Ok(()), |record| record.close())
    }
}

#[cfg(test)]
mod tests;
