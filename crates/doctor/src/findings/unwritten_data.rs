//! `unwritten-data`: reads of holes and of space that was allocated and never written.

use fiord_job::option::table::FILENAME;
use fiord_plan::{FileKind, JobPlan, Plan};
use fiord_stat::finding::Severity;
use fiord_types::{Bytes, Dir};

use crate::check::{After, Before, Check, CollectedFindings, FindingBuilder};
use crate::evidence::amount::SaidNumbers;
use crate::evidence::fill::{PAGE, fill};
use crate::evidence::places::users;
use crate::evidence::timing::may_follow;
use crate::evidence::touched::{JobReach, JobReaches, Spread, Touched, extent, planned, reads};
use crate::machine::{FileState, Machine, WrittenData};

/// A smaller share of unwritten data makes no visible difference.
const FEW: f64 = 0.01;
/// From this share on, the result does not measure the device.
const MAJORITY: f64 = 0.5;
/// Fewer random reads may happen to find more data than the share says.
const DRAWN: u64 = 64;
/// Probability that no random read finds unwritten data, above which there is no finding.
const CHANCE: f64 = 0.001;

pub(crate) const CHECK: Check = Check {
    id: "unwritten-data",
    severity: Severity::Invalid,
    title: "reads of data that was never written",
    about: "A file system knows which blocks of a file were never written: holes of a sparse \
            file, and space that `fallocate` has reserved. It answers reads of them with zeros, \
            without asking the device, even with `direct=1`. The result is the cost of the system \
            call.",
    detection: "After the layout and before the first I/O, fiord lists the data of the file \
                with `lseek(2)`, `SEEK_DATA` and `SEEK_HOLE`. (The block count of `stat` does not \
                help: it includes blocks that are allocated but unwritten.) After the run, it compares \
                them with what the job read: a sequential job reads only the beginning of its range if \
                `io_size`, `number_ios` or `runtime` ends it. Each file has its own \
                finding, about the job with the largest share: invalid if half of the bytes or more are \
                unwritten, suspect from 1 % on. If the job reads a part of its range that is not known \
                (a trace, an uneven distribution), there is a finding only if all of the range is unwritten; \
                it is at most suspect after few random reads, and if jobs write the file at the same time. \
                Space beyond the end of a file does not count, because the run lays it out. The \
                check is silent if a job that starts earlier writes the file, and for jobs with \
                `zonemode=zbd`, which read only written data without `read_beyond_wp`.",
    effect: "4 KiB random reads with `direct=1` and `psync` of a fallocated 256 MiB file on ext4 \
             for 3 s reached 965k IOPS; after the file was written, they reached 18.0k.",
    remedy: "write the whole file first with `rw=write`, which overwrites the data that it holds; \
             or name a file that does not exist and let fiord lay it out, which writes it.",
    lint: None,
    before: Some(before),
    after: Some(after),
    hosts: None,
};

fn before(known: &Before<'_>, findings: &mut CollectedFindings) {
    let files = &known.machine.files;
    let ahead = JobReaches::new(known.plan, Dir::Read, |job| planned(job, Dir::Read));
    let mut read = false;
    for (state, jobs) in readers(known.plan, known.machine) {
        read = true;
        if let Some(data) = state.data.as_ref().and_then(|data| findings.available(&CHECK, data)) {
            findings.report_if(worst((state, data), &jobs, &ahead));
        }
    }
    if let Some(unavailable) = files.left_out().filter(|_| read) {
        findings.unavailable(&CHECK, unavailable);
    }
}

/// Replaces the findings about what jobs may read by those about what they read.
fn after(known: &After<'_>, findings: &mut CollectedFindings) {
    let ahead = JobReaches::new(known.plan, Dir::Read, |job| planned(job, Dir::Read));
    let did = reads(known.plan, &known.report.courses);
    for (state, jobs) in readers(known.plan, known.before) {
        let Some(Ok(data)) = &state.data else { continue };
        let now = worst((state, data), &jobs, &did);
        let ahead = worst((state, data), &jobs, &ahead);
        findings.replace(Vec::from_iter(ahead), Vec::from_iter(now));
    }
}

/// A job that reads a file, and whether jobs write the file at the same time.
type Reader<'p> = (&'p JobPlan, bool);

/// Returns the regular files that jobs read, each with these jobs. A job before which another one may write the file is
/// left out.
fn readers<'p>(plan: &'p Plan, machine: &'p Machine) -> Vec<(&'p FileState, Vec<Reader<'p>>)> {
    let files = &machine.files;
    let users = users(plan, files.iter().map(|state| state.path.as_path()));
    let one = |state: &'p FileState| {
        let users = users.get(state.path.as_path()).map(Vec::as_slice).unwrap_or_default();
        let writers = || users.iter().filter(|job| job.load.mix.has(Dir::Write));
        let reads = |job: &&&JobPlan| job.load.mix.has(Dir::Read) && !only_written(job);
        let first = |job: &&&JobPlan| !writers().any(|writer| may_follow(plan, job, writer));
        let jobs = users.iter().filter(reads).filter(first);
        let jobs: Vec<_> = jobs.map(|job| (*job, writers().next().is_some())).collect();
        (state.kind == FileKind::Regular && !jobs.is_empty()).then_some((state, jobs))
    };
    files.iter().filter_map(one).collect()
}

/// Returns whether a job reads only written data of its zones (`zonemode=zbd`).
fn only_written(job: &JobPlan) -> bool {
    job.load.zoned.is_some_and(|zoned| !zoned.read_beyond)
}

