//! `size-per-job`: `size` applies to each instance of a job.

use fiord_job::option::table::{IO_SIZE, NUMJOBS, OFFSET_INCREMENT, SIZE};
use fiord_plan::{JobPlan, Plan};
use fiord_stat::claim::ClaimedSetting;
use fiord_stat::finding::Severity;
use fiord_types::Bytes;

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::setting::set;
use crate::evidence::touched::planned;

pub(crate) const CHECK: Check = Check {
    id: "size-per-job",
    severity: Severity::Note,
    title: "size applies to each of numjobs, and the jobs share a file",
    about: "`size` is the amount for each instance of a job, not for all instances together. With \
            `numjobs=4` on one file, the file is `size` long, and the jobs read or write four \
            times that amount: every block four times.",
    detection: "`numjobs` is above 1, the instances share one file or device and the same range \
                of it, and the run ends by size and not by time. The check is silent with \
                `time_based`, `runtime`, `io_size`, `number_ios` or `offset_increment`.",
    effect: "A factor of `numjobs` in the bytes: `size=64m` with `numjobs=4` on one file reports \
             256 MiB read from a 64 MiB file.",
    remedy: "for four jobs that share 1 GiB, set `size=256m` with `offset_increment=256m`; or set \
             `io_size` to the amount for each job.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    for job in known.sections() {
        let said = known.spec(job).is_none_or(|spec| spec.is_set(SIZE) && !spec.is_set(IO_SIZE));
        if said {
            findings.report_if(finding(known.plan, job));
        }
    }
}

fn finding(plan: &Plan, job: &JobPlan) -> Option<FindingBuilder> {
    let end = &job.end;
    if end.time_based || end.runtime.is_some() || end.ios.is_some() {
        return None;
    }
    let instances = u64::from(job.identity.instances);
    let same = |other: &&JobPlan| {
        other.identity.section == job.identity.section
            && other.identity.instance != 0
            && other.target.files.len() == job.target.files.len()
            && other
                .target
                .files
                .iter()
                .zip(&job.target.files)
                .all(|(a, b)| (&a.path, a.offset, a.len) == (&b.path, b.offset, b.len))
    };
    plan.jobs.iter().find(same)?;
    let file = job.target.files.first().filter(|file| file.kind.has_path())?;
    let planned: Bytes = job.load.mix.dirs().filter_map(|dir| planned(job, dir)).sum();
    let len = job.target.region().min(planned);
    let total = end.bytes.saturating_mul(end.loops).saturating_mul(instances);
    let name = &job.identity.name;
    let mut said = SaidNumbers::default();
    let (total, len) = (said.bytes("total", total), said.bytes("data", len));
    let (remedy, settings) = shared(job);
    let finding = CHECK
        .for_job(job, format!("job {name} does {total} of I/O on {len} of data"))
        .evidence(format!(
            "size applies to each of numjobs={}, and they share {}",
            said.exact("numjobs", instances),
            file.path.display()
        ))
        .remedy(remedy)
        .settings(settings)
        .numbers(said)
        .option(NUMJOBS);
    Some(finding)
}

/// Returns the options that divide the work among the instances, in whole blocks. Sizes are in bytes,
/// because percentages would need a file that may not exist yet.
fn shared(job: &JobPlan) -> (String, Vec<ClaimedSetting>) {
    let block = job.load.mix.dirs().map(|dir| Bytes::from(job.load.blocks[dir].max()));
    let block = block.max().unwrap_or_default().max(Bytes(1));
    let files = job.target.files.len() as u64;
    let least = job.target.files.iter().map(|file| file.len).min().unwrap_or(Bytes::ZERO);
    let each = (least / u64::from(job.identity.instances)).round_down(block);
    if each == Bytes::ZERO {
        return ("set io_size to the amount for each job, or use fewer jobs".into(), Vec::new());
    }
    let [size, step] = [set(SIZE, each * files), set(OFFSET_INCREMENT, each)];
    (format!("set {size} with {step} to share the work"), vec![size, step])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::{found_once, lint};

    #[test]
    fn shares_are_whole_blocks() {
        let remedy = |line: &str| {
            let job = format!("--rw=randread --size=1m --filename=f --name=a {line}");
            lint(&CHECK, &job).remove(0).remedy
        };
        let share = |n: u32| format!("set size={n} with offset_increment={n} to share the work");
        assert_eq!(remedy("--numjobs=4"), share(262_144));
        assert_eq!(remedy("--numjobs=3"), share(348_160));
        assert_eq!(remedy("--numjobs=128"), share(8192));
        assert!(remedy("--numjobs=8 --bs=256k").starts_with("set io_size"));
    }

    #[test]
    fn reports_instances_that_share_a_range() {
        let found = found_once(
            &CHECK,
            "--rw=randread --size=1m --filename=f --name=a --numjobs=4",
            &[
                "--rw=randread --size=1m --name=a --numjobs=4",
                "--rw=randread --size=1m --filename=f --name=a",
                "--rw=randread --size=1m --filename=f --name=a --numjobs=4 --offset_increment=1m",
                "--rw=randread --size=1m --filename=f --name=a --numjobs=4 --runtime=1",
                "--rw=randread --size=1m --filename=f --name=a --numjobs=4 --io_size=256k",
            ],
        );
        assert_eq!(found.what, "job a does 4.0 MiB of I/O on 1.0 MiB of data");
    }
}
