//! Where a read goes: to what was written.

use std::sync::atomic::Ordering;

use fiord_load::Io;

use super::{Flight, Place, Placer};
use crate::zones::claim::Side;
use crate::zones::owner::{CLOSED, Owner, Use};

/// Where a read may go.
enum Found {
    At(u32, u64, u32),
    Shut,
    Nothing,
}

impl Placer {
    pub(super) fn place_read(&mut self, io: &Io) -> Place {
        let found = match (self.read_beyond, self.random) {
            (true, _) => self.anywhere(io),
            (false, true) => self.drawn(io),
            (false, false) => self.onward(io),
        };
        let file = &mut self.files[io.file as usize];
        match found {
            Found::At(zone, offset, len) => {
                let flight = match file.owner.cell(zone).usage() {
                    Use::Sequential => Flight::Read { file: io.file, zone },
                    _ => Flight::None,
                };
                self.go(Io { offset, len, ..*io }, flight)
            }
            Found::Shut => {
                self.seen = (io.file, file.owner.news());
                Place::Busy
            }
            Found::Nothing if file.owner.holds_data(&file.side, self.min_read) => {
                if !self.random {
                    return Place::Displaced;
                }
                // It was written after the zones were looked at: there is news already.
                self.seen = (io.file, file.owner.news().wrapping_sub(1));
                Place::Busy
            }
            Found::Nothing if file.owner.is_written(&file.side) && !self.mixed => {
                // Some other job is about to write there.
                self.seen = (io.file, file.owner.news());
                Place::Busy
            }
            Found::Nothing => Place::NoData,
        }
    }

    /// `read_beyond_wp`: where it was drawn, within the zone.
    fn anywhere(&mut self, io: &Io) -> Found {
        let file = &self.files[io.file as usize];
        let mut zone = file.owner.zone_of(io.offset);
        let mut at = io.offset;
        loop {
            if zone >= file.side.end {
                return Found::Nothing;
            }
            let cell = file.owner.cell(zone);
            // Behind the capacity there is nothing to read; sequential reads go on in the next zone.
            let next = cell.usage() == Use::Dead || (at >= cell.limit && !self.random);
            if !next {
                break;
            }
            zone += 1;
            at = cell.start + file.owner.zone_size;
        }
        let cell = file.owner.cell(zone);
        let last = cell.limit.saturating_sub(u64::from(io.len)).max(cell.start);
        let len = u32::try_from(cell.limit - last).unwrap_or(u32::MAX).min(io.len);
        let at = at.min(last);
        if cell.usage() == Use::Sequential {
            if !file.owner.pin(zone) {
                return Found::Shut;
            }
            let beyond = at + u64::from(len) > cell.valid.load(Ordering::Acquire);
            self.counts.reads_beyond += u64::from(beyond);
        }
        Found::At(zone, at, len)
    }

    /// A random read: of the zone that was drawn if that has data, else of another one that has. It
    /// becomes smaller where no zone holds as much.
    fn drawn(&mut self, io: &Io) -> Found {
        let min = self.min_read.min(io.len);
        let file = &mut self.files[io.file as usize];
        let zone = file.owner.zone_of(io.offset);
        let mut shut = false;
        match file.owner.read_in(zone, io.offset, io.len, io.len) {
            Found::At(zone, at, len) => return Found::At(zone, at, len),
            Found::Shut => shut = true,
            Found::Nothing => {}
        }
        // Twice: what is known may be out of date.
        for (look, least) in [(false, io.len), (true, io.len), (true, min)] {
            if look || file.known.is_empty() {
                file.known = file.owner.with_data(&file.side, least);
            }
            let count = file.known.len() as u64;
            if count == 0 {
                continue;
            }
            let turn = (io.offset / u64::from(io.len.max(1))).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let zone = file.known[((u128::from(turn) * u128::from(count)) >> 64) as usize];
            match file.owner.read_in(zone, io.offset, io.len, least) {
                Found::At(zone, at, len) => return Found::At(zone, at, len),
                Found::Shut => shut = true,
                Found::Nothing => {}
            }
        }
        if shut { Found::Shut } else { Found::Nothing }
    }

