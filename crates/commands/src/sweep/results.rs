//! Results of a sweep.

use crate::axis::{Axis, PointSettings};
use crate::runs::outcome::PointOutcome;

/// Results of a sweep.
#[derive(Debug)]
pub struct SweepResults {
    /// Name of the job.
    pub job: String,
    /// Axes of the sweep.
    pub axes: Vec<Axis>,
    /// Finished points in the order of the axes.
    pub points: Vec<(PointSettings, PointOutcome)>,
    /// Knees, one for each line of points.
    pub knees: Vec<Knee>,
    /// Runs of `--rate`.
    pub loads: Vec<LoadPoint>,
    /// Percentage of the highest rate at the knee.
    pub load_knee: Option<u32>,
    /// Whether all points are finished.
    pub complete: bool,
}

impl SweepResults {
    /// The results of an unfinished sweep, from its points alone.
    #[must_use]
    pub fn of_points(job: String, points: Vec<(PointSettings, PointOutcome)>) -> Self {
        let mut axes: Vec<Axis> = Vec::new();
        for (name, value) in points.iter().flat_map(|(settings, _)| settings) {
            match axes.iter_mut().find(|axis| axis.name == *name) {
                Some(axis) if axis.values.contains(value) => {}
                Some(axis) => axis.values.push(value.clone()),
                None => axes.push(Axis { name: name.clone(), values: vec![value.clone()] }),
            }
        }
        let (knees, loads) = (Vec::new(), Vec::new());
        SweepResults { job, axes, points, knees, loads, load_knee: None, complete: false }
    }
}

/// A run at a percentage of the highest rate.
#[derive(Debug, Clone)]
pub struct LoadPoint {
    /// Percentage of the highest rate.
    pub percent: u32,
    /// `rate_iops` of each instance.
    pub rate: String,
    /// Results of the run.
    pub outcome: PointOutcome,
}

/// The knee of a line of points that differ only in one option.
#[derive(Debug, Clone)]
pub struct Knee {
    /// The option that varies.
    pub along: String,
    /// Values of the other options.
    pub with: PointSettings,
    /// Value of the option at the knee and the results there; `None` if every step pays off.
    pub at: Option<(String, PointOutcome)>,
}
