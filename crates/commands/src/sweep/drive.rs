//! Runs the points of a sweep in order and decides when it ends.

use std::path::PathBuf;

use fiord_job::load::Loader;
use fiord_types::Nanos;

use crate::amount::clock;
use crate::axis::{self, Axis, PointSettings};
use crate::runs::progress::RunProgress;
use crate::runs::{Launcher, RunError, Runs};
use crate::session::{CommandEnd, Session};
use crate::sweep::args::{SweepArgs, SweepFormat, Until};
use crate::sweep::error::SweepError;
use crate::sweep::job::{self, Job};
use crate::sweep::knee;
use crate::sweep::load::{self, Loads};
use crate::sweep::measured::{MeasuredPoint, RepeatedOutcome};
use crate::sweep::results::{Knee, LoadPoint, SweepPoint, SweepResults};
use crate::sweep::rounds::Rounds;
use crate::sweep::{csv, json, table};

/// Runs a sweep and prints its results.
///
/// # Errors
/// The sweep is impossible, or a run failed. In the latter case the results of the finished runs are
/// printed all the same.
pub fn run(
    args: &SweepArgs,
    session: &mut Session,
    launcher: Launcher,
) -> Result<CommandEnd, SweepError> {
    let Launcher { program, version, loader, progress } = launcher;
    let mut sweep = prepare(args, loader, program, version, progress)?;
    let end = sweep.everything(loader, progress);
    let results = sweep.results(matches!(end, Ok(CommandEnd::Done)));
    let document = json::json(&results);
    let kept = sweep.runs.store.keep_results(&document);
    let printed = match args.format {
        SweepFormat::Table => session.print(&table::table(&results)),
        SweepFormat::Json => session.print_document(&document),
        SweepFormat::Csv => session.print_document(&csv::csv(&results)),
    };
    let end = end?;
    printed?;
    kept.map_err(RunError::from)?;
    Ok(end)
}

fn prepare(
    args: &SweepArgs,
    loader: &mut dyn Loader,
    program: PathBuf,
    version: &str,
    progress: &mut RunProgress<'_>,
) -> Result<Sweep, SweepError> {
    let axes = axis::read_all(&args.set)?;
    let loads = args.rate.as_deref().map(load::read).transpose()?;
    if axes.is_empty() && loads.is_none() {
        return Err(SweepError::NothingToSweep);
    }
    if args.until.is_some() {
        check_until_axes(&axes)?;
    }
    let mut job = job::read(&args.job, loader)?;
    job.hosts = args.hosts.clone();
    let settings = axis::product(&axes);
    // All points name the same hosts.
    let first = settings.first().map(|point| job.arguments(point)).unwrap_or_default();
    let hosts = args.hosts.count(&first, loader)?;
    let mut points = Vec::with_capacity(settings.len());
    for point in settings {
        let longest = Nanos(job.check(&point, loader)?);
        if loads.is_some() {
            job.instances(&point, loader)?;
        }
        points.push(MeasuredPoint::new(point, longest, args.repeat()));
    }
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(format!("{}.sweep", job.name)));
    let bare: PointSettings = axes.iter().map(|a| (a.name.clone(), "…".into())).collect();
    let runs = Runs::open(program, version, &dir, &job.command(&bare), args.restart)?;
    points.iter_mut().for_each(|point| point.load(&runs.store));
    let points = Rounds::new(points, args.repeat());
    let at_rates = Rounds::new(Vec::new(), args.repeat());
    let until = args.until;
    let sweep = Sweep { job, hosts, axes, points, runs, until, loads, at_rates, rates: Vec::new() };
    sweep.announce(&dir, progress);
    Ok(sweep)
}

/// Checks that exactly one axis has several values, as `--until` requires.
fn check_until_axes(axes: &[Axis]) -> Result<(), SweepError> {
    let several: Vec<&Axis> = axes.iter().filter(|a| a.values.len() > 1).collect();
    match several.as_slice() {
        [axis] if axis::is_increasing(axis) => Ok(()),
        [axis] => Err(SweepError::NotIncreasing { axis: axis.name.clone() }),
        [] => Err(SweepError::NoAxis),
        [first, second, ..] => {
            Err(SweepError::SeveralAxes { first: first.name.clone(), second: second.name.clone() })
        }
    }
}

