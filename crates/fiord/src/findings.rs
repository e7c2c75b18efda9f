//! Formats findings for people.

use fiord_doctor::{FindingBuilder, Findings};
use fiord_job::diagnostic::{Diagnostic, Level};
use fiord_stat::finding::Finding;

/// Formats findings, with the relevant text of the job underlined.
pub(crate) fn rendered(findings: &Findings, color: bool) -> String {
    findings.all().iter().map(|told| diagnostic(told).render(color)).collect()
}

fn diagnostic(told: &FindingBuilder) -> Diagnostic {
    let Finding { id, severity, what, evidence, .. } = &told.finding;
    let mut diagnostic = Diagnostic::error(format!("{id}: {what}"), told.place.clone());
    diagnostic.level = Level::Found(severity.word());
    // The evidence of a note is the underlined text.
    let underlined = told.noted && told.place.is_some();
    if !(underlined || evidence.is_empty()) {
        diagnostic = diagnostic.help(evidence);
    }
    if let Some(to_fix) = told.finding.to_fix() {
        diagnostic = diagnostic.help(to_fix);
    }
    diagnostic
}
