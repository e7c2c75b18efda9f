//! The findings under the report: two lines each, worst first. Nothing when there are none, so that
//! a report without findings is fio's.

use std::io::{self, Write};

use fiord_stat::finding::{Finding, Severity};

/// Writes the block.
pub(super) fn write(findings: &[Finding], out: &mut dyn Write) -> io::Result<()> {
    if findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nFindings ({}):", findings.len())?;
    for finding in findings {
        let Finding { id, what, evidence, mend, .. } = finding;
        writeln!(out, "  {}: {id}: {what}", word(finding.severity))?;
        writeln!(out, "      {evidence}; mend it with {mend}")?;
    }
    Ok(())
}

/// The severity as every format names it.
pub(crate) fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Suspect => "suspect",
        Severity::Invalid => "invalid",
    }
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
            mend: "numjobs=32".into(),
        };
        let mut out = Vec::new();
        write(&[], &mut out).unwrap();
        assert!(out.is_empty());
        write(&[finding], &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\nFindings (1):\n  suspect: depth-ignored: job a asks for iodepth=32\n      \
             psync has one; mend it with numjobs=32\n"
        );
    }
}
