//! The zones of one device: their write pointers, valid data and open-zone slots. All jobs on the device
//! share one table.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fiord_sys::zone::{State, Zone, ZoneAction, ZoneType, ZonedDevice};
use fiord_types::{Bytes, Errno, JobIndex, ZoneIndex};

use super::block_layer_sync::BlockLayerSync;
use super::tables::error_words;
use crate::error::{JobError, Stage};

/// Flag in [`ZoneView::pins`]: a reset is pending or in progress, so no read may start.
pub(super) const CLOSED: u32 = 1 << 31;

/// How a zone can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ZoneUse {
    /// Written at its write pointer.
    Sequential,
    /// Read and written anywhere.
    Conventional,
    /// Not used: offline, or read-only. The extent of the data in a read-only zone is unknown.
    Dead,
}

/// The part of a zone's state that readers use without the lock.
#[derive(Debug)]
pub(super) struct ZoneView {
    pub start: Bytes,
    /// End of the writable range.
    pub limit: Bytes,
    usage: ZoneUse,
    /// The device made the zone read-only or offline during the run.
    dead: AtomicBool,
    /// End of the data that may be read. Decreases only while `pins` equals [`CLOSED`].
    pub valid: AtomicU64,
    /// Number of reads in flight, plus the flag [`CLOSED`].
    pub pins: AtomicU32,
}

impl ZoneView {
    /// How the zone can be used now.
    #[inline]
    pub(super) fn usage(&self) -> ZoneUse {
        // Relaxed: writers hold the lock under which it is set; a read that does not see it yet fails
        // with an error of the device.
        if self.dead.load(Ordering::Relaxed) { ZoneUse::Dead } else { self.usage }
    }
}

/// The part of a zone's state that the lock protects.
#[derive(Debug, Clone)]
pub(super) struct ZoneState {
    /// Offset of the next write.
    pub pointer: Bytes,
    /// Bytes written or in flight: up to the write pointer, unless the zone was finished.
    pub filled: Bytes,
    /// Number of resets in this run.
    pub resets: u32,
    /// Offsets of the writes in flight.
    pub writes: Vec<Bytes>,
    /// The writes in flight are zone appends. The device chooses their offsets, so there can be many.
    pub appending: bool,
    /// A thread is resetting, finishing or closing the zone, or reading its state from the device.
    pub working: bool,
    /// The job that waits to reset the zone.
    pub resetting: Option<JobIndex>,
    /// The zone holds an open-zone slot.
    pub open: bool,
    /// The job that opened the zone; `None` if that job has ended, or if the zone was open before the run.
    pub holder: Option<JobIndex>,
    /// The zone was open before the run.
    pub foreign: bool,
    /// A write before the run opened the zone, not a command: the device may close it to open another (ZBC, ZAC, ZNS).
    pub implicit: bool,
}

impl ZoneState {
    /// Removes one write at `offset` from those in flight. Several can have the same offset: after a failed
    /// append, the device moves the others up, and the next append gets the offset of one in flight.
    pub(super) fn end_write(&mut self, offset: Bytes) {
        if let Some(index) = self.writes.iter().position(|other| *other == offset) {
            self.writes.swap_remove(index);
        }
    }
}

/// Bytes written in a range of zones, for `zone_reset_threshold`.
#[derive(Debug)]
pub(super) struct Filling {
    pub first: ZoneIndex,
    pub end: ZoneIndex,
    pub bytes: Bytes,
}

/// The state of all zones, protected by the lock of the table.
#[derive(Debug)]
pub(super) struct ZoneStates {
    pub zones: Vec<ZoneState>,
    /// Zones that hold an open-zone slot, in the order in which they were opened.
    pub open: Vec<ZoneIndex>,
    /// Jobs that wait for an open-zone slot, in the order of their requests.
    pub queue: VecDeque<JobIndex>,
    pub fillings: Vec<Filling>,
    /// Jobs that write: index in the plan, first zone, end zone.
    pub writers: Vec<(JobIndex, ZoneIndex, ZoneIndex)>,
    /// Incremented at every change that a job may wait for.
    pub version: u64,
    sleepers: u32,
    /// When a write last completed, or a slot was last granted or released.
    pub progress: Instant,
}

