//! Runs the steps of a suite in order, after the user's confirmation.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::sweep::axis::{self, Axis};
use crate::sweep::child::{self, Ended};
use crate::sweep::drive::{End, clock};
use crate::sweep::manifest::{self, Store};
use crate::zones::args::Format;
use crate::zones::change::Change;
use crate::zones::consent::{self, Ask};
use crate::zones::summary::Summary;
use crate::zones::{in_use, size};
use fiord_job::diagnostic;
use fiord_job::load::Loader;
use fiord_plan::PlanOptions;
use fiord_plan::machine::system::Machine;
use fiord_sys::signal::{self, Signals};
use fiord_sys::zone::{Action, Device, Zone, ZonedDevice};

use crate::suite::args::Args;
use crate::suite::catalogue;
use crate::suite::definition::{Definition, Filled, Kind, Request, Step, Steps};
use crate::suite::device::Zoned;
use crate::suite::row::{self, Row};
use crate::suite::table::{self, Results};

/// Output streams, the source of answers, and the program that runs jobs.
pub struct Session<'a> {
    /// Stream for results.
    pub out: &'a mut dyn Write,
    /// Stream for progress.
    pub progress: &'a mut dyn Write,
    /// Stream for errors and questions.
    pub err: &'a mut dyn Write,
    /// Source of answers.
    pub ask: &'a mut dyn Ask,
    /// Loader of job files.
    pub loader: &'a mut dyn Loader,
    /// Executable that runs a job file.
    pub program: PathBuf,
    /// Version of the executable.
    pub version: &'a str,
}

/// Runs a suite, or lists the suites.
pub fn run(args: &Args, session: &mut Session) -> End {
    everything(args, session).unwrap_or_else(|what| {
        let _ = writeln!(session.err, "fiord: {}", what.trim_end());
        End::Failed
    })
}

fn everything(args: &Args, session: &mut Session) -> Result<End, String> {
    let (Some(name), Some(path)) = (&args.suite, &args.device) else {
        put(session.out, &list())?;
        return Ok(End::Done);
    };
    let suite = find(name)?;
    let axes = axes(&suite, &args.set)?;
    let device = Device::open(path, false).map_err(|e| crate::zones::explain(path, e))?;
    let zoned = Zoned::new(path, &device)?;
    let steps = steps(args, &suite, &axes, &zoned)?;
    if args.dry_run {
        put(session.out, &dry(&steps))?;
        return Ok(End::Done);
    }
    if args.readonly {
        return Err(format!("--readonly forbids suites: {name} writes to {}", path.display()));
    }
    let dir = args.dir.clone().unwrap_or_else(|| directory(&suite, path));
    let job: Vec<String> = identity(&suite, &zoned, args);
    let store = Store::open(&dir, session.version, &job, args.restart)?;
    let mut suite_run = Run {
        zoned: &zoned,
        steps: &steps,
        dir: &dir,
        store,
        program: session.program.clone(),
        signals: signal::install().map_err(|e| format!("cannot install signal handlers: {e}"))?,
    };
    suite_run.write_jobs(session.loader)?;
    let end = suite_run.run(args, &device, session)?;
    let rows = suite_run.rows()?;
    let complete = end == End::Done;
    let results =
        Results { suite: &suite, device: &zoned, rows, left_out: &steps.left_out, complete };
    let document = table::json(&results);
    let path = dir.join("results.json");
    manifest::put(&path, &document)?;
    match args.format {
        Format::Table => put(session.out, &table::text(&results))?,
        Format::Json => put(session.out, &document)?,
    }
    Ok(end)
}

/// Lists the suites with their axes.
fn list() -> String {
    let mut text = String::new();
    for suite in catalogue::all() {
        text += &format!("{}\n    {}\n", suite.name, suite.about);
        for (name, values) in suite.axes {
            text += &format!("    --set {name}={values}\n");
        }
    }
    text
}

fn find(name: &str) -> Result<Definition, String> {
    catalogue::all().into_iter().find(|suite| suite.name == name).ok_or_else(|| {
        let names = catalogue::all().map(|suite| suite.name).join(", ");
        format!("unknown suite `{name}`; available: {names}")
    })
}

