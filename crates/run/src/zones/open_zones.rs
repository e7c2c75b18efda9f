//! Chooses the zone of a write or trim, and grants open-zone slots to jobs.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use fiord_sys::zone::{State, Zone, ZoneAction};
use fiord_types::{Bytes, Errno, JobIndex, ZoneIndex};

use super::table::{ZoneState, ZoneStates, ZoneTable, ZoneUse};
use crate::error::{JobError, Stage};

/// If no write completes for this time, jobs stop waiting for an open-zone slot and fail.
const STALLED: Duration = Duration::from_secs(120);

/// A job as a user of one zone table: its settings for the file, and what it waits for.
#[derive(Debug, Clone)]
pub(super) struct ZoneUser {
    /// Index of the job in the plan.
    pub id: JobIndex,
    /// The job writes sequentially: it fills one zone after another.
    pub sequential: bool,
    /// Smallest write.
    pub min: Bytes,
    /// Writes need not be multiples of `min` (`bs_unaligned`).
    pub unaligned: bool,
    /// `write_zone_remainder`.
    pub remainders: bool,
    /// Maximum number of open-zone slots that the job may hold (`job_max_open_zones`).
    pub own_limit: Option<u32>,
    /// Maximum number of open-zone slots on the device, of all jobs together.
    pub limit: Option<u32>,
    /// First zone of the job's range; `end` is the zone after the last.
    pub first: ZoneIndex,
    pub end: ZoneIndex,
    /// Zones that were partly written when the job started: zone, bytes, and resets in this run until then.
    pub partly_written: Vec<(ZoneIndex, Bytes, u32)>,
    /// `zone_reset_threshold`, and the number of writes between two resets above it.
    pub resets: Option<(Bytes, u64)>,
    /// Writes since the last such reset.
    pub writes: u64,
    /// The current write has reset a zone that was not full.
    pub early_reset: bool,
    /// `verify`, random writes: the job keeps what it has written in this pass over its zones. The zones are those that
    /// an earlier pass has filled, which it resets. `None`: it resets each full zone that it draws.
    pub earlier: Option<HashSet<ZoneIndex>>,
    /// The zone that the job waits to reset.
    pub resetting: Option<ZoneIndex>,
    /// When the job began to wait for an open-zone slot.
    pub queued: Option<Instant>,
}

/// Result of placing a write.
#[derive(Debug)]
pub(super) enum PlacedWrite {
    /// Write at this offset. The write pointer has advanced.
    Write { zone: ZoneIndex, offset: Bytes, len: Bytes },
    /// Write at this offset, in a zone without a write pointer.
    Anywhere { offset: Bytes, len: Bytes },
    /// Carry out this action first, then try again. The zone is marked as `working`.
    First(ZoneIndex, ZoneAction),
    /// Wait until the version of the table differs from this.
    Busy(u64),
    /// No zone from this offset on takes the write.
    Nothing,
    /// All zones are full, and the job keeps what it has written in them.
    Filled,
    /// No zone can ever take the write.
    Fail(String),
}

/// Result of a request for an open-zone slot.
enum Grant {
    Yes,
    Instead(ZoneIndex),
    First(ZoneIndex, ZoneAction),
    Busy,
    Fail(String),
}

impl ZoneUser {
    fn has(&self, zone: ZoneIndex) -> bool {
        (self.first..self.end).contains(&zone)
    }
}

/// Places one write or trim, under the lock of the table.
struct LockedTable<'a> {
    table: &'a ZoneTable,
    states: &'a mut ZoneStates,
    user: &'a mut ZoneUser,
    /// The write is a zone append.
    append: bool,
}

impl ZoneTable {
    /// Places a write for which the job's source chose the offset `at`.
    pub(super) fn place_write(
        &self,
        user: &mut ZoneUser,
        at: Bytes,
        len: Bytes,
        append: bool,
    ) -> PlacedWrite {
        let mut states = self.lock();
        let mut locked = LockedTable { table: self, states: &mut states, user, append };
        let before = locked.user.resetting.take();
        let placement = locked.write(at, len);
        locked.settle(before, &placement);
        placement
    }

    /// Prepares a zone for a reset by a trim. The error is the version to wait on: I/Os in the zone must
    /// complete first.
    pub(super) fn request_reset(&self, user: &mut ZoneUser, zone: ZoneIndex) -> Result<(), u64> {
        let mut states = self.lock();
        let mut locked = LockedTable { table: self, states: &mut states, user, append: false };
        let before = locked.user.resetting.take();
        let idle = locked.state(zone).writes.is_empty();
        let mine = locked.is_free(zone);
        let placement = if idle && mine { locked.reset(zone) } else { locked.busy() };
        locked.settle(before, &placement);
        match placement {
            PlacedWrite::First(..) => Ok(()),
            _ => Err(states.version),
        }
    }

