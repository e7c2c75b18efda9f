//! Jobs on zones (`zonemode=zbd`). [`crate::zones`] decides where an I/O goes; this hook connects it to the
//! loops.

use fiord_engine::OpKind;
use fiord_load::{Displaced, Io};
use fiord_stat::recorder::Recorder;

use crate::error::JobError;
use crate::hook::{
    Admission, Completed, Delay, Disposition, Events, Hook, HookResults, IssuedIo, NEVER,
};
use crate::zones::{Placer, ZonePlacement};

/// Places the I/Os of one job in zones.
pub(super) struct ZoneHook {
    placer: Placer,
    /// The last I/O waits for its zone.
    blocked: bool,
    /// The zone of the I/O that has just failed.
    zone: String,
}

impl ZoneHook {
    /// A hook for a job with this placer.
    pub(super) fn new(placer: Placer) -> Self {
        ZoneHook { placer, blocked: false, zone: String::new() }
    }
}

impl Hook for ZoneHook {
    fn events(&self) -> Events {
        Events::ADMIT | Events::ISSUED | Events::CARRY_OUT | Events::COMPLETED
    }

    fn admit(&mut self, io: &mut Io) -> Admission {
        match self.placer.place(io) {
            ZonePlacement::Go(placed) | ZonePlacement::Reset(placed) => {
                *io = placed;
                Admission::Placed
            }
            ZonePlacement::Busy => {
                self.blocked = true;
                Admission::Later(Delay::Event(NEVER))
            }
            ZonePlacement::ReadBack => Admission::Later(Delay::Event(NEVER)),
            ZonePlacement::Displaced => Admission::Drop(Displaced::Over),
            ZonePlacement::Filled => Admission::Drop(Displaced::Filled),
            ZonePlacement::Passed { lap } => Admission::Drop(Displaced::Passed { lap: lap.0 }),
            ZonePlacement::NoData if self.placer.writes_instead() => {
                Admission::Drop(Displaced::Exchanged)
            }
            // A reader next to a writer must not end the run: the report contains a finding.
            ZonePlacement::NoData => Admission::Drop(Displaced::Over),
            ZonePlacement::Failed(error) => Admission::Fail(error),
        }
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        if !io.extra {
            self.placer.taken(io.slot);
        }
    }

    fn carry_out(&mut self, io: &IssuedIo) -> Option<Result<(), JobError>> {
        let reset = io.op.kind == OpKind::Trim && self.placer.is_reset(io.slot);
        reset.then(|| self.placer.reset(io.slot))
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        if end.succeeded {
            return verdict(self.placer.ended(io.slot));
        }
        let errno = end.outcome.get().err();
        let (result, zone) = self.placer.failed(io.slot, errno);
        self.zone = zone;
        verdict(result)
    }

    fn explain(&mut self) -> Option<String> {
        Some(std::mem::take(&mut self.zone)).filter(|zone| !zone.is_empty())
    }

    fn wait(&mut self) {
        if std::mem::take(&mut self.blocked) {
            self.placer.wait();
        }
    }

    fn restart(&mut self, _now: u64) {
        self.placer.forget();
    }

    fn add_results(&self, results: &mut HookResults) {
        results.zones = Some(self.placer.counts());
    }
}

fn verdict(result: Result<(), JobError>) -> Disposition {
    result.map_or_else(|error| Disposition::Fail(Box::new(error)), |()| Disposition::Release)
}