/// The zones of one device.
#[derive(Debug)]
pub(crate) struct ZoneTable {
    pub(super) path: PathBuf,
    /// `None`: the zones are emulated.
    pub(super) device: Option<Box<dyn ZonedDevice>>,
    /// For a generic character device: the block device to keep in step.
    block_layer: Option<BlockLayerSync>,
    pub(super) zone_size: Bytes,
    pub(super) views: Vec<ZoneView>,
    /// Maximum number of zones that the device allows to be open or active at a time; `None`: no limit.
    pub(super) limit: Option<u32>,
    /// Closing a zone releases its slot, because the device limits open zones but not active ones.
    pub(super) closing_helps: bool,
    states: Mutex<ZoneStates>,
    changed: Condvar,
}

impl ZoneTable {
    /// Reads the zone report of a device. The closure opens the block device to keep in step. Fails if the
    /// device reports an error.
    pub(super) fn of_device(
        path: &Path,
        device: Box<dyn ZonedDevice>,
        block_layer: impl FnOnce(&[Zone]) -> Option<BlockLayerSync>,
    ) -> Result<ZoneTable, JobError> {
        let failed = |e: fiord_sys::Error| {
            JobError::new(Stage::ZoneReport, e.errno, error_words(&e)).at(path)
        };
        let facts = device.facts().map_err(failed)?;
        let zones = device.zones().map_err(failed)?;
        let limit = facts.max_open.into_iter().chain(facts.max_active).min();
        let counts = |state: State| match facts.max_active {
            Some(_) => state.is_active(),
            None => state.is_open(),
        };
        let table = ZoneTable::new(path, Some(device), facts.zone_size, &zones, limit);
        let closing_helps = facts.max_active.is_none();
        let mut table = ZoneTable { closing_helps, block_layer: block_layer(&zones), ..table };
        let states = table.states.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (index, zone) in zones.iter().enumerate().filter(|(_, zone)| counts(zone.state)) {
            if limit.is_some() && zone.is_sequential() {
                let state = &mut states.zones[index];
                (state.open, state.foreign) = (true, true);
                state.implicit = zone.state == State::ImplicitlyOpen;
                states.open.push(ZoneIndex::at(index));
            }
        }
        Ok(table)
    }

    /// Emulated zones, all empty.
    pub(crate) fn emulated(
        path: &Path,
        zone_size: Bytes,
        capacity: Bytes,
        count: u64,
    ) -> ZoneTable {
        ZoneTable::emulated_with(path, zone_size, capacity, &vec![Bytes::ZERO; count as usize])
    }

    /// Emulated zones; `written` has the bytes that each zone holds, at most `capacity`.
    pub(crate) fn emulated_with(
        path: &Path,
        zone_size: Bytes,
        capacity: Bytes,
        written: &[Bytes],
    ) -> ZoneTable {
        let zone = |(index, &written): (u64, &Bytes)| Zone {
            start: zone_size * index,
            len: zone_size,
            capacity,
            write_pointer: zone_size * index + written,
            kind: ZoneType::SequentialRequired,
            state: match written {
                Bytes::ZERO => State::Empty,
                written if written < capacity => State::Closed,
                _ => State::Full,
            },
        };
        let zones: Vec<Zone> = (0..).zip(written).map(zone).collect();
        ZoneTable::new(path, None, zone_size, &zones, None)
    }

