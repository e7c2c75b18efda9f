//! Conditions such as `p99>+5%`, which fail a check in continuous integration.

use crate::contrast::{ALPHA, Contrast};
use crate::metric::CompareMetric;
use crate::multiple::holm;

/// A condition on the change of a metric against the first side.
#[derive(Debug, Clone, PartialEq)]
pub struct FailCondition {
    pub text: String,
    pub metric: CompareMetric,
    above: bool,
    /// The ratio at the limit: 1.05 for `+5%`.
    limit: f64,
}

/// A text that is not a condition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a condition: {1}. To fix: write a metric, > or <, and a change in per cent, \
     such as --fail-if 'p99>+5%' or --fail-if 'iops<-3%'"
)]
pub struct BadCondition(String, String);

/// Whether a condition holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConditionState {
    /// The measured change is not beyond the limit.
    No,
    /// The measured change is beyond the limit, but that can be chance.
    Unproven,
    /// The change is beyond the limit.
    Holds,
}

impl ConditionState {
    /// A word for JSON.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ConditionState::No => "no",
            ConditionState::Unproven => "unproven",
            ConditionState::Holds => "holds",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ConditionResult {
    pub condition: FailCondition,
    /// The worst state of all results with the metric.
    pub state: ConditionState,
    /// What was found, in words.
    pub found: String,
}

impl FailCondition {
    /// Parses a metric, `>` or `<`, and a change in per cent.
    ///
    /// # Errors
    /// The text is not of this form.
    pub fn parse(text: &str) -> Result<Self, BadCondition> {
        let bad = |why: &str| BadCondition(text.to_owned(), why.to_owned());
        let at = text.find(['>', '<']).ok_or_else(|| bad("it has neither > nor <"))?;
        let metric = CompareMetric::parse(text[..at].trim()).map_err(|error| {
            let cause = error.to_string();
            bad(cause.split(". To fix").next().unwrap_or_default())
        })?;
        let change = text[at + 1..].trim();
        let change = change.strip_suffix('%').ok_or_else(|| bad("the change has no %"))?;
        let percent: f64 = change.trim().parse().map_err(|_| bad("the change is not a number"))?;
        if !percent.is_finite() || percent <= -100.0 {
            return Err(bad("the change is below -100 %"));
        }
        let above = text.as_bytes()[at] == b'>';
        Ok(FailCondition { text: text.to_owned(), metric, above, limit: 1.0 + percent / 100.0 })
    }

    fn p(&self, contrast: &Contrast) -> f64 {
        match self.above {
            true => contrast.evidence.p_above(self.limit),
            false => contrast.evidence.p_below(self.limit),
        }
    }

    fn is_beyond(&self, contrast: &Contrast) -> bool {
        match self.above {
            true => contrast.evidence.ratio > self.limit,
            false => contrast.evidence.ratio < self.limit,
        }
    }
}

/// Checks conditions with one-sided tests: only changes in the direction of a condition count. All results that they concern are corrected for their number. Returns the first condition without a
/// result as an error.
///
/// # Errors
/// No result has the metric of this condition.
pub(crate) fn check(
    conditions: &[FailCondition],
    contrasts: &[Contrast],
) -> Result<Vec<ConditionResult>, FailCondition> {
    let concerns =
        |condition: &FailCondition, contrast: &Contrast| condition.metric == contrast.place.metric;
    let pairs: Vec<(&FailCondition, &Contrast)> = conditions
        .iter()
        .flat_map(|condition| contrasts.iter().map(move |contrast| (condition, contrast)))
        .filter(|(condition, contrast)| concerns(condition, contrast))
        .collect();
    let p = |(condition, contrast): &(&FailCondition, &Contrast)| {
        let known = contrast.comparable && !contrast.evidence.is_unknown();
        known.then(|| condition.p(contrast))
    };
    let raw: Vec<Option<f64>> = pairs.iter().map(p).collect();
    let corrected = holm(&raw);
    let mut results = Vec::new();
    for condition in conditions {
        let own = pairs.iter().zip(&corrected).filter(|((of, _), _)| *of == condition);
        let states = own.map(|((_, contrast), p)| {
            let state = match p.unwrap_or(1.0) <= ALPHA {
                _ if !condition.is_beyond(contrast) => ConditionState::No,
                true => ConditionState::Holds,
                false => ConditionState::Unproven,
            };
            (state, contrast)
        });
        // The first of the worst ones.
        let worst = states.reduce(|worst, next| if next.0 > worst.0 { next } else { worst });
        let (state, contrast) = worst.ok_or_else(|| condition.clone())?;
        let place = &contrast.place;
        let found = format!(
            "{} of job {} ({}) of {} changed by {:+.1} %",
            place.metric,
            place.job,
            crate::words::direction(place.kind),
            place.side,
            contrast.change_percent()
        );
        results.push(ConditionResult { condition: condition.clone(), state, found });
    }
    Ok(results)
}
