//! Helpers for unit tests: they make a plan from a command line and run one check.

use fiord_job::load::MachineLoader;
use fiord_job::spec::JobSpec;
use fiord_plan::{Plan, PlanOptions};
use fiord_stat::finding::Finding;
use fiord_stat::report::{DirKind, DirReport, JobReport, Report};
use fiord_types::{Bytes, Nanos};

use crate::check::{After, Before, Check, CollectedFindings, Lint};
use crate::machine::Machine;

/// Returns the plan of a command line, and its options as written.
pub(crate) fn plan(line: &str) -> (Plan, Vec<JobSpec>) {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    let invocation = fiord_job::invocation(&args, &mut MachineLoader).expect("a command line");
    let machine = fiord_plan::machine::system::SystemFacts;
    let resolved = fiord_plan::resolve(&invocation.jobs, PlanOptions::of(&invocation), &machine);
    (resolved.expect("a plan").plan, invocation.jobs)
}

/// Returns the findings of the lint of a check for a command line.
pub(crate) fn lint(check: &Check, line: &str) -> Vec<Finding> {
    let (plan, specs) = plan(line);
    let mut findings = CollectedFindings::default();
    let stage = check.lint.expect("a lint");
    stage(&Lint { plan: &plan, specs: &specs, notes: &[] }, &mut findings);
    findings.findings().cloned().collect()
}

/// Requires that a check reports exactly one finding for the command line `hazard` and none for those
/// in `sound`. Returns the finding.
#[track_caller]
pub(crate) fn found_once(check: &Check, hazard: &str, sound: &[&str]) -> Finding {
    let mut found = lint(check, hazard);
    assert_eq!(found.len(), 1, "{hazard}: {found:?}");
    for line in sound {
        assert_eq!(lint(check, line), [], "{line}");
    }
    let finding = found.remove(0);
    assert_eq!(finding.id, check.id);
    assert!(!finding.evidence.is_empty() && !finding.remedy.is_empty(), "{finding:?}");
    finding
}

/// Returns the findings of a check for a command line and a result. The result is that of one job
/// without I/O, changed by `set`.
pub(crate) fn after(check: &Check, line: &str, set: &dyn Fn(&mut JobReport)) -> Vec<Finding> {
    let (plan, _) = plan(line);
    let machine = Machine::survey(&plan);
    let mut job = JobReport { name: "a".into(), members: 1, ..JobReport::default() };
    set(&mut job);
    let report = Report { jobs: vec![job], ..Report::default() };
    found_after(check, &After { plan: &plan, before: &machine, after: &machine, report: &report })
}

/// Returns the findings of a check for a result.
pub(crate) fn found_after(check: &Check, known: &After<'_>) -> Vec<Finding> {
    let mut findings = CollectedFindings::default();
    let stage = check.after.expect("a check of results");
    stage(known, &mut findings);
    findings.findings().cloned().collect()
}

/// Returns a row of a report: `iops` I/Os of 4 KiB per second for `seconds`.
pub(crate) fn row(kind: DirKind, iops: f64, seconds: u64) -> DirReport {
    let total_ios = (iops * seconds as f64) as u64;
    DirReport {
        kind,
        io_bytes: Bytes(total_ios * 4096),
        bw: Bytes((iops * 4096.0) as u64),
        iops,
        runtime: Nanos::from_secs(seconds),
        total_ios,
        short_ios: 0,
        drop_ios: 0,
        slat: Default::default(),
        clat: Default::default(),
        lat: Default::default(),
        bw_samples: Default::default(),
        iops_samples: Default::default(),
        priorities: Default::default(),
    }
}

/// Returns the findings of a check for a plan on this machine.
pub(crate) fn before(check: &Check, plan: &Plan) -> Vec<Finding> {
    found_before(check, &Before { plan, machine: &Machine::survey(plan) })
}

/// Returns the findings of a check for a plan and a machine.
pub(crate) fn found_before(check: &Check, known: &Before<'_>) -> Vec<Finding> {
    let mut findings = CollectedFindings::default();
    let stage = check.before.expect("a check of the machine");
    stage(known, &mut findings);
    findings.findings().cloned().collect()
}

/// Returns a unique path for the file of a test, on the file system of the build.
pub(crate) fn scratch() -> std::path::PathBuf {
    use std::sync::atomic::{AtomicU32, Ordering};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let n = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::current_exe().expect("a test program");
    let folder = folder.parent().expect("in a folder");
    folder.join(format!("doctor-{}-{n}", std::process::id()))
}