    /// A sequential read: on from its offset, over what holds no data. A job that also writes begins
    /// again at the first zone.
    fn onward(&mut self, io: &Io) -> Found {
        let file = &self.files[io.file as usize];
        let (first, end) = (file.side.first, file.side.end);
        let start = file.owner.zone_of(io.offset).max(first);
        let again = if self.mixed { first..end } else { 0..0 };
        let mut shut = false;
        for (turn, zone) in (start..end).chain(again).enumerate() {
            let cell = file.owner.cell(zone);
            let at = if turn == 0 { io.offset } else { cell.start };
            match file.owner.read_from(zone, at, io.len, self.min_read) {
                Found::At(zone, at, len) => return Found::At(zone, at, len),
                Found::Shut => shut = true,
                Found::Nothing => {}
            }
        }
        if shut { Found::Shut } else { Found::Nothing }
    }
}

impl Owner {
    /// Whether a running job other than this one writes somewhere in the range.
    fn is_written(&self, side: &Side) -> bool {
        let book = self.lock();
        book.writers
            .iter()
            .any(|(id, first, end)| *id != side.id && *first < side.end && side.first < *end)
    }

    /// Zones of a range from which so much can be read at once.
    fn with_data(&self, side: &Side, len: u32) -> Vec<u32> {
        let holds = |zone: &u32| {
            let cell = self.cell(*zone);
            let valid = cell.valid.load(Ordering::Acquire);
            cell.usage() != Use::Dead && valid - cell.start >= u64::from(len)
        };
        (side.first..side.end).filter(holds).collect()
    }

    fn holds_data(&self, side: &Side, len: u32) -> bool {
        !self.with_data(side, len).is_empty()
    }

    /// A place to read in a zone, as near as can be to one in this or another zone; pinned. Where the
    /// zone holds less than `len`, the read is as large as it can be in multiples of `least`.
    fn read_in(&self, zone: u32, at: u64, len: u32, least: u32) -> Found {
        let cell = self.cell(zone);
        let (size, least) = (u64::from(len.max(1)), u64::from(least.max(1)));
        match cell.usage() {
            Use::Dead => return Found::Nothing,
            Use::Conventional => {
                let within = cell.start + at % self.zone_size;
                let last = cell.limit.saturating_sub(size).max(cell.start);
                return Found::At(zone, within.min(last), len);
            }
            Use::Sequential => {}
        }
        if cell.pins.load(Ordering::Relaxed) & CLOSED != 0 {
            return Found::Shut;
        }
        if cell.valid.load(Ordering::Relaxed) - cell.start < least {
            return Found::Nothing;
        }
        if !self.pin(zone) {
            return Found::Shut;
        }
        let written = cell.valid.load(Ordering::Acquire) - cell.start;
        if written < least {
            self.unpin(zone);
            return Found::Nothing;
        }
        let size = if written < size { written / least * least } else { size };
        let within = at % self.zone_size;
        let within =
            if within + size <= written { within } else { within / size % (written / size) * size };
        Found::At(zone, cell.start + within, size as u32)
    }

    /// A read that goes on at `at`; pinned. One that does not fit what was written is as much
    /// smaller as it can be.
    fn read_from(&self, zone: u32, at: u64, len: u32, min: u32) -> Found {
        let cell = self.cell(zone);
        if cell.usage() == Use::Dead {
            return Found::Nothing;
        }
        let shut = cell.pins.load(Ordering::Relaxed) & CLOSED != 0;
        let sequential = cell.usage() == Use::Sequential;
        if sequential && !shut && cell.valid.load(Ordering::Relaxed) < at + u64::from(min) {
            return Found::Nothing;
        }
        if sequential && !self.pin(zone) {
            return Found::Shut;
        }
        let room = cell.valid.load(Ordering::Acquire).saturating_sub(at);
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