    fn new(
        path: &Path,
        device: Option<Box<dyn ZonedDevice>>,
        zone_size: Bytes,
        zones: &[Zone],
        limit: Option<u32>,
    ) -> ZoneTable {
        let view = |zone: &Zone| {
            let usage = match (zone.kind, zone.state) {
                (_, State::Offline | State::ReadOnly) => ZoneUse::Dead,
                (ZoneType::Conventional, _) => ZoneUse::Conventional,
                _ => ZoneUse::Sequential,
            };
            let conventional = usage == ZoneUse::Conventional;
            let limit = if conventional { zone.end() } else { zone.writable_end() };
            let valid = if conventional { limit } else { zone.write_pointer };
            ZoneView {
                start: zone.start,
                limit,
                usage,
                dead: AtomicBool::new(false),
                valid: AtomicU64::new(valid.0),
                pins: AtomicU32::new(0),
            }
        };
        let state = |zone: &Zone| ZoneState {
            pointer: zone.write_pointer,
            filled: if zone.is_sequential() { zone.written() } else { Bytes::ZERO },
            resets: 0,
            writes: Vec::new(),
            appending: false,
            working: false,
            resetting: None,
            open: false,
            holder: None,
            foreign: false,
            implicit: false,
        };
        let states = ZoneStates {
            zones: zones.iter().map(state).collect(),
            open: Vec::new(),
            queue: VecDeque::new(),
            fillings: Vec::new(),
            writers: Vec::new(),
            version: 0,
            sleepers: 0,
            progress: Instant::now(),
        };
        ZoneTable {
            path: path.to_path_buf(),
            device,
            block_layer: None,
            zone_size,
            views: zones.iter().map(view).collect(),
            limit,
            closing_helps: true,
            states: Mutex::new(states),
            changed: Condvar::new(),
        }
    }

    /// The zone that contains the byte at `at`.
    #[inline]
    pub(super) fn zone_of(&self, at: Bytes) -> ZoneIndex {
        ZoneIndex((at / self.zone_size) as u32)
    }

