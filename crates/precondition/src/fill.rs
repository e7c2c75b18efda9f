//! One device, written by jobs of fiord's own: a stretch at a time, so that it is known how far it
//! came whatever happens.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use fiord_job::load::Machine;
use fiord_plan::{Plan, Terms};
use fiord_run::events::{Event, Observer};
use fiord_run::{Interrupt, Interrupts, RunOptions, RunResult};
use fiord_sys::host;

use crate::Args;
use crate::bars::Bar;
use crate::state::{Place, Store};
use crate::target::{Target, bytes};

/// Bytes of a sequential write.
const BLOCK: u64 = 1 << 20;
/// A stretch is a share of the device within these bounds: long enough that its beginning and end
/// cost nothing, short enough that a power failure does not lose hours.
const STRETCH: (u64, u64) = (256 << 20, 16 << 30);
const STRETCHES: u64 = 64;
/// Time between two updates of a bar, ns.
const UPDATE: u64 = 250_000_000;
const SIGINT: i32 = 2;

/// How a device ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Ended {
    /// It is written in full.
    Written {
        /// Bytes that this call wrote.
        bytes: u64,
        /// In this time.
        seconds: f64,
        /// The IOPS of random writes, and whether they became steady.
        random: Option<(u64, bool)>,
    },
    /// It was stopped here.
    Stopped(Place),
}

impl Ended {
    pub fn words(&self, size: u64) -> String {
        match self {
            Ended::Written { bytes: written, seconds, random } => {
                let rate = *written as f64 / seconds.max(1e-9);
                let mut text = match written {
                    0 => "was written in full already".to_owned(),
                    _ => {
                        format!("written in full: {} at {}/s", bytes(*written), bytes(rate as u64))
                    }
                };
                match random {
                    Some((iops, true)) => {
                        text.push_str(&format!("; random writes are steady at {iops} IOPS"));
                    }
                    Some((iops, false)) => text.push_str(&format!(
                        "; random writes are not steady yet, at {iops} IOPS: --limit ended them"
                    )),
                    None => {}
                }
                text
            }
            Ended::Stopped(place) => {
                format!("stopped at {}; the same command goes on from there", place.words(size))
            }
        }
    }
}

/// Writes one target.
pub(crate) struct Filler<'a> {
    pub args: &'a Args,
    pub target: &'a Target,
    pub store: &'a Store,
    pub stop: &'a AtomicBool,
    pub bar: Bar,
}

