//! Runs the points of a sweep in order and decides when it ends.

use std::io::Write;
use std::path::PathBuf;

use fiord_job::load::Loader;
use fiord_types::{Bytes, Nanos};

use crate::amount::{clock, latency};
use crate::axis::{self, Axis, PointSettings};
use crate::runs::outcome::{self, PointOutcome};
use crate::runs::{Launcher, RunError, Runs, label};
use crate::session::{CommandEnd, Session};
use crate::sweep::args::{SweepArgs, SweepFormat, Until};
use crate::sweep::error::SweepError;
use crate::sweep::job::{self, Job};
use crate::sweep::knee::{self, KneeReading};
use crate::sweep::load::{self, Loads};
use crate::sweep::results::{Knee, LoadPoint, SweepResults};
use crate::sweep::table;

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
    let mut sweep = prepare(args, loader, (program, version), progress)?;
    let end = sweep.everything(loader, progress);
    let results = sweep.results(matches!(end, Ok(CommandEnd::Done)));
    let document = table::json(&results);
    let kept = sweep.runs.store.keep_results(&document);
    let text = match args.format {
        SweepFormat::Table => table::table(&results),
        SweepFormat::Json => document,
        SweepFormat::Csv => table::csv(&results),
    };
    let printed = session.print(&text);
    let end = end?;
    printed?;
    kept.map_err(RunError::from)?;
    Ok(end)
}

fn prepare(
    args: &SweepArgs,
    loader: &mut dyn Loader,
    program: (PathBuf, &str),
    progress: &mut dyn Write,
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
    let points = axis::product(&axes);
    // All points name the same hosts.
    let first = points.first().map(|point| job.arguments(point)).unwrap_or_default();
    let hosts = args.hosts.count(&first, loader)?;
    let mut longest = Vec::with_capacity(points.len());
    for point in &points {
        longest.push(job.check(point, loader)?);
        if loads.is_some() {
            job.instances(point, loader)?;
        }
    }
    let dir = args.dir.clone().unwrap_or_else(|| PathBuf::from(format!("{}.sweep", job.name)));
    let bare: PointSettings = axes.iter().map(|a| (a.name.clone(), "…".into())).collect();
    let runs = Runs::open(program, &dir, &job.command(&bare), args.restart)?;
    let until = args.until;
    let at_rates = Vec::new();
    let sweep = Sweep { job, hosts, axes, points, longest, runs, until, loads, at_rates };
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
    points: Vec<PointSettings>,
    /// Maximum duration of each point in nanoseconds; 0 if unknown.
    longest: Vec<u64>,
    runs: Runs,
    until: Option<Until>,
    loads: Option<Loads>,
    /// The points of `--rate`, known after the highest rate is measured: percentage, rate and
    /// settings.
    at_rates: Vec<(u32, String, PointSettings)>,
}

impl Sweep {
    /// Runs all combinations, then the points of `--rate`.
    fn everything(
        &mut self,
        loader: &mut dyn Loader,
        progress: &mut dyn Write,
    ) -> Result<CommandEnd, SweepError> {
        let end = self.run(progress)?;
        let Some(Loads(percents)) = self.loads.clone().filter(|_| end == CommandEnd::Done) else {
            return Ok(end);
        };
        let known = self.points.iter().enumerate().filter_map(|(i, point)| {
            let (_, outcome) = self.runs.store.find(point)?;
            Some((i, outcome))
        });
        let highest = known.max_by(|(_, a), (_, b)| a.iops.total_cmp(&b.iops));
        let (i, highest) = highest.ok_or(SweepError::NoHighestRate)?;
        let at = self.points[i].clone();
        let instances = self.job.instances(&at, loader)? * self.hosts.unwrap_or(1);
        for percent in percents {
            let rate = load::rate(&highest, instances, percent).ok_or(SweepError::NoRate)?;
            self.at_rates.push((percent, rate.clone(), load::settings(&at, rate)));
        }
        let points: Vec<PointSettings> =
            self.at_rates.iter().map(|(.., point)| point.clone()).collect();
        let longest = vec![self.longest[i]; points.len()];
        for point in &points {
            self.job.check(point, loader)?;
        }
        let place = if at.is_empty() { String::new() } else { format!(" at {}", axis::words(&at)) };
        let whole: u64 = longest.iter().sum();
        let length =
            if whole > 0 { format!(", at most {}", clock(Nanos(whole))) } else { String::new() };
        let count = points.len();
        let _ = writeln!(
            progress,
            "highest rate: {:.0} IOPS{place}; {count} loads{length}",
            highest.iops
        );
        for i in 0..points.len() {
            let done = self.runs.store.find(&points[i]).is_some();
            if !done && self.point((&points, &longest), i, progress)?.is_none() {
                return Ok(CommandEnd::Stopped);
            }
        }
        Ok(CommandEnd::Done)
    }

