//! What the values of two sides say about their ratio.

use crate::bootstrap::{ComparedWindow, REPEATS, Resampler, SplitMix};
use crate::distribution::normal_tail;
use crate::few::{MeanShift, mean_shift};
use crate::metric::CompareMetric;
use crate::rank::{mann_whitney, median, ratio_interval};
use crate::run_values::DirectionResult;

/// The fewest runs per side for the test of runs.
pub const ENOUGH_RUNS: usize = 5;

/// The standard deviation that is assumed of single runs with time windows if the user has not stated it, as a share.
pub const DEFAULT_VARIATION: f64 = 0.05;

/// How a ratio was judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EvidenceMethod {
    /// Mann–Whitney test of the runs.
    Ranks,
    /// Welch's test of few runs, which assumes a normal distribution.
    FewRuns,
    /// Block bootstrap over the time windows of one run per side.
    Windows,
    /// One run per side, and a report has no time windows.
    SingleValues,
}

impl EvidenceMethod {
    /// A word for JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            EvidenceMethod::Ranks => "mann-whitney",
            EvidenceMethod::FewRuns => "welch-log",
            EvidenceMethod::Windows => "block-bootstrap",
            EvidenceMethod::SingleValues => "single-values",
        }
    }

    /// Whether there is one run per side.
    #[must_use]
    pub fn is_single(self) -> bool {
        matches!(self, EvidenceMethod::Windows | EvidenceMethod::SingleValues)
    }
}

/// What the values say.
#[derive(Debug, Clone)]
pub struct RatioEvidence {
    /// How the ratio was judged.
    pub method: EvidenceMethod,
    /// The median of the second side divided by that of the first one.
    pub ratio: f64,
    /// Where the true ratio is with the wanted confidence. For one run per side, it is the ratio of these two runs, without the
    /// variation between runs. `None` if nothing is known about it.
    pub interval: Option<(f64, f64)>,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Ranks {
        a: Vec<f64>,
        b: Vec<f64>,
    },
    Shift(MeanShift),
    /// Nothing is known about the variation of the ratio.
    None,
    /// A normal distribution of the logarithm.
    Normal {
        shift: f64,
        error: f64,
    },
}

impl RatioEvidence {
    /// Compares the runs of two sides, at least one of which has several. Values must be positive.
    #[must_use]
    pub fn of_runs(a: &[f64], b: &[f64], metric: CompareMetric, confidence: f64) -> Self {
        let ratio = median(b) / median(a);
        let ranks = || {
            let interval = ratio_interval(a, b, confidence)?;
            let test = Test::Ranks { a: a.to_vec(), b: b.to_vec() };
            Some((EvidenceMethod::Ranks, test, interval))
        };
        let enough = a.len().min(b.len()) >= ENOUGH_RUNS;
        let (method, test, interval) = enough.then(ranks).flatten().unwrap_or_else(|| {
            let one_each = MeanShift { shift: ratio.ln(), error: f64::INFINITY, freedom: 1.0 };
            let shift = mean_shift(a, b, resolution(a, b, metric)).unwrap_or(one_each);
            (EvidenceMethod::FewRuns, Test::Shift(shift), shift.interval(confidence))
        });
        // The ratio of the medians can lie outside of the interval of an odd pair of samples.
        let interval = (interval.0.min(ratio), interval.1.max(ratio));
        RatioEvidence { method, ratio, interval: Some(interval), test }
    }

    /// Compares one run with another. `variation`: the assumed standard deviation of the logarithms of runs; `None` if the
    /// user has not stated it. `scatter`: the variation of these runs within themselves. Without it, twice the stated variation is
    /// assumed, and without both, nothing is known about the ratio.
    #[must_use]
    pub fn of_single(ratio: f64, variation: Option<f64>, scatter: Option<RatioScatter>) -> Self {
        let shift = ratio.ln();
        let between = match (scatter, variation) {
            (Some(_), stated) => Some(stated.unwrap_or(DEFAULT_VARIATION)),
            (None, stated) => stated.map(|variation| 2.0 * variation),
        };
        let within = scatter.map_or(0.0, |scatter| scatter.error);
        let error = |between: f64| (within * within + 2.0 * between * between).sqrt();
        let normal = |between| Test::Normal { shift, error: error(between) };
        RatioEvidence {
            method: match scatter {
                Some(_) => EvidenceMethod::Windows,
                None => EvidenceMethod::SingleValues,
            },
            ratio,
            interval: scatter.map(|RatioScatter { below, above, .. }| {
                ((shift - below).exp(), (shift + above).exp())
            }),
            test: between.map_or(Test::None, normal),
        }
    }

