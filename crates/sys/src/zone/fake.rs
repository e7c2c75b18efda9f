//! A simulated zoned device for tests. It keeps write pointers, enforces limits on open and active zones,
//! and refuses what a real device refuses. It stores no data.

use std::sync::{Mutex, MutexGuard, PoisonError};

use fiord_types::{Bytes, Errno};

use super::{Model, State, Zone, ZoneAction, ZoneType, ZonedDevice, ZonedFacts};
use crate::{Error, Result};

/// A simulated zoned device.
#[derive(Debug)]
pub struct Fake {
    facts: ZonedFacts,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    zones: Vec<Zone>,
    resets: u64,
    finishes: u64,
    most_open: usize,
    most_active: usize,
}

impl Fake {
    /// Creates a device with `count` zones, the first `conventional` of which are conventional. Sizes are
    /// in bytes; blocks have 4096 bytes.
    #[must_use]
    pub fn new(count: u64, conventional: u64, zone_size: u64, capacity: u64) -> Fake {
        let zone = |index: u64| Zone {
            start: Bytes(index * zone_size),
            len: Bytes(zone_size),
            capacity: if index < conventional { Bytes(zone_size) } else { Bytes(capacity) },
            write_pointer: Bytes(index * zone_size),
            kind: if index < conventional {
                ZoneType::Conventional
            } else {
                ZoneType::SequentialRequired
            },
            state: if index < conventional { State::NoWritePointer } else { State::Empty },
        };
        let inner = Inner {
            zones: (0..count).map(zone).collect(),
            resets: 0,
            finishes: 0,
            most_open: 0,
            most_active: 0,
        };
        let facts = ZonedFacts {
            model: Model::HostManaged,
            size: Bytes(count * zone_size),
            zone_size: Bytes(zone_size),
            count,
            max_open: None,
            max_active: None,
            block: Bytes(4096),
            write_granularity: Bytes(4096),
            append_max: Bytes::ZERO,
        };
        Fake { facts, inner: Mutex::new(inner) }
    }

