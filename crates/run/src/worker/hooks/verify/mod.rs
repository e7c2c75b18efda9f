//! Verification (`verify`): the job writes blocks that say what they must contain, reads them back at the end of each
//! loop, and checks them.
//!
//! | question | module |
//! |---|---|
//! | what does a write contain | `fill.rs` |
//! | which blocks are read back, in which order | `pass.rs` |
//! | does a block contain what was written | `check.rs` |
//! | what happens if it does not | `policy.rs` |
//! | how are bad blocks saved (`verify_dump`) | `dump.rs` |

mod check;
mod dump;
mod fill;
mod pass;
mod policy;
#[cfg(test)]
mod tests;

use fiord_formats::verify::method::Method;
use fiord_load::{Io, any_source};
use fiord_plan::{JobPlan, Tracking, VerifyMethod, VerifyPass};
use fiord_stat::recorder::Recorder;
use fiord_types::{Dir, Nanos};

use self::check::{BadRead, Checker, WriteClues};
use self::fill::JobFormat;
use self::pass::{PassStep, Replay};
use self::policy::{ErrorPolicy, JudgedRead};
use super::super::Outside;
use super::{Completed, Disposition, Events, Extra, Hook, HookResults, IssuedIo};
use crate::error::JobError;

/// Verifies the I/Os of one job.
pub(crate) struct Verifier {
    format: JobFormat,
    checker: Checker,
    policy: ErrorPolicy,
    pass: VerifyPass,
    checks_seed: bool,
    checks_number: bool,
    /// Repeats the writes for the verify pass. `None` if there is none.
    replay: Option<Replay>,
    /// Files that are open all the time, and must be flushed before a pass.
    files: u32,
    /// Number of the next write, or of the next read of a job that only reads.
    next: u64,
    /// The number of the write in each slot, or of the write that a slot reads back.
    numbers: Vec<Option<u64>>,
    /// The write that the next op reads back.
    reading: Option<u64>,
    /// Reads of the pass that are in flight.
    in_flight: u32,
    /// When the current pass began, ns.
    pass_began: Option<u64>,
    /// Time of all passes that have ended, ns.
    read_back: u64,
    /// When the last read of a pass completed, ns.
    last_end: u64,
    /// The whole I/O as it should be, for `verify_dump`.
    expected: Vec<u8>,
}

impl Verifier {
    /// Whether the writes of a job get their bytes from this hook.
    pub(crate) fn fills(job: &JobPlan) -> bool {
        let null = VerifyMethod::Fio(Method::Null);
        job.verify.as_ref().is_some_and(|verify| verify.method != null)
    }

    /// The hook of a job; `None` if the job verifies nothing.
    pub(crate) fn of(job: &JobPlan, outside: &Outside) -> Result<Option<Self>, JobError> {
        let Some(plan) = &job.verify else { return Ok(None) };
        let format = JobFormat::of(job, plan)?;
        let replays = plan.pass.reads_back() && plan.tracking == Tracking::Replay;
        let writes = plan.pass == VerifyPass::AfterWrites;
        let files = u32::try_from(job.target.files.len()).unwrap_or(u32::MAX);
        let stay_open = job.target.open_files >= files;
        Ok(Some(Verifier {
            checker: Checker::new(format.clone()),
            policy: ErrorPolicy::of(job, plan, format.method, outside),
            pass: plan.pass,
            checks_seed: plan.checks_seed && format.pattern.is_none(),
            checks_number: plan.checks_number,
            replay: match replays {
                true => Some(Replay::new(any_source(job)?, writes)),
                false => None,
            },
            files: if stay_open { files } else { 0 },
            next: 0,
            numbers: vec![None; job.depth.depth.max(1) as usize],
            reading: None,
            in_flight: 0,
            pass_began: None,
            read_back: 0,
            last_end: 0,
            expected: Vec::new(),
            format,
        }))
    }

