//! Injection of faults (`sim_faults`, `sim_crash`): which I/Os they strike, what they do to the data, and a list of
//! what was injected.

use fiord_plan::{CrashTime, FaultEffect, SimCrash, SimFault};
use fiord_stat::engine::{FaultEntry, FaultReport};
use fiord_types::{Bytes, Dir, FileIndex};

use super::options::SimOptions;
use super::random::Random;
use super::store::SharedDisk;
use crate::Op;

/// Maximum number of bit positions that the list holds for a fault.
const MAX_BITS: usize = 64;

/// A fault with its own random numbers, so that it strikes the same I/Os whatever else is injected.
#[derive(Debug)]
struct ArmedFault {
    fault: SimFault,
    random: Random,
    /// I/Os that it could have struck.
    seen: u64,
    /// I/Os that it struck.
    struck: u64,
}

impl ArmedFault {
    /// Counts an I/O that the fault can strike. Returns whether it does.
    fn strikes(&mut self, op: &Op) -> bool {
        self.seen += 1;
        let trigger = &self.fault.trigger;
        let (first, end) = (op.offset, op.offset.saturating_add(u64::from(op.len)));
        trigger.op.is_none_or(|nth| nth.get() == self.seen)
            && trigger.bytes.is_none_or(|(from, to)| first < to.0 && from.0 < end)
            && trigger.count.is_none_or(|most| self.struck < most.get())
            && trigger.rate.is_none_or(|percent| self.random.chance(percent))
    }
}

/// A write that waits for its partner (`swapped`).
#[derive(Debug, Clone, Copy)]
struct Unpaired {
    file: FileIndex,
    offset: u64,
    len: usize,
}

/// Injects the faults of a device.
#[derive(Debug)]
pub(super) struct Injector {
    faults: Vec<ArmedFault>,
    crash: Option<SimCrash>,
    random: Random,
    unpaired: Option<Unpaired>,
    /// Size of the device.
    size: u64,
    /// The bytes that are stored instead of those of the write.
    altered: Vec<u8>,
    /// What was injected; the entries of its list have no paths.
    log: FaultReport,
    /// The file of each entry of the list.
    files: Vec<FileIndex>,
}

impl Injector {
    /// The injector of a device; `None` if its options have no fault.
    pub(super) fn new(options: &SimOptions) -> Option<Box<Injector>> {
        if options.faults.is_empty() && options.crash.is_none() {
            return None;
        }
        let random = |index: u64| Random::new(options.seed ^ (index + 1).rotate_left(32));
        let arm = |(index, fault): (u64, &SimFault)| ArmedFault {
            fault: fault.clone(),
            random: random(index),
            seen: 0,
            struck: 0,
        };
        Some(Box::new(Injector {
            faults: (1..).zip(&options.faults).map(arm).collect(),
            crash: options.crash,
            random: random(0),
            unpaired: None,
            size: if options.size > Bytes::ZERO { options.size.0 } else { u64::MAX },
            altered: Vec::new(),
            log: FaultReport::default(),
            files: Vec::new(),
        }))
    }

    /// Reports what was injected so far.
    pub(super) fn report(&self, path: &dyn Fn(FileIndex) -> String) -> FaultReport {
        let mut report = self.log.clone();
        report.list.iter_mut().zip(&self.files).for_each(|(fault, file)| fault.file = path(*file));
        report
    }

    fn add(&mut self, file: FileIndex, fault: FaultEntry) {
        if self.log.add(fault) {
            self.files.push(file);
        }
    }

    /// Loses what is in the volatile caches if the device crashes before op number `number`, at `ns` of its clock.
    /// Returns whether it is down from now on.
    pub(super) fn crash(&mut self, number: u64, ns: u64, op: &Op, disks: &[SharedDisk]) -> bool {
        let due = |crash: &mut SimCrash| match crash.at {
            CrashTime::Op(nth) => number >= nth.get(),
            CrashTime::Time(time) => ns >= time.0,
        };
        let Some(crash) = self.crash.take_if(due) else { return false };
        let random = &mut self.random;
        let survives = || random.chance(crash.survive);
        let mut survives = survives;
        let lost = disks.iter().map(|disk| disk.lock().crash(&mut survives)).sum();
        let entry = FaultEntry { len: lost, ..entry("crash", number, op) };
        self.add(op.file, entry);
        crash.down
    }

