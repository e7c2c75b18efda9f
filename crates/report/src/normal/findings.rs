//! The findings below the report: two lines each, the worst first. Without findings, the report is
//! identical to fio's.

use std::io::{self, Write};

use fiord_stat::finding::{Finding, Severity, Unchecked};
use fiord_stat::wrap::wrapped;

/// Maximum number of notes in the text. They are the last findings: the worst come first.
const MAX_NOTES: usize = 20;

/// Writes the block.
pub(crate) fn write(
    findings: &[Finding],
    unchecked: &[Unchecked],
    columns: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !findings.is_empty() {
        writeln!(out, "\nFindings ({}):", findings.len())?;
    }
    let notes = findings.iter().filter(|f| f.severity == Severity::Note).count();
    let shown = findings.len() - notes.saturating_sub(MAX_NOTES);
    for finding in &findings[..shown] {
        one(finding, columns, out)?;
    }
    if shown < findings.len() {
        let more = findings.len() - shown;
        writeln!(out, "  and {more} more notes: JSON output and `fiord check` have all of them")?;
    }
    match not_checked(unchecked) {
        None => Ok(()),
        Some(line) => writeln!(out, "\n{}", wrapped(line.trim_end(), columns, 2)),
    }
}

/// Writes two lines: the finding, then its evidence and its remedy.
fn one(finding: &Finding, columns: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let Finding { id, severity, what, evidence, .. } = finding;
    let first = format!("  {}: {id}: {what}", severity.word());
    writeln!(out, "{}", wrapped(&first, columns, 4))?;
    let second = match (evidence.as_str(), finding.to_fix()) {
        ("", None) => return Ok(()),
        (evidence, None) => format!("      {evidence}"),
        ("", Some(to_fix)) => format!("      {to_fix}"),
        (evidence, Some(to_fix)) => format!("      {evidence}. {to_fix}"),
    };
    writeln!(out, "{}", wrapped(&second, columns, 6))
}

/// Formats the line about findings that could not be checked; `None` if all were checked.
#[must_use]
pub fn not_checked(unchecked: &[Unchecked]) -> Option<String> {
    (!unchecked.is_empty()).then(|| format!("Not checked: {}\n", gaps(unchecked)))
}

/// Formats the findings that could not be checked in one line, grouped by reason.
fn gaps(unchecked: &[Unchecked]) -> String {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Unchecked { id, why } in unchecked {
        match reasons.iter_mut().find(|(known, _)| known == why) {
            Some((_, ids)) => ids.push(id),
            None => reasons.push((why, vec![id])),
        }
    }
    let one = |(why, ids): &(&str, Vec<&str>)| format!("{} ({why})", ids.join(", "));
    reasons.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_each_and_nothing_for_none() {
        let finding = Finding {
            id: "depth-ignored".into(),
            severity: Severity::Suspect,
            job: Some("a".into()),
            what: "job a asks for iodepth=32".into(),
            evidence: "psync has one".into(),
            remedy: "numjobs=32".into(),
            option: None,
            location: None,
            claim: Default::default(),
        };
        let mut out = Vec::new();
        write(&[], &[], None, &mut out).unwrap();
        assert!(out.is_empty());
        write(&[finding], &[], None, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nFindings (1):\n  suspect: depth-ignored: job a asks for iodepth=32\n      \
             psync has one. To fix: numjobs=32\n"
        );
    }

    #[test]
    fn a_terminal_gets_lines_that_fit() {
        let finding = Finding {
            id: "depth-ignored".into(),
            severity: Severity::Suspect,
            job: None,
            what: "job a asks for iodepth=32, but its engine has one I/O in flight at a time"
                .into(),
            evidence: "psync completes each I/O before it takes the next".into(),
            remedy: "use ioengine=io_uring, or numjobs=32".into(),
            option: None,
            location: None,
            claim: Default::default(),
        };
        let mut out = Vec::new();
        write(&[finding], &[], Some(60), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nFindings (1):\n  suspect: depth-ignored: job a asks for iodepth=32, but its\n    \
             engine has one I/O in flight at a time\n      psync completes each I/O before it takes the next. To\n      \
             fix: use ioengine=io_uring, or numjobs=32\n"
        );
    }

    #[test]
    fn of_very_many_notes_the_first_are_listed() {
        let note = Finding {
            id: "no-effect".into(),
            severity: Severity::Note,
            job: None,
            what: "x".into(),
            evidence: String::new(),
            remedy: String::new(),
            option: None,
            location: None,
            claim: Default::default(),
        };
        let worse = Finding { severity: Severity::Suspect, ..note.clone() };
        let mut all = vec![worse; 30];
        all.extend(vec![note; 25]);
        let mut out = Vec::new();
        write(&all, &[], None, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.starts_with("\nFindings (55):\n"), "{text}");
        assert_eq!(text.matches("suspect: ").count(), 30);
        assert_eq!(text.matches("note: ").count(), 20);
        assert!(text.contains("\n  and 5 more notes: "), "{text}");
    }

    #[test]
    fn what_could_not_be_checked_is_one_line() {
        let gap = |id: &str, why: &str| Unchecked { id: id.into(), why: why.into() };
        let gaps = [gap("a", "needs root"), gap("b", "Linux before 6.5"), gap("c", "needs root")];
        let mut out = Vec::new();
        write(&[], &gaps, None, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nNot checked: a, c (needs root); b (Linux before 6.5)\n"
        );
    }
}
