//! Can I trust the numbers?

use askama::Template;
use fiord_stat::finding::{BAD_DATA, Finding, Severity};
use fiord_stat::report::JobReport;

use crate::result::PointDocument;
use crate::svg::Escaped;

use super::element::{PageSection, html};
use super::view::{MachineView, RunView};

/// Maximum number of reasons on the page why jobs did not run to their end.
const MAX_STOPS: usize = 10;

#[derive(Debug, Template)]
#[template(path = "findings.html")]
struct FindingCards {
    cards: Vec<FindingCard>,
    /// Whether there is nothing to show, and what that means.
    looked: LookedFor,
    /// Verification found bad data, and no card says so.
    untold: bool,
    unchecked: Vec<(String, String)>,
    /// What ended the run or its jobs before their end.
    stops: Vec<String>,
}

/// Whether the program that wrote a result looked for findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LookedFor {
    /// The program looked for findings.
    Yes,
    /// The user switched findings off.
    SwitchedOff,
    /// The program never looks for findings: fio.
    Never,
    /// The program found none, but verification found bad data.
    BadData,
}

/// A finding on the page. `what`, `evidence` and `remedy` are HTML.
#[derive(Debug)]
struct FindingCard {
    severity: &'static str,
    id: String,
    what: String,
    evidence: String,
    remedy: String,
    place: String,
}

pub(crate) fn of_run(run: &RunView<'_>) -> PageSection {
    let own = run.machines.iter().filter(|machine| machine.host.is_some());
    let own = own.flat_map(|machine| &machine.report.extras.unchecked);
    let mut unchecked: Vec<(String, String)> = Vec::new();
    for gap in run.whole.extras.unchecked.iter().chain(own) {
        let pair = (gap.id.clone(), gap.why.clone());
        if !unchecked.contains(&pair) {
            unchecked.push(pair);
        }
    }
    section(&run.findings(), unchecked, looked_for(run), has_bad_data(run), stops(run))
}

/// What ended the run or its jobs before their end, each once.
fn stops(run: &RunView<'_>) -> Vec<String> {
    let mut all = Vec::new();
    let signal = run.together.and_then(|run| run.signal);
    all.extend(signal.map(|signal| format!("The run was stopped by signal {signal}.")));
    let own = run.machines.iter().filter(|machine| machine.host.is_some());
    let reports = std::iter::once(("", run.whole));
    for (host, report) in reports.chain(own.map(|machine| (machine.name, machine.report))) {
        for stop in &report.extras.stops {
            let host = if host.is_empty() { String::new() } else { format!("{host}: ") };
            let text = format!("{host}{}.", sentence(&stop.sentence()));
            if !all.contains(&text) {
                all.push(text);
            }
        }
    }
    let more = all.len().saturating_sub(MAX_STOPS);
    if more > 0 {
        all.truncate(MAX_STOPS);
        all.push(format!("And {more} more jobs did not run to their end."));
    }
    all
}

/// Whether the program that wrote the results looked for findings.
pub(crate) fn looked_for(run: &RunView<'_>) -> LookedFor {
    let off = |machine: &MachineView<'_>| machine.report.extras.findings_off;
    match run.whole.schema {
        0 => LookedFor::Never,
        _ if run.whole.extras.findings_off || run.machines.iter().any(off) => {
            LookedFor::SwitchedOff
        }
        _ if has_bad_data(run) => LookedFor::BadData,
        _ => LookedFor::Yes,
    }
}

/// Whether verification found data that is not what was written.
fn has_bad_data(run: &RunView<'_>) -> bool {
    let bad = |job: &JobReport| job.verify.as_ref().is_some_and(|v| !v.counts().is_empty());
    run.entries.iter().any(|entry| bad(entry.job))
}

/// The findings of points with labels, the worst first.
pub(crate) fn of_points(points: &[(String, &PointDocument)]) -> PageSection {
    let found = points.iter().flat_map(|(label, point)| {
        point.findings.iter().map(move |finding| (label.as_str(), finding))
    });
    let mut sorted: Vec<(&str, &Finding)> = found.collect();
    sorted.sort_by_key(|(_, finding)| finding.rank());
    section(&sorted, Vec::new(), LookedFor::Yes, false, Vec::new())
}

