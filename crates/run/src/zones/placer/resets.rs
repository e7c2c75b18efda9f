//! Resets of zones whose data jobs verify: it is read back before, and no read is in flight meanwhile.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use fiord_load::verify::ClaimRefused;
use fiord_plan::{JobPlan, VerifyPass};
use fiord_sys::zone::ZoneAction;
use fiord_types::{Bytes, FileIndex, ZoneIndex};

use super::{Placer, ZonePlacement};
use crate::error::JobError;
use crate::maps::TargetMaps;

/// A range of a file that is discarded soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DoomedRange {
    pub file: FileIndex,
    pub start: Bytes,
    pub end: Bytes,
}

/// Data to be read back before a zone is reset, as the placer of a job and its verification agree on it.
#[derive(Debug, Default)]
pub(crate) struct ReadBack {
    state: RefCell<ReadBackState>,
    /// Start of each zone that the job has written since it was last read back, with its file.
    unread: RefCell<HashSet<(FileIndex, Bytes)>>,
    /// Other jobs write to the zones, too.
    shared: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum ReadBackState {
    #[default]
    Idle,
    /// The placer waits for it.
    Wanted(DoomedRange),
    /// The range has been read back.
    Done(DoomedRange),
}

impl ReadBack {
    /// `shared`: other jobs write to the zones, too.
    pub(crate) fn new(shared: bool) -> Self {
        ReadBack { shared, ..ReadBack::default() }
    }

    /// The job has read all of its writes back.
    pub(crate) fn all_done(&self) {
        self.unread.borrow_mut().clear();
    }

    /// Whether a zone may contain data that no job has read back.
    fn is_unread(&self, file: FileIndex, start: Bytes) -> bool {
        self.shared || self.unread.borrow().contains(&(file, start))
    }

    /// The range that must be read back.
    pub(crate) fn wanted(&self) -> Option<DoomedRange> {
        match *self.state.borrow() {
            ReadBackState::Wanted(range) => Some(range),
            _ => None,
        }
    }

    /// The range has been read back and judged.
    pub(crate) fn done(&self) {
        let mut state = self.state.borrow_mut();
        if let ReadBackState::Wanted(range) = *state {
            *state = ReadBackState::Done(range);
        }
    }

    /// Whether a range has been read back. If not, asks for it.
    fn ask(&self, range: DoomedRange) -> bool {
        let mut state = self.state.borrow_mut();
        let done = *state == ReadBackState::Done(range);
        *state = if done { ReadBackState::Idle } else { ReadBackState::Wanted(range) };
        done
    }
}

/// What a placer needs to know about verification.
#[derive(Debug, Default)]
pub(crate) struct VerifiedZones {
    /// The maps of each file. Empty: no job verifies them.
    maps: Vec<TargetMaps>,
    /// The job reads its writes back.
    read_back: Option<Rc<ReadBack>>,
    /// The reset that waits.
    pending: Option<(FileIndex, ZoneIndex)>,
}

/// How far the reset of a zone got.
enum ResetProgress {
    /// The reset has been carried out.
    Done,
    /// The job must read the zone back before.
    ReadBack,
    /// Another job reads the zone.
    Busy,
}

impl Placer {
    /// Tells the placer which maps know the contents of the zones. Resets the zones that contain older data, as fio does:
    /// the job verifies what it writes, and should write all of its range.
    ///
    /// `alone`: no other job writes to the zones. Random writes then keep what they have written until all zones are full,
    /// as in fio.
    pub(crate) fn verify(
        &mut self,
        job: &JobPlan,
        maps: Vec<TargetMaps>,
        (read_back, alone): (Option<Rc<ReadBack>>, bool),
    ) -> Result<(), JobError> {
        self.verified.maps = maps;
        self.verified.read_back = read_back;
        let pass = job.verify.as_ref().map(|verify| verify.pass);
        if matches!(pass, Some(VerifyPass::AfterWrites | VerifyPass::WritesOnly)) {
            for file in (0..self.files.len()).map(FileIndex::at) {
                self.discard_older_data(file)?;
                self.files[file].user.earlier = (alone && job.load.random).then(HashSet::new);
            }
        }
        Ok(())
    }

