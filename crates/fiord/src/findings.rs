//! The findings of a run: the machine is looked at when everything is laid out and when everything
//! has ended, never in between.

use fiord_doctor::{Findings, Machine, Told, Typed};
use fiord_job::diagnostic::{Diagnostic, Level};
use fiord_plan::Plan;
use fiord_run::events::{Event, Observer};
use fiord_stat::finding::Finding;
use fiord_stat::report::Report;

/// Passes events on, and looks at the machine when the jobs are about to begin: what they are about to
/// destroy is told at that moment, while it is there.
pub struct Surveyor<'a> {
    plan: &'a Plan,
    observer: &'a mut dyn Observer,
    wanted: bool,
    before: Option<Machine>,
}

impl<'a> Surveyor<'a> {
    /// Nothing is looked at unless findings are `wanted`.
    pub fn new(plan: &'a Plan, observer: &'a mut dyn Observer, wanted: bool) -> Self {
        Surveyor { plan, observer, wanted, before: None }
    }

    /// The machine as it was before the run.
    pub fn before(self) -> Option<Machine> {
        self.before
    }
}

impl Observer for Surveyor<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if self.wanted && matches!(event, Event::LaidOut) {
            let machine = Machine::survey(self.plan);
            for finding in fiord_doctor::at_stake(self.plan, &machine).findings() {
                let (what, evidence) = (&finding.what, &finding.evidence);
                let what = format!("{}: {what}: {evidence}. To fix: {}", finding.id, finding.mend);
                self.observer.event(&Event::Warning { job: None, what: &what });
            }
            self.before = Some(machine);
        }
        self.observer.event(event);
    }
}

/// Puts everything that was found into the report; nothing when there was no look before the run.
pub fn put(plan: &Plan, typed: Typed<'_>, before: Option<&Machine>, report: &mut Report) {
    let Some(before) = before else { return };
    let after = Machine::survey_after(plan);
    let findings = fiord_doctor::whole(plan, typed, (before, &after), report);
    report.extras.findings = findings.findings().cloned().collect();
    report.extras.unchecked = findings.unchecked().to_vec();
}

/// Findings for people, each with the text that it is about underlined.
pub fn rendered(findings: &Findings, color: bool) -> String {
    findings.told().iter().map(|told| diagnostic(told).render(color)).collect()
}

fn diagnostic(told: &Told) -> Diagnostic {
    let Finding { id, severity, what, evidence, mend, .. } = &told.finding;
    let mut diagnostic = Diagnostic::error(format!("{id}: {what}"), told.place.clone());
    diagnostic.level = Level::Found(severity.word());
    // The evidence of a note is the text that is underlined.
    let underlined = told.noted && told.place.is_some();
    if !(underlined || evidence.is_empty()) {
        diagnostic = diagnostic.help(evidence);
    }
    if !mend.is_empty() {
        diagnostic = diagnostic.help(format!("To fix: {mend}"));
    }
    diagnostic
}
