//! `doubtful-job`: something in the job that is probably not intended.

use fiord_stat::finding::Severity;

use crate::check::Check;
use crate::evidence::noted;

pub(crate) const CHECK: Check = Check {
    id: "doubtful-job",
    severity: Severity::Note,
    title: "something in the job that is probably not intended",
    about: "The job is valid, but it probably does not do what was intended: a device name that \
            does not exist and becomes a regular file, a pause that makes the rate impossible, a \
            pattern longer than a block, files too small for one block.",
    detection: "While fiord reads and plans the job, it finds options and targets that contradict \
                each other.",
    effect: "From nothing to a job that measures another target. A misspelt \
             `filename=/dev/nvme0n7` measures the file system that holds `/dev`, which is in \
             memory.",
    remedy: "check the option that the finding points at.",
    lint: Some(|known, findings| noted::report(&CHECK, known, findings)),
    before: None,
    after: None,
    hosts: None,
};
