//! `unwritten-data`: reads of holes and of space that was allocated and never written.

use fiord_job::option::table::FILENAME;
use fiord_plan::{FileKind, JobPlan};
use fiord_stat::finding::Severity;
use fiord_types::{Bytes, Dir};

use crate::check::{Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::{bytes, percent};
use crate::evidence::fill::{PAGE, fill};
use crate::evidence::places::users;
use crate::machine::{FileState, WrittenData};

/// A smaller share of unwritten data makes no visible difference.
const FEW: f64 = 0.01;
/// From this share on, the result does not measure the device.
const MOST: f64 = 0.5;

/// The definition.
pub(crate) const CHECK: Check = Check {
    id: "unwritten-data",
    severity: Severity::Invalid,
    title: "reads of data that was never written",
    about: "A file system knows which blocks of a file were never written: holes of a sparse \
            file, and space that `fallocate` has reserved. It answers reads of them with zeros, \
            without asking the device, even with `direct=1`. The result is the cost of the system \
            call.",
    detection: "After the layout and before the first I/O, fiord checks the bytes that jobs read \
                with `lseek(2)`, `SEEK_DATA` and `SEEK_HOLE`. (The block count of `stat` does not \
                help: it includes blocks that are allocated but unwritten.) Each file has its own \
                finding: invalid if half of the range or more is unwritten, suspect from 1 % on. \
                Space behind the end of a file does not count, because the run lays it out. The \
                check is silent if an earlier job of the run writes the file, and for jobs with \
                `zonemode=zbd`, which read only written data without `read_beyond_wp`.",
    effect: "4 KiB random reads with `direct=1` and `psync` of a fallocated 256 MiB file on ext4 \
             for 3 s reached 965k IOPS; after the file was written, they reached 18.0k.",
    remedy: "write the whole file first with `rw=write`, which overwrites the data that it holds; \
             or name a file that does not exist and let fiord lay it out, which writes it.",
    lint: None,
    before: Some(before),
    after: None,
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let files = &known.machine.files;
    let users = users(known.plan, files.iter().map(|state| state.path.as_path()));
    let mut read = false;
    for state in files.iter() {
        let users = users.get(state.path.as_path()).map(Vec::as_slice).unwrap_or_default();
        let (Some(data), Some(job)) = (&state.data, reader(users, state)) else { continue };
        read = true;
        if let Some(data) = findings.available(&CHECK, data) {
            findings.report_if(finding(job, state, data));
        }
    }
    if let Some(unavailable) = files.left_out().filter(|_| read) {
        findings.unavailable(&CHECK, unavailable);
    }
}

/// Returns the first job that reads a file, unless a job writes the file before.
fn reader<'p>(users: &[&'p JobPlan], state: &FileState) -> Option<&'p JobPlan> {
    let reader = users.iter().find(|job| job.load.mix.has(Dir::Read) && !only_written(job))?;
    let group = reader.identity.stonewall_group;
    let earlier =
        |job: &&JobPlan| job.identity.stonewall_group < group && job.load.mix.has(Dir::Write);
    (state.kind == FileKind::Regular && !users.iter().any(earlier)).then_some(reader)
}

/// Returns whether a job reads only written data of its zones (`zonemode=zbd`).
fn only_written(job: &JobPlan) -> bool {
    job.load.zoned.is_some_and(|zoned| !zoned.read_beyond)
}

fn finding(job: &JobPlan, state: &FileState, data: &WrittenData) -> Option<FindingBuilder> {
    // The run lays out the space behind the end of the file, and so writes it.
    let end = state.facts.as_ref().map_or(data.to, |facts| facts.size.min(data.to));
    let range = end.saturating_sub(data.from);
    let missing = range.saturating_sub(data.bytes);
    let share = missing.as_f64() / range.max(Bytes(1)).as_f64();
    if share < FEW {
        return None;
    }
    let path = state.path.display();
    // The command writes whole pages, which can overwrite data behind the range.
    let behind = state.facts.as_ref().is_ok_and(|facts| facts.size > end);
    let spills = behind && !range.is_multiple_of(PAGE);
    let finding = CHECK
        .for_job(job, format!("{} of the range read from {path} was never written", percent(share)))
        .evidence(format!(
            "{} of {} are holes or unwritten allocations, which the file system reads as zeros",
            bytes(missing),
            bytes(range)
        ))
        .remedy(fill(&state.path, data.from..end, data.bytes > Bytes::ZERO || spills))
        .option(FILENAME);
    match share < MOST {
        true => Some(finding.at_most(Severity::Suspect)),
        false => Some(finding),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;

    use super::*;
    use crate::tests::fixture::{before, plan, scratch};

    /// Creates a file of 1 MiB of which the first `written` bytes are written.
    fn file(written: usize) -> PathBuf {
        let path = scratch();
        let file = File::create(&path).unwrap();
        file.set_len(1 << 20).unwrap();
        file.write_all_at(&vec![1; written], 0).unwrap();
        path
    }

    #[test]
    fn the_command_writes_the_range_that_is_read() {
        let path = file(0);
        let line = format!(
            "--name=a --rw=read --bs=64k --offset=64k --size=192k --filename={}",
            path.display()
        );
        let found = before(&CHECK, &plan(&line).0);
        let _ = std::fs::remove_file(path);
        assert!(
            found[0].remedy.ends_with("--offset=65536 --size=196608 --rw=write --bs=192k"),
            "{found:?}"
        );
    }

    fn reported(written: usize, more: &str) -> Vec<Severity> {
        let path = file(written);
        let line = format!("--name=a --rw=randread --size=1m --filename={} {more}", path.display());
        let found = before(&CHECK, &plan(&line).0);
        let _ = std::fs::remove_file(path);
        found.into_iter().map(|finding| finding.severity).collect()
    }

    #[test]
    fn reports_the_share_that_was_never_written() {
        assert_eq!(reported(0, ""), [Severity::Invalid]);
        assert_eq!(reported(768 << 10, ""), [Severity::Suspect]);
        assert_eq!(reported(1 << 20, ""), []);
        assert_eq!(reported(512 << 10, "--size=512k"), []);
        assert_eq!(
            reported(0, "--zonemode=zbd --zonesize=64k"),
            [],
            "only what zones hold is read"
        );
        assert_eq!(reported(0, "--zonemode=zbd --zonesize=64k --read_beyond_wp=1").len(), 1);
    }

    #[test]
    fn silent_if_the_run_writes_the_file_first() {
        let path = file(0);
        let path = path.display();
        let line = format!(
            "--filename={path} --size=1m --rw=write --name=a --name=b --stonewall --rw=read"
        );
        assert!(before(&CHECK, &plan(&line).0).is_empty());
        let _ = std::fs::remove_file(path.to_string());
    }
}
