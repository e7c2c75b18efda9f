//! `no-data-moved`: the bandwidth of calls that move no data.

use fiord_job::option::table::IOENGINE;
use fiord_plan::{CountedBytes, HttpReads, JobPlan, WriteCommand};
use fiord_stat::finding::Severity;
use fiord_types::{Bytes, Dir};

use crate::check::{Check, CollectedFindings, FindingBuilder, Lint};
use crate::evidence::amount::SaidNumbers;

pub(crate) const CHECK: Check = Check {
    id: "no-data-moved",
    severity: Severity::Note,
    title: "a bandwidth although no data moves",
    about: "Some engines make system calls that move no data. fio, and therefore fiord, counts each \
            call with the block size of the job, so that the report has a bandwidth and a number \
            of bytes. For engines on names (`filestat` and its relatives) and `ftruncate` they \
            mean nothing: the bandwidth is the number of calls, multiplied by `bs`. For `falloc` \
            they are space that the file system reserved, extended or freed. An NVMe Write Zeroes \
            command (`write_mode=zeroes`) makes the device set blocks to zero without a transfer, \
            and `verify` and `uncor` transfer nothing either. Reads of `http` with `http_read=head` or \
            `list` return no objects.",
    detection: "The job uses such an engine, or all of its writes or reads are such commands or requests.",
    effect: "`filestat` on 10,000 files on ext4, on a loop device: 370,000 calls per second are printed as \
             1,450 MiB/s with blocks of 4 KiB. With blocks of 1 KiB they would be 360 MiB/s.",
    remedy: "read the calls per second (IOPS) and the latencies; ignore the bandwidth. \
             `ignore_findings=no-data-moved` turns the note off.",
    lint: Some(lint),
    before: None,
    after: None,
    hosts: None,
};

fn lint(known: &Lint<'_>, findings: &mut CollectedFindings) {
    findings.report_all(known.sections().filter_map(finding));
}

fn finding(job: &JobPlan) -> Option<FindingBuilder> {
    let engine = job.engine.def();
    let blocks = &job.load.blocks;
    let sizes =
        Dir::ALL.into_iter().filter(|dir| job.load.mix.has(*dir)).map(|dir| blocks[dir].max());
    let mut said = SaidNumbers::default();
    let size = said.bytes("block", Bytes(sizes.max().unwrap_or(0).into()));
    let evidence = match engine.counts {
        CountedBytes::Space => {
            format!(
                "each call of {} counts as the space that it changes, up to {size}",
                engine.name
            )
        }
        CountedBytes::BlockSize => {
            format!("each call of {} counts as a block of {size}", engine.name)
        }
        CountedBytes::Data if sends_no_data(job) => {
            format!(
                "each command counts as the {size} that it is about, and transfers none of them"
            )
        }
        CountedBytes::Data if reads_no_data(job) => {
            format!(
                "each read asks for what the server knows, not for an object, and counts as {size}"
            )
        }
        CountedBytes::Data => return None,
    };
    let what = format!("the bandwidth of job {} is not a rate of moved data", job.identity.name);
    let finding = CHECK
        .for_job(job, what)
        .evidence(evidence)
        .numbers(said)
        .remedy("read IOPS and latencies instead of the bandwidth");
    Some(finding.option(IOENGINE))
}

/// Whether the reads of the job are requests without data, and it does not write.
fn reads_no_data(job: &JobPlan) -> bool {
    let reads_only = job.load.mix.has(Dir::Read) && !job.load.mix.has(Dir::Write);
    reads_only && job.engine.http().is_some_and(|http| http.reads != HttpReads::Get)
}

/// Whether the job only writes, with commands to a device that send no data.
fn sends_no_data(job: &JobPlan) -> bool {
    let writes_only = job.load.mix.has(Dir::Write) && !job.load.mix.has(Dir::Read);
    let commands = &job.load.write_commands;
    writes_only
        && !commands.is_empty()
        && commands.iter().all(|(command, _)| !WriteCommand::has_data(*command))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::found_once;

    #[test]
    fn reports_engines_that_move_no_data() {
        let sound = [
            "--name=a --ioengine=psync --rw=read --size=1m --filename=f",
            "--name=a --ioengine=null --rw=read --size=1m",
            "--name=a --ioengine=cpuio --cpuload=1 --runtime=1",
            "--name=a --ioengine=mmap --rw=write --size=1m --filename=f",
            "--name=a --ioengine=net --rw=read --port=9 --listen --size=1m",
            "--name=a --ioengine=http --filename=/a --rw=read --size=1m",
            "--name=a --ioengine=http --filename=/a --rw=rw --size=1m --http_read=head",
        ];
        let names =
            found_once(&CHECK, "--name=a --ioengine=filestat --nrfiles=3 --size=12k", &sound);
        assert_eq!(names.evidence, "each call of filestat counts as a block of 4.0 KiB");
        let space =
            found_once(&CHECK, "--name=a --ioengine=falloc --rw=read --bs=64k --size=1m", &[]);
        assert!(space.evidence.starts_with("each call of falloc counts as the space"), "{space:?}");
        assert_eq!(space.what, "the bandwidth of job a is not a rate of moved data");
        found_once(&CHECK, "--name=a --ioengine=ftruncate --rw=write --bs=64k --size=1m", &[]);
    }

    #[test]
    fn reports_commands_without_data() {
        let mut job = JobPlan::plain(fiord_plan::EnginePlan::Psync, 1 << 20);
        job.load.mix = fiord_plan::Mix::Write;
        assert!(finding(&job).is_none());
        job.load.write_commands = vec![(WriteCommand::Zeroes, 100)];
        assert!(finding(&job).is_some());
        job.load.write_commands = vec![(WriteCommand::Zeroes, 50), (WriteCommand::Data, 50)];
        assert!(finding(&job).is_none());
    }
}
