//! `cached-working-set`: a job goes over the same bytes again and they fit into memory.

use fiord_job::option::table::SIZE;
use fiord_plan::{FileKind, JobPlan};
use fiord_stat::finding::Severity;
use fiord_types::{Bytes, Dir};

use crate::check::{Before, Check, CollectedFindings};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::page_cache::past_the_cache;
use crate::evidence::page_cache::through_cache;

pub(crate) const CHECK: Check = Check {
    id: "cached-working-set",
    severity: Severity::Suspect,
    title: "buffered reads that fit into memory and are repeated",
    about: "Without `direct=1`, data that was read stays in memory as long as there is room. A \
            job that reads a file smaller than memory more than once measures the device at first \
            and memory later, unless it reads the file in passes: before each pass, \
            `invalidate=1` drops the file from memory.",
    detection: "A job reads without `direct=1`; it reads more than its files hold (`time_based`, \
                `loops`, `io_size` above `size`), at random without a random map, in strided \
                zones or with `rw=read:N`; and its files are smaller than the memory that is \
                available now. The check is silent with `invalidate=0` and `pre_read=1`, which \
                say that the job wants the page cache. After a run, `cache-hits` has the measured \
                share and replaces this finding.",
    effect: "See `cache-hits`: 323k IOPS instead of 29.2k.",
    remedy: "set `direct=1`; or a `size` several times the memory; or `invalidate=0` to say that \
             you want to measure memory.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let available = known.machine.memory.available;
    for job in known.sections().filter(|job| again(job)) {
        let set = job.target.region();
        if available == Bytes::ZERO || set >= available {
            continue;
        }
        let name = &job.identity.name;
        let (remedy, direct) = past_the_cache(job);
        let mut said = SaidNumbers::default();
        let set = said.bytes("working_set", set);
        let finding = CHECK
            .for_job(job, format!("job {name} reads the same {set} again and again"))
            .evidence(format!(
                "{} of memory is available, and direct is not set",
                said.bytes("available", available)
            ))
            .numbers(said)
            .remedy(remedy)
            .settings(direct)
            .option(SIZE);
        findings.report(finding);
    }
}

/// Returns whether a job reads the same bytes repeatedly through the page cache without an option
/// that says that this is intended.
fn again(job: &JobPlan) -> bool {
    let (end, open) = (&job.end, &job.target.open);
    let seekable = |kind| matches!(kind, FileKind::Regular | FileKind::Block);
    let set = job.target.region();
    let passes = end.time_based && end.runtime.is_some() || end.loops > 1 || end.bytes > set;
    let meant = !open.invalidate || job.target.layout.pre_read;
    let files = job.target.files.iter().all(|file| seekable(file.kind)) && set > Bytes::ZERO;
    let stays = files && passes && !job.drops_cache_each_pass();
    job.engine.def().moves_data
        && stays
        && !meant
        && through_cache(job)
        && job.load.mix.has(Dir::Read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{before, plan};

    #[test]
    fn reports_repeated_reads_that_no_pass_drops_from_the_cache() {
        let reported = |line: &str| {
            let job = "--name=a --rw=randread --norandommap --filename=f --size=1m";
            before(&CHECK, &plan(&format!("{job} {line}")).0).len()
        };
        assert_eq!(reported("--time_based --runtime=10"), 1);
        assert_eq!(reported("--loops=3"), 1);
        assert_eq!(reported("--io_size=3m"), 1);
        assert_eq!(reported(""), 0);
        assert_eq!(reported("--loops=3 --direct=1"), 0);
        assert_eq!(reported("--loops=3 --invalidate=0"), 0);
        assert_eq!(reported("--loops=3 --norandommap=0"), 0);
        assert_eq!(reported("--loops=3 --rw=read"), 0);
        assert_eq!(reported("--loops=3 --rw=read:4k"), 1);
    }
}
