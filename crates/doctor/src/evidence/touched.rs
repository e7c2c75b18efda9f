//! Which bytes of its files a job touches: not the range that it may use, but what its budget, its order and the I/Os
//! that it made leave of that range.

use std::ops::Range;
use std::path::Path;

use fiord_plan::{Distribution, FilePlan, FileService, JobPlan, Mix, Step};
use fiord_stat::claim::{ClaimedCoverage, ClaimedExtent};
use fiord_stat::samples::Samples;
use fiord_types::{Bytes, Dir};

use crate::check::After;

/// How the I/Os of a job lie in the range of a [`Touched`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spread {
    /// The jobs touch each byte.
    Whole,
    /// The jobs touch a part, and each byte is equally likely to be in it.
    Even,
    /// The jobs touch a part, and it is unknown which.
    Unknown,
}

/// The bytes of a file that a job touches in one direction, from `from` to `to` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Touched {
    pub from: Bytes,
    pub to: Bytes,
    pub spread: Spread,
}

/// The claim that jobs touch the bytes of a range: all of them, or none outside of it.
pub(crate) fn extent(path: &Path, range: Range<Bytes>, dir: Dir, spread: Spread) -> ClaimedExtent {
    let touched = match spread {
        Spread::Whole => ClaimedCoverage::All,
        Spread::Even | Spread::Unknown => ClaimedCoverage::Within,
    };
    let Range { start: from, end: to } = range;
    ClaimedExtent { file: path.display().to_string(), from, to, direction: dir.into(), touched }
}

/// Returns the bytes that a job moves in a direction according to its options; `None` if time decides.
pub(crate) fn planned(job: &JobPlan, dir: Dir) -> Option<Bytes> {
    let end = &job.end;
    if end.time_based && end.runtime.is_some() || end.fill_device || job.replay.is_some() {
        return None;
    }
    let share = match job.load.mix {
        Mix::ReadWrite { read_percent } if dir == Dir::Read => u64::from(read_percent),
        Mix::ReadWrite { read_percent } => 100 - u64::from(read_percent),
        mix => 100 * u64::from(mix.has(dir)),
    };
    let block = Bytes::from(job.load.blocks[dir].max());
    let by_number = end.ios.map_or(Bytes(u64::MAX), |ios| block.saturating_mul(ios));
    // The next loop may begin anywhere, so only the first one surely touches something new.
    let most = end.bytes.min(by_number);
    Some(Bytes((u128::from(most.0) * u128::from(share) / 100) as u64))
}

/// Returns the bytes that a job moved in a direction, ramp included; `None` if that is unknown.
pub(crate) fn moved(known: &After<'_>, job: &JobPlan, dir: Dir) -> Option<Bytes> {
    of_course(&known.report.extras.courses, job, dir)
}

fn of_course(courses: &[Samples], job: &JobPlan, dir: Dir) -> Option<Bytes> {
    let course = courses.get(job.identity.index.get())?;
    Some(course.dir(dir).iter().map(|window| window.bytes()).sum())
}

/// Returns the bytes of a file that a job reads: what it read, if the samples of the run say that, otherwise what it is
/// to read.
pub(crate) fn read_range(
    courses: &[Samples],
    job: &JobPlan,
    file: &FilePlan,
) -> Option<Range<Bytes>> {
    let amount = of_course(courses, job, Dir::Read).or_else(|| planned(job, Dir::Read));
    touched(job, file, Dir::Read, amount).map(|touched| touched.from..touched.to)
}

/// The most files of a job whose sizes are added up to find out which bytes it touches.
const MAX_SUMMED_FILES: usize = 1000;

