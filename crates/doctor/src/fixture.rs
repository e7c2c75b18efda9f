//! What tests are made from: a command line becomes a plan, and one check is asked.

use fiord_job::load::Machine as Loader;
use fiord_job::spec::JobSpec;
use fiord_plan::{Plan, Terms};
use fiord_stat::finding::Finding;

use crate::{Check, Findings, Lint};

/// The plan of a command line, and what was typed.
pub(crate) fn plan(line: &str) -> (Plan, Vec<JobSpec>) {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let invocation = fiord_job::invocation(&args, &mut Loader).expect("a command line");
    let machine = fiord_plan::system::Machine;
    let resolved = fiord_plan::resolve(&invocation.jobs, Terms::of(&invocation), &machine);
    (resolved.expect("a plan").plan, invocation.jobs)
}

/// What one check tells of a command line without looking at the machine.
pub(crate) fn lint(check: &Check, line: &str) -> Vec<Finding> {
    let (plan, specs) = plan(line);
    let mut findings = Findings::default();
    let tell = check.lint.expect("a lint");
    tell(&Lint { plan: &plan, specs: &specs }, &mut findings);
    findings.findings().cloned().collect()
}

/// Sees to it that a check tells exactly one thing of the first command line and nothing of the
/// others; gives what it told.
#[track_caller]
pub(crate) fn told_once(check: &Check, hazard: &str, sound: &[&str]) -> Finding {
    let mut found = lint(check, hazard);
    assert_eq!(found.len(), 1, "{hazard}: {found:?}");
    for line in sound {
        assert_eq!(lint(check, line), [], "{line}");
    }
    let finding = found.remove(0);
    assert_eq!(finding.id, check.id);
    assert!(!finding.evidence.is_empty() && !finding.mend.is_empty(), "{finding:?}");
    finding
}
