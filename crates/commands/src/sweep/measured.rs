//! The points of a sweep and their runs.

use fiord_compare::distribution::student_upper;
use fiord_compare::few::pooled_deviation;
use fiord_compare::run_values;
use fiord_types::Nanos;

use crate::axis::PointSettings;
use crate::runs::outcome::{self, OutcomeError, PointOutcome};
use crate::runs::store::RunDirectory;
use crate::sweep::knee::{CONFIDENCE, KneeRun};

/// What tells the further runs of a point apart in the list of finished runs.
const REPEAT: &str = "repeat";

/// The settings of the point to which a run in the list of finished runs belongs.
#[must_use]
pub fn point_of(mut key: PointSettings) -> PointSettings {
    key.retain(|(name, _)| name != REPEAT);
    key
}

/// A finished run of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct PointRun {
    /// Results of the run.
    pub outcome: PointOutcome,
    /// What the knee is found by.
    pub knee: KneeRun,
}

/// Reads the JSON of a run.
///
/// # Errors
/// The text is not the report of a run, or a job failed.
pub fn read(text: &str) -> Result<PointRun, OutcomeError> {
    let report = fiord_report::read(text)?;
    let outcome = outcome::of_report(&report)?;
    let knee = KneeRun {
        iops: outcome.iops,
        bandwidth: outcome.bw_bytes.as_f64(),
        latency: outcome.mean_ns,
        windows: run_values::windows_of_run(&report),
    };
    Ok(PointRun { outcome, knee })
}

#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredPoint {
    pub settings: PointSettings,
    /// Maximum duration of a run; 0 if unknown.
    pub longest: Nanos,
    /// The finished runs, by their number less one.
    runs: Vec<Option<PointRun>>,
}

impl MeasuredPoint {
    /// A point of which no run is finished.
    #[must_use]
    pub fn new(settings: PointSettings, longest: Nanos, repeat: u32) -> Self {
        MeasuredPoint { settings, longest, runs: vec![None; repeat as usize] }
    }

    /// Takes over the runs that an earlier call finished.
    pub fn load(&mut self, store: &RunDirectory) {
        for i in 0..self.runs.len() {
            let found = store.find_with(&self.key(i as u32 + 1), read);
            self.runs[i] = found.map(|(_, run)| run);
        }
    }

    /// Identifies a run among all runs of a sweep. The first run has the settings of its point, so that the runs of a sweep
    /// without repetitions count when it is repeated.
    #[must_use]
    pub fn key(&self, number: u32) -> PointSettings {
        let mut key = self.settings.clone();
        if number > 1 {
            key.push((REPEAT.into(), number.to_string()));
        }
        key
    }

    /// Whether a run is finished.
    #[must_use]
    pub fn has(&self, number: u32) -> bool {
        self.runs.get(number as usize - 1).is_some_and(Option::is_some)
    }

    /// Number of runs that are not finished.
    #[must_use]
    pub fn left(&self) -> usize {
        self.runs.iter().filter(|run| run.is_none()).count()
    }

    /// Records a finished run.
    pub fn finish(&mut self, number: u32, run: PointRun) {
        if let Some(place) = self.runs.get_mut(number as usize - 1) {
            *place = Some(run);
        }
    }

    /// The finished runs for the search of a knee.
    #[must_use]
    pub fn knee_runs(&self) -> Vec<KneeRun> {
        self.runs.iter().flatten().map(|run| run.knee.clone()).collect()
    }

    /// The finished runs with the latencies from the intended start. The windows of a run have no such latencies.
    #[must_use]
    pub fn knee_runs_from_due(&self) -> Vec<KneeRun> {
        let one = |run: &PointRun| {
            let mut knee = run.knee.clone();
            knee.latency = run.outcome.due.as_ref().map(|due| due.mean_ns);
            knee.windows.iter_mut().for_each(|window| window.latencies = Default::default());
            knee
        };
        self.runs.iter().flatten().map(one).collect()
    }

    /// The results of the finished runs; `None` if there are none.
    #[must_use]
    pub fn results(&self) -> Option<RepeatedOutcome> {
        let runs: Vec<PointOutcome> =
            self.runs.iter().flatten().map(|run| run.outcome.clone()).collect();
        (!runs.is_empty()).then(|| RepeatedOutcome::of(runs))
    }
}

/// The results of a point.
#[derive(Debug, Clone, PartialEq)]
pub struct RepeatedOutcome {
    /// The median of each number.
    pub median: PointOutcome,
    /// The results of each run.
    pub runs: Vec<PointOutcome>,
}

impl RepeatedOutcome {
    /// The results of these runs, of which there is at least one.
    #[must_use]
    pub fn of(runs: Vec<PointOutcome>) -> Self {
        RepeatedOutcome { median: outcome::median_of(&runs), runs }
    }

    /// The distance from the mean of the IOPS to the ends of its confidence interval, as a share. Logarithms of runs are
    /// assumed to vary like a normal distribution. `None` for fewer than two runs.
    #[must_use]
    pub fn iops_half_width(&self) -> Option<f64> {
        let iops: Vec<f64> = self.runs.iter().map(|run| run.iops).collect();
        if iops.iter().any(|iops| *iops <= 0.0) {
            return None;
        }
        let deviation = pooled_deviation(&[&iops])?;
        let runs = iops.len() as f64;
        let half = student_upper((1.0 - CONFIDENCE) / 2.0, runs - 1.0) * deviation / runs.sqrt();
        Some(half.exp_m1())
    }
}
