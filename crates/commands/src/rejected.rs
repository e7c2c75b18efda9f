//! Jobs that the parser or the planner rejects.

use fiord_job::Invocation;
use fiord_job::diagnostic::{self, Diagnostic};
use fiord_job::load::Loader;
use fiord_plan::machine::system::SystemFacts;
use fiord_plan::{Plan, PlanOptions};
use fiord_run::Targets;
use fiord_types::program;

/// The errors of a job. They point at the option and line.
#[derive(Debug)]
pub struct Rejected(pub Vec<Diagnostic>);

impl std::fmt::Display for Rejected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = diagnostic::render(&self.0, false);
        // The rendered text begins like that of a run; here the command adds its own name.
        f.write_str(text.strip_prefix(&program::message("")).unwrap_or(&text).trim_end())
    }
}

impl std::error::Error for Rejected {}

/// Parses a command line or the name of a job file.
///
/// # Errors
/// The errors of the job.
pub fn parse(args: &[String], loader: &mut dyn Loader) -> Result<Invocation, Rejected> {
    fiord_job::invocation(args, loader).map_err(Rejected)
}

/// Checks that fiord supports all options of the jobs.
///
/// # Errors
/// The unsupported options.
pub fn check_supported(invocation: &Invocation) -> Result<(), Rejected> {
    let all: Vec<Diagnostic> = invocation.jobs.iter().flat_map(fiord_job::unsupported).collect();
    if all.is_empty() { Ok(()) } else { Err(Rejected(all)) }
}

/// Plans the jobs on this machine.
///
/// # Errors
/// What the machine or the device does not permit.
pub fn plan(invocation: &Invocation) -> Result<Plan, Rejected> {
    let options = PlanOptions { endpoints: Some(&Targets), ..PlanOptions::of(invocation) };
    fiord_plan::resolve(&invocation.jobs, options, &SystemFacts)
        .map(|resolved| resolved.plan)
        .map_err(Rejected)
}
