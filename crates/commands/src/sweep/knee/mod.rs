//! Finds the knee: the load beyond which throughput stops growing and latency rises.
//!
//! The knee is the first point whose next step does not pay off. Measured throughput and latency vary from run to run, so one
//! noisy step proves nothing. Each step is tested twice: is it certain that it pays off, and is it certain that it does not?
//! The knee is certainly at one of the points that no test excludes:
//!
//! - A point is excluded if its next step certainly pays off, or if an earlier step certainly does not.
//! - A line without a knee is excluded if some step certainly does not pay off.
//!
//! If the true knee is at point k, an error excludes it only if step k is wrongly found to pay off, or an earlier step is
//! wrongly found not to. Half of the permitted errors go to each kind, and those of the second kind are shared by all steps
//! (Bonferroni), so the answer contains the true knee with the wanted confidence.
//!
//! With several runs per point, Welch's test of the logarithms compares neighbouring points ([`fiord_compare::few`]).
//! With one run per point, a block bootstrap over the time windows of the runs does ([`fiord_compare::bootstrap`]). It
//! says nothing about the variation between runs.

#[cfg(test)]
mod tests;

use fiord_compare::CompareMetric;
use fiord_compare::bootstrap::ComparedWindow;
use fiord_compare::evidence::{RatioEvidence, RatioScatter, scatter_of_windows};
use fiord_compare::few::{MeanShift, mean_shift};

/// A step that increases throughput by less than this share does not pay off.
pub const GAIN: f64 = 0.05;

/// Confidence of the answer.
pub const CONFIDENCE: f64 = 0.95;

/// A run of a point.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct KneeRun {
    /// I/Os per second.
    pub iops: f64,
    /// Bytes per second; 0 if the I/Os move no data.
    pub bandwidth: f64,
    /// Mean latency, ns; `None` if not measured.
    pub latency: Option<f64>,
    /// The run in time windows. Their latencies must be those of `latency`, or none.
    pub windows: Vec<ComparedWindow>,
}

/// What the answer is based on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KneeBasis {
    /// Several runs of each point; the smallest number of runs of a point.
    Runs(usize),
    /// The time windows of one run of each point.
    Windows,
    /// One run of each point, some of which have too few time windows.
    SingleValues,
}

impl KneeBasis {
    /// A word for JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            KneeBasis::Runs(_) => "runs",
            KneeBasis::Windows => "block-bootstrap",
            KneeBasis::SingleValues => "single-values",
        }
    }
}

/// Where the knee of a line of points is, with the confidence of [`CONFIDENCE`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KneeEstimate {
    /// The points at which the knee can be, by index.
    pub candidates: Vec<usize>,
    /// The line can be without a knee.
    pub none_possible: bool,
    /// The point at which the mean of the measured values has its knee.
    pub measured: Option<usize>,
    /// What the answer is based on.
    pub basis: KneeBasis,
}

impl KneeEstimate {
    /// The knee, if it is certain.
    #[must_use]
    pub fn certain(&self) -> Option<usize> {
        match self.candidates.as_slice() {
            [only] if !self.none_possible => Some(*only),
            _ => None,
        }
    }

    /// Whether the line certainly has no knee.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        self.candidates.is_empty()
    }
}

/// What is certain about a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepVerdict {
    PaysOff,
    Saturated,
    Open,
}

/// What the runs of two neighbouring points say about the logarithm of a ratio.
enum ShiftEvidence {
    Runs(MeanShift),
    Windows(RatioEvidence),
    /// Nothing is known about its variation.
    Measured(f64),
}

impl ShiftEvidence {
    fn shift(&self) -> f64 {
        match self {
            ShiftEvidence::Runs(shift) => shift.shift,
            ShiftEvidence::Windows(ratio) => ratio.ratio.ln(),
            ShiftEvidence::Measured(shift) => *shift,
        }
    }

    /// The probability of a shift at least as far above `limit` if the true one is `limit`.
    fn p_above(&self, limit: f64) -> f64 {
        match self {
            ShiftEvidence::Runs(shift) => shift.p_above(limit),
            ShiftEvidence::Windows(ratio) => ratio.p_above(limit.exp()),
            ShiftEvidence::Measured(shift) => f64::from(u8::from(*shift <= limit)),
        }
    }

    /// The probability of a shift at least as far below `limit` if the true one is `limit`.
    fn p_below(&self, limit: f64) -> f64 {
        match self {
            ShiftEvidence::Runs(shift) => shift.p_below(limit),
            ShiftEvidence::Windows(ratio) => ratio.p_below(limit.exp()),
            ShiftEvidence::Measured(shift) => f64::from(u8::from(*shift >= limit)),
        }
    }
}

/// A step from a point to the next one.
struct KneeStep {
    /// Growth of throughput.
    gain: ShiftEvidence,
    /// Growth of latency relative to that of throughput; `None` without latencies.
    excess: Option<ShiftEvidence>,
    /// The growth of throughput from which the step pays off, as a logarithm.
    needed: f64,
}

impl KneeStep {
    /// Whether the step does not pay off, as measured: throughput grows too little, and latency grows by more than
    /// throughput. Without latencies, only throughput decides.
    fn saturated(&self) -> bool {
        self.gain.shift() < self.needed
            && self.excess.as_ref().is_none_or(|excess| excess.shift() > 0.0)
    }

