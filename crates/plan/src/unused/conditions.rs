//! The properties of jobs that the rules of unused options ask about.

use fiord_job::option::handle::Opt;
use fiord_job::option::table::{
    BUFFER_COMPRESS_PERCENTAGE, DATAPLACEMENT, DEDUPE_PERCENTAGE, DataPlacement, FDP, WRITE_HINT,
    priority,
};

use fiord_types::Dir;

use crate::model::{
    Commands, EngineAccess, FileKind, JobPlan, MetadataPlan, Mix, NameCall, ProtectionPlan,
    ProtectionType, Rate, WriteHint,
};
use crate::options::reading::Reading;

pub(super) fn access(plan: &JobPlan) -> EngineAccess {
    plan.engine.def().access
}

/// Whether the job generates data: for its writes, or for files that it lays out.
pub(super) fn makes_data(plan: &JobPlan) -> bool {
    let files = plan.target.files.iter().any(|file| match file.kind {
        FileKind::Regular => access(plan) != EngineAccess::Extents,
        FileKind::Name => access(plan) == EngineAccess::Names(NameCall::StatFile),
        _ => false,
    });
    plan.load.writes_data() || files
}

/// Whether reads and writes have rates that do not agree with the mix.
pub(super) fn rates_decide_mix(plan: &JobPlan) -> bool {
    let Mix::ReadWrite { read_percent } = plan.load.mix else { return false };
    match plan.pace.rate.into_array() {
        [Some(Rate::Ios(read)), Some(Rate::Ios(write)), _] => {
            let all = u128::from(read) + u128::from(write);
            u128::from(read) * 100 != all * u128::from(read_percent)
        }
        [Some(_), Some(_), _] => true,
        _ => false,
    }
}

pub(super) fn compresses(job: Reading) -> bool {
    job.get(BUFFER_COMPRESS_PERCENTAGE) > Some(0)
}

pub(super) fn repeats(job: Reading) -> bool {
    job.get(DEDUPE_PERCENTAGE) > Some(0)
}

/// Whether the job says where the device places its writes.
pub(super) fn places(job: Reading) -> bool {
    job.get(DATAPLACEMENT) != DataPlacement::None || job.get(FDP)
}

pub(super) fn places_writes(job: Reading, plan: &JobPlan) -> bool {
    places(job) && plan.load.mix.has(Dir::Write)
}

pub(super) fn is_hinted(job: Reading) -> bool {
    job.get(WRITE_HINT).is_some_and(|hint| hint != WriteHint::None)
}

pub(super) fn has_character_device(plan: &JobPlan) -> bool {
    plan.target.files.iter().any(|file| file.kind == FileKind::Char)
}

pub(super) fn is_positive(job: Reading, ratio: Opt<Option<f64>>) -> bool {
    job.get(ratio).is_some_and(|ratio| ratio > 0.0)
}

/// Whether some I/Os have a priority of their own.
pub(super) fn prioritizes(job: Reading) -> bool {
    job.is_set(priority::CMDPRIO_PERCENTAGE) || job.is_set(priority::CMDPRIO_BSSPLIT)
}

/// The metadata of each NVMe namespace of a job. `None`: it has no metadata.
pub(super) fn namespaces(plan: &JobPlan) -> impl Iterator<Item = Option<&MetadataPlan>> {
    let targets = plan.engine.passthrough().map_or(&[][..], |plan| {
        let Commands::Nvme(nvme) = &plan.commands;
        nvme.targets.as_slice()
    });
    targets.iter().map(|target| target.metadata.as_ref())
}

pub(super) fn protection(metadata: Option<&MetadataPlan>) -> Option<ProtectionPlan> {
    metadata?.protection
}

/// Whether `pi_chk` names reference tags where they have no meaning.
pub(super) fn checks_meaningless_tags(protection: ProtectionPlan) -> bool {
    protection.check.reference && protection.kind == ProtectionType::Three
}