    #[inline]
    pub(super) fn view(&self, zone: ZoneIndex) -> &ZoneView {
        &self.views[zone]
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, ZoneStates> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a change and wakes the waiting jobs.
    pub(super) fn notify(&self, states: &mut ZoneStates) {
        states.version += 1;
        if states.sleepers > 0 {
            self.changed.notify_all();
        }
    }

    /// Waits until the version differs from `seen`, or for `at_most`, so that the caller can do its
    /// housekeeping.
    pub(crate) fn wait(&self, seen: u64, at_most: Duration) {
        let mut states = self.lock();
        if states.version != seen {
            return;
        }
        states.sleepers += 1;
        let (mut states, _) = self
            .changed
            .wait_timeout_while(states, at_most, |states| states.version == seen)
            .unwrap_or_else(PoisonError::into_inner);
        states.sleepers -= 1;
    }

    /// Pins a zone for a read. False if a reset of the zone is pending.
    #[inline]
    pub(super) fn pin(&self, zone: ZoneIndex) -> bool {
        // Acquire: a later load of `valid` sees a value that is not older than the pin.
        let before = self.view(zone).pins.fetch_add(1, Ordering::Acquire);
        if before & CLOSED != 0 {
            self.unpin(zone);
            return false;
        }
        true
    }

    /// Ends the pin of a read.
    #[inline]
    pub(super) fn unpin(&self, zone: ZoneIndex) {
        let before = self.view(zone).pins.fetch_sub(1, Ordering::Release);
        if before == CLOSED | 1 {
            let mut states = self.lock();
            self.notify(&mut states);
        }
    }

    /// Blocks new reads of a zone until [`ZoneTable::reopen`]. True if no read is in flight.
    pub(super) fn shut(&self, zone: ZoneIndex) -> bool {
        self.view(zone).pins.fetch_or(CLOSED, Ordering::AcqRel) & !CLOSED == 0
    }

    /// Allows reads of a zone again.
    pub(super) fn reopen(&self, zone: ZoneIndex) {
        self.view(zone).pins.fetch_and(!CLOSED, Ordering::Release);
    }

    /// Sets the end of the data that may be read in a zone.
    pub(super) fn set_valid(&self, zone: ZoneIndex, valid: Bytes) {
        self.view(zone).valid.store(valid.0, Ordering::Release);
    }

    /// Updates the byte counts after a write or a reset has changed a zone's write pointer.
    pub(super) fn account(&self, states: &mut ZoneStates, zone: ZoneIndex) {
        let state = &mut states.zones[zone];
        let filled = state.pointer - self.view(zone).start;
        let before = std::mem::replace(&mut state.filled, filled);
        for filling in &mut states.fillings {
            if (filling.first..filling.end).contains(&zone) {
                filling.bytes = filling.bytes + filled - before;
            }
        }
    }

    /// Releases a zone's open-zone slot.
    pub(super) fn release_slot(&self, states: &mut ZoneStates, zone: ZoneIndex) {
        let state = &mut states.zones[zone];
        if std::mem::take(&mut state.open) {
            (state.holder, state.foreign) = (None, false);
            states.open.retain(|other| *other != zone);
            states.progress = Instant::now();
        }
    }

    /// Takes a zone out of use because the device made it read-only or offline.
    pub(super) fn retire(&self, states: &mut ZoneStates, zone: ZoneIndex) {
        self.view(zone).dead.store(true, Ordering::Relaxed);
        self.release_slot(states, zone);
        self.notify(states);
    }

    /// Carries out an action on a zone that is marked as `working`, and clears the mark. A zone that is reset
    /// keeps its slot, because the job is about to write it.
    pub(super) fn carry_out(&self, zone: ZoneIndex, action: ZoneAction) -> Result<(), JobError> {
        let view = self.view(zone);
        let done = match &self.device {
            Some(device) => device.manage(action, view.start, self.zone_size),
            None => Ok(()),
        };
        if let (Ok(()), Some(block_layer)) = (&done, &self.block_layer) {
            block_layer.follow(action, zone, view.start, self.zone_size);
        }
        let mut states = self.lock();
        let state = &mut states.zones[zone];
        (state.working, state.resetting) = (false, None);
        if done.is_ok() {
            match action {
                ZoneAction::Reset => {
                    state.pointer = view.start;
                    state.resets += 1;
                    self.set_valid(zone, view.start);
                    self.account(&mut states, zone);
                }
                ZoneAction::Finish => {
                    // The rest of the zone is readable now but holds no data, so `valid` stays.
                    state.pointer = view.limit;
                    self.release_slot(&mut states, zone);
                }
                ZoneAction::Close => self.release_slot(&mut states, zone),
                ZoneAction::Open => {}
            }
        }
        if action == ZoneAction::Reset {
            self.reopen(zone);
        }
        self.notify(&mut states);
        drop(states);
        done.map_err(|e| self.error(action.into(), zone, e.errno, e.said.unwrap_or_default()))
    }

    /// Reads the state of a zone from the device after a write failed. `None` for emulated zones.
    pub(super) fn query_device(&self, zone: ZoneIndex) -> Result<Option<Zone>, JobError> {
        let Some(device) = &self.device else { return Ok(None) };
        let found = device.zone(self.view(zone).start.0);
        found
            .map(Some)
            .map_err(|e| self.error(Stage::ZoneReport, zone, e.errno, e.said.unwrap_or_default()))
    }

    /// Creates an error that names the zone.
    pub(super) fn error(
        &self,
        stage: Stage,
        zone: ZoneIndex,
        errno: impl Into<Option<Errno>>,
        detail: impl AsRef<str>,
    ) -> JobError {
        let (errno, detail) = (errno.into(), detail.as_ref());
        let between = if detail.is_empty() { "" } else { "; " };
        let mut error = JobError::new(
            stage,
            errno,
            format!("{detail}{between}{}{}", self.describe(zone), advice(errno)),
        );
        error.file = Some(self.path.clone());
        error.offset = Some(self.view(zone).start.0);
        error
    }

    /// Describes a zone for messages.
    pub(super) fn describe(&self, zone: ZoneIndex) -> String {
        let view = self.view(zone);
        let pointer = self.lock().zones[zone].pointer;
        format!(
            "zone {zone} of {}: bytes {} to {}, write pointer {pointer}",
            self.views.len(),
            view.start,
            view.limit
        )
    }
}

/// Advice for errors that are specific to zoned devices.
pub(super) fn advice(errno: Option<Errno>) -> &'static str {
    // The block layer's errors for too many open and too many active zones.
    const TOO_MANY_OPEN: Errno = Errno::ETOOMANYREFS;
    const TOO_MANY_ACTIVE: Errno = Errno::EOVERFLOW;
    match errno {
        Some(TOO_MANY_OPEN) => {
            "; the device has reached its limit of open zones. To fix: stop other programs that \
             write to it, or leave out ignore_zone_limits"
        }
        Some(TOO_MANY_ACTIVE) => {
            "; Exceeded max_active_zones limit of the device. To fix: stop other programs that \
             write to it, or leave out ignore_zone_limits"
        }
        _ => "",
    }
}