struct Sweep {
    job: Job,
    /// Number of hosts that run each point; `None` if this machine does.
    hosts: Option<u64>,
    axes: Vec<Axis>,
    points: Rounds,
    runs: Runs,
    until: Option<Until>,
    loads: Option<Loads>,
    /// The points of `--rate`, known after the highest rate is measured.
    at_rates: Rounds,
    /// Percentage and rate of each of them.
    rates: Vec<(u32, String)>,
}

impl Sweep {
    /// Runs all combinations, then the points of `--rate`.
    fn everything(
        &mut self,
        loader: &mut dyn Loader,
        progress: &mut RunProgress<'_>,
    ) -> Result<CommandEnd, SweepError> {
        let end = match self.until {
            Some(Until::Saturated) => {
                self.points.until_saturated(&self.job, &mut self.runs, progress)?
            }
            None => self.points.all(&self.job, &mut self.runs, progress)?,
        };
        let Some(Loads(percents)) = self.loads.clone().filter(|_| end == CommandEnd::Done) else {
            return Ok(end);
        };
        self.plan_loads(&percents, loader, progress)?;
        Ok(self.at_rates.all(&self.job, &mut self.runs, progress)?)
    }

    /// Derives the points of `--rate` from the highest rate of the other points.
    fn plan_loads(
        &mut self,
        percents: &[u32],
        loader: &mut dyn Loader,
        progress: &mut RunProgress<'_>,
    ) -> Result<(), SweepError> {
        let known = self.points.points.iter().filter_map(|p| Some((p, p.results()?.median)));
        let highest = known.max_by(|(_, a), (_, b)| a.iops.total_cmp(&b.iops));
        let (at, highest) = highest.ok_or(SweepError::NoHighestRate)?;
        let instances = self.job.instances(&at.settings, loader)? * self.hosts.unwrap_or(1);
        let place = match at.settings.is_empty() {
            true => String::new(),
            false => format!(" at {}", axis::words(&at.settings)),
        };
        for percent in percents {
            let rate = load::rate(&highest, instances, *percent).ok_or(SweepError::NoRate)?;
            let settings = load::settings(&at.settings, rate.clone());
            self.job.check(&settings, loader)?;
            let mut point = MeasuredPoint::new(settings, at.longest, self.at_rates.repeat());
            point.load(&self.runs.store);
            self.at_rates.points.push(point);
            self.rates.push((*percent, rate));
        }
        let (whole, _) = self.at_rates.left();
        let length = match whole {
            Nanos::ZERO => String::new(),
            whole => format!(", at most {}", clock(whole)),
        };
        progress.line(format_args!(
            "highest rate: {:.0} IOPS{place}; {} loads{length}",
            highest.iops,
            percents.len()
        ));
        Ok(())
    }

    /// Announces the number of points and their duration.
    fn announce(&self, dir: &std::path::Path, progress: &mut RunProgress<'_>) {
        let mut text = format!("{}: {} points", self.job.name, self.points.points.len());
        if let Some(hosts) = self.hosts {
            text += &format!(" on {hosts} hosts");
        }
        if self.points.repeat() > 1 {
            text += &format!(", {} runs each", self.points.repeat());
        }
        let done = self.points.finished();
        if done > 0 {
            let runs = if self.points.repeat() > 1 { " runs" } else { "" };
            text += &format!(", {done}{runs} already done");
        }
        text += &match (self.points.total() - done, self.points.left()) {
            (0, _) => ", nothing left to run".to_owned(),
            (_, (time, 0)) => format!(", at most {}", clock(time)),
            (_, (Nanos::ZERO, _)) => ", of unknown length (the job has no runtime)".into(),
            (_, (time, n)) => format!(", {} and {n} points of unknown length", clock(time)),
        };
        progress.line(format_args!("{text}; runs are kept in {}", dir.display()));
    }

