//! Findings: reasons why a result may measure something other than its reader thinks. Each finding has
//! a module in `findings/` named after its id. This crate never changes a result.
//!
//! A [`Check`] declares a finding: its id, its texts, and the functions that detect it. `lint` runs
//! every check that needs only the job, `before` those that need the machine, and `after` those
//! that need the result. Each stage returns [`CollectedFindings`], which are joined.
//!
//! | question | module |
//! |---|---|
//! | what is a finding made of, and from what is it detected | [`check`] |
//! | which findings exist | [`registry`] |
//! | what does fiord know about the machine | [`machine`] |
//! | what do the pages in `docs/findings/` say | [`pages`] |
//! | how is `unwritten-data` detected | `findings/unwritten_data.rs`, and so on |
//! | what do several findings need to know | `evidence/`, with a table of its own |
//!
//! Each of these uses only what is below it: `registry`, `findings`, `evidence`, [`check`],
//! [`machine`].
//!
//! ```
//! use fiord_doctor::{Machine, Typed};
//!
//! let arguments = ["--name=a", "--ioengine=psync", "--iodepth=32", "--size=1m"].map(String::from);
//! let invocation = fiord_job::invocation(&arguments, &mut fiord_job::load::MachineLoader).unwrap();
//! let resolved =
//!     fiord_plan::resolve_invocation(&invocation, &fiord_plan::machine::system::SystemFacts).unwrap();
//! let typed = Typed { specs: &invocation.jobs, notes: &resolved.warnings };
//!
//! let findings = fiord_doctor::ahead(&resolved.plan, typed, &Machine::survey(&resolved.plan));
//! let finding = findings.findings().find(|finding| finding.id == "depth-ignored").unwrap();
//! assert_eq!(finding.option.as_deref(), Some("iodepth"));
//! ```

#![forbid(unsafe_code)]

pub mod check;
pub mod machine;
pub mod pages;
pub mod registry;

mod evidence;
mod findings;
#[cfg(test)]
mod tests;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::spec::JobSpec;
use fiord_plan::Plan;
use fiord_stat::hosts::HostsReport;
use fiord_stat::report::Report;
use fiord_stat::samples::Samples;

use crate::evidence::{hosts, noted, touched};
use crate::findings::{file_extended, noisy_neighbour, target_in_use};

pub use check::{After, Before, Check, CheckStage, CollectedFindings, FindingBuilder, Lint};
pub use machine::{Evidence, Machine, Unavailable};
pub use registry::CHECKS;

/// Runs the checks that need only the job. `notes` are the warnings of the reader and of the planner.
fn lint(plan: &Plan, specs: &[JobSpec], notes: &[Diagnostic]) -> CollectedFindings {
    let mut findings = CollectedFindings::default();
    let known = Lint { plan, specs, notes };
    CHECKS.iter().filter_map(|check| check.lint).for_each(|stage| stage(&known, &mut findings));
    findings
}

/// Runs the checks that need the job and the machine before the run.
fn before(plan: &Plan, machine: &Machine) -> CollectedFindings {
    let mut findings = CollectedFindings::default();
    let known = Before { plan, machine };
    CHECKS.iter().filter_map(|check| check.before).for_each(|stage| stage(&known, &mut findings));
    findings
}

/// Returns the findings about data that the run is about to overwrite. They are reported before the
/// first I/O, and again with all other findings.
#[must_use]
pub fn at_stake(plan: &Plan, machine: &Machine) -> CollectedFindings {
    let mut findings = CollectedFindings::default();
    target_in_use::before(&Before { plan, machine }, &mut findings);
    findings.settled(plan)
}

/// Runs the checks that need the result.
fn after(plan: &Plan, before: &Machine, after: &Machine, report: &Report) -> CollectedFindings {
    let mut findings = CollectedFindings::default();
    let known = After { plan, before, after, report };
    CHECKS.iter().filter_map(|check| check.after).for_each(|stage| stage(&known, &mut findings));
    findings
}

/// Returns the findings about the hosts of a run. A finding is left out if all jobs ignore it (`ignore_findings`). The
/// findings of each host are in its own report.
///
/// ```
/// use fiord_stat::hosts::{HostReport, HostsReport};
///
/// let lost = HostReport { name: "n7".into(), ..HostReport::default() };
/// let report = HostsReport { hosts: vec![lost], ..HostsReport::default() };
/// let findings = fiord_doctor::of_hosts(&report);
/// assert_eq!(findings.findings().next().unwrap().what, "n7 has no complete result");
/// ```
#[must_use]
pub fn of_hosts(report: &HostsReport) -> CollectedFindings {
    let mut findings = CollectedFindings::default();
    if report.refused {
        // No result could be wrong, and the messages say why the jobs did not run.
        return findings;
    }
    CHECKS.iter().filter_map(|check| check.hosts).for_each(|stage| stage(report, &mut findings));
    let ignored: Vec<&str> = hosts::ignored_by_all(report);
    findings.without(|id, _| ignored.contains(&id))
}

/// Withdraws findings of single hosts that the results of the other hosts disprove: several hosts on one machine do not
/// count as other programs to each other. Call it before [`of_hosts`].
pub fn settle_hosts(report: &mut HostsReport) {
    noisy_neighbour::without_mates(report);
}

/// The text of the jobs, independent of the machine.
#[derive(Debug, Clone, Copy)]
pub struct Typed<'a> {
    /// The options as written, indexed by [`fiord_plan::Identity::section`].
    pub specs: &'a [JobSpec],
    /// The warnings of the reader and of the planner.
    pub notes: &'a [Diagnostic],
}

/// Returns the findings that a terminal shows before a run: the warnings of the reader and of the
/// planner, and existing files that the run makes longer.
#[must_use]
pub fn notes(plan: &Plan, typed: Typed<'_>) -> CollectedFindings {
    let known = Lint { plan, specs: typed.specs, notes: typed.notes };
    let mut findings = CollectedFindings::default();
    registry::NOTED.iter().for_each(|check| noted::report(check, &known, &mut findings));
    file_extended::lint(&known, &mut findings);
    findings.placed(typed.specs).settled(plan)
}

/// Surveys the machine right before a run.
#[must_use]
pub fn survey_before(plan: &Plan) -> Machine {
    let reads = touched::reads(plan, &[]);
    Machine::survey_before(plan, &|job, file| reads.range(job, file))
}

/// Surveys the machine after a run in which the jobs did `courses` (`Report::courses`).
#[must_use]
pub fn survey_after(plan: &Plan, courses: &[Samples]) -> Machine {
    let reads = touched::reads(plan, courses);
    Machine::survey_after(plan, &|job, file| reads.range(job, file))
}

/// Returns all findings that need no run: those of the job and of the machine.
#[must_use]
pub fn ahead(plan: &Plan, typed: Typed<'_>, machine: &Machine) -> CollectedFindings {
    let mut findings = lint(plan, typed.specs, typed.notes);
    findings.join(before(plan, machine));
    findings.placed(typed.specs).without_echoes().settled(plan)
}

/// Returns all findings of a run: those of the job, of the machine before the run, and of the result.
/// `machine` is the machine before the run, `later` the machine after it.
#[must_use]
pub fn whole(
    plan: &Plan,
    typed: Typed<'_>,
    (machine, later): (&Machine, &Machine),
    report: &Report,
) -> CollectedFindings {
    let mut findings = lint(plan, typed.specs, typed.notes);
    findings.join(before(plan, machine));
    findings.join(after(plan, machine, later, report));
    let findings = findings.without_guess("cached-working-set", "cache-hits");
    findings.placed(typed.specs).without_echoes().settled(plan)
}
