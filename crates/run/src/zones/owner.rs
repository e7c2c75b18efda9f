//! The owner of a device's write pointers: every job that works on the device asks it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fiord_sys::zone::{Action, Kind, State, Zone, ZonedDevice};

use super::beside::Beside;
use super::owners::words;
use crate::error::JobError;

/// In [`Cell::pins`]: a reset is wanted or under way, no more reads.
pub(super) const CLOSED: u32 = 1 << 31;

/// How a zone can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Written at its pointer.
    Sequential,
    /// Read and written anywhere.
    Conventional,
    /// Neither: offline, or read-only, of which nobody knows how far it was written.
    Dead,
}

/// What readers see of a zone, without the lock.
#[derive(Debug)]
pub(super) struct Cell {
    pub start: u64,
    /// Behind what can be written.
    pub limit: u64,
    usage: Use,
    /// The device has given it up during the run.
    dead: AtomicBool,
    /// Behind what was written and may be read. Sinks only while `pins` is [`CLOSED`] and nothing
    /// else.
    pub valid: AtomicU64,
    /// Reads in flight, and [`CLOSED`].
    pub pins: AtomicU32,
}

impl Cell {
    /// How it can be used now.
    #[inline]
    pub fn usage(&self) -> Use {
        // Relaxed: it is set under the lock that those who write hold; a read that comes too late to
        // see it fails by itself.
        if self.dead.load(Ordering::Relaxed) { Use::Dead } else { self.usage }
    }
}

/// What the lock guards of a zone.
#[derive(Debug, Clone)]
pub(super) struct Page {
    /// Where the next write goes.
    pub pointer: u64,
    /// Bytes that are written or being written: up to the pointer, unless the zone was finished.
    pub filled: u64,
    /// Where the writes in flight begin.
    pub writes: Vec<u64>,
    /// They are zone appends, whose places the device finds: there can be many.
    pub appending: bool,
    /// A thread resets, finishes or closes it, or asks the device about it, just now.
    pub working: bool,
    /// The job that waits to reset it.
    pub closing: Option<u32>,
    /// It takes one of the places of open zones.
    pub open: bool,
    /// The job that opened it; `None`: that has ended, or it was open before the run.
    pub holder: Option<u32>,
    /// It was open before the run.
    pub foreign: bool,
}

impl Page {
    /// A write that began at `offset` is no longer in flight. One and not more: behind a failed
    /// append the next one is placed where another is in flight, as the device moves those up.
    pub fn end_write(&mut self, offset: u64) {
        if let Some(index) = self.writes.iter().position(|other| *other == offset) {
            self.writes.swap_remove(index);
        }
    }
}

/// The written bytes of a range of zones, for `zone_reset_threshold`.
#[derive(Debug)]
pub(super) struct Filling {
    pub first: u32,
    pub end: u32,
    pub bytes: u64,
}

/// Everything that changes.
#[derive(Debug)]
pub(super) struct Book {
    pub pages: Vec<Page>,
    /// Zones that take a place, in the order in which they were opened.
    pub open: Vec<u32>,
    /// Jobs that wait for a place, first come first.
    pub queue: VecDeque<u32>,
    pub fillings: Vec<Filling>,
    /// Jobs that write, with their ranges of zones.
    pub writers: Vec<(u32, u32, u32)>,
    /// Counts whatever somebody may be waiting for.
    pub news: u64,
    sleepers: u32,
    /// When a write last ended, or a place was last given.
    pub progress: Instant,
}

/// The owner.
#[derive(Debug)]
pub struct Owner {
    pub(super) path: PathBuf,
    /// `None`: the zones are emulated.
    pub(super) device: Option<Box<dyn ZonedDevice>>,
    /// Where the device is a generic one.
    beside: Option<Beside>,
    pub(super) zone_size: u64,
    pub(super) cells: Vec<Cell>,
    /// Zones that the device lets be written to at a time.
    pub(super) limit: Option<u32>,
    /// Closing a zone gives its place back: the device limits open zones, not active ones.
    pub(super) closing_helps: bool,
    book: Mutex<Book>,
    moved: Condvar,
}

impl Owner {
    /// Of a device: asks it for every zone, and for the block device that follows its resets.
    pub(super) fn of_device(
        path: &Path,
        device: Box<dyn ZonedDevice>,
        beside: impl FnOnce(&[Zone]) -> Option<Beside>,
    ) -> Result<Owner, JobError> {
        let failed =
            |e: fiord_sys::Error| JobError::new("zone report", e.errno, words(&e)).at(path);
        let facts = device.facts().map_err(failed)?;
        let zones = device.zones().map_err(failed)?;
        let limit = facts.max_open.into_iter().chain(facts.max_active).min();
        let counts = |state: State| match facts.max_active {
            Some(_) => state.is_active(),
            None => state.is_open(),
        };
        let owner = Owner::new(path, Some(device), facts.zone_size, &zones, limit);
        let closing_helps = facts.max_active.is_none();
        let mut owner = Owner { closing_helps, beside: beside(&zones), ..owner };
        let book = owner.book.get_mut().unwrap_or_else(PoisonError::into_inner);
        for (index, zone) in zones.iter().enumerate().filter(|(_, zone)| counts(zone.state)) {
            if limit.is_some() && zone.is_sequential() {
                (book.pages[index].open, book.pages[index].foreign) = (true, true);
                book.open.push(index as u32);
            }
        }
        Ok(owner)
    }

