//! Places reads where zones hold data.

use std::sync::atomic::Ordering;

use fiord_load::Io;
use fiord_types::{Bytes, ZoneIndex};

use super::{Flight, Placer, ZonePlacement};
use crate::zones::open_zones::ZoneUser;
use crate::zones::table::{CLOSED, ZoneTable, ZoneUse};

/// Result of looking for data to read.
enum Found {
    /// Zone, offset, length.
    At(ZoneIndex, u64, u32),
    /// A reset of the zone is pending.
    Shut,
    Nothing,
}

impl Placer {
    pub(super) fn place_read(&mut self, io: &Io) -> ZonePlacement {
        let found = match (self.read_beyond, self.random) {
            (true, _) => self.anywhere(io),
            (false, true) => self.drawn(io),
            (false, false) => self.onward(io),
        };
        let file = &mut self.files[io.file];
        match found {
            Found::At(zone, offset, len) => {
                let flight = match file.table.view(zone).usage() {
                    ZoneUse::Sequential => Flight::Read { file: io.file, zone },
                    _ => Flight::None,
                };
                self.go(Io { offset, len, ..*io }, flight)
            }
            Found::Shut => {
                self.seen = (io.file, file.table.version());
                ZonePlacement::Busy
            }
            Found::Nothing if file.table.holds_data(&file.user, self.min_read) => {
                if !self.random {
                    return ZonePlacement::Displaced;
                }
                // A write completed after the scan: do not wait for a further change.
                self.seen = (io.file, file.table.version().wrapping_sub(1));
                ZonePlacement::Busy
            }
            Found::Nothing if file.table.is_written(&file.user) && !self.mixed => {
                // Wait for another job that writes in this range.
                self.seen = (io.file, file.table.version());
                ZonePlacement::Busy
            }
            Found::Nothing => ZonePlacement::NoData,
        }
    }

    /// Places a read with `read_beyond_wp`: where the source chose, also beyond the capacity of a zone and across its end,
    /// as in fio. Goes around zones that cannot be read.
    fn anywhere(&mut self, io: &Io) -> Found {
        let file = &self.files[io.file.get()];
        let drawn = file.table.zone_of(Bytes(io.offset));
        let usable = |zone: &ZoneIndex| file.table.view(*zone).usage() != ZoneUse::Dead;
        let Some(zone) = drawn.to(file.user.end).find(usable) else { return Found::Nothing };
        let view = file.table.view(zone);
        let at = if zone == drawn { io.offset } else { view.start.0 };
        let end = file.table.view(ZoneIndex(file.user.end.0 - 1)).start + file.table.zone_size;
        let at = at.min(end.0.saturating_sub(io.len.into()));
        if view.usage() == ZoneUse::Sequential {
            if !file.table.pin(zone) {
                return Found::Shut;
            }
            let beyond = at + u64::from(io.len) > view.valid.load(Ordering::Acquire);
            self.counts.reads_beyond += u64::from(beyond);
        }
        Found::At(zone, at, io.len)
    }

    /// Places a random read: in the zone that the source chose if it holds data, else in another zone. Shortens
    /// the read if no zone holds enough data.
    fn drawn(&mut self, io: &Io) -> Found {
        let min = self.min_read.min(io.len);
        let file = &mut self.files[io.file.get()];
        let zone = file.table.zone_of(Bytes(io.offset));
        let mut shut = false;
        match file.table.read_in(zone, io.offset, io.len, io.len) {
            Found::At(zone, at, len) => return Found::At(zone, at, len),
            Found::Shut => shut = true,
            Found::Nothing => {}
        }
        // Scan again after the first attempt: the known zones may be out of date.
        for (look, least) in [(false, io.len), (true, io.len), (true, min)] {
            if look || file.known.is_empty() {
                file.known = file.table.with_data(&file.user, least);
            }
            let count = file.known.len() as u64;
            if count == 0 {
                continue;
            }
            let turn = (io.offset / u64::from(io.len.max(1))).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let zone = file.known[((u128::from(turn) * u128::from(count)) >> 64) as usize];
            match file.table.read_in(zone, io.offset, io.len, least) {
                Found::At(zone, at, len) => return Found::At(zone, at, len),
                Found::Shut => shut = true,
                Found::Nothing => {}
            }
        }
        if shut { Found::Shut } else { Found::Nothing }
    }

