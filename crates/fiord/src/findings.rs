//! The findings of a run: the machine is looked at when everything is laid out and when everything
//! has ended, never in between.
//!
//! A look runs on a thread of its own: a file system that hangs can keep it, and a signal must end it.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use fiord_doctor::{FindingBuilder, Findings, Machine, Typed};
use fiord_job::diagnostic::{Diagnostic, Level};
use fiord_plan::Plan;
use fiord_run::events::{Event, Observer};
use fiord_stat::finding::{Finding, Unchecked};
use fiord_stat::report::Report;
use fiord_sys::signal;

/// How often is looked for a signal.
const POLL: Duration = Duration::from_millis(20);
/// How long a look may go on after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// Passes events on, and looks at the machine when the jobs are about to begin: what they are about to
/// destroy is told at that moment, while it is there.
pub struct Surveyor<'a> {
    plan: &'a Arc<Plan>,
    observer: &'a mut dyn Observer,
    stopped: &'a dyn Fn() -> bool,
    wanted: bool,
    before: Option<Machine>,
}

impl<'a> Surveyor<'a> {
    /// Nothing is looked at unless findings are `wanted`, nor when `stopped` says that the run is to end.
    pub fn new(
        plan: &'a Arc<Plan>,
        observer: &'a mut dyn Observer,
        stopped: &'a dyn Fn() -> bool,
        wanted: bool,
    ) -> Self {
        Surveyor { plan, observer, stopped, wanted, before: None }
    }

    /// The machine as it was before the run.
    pub fn before(self) -> Option<Machine> {
        self.before
    }
}

impl Observer for Surveyor<'_> {
    fn event(&mut self, event: &Event<'_>) {
        if self.wanted
            && matches!(event, Event::LaidOut)
            && !(self.stopped)()
            && let Some(machine) = look(self.plan, Machine::survey, self.stopped)
        {
            for finding in fiord_doctor::at_stake(self.plan, &machine).findings() {
                let (what, evidence) = (&finding.what, &finding.evidence);
                let to_fix = finding.to_fix().unwrap_or_default();
                let what = format!("{}: {what}: {evidence}. {to_fix}", finding.id);
                self.observer.event(&Event::Warning { job: None, what: &what });
            }
            self.before = Some(machine);
        }
        self.observer.event(event);
    }
}

/// Puts everything that was found into the report; only a gap where a signal kept it from being looked for.
pub fn put(
    plan: &Arc<Plan>,
    typed: Typed<'_>,
    before: Option<&Machine>,
    stopped: &dyn Fn() -> bool,
    report: &mut Report,
) {
    let after = before.and_then(|_| look(plan, Machine::survey_after, stopped));
    let (Some(before), Some(after)) = (before, after) else {
        let why = "a signal ended the run while the machine was looked at".into();
        report.extras.unchecked = vec![Unchecked { id: "all findings".into(), why }];
        return;
    };
    let findings = fiord_doctor::whole(plan, typed, (before, &after), report);
    report.extras.findings = findings.findings().cloned().collect();
    report.extras.unchecked = findings.unchecked().to_vec();
}

/// Findings for people, each with the text that it is about underlined.
pub fn rendered(findings: &Findings, color: bool) -> String {
    findings.told().iter().map(|told| diagnostic(told).render(color)).collect()
}

fn diagnostic(told: &FindingBuilder) -> Diagnostic {
    let Finding { id, severity, what, evidence, .. } = &told.finding;
    let mut diagnostic = Diagnostic::error(format!("{id}: {what}"), told.place.clone());
    diagnostic.level = Level::Found(severity.word());
    // The evidence of a note is the text that is underlined.
    let underlined = told.noted && told.place.is_some();
    if !(underlined || evidence.is_empty()) {
        diagnostic = diagnostic.help(evidence);
    }
    if let Some(to_fix) = told.finding.to_fix() {
        diagnostic = diagnostic.help(to_fix);
    }
    diagnostic
}

/// Looks at the machine. `None` where that does not end within a moment after a signal.
fn look(
    plan: &Arc<Plan>,
    how: fn(&Plan) -> Machine,
    stopped: &dyn Fn() -> bool,
) -> Option<Machine> {
    let (sender, receiver) = channel();
    let thread_plan = Arc::clone(plan);
    let body = move || {
        // Signals go to the thread that looks for them; without that they are seen a moment later.
        let _ = signal::block_in_this_thread();
        let _ = sender.send(how(&thread_plan));
    };
    if std::thread::Builder::new().name("findings".into()).spawn(body).is_err() {
        return Some(how(plan));
    }
    let mut stopped_at: Option<Instant> = None;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok(machine) => return Some(machine),
            Err(RecvTimeoutError::Disconnected) => return None,
            Err(RecvTimeoutError::Timeout) if stopped() => {
                if stopped_at.get_or_insert_with(Instant::now).elapsed() > GRACE {
                    return None;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}
