//! What `spec-exceeded` and `spec-missed` have in common: results held against what the maker
//! states (`spec=`).

use crate::{After, Check, Findings};

/// Tells a check of every result that is far on one side of what is stated: how that side is called,
/// and whether so many per cent of what is stated are it.
pub(crate) fn report(
    check: &Check,
    (side, far): (&str, impl Fn(f64) -> bool),
    remedy: &str,
    known: &After<'_>,
    findings: &mut Findings,
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
                    "{:.0} {unit} a second of {:.0}: {:.0} %",
                    spec.achieved,
                    spec.stated,
                    spec.percent()
                ))
                .remedy(remedy),
        );
    }
}

/// What a check tells of a drive of which 780,000 random reads a second are stated.
#[cfg(test)]
pub(crate) fn told(check: &Check, achieved: f64) -> Vec<fiord_stat::finding::Finding> {
    let mut case = crate::drives::one_drive();
    case.report.extras.spec = vec![fiord_stat::report::SpecReport {
        pattern: "randread".into(),
        target: "/dev/nvme0n1".into(),
        stated: 780e3,
        achieved,
        bytes: false,
    }];
    crate::drives::found_after(check, &case)
}