    /// Places a sequential read: at its offset or at the next data. A job that also writes wraps around to the
    /// first zone.
    fn onward(&mut self, io: &Io) -> Found {
        let file = &self.files[io.file];
        let (first, end) = (file.user.first, file.user.end);
        let start = file.table.zone_of(Bytes(io.offset)).max(first);
        let again = first.to(if self.mixed { end } else { first });
        let mut shut = false;
        for (turn, zone) in start.to(end).chain(again).enumerate() {
            let view = file.table.view(zone);
            let at = if turn == 0 { io.offset } else { view.start.0 };
            match file.table.read_from(zone, at, io.len, self.min_read) {
                Found::At(zone, at, len) => return Found::At(zone, at, len),
                Found::Shut => shut = true,
                Found::Nothing => {}
            }
        }
        if shut { Found::Shut } else { Found::Nothing }
    }
}

impl ZoneTable {
    /// Whether another running job writes in the range.
    fn is_written(&self, user: &ZoneUser) -> bool {
        let states = self.lock();
        states
            .writers
            .iter()
            .any(|(id, first, end)| *id != user.id && *first < user.end && user.first < *end)
    }

    /// Zones of the job's range that hold at least `len` bytes of data.
    fn with_data(&self, user: &ZoneUser, len: u32) -> Vec<ZoneIndex> {
        let holds = |zone: &ZoneIndex| {
            let view = self.view(*zone);
            let valid = view.valid.load(Ordering::Acquire);
            view.usage() != ZoneUse::Dead && valid - view.start.0 >= u64::from(len)
        };
        user.first.to(user.end).filter(holds).collect()
    }

    fn holds_data(&self, user: &ZoneUser, len: u32) -> bool {
        !self.with_data(user, len).is_empty()
    }

    /// Finds data in `zone` near the position that `at` has in its own zone, and pins the zone. If the zone holds
    /// less than `len` bytes, shortens the read to a multiple of `least`.
    fn read_in(&self, zone: ZoneIndex, at: u64, len: u32, least: u32) -> Found {
        let view = self.view(zone);
        let (size, least) = (u64::from(len.max(1)), u64::from(least.max(1)));
        match view.usage() {
            ZoneUse::Dead => return Found::Nothing,
            ZoneUse::Conventional => {
                let within = view.start + Bytes(at % self.zone_size.0);
                let last = view.limit.saturating_sub(Bytes(size)).max(view.start);
                return Found::At(zone, within.min(last).0, len);
            }
            ZoneUse::Sequential => {}
        }
        if view.pins.load(Ordering::Relaxed) & CLOSED != 0 {
            return Found::Shut;
        }
        if view.valid.load(Ordering::Relaxed) - view.start.0 < least {
            return Found::Nothing;
        }
        if !self.pin(zone) {
            return Found::Shut;
        }
        let written = view.valid.load(Ordering::Acquire) - view.start.0;
        if written < least {
            self.unpin(zone);
            return Found::Nothing;
        }
        let size = if written < size { written / least * least } else { size };
        let within = at % self.zone_size.0;
        let within =
            if within + size <= written { within } else { within / size % (written / size) * size };
        Found::At(zone, (view.start + Bytes(within)).0, size as u32)
    }

    /// Finds data for a read at `at` and pins the zone. If less than `len` bytes are valid, shortens the read to
    /// a multiple of `min`.
    fn read_from(&self, zone: ZoneIndex, at: u64, len: u32, min: u32) -> Found {
        let view = self.view(zone);
        if view.usage() == ZoneUse::Dead {
            return Found::Nothing;
        }
        let shut = view.pins.load(Ordering::Relaxed) & CLOSED != 0;
        let sequential = view.usage() == ZoneUse::Sequential;
        if sequential && !shut && view.valid.load(Ordering::Relaxed) < at + u64::from(min) {
            return Found::Nothing;
        }
        if sequential && !self.pin(zone) {
            return Found::Shut;
        }
        let room = view.valid.load(Ordering::Acquire).saturating_sub(at);
        if room < u64::from(min) {
            if sequential {
                self.unpin(zone);
            }
            return Found::Nothing;
        }
        let room = u32::try_from(room).unwrap_or(u32::MAX);
        Found::At(zone, at, if len <= room { len } else { room / min * min })
    }
}
