//! `fiord check`: checks jobs without running them. It does no I/O on targets and creates no files.

use fiord_doctor::{CollectedFindings, Machine, Typed};
use fiord_job::command::Action;
use fiord_job::diagnostic::Diagnostic;
use fiord_job::load::MachineLoader;
use fiord_plan::machine::system::SystemFacts;
use fiord_plan::{Resolved, resolve_connected};

/// Results of a check.
#[derive(Debug, Default)]
pub struct CheckedJobs {
    /// Why jobs would not run; empty if they would.
    pub errors: Vec<Diagnostic>,
    /// What would make the results doubtful.
    pub findings: CollectedFindings,
    /// Number of jobs.
    pub jobs: usize,
}

/// Checks the jobs that the arguments of a run describe.
pub fn check(args: &[String]) -> CheckedJobs {
    let wrong = |errors| CheckedJobs { errors, ..CheckedJobs::default() };
    let invocation = match fiord_job::invocation(args, &mut MachineLoader) {
        Ok(invocation) => invocation,
        Err(errors) => return wrong(errors),
    };
    if invocation.jobs.is_empty() || !matches!(invocation.action, Action::Run) {
        let error = Diagnostic::error("there is no job to check", None);
        let help =
            "name a job file, or give the options of a job: fiord check --name=a --rw=read …";
        return wrong(vec![error.help(help)]);
    }
    match resolve_connected(&invocation, Some(&fiord_run::Targets), &SystemFacts) {
        Ok(Resolved { unavailable, .. }) if !unavailable.is_empty() => wrong(unavailable),
        Ok(Resolved { plan, warnings, .. }) => {
            let machine = Machine::survey(&plan);
            let typed = Typed { specs: &invocation.jobs, notes: &warnings };
            let findings = fiord_doctor::ahead(&plan, typed, &machine);
            CheckedJobs { errors: Vec::new(), findings, jobs: plan.jobs.len() }
        }
        Err(errors) => wrong(errors),
    }
}
