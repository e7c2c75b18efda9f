//! Collects the findings of a run. The machine is surveyed after the layout and after the run,
//! never in between.
//!
//! A survey runs on its own thread, so that a signal can end the run even if a file system hangs.

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

/// Interval between checks for a signal.
const POLL: Duration = Duration::from_millis(20);
/// How long a survey may continue after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// Passes events on and surveys the machine right before the jobs begin, so that findings about
/// data that the jobs will destroy are reported in time.
pub(crate) struct Surveyor<'a> {
    plan: &'a Arc<Plan>,
    observer: &'a mut dyn Observer,
    stopped: &'a dyn Fn() -> bool,
    wanted: bool,
    before: Option<Machine>,
}

impl<'a> Surveyor<'a> {
    /// Creates a surveyor. It surveys nothing unless findings are `wanted`, and stops if `stopped`
    /// returns true.
    pub(crate) fn new(
        plan: &'a Arc<Plan>,
        observer: &'a mut dyn Observer,
        stopped: &'a dyn Fn() -> bool,
        wanted: bool,
    ) -> Self {
        Surveyor { plan, observer, stopped, wanted, before: None }
    }

    /// Returns the survey from before the run.
    pub(crate) fn before(self) -> Option<Machine> {
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

/// Adds all findings to the report. If a signal interrupted the survey, adds only an entry that
/// says so.
pub(crate) fn put(
    plan: &Arc<Plan>,
    typed: Typed<'_>,
    before: Option<&Machine>,
    stopped: &dyn Fn() -> bool,
    report: &mut Report,
) {
    let after = before.and_then(|_| look(plan, Machine::survey_after, stopped));
    let (Some(before), Some(after)) = (before, after) else {
        let why = "a signal ended the run during the survey of the machine".into();
        report.extras.unchecked = vec![Unchecked { id: "all findings".into(), why }];
        return;
    };
    let findings = fiord_doctor::whole(plan, typed, (before, &after), report);
    report.extras.findings = findings.findings().cloned().collect();
    report.extras.unchecked = findings.unchecked().to_vec();
}

/// Formats findings for people, with the relevant text of the job underlined.
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

/// Surveys the machine. Returns `None` if the survey does not end soon after a signal.
fn look(
    plan: &Arc<Plan>,
    how: fn(&Plan) -> Machine,
    stopped: &dyn Fn() -> bool,
) -> Option<Machine> {
    let (sender, receiver) = channel();
    let thread_plan = Arc::clone(plan);
    let body = move || {
        // The thread that checks for signals should receive them. If blocking fails, it notices
        // them a moment later.
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