    fn results(&self, complete: bool) -> SweepResults {
        let mut points: Vec<&MeasuredPoint> = self.points.measured();
        if self.until.is_some() {
            cut_at_saturation(&mut points);
        }
        let knees = knees(&self.axes, &points);
        let shown = |point: &MeasuredPoint| {
            let results = point.results()?;
            Some(SweepPoint { settings: point.settings.clone(), results })
        };
        let loads = self.rates.iter().zip(&self.at_rates.points);
        let loads: Vec<(&MeasuredPoint, LoadPoint)> = loads
            .filter_map(|((percent, rate), point)| {
                let (percent, rate, results) = (*percent, rate.clone(), point.results()?);
                Some((point, LoadPoint { percent, rate, results }))
            })
            .collect();
        SweepResults {
            load_knee: load_knee(&loads),
            loads: loads.into_iter().map(|(_, load)| load).collect(),
            job: self.job.name.clone(),
            axes: self.axes.clone(),
            knees,
            points: points.into_iter().filter_map(shown).collect(),
            complete,
        }
    }
}

/// Drops points beyond saturation, which an earlier sweep without `--until` may have run.
fn cut_at_saturation(points: &mut Vec<&MeasuredPoint>) {
    let line: Vec<Vec<knee::KneeRun>> = points.iter().map(|point| point.knee_runs()).collect();
    let found = knee::estimate(&line);
    if let Some(last) = found.candidates.last().filter(|_| !found.none_possible) {
        points.truncate(last + 2);
    }
}

/// Finds the knee of the loads by the latencies from the intended start.
fn load_knee(loads: &[(&MeasuredPoint, LoadPoint)]) -> Option<Knee> {
    if loads.len() < 2 {
        return None;
    }
    let line: Vec<Vec<knee::KneeRun>> =
        loads.iter().map(|(point, _)| point.knee_runs_from_due()).collect();
    let offered =
        |i: usize| f64::from(loads[i + 1].1.percent) / f64::from(loads[i].1.percent) - 1.0;
    // A small step of the load can only add little throughput.
    let estimate = knee::estimate_with(&line, |i| knee::GAIN.min(offered(i) / 2.0));
    let one = |load: &LoadPoint| (format!("{}%", load.percent), load.results.clone());
    let line = loads.iter().map(|(_, load)| one(load)).collect();
    Some(Knee { along: "load".into(), with: Vec::new(), line, estimate })
}

/// Finds a knee along the first increasing axis for each combination of the other axes.
fn knees(axes: &[Axis], points: &[&MeasuredPoint]) -> Vec<Knee> {
    let Some(increasing) = axes.iter().find(|a| axis::is_increasing(a)) else { return Vec::new() };
    let others: Vec<Axis> = axes.iter().filter(|a| a.name != increasing.name).cloned().collect();
    let mut out = Vec::new();
    for with in axis::product(&others) {
        let on_line = |point: &&&MeasuredPoint| with.iter().all(|w| point.settings.contains(w));
        let points: Vec<&MeasuredPoint> = points.iter().filter(on_line).copied().collect();
        if points.len() < 2 {
            continue;
        }
        let runs: Vec<Vec<knee::KneeRun>> = points.iter().map(|point| point.knee_runs()).collect();
        let one = |point: &&MeasuredPoint| {
            let value = axis::value(&point.settings, &increasing.name).unwrap_or_default();
            Some((value.to_owned(), point.results()?))
        };
        let line: Vec<(String, RepeatedOutcome)> = points.iter().filter_map(one).collect();
        let with = with.into_iter().filter(|(n, _)| several(axes, n)).collect();
        let estimate = knee::estimate(&runs);
        out.push(Knee { along: increasing.name.clone(), with, line, estimate });
    }
    out
}

fn several(axes: &[Axis], name: &str) -> bool {
    axes.iter().any(|a| a.name == name && a.values.len() > 1)
}
