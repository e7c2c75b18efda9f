//! The table of reasons why an option that names files has no effect.

use fiord_job::option::table::{DIRECTORY, FILENAME, FILENAME_FORMAT, NRFILES, OPENDIR};

use super::rules::{Reports, Rule};

pub(crate) const TARGET_RULES: &[Rule] = &[Rule {
    options: &[
        FILENAME.def(),
        DIRECTORY.def(),
        FILENAME_FORMAT.def(),
        NRFILES.def(),
        OPENDIR.def(),
    ],
    reports: Reports::EachSet,
    unused: |_, plan| plan.engine.def().names_target(),
    what: "`{option}` has no effect: an option of `ioengine={engine}` names the target",
    help: "To fix: leave it out",
    example: "--ioengine=rbd --pool=p --rbdname=i --filename=g",
}];
