//! Compares results with the manufacturer's specification (`spec`).

use fiord_plan::{FilePlan, JobPlan, Plan, Stated};
use fiord_stat::report::{DirKind, JobReport, SpecReport};
use fiord_types::Dir;

/// One entry for each specified rate, with the measured rate. Adds up jobs that ran in parallel on the same
/// target.
pub(crate) fn against(plan: &Plan, reports: &[JobReport]) -> Vec<SpecReport> {
    let mut found: Vec<(SpecReport, &JobPlan)> = Vec::new();
    let mut plans = plan.jobs.iter().filter(|job| job.reporting.stats);
    for report in reports {
        let members: Vec<&JobPlan> = plans.by_ref().take(report.members.max(1) as usize).collect();
        let Some(job) = members.first() else { break };
        for stated in job.reporting.spec.iter().filter(|stated| stated.pattern.fits(&job.load)) {
            let Some(achieved) = achieved(report, stated, job) else { continue };
            let same = |(spec, other): &&mut (SpecReport, &JobPlan)| {
                spec.pattern == stated.pattern.word()
                    && spec.bytes == stated.bytes
                    && spec.stated == stated.value
                    && other.identity.stonewall_group == job.identity.stonewall_group
                    && same_targets(other, job)
            };
            match found.iter_mut().find(same) {
                Some((spec, _)) => spec.achieved += achieved,
                None => found.push((first(stated, achieved, job), job)),
            }
        }
    }
    let percent = |spec: &SpecReport| match spec.stated > 0.0 {
        true => spec.achieved * 100.0 / spec.stated,
        false => 0.0,
    };
    found.into_iter().map(|(spec, _)| SpecReport { percent: percent(&spec), ..spec }).collect()
}

/// Whether two jobs use the same files or devices, even if they use different parts of them.
fn same_targets(one: &JobPlan, other: &JobPlan) -> bool {
    let (one, other) = (&one.target.files, &other.target.files);
    let same = |(a, b): (&FilePlan, &FilePlan)| a.path == b.path && a.kind == b.kind;
    one.len() == other.len() && one.iter().zip(other).all(same)
}

fn first(stated: &Stated, achieved: f64, job: &JobPlan) -> SpecReport {
    let target = match job.target.files.as_slice() {
        [one] => one.path.display().to_string(),
        files => format!("{} targets", files.len()),
    };
    SpecReport {
        pattern: stated.pattern.word().into(),
        target,
        stated: stated.value,
        achieved,
        percent: 0.0,
        bytes: stated.bytes,
    }
}

/// The measured rate in the directions of the job's pattern, without the reads of a verify phase. `None` if
/// the report has only their sum with the writes (`unified_rw_reporting`).
fn achieved(report: &JobReport, stated: &Stated, job: &JobPlan) -> Option<f64> {
    let mix = &job.load.mix;
    // With `unified_rw_reporting=both`, the report has the sum in addition to its parts.
    let parts = report.dirs.iter().filter(|dir| dir.kind != DirKind::Mixed);
    let sum = |dirs: &mut dyn Iterator<Item = &fiord_stat::report::DirReport>| -> f64 {
        dirs.map(|dir| if stated.bytes { dir.bw.0 as f64 } else { dir.iops }).sum()
    };
    if parts.clone().next().is_some() {
        let own = |kind: DirKind| Dir::ALL.into_iter().any(|d| mix.has(d) && kind == d.into());
        return Some(sum(&mut parts.filter(|dir| own(dir.kind))));
    }
    let reads_back = job.verify.as_ref().is_some_and(|verify| verify.pass.reads_back());
    let added = reads_back && !mix.has(Dir::Read);
    (!added).then(|| sum(&mut report.dirs.iter()))
}
