//! What makes a comparison doubtful, and what differs between its sides.

use std::collections::{BTreeMap, BTreeSet};

use fiord_types::Nanos;

use crate::contrast::{ALPHA, Contrast, assumed_percent, trimmed};
use crate::evidence::{ENOUGH_RUNS, EvidenceMethod};
use crate::needed::fewest_runs;
use crate::settings::CompareSettings;
use crate::side::{ComparedSide, job_pairs};
use crate::words;

/// Something that makes a comparison doubtful.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompareNote {
    /// A name for programs.
    pub id: &'static str,
    /// What is the case, and what to do.
    pub text: String,
}

/// Something that differs between the sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideDifference {
    /// What differs: `iodepth of job a`.
    pub subject: String,
    /// The letter and the values of each side.
    pub values: Vec<(char, String)>,
}

/// Removes copies of runs. Returns what is doubtful about the runs.
pub(crate) fn before(sides: &mut [ComparedSide]) -> Vec<CompareNote> {
    let mut notes = Vec::new();
    for side in sides.iter_mut() {
        let copies = side.remove_copies();
        if let Some((file, of)) = copies.first() {
            let count = copies.len();
            let text = format!(
                "{} of {} (first: {file}) have the numbers of another run ({of}) to the last digit \
                 and are not counted. To fix: repeat the run; give a simulated device another \
                 sim_seed each time",
                words::runs(count),
                side.letter
            );
            notes.push(CompareNote { id: "copies", text });
        }
        notes.extend(mixed(side));
        notes.extend(doubtful(side));
    }
    notes.extend(order(sides));
    notes
}

/// Runs of one side that are not alike.
fn mixed(side: &ComparedSide) -> Vec<CompareNote> {
    let subjects: BTreeSet<&String> = side.runs.iter().flat_map(|run| run.facts.keys()).collect();
    let unlike = |subject: &&String| {
        let values = side.values(subject);
        let text = || {
            let list: Vec<String> = values.iter().map(|value| shown(value)).collect();
            let what = format!("{subject} is {}", list.join(" and "));
            format!("the runs of {} are not alike: {what}. To fix: compare them apart", side.letter)
        };
        (values.len() > 1).then(text)
    };
    let note = |text| CompareNote { id: "runs-not-alike", text };
    subjects.iter().filter_map(unlike).map(note).collect()
}

/// Findings and failed jobs of the runs.
fn doubtful(side: &ComparedSide) -> Vec<CompareNote> {
    let mut seen: BTreeMap<&str, (usize, &str, &str)> = BTreeMap::new();
    for run in &side.runs {
        let ids: BTreeMap<&str, (&str, &str)> = run
            .findings
            .iter()
            .map(|finding| (finding.id.as_str(), (finding.severity.word(), finding.what.as_str())))
            .collect();
        for (id, (severity, what)) in ids {
            seen.entry(id).or_insert((0, severity, what)).0 += 1;
        }
    }
    let (letter, runs) = (side.letter, side.runs.len());
    let finding = |(id, (count, severity, what)): (&str, (usize, &str, &str))| CompareNote {
        id: "doubtful-run",
        text: format!("{letter}: {severity} in {count} of {}: {id}: {what}", words::runs(runs)),
    };
    let mut notes: Vec<CompareNote> = seen.into_iter().map(finding).collect();
    let off = side.runs.iter().filter(|run| run.findings_off).count();
    if off > 0 {
        let text = format!(
            "{letter}: findings were switched off in {off} of {}, so nothing is known about whether their numbers can be \
             trusted. To fix: leave out --findings=off",
            words::runs(runs)
        );
        notes.push(CompareNote { id: "findings-off", text });
    }
    for run in side.runs.iter().filter(|run| !run.failed.is_empty()) {
        let text = format!(
            "{letter}: {}: failed jobs: {}. Their results are not compared",
            run.file,
            run.failed.join(", ")
        );
        notes.push(CompareNote { id: "failed-jobs", text });
    }
    for run in &side.runs {
        let Some(why) = &run.stopped else { continue };
        let text = format!(
            "{letter}: {}: stopped before its end: {why}. Such a run is not compared. To fix: run it again",
            run.file
        );
        notes.push(CompareNote { id: "stopped-run", text });
    }
    notes
}

/// All runs of one side were done before those of another one.
fn order(sides: &[ComparedSide]) -> Option<CompareNote> {
    let times = |side: &ComparedSide| -> Option<(Nanos, Nanos)> {
        let known = side.runs.iter().all(|run| run.written > Nanos::ZERO);
        let (first, last) = (side.runs.first()?.written, side.runs.last()?.written);
        (known && side.runs.len() > 1).then_some((first, last))
    };
    let first = sides.first()?;
    let (a_first, a_last) = times(first)?;
    let apart = |side: &&ComparedSide| {
        times(side).is_some_and(|(first, last)| last < a_first || a_last < first)
    };
    let other = sides.iter().skip(1).find(apart)?;
    let text = format!(
        "the runs of {} and {} were not alternated, so a drift of the device or of the machine looks \
         like a difference. To fix: fiord run --repeat N --interleave",
        first.letter, other.letter
    );
    Some(CompareNote { id: "not-interleaved", text })
}

