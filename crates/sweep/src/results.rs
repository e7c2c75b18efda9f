//! What a sweep has found.

use crate::axis::{Axis, Settings};
use crate::outcome::Outcome;

/// Everything that is known at the end.
#[derive(Debug)]
pub struct Results {
    /// The job's name.
    pub job: String,
    /// Its axes.
    pub axes: Vec<Axis>,
    /// The points that are done, in the order of the axes.
    pub points: Vec<(Settings, Outcome)>,
    /// Where more stops to pay, a line of points each.
    pub knees: Vec<Knee>,
    /// Latency against load, where `--rate` is given.
    pub loads: Vec<Load>,
    /// The share of the highest rate above which more stops to pay, in per cent.
    pub load_knee: Option<u32>,
    /// Nothing is left to do.
    pub complete: bool,
}

/// A run at a share of the highest rate.
#[derive(Debug, Clone)]
pub struct Load {
    /// Per cent of it.
    pub percent: u32,
    /// `rate_iops` of each instance.
    pub rate: String,
    /// What was measured.
    pub outcome: Outcome,
}

/// The knee of a line of points that differ in one option only.
#[derive(Debug, Clone)]
pub struct Knee {
    /// That option.
    pub along: String,
    /// The others.
    pub with: Settings,
    /// Its value at the knee, and what was measured there; `None`: every step still paid.
    pub at: Option<(String, Outcome)>,
}
