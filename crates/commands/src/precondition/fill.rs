//! Writes one device with jobs, one extent at a time, so that the progress is known after any
//! interruption.

use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fiord_app::{Prepared, RunOutcome, RunSettings};
use fiord_job::load::MachineLoader;
use fiord_run::error::JobError;
use fiord_run::events::{Event, EventKind, EventSender, observe};
use fiord_run::{Interrupt, Interrupts};
use fiord_types::{Bytes, Errno, Nanos};

use crate::amount::decimal_short;
use crate::precondition::PreconditionArgs;
use crate::precondition::bars::Bar;
use crate::precondition::record::{FillRecord, RoundRecorder};
use crate::precondition::state::{FillPosition, ProgressFile, StateError};
use crate::precondition::target::FillTarget;
use crate::rejected::{self, Rejected};

/// Why a device is not fully written.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// The progress cannot be saved.
    #[error(transparent)]
    State(#[from] StateError),
    /// The device does not permit the job that writes it.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// The job failed.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The device stopped completing I/Os.
    #[error("the device does not respond. To fix: find the cause in the kernel log (dmesg)")]
    Stuck,
    /// A job wrote nothing and reported no error.
    #[error("no data could be written at byte {}", .0.0)]
    NoData(Bytes),
    /// The thread that draws the bar cannot be created.
    #[error("cannot create a thread: {}. To fix: raise the limit on threads (ulimit -u, pids.max)", Errno::explain(.0))]
    Thread(#[from] std::io::Error),
    /// A bug ended the thread.
    #[error("a thread ended unexpectedly")]
    Panicked,
}

/// Block size of sequential writes.
const BLOCK: Bytes = Bytes(1 << 20);
/// Bounds of the size of an extent: large enough that its start and end
/// cost nothing, short enough that a power failure does not lose hours.
const EXTENT_SIZES: (Bytes, Bytes) = (Bytes(256 << 20), Bytes(16 << 30));
const EXTENTS: u64 = 64;
/// Interval between two updates of a bar.
const UPDATE: Nanos = Nanos::from_millis(250);
const SIGINT: i32 = 2;

/// Outcome for one device.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum FillEnd {
    /// The device is fully written.
    Written {
        /// Bytes written by this call.
        bytes: Bytes,
        /// Time that these writes took.
        seconds: f64,
        /// IOPS of the random writes, and whether they became steady.
        random: Option<(u64, bool)>,
    },
    /// A signal stopped the writes at this position.
    Stopped(FillPosition),
}

impl FillEnd {
    /// Whether the limit ended the random writes before their rate was steady.
    pub(super) fn is_unsteady(&self) -> bool {
        matches!(self, FillEnd::Written { random: Some((_, false)), .. })
    }

    pub(super) fn words(&self, size: Bytes) -> String {
        match self {
            FillEnd::Written { bytes: written, seconds, random } => {
                let rate = written.0 as f64 / seconds.max(1e-9);
                let mut text = match *written {
                    Bytes::ZERO => "was already fully written".to_owned(),
                    _ => {
                        format!(
                            "fully written: {} at {}/s",
                            decimal_short(*written),
                            decimal_short(Bytes(rate as u64))
                        )
                    }
                };
                match random {
                    Some((iops, true)) => {
                        text.push_str(&format!("; random writes reached a steady state at {iops} IOPS"));
                    }
                    Some((iops, false)) => text.push_str(&format!(
                        "; random writes did not reach a steady state within --limit, at {iops} IOPS"
                    )),
                    None => {}
                }
                text
            }
            FillEnd::Stopped(place) => {
                format!("stopped at {}; run the same command to resume", place.words(size))
            }
        }
    }
}

/// Fills one target.
pub(crate) struct DeviceFiller<'a> {
    pub args: &'a PreconditionArgs,
    pub target: &'a FillTarget,
    pub store: &'a ProgressFile,
    pub stop: &'a AtomicBool,
    pub bar: Bar,
    pub record: RefCell<FillRecord>,
}

