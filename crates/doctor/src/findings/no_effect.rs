//! `no-effect`: an option that changes nothing in this job.

use fiord_stat::finding::Severity;

use crate::check::Check;
use crate::evidence::noted;

pub(crate) const CHECK: Check = Check {
    id: "no-effect",
    severity: Severity::Note,
    title: "an option that changes nothing",
    about: "The job sets an option that has nothing to act on: a flush in a job that only reads, \
            a mix in a job with one direction, a detail of a feature that the job does not use. \
            The job runs as if the option were not there, so the result is not the one that the \
            option suggests.",
    detection: "While fiord reads and plans the job, it finds that nothing in the job, in its \
                engine or in its target uses the option. An option in `[global]` counts only if \
                no job that inherits it uses it.",
    effect: "None on the numbers, but possibly a wrong conclusion: `fsync=1` with `rw=read` does \
             not measure flushes.",
    remedy: "leave the option out, or set the option that it belongs to. The finding names both.",
    lint: Some(|known, findings| noted::report(&CHECK, known, findings)),
    before: None,
    after: None,
    hosts: None,
};