    /// Of emulated zones, all of them empty.
    pub fn emulated(path: &Path, zone_size: u64, capacity: u64, count: u64) -> Owner {
        Owner::emulated_with(path, zone_size, capacity, &vec![0; count as usize])
    }

    /// Of emulated zones that hold so many bytes each, at most `capacity`.
    pub fn emulated_with(path: &Path, zone_size: u64, capacity: u64, written: &[u64]) -> Owner {
        let zone = |(index, written): (u64, &u64)| Zone {
            start: index * zone_size,
            len: zone_size,
            capacity,
            write_pointer: index * zone_size + written,
            kind: Kind::SequentialRequired,
            state: match *written {
                0 => State::Empty,
                written if written < capacity => State::Closed,
                _ => State::Full,
            },
        };
        let zones: Vec<Zone> = (0..).zip(written).map(zone).collect();
        Owner::new(path, None, zone_size, &zones, None)
    }

    fn new(
        path: &Path,
        device: Option<Box<dyn ZonedDevice>>,
        zone_size: u64,
        zones: &[Zone],
        limit: Option<u32>,
    ) -> Owner {
        let cell = |zone: &Zone| {
            let usage = match (zone.kind, zone.state) {
                (_, State::Offline | State::ReadOnly) => Use::Dead,
                (Kind::Conventional, _) => Use::Conventional,
                _ => Use::Sequential,
            };
            let conventional = usage == Use::Conventional;
            let limit = if conventional { zone.end() } else { zone.writable_end() };
            let valid = if conventional { limit } else { zone.write_pointer };
            Cell {
                start: zone.start,
                limit,
                usage,
                dead: AtomicBool::new(false),
                valid: AtomicU64::new(valid),
                pins: AtomicU32::new(0),
            }
        };
        let page = |zone: &Zone| Page {
            pointer: zone.write_pointer,
            filled: if zone.is_sequential() { zone.written() } else { 0 },
            writes: Vec::new(),
            appending: false,
            working: false,
            closing: None,
            open: false,
            holder: None,
            foreign: false,
        };
        let book = Book {
            pages: zones.iter().map(page).collect(),
            open: Vec::new(),
            queue: VecDeque::new(),
            fillings: Vec::new(),
            writers: Vec::new(),
            news: 0,
            sleepers: 0,
            progress: Instant::now(),
        };
        Owner {
            path: path.to_path_buf(),
            device,
            beside: None,
            zone_size,
            cells: zones.iter().map(cell).collect(),
            limit,
            closing_helps: true,
            book: Mutex::new(book),
            moved: Condvar::new(),
        }
    }

    /// The zone of a byte.
    #[inline]
    pub(super) fn zone_of(&self, at: u64) -> u32 {
        (at / self.zone_size) as u32
    }