impl Filler<'_> {
    /// From this place to the end.
    pub fn run(&self, mut place: Place) -> Result<Ended, String> {
        let begun = Instant::now();
        let mut written = 0;
        while place.passes < self.args.passes {
            while place.position < self.target.size {
                let done = self.stretch(place.position)?;
                written += done;
                place.position += done;
                self.store.put(&self.target.key, place)?;
                if self.stopped() && place.position < self.target.size {
                    return Ok(self.stopped_at(place));
                }
                self.bar.at(place.position);
            }
            place = Place { passes: place.passes + 1, position: 0 };
            self.store.put(&self.target.key, place)?;
            if self.stopped() && (place.passes < self.args.passes || self.args.random) {
                return Ok(self.stopped_at(place));
            }
        }
        let seconds = begun.elapsed().as_secs_f64();
        let random = if self.args.random { Some(self.settle()?) } else { None };
        if random.is_some_and(|(_, steady)| !steady) && self.stopped() {
            return Ok(self.stopped_at(place));
        }
        self.store.forget(&self.target.key)?;
        self.bar.done("written");
        Ok(Ended::Written { bytes: written, seconds, random })
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn stopped_at(&self, place: Place) -> Ended {
        self.bar.done("stopped");
        Ended::Stopped(place)
    }

    /// Writes the stretch that begins at `position`, or what of it is done when it is stopped; gives
    /// the bytes.
    fn stretch(&self, position: u64) -> Result<u64, String> {
        let share = (self.target.size / STRETCHES).clamp(STRETCH.0, STRETCH.1) / BLOCK * BLOCK;
        let left = self.target.size - position;
        // The end of the device may be no whole block: it goes in smaller ones.
        let (len, block) = match left.min(share) {
            len if len >= BLOCK => (len / BLOCK * BLOCK, BLOCK),
            len => (len, self.granule(len)),
        };
        let mut line = self.line("fill", "write", block);
        line.extend([format!("--offset={position}"), format!("--size={len}")]);
        // What is in the device's cache is not written.
        line.push("--end_fsync=1".into());
        let result = self.job(&line, Some(position + len))?;
        let job = result.report.jobs.first();
        let done: u64 = job.map_or(0, |job| job.dirs.iter().map(|dir| dir.io_bytes).sum());
        if done == 0 && !self.stopped() {
            return Err(format!("nothing could be written at byte {position}"));
        }
        // Every I/O that was issued is complete, so what is done is one piece.
        Ok(done.min(len))
    }

    /// The largest block that the last bytes of a device are whole of.
    fn granule(&self, len: u64) -> u64 {
        1 << len.trailing_zeros().min(BLOCK.trailing_zeros())
    }

    /// Random writes until they are steady: their IOPS, and whether they are.
    fn settle(&self) -> Result<(u64, bool), String> {
        let mut line = self.line("random", "randwrite", 4096.min(self.target.size));
        line.extend([
            "--norandommap".into(),
            "--time_based".into(),
            format!("--runtime={}m", self.args.limit),
            "--steadystate=pts:iops".into(),
            format!("--steadystate_check_interval={}s", self.args.round),
        ]);
        let result = self.job(&line, None)?;
        let job = result.report.jobs.first();
        let steady = job.and_then(|job| job.steady_state.as_ref());
        let attained = steady.is_some_and(|steady| steady.attained);
        let iops = match steady.filter(|steady| steady.attained) {
            Some(steady) => steady.iops_mean,
            None => job.map_or(0.0, |job| job.dirs.iter().map(|dir| dir.iops).sum()) as u64,
        };
        Ok((iops, attained))
    }

    /// What the jobs have in common.
    fn line(&self, name: &str, rw: &str, block: u64) -> Vec<String> {
        // A file may end within a block of its file system's device, which only the page cache can
        // write.
        let direct = self.target.disk.is_some() || block.is_multiple_of(4096);
        // A colon separates file names; a backslash means itself unless one follows.
        let path = self.target.path.display().to_string().replace(':', "\\:");
        let depth = if rw == "write" { 16 } else { 32 };
        vec![
            format!("--name={name}"),
            format!("--filename={path}"),
            format!("--rw={rw}"),
            format!("--bs={block}"),
            format!("--direct={}", u8::from(direct)),
            "--ioengine=libaio".into(),
            format!("--iodepth={depth}"),
            // Storage with records larger than a block must find nothing to compress either, and
            // nothing that a stretch, a pass or a device has in common with another.
            "--refill_buffers".into(),
            "--randrepeat=0".into(),
            "--disk_util=0".into(),
            "--allow_file_create=0".into(),
        ]
    }

    fn job(&self, line: &[String], most: Option<u64>) -> Result<RunResult, String> {
        let plan = plan(line)?;
        let version = fiord_job::version();
        let options = RunOptions {
            progress: Some(UPDATE),
            status: None,
            aux_path: PathBuf::from("."),
            version,
            utc_offset_s: host::utc_offset(host::wall_time() / 1_000_000_000),
            debug: None,
        };
        let mut watcher = Watcher { bar: &self.bar, most, last: Instant::now() };
        let mut interrupts = Flag { stop: self.stop, told: false };
        let result = fiord_run::run(Arc::new(plan), &options, &mut watcher, &mut interrupts);
        match result.errors.first() {
            Some((_, error)) => Err(error.to_string()),
            None if !result.stuck.is_empty() => Err("the device does not answer".into()),
            None => Ok(result),
        }
    }
}

fn plan(line: &[String]) -> Result<Plan, String> {
    let shown = |errors: Vec<fiord_job::diagnostic::Diagnostic>| {
        fiord_job::diagnostic::render(&errors, false)
    };
    let invocation = fiord_job::invocation(line, &mut Machine).map_err(shown)?;
    let machine = fiord_plan::system::Machine;
    let resolved = fiord_plan::resolve(&invocation.jobs, Terms::of(&invocation), &machine);
    Ok(resolved.map_err(shown)?.plan)
}

/// Moves a bar by what a run tells.
struct Watcher<'a> {
    bar: &'a Bar,
    /// Where the stretch ends; `None` for random writes.
    most: Option<u64>,
    last: Instant,
}

impl Observer for Watcher<'_> {
    fn event(&mut self, event: &Event<'_>) {
        let Event::Progress(progress) = event else { return };
        let seconds = self.last.elapsed().as_secs_f64();
        self.last = Instant::now();
        match self.most {
            Some(most) => self.bar.filling(progress, seconds, most),
            None => self.bar.settling(progress),
        }
    }
}

/// Ctrl-C, for one of several runs.
struct Flag<'a> {
    stop: &'a AtomicBool,
    told: bool,
}

impl Interrupts for Flag<'_> {
    fn next(&mut self) -> Option<Interrupt> {
        if self.told || !self.stop.load(Ordering::Relaxed) {
            return None;
        }
        self.told = true;
        Some(Interrupt::End(SIGINT))
    }
}
