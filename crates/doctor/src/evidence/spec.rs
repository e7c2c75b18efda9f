//! Shared code of `spec-exceeded` and `spec-missed`: compares results with the specification of the
//! device (`spec=`).

use crate::check::{After, Check, CollectedFindings};

/// Reports every result that is far from its specification. `side` is `above` or `below`; `far` decides
/// whether a percentage of the specification counts as far.
pub(crate) fn report(
    check: &Check,
    (side, far): (&str, impl Fn(f64) -> bool),
    remedy: &str,
    known: &After<'_>,
    findings: &mut CollectedFindings,
) {
    for spec in known.report.extras.spec.iter().filter(|spec| far(spec.percent())) {
        let unit = if spec.bytes { "bytes" } else { "I/Os" };
        let finding = check.for_run(format!(
            "{} on {} is far {side} its specification",
            spec.pattern, spec.target
        ));
        findings.report(
            finding
                .evidence(format!(
                    "{:.0} of {:.0} {unit} per second: {:.0} %",
                    spec.achieved,
                    spec.stated,
                    spec.percent()
                ))
                .remedy(remedy),
        );
    }
}

/// Returns the findings of a check for a drive with a specification of 780,000 random reads per second.
#[cfg(test)]
pub(crate) fn reported(check: &Check, achieved: f64) -> Vec<fiord_stat::finding::Finding> {
    let mut case = crate::tests::drives::one_drive();
    case.report.extras.spec = vec![fiord_stat::report::SpecReport {
        pattern: "randread".into(),
        target: "/dev/nvme0n1".into(),
        stated: 780e3,
        achieved,
        bytes: false,
    }];
    crate::tests::drives::found_after(check, &case)
}
