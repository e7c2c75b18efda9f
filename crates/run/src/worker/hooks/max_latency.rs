//! `max_latency`.

use fiord_plan::JobPlan;
use fiord_stat::recorder::Recorder;
use fiord_types::{Errno, PerDir};

use crate::error::{JobError, Stage};
use crate::hook::{Completed, Disposition, Events, Hook, IssuedIo, NEVER};
/// Ends the job at the first I/O that takes too long.
pub(super) struct MaxLatency {
    /// Limits by direction, ns; [`NEVER`]: none.
    limits: PerDir<u64>,
}

impl MaxLatency {
    /// The limits of a job; `None` if it has none.
    pub(super) fn of(job: &JobPlan) -> Option<Self> {
        let limits = job.pace.max_latency;
        (limits != PerDir::default()).then(|| MaxLatency {
            limits: limits.map(|limit| limit.map_or(NEVER, |limit| limit.0)),
        })
    }
}

impl Hook for MaxLatency {
    fn events(&self) -> Events {
        Events::COMPLETED
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        let (lat, limit) = (end.times.lat.0, self.limits[io.dir]);
        if lat <= limit || !end.succeeded {
            return Disposition::Release;
        }
        Disposition::Fail(too_long(lat, limit, io.op.offset))
    }
}

/// The error of an I/O that took too long.
#[cold]
fn too_long(lat: u64, limit: u64, offset: u64) -> Box<JobError> {
    let what = format!("latency of {lat} nsec exceeds specified max ({limit} nsec)");
    let mut error = JobError::new(Stage::MaxLatency, Errno::ETIMEDOUT, what);
    error.offset = Some(offset);
    Box::new(error)
}