    #[inline]
    pub(super) fn cell(&self, zone: u32) -> &Cell {
        &self.cells[zone as usize]
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells those who wait that something has changed.
    pub(super) fn tell(&self, book: &mut Book) {
        book.news += 1;
        if book.sleepers > 0 {
            self.moved.notify_all();
        }
    }

    /// Waits until there is other news than `seen`, but not long: whoever waits looks around.
    pub fn wait(&self, seen: u64, at_most: Duration) {
        let mut book = self.lock();
        if book.news != seen {
            return;
        }
        book.sleepers += 1;
        let (mut book, _) = self
            .moved
            .wait_timeout_while(book, at_most, |book| book.news == seen)
            .unwrap_or_else(PoisonError::into_inner);
        book.sleepers -= 1;
    }

    /// Takes part of a zone for a read. False when the zone is about to be reset.
    #[inline]
    pub(super) fn pin(&self, zone: u32) -> bool {
        // Acquire: what is loaded of `valid` after this is not older than the pin.
        let before = self.cell(zone).pins.fetch_add(1, Ordering::Acquire);
        if before & CLOSED != 0 {
            self.unpin(zone);
            return false;
        }
        true
    }

    /// The read has ended.
    #[inline]
    pub(super) fn unpin(&self, zone: u32) {
        let before = self.cell(zone).pins.fetch_sub(1, Ordering::Release);
        if before == CLOSED | 1 {
            let mut book = self.lock();
            self.tell(&mut book);
        }
    }

    /// Wants a zone without readers. True: there are none, and none will come until it is
    /// [`Owner::reopen`]ed.
    pub(super) fn shut(&self, zone: u32) -> bool {
        self.cell(zone).pins.fetch_or(CLOSED, Ordering::AcqRel) & !CLOSED == 0
    }

    /// Readers may come again.
    pub(super) fn reopen(&self, zone: u32) {
        self.cell(zone).pins.fetch_and(!CLOSED, Ordering::Release);
    }

    /// Sets how far a zone may be read.
    pub(super) fn set_valid(&self, zone: u32, valid: u64) {
        self.cell(zone).valid.store(valid, Ordering::Release);
    }

    /// A zone's pointer has moved, because of a write or a reset.
    pub(super) fn account(&self, book: &mut Book, zone: u32) {
        let page = &mut book.pages[zone as usize];
        let filled = page.pointer - self.cell(zone).start;
        let before = std::mem::replace(&mut page.filled, filled);
        for filling in &mut book.fillings {
            if (filling.first..filling.end).contains(&zone) {
                filling.bytes = filling.bytes + filled - before;
            }
        }
    }

    /// Gives a zone's place back.
    pub(super) fn vacate(&self, book: &mut Book, zone: u32) {
        let page = &mut book.pages[zone as usize];
        if std::mem::take(&mut page.open) {
            (page.holder, page.foreign) = (None, false);
            book.open.retain(|other| *other != zone);
            book.progress = Instant::now();
        }
    }

    /// The device has made a zone read-only or offline: nobody goes there any more.
    pub(super) fn bury(&self, book: &mut Book, zone: u32) {
        self.cell(zone).dead.store(true, Ordering::Relaxed);
        self.vacate(book, zone);
        self.tell(book);
    }

    /// Does something to a zone that was marked as being worked on, and lets go of it. A reset zone
    /// keeps its place if it has one: it is about to be written.
    pub(super) fn carry_out(&self, zone: u32, action: Action) -> Result<(), JobError> {
        let cell = self.cell(zone);
        let done = match &self.device {
            Some(device) => device.manage(action, cell.start, self.zone_size),
            None => Ok(()),
        };
        if let (Ok(()), Some(beside)) = (&done, &self.beside) {
            beside.follow(action, zone, cell.start, self.zone_size);
        }
        let mut book = self.lock();
        let page = &mut book.pages[zone as usize];
        (page.working, page.closing) = (false, None);
        if done.is_ok() {
            match action {
                Action::Reset => {
                    page.pointer = cell.start;
                    self.set_valid(zone, cell.start);
                    self.account(&mut book, zone);
                }
                Action::Finish => {
                    // What was not written holds no data, though it can be read now.
                    page.pointer = cell.limit;
                    self.vacate(&mut book, zone);
                }
                Action::Close => self.vacate(&mut book, zone),
                Action::Open => {}
            }
        }
        if action == Action::Reset {
            self.reopen(zone);
        }
        self.tell(&mut book);
        drop(book);
        done.map_err(|e| self.error(action.name(), zone, e.errno, e.said.unwrap_or_default()))
    }

    /// A write failed: asks the device how far the zone is written. Nothing else of ours is in
    /// flight in it.
    pub(super) fn ask(&self, zone: u32) -> Result<Option<Zone>, JobError> {
        let Some(device) = &self.device else { return Ok(None) };
        let found = device.zone(self.cell(zone).start);
        found
            .map(Some)
            .map_err(|e| self.error("zone report", zone, e.errno, e.said.unwrap_or_default()))
    }

    /// An error that names the zone.
    pub(super) fn error(
        &self,
        op: &'static str,
        zone: u32,
        errno: i32,
        detail: impl AsRef<str>,
    ) -> JobError {
        let detail = detail.as_ref();
        let between = if detail.is_empty() { "" } else { "; " };
        let mut error = JobError::new(
            op,
            errno,
            format!("{detail}{between}{}{}", self.describe(zone), advice(errno)),
        );
        error.file = Some(self.path.clone());
        error.offset = Some(self.cell(zone).start);
        error
    }

    /// A zone in words.
    pub(super) fn describe(&self, zone: u32) -> String {
        let cell = self.cell(zone);
        let pointer = self.lock().pages[zone as usize].pointer;
        format!(
            "zone {zone} of {}: bytes {} to {}, write pointer {pointer}",
            self.cells.len(),
            cell.start,
            cell.limit
        )
    }
}

/// What to do about the errors that zoned devices are known for.
pub(super) fn advice(errno: i32) -> &'static str {
    /// `ETOOMANYREFS` and `EOVERFLOW` of `errno.h`: what the block layer makes of too many open and
    /// too many active zones.
    const TOO_MANY_OPEN: i32 = 109;
    const TOO_MANY_ACTIVE: i32 = 75;
    match errno {
        TOO_MANY_OPEN => {
            "; the device has as many zones open as it can: another program writes to it, or \
             ignore_zone_limits permits too many"
        }
        TOO_MANY_ACTIVE => {
            "; Exceeded max_active_zones limit of the device: another program writes to it, or \
             ignore_zone_limits permits too many"
        }
        _ => "",
    }
}
