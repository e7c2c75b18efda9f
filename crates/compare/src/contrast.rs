//! One result of a comparison: a metric of one job and direction, of one side against the first side.

use fiord_stat::report::DirKind;

use crate::evidence::{EvidenceMethod, RatioEvidence};
use crate::few::pooled_deviation;
use crate::metric::CompareMetric;
use crate::multiple::holm;
use crate::needed::{fewest_runs, runs_needed};
use crate::rank::median;

/// The probability of a wrong verdict that is accepted, of all results together.
pub const ALPHA: f64 = 0.05;

/// What can be said about a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompareVerdict {
    /// The side is better than the first one.
    Better,
    /// The side is worse than the first one.
    Worse,
    /// Neither is certain enough.
    CannotTell,
}

impl CompareVerdict {
    /// The word in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            CompareVerdict::Better => "better",
            CompareVerdict::Worse => "worse",
            CompareVerdict::CannotTell => "cannot tell",
        }
    }
}

/// Where in the results a contrast is.
#[derive(Debug, Clone, PartialEq)]
pub struct ContrastPlace {
    /// Name of the job on the first side.
    pub job: String,
    pub kind: DirKind,
    pub metric: CompareMetric,
    /// Letter of the side that is compared with the first one.
    pub side: char,
}

/// A metric of one side against the first side.
#[derive(Debug, Clone)]
pub struct Contrast {
    /// What is compared.
    pub place: ContrastPlace,
    /// Values of the runs of the first side.
    pub a: Vec<f64>,
    /// Values of the runs of the other side.
    pub b: Vec<f64>,
    /// What the values say.
    pub evidence: RatioEvidence,
    /// Runs of both sides ran to their end. Otherwise the ratio proves nothing.
    pub comparable: bool,
    /// Probability of a difference at least as large in this direction or the other one if there were none beyond the threshold;
    /// `None` if it is unknown.
    pub p: Option<f64>,
    /// The probability, corrected for the number of results.
    pub p_corrected: Option<f64>,
    pub verdict: CompareVerdict,
    /// Why nothing can be said, or what a verdict assumes; empty if there is nothing to add.
    pub reason: String,
    /// Runs per side that would allow a verdict; `None` if there is a verdict, or if no number of runs would.
    pub runs_needed: Option<usize>,
}

/// A contrast before all of them are corrected together.
#[derive(Debug)]
pub(crate) struct Uncorrected {
    pub(crate) place: ContrastPlace,
    pub(crate) a: Vec<f64>,
    pub(crate) b: Vec<f64>,
    pub(crate) evidence: RatioEvidence,
    /// Why the sides are not comparable; `None` if they are.
    pub(crate) incomparable: Option<String>,
}

/// What decides about verdicts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threshold {
    /// The relative difference that does not matter: 0.02 for 2 %.
    pub(crate) noise: f64,
    /// The assumed variation of single runs.
    pub(crate) variation: f64,
}

/// Corrects all contrasts for their number and decides.
pub(crate) fn decide(all: Vec<Uncorrected>, threshold: Threshold) -> Vec<Contrast> {
    let noise = threshold.noise;
    let two_sided = |one: &Uncorrected| {
        let evidence = &one.evidence;
        let p = evidence.p_above(1.0 + noise).min(evidence.p_below(1.0 / (1.0 + noise)));
        let known = one.incomparable.is_none() && !evidence.is_unknown();
        known.then_some((2.0 * p).min(1.0))
    };
    let raw: Vec<Option<f64>> = all.iter().map(two_sided).collect();
    let corrected = holm(&raw);
    let results = all.len();
    let probabilities = raw.into_iter().zip(corrected);
    all.into_iter().zip(probabilities).map(|(one, p)| one.judged(p, results, threshold)).collect()
}