/// What is doubtful about the results.
pub(crate) fn after(
    sides: &[ComparedSide],
    contrasts: &[Contrast],
    settings: &CompareSettings,
) -> Vec<CompareNote> {
    let mut notes = Vec::new();
    let has = |method| contrasts.iter().any(|contrast| contrast.evidence.method == method);
    let enough = fewest_runs(ALPHA, contrasts.len());
    let percent = |method| {
        trimmed(&format!("{:.3} %", assumed_percent(method, settings.assumed_variation())))
    };
    if has(EvidenceMethod::Windows) {
        let text = format!(
            "the variation between runs is unknown, because there is one run per side. Intervals \
             show the variation within these runs; verdicts assume that runs vary by {} \
             (--run-variation). To fix: fiord run --repeat {enough} --interleave A.fio B.fio",
            percent(EvidenceMethod::Windows)
        );
        notes.push(CompareNote { id: "run-variation-unknown", text });
    }
    if has(EvidenceMethod::SingleValues) {
        let text = format!(
            "the variation between runs is unknown, because there is one run per side, and so is the \
             variation within them, because there are fewer than {} time windows. {} \
             To fix: fiord run --repeat {enough} --interleave A.fio B.fio",
            crate::bootstrap::MIN_WINDOWS,
            match settings.run_variation {
                Some(_) => format!(
                    "Verdicts assume that runs vary by {} (twice --run-variation).",
                    percent(EvidenceMethod::SingleValues)
                ),
                None => "So there is no verdict.".to_owned(),
            }
        );
        notes.push(CompareNote { id: "run-variation-unknown", text });
    }
    if has(EvidenceMethod::FewRuns) {
        let text = format!(
            "fewer than {ENOUGH_RUNS} runs per side: verdicts and intervals assume that the logarithms of \
             results vary like a normal distribution. To fix: {enough} runs per side need no assumption"
        );
        notes.push(CompareNote { id: "few-runs", text });
    }
    let fewest = sides.iter().map(|side| side.runs.len()).min().unwrap_or(0);
    if (ENOUGH_RUNS..enough).contains(&fewest) {
        let text = format!(
            "{} results are corrected together; {fewest} runs per side can hardly decide that many. To \
             fix: {enough} runs per side, or fewer --metrics",
            contrasts.len()
        );
        notes.push(CompareNote { id: "many-results", text });
    }
    notes.extend(missing(sides));
    notes
}

/// Results that one side does not have, and jobs that are compared by their place.
fn missing(sides: &[ComparedSide]) -> Vec<CompareNote> {
    let mut notes = Vec::new();
    let Some(a) = sides.first() else { return notes };
    for b in &sides[1..] {
        let pairs = job_pairs(a, b);
        let renamed: Vec<String> = pairs
            .iter()
            .filter(|(in_a, in_b)| in_a != in_b)
            .map(|(in_a, in_b)| format!("{in_a} with {in_b}"))
            .collect();
        if !renamed.is_empty() {
            let text = format!(
                "{} and {} have different jobs, compared by their place: {}",
                a.letter,
                b.letter,
                renamed.join(", ")
            );
            notes.push(CompareNote { id: "other-job-names", text });
        }
        let lone = |side: &ComparedSide, paired: Vec<&str>| -> Vec<String> {
            let jobs = side.jobs().into_iter().filter(|job| !paired.contains(job));
            jobs.map(|job| format!("{job} (only {})", side.letter)).collect()
        };
        let (in_a, in_b): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
        let lone = [lone(a, in_a), lone(b, in_b)].concat();
        if !lone.is_empty() {
            let text = format!("not compared: job {}", lone.join(", "));
            notes.push(CompareNote { id: "not-compared", text });
        }
    }
    notes
}

/// What differs between the sides.
pub(crate) fn differences(sides: &[ComparedSide]) -> Vec<SideDifference> {
    let subjects: BTreeSet<&String> =
        sides.iter().flat_map(|side| &side.runs).flat_map(|run| run.facts.keys()).collect();
    let mut differences = Vec::new();
    for subject in subjects {
        let values: Vec<(char, Vec<&str>)> =
            sides.iter().map(|side| (side.letter, side.values(subject))).collect();
        if values.windows(2).any(|pair| pair[0].1 != pair[1].1) {
            let join = |values: &Vec<&str>| {
                values.iter().map(|value| shown(value)).collect::<Vec<_>>().join(" and ")
            };
            let values = values.iter().map(|(letter, values)| (*letter, join(values))).collect();
            differences.push(SideDifference { subject: subject.clone(), values });
        }
    }
    differences
}

/// A value in a message.
fn shown(value: &str) -> String {
    if value.is_empty() { "not set".into() } else { value.to_owned() }
}

/// The jobs and directions of a side, in words.
pub(crate) fn results(side: &ComparedSide) -> String {
    let one = |job: &str| {
        let kinds: Vec<&str> = side.kinds(job).into_iter().map(words::direction).collect();
        format!("{job} ({})", kinds.join(", "))
    };
    let all: Vec<String> = side.jobs().into_iter().map(one).collect();
    if all.is_empty() { "no results".into() } else { all.join(", ") }
}
