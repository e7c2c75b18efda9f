//! Jobs that verify nothing, and write files that other jobs verify: they tell the maps of these files which blocks they
//! overwrite, so that no job takes their data for its own.

use fiord_load::Io;
use fiord_plan::JobPlan;
use fiord_stat::recorder::Recorder;
use fiord_types::Dir;

use super::track::TrackedMaps;
use crate::error::JobError;
use crate::hook::{Admission, Completed, Disposition, Events, Hook, IssuedIo};
use crate::maps::VerifyMaps;

/// Tells the maps of other jobs what one job overwrites.
pub(crate) struct MapInformer {
    maps: TrackedMaps,
}

impl MapInformer {
    /// The hook of a job; `None` if it informs no other job.
    pub(crate) fn of(job: &JobPlan, maps: &VerifyMaps) -> Result<Option<Box<Self>>, JobError> {
        let maps = || TrackedMaps::of(job, maps, None);
        let make = || maps().map(|maps| Box::new(MapInformer { maps }));
        job.informs_maps.then(make).transpose()
    }
}

impl Hook for MapInformer {
    fn events(&self) -> Events {
        Events::ADMIT | Events::ISSUED | Events::COMPLETED
    }

    fn admit(&mut self, io: &mut Io) -> Admission {
        if io.dir == Dir::Read { Admission::AsDrawn } else { self.maps.admit(io) }
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        if io.dir != Dir::Read {
            self.maps.write_issued(io.slot);
        }
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        _end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        if io.dir != Dir::Read {
            self.maps.overwritten(io.slot);
        }
        Disposition::Release
    }

    fn wait(&mut self) {
        self.maps.wait();
    }
}
