//! `aio-threads`: a depth that the threads of the C library do not reach.

use fiord_job::option::table::IODEPTH;
use fiord_plan::model::FileService;
use fiord_plan::{DepthSupport, JobPlan};
use fiord_stat::finding::Severity;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::synchronous::queue;

/// Maximum number of files whose requests glibc carries out at the same time, for each job.
const THREADS: u32 = 20;

pub(crate) const CHECK: Check = Check {
    id: "aio-threads",
    severity: Severity::Suspect,
    title: "iodepth above the number of threads that carry out POSIX asynchronous I/O",
    about: "POSIX asynchronous I/O (`ioengine=posixaio`) is not an interface of the kernel: the C \
            library makes ordinary system calls with threads of its own. glibc has one thread for \
            each file, and at most 20 for a job. The requests of a file wait for each other, so \
            that the device gets one I/O at a time, although the report says that `iodepth` I/Os \
            were in flight. The latencies include the wait for the requests before.",
    detection: "The job uses `posixaio`, fiord runs with glibc, and `iodepth` is above the number \
                of files that the job uses at the same time, or above 20. A job uses one file at \
                a time with `file_service_type=sequential`; with `roundrobin:N` or `random:N` it \
                uses as many as `iodepth` is a multiple of N. Other C libraries start a thread for \
                each request: there the check reports nothing.",
    effect: "4 KiB random reads of one file with `direct=1` and `iodepth=16` on a virtio disk: 6,800 \
             IOPS with `posixaio` (8,800 with `iodepth=1`), and 35,000 with `io_uring` (fiord, 2 s \
             each).",
    remedy: "use an engine that queues in the kernel (`ioengine=io_uring`, or `ioengine=libaio` with \
             `direct=1`), or as many jobs as the depth: `numjobs=16` with `iodepth=1`.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    if cfg!(target_env = "gnu") {
        findings.report_all(known.sections().filter_map(finding));
    }
}

/// Returns how many files the I/Os of a full queue are on.
fn files_at_once(job: &JobPlan) -> u32 {
    let files = u32::try_from(job.target.files.len()).unwrap_or(u32::MAX);
    let files = files.min(job.target.open_files.max(1));
    match job.target.service {
        FileService::Sequential => 1,
        FileService::RoundRobin(each) | FileService::Random(each) => {
            files.min(job.depth.depth.div_ceil(each.max(1)))
        }
        FileService::Skewed(_) => files,
    }
}

fn finding(job: &JobPlan) -> Option<FindingBuilder> {
    let depth = job.depth.depth;
    let files = files_at_once(job);
    if job.engine.def().in_flight != DepthSupport::OnePerFile || depth <= files.min(THREADS) {
        return None;
    }
    let evidence = match files {
        1 => "the C library carries out the I/Os of a file one after another".to_owned(),
        2..=THREADS => format!(
            "the C library carries out the I/Os of a file one after another, and the job uses {files} files \
             at the same time"
        ),
        _ => format!("the C library has {THREADS} threads for a job"),
    };
    let name = &job.identity.name;
    let most = files.min(THREADS);
    let what = match most {
        1 => format!("job {name} asks for iodepth={depth} but the device gets one I/O at a time"),
        _ => format!(
            "job {name} asks for iodepth={depth} but the device gets at most {most} I/Os at a time"
        ),
    };
    let mut said = SaidNumbers::default();
    said.exact("iodepth", depth.into());
    said.exact("in_flight", most.into());
    let (remedy, settings) = queue(depth);
    let finding = CHECK.for_job(job, what).evidence(evidence).remedy(remedy);
    Some(finding.settings(settings).numbers(said).option(IODEPTH))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_env = "gnu")]
    fn reports_a_depth_above_the_files_in_use() {
        let reported = |line: &str| {
            let job = "--name=a --rw=randread --size=1m --ioengine=posixaio";
            let found = crate::tests::fixture::lint(&CHECK, &format!("{job} {line}"));
            found.iter().map(|finding| finding.what.clone()).collect::<Vec<_>>()
        };
        let one = "job a asks for iodepth=16 but the device gets one I/O at a time";
        assert_eq!(reported("--iodepth=16"), [one]);
        assert_eq!(reported("--iodepth=16 --nrfiles=16 --file_service_type=sequential"), [one]);
        assert_eq!(reported("--iodepth=16 --nrfiles=16 --file_service_type=random:16"), [one]);
        let some = "job a asks for iodepth=16 but the device gets at most 4 I/Os at a time";
        assert_eq!(reported("--iodepth=16 --nrfiles=4"), [some]);
        let most = "job a asks for iodepth=64 but the device gets at most 20 I/Os at a time";
        assert_eq!(reported("--iodepth=64 --nrfiles=64"), [most]);
        for fine in [
            "--iodepth=1",
            "--iodepth=16 --nrfiles=16",
            "--iodepth=16 --ioengine=io_uring",
            "--iodepth=16 --ioengine=psync",
        ] {
            assert_eq!(reported(fine), [""; 0], "{fine}");
        }
    }
}