/// Returns the finding about the job that reads the largest share of unwritten data. `reaches`: what the jobs read.
fn worst(
    file: (&FileState, &WrittenData),
    jobs: &[Reader<'_>],
    reaches: &JobReaches<'_>,
) -> Option<FindingBuilder> {
    let mut worst: Option<(f64, FindingBuilder)> = None;
    for (job, written) in jobs {
        let found = finding(job, file, reaches.of(job), *written);
        if let Some(found) = found.filter(|found| worst.as_ref().is_none_or(|w| found.0 > w.0)) {
            worst = Some(found);
        }
    }
    worst.map(|(_, finding)| finding)
}

/// Returns the share of unwritten data in what a job reads of a file, and the finding about it. `written`: jobs write
/// the file at the same time.
fn finding(
    job: &JobPlan,
    (state, data): (&FileState, &WrittenData),
    reach: &JobReach<'_>,
    written: bool,
) -> Option<(f64, FindingBuilder)> {
    let file = job.target.files.iter().find(|file| file.path == state.path)?;
    let Touched { from, to: all, spread } = reach.touched(file)?;
    // The run lays out the space beyond the end of the file, and so writes it.
    let to = state.facts.as_ref().map_or(all, |facts| facts.size.min(all));
    let range = to.saturating_sub(from);
    let held = data.bytes_in(from, to);
    let missing = range.saturating_sub(held);
    let share = missing.as_f64() / range.max(Bytes(1)).as_f64();
    if share < if spread == Spread::Unknown { 1.0 - FEW } else { FEW } {
        return None;
    }
    let block = Bytes::from(job.load.blocks[Dir::Read].max()).max(Bytes(1));
    let reads = reach.amount().map_or(u64::MAX, |amount| amount / block);
    // A few random reads may all find data.
    if spread == Spread::Even && (1.0 - share).powf(reads as f64) > CHANCE {
        return None;
    }
    let path = state.path.display();
    let name = &job.identity.name;
    let of = match spread {
        Spread::Whole => format!("the range read from {path}"),
        Spread::Even => format!("the range of {path} from which job {name} reads at random"),
        Spread::Unknown => format!("the range of {path} that job {name} may read"),
    };
    // The command writes whole pages, which can overwrite data beyond the range.
    let behind = state.facts.as_ref().is_ok_and(|facts| facts.size > to);
    let spills = behind && !range.is_multiple_of(PAGE);
    let mut said = SaidNumbers::default();
    let what = format!("{} of {of} was never written", said.percent("share", share));
    // The job may also read what the run lays out.
    let end = if spread == Spread::Whole { to } else { all };
    let finding = CHECK
        .for_job(job, what)
        .evidence(format!(
            "{} of {} are holes or unwritten allocations, which the file system reads as zeros",
            said.bytes("unwritten", missing),
            said.bytes("range", range)
        ))
        .numbers(said)
        .extent(extent(&state.path, from..end, Dir::Read, spread))
        .remedy(fill(&state.path, from..to, held > Bytes::ZERO || spills))
        .option(FILENAME);
    let few = spread == Spread::Even && reads < DRAWN;
    match share < MAJORITY || few || written {
        true => Some((share, finding.at_most(Severity::Suspect))),
        false => Some((share, finding)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;

    use fiord_stat::report::Report;
    use fiord_stat::samples::{SampleLatencies, Samples, WindowSample};
    use fiord_types::{Nanos, PerDir};

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

    #[test]
    fn only_the_bytes_that_the_job_reads_count() {
        let reported = |more: &str, kib: u64| {
            let path = file(64 << 10);
            let line = format!("--name=a --size=1m --bs=4k --filename={} {more}", path.display());
            let (plan, _) = plan(&line);
            let machine = Machine::survey(&plan);
            let _ = std::fs::remove_file(path);
            let mut all = CollectedFindings::default();
            super::before(&Before { plan: &plan, machine: &machine }, &mut all);
            let mut dirs = PerDir::<Vec<WindowSample>>::default();
            let bytes = Bytes::from_kib(kib);
            dirs[Dir::Read] = vec![WindowSample::new(1, bytes, SampleLatencies::default())];
            let end = Nanos::from_secs(1);
            let mut report = Report::default();
            let course = Samples::new(Nanos::ZERO, Nanos::ZERO, end, end, dirs);
            report.courses = vec![course];
            let mut later = CollectedFindings::default();
            let known = After { plan: &plan, before: &machine, after: &machine, report: &report };
            after(&known, &mut later);
            let ahead = all.findings().count();
            all.join(later);
            (ahead, all.findings().map(|finding| finding.severity).collect::<Vec<_>>())
        };
        assert_eq!(reported("--rw=read --io_size=64k", 64), (0, vec![]));
        assert_eq!(reported("--rw=read --runtime=1", 64), (1, vec![]), "time ended it early");
        assert_eq!(reported("--rw=read --runtime=1", 256), (1, vec![Severity::Invalid]));
        assert_eq!(reported("--rw=read --runtime=1", 96), (1, vec![Severity::Suspect]));
        assert_eq!(reported("--rw=randread --io_size=64k", 64), (1, vec![Severity::Suspect]));
        let zipf = "--rw=randread --random_distribution=zipf:1.2";
        assert_eq!(reported(zipf, 1024), (0, vec![]), "the data may be the hot part");
    }

    #[test]
    fn silent_if_a_job_that_starts_earlier_writes_the_file() {
        let path = file(0);
        let shown = path.display();
        let line = |delay: &str| {
            format!("--filename={shown} --size=1m --rw=write --name=a --name=b --rw=read {delay}")
        };
        assert!(before(&CHECK, &plan(&line("--startdelay=2")).0).is_empty());
        assert_eq!(before(&CHECK, &plan(&line("")).0)[0].severity, Severity::Suspect);
        let _ = std::fs::remove_file(path);
    }
}
