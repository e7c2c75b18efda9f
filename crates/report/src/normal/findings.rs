//! The findings under the report: two lines each, worst first. Nothing when there are none, so that
//! a report without findings is fio's.

use std::io::{self, Write};

use fiord_stat::finding::{Finding, Unchecked};

/// Writes the block.
pub(super) fn write(
    findings: &[Finding],
    unchecked: &[Unchecked],
    out: &mut dyn Write,
) -> io::Result<()> {
    if !findings.is_empty() {
        writeln!(out, "\nFindings ({}):", findings.len())?;
    }
    for finding in findings {
        let Finding { id, what, evidence, mend, .. } = finding;
        writeln!(out, "  {}: {id}: {what}", finding.severity.word())?;
        writeln!(out, "      {evidence}; mend it with {mend}")?;
    }
    match not_checked(unchecked) {
        None => Ok(()),
        Some(line) => write!(out, "\n{line}"),
    }
}

/// The line about what could not be looked for; `None` when there is nothing of the kind.
pub fn not_checked(unchecked: &[Unchecked]) -> Option<String> {
    (!unchecked.is_empty()).then(|| format!("Not checked: {}\n", gaps(unchecked)))
}

/// One line: the findings that could not be looked for, those with the same reason together.
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
    use fiord_stat::finding::Severity;

    use super::*;

    #[test]
    fn two_lines_each_and_nothing_for_none() {
        let finding = Finding {
            id: "depth-ignored".into(),
            severity: Severity::Suspect,
            job: Some("a".into()),
            what: "job a asks for iodepth=32".into(),
            evidence: "psync has one".into(),
            mend: "numjobs=32".into(),
        };
        let mut out = Vec::new();
        write(&[], &[], &mut out).unwrap();
        assert!(out.is_empty());
        write(&[finding], &[], &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nFindings (1):\n  suspect: depth-ignored: job a asks for iodepth=32\n      \
             psync has one; mend it with numjobs=32\n"
        );
    }

    #[test]
    fn what_could_not_be_checked_is_one_line() {
        let gap = |id: &str, why: &str| Unchecked { id: id.into(), why: why.into() };
        let gaps = [gap("a", "needs root"), gap("b", "Linux before 6.5"), gap("c", "needs root")];
        let mut out = Vec::new();
        write(&[], &gaps, &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nNot checked: a, c (needs root); b (Linux before 6.5)\n"
        );
    }
}
