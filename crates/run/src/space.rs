//! `space_reserve`: jobs end before the file system that they write to is full.

use std::collections::HashMap;
use std::path::Path;

use fiord_plan::{FileKind, JobPlan};
use fiord_stat::units;
use fiord_sys::file;

use crate::error::JobError;

/// The longest time between two looks at free space, ns.
const LONGEST: u64 = 200 * MS;
/// The time before the second look, ns; from there it doubles, as long as space lasts.
const FIRST: u64 = MS;
/// How often it is looked whether a job runs yet, ns.
const IDLE: u64 = 10 * MS;
const MS: u64 = 1_000_000;

/// The errno of a full file system, of `errno-base.h`.
const ENOSPC: i32 = 28;

/// Watches the space of a run's jobs.
#[derive(Debug)]
pub(crate) struct SpaceWatch {
    /// When to look next; `None`: no job has a reserve.
    due: Option<u64>,
    /// Time before the look after the next, ns.
    pause: u64,
    /// When it was looked last, and how much there was above the reserve where that was least.
    last: Option<(u64, u64)>,
}

impl SpaceWatch {
    /// From the beginning of the run on, if any job has a reserve.
    pub fn new(jobs: &[JobPlan], now: u64) -> Self {
        let any = jobs.iter().any(|job| job.end.space_reserve > 0);
        SpaceWatch { due: any.then_some(now), pause: FIRST, last: None }
    }

    /// When to look next.
    pub fn due(&self) -> Option<u64> {
        self.due
    }

    /// Looks at the file systems of the `running` jobs when it is time, and gives back those that
    /// are to end: the first on each directory with the error that says why.
    pub fn look<'j>(
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
        for (index, job) in running.filter(|(_, job)| job.end.space_reserve > 0) {
            let files = job.target.files.iter().filter(|file| file.kind == FileKind::Regular);
            let places = files.filter_map(|file| file.path.parent());
            for place in places {
                // Where it cannot be asked, the writes themselves will tell.
                let (free, told) = seen.entry(place).or_insert_with(|| (free(place), false));
                let Some(free) = *free else { continue };
                if let Some(above) = free.checked_sub(job.end.space_reserve) {
                    least = Some(least.map_or(above, |least: u64| least.min(above)));
                    continue;
                }
                let error = (!std::mem::replace(told, true))
                    .then(|| low(place, free, job.end.space_reserve));
                ends.push((index, error));
                break;
            }
        }
        self.due = Some(now + self.pause(now, least));
        ends
    }

    /// How long to wait, with `least` bytes above the reserve where there are fewest: a quarter of
    /// the time in which they would be gone if space went on to go as since the last look.
    fn pause(&mut self, now: u64, least: Option<u64>) -> u64 {
        let Some(least) = least else {
            (self.pause, self.last) = (FIRST, None);
            return IDLE;
        };
        let lasts = self.last.map_or(LONGEST, |(then, before)| {
            let gone = u128::from(before.saturating_sub(least)).max(1);
            let lasts = u128::from(least) * u128::from(now.saturating_sub(then)) / gone;
            u64::try_from(lasts).unwrap_or(u64::MAX)
        });
        let pause = self.pause.min(lasts / 4).clamp(FIRST, LONGEST);
        self.pause = pause * 2;
        self.last = Some((now, least));
        pause
    }
}

/// Bytes that are free for everybody in a directory.
fn free(place: &Path) -> Option<u64> {
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    file::space(place).ok().map(|space| space.available)
}

fn low(place: &Path, free: u64, reserve: u64) -> JobError {
    let detail = format!(
        "the run ended early, for only {} are free on this file system and {} are to stay free \
         (space_reserve); the report is complete up to here. Free space, or set a smaller reserve \
         or a shorter run time",
        size(free),
        size(reserve)
    );
    let place = if place.as_os_str().is_empty() { Path::new(".") } else { place };
    JobError::new("keeping space free", ENOSPC, detail).at(place)
}

fn size(bytes: u64) -> String {
    let scaled = units::BINARY.of(bytes as f64);
    scaled.text(usize::from(scaled.index > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiord_plan::EnginePlan;

    fn job(reserve: u64) -> JobPlan {
        let mut job = JobPlan::plain(EnginePlan::Psync, 1 << 20);
        job.end.space_reserve = reserve;
        job.target.files[0].kind = FileKind::Regular;
        job.target.files[0].path = "a.0.0".into();
        job
    }

    #[test]
    fn all_jobs_on_a_full_file_system_end_and_one_says_why() {
        let jobs = [job(u64::MAX), job(u64::MAX), job(0), job(1)];
        let mut watch = SpaceWatch::new(&jobs, 5);
        let running = || jobs.iter().enumerate();
        assert!(watch.look(running(), 4).is_empty(), "it is not due");
        let ends = watch.look(running(), 5);
        let who: Vec<(usize, bool)> = ends.iter().map(|(i, e)| (*i, e.is_some())).collect();
        assert_eq!(who, [(0, true), (1, false)]);
        let text = ends[0].1.as_ref().unwrap().to_string();
        assert!(text.contains("on .: ") && text.contains("space_reserve"), "{text}");
        assert_eq!(watch.due(), Some(5 + FIRST));
    }

    #[test]
    fn it_looks_the_more_often_the_sooner_space_is_gone() {
        let mut watch = SpaceWatch::new(&[job(1)], 0);
        // Nothing goes: twice as long each time, up to the longest.
        let mut now = 0;
        let mut pauses = Vec::new();
        for _ in 0..10 {
            let pause = watch.pause(now, Some(1 << 40));
            pauses.push(pause / MS);
            now += pause;
        }
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 200, 200]);
        // Half of it has gone in the last 200 ms: a quarter of the 200 ms that are left.
        assert_eq!(watch.pause(now, Some(1 << 39)), 50 * MS);
        // Nobody runs any more.
        assert_eq!(watch.pause(now + 50 * MS, None), IDLE);
        assert_eq!(watch.pause(now + 60 * MS, Some(1 << 39)), FIRST);
    }

    #[test]
    fn without_a_reserve_nobody_looks() {
        assert_eq!(SpaceWatch::new(&[job(0)], 5).due(), None);
    }
}