/// One card for each finding; those that differ only in the host, the job or the point share one. `bad`: verification
/// found bad data.
fn section(
    findings: &[(&str, &Finding)],
    unchecked: Vec<(String, String)>,
    looked: LookedFor,
    bad: bool,
    stops: Vec<String>,
) -> PageSection {
    let mut merged: Vec<(&Finding, Vec<String>)> = Vec::new();
    for (host, finding) in findings {
        let place = place(host, finding);
        let same = |(known, _): &&mut (&Finding, Vec<String>)| {
            known.id == finding.id
                && known.severity == finding.severity
                && known.what == finding.what
                && known.evidence == finding.evidence
        };
        match merged.iter_mut().find(same) {
            Some((_, places)) => places.push(place),
            None => merged.push((finding, vec![place])),
        }
    }
    let card = |(finding, places): (&Finding, Vec<String>)| FindingCard {
        severity: finding.severity.word(),
        id: finding.id.clone(),
        what: with_code(&sentence(&finding.what)),
        evidence: with_code(&sentence(&finding.evidence)),
        remedy: with_code(&finding.remedy),
        place: listed(&places),
    };
    let cards: Vec<FindingCard> = merged.into_iter().map(card).collect();
    let untold = bad && cards.iter().all(|card| card.id != BAD_DATA);
    PageSection {
        id: "findings",
        title: "Findings".into(),
        about: String::new(),
        body: html(&FindingCards { cards, looked, untold, unchecked, stops }),
    }
}

/// The text with a capital letter at its start, unless it begins with an option such as `direct=1`, or with a path.
fn sentence(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    if first.contains(['=', '/', '_']) {
        return text.to_owned();
    }
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// HTML of a text in which backquotes enclose what is typed or printed.
fn with_code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // A single backquote is one of the text itself.
    if parts.len().is_multiple_of(2) {
        return Escaped(text).to_string();
    }
    let mark = |(at, part): (usize, &&str)| match at % 2 {
        0 => Escaped(part).to_string(),
        _ => format!("<code>{}</code>", Escaped(part)),
    };
    parts.iter().enumerate().map(mark).collect()
}

fn place(host: &str, finding: &Finding) -> String {
    let mut parts = Vec::new();
    if !host.is_empty() {
        parts.push(host.to_owned());
    }
    parts.extend(finding.job.as_ref().map(|job| format!("job {job}")));
    if let Some(at) = &finding.location {
        parts.push(match at.file.as_str() {
            "command line" => "command line".to_owned(),
            file => format!("{file}:{}:{}", at.line, at.column),
        });
    }
    parts.join(", ")
}

fn listed(places: &[String]) -> String {
    const SHOWN: usize = 12;
    let known: Vec<&str> = places.iter().map(String::as_str).filter(|p| !p.is_empty()).collect();
    let rest = known.len().saturating_sub(SHOWN);
    let text = known[..known.len().min(SHOWN)].join(" · ");
    if rest > 0 { format!("{text} · and {rest} more") } else { text }
}

/// The findings in a few words, such as `1 invalid, 2 notes`, and the class of the worst.
pub(crate) fn summary(findings: &[(&str, &Finding)], looked: LookedFor) -> (String, &'static str) {
    let count = |severity| findings.iter().filter(|(_, f)| f.severity == severity).count();
    let (invalid, suspect, notes) =
        (count(Severity::Invalid), count(Severity::Suspect), count(Severity::Note));
    let mut words = Vec::new();
    if invalid > 0 {
        words.push(format!("{invalid} invalid"));
    }
    if suspect > 0 {
        words.push(format!("{suspect} suspect"));
    }
    match notes {
        0 => {}
        1 => words.push("1 note".into()),
        n => words.push(format!("{n} notes")),
    }
    let class = match (invalid, suspect) {
        (0, _) if looked == LookedFor::BadData => "invalid",
        (0, 0) => "",
        (0, _) => "suspect",
        _ => "invalid",
    };
    let none = match looked {
        LookedFor::Yes => "none",
        LookedFor::SwitchedOff => "switched off",
        LookedFor::Never => "not checked",
        LookedFor::BadData => "bad data",
    };
    (if words.is_empty() { none.into() } else { words.join(", ") }, class)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_paths_keep_their_case() {
        assert_eq!(
            sentence("direct=1 does not reach the file"),
            "direct=1 does not reach the file"
        );
        assert_eq!(sentence("/dev/loop0 has no cache"), "/dev/loop0 has no cache");
        assert_eq!(sentence("other programs used it"), "Other programs used it");
    }

    #[test]
    fn backquotes_become_code_and_the_rest_is_escaped() {
        assert_eq!(with_code("see `top <x>`, or a<b"), "see <code>top &lt;x&gt;</code>, or a&lt;b");
        assert_eq!(with_code("a ` b"), "a ` b");
    }
}