    /// Writes `data`, or what a fault makes of it.
    pub(super) fn write(&mut self, number: u64, op: &Op, data: &[u8], disks: &[SharedDisk]) {
        let Some(disk) = disks.get(op.file.get()) else { return };
        let struck = self.struck(Some(Dir::Write), op);
        if self.swap(number, op, data, disks) {
            return;
        }
        let Some(index) = struck else { return disk.lock().write(op.offset, data) };
        let armed = &mut self.faults[index];
        let effect = armed.fault.effect;
        let mut entry =
            FaultEntry { len: Bytes(data.len() as u64), ..entry(effect.word(), number, op) };
        self.altered.clear();
        self.altered.extend_from_slice(data);
        let mut to = op.offset;
        match effect {
            FaultEffect::Misdirected { by, .. } => {
                let Some(other) = elsewhere(op.offset, data.len(), by, self.size) else {
                    return disk.lock().write(op.offset, data);
                };
                entry.other = Some(Bytes(other));
                to = other;
            }
            FaultEffect::Torn { sectors, unit } => {
                let Some(at) = torn_at(data.len() as u64, sectors, unit.0, &mut armed.random)
                else {
                    return disk.lock().write(op.offset, data);
                };
                entry.torn_at = Some(Bytes(at));
                self.altered.truncate(at as usize);
            }
            FaultEffect::Lost => self.altered.clear(),
            FaultEffect::Swapped => {
                // The fault is complete, and enters the list, when the partner comes.
                let (file, offset, len) = (op.file, op.offset, data.len());
                self.unpaired = Some(Unpaired { file, offset, len });
                armed.struck += 1;
                return disk.lock().write(op.offset, data);
            }
            FaultEffect::LostAfterFlush => {}
            _ => {
                if !alter(&mut self.altered, effect, &mut armed.random, &mut entry) {
                    return disk.lock().write(op.offset, data);
                }
            }
        }
        armed.struck += 1;
        self.add(op.file, entry);
        let mut disk = disk.lock();
        if effect == FaultEffect::LostAfterFlush {
            disk.write_until_flush(to, &self.altered);
        } else {
            disk.write(to, &self.altered);
        }
    }

    /// Reads into `data`, or puts there what a fault makes of it.
    pub(super) fn read(&mut self, number: u64, op: &Op, data: &mut [u8], disks: &[SharedDisk]) {
        let Some(disk) = disks.get(op.file.get()).map(SharedDisk::lock) else { return };
        disk.read(op.offset, data);
        let Some(index) = self.struck(Some(Dir::Read), op) else { return };
        let armed = &mut self.faults[index];
        let effect = armed.fault.effect;
        let mut entry =
            FaultEntry { len: Bytes(data.len() as u64), ..entry(effect.word(), number, op) };
        let happened = match effect {
            FaultEffect::Misdirected { by, .. } => {
                let other = elsewhere(op.offset, data.len(), by, self.size);
                if let Some(other) = other {
                    disk.read(other, data);
                }
                entry.other = other.map(Bytes);
                other.is_some()
            }
            FaultEffect::Stale => {
                let stale = disk.read_stale(op.offset, data);
                if !stale {
                    disk.read(op.offset, data);
                }
                stale
            }
            _ => alter(data, effect, &mut armed.random, &mut entry),
        };
        if happened {
            armed.struck += 1;
            self.add(op.file, entry);
        }
    }

    /// Makes the writes of a file durable, unless a fault prevents it.
    pub(super) fn flush(&mut self, number: u64, op: &Op, disks: &[SharedDisk]) {
        let Some(disk) = disks.get(op.file.get()) else { return };
        match self.struck(None, op) {
            None => disk.lock().flush(),
            Some(index) => {
                let armed = &mut self.faults[index];
                armed.struck += 1;
                let entry = entry(armed.fault.effect.word(), number, op);
                self.add(op.file, entry);
            }
        }
    }

