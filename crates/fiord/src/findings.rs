//! Formats findings for people.

use fiord_doctor::{CollectedFindings, FindingBuilder};
use fiord_job::diagnostic::{Diagnostic, Level};
use fiord_stat::finding::Finding;

/// Formats findings, with the relevant text of the job underlined.
pub(crate) fn rendered(findings: &CollectedFindings, color: bool) -> String {
    findings.all().iter().map(|found| diagnostic(found).render(color)).collect()
}

fn diagnostic(found: &FindingBuilder) -> Diagnostic {
    let Finding { id, severity, what, evidence, .. } = &found.finding;
    let mut diagnostic = Diagnostic::error(format!("{id}: {what}"), found.place.clone());
    diagnostic.level = Level::Found(severity.word());
    // The evidence of a note is the underlined text.
    let underlined = found.noted && found.place.is_some();
    if !(underlined || evidence.is_empty()) {
        diagnostic = diagnostic.help(evidence);
    }
    if let Some(to_fix) = found.finding.to_fix() {
        diagnostic = diagnostic.help(to_fix);
    }
    diagnostic
}