/// Returns the axes of the suite, with the values of `--set`.
fn axes(suite: &Definition, set: &[String]) -> Result<Vec<Axis>, String> {
    let asked = axis::read_all(set)?;
    let known = |name: &str| suite.axes.iter().any(|(own, _)| *own == name);
    if let Some(other) = asked.iter().find(|axis| !known(&axis.name)) {
        let own: Vec<&str> = suite.axes.iter().map(|(name, _)| *name).collect();
        let (name, own) = (&other.name, own.join(" and "));
        return Err(format!("{} has no axis `{name}`; it has {own}", suite.name));
    }
    let own = |(name, values): &(&str, &str)| Axis {
        name: name.to_string(),
        values: values.split(',').map(String::from).collect(),
    };
    let chosen =
        |own: Axis| asked.iter().find(|axis| axis.name == own.name).cloned().unwrap_or(own);
    Ok(suite.axes.iter().map(own).map(chosen).collect())
}

fn steps(args: &Args, suite: &Definition, axes: &[Axis], zoned: &Zoned) -> Result<Steps, String> {
    let (ramp, run) = suite.times;
    if run == 0 && (args.runtime.is_some() || args.ramp_time.is_some()) {
        return Err(format!(
            "{} runs until all data is written, so that --runtime and --ramp-time do not apply",
            suite.name
        ));
    }
    let time =
        |given: &Option<String>, own: u32| given.clone().unwrap_or_else(|| format!("{own}s"));
    let request = Request {
        device: zoned,
        axes,
        ramp_time: &time(&args.ramp_time, ramp),
        runtime: &time(&args.runtime, run),
    };
    (suite.steps)(&request)
}

/// Formats the job files in the order in which they would run.
fn dry(steps: &Steps) -> String {
    let mut text = String::new();
    for (i, step) in steps.steps.iter().enumerate() {
        text += &format!("# {}\n", file_name(i, step));
        if step.reset {
            text += "# before it every zone is reset\n";
        }
        text += &step.job;
        text += "\n";
    }
    for left in &steps.left_out {
        text += &format!("# left out: {left}\n");
    }
    text
}

/// Returns the default directory, such as `zbd-randread-nvme0n1.suite`.
fn directory(suite: &Definition, device: &Path) -> PathBuf {
    let device = device.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    PathBuf::from(format!("{}-{device}.suite", suite.name.replace('/', "-")))
}

/// Returns the properties that runs must share to appear in one table.
fn identity(suite: &Definition, zoned: &Zoned, args: &Args) -> Vec<String> {
    let mut all = vec![
        suite.name.to_owned(),
        zoned.path.display().to_string(),
        format!("zones={}+{}", zoned.region.start, zoned.zones()),
        format!("capacity={}", zoned.capacity),
    ];
    all.extend(args.runtime.iter().map(|time| format!("runtime={time}")));
    all.extend(args.ramp_time.iter().map(|time| format!("ramp_time={time}")));
    all
}

/// Returns the name of a job file, such as `003-jobs=4,bs=64k.fio`.
fn file_name(index: usize, step: &Step) -> String {
    let words = axis::words(&step.settings).replace(' ', ",");
    format!("{index:03}-{words}.fio")
}

fn put(out: &mut dyn Write, text: &str) -> Result<(), String> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A closed pipe does not change the outcome.
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write the results: {e}"))
        }
        _ => Ok(()),
    }
}

/// A running suite.
struct Run<'a> {
    zoned: &'a Zoned,
    steps: &'a Steps,
    dir: &'a Path,
    store: Store,
    program: PathBuf,
    signals: &'static Signals,
}