    /// Announces the number of points and their duration.
    fn announce(&self, dir: &std::path::Path, progress: &mut dyn Write) {
        let left: Vec<usize> = (0..self.points.len())
            .filter(|i| self.runs.store.find(&self.points[*i]).is_none())
            .collect();
        let done = self.points.len() - left.len();
        let known: u64 = left.iter().map(|i| self.longest[*i]).sum();
        let unknown = left.iter().filter(|i| self.longest[**i] == 0).count();
        let _ = write!(progress, "{}: {} points", self.job.name, self.points.len());
        if let Some(hosts) = self.hosts {
            let _ = write!(progress, " on {hosts} hosts");
        }
        if done > 0 {
            let _ = write!(progress, ", {done} already done");
        }
        let _ = match (left.len(), unknown, known) {
            (0, ..) => write!(progress, ", nothing left to run"),
            (_, 0, ns) => write!(progress, ", at most {}", clock(Nanos(ns))),
            (_, _, 0) => write!(progress, ", of unknown length (the job has no runtime)"),
            (_, n, ns) => {
                write!(progress, ", {} and {n} points of unknown length", clock(Nanos(ns)))
            }
        };
        let _ = writeln!(progress, "; runs are kept in {}", dir.display());
    }

    /// Runs the points that are not done yet.
    fn run(&mut self, progress: &mut dyn Write) -> Result<CommandEnd, SweepError> {
        let mut before: Option<KneeReading> = None;
        let (points, longest) = (self.points.clone(), self.longest.clone());
        for i in 0..points.len() {
            let point = points[i].clone();
            let known = self.runs.store.find(&point).map(|(_, outcome)| outcome);
            let outcome = match known {
                Some(outcome) => outcome,
                None => match self.point((&points, &longest), i, progress)? {
                    Some(outcome) => outcome,
                    None => return Ok(CommandEnd::Stopped),
                },
            };
            let now = reading(&outcome);
            if self.until == Some(Until::Saturated)
                && before.as_ref().is_some_and(|before| knee::saturated(before, &now))
            {
                let _ = writeln!(progress, "saturated");
                return Ok(CommandEnd::Done);
            }
            before = Some(now);
        }
        Ok(CommandEnd::Done)
    }

    /// Runs one point. Returns `None` if the user interrupted it.
    fn point(
        &mut self,
        (points, longest): (&[PointSettings], &[u64]),
        i: usize,
        progress: &mut dyn Write,
    ) -> Result<Option<PointOutcome>, SweepError> {
        if self.runs.stop_requested() {
            return Ok(None);
        }
        let point = &points[i];
        let _ = write!(progress, "[{}/{}] {} … ", i + 1, points.len(), label(point));
        let _ = progress.flush();
        let arguments = self.job.command(point);
        let ran = self.runs.run(point, arguments, progress, outcome::read)?;
        let Some((outcome, _)) = ran else { return Ok(None) };
        let left: u64 = longest[i + 1..].iter().sum();
        let mean = outcome.mean_ns.map_or("-".into(), latency);
        let rest =
            if left > 0 { format!(", at most {} left", clock(Nanos(left))) } else { String::new() };
        let _ = writeln!(progress, "{:.0} IOPS, {mean} mean{rest}", outcome.iops);
        Ok(Some(outcome))
    }

