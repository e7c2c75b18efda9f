//! What a job writes in one pass over its zones.

use fiord_types::{Bytes, ZoneIndex};

use super::open_zones::ZoneUser;
use super::table::{ZoneStates, ZoneTable, ZoneUse};

impl ZoneUser {
    /// How many bytes of a write fit into a zone with `room` free bytes; `None` if none do.
    pub(super) fn fit(&self, len: Bytes, room: Bytes) -> Option<Bytes> {
        let min = self.min.max(Bytes(1));
        match room {
            _ if len <= room => Some(len),
            _ if room >= min => Some(room.round_down(min)),
            _ if room > Bytes::ZERO && self.remainders => Some(room),
            _ => None,
        }
    }

    /// All zones are full: the next pass of a job that keeps what it writes in a pass resets each of them once.
    pub(super) fn begin_pass(&mut self) {
        if let Some(earlier) = &mut self.earlier {
            earlier.extend(self.first.to(self.end));
        }
    }
}

impl ZoneTable {
    /// Bytes that a job's writes fill in one pass over its range. A zone that was partly written when the job
    /// started and was not reset since takes only the rest.
    pub(super) fn lap(&self, user: &ZoneUser) -> Bytes {
        let min = user.min;
        let takes = |zone: ZoneIndex| {
            let view = self.view(zone);
            let room = view.limit - view.start;
            match view.usage() {
                ZoneUse::Dead => Bytes::ZERO,
                ZoneUse::Sequential if user.remainders => room,
                // Each zone may keep a free remainder that is smaller than the smallest write.
                _ if user.unaligned => (room + Bytes(1)).saturating_sub(min),
                _ => room.round_down(min),
            }
        };
        let all: Bytes = user.first.to(user.end).map(takes).sum();
        let states = self.lock();
        let unchanged = |zone: ZoneIndex, resets: u32| states.zones[zone].resets == resets;
        let before =
            user.partly_written.iter().filter(|(zone, _, resets)| unchanged(*zone, *resets));
        all.saturating_sub(before.map(|(_, bytes, _)| *bytes).sum())
    }

    /// The zones of a range that are written in part: zone, bytes, and resets in this run.
    pub(super) fn partly_written(
        &self,
        first: ZoneIndex,
        end: ZoneIndex,
    ) -> Vec<(ZoneIndex, Bytes, u32)> {
        let states = self.lock();
        let written = |zone: ZoneIndex| {
            let (view, state) = (self.view(zone), &states.zones[zone]);
            let bytes = state.pointer.saturating_sub(view.start);
            let partly = view.usage() == ZoneUse::Sequential
                && bytes > Bytes::ZERO
                && state.pointer < view.limit;
            partly.then_some((zone, bytes, state.resets))
        };
        first.to(end).filter_map(written).collect()
    }

    /// A zone that takes a random write: `drawn`, or the next one if the job keeps what that zone contains. `None`: there
    /// is none.
    pub(super) fn unfilled(
        &self,
        states: &ZoneStates,
        user: &ZoneUser,
        drawn: ZoneIndex,
    ) -> Option<ZoneIndex> {
        let Some(earlier) = &user.earlier else { return Some(drawn) };
        let takes = |zone: &ZoneIndex| {
            let view = self.view(*zone);
            let room = view.limit.saturating_sub(states.zones[*zone].pointer);
            match view.usage() {
                ZoneUse::Dead => false,
                ZoneUse::Conventional => true,
                ZoneUse::Sequential => earlier.contains(zone) || user.fit(user.min, room).is_some(),
            }
        };
        drawn.to(user.end).chain(user.first.to(drawn)).find(takes)
    }
}
