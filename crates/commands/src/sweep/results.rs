//! Results of a sweep.

use crate::axis::{Axis, PointSettings};
use crate::runs::outcome::PointOutcome;
use crate::sweep::knee::KneeEstimate;
use crate::sweep::measured::{self, RepeatedOutcome};

#[derive(Debug)]
pub struct SweepResults {
    pub job: String,
    pub axes: Vec<Axis>,
    /// Finished points in the order of the axes.
    pub points: Vec<SweepPoint>,
    /// Knees, one for each line of points.
    pub knees: Vec<Knee>,
    /// Runs of `--rate`.
    pub loads: Vec<LoadPoint>,
    /// The knee of the loads; `None` for fewer than two loads.
    pub load_knee: Option<Knee>,
    /// Whether all points are finished.
    pub complete: bool,
}

impl SweepResults {
    /// The results of an unfinished sweep, from its finished runs alone.
    #[must_use]
    pub fn of_runs(job: String, finished: Vec<(PointSettings, PointOutcome)>) -> Self {
        let mut axes: Vec<Axis> = Vec::new();
        let mut points: Vec<(PointSettings, Vec<PointOutcome>)> = Vec::new();
        for (key, outcome) in finished {
            let settings = measured::point_of(key);
            for (name, value) in &settings {
                match axes.iter_mut().find(|axis| axis.name == *name) {
                    Some(axis) if axis.values.contains(value) => {}
                    Some(axis) => axis.values.push(value.clone()),
                    None => axes.push(Axis { name: name.clone(), values: vec![value.clone()] }),
                }
            }
            match points.iter_mut().find(|(point, _)| *point == settings) {
                Some((_, runs)) => runs.push(outcome),
                None => points.push((settings, vec![outcome])),
            }
        }
        let point = |(settings, runs)| SweepPoint { settings, results: RepeatedOutcome::of(runs) };
        SweepResults {
            job,
            axes,
            points: points.into_iter().map(point).collect(),
            knees: Vec::new(),
            loads: Vec::new(),
            load_knee: None,
            complete: false,
        }
    }
}

/// A finished point.
#[derive(Debug, Clone)]
pub struct SweepPoint {
    pub settings: PointSettings,
    /// Results of its runs.
    pub results: RepeatedOutcome,
}

/// A run at a percentage of the highest rate.
#[derive(Debug, Clone)]
pub struct LoadPoint {
    /// Percentage of the highest rate.
    pub percent: u32,
    /// `rate_iops` of each instance.
    pub rate: String,
    /// Results of its runs.
    pub results: RepeatedOutcome,
}

/// The knee of a line of points that differ only in one option.
#[derive(Debug, Clone)]
pub struct Knee {
    /// The option that varies; `load` for the loads of `--rate`.
    pub along: String,
    /// Values of the other options.
    pub with: PointSettings,
    /// Value of the option and results of each point of the line.
    pub line: Vec<(String, RepeatedOutcome)>,
    /// Where the knee is.
    pub estimate: KneeEstimate,
}