    /// Records a successful write. Returns an action that its zone now needs.
    pub(super) fn written(
        &self,
        user: &ZoneUser,
        zone: ZoneIndex,
        offset: Bytes,
    ) -> Option<ZoneAction> {
        let mut states = self.lock();
        let limit = self.view(zone).limit;
        let state = &mut states.zones[zone];
        state.end_write(offset);
        let pointer = state.pointer;
        let valid = state.writes.iter().copied().min().unwrap_or(pointer);
        let idle = state.writes.is_empty();
        self.set_valid(zone, valid);
        if !states.queue.is_empty() {
            states.progress = Instant::now();
        }
        let mut follow_up = None;
        if idle && pointer >= limit {
            self.release_slot(&mut states, zone);
        } else if idle && user.fit(user.min, limit - pointer).is_none() {
            let state = &mut states.zones[zone];
            if !state.working && state.resetting.is_none() {
                state.working = true;
                follow_up = Some(ZoneAction::Finish);
            }
        }
        self.notify(&mut states);
        follow_up
    }

    /// Records a failed write. Returns the present write pointer and the offset of the write. Reads the zone's
    /// state from the device, because only the device knows how much it wrote. Fails if the zone became
    /// read-only or offline, or if the device cannot report it.
    pub(super) fn write_failed(
        &self,
        zone: ZoneIndex,
        (offset, len): (Bytes, Bytes),
        errno: Option<Errno>,
    ) -> Result<(Bytes, Bytes), JobError> {
        let others_append = {
            let mut states = self.lock();
            let state = &mut states.zones[zone];
            state.end_write(offset);
            let others_append = state.appending && !state.writes.is_empty();
            if others_append {
                // The other appends move up by its length.
                state.pointer -= len;
                self.account(&mut states, zone);
                self.notify(&mut states);
            } else {
                state.working = true;
            }
            others_append
        };
        let found = self.query_device(zone);
        let mut states = self.lock();
        let limit = self.view(zone).limit;
        let state = &mut states.zones[zone];
        state.working &= others_append;
        if let Ok(Some(Zone { state: state @ (State::ReadOnly | State::Offline), .. })) = found {
            self.retire(&mut states, zone);
            drop(states);
            let what = format!("the device has made the zone {}", state.word());
            return Err(self.error(Stage::Write, zone, errno, what));
        }
        if others_append {
            return found.map(|_| (offset, offset));
        }
        match &found {
            Ok(Some(zone)) => state.pointer = zone.write_pointer,
            // No write was placed after it, so it can be tried again.
            Ok(None) if state.pointer == offset + len => state.pointer = offset,
            _ => {}
        }
        let pointer = state.pointer;
        let valid = state.writes.iter().copied().min().unwrap_or(pointer);
        let full = state.writes.is_empty() && pointer >= limit;
        self.set_valid(zone, valid.min(pointer));
        self.account(&mut states, zone);
        if full {
            self.release_slot(&mut states, zone);
        }
        self.notify(&mut states);
        drop(states);
        found.map(|_| (pointer, offset))
    }

    /// Takes back a write that was placed but never submitted.
    pub(super) fn write_cancelled(&self, zone: ZoneIndex, offset: Bytes, len: Bytes) {
        let mut states = self.lock();
        let state = &mut states.zones[zone];
        state.end_write(offset);
        if state.writes.is_empty() {
            state.pointer = state.pointer.min(offset);
        } else if state.appending {
            // The other appends move up by its length.
            state.pointer -= len;
        }
        self.account(&mut states, zone);
        self.notify(&mut states);
    }

    /// Removes a job that has ended. Its open zones stay open until another job needs a slot.
    pub(super) fn leave(&self, user: &ZoneUser) {
        let mut states = self.lock();
        let left: Vec<ZoneIndex> = states.open.to_vec();
        for zone in left {
            let view = self.view(zone);
            let state = &mut states.zones[zone];
            if state.holder != Some(user.id) {
                continue;
            }
            state.holder = None;
            let unused = state.pointer <= view.start || state.pointer >= view.limit;
            if unused && state.writes.is_empty() {
                self.release_slot(&mut states, zone);
            }
        }
        if let Some(zone) = user.resetting {
            let state = &mut states.zones[zone];
            if state.resetting == Some(user.id) {
                state.resetting = None;
                self.reopen(zone);
            }
        }
        states.queue.retain(|id| *id != user.id);
        states.writers.retain(|(id, ..)| *id != user.id);
        self.notify(&mut states);
    }
}