    /// The fault that strikes an I/O in this direction, or a flush (`None`).
    fn struck(&mut self, dir: Option<Dir>, op: &Op) -> Option<usize> {
        let mut first = None;
        for (index, armed) in self.faults.iter_mut().enumerate() {
            // Every fault counts the I/O, whichever strikes.
            if armed.fault.effect.dir() == dir && armed.strikes(op) {
                first = first.or(Some(index));
            }
        }
        first
    }

    /// Exchanges the places of a write and the one that waits for it. False if none waits.
    fn swap(&mut self, number: u64, op: &Op, data: &[u8], disks: &[SharedDisk]) -> bool {
        let fits = |other: &mut Unpaired| {
            let apart =
                other.file != op.file || other.offset.abs_diff(op.offset) >= data.len() as u64;
            other.len == data.len() && apart
        };
        let Some(other) = self.unpaired.take_if(fits) else { return false };
        let (Some(here), Some(there)) = (disks.get(op.file.get()), disks.get(other.file.get()))
        else {
            return false;
        };
        self.altered.resize(other.len, 0);
        there.lock().read(other.offset, &mut self.altered);
        there.lock().write(other.offset, data);
        here.lock().write(op.offset, &self.altered);
        let len = Bytes(data.len() as u64);
        let entry = entry(FaultEffect::Swapped.word(), number, op);
        self.add(op.file, FaultEntry { len, other: Some(Bytes(other.offset)), ..entry });
        true
    }
}

/// An entry of the list, without details.
fn entry(kind: &'static str, number: u64, op: &Op) -> FaultEntry {
    FaultEntry {
        kind: kind.into(),
        op: Some(number),
        offset: Bytes(op.offset),
        len: Bytes(u64::from(op.len)),
        ..FaultEntry::default()
    }
}

/// The place at distance `by` of a range; on the other side if the device ends before it. `None` if there is no place on
/// either side.
fn elsewhere(offset: u64, len: usize, by: Option<i64>, size: u64) -> Option<u64> {
    let len = len as u64;
    let by = by.unwrap_or_else(|| i64::try_from(len).unwrap_or(i64::MAX));
    let fits = |place: &u64| place.checked_add(len).is_some_and(|end| end <= size);
    let there = |by| offset.checked_add_signed(by).filter(fits).filter(|place| *place != offset);
    there(by).or_else(|| there(by.checked_neg()?))
}

/// Where a write is torn. `None` if it cannot be.
fn torn_at(len: u64, sectors: Option<u64>, unit: u64, random: &mut Random) -> Option<u64> {
    let count = len.div_ceil(unit.max(1));
    let sectors = match sectors {
        Some(sectors) => sectors,
        None if count < 2 => return None,
        None => 1 + random.below(count - 1),
    };
    sectors.checked_mul(unit).filter(|at| *at < len)
}

/// Changes the bytes of an I/O. False if the fault leaves them as they are.
fn alter(
    data: &mut [u8],
    effect: FaultEffect,
    random: &mut Random,
    entry: &mut FaultEntry,
) -> bool {
    match effect {
        FaultEffect::BitFlip { bits, .. } => {
            let all = data.len() as u64 * 8;
            let mut flipped = std::collections::BTreeSet::new();
            while (flipped.len() as u64) < u64::from(bits).min(all) {
                flipped.insert(random.below(all));
            }
            for bit in &flipped {
                data[(bit / 8) as usize] ^= 1 << (bit % 8);
            }
            entry.bits = flipped.into_iter().take(MAX_BITS).collect();
            !data.is_empty()
        }
        FaultEffect::Shifted { by, .. } => {
            let len = data.len().max(1) as i64;
            let by_right = by.rem_euclid(len) as usize;
            data.rotate_right(by_right);
            entry.shifted_by = Some(by);
            by_right != 0
        }
        FaultEffect::Filled { byte, .. } => {
            data.fill(byte);
            true
        }
        _ => false,
    }
}