impl Run<'_> {
    fn path(&self, index: usize) -> PathBuf {
        self.dir.join(file_name(index, &self.steps.steps[index]))
    }

    /// Writes and checks all job files, so that errors are reported before any data is lost.
    fn write_jobs(&self, loader: &mut dyn Loader) -> Result<(), String> {
        for (i, step) in self.steps.steps.iter().enumerate() {
            let path = self.path(i);
            manifest::put(&path, &step.job)?;
            check(&path.display().to_string(), loader)?;
        }
        Ok(())
    }

    fn is_done(&self, step: &Step) -> bool {
        self.store.find(&step.settings).is_some()
    }

    /// Returns the indices of the remaining steps.
    fn left(&self, device: &dyn ZonedDevice) -> Result<Vec<usize>, String> {
        let zones = device.zones().map_err(|e| e.to_string())?;
        let region = &zones[self.zoned.region.clone()];
        Ok(left(&self.steps.steps, region, |step| self.is_done(step)))
    }

    fn run(&mut self, args: &Args, device: &Device, session: &mut Session) -> Result<End, String> {
        let left = self.left(device)?;
        let (all, dir) = (self.steps.steps.len(), self.dir.display());
        let _ = writeln!(
            session.progress,
            "{all} runs, {} left; results are kept in {dir}",
            left.len()
        );
        for left_out in &self.steps.left_out {
            let _ = writeln!(session.progress, "left out: {left_out}");
        }
        if left.is_empty() {
            return Ok(End::Done);
        }
        self.agree(args, device, session)?;
        for (at, index) in left.iter().enumerate() {
            if self.signals.stop_requested() {
                return Ok(End::Stopped);
            }
            let _ = write!(session.progress, "[{}/{}] ", at + 1, left.len());
            if !self.step(*index, session.progress)? {
                return Ok(End::Stopped);
            }
        }
        Ok(End::Done)
    }

    /// Says which data will be lost and asks for confirmation.
    fn agree(&self, args: &Args, device: &Device, session: &mut Session) -> Result<(), String> {
        let path = &self.zoned.path;
        if let Some(who) = in_use::by_whom(path)? {
            return Err(format!(
                "{} is in use: {who}; suites do not run on devices in use",
                path.display()
            ));
        }
        let zones = device.zones().map_err(|e| e.to_string())?;
        let change = Change::new(Action::Reset, &zones, 0..zones.len());
        let to = if args.yes { &mut session.progress } else { &mut session.err };
        let _ = writeln!(
            to,
            "{}: all data in its {} sequential zones will be lost: {} in {}",
            path.display(),
            zones.iter().filter(|zone| zone.is_sequential()).count(),
            size::rounded(change.lost),
            crate::zones::change::zones(change.zones)
        );
        consent::obtain(args.yes, session.ask)
    }

    /// Runs a step. Returns false if the user interrupted it.
    fn step(&mut self, index: usize, progress: &mut dyn Write) -> Result<bool, String> {
        let step = &self.steps.steps[index];
        let words = axis::words(&step.settings);
        let _ = write!(progress, "{words} … ");
        let _ = progress.flush();
        if step.reset {
            self.forget_after(index)?;
            self.reset()?;
        }
        let began = Instant::now();
        let draft = self.store.start_draft()?;
        let arguments = vec![self.path(index).display().to_string()];
        let ended = child::run(&self.program, &arguments, &draft, self.signals)
            .map_err(|e| format!("{}: {e}", self.program.display()))?;
        let (status, errors) = match ended {
            Ended::Alone { status, errors } => (status, errors),
            Ended::Stopped => {
                let _ = writeln!(progress, "stopped");
                self.store.drop_draft();
                return Ok(false);
            }
        };
        let failed = |why: String| {
            format!("the run at {words} failed: {why}\njob file: {}", self.path(index).display())
        };
        if !status.success() {
            let _ = writeln!(progress, "failed");
            return Err(format!("{}\n{errors}", failed(status.to_string())));
        }
        let text = fs::read_to_string(&draft).map_err(|e| failed(e.to_string()))?;
        let row = row::read(step, "", &text).map_err(failed)?;
        let took = began.elapsed();
        let wall = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        self.store.keep(&step.settings, arguments, wall)?;
        let _ = writeln!(progress, "{}", in_words(&row, took.as_nanos() as u64));
        Ok(true)
    }

    /// Discards the results of later steps that depend on the zones which are about to be reset.
    fn forget_after(&mut self, index: usize) -> Result<(), String> {
        let after = self.steps.steps[index + 1..].iter().take_while(|step| !step.reset);
        for step in after.filter(|step| step.finds.is_some()) {
            self.store.forget(&step.settings)?;
        }
        Ok(())
    }

    /// Resets every sequential zone that contains data.
    fn reset(&self) -> Result<(), String> {
        let path = &self.zoned.path;
        let device = Device::open(path, true).map_err(|e| e.to_string())?;
        let zones = device.zones().map_err(|e| e.to_string())?;
        let change = Change::new(Action::Reset, &zones, self.zoned.region.clone());
        // Hours may have passed since the confirmation, and another program may use the device now.
        change.carry_out(&device, &zones, &|| in_use::nobody(path))
    }

    /// Returns the rows of the finished measured steps.
    fn rows(&self) -> Result<Vec<Row>, String> {
        let mut rows = Vec::new();
        for step in self.steps.steps.iter().filter(|step| step.kind != Kind::Prepare) {
            let Some((done, _)) = self.store.find(&step.settings) else { continue };
            let path = self.dir.join(&done.file);
            let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            let row = row::read(step, &done.file, &text);
            rows.push(row.map_err(|e| format!("{}: {e}", path.display()))?);
        }
        Ok(rows)
    }
}

