//! The rules that apply only to some engines: which options and loads they refuse, and what they need at a path.
//!
//! To give an engine rules, add a row to [`ENGINE_RULES`], which names functions of the engine's module.

use crate::engine::{endpoint, flash, http, libblkio, memory, net, nvme, pmem, rdma, scsi, stream};
use crate::files::region::Extent;
use crate::files::usage::TargetRule;
use crate::files::{names, paths};
use crate::machine::survey::Survey;
use crate::model::{EngineAccess, EngineDef, EnginePlan, FileKind, FilePlan, JobPlan, Load};
use crate::options::reading::Reading;

/// Refuses what a job must not do with its engine, or warns of it.
type Check = fn(Reading, &EnginePlan, &Load);

/// Refuses planned files. The plan has all but its files, and what follows from them.
type FilesCheck = fn(Reading, &mut JobPlan, &[FilePlan], &mut Survey);

/// Rules of the engines that have one of some ways of access to their targets.
struct EngineRules {
    /// Whether the rules apply to engines with this access.
    applies: fn(EngineAccess) -> bool,
    /// Checks options. These messages come before those about zones and ranges.
    options: Option<Check>,
    load: Option<Check>,
    /// Checks the planned files of an instance, and completes the plan of the engine with what they are.
    files: Option<FilesCheck>,
    /// Determines what is at a path. `None` in all rows of an engine: the engine reads and writes files and devices.
    target: Option<TargetRule>,
}

/// A row without rules for all engines.
const NONE: EngineRules =
    EngineRules { applies: |_| true, options: None, load: None, files: None, target: None };

/// All rules. Messages come in the order of the rows.
const ENGINE_RULES: &[EngineRules] = &[
    // The options of commands are options of other engines too, which refuse them.
    EngineRules { options: Some(nvme::check), ..NONE },
    EngineRules {
        applies: |access| access == EngineAccess::NvmeCommands,
        files: Some(nvme::targets),
        target: Some(TargetRule::Opened(nvme::target)),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::ScsiCommands,
        load: Some(scsi::check),
        target: Some(TargetRule::Opened(scsi::target)),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::Stream,
        load: Some(stream::check),
        target: Some(TargetRule::Unopened(endpoint::target)),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::Stream,
        load: Some(net::check),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::Stream,
        load: Some(rdma::check),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::Memory,
        load: Some(memory::check),
        target: Some(NO_TARGET),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::Nothing,
        target: Some(NO_TARGET),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::Endpoint,
        target: Some(TargetRule::Unopened(endpoint::target)),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::Endpoint,
        load: Some(http::check),
        ..NONE
    },
    EngineRules {
        applies: |access| access == EngineAccess::Flash,
        load: Some(flash::threads),
        files: Some(flash::check),
        target: Some(TargetRule::Opened(flash::target)),
        ..NONE
    },
    // Each driver of libblkio has an access of its own.
    EngineRules { load: Some(libblkio::check), ..NONE },
    EngineRules {
        applies: |access| matches!(access, EngineAccess::PersistentMemory(_)),
        target: Some(TargetRule::Opened(pmem::target)),
        ..NONE
    },
    EngineRules {
        applies: |access| matches!(access, EngineAccess::Names(_)),
        target: Some(TargetRule::Unopened(names::target)),
        ..NONE
    },
];

/// Engines without a target work on regions of any size, at any path.
const NO_TARGET: TargetRule =
    TargetRule::Unopened(|_, _| Some((FileKind::Virtual, Extent::Endless)));

fn rules(engine: &EngineDef) -> impl Iterator<Item = &'static EngineRules> {
    let access = engine.access;
    ENGINE_RULES.iter().filter(move |rules| (rules.applies)(access))
}

/// Refuses options that do not work with the engine of a job.
pub(crate) fn check_options(job: Reading, engine: &EnginePlan, load: &Load) {
    for check in rules(engine.def()).filter_map(|rules| rules.options) {
        check(job, engine, load);
    }
}

/// Refuses loads that do not work with the engine of a job.
pub(crate) fn check_load(job: Reading, engine: &EnginePlan, load: &Load) {
    for check in rules(engine.def()).filter_map(|rules| rules.load) {
        check(job, engine, load);
    }
}

/// Refuses files that the engine of a job cannot use as planned, and completes the plan of the engine. `files`: the files of
/// the instance, which `plan` has not yet.
pub(crate) fn check_files(
    job: Reading,
    plan: &mut JobPlan,
    files: &[FilePlan],
    survey: &mut Survey,
) {
    for check in rules(plan.engine.def()).filter_map(|rules| rules.files) {
        check(job, plan, files, survey);
    }
}

/// The rule for the targets of an engine.
pub(crate) fn target(engine: &EngineDef) -> TargetRule {
    rules(engine).find_map(|rules| rules.target).unwrap_or(TargetRule::Opened(paths::plain))
}

#[cfg(test)]
mod tests {
    use fiord_job::option::table;

    use super::*;

    #[test]
    fn engines_without_files_have_a_rule_for_their_targets_and_only_one() {
        for engine in table::engines() {
            let found = rules(engine).filter(|rules| rules.target.is_some()).count();
            let plain = matches!(
                engine.access,
                EngineAccess::Calls
                    | EngineAccess::Extents
                    | EngineAccess::Library
                    | EngineAccess::Mapping
            );
            assert_eq!(found, usize::from(!plain), "ioengine={}", engine.name);
        }
    }
}