/// Returns what a job touches of one of its files if it moves `amount` in this direction (`None`: enough for all of
/// it). `None`: nothing.
pub(crate) fn touched(
    job: &JobPlan,
    file: &FilePlan,
    dir: Dir,
    amount: Option<Bytes>,
) -> Option<Touched> {
    if !job.load.mix.has(dir) || amount == Some(Bytes::ZERO) || file.reach() == Bytes::ZERO {
        return None;
    }
    let all = |spread| Some(Touched { from: file.offset, to: file.end(), spread });
    let load = &job.load;
    let special = job.replay.is_some()
        || load.strided.is_some()
        || load.zoned.is_some()
        || load.sprandom.is_some()
        || matches!(load.step, Step::Skip(_));
    // The caller asks for each file, and each answer needs the sum of all: the time grows with the square of their number.
    let many = amount.is_some() && job.target.files.len() > MAX_SUMMED_FILES;
    let enough = !many && amount.is_none_or(|amount| amount >= job.target.region());
    if special || many {
        return all(Spread::Unknown);
    }
    if load.random {
        return all(match load.distribution {
            Distribution::Even if enough && !load.no_map => Spread::Whole,
            Distribution::Even => Spread::Even,
            _ => Spread::Unknown,
        });
    }
    if enough {
        return all(Spread::Whole);
    }
    let Some(own) = share_of_file(job, file, dir, amount.unwrap_or_default()) else {
        return all(Spread::Unknown);
    };
    let to = file.offset.saturating_add(own).min(file.end());
    (own > Bytes::ZERO).then_some(Touched { from: file.offset, to, spread: Spread::Whole })
}

/// Returns how much of an amount a sequential job moves in one of its files at least; `None` if that is unknown.
fn share_of_file(job: &JobPlan, file: &FilePlan, dir: Dir, amount: Bytes) -> Option<Bytes> {
    let files = &job.target.files;
    match job.target.service {
        _ if files.len() == 1 => Some(amount),
        FileService::Sequential => {
            let before = files.iter().take_while(|other| other.path != file.path);
            Some(amount.saturating_sub(before.map(|file| file.len).sum()))
        }
        FileService::RoundRobin(ios) if job.target.opens_all() => {
            let turn = Bytes::from(job.load.blocks[dir].max()).saturating_mul(ios.into());
            Some((amount / files.len() as u64).round_down(turn.max(Bytes(1))))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::fixture::plan;

    /// Returns what the job touches of its first file according to its options, in KiB.
    fn first(line: &str, dir: Dir) -> Option<(u64, u64, Spread)> {
        let (plan, _) = plan(&format!("--name=a --filename=f --bs=4k {line}"));
        let job = &plan.jobs[0];
        let found = touched(job, &job.target.files[0], dir, planned(job, dir))?;
        Some((found.from.as_kib(), found.to.as_kib(), found.spread))
    }

    #[test]
    fn the_budget_ends_a_sequential_job() {
        use Spread::{Even, Unknown, Whole};
        for (line, wanted) in [
            ("--rw=read --size=1m", (0, 1024, Whole)),
            ("--rw=read --size=1m --io_size=64k", (0, 64, Whole)),
            ("--rw=read --size=1m --io_size=2m", (0, 1024, Whole)),
            ("--rw=read --size=1m --offset=1m --number_ios=4", (1024, 1040, Whole)),
            ("--rw=read --size=1m --io_size=64k --loops=2", (0, 64, Whole)),
            ("--rw=read --size=1m --io_size=64k --time_based --runtime=1", (0, 1024, Whole)),
            ("--rw=rw --size=1m --io_size=64k", (0, 32, Whole)),
            ("--rw=randread --size=1m", (0, 1024, Whole)),
            ("--rw=randread --size=1m --io_size=64k", (0, 1024, Even)),
            ("--rw=randread --size=1m --norandommap", (0, 1024, Even)),
            ("--rw=randread --size=1m --random_distribution=zipf:1.2", (0, 1024, Unknown)),
            ("--rw=read:4k --size=1m", (0, 1024, Unknown)),
        ] {
            assert_eq!(first(line, Dir::Read), Some(wanted), "{line}");
        }
        assert_eq!(first("--rw=read --size=1m", Dir::Write), None);
    }

    #[test]
    fn several_files_share_the_budget() {
        let line = "--name=a --rw=write --bs=4k --nrfiles=4 --size=4m --io_size=1m";
        let parts = |more: &str| {
            let (plan, _) = plan(&format!("{line} {more}"));
            let job = &plan.jobs[0];
            let files = job.target.files.iter();
            let amount = planned(job, Dir::Write);
            let kib = |touched: Touched| (touched.to - touched.from).as_kib();
            files.map(|file| touched(job, file, Dir::Write, amount).map(kib)).collect::<Vec<_>>()
        };
        assert_eq!(parts(""), [Some(256); 4]);
        assert_eq!(parts("--file_service_type=sequential"), [Some(1024), None, None, None]);
        assert_eq!(parts("--file_service_type=random"), [Some(1024); 4]);
    }
}
