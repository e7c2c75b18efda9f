//! Shared code of `spec-exceeded` and `spec-missed`: compares results with the specification of the
//! device (`spec=`).

use fiord_plan::JobPlan;
use fiord_stat::report::SpecReport;

use crate::check::{After, Check, CollectedFindings};
use crate::evidence::amount::percent;

/// Reports every result that is far from its specification. `side` is `above` or `below`; `far` decides
/// whether a percentage of the specification counts as far, `remedy` says what to do.
pub(crate) fn report(
    check: &Check,
    side: &str,
    far: impl Fn(f64) -> bool,
    remedy: impl Fn(&SpecReport) -> String,
    known: &After<'_>,
    findings: &mut CollectedFindings,
) {
    for spec in known.report.extras.spec.iter().filter(|spec| far(spec.percent)) {
        let unit = if spec.bytes { "bytes" } else { "I/Os" };
        let finding = check.for_run(format!(
            "{} on {} is far {side} its specification",
            spec.pattern, spec.target
        ));
        findings.report(
            finding
                .evidence(format!(
                    "{:.0} of {:.0} {unit} per second: {}",
                    spec.achieved,
                    spec.stated,
                    percent(spec.percent / 100.0)
                ))
                .remedy(remedy(spec)),
        );
    }
}

/// Returns the jobs whose results were compared with a specification.
pub(crate) fn jobs<'a>(known: &After<'a>, spec: &SpecReport) -> Vec<&'a JobPlan> {
    let stated = |job: &&JobPlan| {
        job.reporting.spec.iter().any(|stated| {
            stated.pattern.word() == spec.pattern
                && stated.pattern.fits(&job.load)
                && stated.bytes == spec.bytes
                && stated.value == spec.stated
        })
    };
    let on_target = |job: &&JobPlan| match job.target.files.as_slice() {
        [one] => one.path.display().to_string() == spec.target,
        files => spec.target == format!("{} targets", files.len()),
    };
    known.plan.jobs.iter().filter(stated).filter(on_target).collect()
}

/// Returns the findings of a check for a drive with a specification of 780,000 random reads per second.
#[cfg(test)]
pub(crate) fn reported(check: &Check, achieved: f64) -> Vec<fiord_stat::finding::Finding> {
    reported_for(check, achieved, |_| ())
}

/// Returns the findings for a job that `change` has changed, as in [`reported`].
#[cfg(test)]
pub(crate) fn reported_for(
    check: &Check,
    achieved: f64,
    change: impl FnOnce(&mut JobPlan),
) -> Vec<fiord_stat::finding::Finding> {
    use fiord_plan::{Pattern, Stated};
    let mut case = crate::tests::drives::one_drive();
    case.report.extras.spec = vec![SpecReport {
        pattern: "randread".into(),
        target: "/dev/nvme0n1".into(),
        stated: 780e3,
        achieved,
        percent: achieved * 100.0 / 780e3,
        bytes: false,
    }];
    let stated = Stated { pattern: Pattern::RandRead, value: 780e3, bytes: false };
    case.job().reporting.spec = vec![stated];
    change(case.job());
    crate::tests::drives::found_after(check, &case)
}