impl DeviceFiller<'_> {
    /// Writes from `place` to the end. The record is complete up to an error, too.
    pub(super) fn run(self, place: FillPosition) -> (Result<FillEnd, FillError>, FillRecord) {
        let end = self.write(place);
        (end, self.record.into_inner())
    }

    fn write(&self, mut place: FillPosition) -> Result<FillEnd, FillError> {
        while place.passes < self.args.passes {
            self.bar.pass(place.passes + 1, self.args.passes);
            self.record.borrow_mut().pass(place.passes + 1, self.args.passes);
            while place.position < self.target.size {
                let done = self.write_extent(place.position)?;
                place.position += done;
                self.store.put(&self.target.key, place)?;
                if self.stopped() && place.position < self.target.size {
                    return Ok(self.stopped_at(place));
                }
                self.bar.at(place.position);
            }
            place = FillPosition { passes: place.passes + 1, position: Bytes::ZERO };
            self.store.put(&self.target.key, place)?;
            if self.stopped() && (place.passes < self.args.passes || self.args.random) {
                return Ok(self.stopped_at(place));
            }
        }
        let random = if self.args.random { Some(self.settle()?) } else { None };
        if random.is_some_and(|(_, steady)| !steady) && self.stopped() {
            return Ok(self.stopped_at(place));
        }
        self.store.forget(&self.target.key)?;
        self.bar.done("written");
        let record = self.record.borrow();
        let seconds = record.write_time.as_secs_f64();
        Ok(FillEnd::Written { bytes: record.written, seconds, random })
    }

    /// Maximum duration of the random writes.
    fn limit(&self) -> Duration {
        Duration::from_secs(self.args.limit.saturating_mul(60))
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn stopped_at(&self, place: FillPosition) -> FillEnd {
        self.bar.done("stopped");
        FillEnd::Stopped(place)
    }

    /// Writes the extent that starts at byte `position`. Returns the number of bytes written, which
    /// is smaller than the extent after an interrupt.
    fn write_extent(&self, position: Bytes) -> Result<Bytes, FillError> {
        let whole_blocks = |size: Bytes| size - size % BLOCK;
        let share = (self.target.size / EXTENTS).clamp(EXTENT_SIZES.0, EXTENT_SIZES.1);
        let left = self.target.size - position;
        // The device may end within a block: write the end with smaller blocks.
        let (len, block) = match left.min(whole_blocks(share)) {
            len if len >= BLOCK => (whole_blocks(len), BLOCK),
            len => (len, self.granule(len)),
        };
        let mut line = self.line("fill", "write", block);
        line.extend([format!("--offset={}", position.0), format!("--size={}", len.0)]);
        // Data in a volatile write cache does not count as written.
        line.push("--end_fsync=1".into());
        let from = self.record.borrow().now();
        let (bar, end) = (&self.bar, position + len);
        let result = self.job(&line, &mut |event| {
            if let EventKind::Progress(progress) = &event.kind {
                bar.filling(progress, (position, end));
            }
        })?;
        let job = result.report.jobs.first();
        let done: Bytes =
            job.map_or(Bytes::ZERO, |job| job.dirs.iter().map(|dir| dir.io_bytes).sum());
        if done == Bytes::ZERO && !self.stopped() {
            return Err(FillError::NoData(position));
        }
        // Every issued I/O is complete, so the written bytes are contiguous.
        let done = done.min(len);
        self.record.borrow_mut().extent(from, done, block);
        Ok(done)
    }

    /// The largest block size that divides the remaining bytes of the device.
    fn granule(&self, len: Bytes) -> Bytes {
        Bytes(1 << len.0.trailing_zeros().min(BLOCK.0.trailing_zeros()))
    }

    /// Writes randomly until the IOPS are steady. Returns the IOPS and whether they became steady.
    fn settle(&self) -> Result<(u64, bool), FillError> {
        self.bar.random(self.limit());
        let mut line = self.line("random", "randwrite", Bytes(4096).min(self.target.size));
        line.extend([
            "--norandommap".into(),
            "--time_based".into(),
            format!("--runtime={}m", self.args.limit),
            "--steadystate=pts:iops".into(),
            format!("--steadystate_check_interval={}s", self.args.round),
        ]);
        let (bar, limit) = (&self.bar, self.limit());
        let round = Nanos::from_secs(self.args.round);
        let mut rounds = RoundRecorder::new(round, Nanos::from_secs(limit.as_secs()));
        let result = self.job(&line, &mut |event| {
            let EventKind::Progress(progress) = &event.kind else { return };
            bar.settling(progress, limit);
            progress.jobs.iter().for_each(|job| rounds.at(event.elapsed, &job.totals));
        })?;
        let job = result.report.jobs.first();
        let steady = job.and_then(|job| job.steady_state.as_ref());
        let written = job.into_iter().flat_map(|job| &job.dirs);
        let counts = written.fold((0, Bytes::ZERO), |(ios, bytes), dir| {
            (ios + dir.total_ios, bytes.saturating_add(dir.io_bytes))
        });
        let runtime = job.map_or(Nanos::ZERO, |job| {
            job.dirs.iter().map(|dir| dir.runtime).max().unwrap_or_default()
        });
        self.record.borrow_mut().random = Some(rounds.end(runtime, counts, steady));
        let attained = steady.is_some_and(|steady| steady.attained);
        let iops = match steady.filter(|steady| steady.attained) {
            Some(steady) => steady.iops_mean,
            None => job.map_or(0.0, |job| job.dirs.iter().map(|dir| dir.iops).sum()) as u64,
        };
        Ok((iops, attained))
    }

    /// Options that all jobs share.
    fn line(&self, name: &str, rw: &str, block: Bytes) -> Vec<String> {
        // A file may end within a block of its device. Only buffered I/O can write such an end.
        let direct = self.target.disk.is_some() || block.0.is_multiple_of(4096);
        // A colon separates file names; a backslash is literal unless a colon follows.
        let path = self.target.path.display().to_string().replace(':', "\\:");
        let depth = if rw == "write" { 16 } else { 32 };
        vec![
            format!("--name={name}"),
            format!("--filename={path}"),
            format!("--rw={rw}"),
            format!("--bs={}", block.0),
            format!("--direct={}", u8::from(direct)),
            "--ioengine=libaio".into(),
            format!("--iodepth={depth}"),
            // Storage must not compress the data, even in records larger than a block, and must not
            // find duplicates between extents, passes or devices.
            "--refill_buffers".into(),
            "--randrepeat=0".into(),
            "--disk_util=0".into(),
            "--allow_file_create=0".into(),
            // The user has confirmed the target, and the report is not printed.
            "--findings=off".into(),
        ]
    }

    /// Runs a job, whose events `watch` sees.
    fn job(
        &self,
        line: &[String],
        watch: &mut (dyn FnMut(&Event) + Send),
    ) -> Result<RunOutcome, FillError> {
        let invocation = rejected::parse(line, &mut MachineLoader)?;
        let jobs = Prepared::of(&invocation).map_err(Rejected)?;
        let mut interrupts = Flag { stop: self.stop, asked: false };
        let settings = RunSettings { progress: Some(UPDATE.0), ..RunSettings::default() };
        let stopped = || self.stopped();
        let run = |events: &EventSender| jobs.run(settings, events, &mut interrupts, &stopped);
        let outcome = observe(|event: Event| watch(&event), run)?;
        match outcome.errors.first() {
            Some((_, error)) => Err(error.clone().into()),
            None if !outcome.stuck.is_empty() => Err(FillError::Stuck),
            None => Ok(outcome),
        }
    }
}

/// Passes an interrupt on to one of several runs.
struct Flag<'a> {
    stop: &'a AtomicBool,
    asked: bool,
}

impl Interrupts for Flag<'_> {
    fn next(&mut self) -> Option<Interrupt> {
        if self.asked || !self.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.asked = true;
        Some(Interrupt::End(SIGINT))
    }
}
