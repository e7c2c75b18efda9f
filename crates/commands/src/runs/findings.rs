//! Merges the findings of several runs: findings with the same id and job become one.

use std::fmt::Write;

use fiord_stat::finding::Finding;

/// A finding and the runs that have it.
struct Shared<'a> {
    /// The finding as the first of these runs reports it.
    finding: &'a Finding,
    runs: Vec<&'a str>,
}

/// Formats each finding once, with the runs that have it. Empty if there are no findings.
///
/// `runs` holds a label and the findings of each run.
#[must_use]
pub fn lines(runs: &[(String, &[Finding])]) -> String {
    let mut all: Vec<Shared<'_>> = Vec::new();
    for (run, findings) in runs {
        for finding in *findings {
            let same = |s: &&mut Shared<'_>| {
                (&s.finding.id, &s.finding.job) == (&finding.id, &finding.job)
            };
            match all.iter_mut().find(same) {
                // One run can have several findings with the same id, about different targets.
                Some(shared) if shared.runs.last() == Some(&run.as_str()) => {}
                Some(shared) => shared.runs.push(run),
                None => all.push(Shared { finding, runs: vec![run] }),
            }
        }
    }
    let mut text = String::new();
    for Shared { finding, runs: at } in &all {
        let at = match at.len() {
            n if n == runs.len() => "all runs".to_owned(),
            1..=4 => at.join("; "),
            n => format!("{n} of {} runs, first {}", runs.len(), at[0]),
        };
        let Finding { id, what, .. } = finding;
        let _ = writeln!(text, "  {}: {id}: {what} ({at})", finding.severity.word());
        if let Some(remedy) = finding.to_fix() {
            let _ = writeln!(text, "      {remedy}");
        }
    }
    if text.is_empty() { text } else { format!("\nFindings:\n{text}") }
}

#[cfg(test)]
mod tests {
    use fiord_stat::finding::Severity;

    use super::*;

    #[test]
    fn a_finding_of_several_runs_is_one_entry() {
        let note = |id: &str, remedy: &str| Finding {
            id: id.into(),
            severity: Severity::Note,
            job: Some("a".into()),
            what: "w".into(),
            evidence: String::new(),
            remedy: remedy.into(),
            option: None,
            location: None,
            claim: Default::default(),
        };
        let both = [note("no-effect", "leave it out"), note("too-short", "")];
        let one = [note("no-effect", "leave it out")];
        let runs = [("iodepth=1".to_owned(), &both[..]), ("iodepth=2".to_owned(), &one[..])];
        assert_eq!(
            lines(&runs),
            "\nFindings:\n  note: no-effect: w (all runs)\n      To fix: leave it out\n  \
             note: too-short: w (iodepth=1)\n"
        );
        assert_eq!(lines(&[("iodepth=1".to_owned(), &[])]), "");
    }
}