    fn number_of(&self, slot: u32) -> Option<u64> {
        self.numbers.get(slot as usize).copied().flatten()
    }

    /// Ends the pass over a loop.
    fn end_pass(&mut self, now: u64) {
        if let Some(began) = self.pass_began.take() {
            self.read_back += now.saturating_sub(began);
        }
    }

    /// Checks the bytes of a read.
    fn check(&mut self, io: &IssuedIo, data: &[u8]) -> Disposition {
        let number = self.number_of(io.slot);
        let seed = number.filter(|_| self.checks_seed).map(|number| self.format.seed_of(number));
        let write = WriteClues { seed, number: number.filter(|_| self.checks_number) };
        let read = JudgedRead { op: io.op, data };
        let offset = read.offset().0;
        let (policy, format, expected) = (&mut self.policy, &self.format, &mut self.expected);
        let mut first: Option<BadRead> = None;
        self.checker.check(offset, data, &write, |bad| {
            let known = policy.dumps() && bad.has_intact_header();
            if known {
                expected.clear();
                expected.extend_from_slice(data);
                format.restore(offset, expected, number);
            }
            let more = policy.report(read, &bad, known.then_some(&expected[..]));
            first.get_or_insert(bad);
            more
        });
        first.map_or(Disposition::Release, |bad| self.policy.consequence(read, &bad))
    }
}

impl Hook for Verifier {
    fn events(&self) -> Events {
        let fills = self.format.method != Method::Null;
        Events::FILL.only_if(fills && self.pass != VerifyPass::Reads)
            | Events::EXTRA.only_if(self.replay.is_some())
            | Events::ISSUED
            | Events::COMPLETED
            | Events::DATA.only_if(self.pass != VerifyPass::WritesOnly)
    }

    fn extra(&mut self, now: u64, ending: bool) -> Option<Extra> {
        let replay = self.replay.as_mut()?;
        if self.pass_began.is_none() {
            if !ending || (self.next == 0 && self.pass != VerifyPass::Only) {
                return None;
            }
            self.pass_began = Some(now);
            replay.begin(self.files);
        }
        let written = if self.pass == VerifyPass::Only { u64::MAX } else { self.next };
        match replay.next(written, self.in_flight == 0)? {
            PassStep::Read(io, number) => {
                self.reading = Some(number);
                Some(Extra::Io(io))
            }
            PassStep::Control(control) => Some(control),
            PassStep::End => {
                if ending {
                    self.end_pass(now);
                }
                None
            }
        }
    }

    fn fill(&mut self, io: &Io, data: &mut [u8], now: u64) {
        self.format.fill(self.next, io.offset, data, now);
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        let number = match (io.dir, io.extra) {
            (Dir::Read, true) => {
                self.in_flight += 1;
                self.reading.take()
            }
            (Dir::Read, false) if self.pass != VerifyPass::Reads => None,
            (Dir::Read | Dir::Write, _) => {
                self.next += 1;
                Some(self.next - 1)
            }
            (Dir::Trim, _) => None,
        };
        if let Some(at) = self.numbers.get_mut(io.slot as usize) {
            *at = number;
        }
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        if io.extra {
            self.in_flight -= 1;
            self.last_end = end.end;
        }
        if !end.succeeded {
            if let (Dir::Write, Some(number)) = (io.dir, self.number_of(io.slot))
                && let Some(replay) = &mut self.replay
            {
                replay.failed(number);
            }
            return Disposition::Release;
        }
        let checks = io.dir == Dir::Read && (io.extra || self.pass == VerifyPass::Reads);
        if checks { self.check(io, data) } else { Disposition::Release }
    }

    fn restart(&mut self, now: u64) {
        self.read_back = 0;
        if let Some(began) = &mut self.pass_began {
            *began = now;
        }
    }

    fn add_results(&self, results: &mut HookResults) {
        let current = self.pass_began.map_or(0, |began| self.last_end.saturating_sub(began));
        results.read_back = Nanos(self.read_back + current);
    }
}
