//! The table of reasons why an option has no effect on raw flash.

use fiord_job::option::table::{
    BUFFERED, DIRECT, END_FSYNC, FDATASYNC, FSYNC, FSYNC_ON_CLOSE, SYNC, SYNC_FILE_RANGE,
    WRITE_HINT,
};

use super::conditions::access;
use super::rules::{Reports, Rule};
use crate::model::EngineAccess;

pub(crate) const FLASH_RULES: &[Rule] = &[Rule {
    options: &[
        DIRECT.def(),
        BUFFERED.def(),
        SYNC.def(),
        WRITE_HINT.def(),
        FSYNC.def(),
        FDATASYNC.def(),
        SYNC_FILE_RANGE.def(),
        END_FSYNC.def(),
        FSYNC_ON_CLOSE.def(),
    ],
    reports: Reports::EachChanged,
    unused: |_, plan| access(plan) == EngineAccess::Flash,
    what: "`{option}` has no effect on raw flash: nothing is cached, and a write is on the flash when it completes",
    help: "To fix: leave it out",
    example: "--ioengine=mtd --filename=/dev/mtd0 --rw=write --sync=1",
}];