    /// Whether nothing is known about how much the ratio varies, so that it proves nothing.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self.test, Test::None)
    }

    /// The probability of a ratio at least as large if the true one is `limit`.
    #[must_use]
    pub fn p_above(&self, limit: f64) -> f64 {
        match &self.test {
            Test::Ranks { a, b } => mann_whitney(&scaled(a, limit), b).p_larger,
            Test::Shift(shift) => shift.p_above(limit.ln()),
            Test::None => 1.0,
            Test::Normal { shift, error } => tail(shift - limit.ln(), *error),
        }
    }

    /// The probability of a ratio at least as small if the true one is `limit`.
    #[must_use]
    pub fn p_below(&self, limit: f64) -> f64 {
        match &self.test {
            Test::Ranks { a, b } => mann_whitney(&scaled(a, limit), b).p_smaller,
            Test::Shift(shift) => shift.p_below(limit.ln()),
            Test::None => 1.0,
            Test::Normal { shift, error } => tail(limit.ln() - shift, *error),
        }
    }
}

/// The relative error of values because of the format that they were read from, as a standard deviation.
fn resolution(a: &[f64], b: &[f64], metric: CompareMetric) -> f64 {
    // Terse output has whole microseconds.
    const MICROSECOND: f64 = 1000.0;
    let coarse = a.iter().chain(b).all(|value| value % MICROSECOND == 0.0);
    let rounding = MICROSECOND / 12f64.sqrt() / median(a).min(median(b));
    let buckets = metric.resolution();
    if coarse && buckets > 0.0 { buckets.hypot(rounding) } else { buckets }
}

fn scaled(values: &[f64], factor: f64) -> Vec<f64> {
    values.iter().map(|value| value * factor).collect()
}

fn tail(over: f64, error: f64) -> f64 {
    match error > 0.0 {
        true => normal_tail(over / error),
        false if over > 0.0 => 0.0,
        false => 1.0,
    }
}

/// The variation of the logarithm of a ratio within two runs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RatioScatter {
    /// Standard deviation.
    pub error: f64,
    /// How far below the measured one the true one can be, with the wanted confidence.
    pub below: f64,
    /// How far above the measured one the true one can be.
    pub above: f64,
}

/// Resamples the windows of two runs. Returns the variation of the ratio of each metric; `None` if a run has too few windows,
/// or none with latencies.
#[must_use]
pub fn scatter(
    a: &DirectionResult,
    b: &DirectionResult,
    metrics: &[CompareMetric],
    confidence: f64,
) -> Vec<Option<RatioScatter>> {
    scatter_of_windows(&a.windows(), &b.windows(), metrics, confidence)
}

/// Like [`scatter`], for the windows of two runs in the order of time.
#[must_use]
pub fn scatter_of_windows(
    a: &[ComparedWindow],
    b: &[ComparedWindow],
    metrics: &[CompareMetric],
    confidence: f64,
) -> Vec<Option<RatioScatter>> {
    let resamplers = (Resampler::new(a), Resampler::new(b));
    let (Some(a), Some(b)) = resamplers else { return vec![None; metrics.len()] };
    // A fixed seed: the same files give the same verdict.
    let mut random = SplitMix::new(0x0066_696f_7264);
    let whole: Vec<f64> = log_ratios(&a.whole(metrics), &b.whole(metrics));
    let mut drawn: Vec<Vec<f64>> = vec![Vec::with_capacity(REPEATS); metrics.len()];
    for _ in 0..REPEATS {
        let (a, b) = (a.draw(&mut random, metrics), b.draw(&mut random, metrics));
        let ratios = log_ratios(&a, &b);
        drawn.iter_mut().zip(ratios).for_each(|(list, ratio)| list.push(ratio));
    }
    let one = |(whole, mut list): (&f64, Vec<f64>)| {
        list.retain(|ratio| ratio.is_finite());
        if list.len() < REPEATS / 2 || !whole.is_finite() {
            return None;
        }
        list.sort_by(f64::total_cmp);
        let mean = list.iter().sum::<f64>() / list.len() as f64;
        let squares = list.iter().map(|ratio| (ratio - mean).powi(2)).sum::<f64>();
        let cut = ((1.0 - confidence) / 2.0 * list.len() as f64) as usize;
        // The true ratio is as far below the measured one as the resampled ones are above it.
        Some(RatioScatter {
            error: (squares / (list.len() - 1) as f64).sqrt(),
            below: (list[list.len() - 1 - cut] - whole).max(0.0),
            above: (whole - list[cut]).max(0.0),
        })
    };
    whole.iter().zip(drawn).map(one).collect()
}

fn log_ratios(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| (b / a).ln()).collect()
}
