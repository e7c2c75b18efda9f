//! Which rates were not reached.

use fiord_job::option::table::{RATE, RATE_IOPS};
use fiord_plan::{JobPlan, Rate, RateProcess};
use fiord_stat::claim::ClaimedSetting;
use fiord_stat::report::DirReport;
use fiord_types::{Dir, PerDir};

use crate::check::Entry;
use crate::evidence::direction::dir;
use crate::evidence::setting::set;

/// A rate that a direction of a printed job did not reach. Both rates are in I/Os per second if `ios`
/// is set, otherwise in bytes per second.
pub(crate) struct MissedRate {
    pub(crate) achieved: f64,
    pub(crate) target: f64,
    pub(crate) ios: bool,
}

/// Returns the rate of a direction if its jobs did not reach it. The I/Os that are missing must be
/// more than those at the ends of the jobs, and more than chance explains.
pub(crate) fn missed(entry: &Entry<'_>, row: &DirReport) -> Option<MissedRate> {
    // Jobs that their sizes end may end at different times: the mean of all of them is then lower than their rates.
    let timed = |job: &&JobPlan| job.end.time_based && job.end.runtime.is_some();
    if entry.jobs.len() > 1 && !entry.jobs.iter().all(timed) {
        return None;
    }
    // A row of all directions has the sum of their rates.
    let of_job = |job: &&JobPlan| -> Vec<Option<Rate>> {
        let one = dir(row.kind).map(|dir| vec![job.pace.rate[dir]]);
        one.unwrap_or_else(|| job.load.mix.dirs().map(|dir| job.pace.rate[dir]).collect())
    };
    let rates: Option<Vec<Rate>> = entry.jobs.iter().flat_map(of_job).collect();
    let rates = rates?;
    let ios = matches!(rates.first()?, Rate::Ios(_));
    let target = rates.iter().try_fold(0u64, |sum, rate| match (rate, ios) {
        (Rate::Ios(n), true) | (Rate::Bytes(n), false) => Some(sum + n),
        _ => None,
    })?;
    let achieved = if ios { row.iops } else { row.bw.0 as f64 };
    let block = row.io_bytes.0 as f64 / row.total_ios.max(1) as f64;
    let per_io = if ios { 1.0 } else { block.max(1.0) };
    let seconds = row.runtime.as_secs_f64();
    let wanted = target as f64 * seconds / per_io;
    let missing = wanted - row.total_ios as f64;
    let poisson = entry.jobs.iter().any(|job| job.pace.process == RateProcess::Poisson);
    let chance = if poisson { 3.0 * wanted.sqrt() } else { 0.0 };
    let ends = 2.0 * entry.jobs.len() as f64;
    if achieved >= target as f64 * 0.99 || missing <= ends + chance {
        return None;
    }
    Some(MissedRate { achieved, target: target as f64, ios })
}

/// Returns rates for each job of a printed job that are slightly below those that its directions reached, and the others
/// as they are. `None` if the jobs differ, or if a rate is not known.
pub(crate) fn slower(entry: &Entry<'_>) -> Option<ClaimedSetting> {
    /// Share of the rate that the device reached.
    const SHARE: f64 = 0.9;
    let first = entry.jobs[0];
    if entry.jobs.iter().any(|job| job.identity.section != first.identity.section) {
        return None;
    }
    let mut rates: PerDir<Option<u64>> = PerDir::default();
    let mut ios = true;
    for row in &entry.report.dirs {
        let share = missed(entry, row).map(|missed| missed.achieved / missed.target * SHARE);
        let one = dir(row.kind);
        for dir in first.load.mix.dirs().filter(|dir| one.is_none_or(|one| one == *dir)) {
            let Some(asked) = first.pace.rate[dir] else { continue };
            ios &= matches!(asked, Rate::Ios(_));
            let (Rate::Ios(asked) | Rate::Bytes(asked)) = asked;
            let less = (asked as f64 * share.unwrap_or(1.0)) as u64;
            rates[dir] = Some(less).filter(|less| *less > 0);
            rates[dir]?;
        }
    }
    let text = |dir: Dir| rates[dir].map_or_else(String::new, |rate| rate.to_string());
    let used: Vec<Dir> = first.load.mix.dirs().collect();
    let text = match used.as_slice() {
        [only] => text(*only),
        _ => Dir::ALL.map(text).join(",").trim_end_matches(',').to_owned(),
    };
    Some(set(if ios { RATE_IOPS.def() } else { RATE.def() }, text))
}
