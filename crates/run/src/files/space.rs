//! `space_reserve`: stops jobs before the file system that they write to is full.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use fiord_plan::{FileKind, JobPlan};
use fiord_stat::units;
use fiord_sys::file;
use fiord_types::{Bytes, Errno};

use crate::error::{JobError, Stage};

/// Maximum time between two checks of free space, ns.
const MAX_PAUSE: u64 = 200 * MS;
/// Time before the second check, ns. It doubles with each check while there is enough space.
const FIRST: u64 = MS;
/// Time between two checks while no job with a reserve runs, ns.
const IDLE: u64 = 10 * MS;
const MS: u64 = 1_000_000;

/// Watches the free space for all jobs of a run.
#[derive(Debug)]
pub(crate) struct SpaceWatch {
    /// Time of the next check; `None` if no job has a reserve.
    due: Option<u64>,
    /// Longest time until the check after the next, ns.
    pause: u64,
    /// Time of the last check, and the fewest bytes above a reserve that it found.
    last: Option<(u64, Bytes)>,
    /// The round of each job: how many jobs up to it have `stonewall`. The jobs of a round run at one time.
    round: Vec<usize>,
    /// The directories that a job has reported, with its round. A job of that round that starts later ends without the error.
    reported: HashSet<(usize, PathBuf)>,
}

impl SpaceWatch {
    /// Checks from `now` on, if any job has a reserve.
    pub(crate) fn new(jobs: &[JobPlan], now: u64) -> Self {
        let any = jobs.iter().any(|job| job.end.space_reserve > Bytes::ZERO);
        let rounds = jobs.iter().scan(0, |round, job| {
            *round += usize::from(job.start.stonewall);
            Some(*round)
        });
        SpaceWatch {
            due: any.then_some(now),
            pause: FIRST,
            last: None,
            round: rounds.collect(),
            reported: HashSet::new(),
        }
    }

    /// Time of the next check.
    pub(crate) fn due(&self) -> Option<u64> {
        self.due
    }

    /// Checks the file systems of the `running` jobs if it is time, and returns the jobs that must stop. Of the jobs in a
    /// directory that run at one time, the first one comes with the error that explains it.
    pub(crate) fn check<'j>(
        &mut self,
        running: impl Iterator<Item = (usize, &'j JobPlan)>,
        now: u64,
    ) -> Vec<(usize, Option<JobError>)> {
        if self.due.is_none_or(|due| now < due) {
            return Vec::new();
        }
        let mut least = None;
        let mut seen = HashMap::new();
        let mut ends = Vec::new();
        for (index, job) in running.filter(|(_, job)| job.end.space_reserve > Bytes::ZERO) {
            let files = job.target.files.iter().filter(|file| file.kind == FileKind::Regular);
            let places = files.filter_map(|file| file.path.parent());
            for place in places {
                // If free space is unknown, the job's own writes report a full file system.
                let Some(free) = *seen.entry(place).or_insert_with(|| free(place)) else {
                    continue;
                };
                if let Some(above) = free.checked_sub(job.end.space_reserve) {
                    least = Some(least.map_or(above, |least: Bytes| least.min(above)));
                    continue;
                }
                let first = self.reported.insert((self.round[index], place.to_path_buf()));
                let error = first.then(|| low(place, free, job.end.space_reserve));
                ends.push((index, error));
                break;
            }
        }
        self.due = Some(now + self.pause(now, least));
        ends
    }

    /// Time until the next check, ns: a quarter of the time in which the `least` bytes above a reserve are used
    /// up at the rate since the last check.
    fn pause(&mut self, now: u64, least: Option<Bytes>) -> u64 {
        let Some(least) = least else {
            (self.pause, self.last) = (FIRST, None);
            return IDLE;
        };
        let lasts = self.last.map_or(MAX_PAUSE, |(then, before)| {
            let gone = u128::from(before.saturating_sub(least).0).max(1);
            let lasts = u128::from(least.0) * u128::from(now.saturating_sub(then)) / gone;
            u64::try_from(lasts).unwrap_or(u64::MAX)
        });
        let pause = self.pause.min(lasts / 4).clamp(FIRST, MAX_PAUSE);
        self.pause = pause * 2;
        self.last = Some((now, least));
        pause
    }
}

