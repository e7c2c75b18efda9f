//! Drives the verify pass: when it begins, which op comes next, when it ends, and how long it takes.
//!
//! | question | module |
//! |---|---|
//! | when does a pass begin and end, what comes next | here |
//! | which file is open meanwhile (`openfiles`) | `turns.rs` |
//! | what is read back before a zone is reset | `zone_reads.rs` |
//! | which blocks are trimmed (`trim_percentage`) | `trims.rs` |

mod trims;
mod turns;
mod zone_reads;

pub(super) use self::trims::TrimQueue;
pub(super) use self::zone_reads::ZoneReads;

use std::ops::Range;

use fiord_load::Io;
use fiord_plan::{Backlog, JobPlan, VerifyPass, VerifyPlan};
use fiord_types::{Bytes, Dir, FileIndex, Nanos};

use self::turns::FileTurns;
use super::act::Tally;
use super::track::{MapStep, PassStep, Tracker, WriteNumbers};
use crate::hook::Extra;

/// `verify_backlog`: the job reads back a batch of its writes whenever enough are waiting for that.
#[derive(Debug)]
struct BacklogBatches {
    plan: Backlog,
    /// Reads left of the current batch.
    left: u64,
}

/// Decides which op a job that reads its writes back issues next.
#[derive(Debug)]
pub(super) struct PassDriver {
    pass: VerifyPass,
    /// Amount of data that the job covers.
    size: Bytes,
    backlog: Option<BacklogBatches>,
    /// Files that are open all the time.
    files: u32,
    /// Reads of the pass that are in flight.
    in_flight: u32,
    /// When the current pass began, ns.
    began: Option<u64>,
    /// Files that must be flushed and dropped from the cache before the pass over the map.
    settles: Range<u32>,
    /// Opens the files of a pass that does not repeat the writes.
    turns: FileTurns,
    /// The read that is next when its file is open.
    planned: Option<Io>,
    /// Reads back zones before they are reset.
    pub zone_reads: Option<ZoneReads>,
    /// The job has read some of its writes back outside of a pass.
    reads_between: bool,
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
            size: job.end.bytes,
            backlog: plan.backlog.map(|plan| BacklogBatches { plan, left: 0 }),
            files: if stay_open { files } else { 0 },
            in_flight: 0,
            began: None,
            settles: 0..0,
            turns: FileTurns::new(stay_open, plan.pass != VerifyPass::Only),
            planned: None,
            zone_reads: None,
            reads_between: false,
            read_back: 0,
            last_end: 0,
        }
    }

    /// The next op. `None`: the source continues, or the job waits for reads in flight, or it ends. `ending`: the
    /// source has no more work.
    pub(super) fn next(
        &mut self,
        (tracker, numbers, tally): (&mut Tracker, &mut WriteNumbers, &mut Tally),
        now: u64,
        ending: bool,
    ) -> Option<Extra> {
        if self.pass == VerifyPass::WritesOnly {
            return None;
        }
        if self.pass == VerifyPass::Reads {
            return self.next_repeat(tracker, ending);
        }
        if self.began.is_none() {
            if let (Some(zones), Tracker::Map(maps)) = (&mut self.zone_reads, &mut *tracker)
                && let Some(io) = zones.next(maps, self.in_flight == 0)
            {
                return Some(Extra::Io(io));
            }
            let unwritten = numbers.loop_is_new() && self.pass != VerifyPass::Only;
            if !ending {
                return self.next_of_backlog(tracker, numbers);
            }
            if unwritten {
                return None;
            }
            // The first read of the pass settles its file, also if a batch has left it open.
            self.turns.leave();
            self.begin(tracker, now);
            tally.pass_began(self.size);
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
                    if let Tracker::Replay(replay) = tracker {
                        tally.uncertain(replay.take_uncertain());
                        tally.overwritten(Bytes(replay.take_overwritten()));
                        tally.replayed(replay.replayed_writes());
                    }
                    tally.pass_ended();
                }
                None
            }
        }
    }

    /// The next read of a batch (`verify_backlog`). `None`: the source continues.
    fn next_of_backlog(
        &mut self,
        tracker: &mut Tracker,
        numbers: &mut WriteNumbers,
    ) -> Option<Extra> {
        let batches = self.backlog.as_mut()?;
        if batches.left == 0 {
            if tracker.unread(numbers) < batches.plan.writes {
                return None;
            }
            batches.left = u64::from(batches.plan.batch);
            if let Tracker::Replay(replay) = tracker {
                replay.follow();
            }
        }
        let read = match tracker {
            Tracker::Map(maps) if self.files == 0 => {
                let file = maps.first_unread_file()?;
                if let Err(control) = self.enter(file) {
                    return control;
                }
                maps.next_unread_of(file).map(|io| (io, None))
            }
            _ => tracker.next_unread(numbers),
        };
        let (io, number) = read?;
        if let Some(batches) = &mut self.backlog {
            batches.left -= 1;
        }
        numbers.reads_back(number);
        Some(Extra::Io(io))
    }

    /// Opens a file for an op between those of the job. The error is the control that comes first; `None`: not now.
    pub(super) fn enter(&mut self, file: FileIndex) -> Result<(), Option<Extra>> {
        if !self.turns.is_due() && self.turns.enter_between_writes(file) {
            return Ok(());
        }
        let idle = self.in_flight == 0;
        Err(idle.then(|| self.turns.control()).flatten())
    }

    /// The job continues, and may open and close files.
    pub(super) fn job_continues(&mut self) {
        self.turns.job_continues();
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
            Tracker::Zones(walk) => walk.begin(),
        }
    }

    /// The next step of the pass. `written`: writes that were issued in all loops. `None`: not now, or never.
    fn step(&mut self, tracker: &mut Tracker, written: u64) -> Option<PassStep> {
        let idle = self.in_flight == 0;
        if let Tracker::Replay(replay) = tracker {
            let all = self.pass == VerifyPass::Only;
            return replay.next(if all { u64::MAX } else { written }, idle);
        }
        if let Some(file) = self.settles.next() {
            return Some(PassStep::Control(Extra::Settle(FileIndex(file))));
        }
        loop {
            if self.turns.is_due() {
                return idle.then(|| self.turns.control()).flatten().map(PassStep::Control);
            }
            let next = match self.planned.take() {
                Some(io) => MapStep::Read(io),
                None => match tracker {
                    Tracker::Map(maps) => maps.next(),
                    Tracker::Zones(walk) => walk.next().map_or(MapStep::End, MapStep::Read),
                    Tracker::None | Tracker::Replay(_) => return None,
                },
            };
            match next {
                MapStep::Read(io) if self.turns.enter(io.file) => {
                    return Some(PassStep::Read(io, None));
                }
                MapStep::Read(io) => self.planned = Some(io),
                MapStep::Wait => return idle.then_some(PassStep::Control(Extra::Wait)),
                MapStep::End if !idle => return None,
                MapStep::End if self.turns.leave() => {}
                MapStep::End => return Some(PassStep::End),
            }
        }
    }

    /// A read that must be repeated because other jobs wrote at the same time.
    fn next_repeat(&mut self, tracker: &mut Tracker, ending: bool) -> Option<Extra> {
        let Tracker::Map(maps) = tracker else { return None };
        let idle = self.in_flight == 0;
        // Otherwise its file may be closed now.
        if !ending && self.files == 0 {
            return None;
        }
        loop {
            if self.turns.is_due() {
                return idle.then(|| self.turns.control()).flatten();
            }
            let next = self.planned.take().map(MapStep::Read).or_else(|| maps.next_repeat());
            match next {
                Some(MapStep::Read(io)) if self.turns.enter(io.file) => {
                    return Some(Extra::Io(io));
                }
                Some(MapStep::Read(io)) => self.planned = Some(io),
                Some(MapStep::Wait) if ending && idle => return Some(Extra::Wait),
                Some(MapStep::Wait) => return None,
                Some(MapStep::End) | None if idle && self.turns.leave() => {}
                Some(MapStep::End) | None => return None,
            }
        }
    }

    fn end(&mut self, now: u64) {
        if let Some(began) = self.began.take() {
            self.read_back += now.saturating_sub(began);
        }
        if let Some(zones) = &self.zone_reads {
            zones.pass_ended();
        }
    }

    /// Whether the files have been flushed since their last write.
    pub(super) fn has_flushed(&self) -> bool {
        self.began.is_some() && self.pass == VerifyPass::AfterWrites
    }

    /// Whether the job reads its writes back.
    pub(super) fn is_reading(&self) -> bool {
        self.began.is_some()
    }

    /// A read of the pass or of a backlog, or a trim of a written block, is issued.
    pub(super) fn extra_issued(&mut self, dir: Dir) {
        self.in_flight += 1;
        self.reads_between |= dir == Dir::Read && self.began.is_none();
    }

    /// A read of the pass has completed at `end`, ns.
    pub(super) fn read_completed(&mut self, end: u64) {
        self.in_flight -= 1;
        self.last_end = end;
    }

    /// Measuring begins now.
    pub(super) fn restart(&mut self, now: u64) {
        self.reads_between = false;
        self.read_back = 0;
        if let Some(began) = &mut self.began {
            *began = now;
        }
    }

    /// Time of the current pass; `None` outside of a pass.
    pub(super) fn time_of_pass(&self) -> Option<Nanos> {
        self.began.map(|began| Nanos(self.last_end.saturating_sub(began)))
    }

    /// Whether the job has read some of its writes back while it wrote (`verify_backlog`, zones that are reset).
    pub(super) fn has_read_between(&self) -> bool {
        self.reads_between
    }

    /// Time of all passes.
    pub(super) fn read_back(&self) -> Nanos {
        let current = self.began.map_or(0, |began| self.last_end.saturating_sub(began));
        Nanos(self.read_back + current)
    }
}
