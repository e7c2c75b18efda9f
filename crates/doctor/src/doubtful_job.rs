//! `doubtful-job`: something in the job that is probably not meant.

use fiord_stat::finding::Severity;

use crate::{Check, noted};

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "doubtful-job",
    severity: Severity::Note,
    title: "something in the job that is probably not meant",
    about: "The job does exactly what it says, and what it says is seldom what people want: a device name \
            that does not exist and becomes a regular file, a pause that makes the rate impossible, a \
            pattern longer than a block, files too small for one block.",
    detection: "The reader or the planner meets a combination of options and targets that works against itself.",
    effect: "From nothing to a job that measures another target. A misspelt `filename=/dev/nvme0n7` \
             measures the file system that holds `/dev`, which is memory.",
    remedy: "Check the option that the finding points at.",
    lint: Some(|known, findings| noted::report(&CHECK, known, findings)),
    before: None,
    after: None,
};