    /// Sets limits on open and active zones; `None`: no limit on active ones.
    pub fn limited(mut self, open: u32, active: impl Into<Option<u32>>) -> Fake {
        (self.facts.max_open, self.facts.max_active) = (Some(open), active.into());
        self
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of zone resets so far.
    pub fn resets(&self) -> u64 {
        self.lock().resets
    }

    /// Returns the number of zone finishes so far.
    pub fn finishes(&self) -> u64 {
        self.lock().finishes
    }

    /// Returns the largest number of zones that were open, and active, at a time.
    pub fn most(&self) -> (usize, usize) {
        let inner = self.lock();
        (inner.most_open, inner.most_active)
    }

    /// Writes `len` bytes at `offset`.
    ///
    /// # Errors
    /// `EIO` away from the write pointer or beyond the capacity; `EOVERFLOW` if too many zones are active;
    /// `ETOOMANYREFS` if too many are open.
    pub fn write(&self, offset: u64, len: u64) -> Result<()> {
        let mut inner = self.lock();
        let index = self.index(offset)?;
        let zone = inner.zones[index];
        if zone.is_sequential() {
            let written = offset + len;
            if offset != zone.write_pointer.0 || written > zone.writable_end().0 {
                return Err(Error::new("write", Errno::EIO));
            }
            self.activate(&mut inner, index, State::ImplicitlyOpen)?;
            let zone = &mut inner.zones[index];
            zone.write_pointer = Bytes(written);
            if written == zone.writable_end().0 {
                zone.state = State::Full;
            }
            inner.note();
        } else if offset + len > zone.end().0 {
            return Err(Error::new("write", Errno::EIO));
        }
        Ok(())
    }

    /// Fails a write of which only the first `arrived` bytes reach the device. Returns its error.
    pub fn torn_write(&self, offset: u64, arrived: u64) -> Error {
        if arrived > 0
            && let Err(error) = self.write(offset, arrived)
        {
            return error;
        }
        Error::new("write", Errno::EIO)
    }

    /// Makes a zone read-only or offline, as a device may do. Its write pointer is lost.
    pub fn give_up(&self, offset: u64, state: State) {
        if let Ok(index) = self.index(offset) {
            let zone = &mut self.lock().zones[index];
            (zone.state, zone.write_pointer) = (state, zone.start);
        }
    }

    fn index(&self, offset: u64) -> Result<usize> {
        let index = offset / self.facts.zone_size.0;
        if index < self.facts.count { Ok(index as usize) } else { Err(out_of_range()) }
    }

    /// Takes the resources of an open zone. If too many zones are open, it closes one that is implicitly
    /// open, as ZNS permits.
    fn activate(&self, inner: &mut Inner, index: usize, state: State) -> Result<()> {
        let zone = inner.zones[index];
        match zone.state {
            State::Full | State::ReadOnly | State::Offline | State::NoWritePointer => {
                return Err(Error::new("write", Errno::EIO));
            }
            State::ImplicitlyOpen | State::ExplicitlyOpen => return Ok(()),
            State::Empty => {
                let active = inner.zones.iter().filter(|z| z.state.is_active()).count();
                if self.facts.max_active.is_some_and(|most| active >= most as usize) {
                    return Err(Error::new("write", Errno::EOVERFLOW));
                }
            }
            State::Closed => {}
        }
        let open = inner.zones.iter().filter(|z| z.state.is_open()).count();
        if self.facts.max_open.is_some_and(|most| open >= most as usize) {
            let implicit = inner.zones.iter_mut().find(|z| z.state == State::ImplicitlyOpen);
            implicit.ok_or(Error::new("write", Errno::ETOOMANYREFS))?.state = State::Closed;
        }
        inner.zones[index].state = state;
        inner.note();
        Ok(())
    }
}

impl Inner {
    fn note(&mut self) {
        let count = |f: fn(State) -> bool| self.zones.iter().filter(|z| f(z.state)).count();
        let (open, active) = (count(State::is_open), count(State::is_active));
        self.most_open = self.most_open.max(open);
        self.most_active = self.most_active.max(active);
    }
}

fn out_of_range() -> Error {
    Error::new("zone", Errno::ENXIO)
}

impl ZonedDevice for Fake {
    fn facts(&self) -> Result<ZonedFacts> {
        Ok(self.facts)
    }

    fn report(&self, from: Bytes, limit: usize) -> Result<Vec<Zone>> {
        let first = (from / self.facts.zone_size) as usize;
        Ok(self.lock().zones.iter().skip(first).take(limit).copied().collect())
    }

    fn manage(&self, action: ZoneAction, start: Bytes, len: Bytes) -> Result<()> {
        let first = self.index(start.0)?;
        let count = len.0.div_ceil(self.facts.zone_size.0) as usize;
        let mut inner = self.lock();
        for index in first..first + count {
            let zone = *inner.zones.get(index).ok_or_else(out_of_range)?;
            if !zone.is_sequential() || matches!(zone.state, State::ReadOnly | State::Offline) {
                return Err(Error::new(action.name(), Errno::EIO));
            }
            match action {
                ZoneAction::Open => self.activate(&mut inner, index, State::ExplicitlyOpen)?,
                ZoneAction::Close if zone.state.is_open() => {
                    let empty = zone.write_pointer == zone.start;
                    inner.zones[index].state = if empty { State::Empty } else { State::Closed };
                }
                ZoneAction::Close => {}
                ZoneAction::Reset => {
                    inner.resets += 1;
                    let zone = &mut inner.zones[index];
                    (zone.state, zone.write_pointer) = (State::Empty, zone.start);
                }
                ZoneAction::Finish => {
                    inner.finishes += 1;
                    let zone = &mut inner.zones[index];
                    (zone.state, zone.write_pointer) = (State::Full, zone.writable_end());
                }
            }
        }
        Ok(())
    }
}
