//! Which zone a write or a trim goes to, and who gets a place to open one.

use std::time::{Duration, Instant};

use fiord_sys::zone::{Action, State, Zone};

use super::owner::{Book, Owner, Page, Use};
use crate::error::JobError;

/// When nothing was written for so long, nobody waits for a place any longer.
const STALLED: Duration = Duration::from_secs(120);

/// What a job wants of one file, and what it is waiting for.
#[derive(Debug, Clone)]
pub(super) struct Side {
    /// Its number in the plan.
    pub id: u32,
    /// It fills zone after zone.
    pub sequential: bool,
    /// The smallest write.
    pub min: u32,
    /// Writes need not be multiples of it (`bs_unaligned`).
    pub unaligned: bool,
    /// `write_zone_remainder`.
    pub remainders: bool,
    /// Places that it may hold itself.
    pub own_limit: Option<u32>,
    /// Places that there may be.
    pub limit: Option<u32>,
    /// Its range of zones.
    pub first: u32,
    pub end: u32,
    /// `zone_reset_threshold` in bytes, and every how many writes there is a reset from there on.
    pub resets: Option<(u64, u64)>,
    /// Writes since the last of those.
    pub writes: u64,
    /// The present write has reset a zone that was not full.
    pub early_reset: bool,
    /// The zone that waits to be reset.
    pub closing: Option<u32>,
    /// When it began to wait for a place.
    pub queued: Option<Instant>,
}

/// What is to be done with a write.
#[derive(Debug)]
pub(super) enum Claim {
    /// It goes here; the pointer has been moved on.
    Write { zone: u32, offset: u64, len: u32 },
    /// It goes here, in a zone without a pointer.
    Anywhere { offset: u64, len: u32 },
    /// This comes first, then ask again. The zone is marked as being worked on.
    First(u32, Action),
    /// Wait for other news than this.
    Busy(u64),
    /// Nothing from here on takes it.
    Nothing,
    /// Nothing ever will.
    Fail(String),
}

/// Whether a zone can be had.
enum Grant {
    Yes,
    Instead(u32),
    First(u32, Action),
    Busy,
    Fail(String),
}

impl Side {
    /// How much of a write a zone takes that has so much room.
    pub fn fit(&self, len: u32, room: u64) -> Option<u32> {
        let min = self.min.max(1);
        match u32::try_from(room) {
            _ if u64::from(len) <= room => Some(len),
            Ok(room) if room >= min => Some(room / min * min),
            Ok(room) if room > 0 && self.remainders => Some(room),
            _ => None,
        }
    }

    fn has(&self, zone: u32) -> bool {
        (self.first..self.end).contains(&zone)
    }
}

/// One claim, under the owner's lock.
struct Claiming<'a> {
    owner: &'a Owner,
    book: &'a mut Book,
    side: &'a mut Side,
    /// The write is a zone append.
    append: bool,
}

impl Owner {
    /// Places a write of a job that would go to `at`.
    pub(super) fn claim_write(&self, side: &mut Side, at: u64, len: u32, append: bool) -> Claim {
        let mut book = self.lock();
        let mut claiming = Claiming { owner: self, book: &mut book, side, append };
        let before = claiming.side.closing.take();
        let claim = claiming.write(at, len);
        claiming.settle(before, &claim);
        claim
    }

    /// Marks a zone as being reset by a trim. `None`: its I/Os must end first.
    pub(super) fn claim_reset(&self, side: &mut Side, zone: u32) -> Result<(), u64> {
        let mut book = self.lock();
        let mut claiming = Claiming { owner: self, book: &mut book, side, append: false };
        let before = claiming.side.closing.take();
        let idle = claiming.page(zone).writes.is_empty();
        let mine = claiming.is_free(zone);
        let claim = if idle && mine { claiming.reset(zone) } else { claiming.busy() };
        claiming.settle(before, &claim);
        match claim {
            Claim::First(..) => Ok(()),
            _ => Err(book.news),
        }
    }

