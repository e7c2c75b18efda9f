//! The rate of all hosts while every one was running, and the total of one host.

use fiord_types::{Bytes, Nanos};

use super::report::{HostTotal, TogetherRate};
use crate::job::JobData;

/// The data of a host's jobs, with the times that [`TogetherRate::of`] needs. Times are relative to the start of the run.
#[derive(Debug, Clone)]
pub struct HostSpan<'a> {
    pub jobs: Vec<&'a JobData>,
    /// When its first job proceeded to its first I/O.
    pub started: Nanos,
    /// When its last job ended.
    pub finished: Nanos,
}

impl HostSpan<'_> {
    /// When the measured part of its first job began. `None` if no job was measured on the machine's clock.
    fn measured(&self) -> Option<Nanos> {
        let measured = self.jobs.iter().filter(|job| ios(job) > 0);
        measured.map(|job| began(job).unwrap_or(self.started)).min()
    }
}

impl TogetherRate {
    /// The rates of all hosts while every one was running. `None` if there was no such time, or if a host did no I/O.
    ///
    /// ```
    /// use fiord_stat::hosts::{HostSpan, TogetherRate};
    /// use fiord_stat::job::JobData;
    /// use fiord_stat::samples::{SampleLatencies, Samples, WindowSample};
    /// use fiord_types::{Bytes, Dir, Nanos, PerDir};
    ///
    /// // 1000 I/Os of 4 KiB in each second from `begin`.
    /// let job = |begin: Nanos, seconds: u64| {
    ///     let second = WindowSample::new(1000, Bytes(4096 * 1000), SampleLatencies::default());
    ///     let mut dirs = PerDir::<Vec<WindowSample>>::default();
    ///     dirs[Dir::Read] = vec![second; seconds as usize];
    ///     let end = begin.saturating_add(Nanos::from_secs(seconds));
    ///     let mut job = JobData::default();
    ///     job.samples = Samples::new(begin, begin, end, Nanos::from_secs(1), dirs);
    ///     job.recorder.dirs[Dir::Read].ios = 1000 * seconds;
    ///     job
    /// };
    /// let (early, late) = (job(Nanos::ZERO, 10), job(Nanos::from_secs(2), 10));
    /// let span = |jobs, started, finished| HostSpan {
    ///     jobs: vec![jobs], started: Nanos::from_secs(started), finished: Nanos::from_secs(finished),
    /// };
    /// let rate = TogetherRate::of(&[span(&early, 0, 10), span(&late, 2, 12)]).unwrap();
    /// assert_eq!((rate.begin, rate.end), (Nanos::from_secs(2), Nanos::from_secs(10)));
    /// assert_eq!((rate.iops, rate.bw), (2000.0, Bytes(2000 * 4096)));
    /// ```
    #[must_use]
    pub fn of(hosts: &[HostSpan<'_>]) -> Option<TogetherRate> {
        let begins: Option<Vec<Nanos>> = hosts.iter().map(HostSpan::measured).collect();
        let begin = begins?.into_iter().max()?;
        let end = hosts.iter().map(|host| host.finished).min()?;
        let seconds = end.checked_sub(begin).filter(|span| *span > Nanos::ZERO)?.as_secs_f64();
        let (mut all_ios, mut all_bytes) = (0.0, 0.0);
        for host in hosts {
            for job in host.jobs.iter().filter(|job| ios(job) > 0) {
                let (ios, bytes) = between(job, host, begin, end);
                all_ios += ios;
                all_bytes += bytes;
            }
        }
        let bw = Bytes((all_bytes / seconds).round() as u64);
        Some(TogetherRate { begin, end, iops: all_ios / seconds, bw })
    }
}

/// The I/Os and bytes of a job from `begin` to `end`.
fn between(job: &JobData, host: &HostSpan<'_>, begin: Nanos, end: Nanos) -> (f64, f64) {
    if began(job).is_some() {
        return job.samples.between(begin, end);
    }
    // All that is known is that the job ran on that host.
    let span = host.finished.saturating_sub(host.started).max(Nanos(1));
    let inside = host.finished.min(end).saturating_sub(host.started.max(begin));
    let share = inside.as_f64() / span.as_f64();
    (ios(job) as f64 * share, bytes(job).as_f64() * share)
}

/// When the measured part of a job began. `None` if it has no samples on the machine's clock.
fn began(job: &JobData) -> Option<Nanos> {
    (!job.samples.is_empty() && !job.virtual_time).then(|| job.samples.measured())
}

fn ios(job: &JobData) -> u64 {
    job.recorder.dirs.values().map(|dir| dir.ios).sum()
}

fn bytes(job: &JobData) -> Bytes {
    job.recorder.dirs.values().fold(Bytes::ZERO, |sum, dir| sum.saturating_add(dir.bytes))
}

impl HostTotal {
    /// What the jobs of a host did together. `None` without jobs.
    #[must_use]
    pub fn of(jobs: &[&JobData]) -> Option<HostTotal> {
        if jobs.is_empty() {
            return None;
        }
        let mut groups: Vec<(u32, Nanos)> = Vec::new();
        for job in jobs {
            let longest = job.dir_runtime.values().copied().max().unwrap_or_default();
            match groups.iter_mut().find(|(group, _)| *group == job.settings.group_id) {
                Some((_, runtime)) => *runtime = (*runtime).max(longest),
                None => groups.push((job.settings.group_id, longest)),
            }
        }
        let runtime = groups.iter().fold(Nanos::ZERO, |sum, (_, time)| sum.saturating_add(*time));
        let all_bytes = jobs.iter().fold(Bytes::ZERO, |sum, job| sum.saturating_add(bytes(job)));
        let all_ios: u64 = jobs.iter().map(|job| ios(job)).sum();
        let iops = match runtime.as_secs_f64() {
            0.0 => 0.0,
            seconds => all_ios as f64 / seconds,
        };
        let bw = crate::groups::per_second(all_bytes, runtime);
        Some(HostTotal { bytes: all_bytes, runtime, iops, bw })
    }
}

#[cfg(test)]
mod tests {
    use fiord_types::{Dir, PerDir};