    /// Start and end of the data in each zone of the job's files.
    pub(crate) fn data(&self) -> Vec<(FileIndex, Bytes, Bytes)> {
        let files = (0..self.files.len()).map(FileIndex::at);
        let of_file = |index: FileIndex| {
            let file = &self.files[index];
            let zones = file.user.first.to(file.user.end).filter(|zone| file.table.has_data(*zone));
            zones.map(move |zone| {
                let view = file.table.view(zone);
                (index, view.start, Bytes(view.valid.load(Ordering::Acquire)))
            })
        };
        files.flat_map(of_file).collect()
    }

    fn discard_older_data(&mut self, index: FileIndex) -> Result<(), JobError> {
        let file = &mut self.files[index];
        for zone in file.user.first.to(file.user.end) {
            let view = file.table.view(zone);
            let (start, end) = (view.start, view.start + file.table.zone_size);
            let untouched = |maps: &TargetMaps| maps.is_untouched(start.0, end.0);
            if file.table.has_data(zone)
                && self.verified.maps.get(index.get()).is_none_or(untouched)
                && file.table.request_reset(&mut file.user, zone).is_ok()
            {
                file.table.carry_out(zone, ZoneAction::Reset)?;
                file.table.reset_done(zone);
            }
        }
        Ok(())
    }

    /// Remembers that the job writes to a zone.
    pub(super) fn note_write(&self, file: FileIndex, zone: ZoneIndex) {
        if let Some(read_back) = &self.verified.read_back {
            let start = self.files[file].table.view(zone).start;
            read_back.unread.borrow_mut().insert((file, start));
        }
    }

    /// Carries out an action that a write needs before. `None`: done.
    pub(super) fn prepare_zone(
        &mut self,
        file: FileIndex,
        zone: ZoneIndex,
        action: ZoneAction,
    ) -> Option<ZonePlacement> {
        if action != ZoneAction::Reset {
            return self.carry_out(file, zone, action).err().map(ZonePlacement::Failed);
        }
        self.verified.pending = Some((file, zone));
        self.continue_reset()
    }

    /// Continues the reset that waits, if there is one. `None`: there is none any more.
    pub(super) fn continue_reset(&mut self) -> Option<ZonePlacement> {
        let (file, zone) = self.verified.pending?;
        match self.try_reset(file, zone) {
            Ok(ResetProgress::Done) => {
                self.verified.pending = None;
                None
            }
            Ok(ResetProgress::ReadBack) => Some(ZonePlacement::ReadBack),
            Ok(ResetProgress::Busy) => {
                // Not a change of the table: ask again soon.
                self.seen = (file, self.files[file].table.version().wrapping_sub(1));
                Some(ZonePlacement::Busy)
            }
            Err(error) => {
                self.verified.pending = None;
                Some(ZonePlacement::Failed(error))
            }
        }
    }

    fn try_reset(
        &mut self,
        file: FileIndex,
        zone: ZoneIndex,
    ) -> Result<ResetProgress, Box<JobError>> {
        let table = &self.files[file].table;
        let view = table.view(zone);
        let (start, end) = (view.start, view.start + table.zone_size);
        let Some(maps) = self.verified.maps.get(file.get()).cloned() else {
            self.carry_out(file, zone, ZoneAction::Reset)?;
            return Ok(ResetProgress::Done);
        };
        if let Some(read_back) = &self.verified.read_back
            && read_back.is_unread(file, start)
            && maps.holds_own_writes(start.0, end.0)
            && !read_back.ask(DoomedRange { file, start, end })
        {
            return Ok(ResetProgress::ReadBack);
        }
        let claim = match maps.claim_within(start.0, end.0) {
            Ok(claim) => claim,
            Err(ClaimRefused::Busy(_) | ClaimRefused::Outside) => return Ok(ResetProgress::Busy),
        };
        let result = self.carry_out(file, zone, ZoneAction::Reset);
        match &result {
            Ok(()) => {
                if let Some(read_back) = &self.verified.read_back {
                    read_back.unread.borrow_mut().remove(&(file, start));
                }
                maps.discard(claim);
            }
            Err(_) => maps.abandon(claim),
        }
        result.map(|()| ResetProgress::Done)
    }

    /// Gives up the reset that waits.
    pub(super) fn cancel_pending(&mut self) {
        if let Some((file, zone)) = self.verified.pending.take() {
            self.files[file].table.cancel_reset(zone);
        }
    }
}
