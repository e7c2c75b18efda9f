//! `run-warning`: something that the run could not do as asked, after which it continued.

use fiord_stat::finding::Severity;
use fiord_stat::hosts::HostsReport;
use fiord_stat::report::Report;

use crate::check::{After, Check, CollectedFindings};

pub(crate) const CHECK: Check = Check {
    id: "run-warning",
    severity: Severity::Note,
    title: "something that the run could not do as asked",
    about: "The run met a problem that does not affect its I/O and continued: the file system \
            could not preallocate a file, the command of `exec_postrun` failed, or a control \
            group could not be removed. The numbers are those of the job, but its environment is \
            not the one that the job asks for.",
    detection: "A step of the run that no I/O depends on fails. The finding has the error.",
    effect: "Usually none. A file that was not preallocated may have more extents.",
    remedy: "correct what the error names, or leave out the option that asks for it: \
             `fallocate=none`, `exec_postrun`, `cgroup`.",
    lint: None,
    before: None,
    after: Some(after),
    hosts: Some(hosts),
};

fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    repeat(known.report, findings);
}

/// Reports the coordinator's warnings. Each host reports its own.
fn hosts(report: &HostsReport, findings: &mut CollectedFindings) {
    repeat(&report.all, findings);
}

fn repeat(report: &Report, findings: &mut CollectedFindings) {
    for warning in &report.extras.warnings {
        let what = match &warning.job {
            Some(job) => format!("job {job}: {}", warning.what),
            None => warning.what.clone(),
        };
        let mut finding = CHECK.for_run(what);
        finding.finding.job.clone_from(&warning.job);
        findings.report(finding);
    }
}

#[cfg(test)]
mod tests {
    use fiord_stat::finding::RunWarning;
    use fiord_stat::report::{Extras, Report};

    use super::*;
    use crate::machine::Machine;
    use crate::tests::fixture::{found_after, plan};

    #[test]
    fn reports_every_warning_with_its_job() {
        let (plan, _) = plan("--name=a --ioengine=null --size=1m");
        let machine = Machine::survey(&plan);
        let warning = |job: Option<&str>, what: &str| RunWarning {
            job: job.map(str::to_owned),
            what: what.to_owned(),
        };
        let warnings = vec![warning(Some("a"), "one"), warning(None, "two")];
        let report =
            Report { extras: Extras { warnings, ..Extras::default() }, ..Report::default() };
        let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
        let found = found_after(&CHECK, &known);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].what.as_str(), found[0].job.as_deref()), ("job a: one", Some("a")));
        assert_eq!((found[1].what.as_str(), found[1].job.as_deref()), ("two", None));
    }
}