    use super::*;
    use crate::samples::{SampleLatencies, Samples, WindowSample};

    /// A job with the I/Os of each second, and then `rest` I/Os until its end after `runtime`.
    fn job(begin: Nanos, ios: &[u64], rest: u64, runtime: Nanos) -> JobData {
        let window =
            |ios: u64| WindowSample::new(ios, Bytes(ios * 512), SampleLatencies::default());
        let mut dirs = PerDir::<Vec<WindowSample>>::default();
        dirs[Dir::Write] = ios.iter().chain([&rest]).map(|ios| window(*ios)).collect();
        let end = begin.saturating_add(runtime);
        let samples = Samples::new(begin, begin, end, Nanos::from_secs(1), dirs);
        let mut job = JobData { samples, ..JobData::default() };
        let all = ios.iter().sum::<u64>() + rest;
        job.recorder.dirs[Dir::Write].ios = all;
        job.recorder.dirs[Dir::Write].bytes = Bytes(all * 512);
        job.dir_runtime[Dir::Write] = runtime;
        job
    }

    fn span(jobs: &[JobData], started: Nanos, finished: Nanos) -> HostSpan<'_> {
        HostSpan { jobs: jobs.iter().collect(), started, finished }
    }

    #[test]
    fn a_straggler_does_not_lower_the_rate() {
        let fast = [job(Nanos::ZERO, &[100; 10], 50, Nanos::from_millis(10_500))];
        let slow = [job(Nanos::ZERO, &[10; 40], 0, Nanos::from_secs(40))];
        let hosts = [
            span(&fast, Nanos::ZERO, Nanos::from_millis(10_500)),
            span(&slow, Nanos::ZERO, Nanos::from_secs(40)),
        ];
        let rate = TogetherRate::of(&hosts).unwrap();
        assert_eq!(rate.end, Nanos::from_millis(10_500));
        assert!((rate.iops - 110.0).abs() < 1e-9, "{rate:?}");
        assert_eq!(rate.bw, Bytes(110 * 512));
    }

    #[test]
    fn ramps_and_hosts_that_never_met() {
        let ramped = [job(Nanos::from_secs(5), &[7; 5], 0, Nanos::from_secs(5))];
        let plain = [job(Nanos::ZERO, &[3; 10], 0, Nanos::from_secs(10))];
        let end = Nanos::from_secs(10);
        let rate =
            TogetherRate::of(&[span(&ramped, Nanos::ZERO, end), span(&plain, Nanos::ZERO, end)]);
        let rate = rate.unwrap();
        assert_eq!((rate.begin, rate.iops), (Nanos::from_secs(5), 10.0));
        let late = Nanos::from_secs(20);
        let late_job = [job(late, &[7; 5], 0, Nanos::from_secs(5))];
        let never =
            [span(&plain, Nanos::ZERO, end), span(&late_job, late, late.saturating_add(end))];
        assert_eq!(TogetherRate::of(&never), None);
        assert_eq!(
            TogetherRate::of(&[span(&plain, Nanos::ZERO, end), span(&[], late, late)]),
            None
        );
    }

    #[test]
    fn a_short_job_without_windows_counts_evenly() {
        let mut short = job(Nanos::ZERO, &[], 100, Nanos::from_millis(80));
        short.samples = Samples::default();
        let jobs = [short];
        let end = Nanos::from_millis(50);
        let hosts =
            [span(&jobs, Nanos::ZERO, Nanos::from_millis(100)), span(&jobs, Nanos::ZERO, end)];
        let rate = TogetherRate::of(&hosts).unwrap();
        assert!((rate.iops - 3000.0).abs() < 1e-6, "50 and 100 I/Os in 50 ms: {rate:?}");
    }

    #[test]
    fn groups_run_one_after_another() {
        let mut second = job(Nanos::ZERO, &[], 50, Nanos::from_secs(1));
        second.settings.group_id = 1;
        let jobs = [job(Nanos::ZERO, &[], 150, Nanos::from_secs(3)), second];
        let total = HostTotal::of(&jobs.each_ref()).unwrap();
        assert_eq!((total.runtime, total.iops), (Nanos::from_secs(4), 50.0));
        assert_eq!((total.bytes, total.bw), (Bytes(200 * 512), Bytes(50 * 512)));
        assert_eq!(HostTotal::of(&[]), None);
    }
}