/// Free bytes in a directory, without those reserved for root.
fn free(place: &Path) -> Option<Bytes> {
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    file::space(place).ok().map(|space| space.available)
}

fn low(place: &Path, free: Bytes, reserve: Bytes) -> JobError {
    let detail = format!(
        "the run ended early because only {} are free on this file system and {} must stay free \
         (space_reserve); the report is complete up to here. To fix: free space, or set a smaller \
         reserve or a shorter run time",
        size(free),
        size(reserve)
    );
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    JobError::new(Stage::KeepSpace, Errno::ENOSPC, detail).at(place)
}

fn size(bytes: Bytes) -> String {
    let scaled = units::BINARY.of(bytes.as_f64());
    scaled.text(usize::from(scaled.index > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiord_plan::EnginePlan;

    fn job(reserve: u64) -> JobPlan {
        let mut job = JobPlan::plain(EnginePlan::Psync, 1 << 20);
        job.end.space_reserve = Bytes(reserve);
        job.target.files[0].kind = FileKind::Regular;
        job.target.files[0].path = "a.0.0".into();
        job
    }

    #[test]
    fn all_jobs_on_a_full_file_system_end_and_one_says_why() {
        let jobs = [job(u64::MAX), job(u64::MAX), job(0), job(1)];
        let mut watch = SpaceWatch::new(&jobs, 5);
        let running = || jobs.iter().enumerate();
        assert!(watch.check(running(), 4).is_empty(), "the check is not due");
        let ends = watch.check(running(), 5);
        let who: Vec<(usize, bool)> = ends.iter().map(|(i, e)| (*i, e.is_some())).collect();
        assert_eq!(who, [(0, true), (1, false)]);
        let text = ends[0].1.as_ref().unwrap().to_string();
        assert!(text.contains("on .: ") && text.contains("space_reserve"), "{text}");
        assert_eq!(watch.due(), Some(5 + FIRST));
    }

    #[test]
    fn a_job_that_starts_after_the_others_were_stopped_does_not_repeat_why() {
        let mut jobs = [job(u64::MAX), job(u64::MAX), job(u64::MAX)];
        jobs[2].start.stonewall = true;
        let mut watch = SpaceWatch::new(&jobs, 0);
        let mut check = |index: usize, now: u64| {
            let ends = watch.check(std::iter::once((index, &jobs[index])), now);
            ends.iter().map(|(job, error)| (*job, error.is_some())).collect::<Vec<_>>()
        };
        assert_eq!(check(0, 0), [(0, true)]);
        assert_eq!(check(1, IDLE), [(1, false)]);
        // It began after the message, so it needs one of its own.
        assert_eq!(check(2, 2 * IDLE), [(2, true)]);
    }

    #[test]
    fn checks_become_more_frequent_as_space_runs_out() {
        let mut watch = SpaceWatch::new(&[job(1)], 0);
        // No space is used: the pause doubles each time, up to the longest.
        let mut now = 0;
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let pause = watch.pause(now, Some(Bytes(1 << 40)));
            pauses.push(pause / MS);
            now += pause;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 200, 200]);
        // Half of it was used in the last 200 ms: a quarter of the 200 ms that are left.
        assert_eq!(watch.pause(now, Some(Bytes(1 << 39))), 50 * MS);
        // No job runs any more.
        assert_eq!(watch.pause(now + 50 * MS, None), IDLE);
        assert_eq!(watch.pause(now + 60 * MS, Some(Bytes(1 << 39))), FIRST);
    }

    #[test]
    fn without_a_reserve_nothing_is_checked() {
        assert_eq!(SpaceWatch::new(&[job(0)], 5).due(), None);
    }
}