    /// A write has ended well. What is left to do with its zone.
    pub(super) fn written(&self, side: &Side, zone: u32, offset: u64) -> Option<Action> {
        let mut book = self.lock();
        let limit = self.cell(zone).limit;
        let page = &mut book.pages[zone as usize];
        page.end_write(offset);
        let pointer = page.pointer;
        let valid = page.writes.iter().copied().min().unwrap_or(pointer);
        let idle = page.writes.is_empty();
        self.set_valid(zone, valid);
        if !book.queue.is_empty() {
            book.progress = Instant::now();
        }
        let mut chore = None;
        if idle && pointer >= limit {
            self.vacate(&mut book, zone);
        } else if idle && side.fit(side.min, limit - pointer).is_none() {
            let page = &mut book.pages[zone as usize];
            if !page.working && page.closing.is_none() {
                page.working = true;
                chore = Some(Action::Finish);
            }
        }
        self.tell(&mut book);
        chore
    }

    /// A write has failed. Where the pointer is now, and where it was to be: asks the device, which
    /// alone knows how far it came, and whether the zone still is one.
    pub(super) fn unwritten(
        &self,
        zone: u32,
        (offset, len): (u64, u32),
        errno: i32,
    ) -> Result<(u64, u64), JobError> {
        let beside = {
            let mut book = self.lock();
            let page = &mut book.pages[zone as usize];
            page.end_write(offset);
            let beside = page.appending && !page.writes.is_empty();
            if beside {
                // The others take its place.
                page.pointer -= u64::from(len);
                self.account(&mut book, zone);
                self.tell(&mut book);
            } else {
                page.working = true;
            }
            beside
        };
        let found = self.ask(zone);
        let mut book = self.lock();
        let limit = self.cell(zone).limit;
        let page = &mut book.pages[zone as usize];
        page.working &= beside;
        if let Ok(Some(Zone { state: state @ (State::ReadOnly | State::Offline), .. })) = found {
            self.bury(&mut book, zone);
            drop(book);
            let what = format!("the device has made the zone {}", state.word());
            return Err(self.error("write", zone, errno, what));
        }
        if beside {
            return found.map(|_| (offset, offset));
        }
        match &found {
            Ok(Some(zone)) => page.pointer = zone.write_pointer,
            // Nobody wrote behind it: it can be tried again.
            Ok(None) if page.pointer == offset + u64::from(len) => page.pointer = offset,
            _ => {}
        }
        let pointer = page.pointer;
        let valid = page.writes.iter().copied().min().unwrap_or(pointer);
        let full = page.writes.is_empty() && pointer >= limit;
        self.set_valid(zone, valid.min(pointer));
        self.account(&mut book, zone);
        if full {
            self.vacate(&mut book, zone);
        }
        self.tell(&mut book);
        drop(book);
        found.map(|_| (pointer, offset))
    }

    /// A write that was placed was never made.
    pub(super) fn unclaimed(&self, zone: u32, offset: u64, len: u32) {
        let mut book = self.lock();
        let page = &mut book.pages[zone as usize];
        page.end_write(offset);
        if page.writes.is_empty() {
            page.pointer = page.pointer.min(offset);
        } else if page.appending {
            // The others take its place.
            page.pointer -= u64::from(len);
        }
        self.account(&mut book, zone);
        self.tell(&mut book);
    }

    /// Bytes of a job's writes that its range takes in one lap.
    pub(super) fn lap(&self, side: &Side) -> u64 {
        let min = u64::from(side.min);
        let takes = |zone: u32| {
            let cell = self.cell(zone);
            let room = cell.limit - cell.start;
            match cell.usage() {
                Use::Dead => 0,
                Use::Sequential if side.remainders => room,
                // Less than the smallest write may stay free at the end of each zone.
                _ if side.unaligned => (room + 1).saturating_sub(min),
                _ => room / min * min,
            }
        };
        (side.first..side.end).map(takes).sum()
    }

    /// A job is over: its zones are left to those who need a place.
    pub(super) fn leave(&self, side: &Side) {
        let mut book = self.lock();
        let left: Vec<u32> = book.open.to_vec();
        for zone in left {
            let cell = self.cell(zone);
            let page = &mut book.pages[zone as usize];
            if page.holder != Some(side.id) {
                continue;
            }
            page.holder = None;
            let unused = page.pointer <= cell.start || page.pointer >= cell.limit;
            if unused && page.writes.is_empty() {
                self.vacate(&mut book, zone);
            }
        }
        if let Some(zone) = side.closing {
            let page = &mut book.pages[zone as usize];
            if page.closing == Some(side.id) {
                page.closing = None;
                self.reopen(zone);
            }
        }
        book.queue.retain(|id| *id != side.id);
        book.writers.retain(|(id, ..)| *id != side.id);
        self.tell(&mut book);
    }
}

