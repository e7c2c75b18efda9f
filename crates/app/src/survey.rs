//! Collects the findings of a run. The machine is surveyed after the layout and after the run,
//! never in between.
//!
//! A survey runs on its own thread, so that a signal can end the run even if a file system hangs.

use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use fiord_doctor::{Machine, Typed};
use fiord_plan::Plan;
use fiord_run::events::{EventKind, EventSender};
use fiord_stat::finding::Unchecked;
use fiord_stat::report::Report;
use fiord_sys::signal;
use fiord_sys::survey::Disk;

/// Interval between checks for a signal.
const POLL: Duration = Duration::from_millis(20);
/// How long a survey may continue after a signal.
const GRACE: Duration = Duration::from_secs(1);

/// Surveys the machine before and after a run.
pub(crate) struct Surveyor<'a> {
    plan: &'a Arc<Plan>,
    stopped: &'a dyn Fn() -> bool,
    before: Option<Machine>,
}

impl<'a> Surveyor<'a> {
    /// A surveyor that gives up soon after `stopped` returns true.
    pub(crate) fn new(plan: &'a Arc<Plan>, stopped: &'a dyn Fn() -> bool) -> Self {
        Surveyor { plan, stopped, before: None }
    }

    /// Surveys the machine right before the jobs begin, so that findings about data that the jobs will destroy are
    /// reported in time.
    pub(crate) fn before_start(&mut self, events: &EventSender) {
        if (self.stopped)() {
            return;
        }
        self.before = look(self.plan, fiord_doctor::survey_before, self.stopped);
        let Some(machine) = &self.before else { return };
        for finding in fiord_doctor::at_stake(self.plan, machine).findings() {
            let (what, evidence) = (&finding.what, &finding.evidence);
            let to_fix = finding.to_fix().unwrap_or_default();
            let what = format!("{}: {what}: {evidence}. {to_fix}", finding.id);
            events.send(EventKind::Warning { job: None, what });
        }
    }

    /// The disks under the targets, before the run; none without a survey.
    pub(crate) fn disks(&self) -> &[Disk] {
        self.before.as_ref().map_or(&[], |machine| machine.devices.disks.as_slice())
    }

    /// Adds all findings to the report. If a signal interrupted the survey, adds only an entry that says so.
    pub(crate) fn after_end(&self, typed: Typed<'_>, report: &mut Report) {
        let before = self.before.as_ref();
        let courses = report.courses.clone();
        let how = move |plan: &Plan| fiord_doctor::survey_after(plan, &courses);
        let after = before.and_then(|_| look(self.plan, how, self.stopped));
        let (Some(before), Some(after)) = (before, after) else {
            let why = "a signal ended the run during the survey of the machine".into();
            report.extras.unchecked = vec![Unchecked { id: "all findings".into(), why }];
            return;
        };
        let findings = fiord_doctor::whole(self.plan, typed, (before, &after), report);
        report.extras.findings = findings.findings().cloned().collect();
        report.extras.unchecked = findings.unchecked().to_vec();
    }
}

/// Surveys the machine. Returns `None` if the survey does not end soon after a signal.
fn look(
    plan: &Arc<Plan>,
    how: impl Fn(&Plan) -> Machine + Clone + Send + 'static,
    stopped: &dyn Fn() -> bool,
) -> Option<Machine> {
    let (sender, receiver) = channel();
    let (thread_plan, own) = (Arc::clone(plan), how.clone());
    let body = move || {
        // The thread that checks for signals should receive them. If blocking fails, it notices
        // them a moment later.
        let _ = signal::block_in_this_thread();
        let _ = sender.send(own(&thread_plan));
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
