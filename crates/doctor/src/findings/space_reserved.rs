//! `space-reserved`: reservations of space that the file has already.

use fiord_job::option::table::FALLOCATE;
use fiord_plan::{CountedBytes, JobPlan};
use fiord_stat::finding::Severity;
use fiord_types::{Bytes, Dir};

use crate::check::{Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::SaidNumbers;

/// From this share on, most calls have nothing to do.
const MAJORITY: f64 = 0.5;

pub(crate) const CHECK: Check = Check {
    id: "space-reserved",
    severity: Severity::Suspect,
    title: "reservations of space that the file has already",
    about: "`falloc` measures how fast a file system reserves space. A second reservation of the same range finds \
            nothing to do. The layout of a job reserves the space of a new file before the run, \
            unless `fallocate=none`: the run then measures only how fast the file system looks that up. The \
            same happens on a file of an earlier run.",
    detection: "A job with `falloc` reads or writes (trims free space), and the file system has allocated at least \
                half of the range before the run (`st_blocks`).",
    effect: "4 KiB `falloc` writes of a new file of 64 MiB on ext4, three runs each on a busy machine: 37,000 to 74,000 calls \
             per second, and 12,000 to 40,000 with `fallocate=none`.",
    remedy: "set `fallocate=none`, so that the layout reserves no space, and `unlink=1`, so that each run \
             begins with a new file.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    findings.report_all(known.sections().filter_map(|job| finding(known, job)));
}

fn finding(known: &Before<'_>, job: &JobPlan) -> Option<FindingBuilder> {
    let mix = &job.load.mix;
    let reserves = mix.has(Dir::Read) || mix.has(Dir::Write);
    if job.engine.def().counts != CountedBytes::Space || !reserves || mix.has(Dir::Trim) {
        return None;
    }
    let (mut reserved, mut range) = (Bytes::ZERO, Bytes::ZERO);
    for file in &job.target.files {
        let facts = known.machine.file(&file.path).and_then(|state| state.facts.as_ref().ok());
        let Some(facts) = facts else { continue };
        // What lies before the range is allocated as well.
        reserved += facts.allocated.saturating_sub(file.offset).min(file.len);
        range += file.len;
    }
    let share = reserved.as_f64() / range.max(Bytes(1)).as_f64();
    if share < MAJORITY {
        return None;
    }
    let name = &job.identity.name;
    let what = format!("job {name} reserves space that its files have already");
    let mut said = SaidNumbers::default();
    let evidence = format!(
        "{} of {} were reserved before the run",
        said.percent("reserved", share),
        said.bytes("range", range)
    );
    let finding = CHECK
        .for_job(job, what)
        .evidence(evidence)
        .numbers(said)
        .remedy("set fallocate=none and unlink=1, and remove files of earlier runs")
        .option(FALLOCATE);
    Some(finding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{before, plan, scratch};

    #[test]
    fn reports_files_that_have_their_space() {
        let path = scratch();
        std::fs::write(&path, vec![7; 64 << 10]).unwrap();
        let found = |more: &str| {
            let line = format!("--name=a --bs=4k --size=64k --filename={} {more}", path.display());
            before(&CHECK, &plan(&line).0)
        };
        let written = found("--ioengine=falloc --rw=read");
        assert_eq!(written.len(), 1, "{written:?}");
        assert_eq!(written[0].evidence, "100 % of 64 KiB were reserved before the run");
        assert!(found("--ioengine=falloc --rw=trim").is_empty());
        assert!(found("--ioengine=falloc --rw=write --size=1m").is_empty());
        assert!(found("--ioengine=psync --rw=read").is_empty());
        std::fs::remove_file(&path).unwrap();
        assert!(found("--ioengine=falloc --rw=write").is_empty());
    }
}
