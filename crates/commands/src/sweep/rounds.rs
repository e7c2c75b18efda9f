//! Measures a set of points, each several times in interleaved rounds.

use fiord_types::Nanos;

use crate::amount::latency;
use crate::runs::order::order;
use crate::runs::progress::{ExpectedTime, RunProgress};
use crate::runs::{RunError, Runs, label};
use crate::session::CommandEnd;
use crate::sweep::job::Job;
use crate::sweep::knee::{self, KneeEstimate, KneeRun};
use crate::sweep::measured::{self, MeasuredPoint};

/// A set of points.
#[derive(Debug)]
pub struct Rounds {
    /// The points in the order of the axes.
    pub points: Vec<MeasuredPoint>,
    /// How often each is run.
    repeat: u32,
}

impl Rounds {
    /// Points, each of which is run so often.
    #[must_use]
    pub fn new(points: Vec<MeasuredPoint>, repeat: u32) -> Self {
        Rounds { points, repeat }
    }

    /// How often each point is run.
    #[must_use]
    pub fn repeat(&self) -> u32 {
        self.repeat
    }

    /// Number of runs.
    #[must_use]
    pub fn total(&self) -> usize {
        self.points.len() * self.repeat as usize
    }

    /// Number of finished runs.
    #[must_use]
    pub fn finished(&self) -> usize {
        self.total() - self.points.iter().map(MeasuredPoint::left).sum::<usize>()
    }

    /// The points with finished runs.
    #[must_use]
    pub fn measured(&self) -> Vec<&MeasuredPoint> {
        self.points.iter().filter(|point| point.results().is_some()).collect()
    }

    /// How long the runs that are not finished take at most, and how many of them have an unknown length.
    #[must_use]
    pub fn left(&self) -> (Nanos, usize) {
        let time = |point: &MeasuredPoint| point.longest.saturating_mul(point.left() as u64);
        let unknown = self.points.iter().filter(|point| point.longest == Nanos::ZERO);
        (self.points.iter().map(time).sum(), unknown.map(MeasuredPoint::left).sum())
    }

    /// Runs everything that is not finished.
    ///
    /// # Errors
    /// A run failed.
    pub fn all(
        &mut self,
        job: &Job,
        runs: &mut Runs,
        progress: &mut RunProgress<'_>,
    ) -> Result<CommandEnd, RunError> {
        self.up_to(self.points.len(), job, runs, progress)
    }

    /// Runs one point after the other, until a step certainly does not pay off. As soon as a step seems not to, all points
    /// so far are repeated, because one noisy step proves nothing.
    ///
    /// # Errors
    /// A run failed.
    pub fn until_saturated(
        &mut self,
        job: &Job,
        runs: &mut Runs,
        progress: &mut RunProgress<'_>,
    ) -> Result<CommandEnd, RunError> {
        let mut end = self.points.len();
        for i in 0..self.points.len() {
            if !self.run(i, 1, job, runs, progress)? {
                return Ok(CommandEnd::Stopped);
            }
            let mut found = self.estimate(i + 1);
            if self.repeat > 1 && found.measured.is_some() {
                if self.up_to(i + 1, job, runs, progress)? == CommandEnd::Stopped {
                    return Ok(CommandEnd::Stopped);
                }
                found = self.estimate(i + 1);
            }
            if !found.none_possible {
                progress.line("saturated");
                end = i + 1;
                break;
            }
        }
        self.up_to(end, job, runs, progress)
    }

    fn estimate(&self, end: usize) -> KneeEstimate {
        let line: Vec<Vec<KneeRun>> =
            self.points[..end].iter().map(MeasuredPoint::knee_runs).collect();
        knee::estimate(&line)
    }

    /// Runs what is not finished of the first `end` points.
    fn up_to(
        &mut self,
        end: usize,
        job: &Job,
        runs: &mut Runs,
        progress: &mut RunProgress<'_>,
    ) -> Result<CommandEnd, RunError> {
        for (i, number) in order(end, self.repeat, true) {
            if !self.run(i, number, job, runs, progress)? {
                return Ok(CommandEnd::Stopped);
            }
        }
        Ok(CommandEnd::Done)
    }

    /// Runs a point, unless that run is finished. Returns false if the user interrupted it.
    fn run(
        &mut self,
        i: usize,
        number: u32,
        job: &Job,
        runs: &mut Runs,
        progress: &mut RunProgress<'_>,
    ) -> Result<bool, RunError> {
        if self.points[i].has(number) {
            return Ok(true);
        }
        if runs.stop_requested() {
            return Ok(false);
        }
        let (total, done) = (self.total(), self.finished());
        let point = &self.points[i];
        let (key, longest) = (point.key(number), point.longest);
        let mut what = format!("[{}/{total}] {}", done + 1, label(&point.settings));
        if self.repeat > 1 {
            what += &format!(", run {number} of {}", self.repeat);
        }
        let left = self.left().0.saturating_sub(longest);
        let expected = ExpectedTime::known(longest, left, total - done - 1);
        progress.begin(what, expected);
        let arguments = job.repeated_command(&point.settings, number);
        let Some((run, _)) = runs.run(&key, arguments, progress, measured::read)? else {
            return Ok(false);
        };
        let mean = run.outcome.mean_ns.map_or("-".into(), latency);
        let rest = match left {
            Nanos::ZERO => String::new(),
            left => format!(", at most {} left", crate::amount::clock(left)),
        };
        progress.end(format_args!("{:.0} IOPS, {mean} mean{rest}", run.outcome.iops));
        self.points[i].finish(number, run);
        Ok(true)
    }
}
