//! Compares sides.

use fiord_stat::report::DirKind;

use crate::condition::{self, ConditionResult};
use crate::contrast::{Contrast, ContrastPlace, Threshold, Uncorrected, decide};
use crate::evidence::{RatioEvidence, RatioScatter, scatter};
use crate::notes::{self, CompareNote, SideDifference};
use crate::run_values::DirectionResult;
use crate::settings::{CONFIDENCE, CompareSettings};
use crate::side::{ComparedSide, job_pairs};

/// The result of a comparison.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// The sides. The first one is the one that the others are compared with.
    pub sides: Vec<ComparedSide>,
    pub settings: CompareSettings,
    /// All results.
    pub contrasts: Vec<Contrast>,
    /// What makes the results doubtful.
    pub notes: Vec<CompareNote>,
    /// What differs between the sides.
    pub differences: Vec<SideDifference>,
    /// The conditions and whether they hold.
    pub conditions: Vec<ConditionResult>,
}

/// Why sides cannot be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// The sides have no job in common.
    #[error(
        "{0} and {1} have no results in common: {2} and {3}\nTo fix: compare runs of the same job, \
         or of job files with the same number of jobs"
    )]
    NothingInCommon(String, String, String, String),
    /// No result has the metric of a condition.
    #[error(
        "no result has the metric of --fail-if '{0}'. To fix: use a metric that the reports contain"
    )]
    NoSuchResult(String),
}

/// Compares all sides with the first one.
///
/// # Errors
/// The sides have no results in common, or a condition is about a metric that they do not have.
pub fn compare(
    mut sides: Vec<ComparedSide>,
    mut settings: CompareSettings,
) -> Result<Comparison, CompareError> {
    for condition in &settings.conditions {
        if !settings.metrics.contains(&condition.metric) {
            settings.metrics.push(condition.metric);
        }
    }
    let mut notes = notes::before(&mut sides);
    let mut uncorrected = Vec::new();
    for b in sides.iter().skip(1) {
        let a = &sides[0];
        let pairs = job_pairs(a, b);
        let before = uncorrected.len();
        for (job_a, job_b) in &pairs {
            for kind in a.kinds(job_a) {
                pair((a, job_a), (b, job_b), kind, &settings, &mut uncorrected);
            }
        }
        if uncorrected.len() == before {
            let list = |side: &ComparedSide| notes::results(side);
            return Err(CompareError::NothingInCommon(
                a.name.clone(),
                b.name.clone(),
                list(a),
                list(b),
            ));
        }
    }
    let threshold = Threshold { noise: settings.noise, variation: settings.assumed_variation() };
    let contrasts = decide(uncorrected, threshold);
    notes.extend(notes::after(&sides, &contrasts, &settings));
    let conditions = condition::check(&settings.conditions, &contrasts)
        .map_err(|condition| CompareError::NoSuchResult(condition.text))?;
    let differences = notes::differences(&sides);
    Ok(Comparison { sides, settings, contrasts, notes, differences, conditions })
}

/// Compares a job in one direction.
fn pair(
    (a, job_a): (&ComparedSide, &str),
    (b, job_b): (&ComparedSide, &str),
    kind: DirKind,
    settings: &CompareSettings,
    out: &mut Vec<Uncorrected>,
) {
    let (in_a, cut_a) = results(a, job_a, kind);
    let (in_b, cut_b) = results(b, job_b, kind);
    let cut = [(cut_a, a), (cut_b, b)].into_iter().filter(|(cut, _)| *cut);
    let cut: Vec<String> = cut.map(|(_, side)| side.letter.to_string()).collect();
    let incomparable = (!cut.is_empty())
        .then(|| format!("not comparable, because {} did not run to the end", cut.join(" and ")));
    let scattered: Vec<Option<RatioScatter>> = match (in_a.as_slice(), in_b.as_slice()) {
        ([a], [b]) => scatter(a, b, &settings.metrics, CONFIDENCE),
        _ => vec![None; settings.metrics.len()],
    };
    for (metric, scattered) in settings.metrics.iter().zip(scattered) {
        let values = |results: &[DirectionResult]| -> Vec<f64> {
            results.iter().filter_map(|result| result.value(*metric)).collect()
        };
        let (a, values_b) = (values(&in_a), values(&in_b));
        let evidence = match (a.as_slice(), values_b.as_slice()) {
            ([], _) | (_, []) => continue,
            ([a], [b]) => RatioEvidence::of_single(b / a, settings.run_variation, scattered),
            (a, b) => RatioEvidence::of_runs(a, b, *metric, CONFIDENCE),
        };
        let job = job_a.to_owned();
        let place = ContrastPlace { job, kind, metric: *metric, side: b.letter };
        let incomparable = incomparable.clone();
        out.push(Uncorrected { place, a, b: values_b, evidence, incomparable });
    }
}

/// The results of a job in one direction: those of the runs in which it ran to the end. If there are none, all of them, and
/// true.
fn results(side: &ComparedSide, job: &str, kind: DirKind) -> (Vec<DirectionResult>, bool) {
    let of = |whole: bool| -> Vec<DirectionResult> {
        let runs = side.runs.iter().filter(|run| !whole || run.ran_to_end(job));
        runs.filter_map(|run| run.result.find(job, kind).cloned()).collect()
    };
    let whole = of(true);
    if whole.is_empty() { (of(false), true) } else { (whole, false) }
}