    fn results(&self, complete: bool) -> SweepResults {
        let found =
            |p: &PointSettings| self.runs.store.find(p).map(|(_, outcome)| (p.clone(), outcome));
        let mut points: Vec<(PointSettings, PointOutcome)> =
            self.points.iter().filter_map(found).collect();
        if self.until.is_some() {
            cut_at_saturation(&mut points);
        }
        let load = |(percent, rate, point): &(u32, String, PointSettings)| {
            let (_, outcome) = self.runs.store.find(point)?;
            Some(LoadPoint { percent: *percent, rate: rate.clone(), outcome })
        };
        let loads: Vec<LoadPoint> = self.at_rates.iter().filter_map(load).collect();
        SweepResults {
            load_knee: load_knee(&loads),
            loads,
            job: self.job.name.clone(),
            axes: self.axes.clone(),
            knees: knees(&self.axes, &points),
            points,
            complete,
        }
    }
}

/// Drops points beyond saturation, which an earlier sweep without `--until` may have run.
fn cut_at_saturation(points: &mut Vec<(PointSettings, PointOutcome)>) {
    let line: Vec<KneeReading> = points.iter().map(|(_, outcome)| reading(outcome)).collect();
    if let Some(at) = knee::knee(&line) {
        points.truncate(at + 2);
    }
}

/// The throughput and latency by which the knee is found: bytes per second, or IOPS if no bytes
/// moved.
fn reading(outcome: &PointOutcome) -> KneeReading {
    let throughput = match outcome.bw_bytes {
        Bytes::ZERO => outcome.iops,
        bytes => bytes.0 as f64,
    };
    KneeReading { throughput, latency: outcome.mean_ns }
}

/// Finds the knee of the loads by the latencies from the intended start.
fn load_knee(loads: &[LoadPoint]) -> Option<u32> {
    let one = |load: &LoadPoint| KneeReading {
        latency: load.outcome.due.as_ref().map(|due| due.mean_ns),
        ..reading(&load.outcome)
    };
    let line: Vec<KneeReading> = loads.iter().map(one).collect();
    knee::knee(&line).map(|i| loads[i].percent)
}

/// Finds a knee along the first increasing axis for each combination of the other axes.
fn knees(axes: &[Axis], points: &[(PointSettings, PointOutcome)]) -> Vec<Knee> {
    let Some(increasing) = axes.iter().find(|a| axis::is_increasing(a)) else { return Vec::new() };
    let others: Vec<Axis> = axes.iter().filter(|a| a.name != increasing.name).cloned().collect();
    let mut out = Vec::new();
    for with in axis::product(&others) {
        let line: Vec<&(PointSettings, PointOutcome)> =
            points.iter().filter(|(s, _)| with.iter().all(|w| s.contains(w))).collect();
        if line.len() < 2 {
            continue;
        }
        let readings: Vec<KneeReading> = line.iter().map(|(_, outcome)| reading(outcome)).collect();
        let at = knee::knee(&readings).map(|i| {
            let (settings, outcome) = line[i];
            let value = axis::value(settings, &increasing.name).unwrap_or_default();
            (value.to_owned(), outcome.clone())
        });
        let with = with.into_iter().filter(|(n, _)| several(axes, n)).collect();
        out.push(Knee { along: increasing.name.clone(), with, at });
    }
    out
}

fn several(axes: &[Axis], name: &str) -> bool {
    axes.iter().any(|a| a.name == name && a.values.len() > 1)
}