    fn verdict(&self, steps: usize) -> StepVerdict {
        if matches!(self.gain, ShiftEvidence::Measured(_)) {
            return StepVerdict::Open;
        }
        let half = (1.0 - CONFIDENCE) / 2.0;
        let rare = half / steps as f64;
        let costs = self.excess.as_ref().is_none_or(|excess| excess.p_above(0.0) <= rare);
        if self.gain.p_below(self.needed) <= rare && costs {
            return StepVerdict::Saturated;
        }
        // Each of two tests can exclude the knee, so each gets half of the errors.
        let cheap = self.excess.as_ref().is_some_and(|excess| excess.p_below(0.0) <= half / 2.0);
        match cheap || self.gain.p_above(self.needed) <= half / 2.0 {
            true => StepVerdict::PaysOff,
            false => StepVerdict::Open,
        }
    }
}

/// Finds the knee of a line of points, each with its runs. A step pays off if throughput grows by [`GAIN`].
#[must_use]
pub fn estimate(line: &[Vec<KneeRun>]) -> KneeEstimate {
    estimate_with(line, |_| GAIN)
}

/// Finds the knee of a line of points. `needed`: the growth of throughput from which the step after a point pays off.
#[must_use]
pub fn estimate_with(line: &[Vec<KneeRun>], needed: impl Fn(usize) -> f64) -> KneeEstimate {
    let steps: Vec<Option<KneeStep>> = line
        .windows(2)
        .enumerate()
        .map(|(i, pair)| step(&pair[0], &pair[1], needed(i).ln_1p()))
        .collect();
    let mut candidates = Vec::new();
    let mut none_possible = true;
    for (i, step) in steps.iter().enumerate() {
        let verdict = step.as_ref().map_or(StepVerdict::Open, |step| step.verdict(steps.len()));
        if verdict != StepVerdict::PaysOff {
            candidates.push(i);
        }
        if verdict == StepVerdict::Saturated {
            none_possible = false;
            break;
        }
    }
    let measured = steps.iter().position(|step| step.as_ref().is_some_and(KneeStep::saturated));
    let fewest = line.iter().map(Vec::len).min().unwrap_or(0);
    let known = |step: &Option<KneeStep>| {
        step.as_ref().is_some_and(|step| !matches!(step.gain, ShiftEvidence::Measured(_)))
    };
    let basis = match fewest {
        0 | 1 if steps.iter().all(known) => KneeBasis::Windows,
        0 | 1 => KneeBasis::SingleValues,
        runs => KneeBasis::Runs(runs),
    };
    KneeEstimate { candidates, none_possible, measured, basis }
}

/// Compares the runs of two neighbouring points. `None` if a run has no throughput.
fn step(before: &[KneeRun], after: &[KneeRun], needed: f64) -> Option<KneeStep> {
    let all = || before.iter().chain(after);
    let moves_bytes = all().all(|run| run.bandwidth > 0.0);
    let throughput = |run: &KneeRun| if moves_bytes { run.bandwidth } else { run.iops };
    let values = |runs: &[KneeRun]| runs.iter().map(throughput).collect::<Vec<f64>>();
    if before.is_empty() || after.is_empty() || all().any(|run| throughput(run) <= 0.0) {
        return None;
    }
    let measured = all().all(|run| run.latency.is_some_and(|ns| ns > 0.0));
    let per_throughput = |runs: &[KneeRun]| {
        let one = |run: &KneeRun| run.latency.unwrap_or(f64::NAN) / throughput(run);
        runs.iter().map(one).collect::<Vec<f64>>()
    };
    let (gain, excess) = if let ([a], [b]) = (before, after) {
        let metric = if moves_bytes { CompareMetric::Bandwidth } else { CompareMetric::Iops };
        let scatter =
            scatter_of_windows(&a.windows, &b.windows, &[metric, CompareMetric::Mean], CONFIDENCE);
        let excess = per_throughput(after)[0] / per_throughput(before)[0];
        (
            single(throughput(b) / throughput(a), scatter[0]),
            // The variations of both are at most added, whether they go together or not.
            single(excess, sum(scatter[0], scatter[1])),
        )
    } else {
        (
            several(&values(before), &values(after)),
            several(&per_throughput(before), &per_throughput(after)),
        )
    };
    Some(KneeStep { gain, excess: measured.then_some(excess), needed })
}

fn single(ratio: f64, scatter: Option<RatioScatter>) -> ShiftEvidence {
    match scatter {
        // The variation between runs is unknown; the words of the answer say that it is not included.
        Some(_) => ShiftEvidence::Windows(RatioEvidence::of_single(ratio, Some(0.0), scatter)),
        None => ShiftEvidence::Measured(ratio.ln()),
    }
}

fn sum(a: Option<RatioScatter>, b: Option<RatioScatter>) -> Option<RatioScatter> {
    let (a, b) = (a?, b?);
    Some(RatioScatter {
        error: a.error + b.error,
        below: a.below + b.below,
        above: a.above + b.above,
    })
}

/// Compares values of which one side has at least two.
fn several(a: &[f64], b: &[f64]) -> ShiftEvidence {
    match mean_shift(a, b, 0.0) {
        Some(shift) => ShiftEvidence::Runs(shift),
        None => ShiftEvidence::Measured((b[0] / a[0]).ln()),
    }
}
