//! Verification on zones (`zonemode=zbd`): what a zone contains is read back before the zone is reset.

use std::rc::Rc;

use fiord_load::Io;

use crate::verify::track::{MapStep, TrackedMaps};
use crate::zones::{DoomedRange, ReadBack};

/// Reads a zone back before it is reset.
#[derive(Debug)]
pub(crate) struct ZoneReads {
    request: Rc<ReadBack>,
    /// The range that is read, and the offset of the next read.
    current: Option<(DoomedRange, u64)>,
}

impl ZoneReads {
    pub(crate) fn new(request: Rc<ReadBack>) -> Self {
        ZoneReads { request, current: None }
    }

    /// The job has read all of its writes back.
    pub(super) fn pass_ended(&self) {
        self.request.all_done();
    }

    /// The next read. `idle`: no read is in flight. `None`: not now, or there is no more to read.
    pub(super) fn next(&mut self, maps: &mut TrackedMaps, idle: bool) -> Option<Io> {
        let range = self.request.wanted()?;
        if let Some(MapStep::Read(io)) = maps.next_repeat() {
            return Some(io);
        }
        let from = match self.current {
            Some((current, from)) if current == range => from,
            _ => range.start.0,
        };
        if let Some(io) = maps.next_of_zone(range.file, from, range.end.0) {
            self.current = Some((range, io.offset + u64::from(io.len)));
            return Some(io);
        }
        self.current = Some((range, range.end.0));
        if idle && !maps.has_repeats() {
            self.current = None;
            self.request.done();
        }
        None
    }
}