/// Returns the indices of the steps to run: unfinished steps, the preparation if a later step needs
/// it and the device no longer contains its data, and the earlier steps on which an unfinished step
/// depends. For interrupted passes this is the whole series since its reset.
pub(crate) fn left(steps: &[Step], zones: &[Zone], is_done: impl Fn(&Step) -> bool) -> Vec<usize> {
    let measured = |step: &Step| step.kind != Kind::Prepare && !is_done(step);
    if !steps.iter().any(measured) {
        return Vec::new();
    }
    let sums = Summary::of(zones);
    let holds = sums.written >= sums.capacity / 2;
    let is_left = |step: &Step| match step.kind {
        Kind::Prepare => !(holds && is_done(step)),
        _ => measured(step),
    };
    let mut all: Vec<usize> = Vec::new();
    let mut at = 0;
    for series in steps.chunk_by(|_, next| !next.reset) {
        let own: Vec<usize> = (at..at + series.len()).filter(|i| is_left(&steps[*i])).collect();
        let finds = own.first().and_then(|first| steps[*first].finds);
        // A step that runs in between would leave other data on the device.
        if finds.is_some_and(|filled| !all.is_empty() || !is_filled(zones, filled)) {
            all.extend(at..at + series.len());
        } else {
            all.extend(own);
        }
        at += series.len();
    }
    all
}

fn is_filled(zones: &[Zone], filled: Filled) -> bool {
    let count = filled.zones as usize;
    zones.len() >= count && zones[..count].iter().all(|zone| zone.written() >= filled.bytes)
}

/// Checks that a job file can run on this machine: it can be parsed, all its options are supported,
/// and the device permits it (block sizes, command limits, not in use).
///
/// # Errors
/// A message for the user.
pub(crate) fn check(file: &str, loader: &mut dyn Loader) -> Result<(), String> {
    let render = |errors: Vec<diagnostic::Diagnostic>| diagnostic::render(&errors, false);
    let read = fiord_job::invocation(&[file.to_owned()], loader).map_err(render)?;
    let unsupported: Vec<_> = read.jobs.iter().flat_map(fiord_job::unsupported).collect();
    if !unsupported.is_empty() {
        return Err(render(unsupported));
    }
    fiord_plan::resolve(&read.jobs, PlanOptions::of(&read), &Machine).map_err(render).map(drop)
}

/// Summarises a run in one line.
fn in_words(row: &Row, ns: u64) -> String {
    let bw = size::rounded(row.outcome.bw_bytes);
    let latency = match (row.is_void(), row.outcome.mean_ns) {
        (true, _) => "rate not reached".into(),
        (false, Some(ns)) => format!("{} mean", crate::sweep::table::time(ns)),
        (false, None) => "no latency".into(),
    };
    format!("{bw}/s, {latency} ({})", clock(ns))
}
