//! Drives the verify pass: when it begins, which op comes next, when it ends, and how long it takes.

use std::ops::Range;

use fiord_plan::{JobPlan, VerifyPass, VerifyPlan};
use fiord_types::{FileIndex, Nanos};

use super::super::Extra;
use super::map::MapStep;
use super::pass::PassStep;
use super::slot_use::WriteNumbers;
use super::tally::Tally;
use super::tracker::Tracker;

/// Decides which op a job that reads its writes back issues next.
#[derive(Debug)]
pub(super) struct PassDriver {
    pass: VerifyPass,
    /// Files that are open all the time.
    files: u32,
    /// Reads of the pass that are in flight.
    in_flight: u32,
    /// When the current pass began, ns.
    began: Option<u64>,
    /// Files that must be flushed and dropped from the cache before the pass over the map.
    settles: Range<u32>,
    /// Time of all passes that have ended, ns.
    read_back: u64,
    /// When the last read of a pass completed, ns.
    last_end: u64,
}

impl PassDriver {
    pub(super) fn of(job: &JobPlan, plan: &VerifyPlan) -> Self {
        let files = u32::try_from(job.target.files.len()).unwrap_or(u32::MAX);
        let stay_open = job.target.open_files >= files;
        PassDriver {
            pass: plan.pass,
            files: if stay_open { files } else { 0 },
            in_flight: 0,
            began: None,
            settles: 0..0,
            read_back: 0,
            last_end: 0,
        }
    }

    /// The next op. `None`: the source goes on, or the job waits for reads in flight, or it ends. `ending`: the source
    /// has no more work.
    pub(super) fn next(
        &mut self,
        (tracker, numbers, tally): (&mut Tracker, &mut WriteNumbers, &mut Tally),
        now: u64,
        ending: bool,
    ) -> Option<Extra> {
        if self.pass == VerifyPass::Reads {
            return next_repeat(tracker, ending);
        }
        if self.began.is_none() {
            let unwritten = numbers.loop_is_new() && self.pass != VerifyPass::Only;
            if !ending || unwritten {
                return None;
            }
            self.begin(tracker, now);
        }
        match self.step(tracker, numbers.issued_writes())? {
            PassStep::Read(io, number) => {
                numbers.reads_back(number);
                Some(Extra::Io(io))
            }
            PassStep::Control(control) => Some(control),
            PassStep::End => {
                if ending {
                    self.end(now);
                    numbers.end_loop();
                    tally.pass_ended();
                }
                None
            }
        }
    }

    fn begin(&mut self, tracker: &mut Tracker, now: u64) {
        self.began = Some(now);
        match tracker {
            Tracker::None => {}
            Tracker::Replay(replay) => replay.begin(self.files),
            Tracker::Map(maps) => {
                maps.begin_pass();
                self.settles = 0..self.files;
            }
        }
    }

    /// The next step of the pass. `written`: writes that were issued in all loops. `None`: not now, or never.
    fn step(&mut self, tracker: &mut Tracker, written: u64) -> Option<PassStep> {
        let idle = self.in_flight == 0;
        match tracker {
            Tracker::None => None,
            Tracker::Replay(replay) => {
                let all = self.pass == VerifyPass::Only;
                replay.next(if all { u64::MAX } else { written }, idle)
            }
            Tracker::Map(maps) => match self.settles.next() {
                Some(file) => Some(PassStep::Control(Extra::Settle(FileIndex(file)))),
                None => match maps.next() {
                    MapStep::Read(io) => Some(PassStep::Read(io, None)),
                    MapStep::Wait => idle.then_some(PassStep::Control(Extra::Wait)),
                    MapStep::End => idle.then_some(PassStep::End),
                },
            },
        }
    }

    fn end(&mut self, now: u64) {
        if let Some(began) = self.began.take() {
            self.read_back += now.saturating_sub(began);
        }
    }

    /// A read of the pass is issued.
    pub(super) fn read_issued(&mut self) {
        self.in_flight += 1;
    }

    /// A read of the pass has completed at `end`, ns.
    pub(super) fn read_completed(&mut self, end: u64) {
        self.in_flight -= 1;
        self.last_end = end;
    }

    /// Measuring begins now.
    pub(super) fn restart(&mut self, now: u64) {
        self.read_back = 0;
        if let Some(began) = &mut self.began {
            *began = now;
        }
    }

    /// Time of all passes.
    pub(super) fn read_back(&self) -> Nanos {
        let current = self.began.map_or(0, |began| self.last_end.saturating_sub(began));
        Nanos(self.read_back + current)
    }
}

/// A read that must be repeated because other jobs wrote at the same time.
fn next_repeat(tracker: &mut Tracker, ending: bool) -> Option<Extra> {
    let Tracker::Map(maps) = tracker else { return None };
    match maps.next_repeat()? {
        MapStep::Read(io) => Some(Extra::Io(io)),
        MapStep::Wait if ending => Some(Extra::Wait),
        MapStep::Wait | MapStep::End => None,
    }
}
