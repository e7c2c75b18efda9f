//! Which bytes of its files a job touches: not the range that it may use, but what its budget, its order and the I/Os
//! that it made leave of that range.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use fiord_plan::{Distribution, FilePlan, FileService, JobPlan, Mix, Plan, Step};
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
    of_course(&known.report.courses, job, dir)
}

fn of_course(courses: &[Samples], job: &JobPlan, dir: Dir) -> Option<Bytes> {
    let course = courses.get(job.identity.index.get())?;
    Some(course.dir(dir).iter().map(|window| window.bytes()).sum())
}

/// Returns what each job reads: what it read, if the samples of the run say that, otherwise what it is to read.
pub(crate) fn reads<'p>(plan: &'p Plan, courses: &'p [Samples]) -> JobReaches<'p> {
    let read = |job: &JobPlan| of_course(courses, job, Dir::Read);
    JobReaches::new(plan, Dir::Read, move |job| read(job).or_else(|| planned(job, Dir::Read)))
}

/// Returns how much a job moves; `None`: all of its range.
type Amount<'p> = Box<dyn Fn(&JobPlan) -> Option<Bytes> + 'p>;

/// The [`JobReach`] of each job in one direction. The files of a job are added up once, however many of them are asked for.
pub(crate) struct JobReaches<'p> {
    plan: &'p Plan,
    dir: Dir,
    amount: Amount<'p>,
    jobs: Vec<OnceCell<JobReach<'p>>>,
}

impl<'p> JobReaches<'p> {
    /// `amount` returns how much a job moves (`None`: all of its range).
    pub(crate) fn new(
        plan: &'p Plan,
        dir: Dir,
        amount: impl Fn(&JobPlan) -> Option<Bytes> + 'p,
    ) -> Self {
        let jobs = plan.jobs.iter().map(|_| OnceCell::new()).collect();
        JobReaches { plan, dir, amount: Box::new(amount), jobs }
    }

    /// Returns how far a job of the plan reaches.
    pub(crate) fn of(&self, job: &JobPlan) -> &JobReach<'p> {
        let index = job.identity.index.get();
        self.jobs[index].get_or_init(|| {
            let job = &self.plan.jobs[index];
            JobReach::new(job, self.dir, (self.amount)(job))
        })
    }

    /// Returns the bytes that a job touches of one of its files; `None`: nothing.
    pub(crate) fn range(&self, job: &JobPlan, file: &FilePlan) -> Option<Range<Bytes>> {
        self.of(job).touched(file).map(|touched| touched.from..touched.to)
    }
}

/// What a job touches of its files if it moves an amount of bytes in one direction.
pub(crate) struct JobReach<'p> {
    job: &'p JobPlan,
    dir: Dir,
    amount: Option<Bytes>,
    /// Sum of the regions of all files.
    region: OnceCell<Bytes>,
    /// Sum of the regions of the files before each file.
    before: OnceCell<HashMap<&'p Path, Bytes>>,
}

impl<'p> JobReach<'p> {
    /// `amount`: how much the job moves in this direction (`None`: enough for all of its range).
    pub(crate) fn new(job: &'p JobPlan, dir: Dir, amount: Option<Bytes>) -> Self {
        JobReach { job, dir, amount, region: OnceCell::new(), before: OnceCell::new() }
    }

    /// Returns how much the job moves; `None`: all of its range.
    pub(crate) fn amount(&self) -> Option<Bytes> {
        self.amount
    }

    /// Returns what the job touches of one of its files; `None`: nothing.
    pub(crate) fn touched(&self, file: &FilePlan) -> Option<Touched> {
        let load = &self.job.load;
        let nothing = self.amount == Some(Bytes::ZERO) || file.reach() == Bytes::ZERO;
        if !load.mix.has(self.dir) || nothing {
            return None;
        }
        let all = |spread| Some(Touched { from: file.offset, to: file.end(), spread });
        let special = self.job.replay.is_some()
            || load.strided.is_some()
            || load.zoned.is_some()
            || load.sprandom.is_some()
            || matches!(load.step, Step::Skip(_));
        if special {
            return all(Spread::Unknown);
        }
        let region = || *self.region.get_or_init(|| self.job.target.region());
        let enough = self.amount.is_none_or(|amount| amount >= region());
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
        let Some(own) = self.share_of_file(file, self.amount.unwrap_or_default()) else {
            return all(Spread::Unknown);
        };
        let to = file.offset.saturating_add(own).min(file.end());
        (own > Bytes::ZERO).then_some(Touched { from: file.offset, to, spread: Spread::Whole })
    }

    /// Returns how much of an amount a sequential job moves in one of its files at least; `None` if that is unknown.
    fn share_of_file(&self, file: &FilePlan, amount: Bytes) -> Option<Bytes> {
        let target = &self.job.target;
        match target.service {
            _ if target.files.len() == 1 => Some(amount),
            FileService::Sequential => {
                let before = self.before.get_or_init(|| self.sums_before());
                Some(amount.saturating_sub(*before.get(file.path.as_path())?))
            }
            FileService::RoundRobin(ios) if target.opens_all() => {
                let block = Bytes::from(self.job.load.blocks[self.dir].max());
                let turn = block.saturating_mul(ios.into());
                Some((amount / target.files.len() as u64).round_down(turn.max(Bytes(1))))
            }
            _ => None,
        }
    }

    fn sums_before(&self) -> HashMap<&'p Path, Bytes> {
        let mut sums = HashMap::new();
        let mut sum = Bytes::ZERO;
        for file in &self.job.target.files {
            sums.entry(file.path.as_path()).or_insert(sum);
            sum = sum.saturating_add(file.len);
        }
        sums
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
        let found = JobReach::new(job, dir, planned(job, dir)).touched(&job.target.files[0])?;
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
            let reach = JobReach::new(job, Dir::Write, planned(job, Dir::Write));
            let kib = |touched: Touched| (touched.to - touched.from).as_kib();
            files.map(|file| reach.touched(file).map(kib)).collect::<Vec<_>>()
        };
        assert_eq!(parts(""), [Some(256); 4]);
        assert_eq!(parts("--file_service_type=sequential"), [Some(1024), None, None, None]);
        assert_eq!(parts("--file_service_type=random"), [Some(1024); 4]);
        // Many files do not make it unknown.
        let many = parts("--nrfiles=4096 --size=32m --io_size=16m --file_service_type=sequential");
        assert_eq!((many[0], many.iter().flatten().count()), (Some(8), 2048));
    }
}