impl Claiming<'_> {
    fn page(&mut self, zone: u32) -> &mut Page {
        &mut self.book.pages[zone as usize]
    }

    fn busy(&self) -> Claim {
        Claim::Busy(self.book.news)
    }

    /// Whether nobody else works on a zone or is about to.
    fn is_free(&mut self, zone: u32) -> bool {
        let id = self.side.id;
        let page = self.page(zone);
        !page.working && page.closing.is_none_or(|other| other == id)
    }

    /// Whether a zone takes this write beside those in flight: if its pointer is made believe, or if
    /// the device finds the place of all of them.
    fn takes_many(&self, zone: u32) -> bool {
        let page = &self.book.pages[zone as usize];
        self.owner.device.is_none() || self.append && page.appending
    }

    /// Puts right what the job was waiting for before this claim and is not any more. Whoever keeps
    /// a zone shut waits for nothing but its readers.
    fn settle(&mut self, before: Option<u32>, claim: &Claim) {
        let id = self.side.id;
        if let Some(zone) = before
            && self.side.closing != Some(zone)
            && self.page(zone).closing == Some(id)
            && !self.page(zone).working
        {
            self.page(zone).closing = None;
            self.owner.reopen(zone);
            self.owner.tell(self.book);
        }
        match claim {
            Claim::Write { .. } | Claim::Anywhere { .. } | Claim::Nothing => {
                (self.side.early_reset, self.side.queued) = (false, None);
                self.book.queue.retain(|other| *other != id);
            }
            Claim::First(_, Action::Reset) => {
                self.side.closing = None;
            }
            _ => {}
        }
    }

    fn write(&mut self, at: u64, len: u32) -> Claim {
        let target = if self.side.sequential { self.onward(at) } else { self.around(at, len) };
        let Some((zone, at)) = target else { return self.nowhere() };
        let cell = self.owner.cell(zone);
        if cell.usage() == Use::Conventional {
            let at = at.min(cell.limit.saturating_sub(u64::from(len))).max(cell.start);
            let room = u32::try_from(cell.limit - at).unwrap_or(u32::MAX);
            return Claim::Anywhere { offset: at, len: len.min(room) };
        }
        let id = self.side.id;
        let (open, mine) = (self.page(zone).open, self.page(zone).holder == Some(id));
        let zone = if open && (mine || !self.at_own_limit()) {
            zone
        } else {
            match self.place_for(zone, at) {
                Grant::Yes => zone,
                Grant::Instead(other) => other,
                Grant::First(zone, action) => return Claim::First(zone, action),
                Grant::Busy => return self.busy(),
                Grant::Fail(why) => return Claim::Fail(why),
            }
        };
        if !self.is_free(zone) {
            return self.busy();
        }
        let limit = self.owner.cell(zone).limit;
        let (pointer, idle) = (self.page(zone).pointer, self.page(zone).writes.is_empty());
        let beside = self.takes_many(zone);
        if self.reset_is_due(zone) {
            let claim = self.reset(zone);
            self.side.early_reset = matches!(claim, Claim::First(..));
            return claim;
        }
        let Some(len) = self.side.fit(len, limit - pointer) else {
            return if idle { self.reset(zone) } else { self.busy() };
        };
        if !idle && !beside {
            return self.busy();
        }
        self.count_write();
        let append = self.append;
        let page = self.page(zone);
        page.appending = append;
        page.holder.get_or_insert(id);
        page.writes.push(pointer);
        page.pointer = pointer + u64::from(len);
        self.owner.account(self.book, zone);
        Claim::Write { zone, offset: pointer, len }
    }

    /// No zone from here on takes a write.
    fn nowhere(&self) -> Claim {
        let dead = |zone| self.owner.cell(zone).usage() == Use::Dead;
        if (self.side.first..self.side.end).all(dead) {
            return Claim::Fail("all zones of the job's range are read-only or offline".into());
        }
        Claim::Nothing
    }

    /// Where sequential writing goes on that has come to `at`: in this zone, or at the start of the
    /// next one that takes anything.
    fn onward(&mut self, mut at: u64) -> Option<(u32, u64)> {
        loop {
            let zone = self.owner.zone_of(at);
            if !self.side.has(zone) {
                return None;
            }
            let cell = self.owner.cell(zone);
            let pointer = self.page(zone).pointer;
            let full = self.side.fit(self.side.min, cell.limit.saturating_sub(pointer)).is_none();
            let takes = match cell.usage() {
                Use::Dead => false,
                Use::Conventional => at + u64::from(self.side.min) <= cell.limit,
                // A zone that is full when writing comes to it is written anew; one that has become
                // full meanwhile has been written.
                Use::Sequential => at < cell.limit && (at == cell.start || !full),
            };
            if takes {
                return Some((zone, at));
            }
            at = cell.start + self.owner.zone_size;
        }
    }

    /// The zone of a random offset, or the next one that takes anything.
    fn around(&mut self, at: u64, len: u32) -> Option<(u32, u64)> {
        // A block that crosses into the next zone is one of that: so each zone gets what it holds.
        let last = self.owner.zone_of(at + u64::from(len.max(1)) - 1);
        let zone = last.min(self.side.end - 1);
        let at = at.max(self.owner.cell(zone).start);
        let takes = |zone: &u32| self.owner.cell(*zone).usage() != Use::Dead;
        if takes(&zone) {
            return Some((zone, at));
        }
        let found = (zone..self.side.end).chain(self.side.first..zone).find(takes)?;
        Some((found, self.owner.cell(found).start))
    }

    /// Whether the job holds as many places as it may itself.
    fn at_own_limit(&self) -> bool {
        let Some(most) = self.side.own_limit else { return false };
        let mine = |zone: &&u32| self.book.pages[**zone as usize].holder == Some(self.side.id);
        self.book.open.iter().filter(mine).count() >= most as usize
    }

    /// A place for a zone that has none.
    fn place_for(&mut self, zone: u32, at: u64) -> Grant {
        let id = self.side.id;
        let at_own_limit = self.at_own_limit();
        let ahead = self.book.queue.iter().position(|other| *other == id);
        let ahead = ahead.unwrap_or(self.book.queue.len());
        let free = self
            .side
            .limit
            .map_or(usize::MAX, |most| (most as usize).saturating_sub(self.book.open.len()));
        if !at_own_limit && free > ahead {
            self.book.open.push(zone);
            self.book.queue.retain(|other| *other != id);
            let page = self.page(zone);
            (page.open, page.holder, page.foreign) = (true, Some(id), false);
            self.book.progress = Instant::now();
            return Grant::Yes;
        }
        if let Some(grant) = self.make_room(at_own_limit) {
            return grant;
        }
        if let Some(grant) = self.share(at, at_own_limit) {
            return grant;
        }
        if at_own_limit || free > 0 {
            // Its own zones are about to be full; or others are to be served first.
            if !at_own_limit {
                self.queue_up();
            }
            return Grant::Busy;
        }
        self.evict()
    }

    /// Zones of the job's own range that only take a place: those that are too full for its blocks,
    /// and, where zones are filled in order, those that nobody writes.
    fn make_room(&mut self, own: bool) -> Option<Grant> {
        let (side, book) = (&*self.side, &*self.book);
        let idle = |zone: &&u32| {
            let page = &book.pages[**zone as usize];
            let room = self.owner.cell(**zone).limit - page.pointer;
            let mine = page.holder == Some(side.id);
            let useless = side.fit(side.min, room).is_none();
            let ours = mine && useless || (!own && page.holder.is_none() && side.has(**zone));
            let unused = useless || side.sequential;
            ours && unused && page.writes.is_empty() && !page.working && page.closing.is_none()
        };
        let zone = *book.open.iter().find(idle)?;
        self.page(zone).working = true;
        Some(Grant::First(zone, Action::Finish))
    }

    /// Another zone of the range that has a place.
    fn share(&mut self, at: u64, own: bool) -> Option<Grant> {
        let (side, book) = (&*self.side, &*self.book);
        let mine = |zone: &u32| {
            let page = &book.pages[*zone as usize];
            let room = self.owner.cell(*zone).limit - page.pointer;
            side.has(*zone)
                && (!own || page.holder == Some(side.id))
                && !page.working
                && page.closing.is_none()
                && side.fit(side.min, room).is_some()
        };
        let found: Vec<u32> = book.open.iter().copied().filter(mine).collect();
        let first = (at / u64::from(side.min.max(1)) % found.len().max(1) as u64) as usize;
        let ready =
            |zone: &&u32| book.pages[**zone as usize].writes.is_empty() || self.takes_many(**zone);
        let (before, after) = found.split_at(first.min(found.len()));
        match after.iter().chain(before).find(ready) {
            Some(&zone) => {
                let id = side.id;
                let page = self.page(zone);
                page.holder.get_or_insert(id);
                page.foreign = false;
                Some(Grant::Instead(zone))
            }
            None if found.is_empty() => None,
            None => Some(Grant::Busy),
        }
    }

    /// All places are taken, none in reach: one that an ended job left is freed; else those who
    /// write are waited for.
    fn evict(&mut self) -> Grant {
        let book = &*self.book;
        let left = |zone: &&u32| {
            let page = &book.pages[**zone as usize];
            let idle = page.writes.is_empty() && !page.working && page.closing.is_none();
            page.holder.is_none() && !page.foreign && idle
        };
        if let Some(&zone) = book.open.iter().find(left) {
            let action = if self.owner.closing_helps { Action::Close } else { Action::Finish };
            self.page(zone).working = true;
            return Grant::First(zone, action);
        }
        let lives = |zone: &u32| {
            let page = &book.pages[*zone as usize];
            let idle = page.writes.is_empty() && !page.working && page.closing.is_none();
            page.holder.is_some() || !idle
        };
        if !book.open.iter().any(lives) {
            return Grant::Fail(format!(
                "{}all {} zones that can be open at a time are taken by zones outside of the job's \
                 range, which were open before the run: reset or finish them (`fiord zones`)",
                if self.owner.closing_helps { "" } else { "Exceeded max_active_zones limit: " },
                book.open.len()
            ));
        }
        self.queue_up();
        let since = self.side.queued.map_or(self.book.progress, |t| t.max(self.book.progress));
        if since.elapsed() > STALLED {
            return Grant::Fail(format!(
                "all {} zones that may be open at a time are held by jobs that wrote nothing for {} \
                 seconds: permit more (max_open_zones), use fewer jobs, one flow less, or one device \
                 for each job",
                self.book.open.len(),
                STALLED.as_secs()
            ));
        }
        Grant::Busy
    }

    fn queue_up(&mut self) {
        let id = self.side.id;
        if !self.book.queue.contains(&id) {
            self.book.queue.push_back(id);
            self.side.queued = Some(Instant::now());
        }
    }

    /// Whether so much of the range is written that writes are counted towards a reset.
    fn is_filled(&self) -> bool {
        let side = &self.side;
        side.resets.is_some_and(|(threshold, _)| {
            let mut fillings = self.book.fillings.iter();
            let filling = fillings.find(|f| f.first == side.first && f.end == side.end);
            filling.is_some_and(|filling| filling.bytes >= threshold)
        })
    }

    /// Whether the present write resets its zone first, though that is not full. Asked each time
    /// that the write is tried: another job may have reset the zone while this one waited.
    fn reset_is_due(&mut self, zone: u32) -> bool {
        let Some((_, every)) = self.side.resets else { return false };
        self.side.writes + 1 >= every
            && !self.side.early_reset
            && self.page(zone).pointer > self.owner.cell(zone).start
            && self.is_filled()
    }

    /// Counts a write that is placed towards the next reset.
    fn count_write(&mut self) {
        let Some((_, every)) = self.side.resets else { return };
        if self.side.early_reset {
            self.side.writes = 0;
        } else if self.is_filled() {
            self.side.writes = (self.side.writes + 1) % every;
        }
    }

    /// Begins a reset: shuts the zone against other writes and against reads, and waits for those in
    /// flight.
    fn reset(&mut self, zone: u32) -> Claim {
        let id = self.side.id;
        self.page(zone).closing = Some(id);
        self.side.closing = Some(zone);
        if !self.owner.shut(zone) || !self.page(zone).writes.is_empty() {
            return self.busy();
        }
        self.page(zone).working = true;
        Claim::First(zone, Action::Reset)
    }
}
