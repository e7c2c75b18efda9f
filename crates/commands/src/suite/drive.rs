//! Runs the steps of a suite in order, after the user's confirmation.

use std::io::Write;
use std::path::{Path, PathBuf};

use fiord_job::load::Loader;
use fiord_sys::zone::{Zone, ZoneAction, ZonedDevice, ZonedNode};
use fiord_types::Nanos;

use crate::amount::{clock, latency, rounded};
use crate::axis::{self, Axis};
use crate::consent;
use crate::rejected::{self, Rejected};
use crate::runs::progress::{ExpectedTime, RunProgress};
use crate::runs::{Launcher, RunError, Runs};
use crate::session::{CommandEnd, CommandFormat, Session};
use crate::state_file;
use crate::suite::args::SuiteArgs;
use crate::suite::catalogue;
use crate::suite::definition::{Definition, Filled, StepKind, StepRequest, Steps, SuiteStep};
use crate::suite::device::SuiteDevice;
use crate::suite::error::SuiteError;
use crate::suite::job_options;
use crate::suite::row::{self, Row};
use crate::suite::table::{self, SuiteResults};
use crate::target::check_unused;
use crate::zones;
use crate::zones::change::Change;
use crate::zones::summary::ZoneSums;

/// Runs a suite and prints its results, or lists the suites.
///
/// # Errors
/// The device has no zones or is in use, the user does not confirm, or a run failed.
pub fn run(
    args: &SuiteArgs,
    session: &mut Session,
    launcher: Launcher,
) -> Result<CommandEnd, SuiteError> {
    let (Some(name), Some(path)) = (&args.suite, &args.device) else {
        session.print(&list())?;
        return Ok(CommandEnd::Done);
    };
    let Launcher { program, version, loader, progress } = launcher;
    let suite = find(name)?;
    let axes = axes(&suite, &args.set)?;
    let device = zones::open(path, false)?;
    let zoned = SuiteDevice::new(path, &device)?;
    let steps = steps(args, &suite, &axes, &zoned)?;
    if args.dry_run {
        session.print(&dry(&steps))?;
        return Ok(CommandEnd::Done);
    }
    if args.readonly {
        return Err(SuiteError::ReadOnly { suite: suite.name, device: path.clone() });
    }
    let dir = args.dir.clone().unwrap_or_else(|| directory(&suite, path));
    let identity = identity(&suite, &zoned, args);
    let runs = Runs::open(program, version, &dir, &identity, args.restart)?;
    let mut running = Running { zoned: &zoned, steps: &steps, dir: &dir, runs };
    running.write_jobs(loader)?;
    let end = running.run(args, &device, session, progress)?;
    let rows = running.rows()?;
    let complete = end == CommandEnd::Done;
    let results =
        SuiteResults { suite: &suite, device: &zoned, rows, left_out: &steps.left_out, complete };
    let document = table::json(&results);
    state_file::write(&dir.join("results.json"), &document)?;
    running.runs.store.keep_results(&document).map_err(RunError::from)?;
    match args.format {
        CommandFormat::Table => session.print(&table::text(&results))?,
        CommandFormat::Json => session.print_document(&document)?,
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

fn find(name: &str) -> Result<Definition, SuiteError> {
    let found = catalogue::all().into_iter().find(|suite| suite.name == name);
    found.ok_or_else(|| SuiteError::UnknownSuite { name: name.into() })
}

/// Returns the axes of the suite, with the values of `--set`.
fn axes(suite: &Definition, set: &[String]) -> Result<Vec<Axis>, SuiteError> {
    let asked = axis::read_all(set)?;
    let known = |name: &str| suite.axes.iter().any(|(own, _)| *own == name);
    if let Some(other) = asked.iter().find(|axis| !known(&axis.name)) {
        return Err(SuiteError::UnknownAxis { suite: *suite, name: other.name.clone() });
    }
    let own = |(name, values): &(&str, &str)| Axis {
        name: name.to_string(),
        values: values.split(',').map(String::from).collect(),
    };
    let chosen =
        |own: Axis| asked.iter().find(|axis| axis.name == own.name).cloned().unwrap_or(own);
    Ok(suite.axes.iter().map(own).map(chosen).collect())
}

fn steps(
    args: &SuiteArgs,
    suite: &Definition,
    axes: &[Axis],
    zoned: &SuiteDevice,
) -> Result<Steps, SuiteError> {
    let (ramp, run) = suite.times;
    if run == 0 && (args.runtime.is_some() || args.ramp_time.is_some()) {
        return Err(SuiteError::NoTimes { suite: suite.name });
    }
    let time =
        |given: &Option<String>, own: u32| given.clone().unwrap_or_else(|| format!("{own}s"));
    let request = StepRequest {
        device: zoned,
        axes,
        ramp_time: &time(&args.ramp_time, ramp),
        runtime: &time(&args.runtime, run),
    };
    let mut steps = (suite.steps)(&request)?;
    job_options::add(&args.job, &mut steps)?;
    Ok(steps)
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
fn identity(suite: &Definition, zoned: &SuiteDevice, args: &SuiteArgs) -> Vec<String> {
    let mut all = vec![
        suite.name.to_owned(),
        zoned.path.display().to_string(),
        format!("zones={}+{}", zoned.region.start, zoned.zones()),
        format!("capacity={}", zoned.capacity.0),
    ];
    all.extend(args.job.iter().cloned());
    all.extend(args.runtime.iter().map(|time| format!("runtime={time}")));
    all.extend(args.ramp_time.iter().map(|time| format!("ramp_time={time}")));
    all
}

/// Returns the name of a job file, such as `003-jobs=4,bs=64k.fio`.
fn file_name(index: usize, step: &SuiteStep) -> String {
    let words = axis::words(&step.settings).replace(' ', ",");
    format!("{index:03}-{words}.fio")
}

/// A running suite.
struct Running<'a> {
    zoned: &'a SuiteDevice,
    steps: &'a Steps,
    dir: &'a Path,
    runs: Runs,
}

impl Running<'_> {
    fn path(&self, index: usize) -> PathBuf {
        self.dir.join(file_name(index, &self.steps.steps[index]))
    }

    /// Writes and checks all job files, so that errors are reported before any data is lost.
    fn write_jobs(&self, loader: &mut dyn Loader) -> Result<(), SuiteError> {
        for (i, step) in self.steps.steps.iter().enumerate() {
            let path = self.path(i);
            state_file::write(&path, &step.job)?;
            check(&path.display().to_string(), loader)?;
        }
        Ok(())
    }

    fn is_done(&self, step: &SuiteStep) -> bool {
        self.runs.store.find(&step.settings).is_some()
    }

    /// Returns the indices of the remaining steps.
    fn left(&self, device: &dyn ZonedDevice) -> Result<Vec<usize>, SuiteError> {
        let zones = device.zones()?;
        let region = &zones[self.zoned.region.clone()];
        Ok(left(&self.steps.steps, region, |step| self.is_done(step)))
    }

    fn run(
        &mut self,
        args: &SuiteArgs,
        device: &ZonedNode,
        session: &mut Session,
        progress: &mut RunProgress<'_>,
    ) -> Result<CommandEnd, SuiteError> {
        let left = self.left(device)?;
        let (all, dir) = (self.steps.steps.len(), self.dir.display());
        progress.line(format_args!("{all} runs, {} left; results are kept in {dir}", left.len()));
        for left_out in &self.steps.left_out {
            progress.line(format_args!("left out: {left_out}"));
        }
        if left.is_empty() {
            return Ok(CommandEnd::Done);
        }
        self.agree(args, device, session, progress.stream())?;
        for (at, index) in left.iter().enumerate() {
            if self.runs.stop_requested() {
                return Ok(CommandEnd::Stopped);
            }
            let words = axis::words(&self.steps.steps[*index].settings);
            let what = format!("[{}/{}] {words}", at + 1, left.len());
            let runs_after = left.len() - at - 1;
            progress.begin(what, ExpectedTime::unknown(runs_after));
            let ran = self.step(*index, progress);
            if ran.is_err() {
                progress.end("failed");
            }
            if !ran? {
                return Ok(CommandEnd::Stopped);
            }
        }
        Ok(CommandEnd::Done)
    }

    /// Says which data will be lost and asks for confirmation.
    fn agree(
        &self,
        args: &SuiteArgs,
        device: &ZonedNode,
        session: &mut Session,
        progress: &mut dyn Write,
    ) -> Result<(), SuiteError> {
        let path = &self.zoned.path;
        check_unused(path)?;
        let zones = device.zones()?;
        let change = Change::new(ZoneAction::Reset, &zones, 0..zones.len());
        let to: &mut dyn Write = if args.yes { progress } else { session.err };
        let _ = writeln!(
            to,
            "{}: all data in its {} sequential zones will be lost: {} in {}",
            path.display(),
            zones.iter().filter(|zone| zone.is_sequential()).count(),
            rounded(change.lost),
            zones::change::zones(change.zones)
        );
        Ok(consent::obtain(args.yes, session.ask)?)
    }

    /// Runs a step. Returns false if the user interrupted it.
    fn step(&mut self, index: usize, progress: &mut RunProgress<'_>) -> Result<bool, SuiteError> {
        let step = &self.steps.steps[index];
        if step.reset {
            self.forget_after(index)?;
            self.reset()?;
        }
        let arguments = vec![self.path(index).display().to_string()];
        let read = |text: &str| row::read(step, "", text);
        let Some((row, took)) = self.runs.run(&step.settings, arguments, progress, read)? else {
            return Ok(false);
        };
        progress.end(in_words(&row, took.as_nanos() as u64));
        Ok(true)
    }

    /// Discards the results of later steps that depend on the zones which are about to be reset.
    fn forget_after(&mut self, index: usize) -> Result<(), SuiteError> {
        let after = self.steps.steps[index + 1..].iter().take_while(|step| !step.reset);
        for step in after.filter(|step| step.finds.is_some()) {
            self.runs.store.forget(&step.settings).map_err(RunError::from)?;
        }
        Ok(())
    }

    /// Resets every sequential zone that contains data.
    fn reset(&self) -> Result<(), SuiteError> {
        let path = &self.zoned.path;
        let device = ZonedNode::open(path, true)?;
        let zones = device.zones()?;
        let change = Change::new(ZoneAction::Reset, &zones, self.zoned.region.clone());
        // Hours may have passed since the confirmation, and another program may use the device now.
        Ok(change.carry_out(&device, &zones, &|| check_unused(path))?)
    }

    /// Returns the rows of the finished measured steps.
    fn rows(&self) -> Result<Vec<Row>, SuiteError> {
        let mut rows = Vec::new();
        for step in self.steps.steps.iter().filter(|step| step.kind != StepKind::Prepare) {
            let Some((done, _)) = self.runs.store.find(&step.settings) else { continue };
            let path = self.runs.store.path(done);
            let text = state_file::read_text(&path)?;
            let row = row::read(step, &done.file, &text);
            rows.push(row.map_err(|source| SuiteError::Outcome { path, source })?);
        }
        Ok(rows)
    }
}

/// Returns the indices of the steps to run: unfinished steps, the preparation if a later step needs
/// it and the device no longer contains its data, and the earlier steps on which an unfinished step
/// depends. For interrupted passes this is the whole series since its reset.
pub(crate) fn left(
    steps: &[SuiteStep],
    zones: &[Zone],
    is_done: impl Fn(&SuiteStep) -> bool,
) -> Vec<usize> {
    let measured = |step: &SuiteStep| step.kind != StepKind::Prepare && !is_done(step);
    if !steps.iter().any(measured) {
        return Vec::new();
    }
    let sums = ZoneSums::of(zones);
    let holds = sums.written >= sums.capacity / 2;
    let is_left = |step: &SuiteStep| match step.kind {
        StepKind::Prepare => !(holds && is_done(step)),
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
pub(crate) fn check(file: &str, loader: &mut dyn Loader) -> Result<(), Rejected> {
    let invocation = rejected::parse(&[file.to_owned()], loader)?;
    rejected::check_supported(&invocation)?;
    rejected::plan(&invocation).map(drop)
}

/// Summarises a run in one line.
fn in_words(row: &Row, ns: u64) -> String {
    let bw = rounded(row.outcome.bw_bytes);
    let latency = match (row.is_void(), row.outcome.mean_ns) {
        (true, _) => "rate not reached".into(),
        (false, Some(ns)) => format!("{} mean", latency(ns)),
        (false, None) => "no latency".into(),
    };
    format!("{bw}/s, {latency} ({})", clock(Nanos(ns)))
}