impl LockedTable<'_> {
    fn state(&mut self, zone: ZoneIndex) -> &mut ZoneState {
        &mut self.states.zones[zone]
    }

    fn busy(&self) -> PlacedWrite {
        PlacedWrite::Busy(self.states.version)
    }

    /// Whether no other job is changing the zone or waiting to reset it.
    fn is_free(&mut self, zone: ZoneIndex) -> bool {
        let id = self.user.id;
        let state = self.state(zone);
        !state.working && state.resetting.is_none_or(|other| other == id)
    }

    /// Whether a zone accepts this write in addition to those in flight: if the zone is emulated, or if the
    /// device chooses the offsets of all of them (zone append).
    fn takes_many(&self, zone: ZoneIndex) -> bool {
        let state = &self.states.zones[zone];
        self.table.device.is_none() || self.append && state.appending
    }

    /// Withdraws the requests that the job no longer waits for: a pending reset (`before`) and its place in the
    /// queue. So a job that blocks the reads of a zone waits only for the I/Os in that zone.
    fn settle(&mut self, before: Option<ZoneIndex>, placement: &PlacedWrite) {
        let id = self.user.id;
        if let Some(zone) = before
            && self.user.resetting != Some(zone)
            && self.state(zone).resetting == Some(id)
            && !self.state(zone).working
        {
            self.state(zone).resetting = None;
            self.table.reopen(zone);
            self.table.notify(self.states);
        }
        match placement {
            PlacedWrite::Write { .. }
            | PlacedWrite::Anywhere { .. }
            | PlacedWrite::Nothing
            | PlacedWrite::Filled => {
                (self.user.early_reset, self.user.queued) = (false, None);
                self.states.queue.retain(|other| *other != id);
            }
            PlacedWrite::First(_, ZoneAction::Reset) => {
                self.user.resetting = None;
            }
            _ => {}
        }
    }

    fn write(&mut self, at: Bytes, len: Bytes) -> PlacedWrite {
        let target = if self.user.sequential { self.onward(at) } else { self.around(at, len) };
        let Some((zone, at)) = target else { return self.no_zone_left() };
        let Some(zone) = self.table.unfilled(self.states, self.user, zone) else {
            self.user.begin_pass();
            return PlacedWrite::Filled;
        };
        let view = self.table.view(zone);
        if view.usage() == ZoneUse::Conventional {
            let at = at.min(view.limit.saturating_sub(len)).max(view.start);
            let room = view.limit - at;
            return PlacedWrite::Anywhere { offset: at, len: len.min(room) };
        }
        let id = self.user.id;
        let (open, mine) = (self.state(zone).open, self.state(zone).holder == Some(id));
        let zone = if open && (mine || !self.at_own_limit()) {
            zone
        } else {
            match self.place_for(zone, at) {
                Grant::Yes => zone,
                Grant::Instead(other) => other,
                Grant::First(zone, action) => return PlacedWrite::First(zone, action),
                Grant::Busy => return self.busy(),
                Grant::Fail(why) => return PlacedWrite::Fail(why),
            }
        };
        if !self.is_free(zone) {
            return self.busy();
        }
        let limit = self.table.view(zone).limit;
        let (pointer, idle) = (self.state(zone).pointer, self.state(zone).writes.is_empty());
        let takes_many = self.takes_many(zone);
        if self.reset_is_due(zone) {
            let placement = self.reset(zone);
            self.user.early_reset = matches!(placement, PlacedWrite::First(..));
            return placement;
        }
        let Some(len) = self.user.fit(len, limit - pointer) else {
            return if idle { self.reset(zone) } else { self.busy() };
        };
        if !idle && !takes_many {
            return self.busy();
        }
        self.count_write();
        let append = self.append;
        let state = self.state(zone);
        state.appending = append;
        state.holder.get_or_insert(id);
        state.writes.push(pointer);
        state.pointer = pointer + len;
        self.table.account(self.states, zone);
        PlacedWrite::Write { zone, offset: pointer, len }
    }

    /// The result if no zone from this offset on takes a write.
    fn no_zone_left(&self) -> PlacedWrite {
        let dead = |zone| self.table.view(zone).usage() == ZoneUse::Dead;
        if self.user.first.to(self.user.end).all(dead) {
            return PlacedWrite::Fail(
                "all zones of the job's range are read-only or offline".into(),
            );
        }
        PlacedWrite::Nothing
    }

    /// Where a sequential write at `at` goes: into this zone, or to the start of the next zone that takes it.
    fn onward(&mut self, mut at: Bytes) -> Option<(ZoneIndex, Bytes)> {
        loop {
            let zone = self.table.zone_of(at);
            if !self.user.has(zone) {
                return None;
            }
            let view = self.table.view(zone);
            let pointer = self.state(zone).pointer;
            let full = self.user.fit(self.user.min, view.limit.saturating_sub(pointer)).is_none();
            let takes = match view.usage() {
                ZoneUse::Dead => false,
                ZoneUse::Conventional => at + self.user.min <= view.limit,
                // A zone that is full when the job reaches its start is reset and written again; a zone that
                // became full after that is done.
                ZoneUse::Sequential => at < view.limit && (at == view.start || !full),
            };
            if takes {
                return Some((zone, at));
            }
            at = view.start + self.table.zone_size;
        }
    }

    /// The zone of a random offset, or the next zone that is usable.
    fn around(&mut self, at: Bytes, len: Bytes) -> Option<(ZoneIndex, Bytes)> {
        // A block that crosses into the next zone belongs to that zone, so that each zone gets its share.
        let last = self.table.zone_of(at + len.max(Bytes(1)) - Bytes(1));
        let zone = last.min(ZoneIndex(self.user.end.0 - 1));
        let at = at.max(self.table.view(zone).start);
        let takes = |zone: &ZoneIndex| self.table.view(*zone).usage() != ZoneUse::Dead;
        if takes(&zone) {
            return Some((zone, at));
        }
        let found = zone.to(self.user.end).chain(self.user.first.to(zone)).find(takes)?;
        Some((found, self.table.view(found).start))
    }

    /// Whether the job holds as many slots as `job_max_open_zones` permits.
    fn at_own_limit(&self) -> bool {
        let Some(most) = self.user.own_limit else { return false };
        let mine = |zone: &&ZoneIndex| self.states.zones[**zone].holder == Some(self.user.id);
        self.states.open.iter().filter(mine).count() >= most as usize
    }

    /// Requests an open-zone slot for a zone that has none.
    fn place_for(&mut self, zone: ZoneIndex, at: Bytes) -> Grant {
        let id = self.user.id;
        let at_own_limit = self.at_own_limit();
        let ahead = self.states.queue.iter().position(|other| *other == id);
        let ahead = ahead.unwrap_or(self.states.queue.len());
        let free = self
            .user
            .limit
            .map_or(usize::MAX, |most| (most as usize).saturating_sub(self.states.open.len()));
        if !at_own_limit && free > ahead {
            self.states.open.push(zone);
            self.states.queue.retain(|other| *other != id);
            let state = self.state(zone);
            (state.open, state.holder, state.foreign) = (true, Some(id), false);
            self.states.progress = Instant::now();
            return Grant::Yes;
        }
        if let Some(grant) = self.make_room(at_own_limit) {
            return grant;
        }
        if let Some(grant) = self.share(at, at_own_limit) {
            return grant;
        }
        if at_own_limit || free > 0 {
            // Either its own zones are about to fill, or jobs ahead in the queue come first.
            if !at_own_limit {
                self.queue_up();
            }
            return Grant::Busy;
        }
        self.evict()
    }

    /// Finishes a zone of the job's own range that holds a slot without need: one that is too full for its
    /// blocks or, if the job fills zones in order, one that no job writes.
    fn make_room(&mut self, own: bool) -> Option<Grant> {
        let (user, states) = (&*self.user, &*self.states);
        let idle = |zone: &&ZoneIndex| {
            let state = &states.zones[**zone];
            let room = self.table.view(**zone).limit - state.pointer;
            let mine = state.holder == Some(user.id);
            let useless = user.fit(user.min, room).is_none();
            let ours = mine && useless || (!own && state.holder.is_none() && user.has(**zone));
            let unused = useless || user.sequential;
            ours && unused && state.writes.is_empty() && !state.working && state.resetting.is_none()
        };
        let zone = *states.open.iter().find(idle)?;
        self.state(zone).working = true;
        Some(Grant::First(zone, ZoneAction::Finish))
    }

    /// Uses another zone of the range that already holds a slot.
    fn share(&mut self, at: Bytes, own: bool) -> Option<Grant> {
        let (user, states) = (&*self.user, &*self.states);
        let mine = |zone: &ZoneIndex| {
            let state = &states.zones[*zone];
            let room = self.table.view(*zone).limit - state.pointer;
            user.has(*zone)
                && (!own || state.holder == Some(user.id))
                && !state.working
                && state.resetting.is_none()
                && user.fit(user.min, room).is_some()
        };
        let found: Vec<ZoneIndex> = states.open.iter().copied().filter(mine).collect();
        let first = (at / user.min.max(Bytes(1)) % found.len().max(1) as u64) as usize;
        let ready =
            |zone: &&ZoneIndex| states.zones[**zone].writes.is_empty() || self.takes_many(**zone);
        let (before, after) = found.split_at(first.min(found.len()));
        match after.iter().chain(before).find(ready) {
            Some(&zone) => {
                let id = user.id;
                let state = self.state(zone);
                state.holder.get_or_insert(id);
                state.foreign = false;
                Some(Grant::Instead(zone))
            }
            None if found.is_empty() => None,
            None => Some(Grant::Busy),
        }
    }

    /// All slots are in use by zones that the job cannot write: releases one that an ended job left behind, or one
    /// from before the run that the device would close itself, or waits for the jobs that write.
    fn evict(&mut self) -> Grant {
        let states = &*self.states;
        let left = |zone: &&ZoneIndex| {
            let state = &states.zones[**zone];
            let idle = state.writes.is_empty() && !state.working && state.resetting.is_none();
            let may_end = !state.foreign || (self.table.closing_helps && state.implicit);
            state.holder.is_none() && may_end && idle
        };
        if let Some(&zone) = states.open.iter().find(left) {
            let action =
                if self.table.closing_helps { ZoneAction::Close } else { ZoneAction::Finish };
            self.state(zone).working = true;
            return Grant::First(zone, action);
        }
        let lives = |zone: &ZoneIndex| {
            let state = &states.zones[*zone];
            let idle = state.writes.is_empty() && !state.working && state.resetting.is_none();
            state.holder.is_some() || !idle
        };
        if !states.open.iter().any(lives) {
            return Grant::Fail(format!(
                "{}all {} zones that can be open at a time were open before the run and are outside of \
                 the job's range. To fix: reset or finish them (`fiord zones`)",
                if self.table.closing_helps { "" } else { "Exceeded max_active_zones limit: " },
                states.open.len()
            ));
        }
        self.queue_up();
        let since = self.user.queued.map_or(self.states.progress, |t| t.max(self.states.progress));
        if since.elapsed() > STALLED {
            return Grant::Fail(format!(
                "jobs that wrote nothing for {1} seconds hold all {0} zones that may be open at a time. To \
                 fix: raise max_open_zones, or use fewer jobs, no flow, or one device for each job",
                self.states.open.len(),
                STALLED.as_secs()
            ));
        }
        Grant::Busy
    }

    fn queue_up(&mut self) {
        let id = self.user.id;
        if !self.states.queue.contains(&id) {
            self.states.queue.push_back(id);
            self.user.queued = Some(Instant::now());
        }
    }

    /// Whether the range is filled up to the threshold above which writes count towards a reset.
    fn is_filled(&self) -> bool {
        let user = &self.user;
        user.resets.is_some_and(|(threshold, _)| {
            let mut fillings = self.states.fillings.iter();
            let filling = fillings.find(|f| f.first == user.first && f.end == user.end);
            filling.is_some_and(|filling| filling.bytes >= threshold)
        })
    }

    /// Whether the current write resets its zone first although the zone is not full. Evaluated at each attempt,
    /// because another job may have reset the zone while this one waited.
    fn reset_is_due(&mut self, zone: ZoneIndex) -> bool {
        let Some((_, every)) = self.user.resets else { return false };
        self.user.writes + 1 >= every
            && !self.user.early_reset
            && self.states.zones[zone].pointer > self.table.view(zone).start
            && self.is_filled()
    }

    /// Counts a placed write towards the next reset.
    fn count_write(&mut self) {
        let Some((_, every)) = self.user.resets else { return };
        if self.user.early_reset {
            self.user.writes = 0;
        } else if self.is_filled() {
            self.user.writes = (self.user.writes + 1) % every;
        }
    }

    /// Begins a reset: blocks new reads and writes of the zone, and waits for those in flight.
    fn reset(&mut self, zone: ZoneIndex) -> PlacedWrite {
        let id = self.user.id;
        self.state(zone).resetting = Some(id);
        self.user.resetting = Some(zone);
        if !self.table.shut(zone) || !self.state(zone).writes.is_empty() {
            return self.busy();
        }
        self.state(zone).working = true;
        if let Some(earlier) = &mut self.user.earlier {
            earlier.remove(&zone);
        }
        PlacedWrite::First(zone, ZoneAction::Reset)
    }
}
