//! How a job knows which of its writes each block contains.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use fiord_formats::verify::header::HeaderLayout;
use fiord_formats::verify::interval::header_and_digest;
use fiord_formats::verify::method::Method;
use fiord_job::option::value::PatternPart;
use fiord_types::{Bytes, Dir};

use crate::model::{
    BlockSize, Distribution, FilePlan, JobPlan, Mix, Step, Tracking, VerifyMethod, VerifyPass,
    VerifyPlan,
};

/// Whether a job may write a block more than once in a loop.
pub(super) fn rewrites(plan: &JobPlan) -> bool {
    let load = &plan.load;
    let region = plan.target.files.iter().fold(0u64, |sum, file| sum.saturating_add(file.len));
    let at_random = load.random
        && (load.no_map
            || load.distribution != Distribution::Even
            || load.random_percent[Dir::Write] < 100);
    at_random || load.step != Step::None || load.sprandom.is_some() || plan.end.bytes > region
}

/// Whether a loop may end within a pass over the files, so that another loop, or the rest of this one, begins again
/// with blocks that it has written.
fn laps_differ(plan: &JobPlan) -> bool {
    let block = match plan.load.blocks[Dir::Write] {
        BlockSize::Fixed(bytes) => u64::from(bytes.max(1)),
        _ => return true,
    };
    let whole = |sum: u64, len: u64| sum.saturating_add(len / block * block);
    let pass = plan.target.files.iter().fold(0, |sum, file| whole(sum, file.len));
    let region = plan.target.files.iter().fold(0u64, |sum, file| sum.saturating_add(file.len));
    let ends_within = plan.end.bytes != pass || region != pass || plan.end.ios.is_some();
    plan.end.bytes > pass || plan.end.loops > 1 && ends_within
}

/// The tracking of a job that has its target for itself.
pub(super) fn of_job(plan: &JobPlan) -> Tracking {
    let load = &plan.load;
    if load.unaligned {
        return Tracking::Records;
    }
    let varied = load.mix.dirs().any(|dir| !matches!(load.blocks[dir], BlockSize::Fixed(_)));
    let differing = load.mix.dirs().any(|dir| load.blocks[dir] != load.blocks[Dir::Write]);
    let rated = matches!(load.mix, Mix::ReadWrite { .. })
        && plan.pace.rate.values().any(|rate| rate.is_some());
    let depends = load.mix == Mix::TrimWrite
        || load.strided.is_some()
        || load.zoned.is_some()
        || rated
        || load.random && differing && load.mix.has(Dir::Write);
    if depends || varied || rewrites(plan) || laps_differ(plan) {
        return Tracking::Map { granule: Bytes(granule(plan)) };
    }
    Tracking::Replay
}

/// The largest number of bytes that divides every offset and length of the job's writes and trims.
pub(super) fn granule(plan: &JobPlan) -> u64 {
    let load = &plan.load;
    let mut divisor = 0;
    for dir in load.mix.dirs().filter(|dir| *dir != Dir::Read) {
        match &load.blocks[dir] {
            BlockSize::Fixed(bytes) => divisor = common(divisor, u64::from(*bytes)),
            // Sizes are multiples of the smallest one.
            BlockSize::Range { min, .. } => divisor = common(divisor, u64::from(*min)),
            BlockSize::Split(list) => {
                divisor =
                    list.iter().fold(divisor, |all, (bytes, _)| common(all, u64::from(*bytes)));
            }
        }
        if load.random {
            divisor = common(divisor, load.align[dir]);
        }
    }
    if let Step::Skip(bytes) = load.step {
        divisor = common(divisor, bytes.unsigned_abs());
    }
    if let Some(strided) = load.strided {
        divisor = common(common(divisor, strided.transfer), strided.range);
    }
    let files = plan.target.files.iter();
    files.fold(divisor, |all, file| common(all, file.offset)).max(1)
}

/// The greatest common divisor. 0 is divisible by every number.
fn common(mut a: u64, mut b: u64) -> u64 {
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// Jobs that verify a file that another job writes at the same time share a map of it.
pub(crate) fn share_targets(plans: &mut [JobPlan]) {
    let mut users: HashMap<&Path, Vec<usize>> = HashMap::new();
    for (index, plan) in plans.iter().enumerate() {
        for file in &plan.target.files {
            users.entry(&file.path).or_default().push(index);
        }
    }
    let mut shared: HashMap<usize, u64> = HashMap::new();
    for users in users.values().filter(|users| users.len() > 1) {
        if !users.iter().any(|index| plans[*index].verify.is_some()) {
            continue;
        }
        let together = |one: &&usize| users.iter().any(|other| disturbs(plans, **one, *other));
        let together: Vec<usize> = users.iter().filter(together).copied().collect();
        let divisor = together.iter().fold(0, |all, index| common(all, granule(&plans[*index])));
        for index in together {
            shared.entry(index).and_modify(|all| *all = common(*all, divisor)).or_insert(divisor);
        }
    }
    for verify in plans.iter_mut().filter_map(|plan| plan.verify.as_mut()) {
        if let (Tracking::Map { granule }, VerifyMethod::Fio(method)) =
            (verify.tracking, verify.method)
            && method.has_header()
        {
            // What is left of a block after a part was overwritten has headers of its own.
            verify.interval = verify.interval.map(|interval| Bytes(common(interval.0, granule.0)));
        }
    }
}

/// Whether two jobs with one file run at the same time, and one of them writes it.
fn disturbs(plans: &[JobPlan], one: usize, other: usize) -> bool {
    let (a, b) = (&plans[one], &plans[other]);
    let waits = a.start.wait_for.contains(&other) || b.start.wait_for.contains(&one);
    one != other
        && a.identity.stonewall_group == b.identity.stonewall_group
        && !waits
        && (writes(a) || writes(b))
}

/// Whether a job changes the data of its target.
pub(super) fn writes(plan: &JobPlan) -> bool {
    let only = plan.verify.as_ref().is_some_and(|verify| verify.pass == VerifyPass::Only);
    plan.load.mix.changes_data() && !only
}