impl Uncorrected {
    /// Decides. `p`: the probability and the corrected one.
    fn judged(
        self,
        (p, p_corrected): (Option<f64>, Option<f64>),
        results: usize,
        threshold: Threshold,
    ) -> Contrast {
        let Uncorrected { place, a, b, evidence, incomparable } = self;
        let larger = evidence.ratio > 1.0;
        let beyond = evidence.interval.is_none_or(|(low, high)| {
            if larger { low > 1.0 + threshold.noise } else { high * (1.0 + threshold.noise) < 1.0 }
        });
        let verdict = match p_corrected.is_some_and(|p| p <= ALPHA) && beyond {
            false => CompareVerdict::CannotTell,
            true if larger == place.metric.more_is_better() => CompareVerdict::Better,
            true => CompareVerdict::Worse,
        };
        let mut contrast = Contrast {
            place,
            a,
            b,
            evidence,
            comparable: incomparable.is_none(),
            p,
            p_corrected,
            verdict,
            reason: String::new(),
            runs_needed: None,
        };
        match incomparable {
            Some(why) => contrast.reason = why,
            None => contrast.explain(results, threshold),
        }
        contrast
    }
}

impl Contrast {
    /// Median of the first side.
    #[must_use]
    pub fn median_a(&self) -> f64 {
        median(&self.a)
    }

    /// Median of the other side.
    #[must_use]
    pub fn median_b(&self) -> f64 {
        median(&self.b)
    }

    /// The difference in per cent of the first side.
    #[must_use]
    pub fn change_percent(&self) -> f64 {
        (self.evidence.ratio - 1.0) * 100.0
    }

    /// The interval of the difference, in per cent of the first side.
    #[must_use]
    pub fn interval_percent(&self) -> Option<(f64, f64)> {
        self.evidence.interval.map(|(low, high)| ((low - 1.0) * 100.0, (high - 1.0) * 100.0))
    }

    /// Whether the verdict is right only if an assumption about the variation between runs is, because there is one run per side.
    #[must_use]
    pub fn is_conditional(&self) -> bool {
        self.verdict != CompareVerdict::CannotTell && self.evidence.method.is_single()
    }

    fn explain(&mut self, results: usize, threshold: Threshold) {
        let method = self.evidence.method;
        if self.verdict != CompareVerdict::CannotTell {
            if method.is_single() {
                let percent = assumed_percent(method, threshold.variation);
                self.reason = format!("if runs vary by no more than {percent:.3} %");
                self.reason = trimmed(&self.reason);
            } else if method == EvidenceMethod::FewRuns {
                self.reason = "if runs vary like a normal distribution".into();
            }
            return;
        }
        if method.is_single() {
            self.runs_needed = Some(fewest_runs(ALPHA, results));
            self.reason = match self.evidence.is_unknown() {
                true => "nothing is known about the variation between runs or within them".into(),
                false => "the difference can be variation between runs".into(),
            };
            return;
        }
        let noise = threshold.noise;
        if noise > 0.0
            && let Some((low, high)) = self.evidence.interval
            && low * (1.0 + noise) >= 1.0
            && high <= 1.0 + noise
        {
            let percent = format!("{:.3}", noise * 100.0);
            self.reason =
                format!("any difference is below the threshold of {} %", trimmed(&percent));
            return;
        }
        let beyond = self.evidence.ratio.ln().abs() - noise.ln_1p();
        let deviation = pooled_deviation(&[&self.a, &self.b]).unwrap_or(0.0);
        self.runs_needed = (beyond > 0.0)
            .then(|| runs_needed(beyond, deviation, ALPHA, results))
            .flatten()
            .map(|runs| runs.max(self.a.len().min(self.b.len()) + 1));
        self.reason = match beyond > 0.0 {
            true => "the runs vary too much for a difference of this size".into(),
            false if noise > 0.0 => "the measured difference is below the threshold".into(),
            false => "the medians are equal".into(),
        };
    }
}

/// The assumed standard deviation of single runs, in per cent.
pub(crate) fn assumed_percent(method: EvidenceMethod, variation: f64) -> f64 {
    variation * if method == EvidenceMethod::SingleValues { 200.0 } else { 100.0 }
}

/// The text without zeros at the end of its decimals: `5.000 %` becomes `5 %`.
pub(crate) fn trimmed(text: &str) -> String {
    let (number, unit) = match text.strip_suffix(" %") {
        Some(number) => (number, " %"),
        None => (text, ""),
    };
    match number.contains('.') {
        true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => text.to_owned(),
    }
}
