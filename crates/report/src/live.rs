//! The live line.

use fiord_stat::progress::{JobProgress, Progress};
use fiord_stat::report::NumberStyle;
use fiord_types::{Bytes, Dir, Nanos, PerDir};

use crate::style::{count, rate, size};

/// The line shows from here on how far a replay is behind its trace.
pub const BEHIND: Nanos = Nanos::from_millis(100);

/// Formats the line without a line end. While the remaining time is unknown, it shows only the
/// number of running jobs. The line that it replaces may be longer: see [`padded`].
#[must_use]
pub fn live_line(p: &Progress) -> String {
    let running = p.jobs.iter().filter(|job| job.phase.is_running()).count();
    let mut line = format!("Jobs: {running} (f={})", p.open_files);
    let ((bw_min, bw_max), (iops_min, iops_max)) = (p.rate_limits, p.rate_iops_limits);
    if bw_min > Bytes::ZERO || bw_max > Bytes::ZERO {
        let limits = (rate(bw_min, p.style), rate(bw_max, p.style));
        line.push_str(&format!(", {}-{}", limits.0, limits.1));
    } else if iops_min > 0 || iops_max > 0 {
        line.push_str(&format!(", {iops_min}-{iops_max} IOPS"));
    }
    let Some(eta) = p.eta else {
        return line;
    };
    line.push_str(&format!(": [{}]", phases(&p.jobs)));
    match p.done {
        Some(done) => line.push_str(&format!("[{:.1}%]", done.clamp(0.0, 1.0) * 100.0)),
        None => line.push_str("[-.-%]"),
    }
    let bw = rates(p, &p.bw.map(|bytes| bytes.0), |n| rate(Bytes(n), p.style));
    let iops = rates(p, &p.iops, |n| count(n, p.style));
    if !bw.is_empty() {
        line.push_str(&format!("[{bw}][{iops} IOPS]"));
    }
    if let Some(behind) = p.jobs.iter().filter_map(|job| job.behind).max()
        && behind >= BEHIND
    {
        line.push_str(&format!("[{:.1} s behind]", behind.as_secs_f64()));
    }
    line.push_str(&format!("[eta {}]", time_left(eta)));
    line
}

/// The work of a layout, for [`layout_line`].
pub const LAYING_OUT: &str = "laying out";

/// Width of the line of a layout in characters, so that it fits every usual terminal.
const LAYOUT_WIDTH: usize = 79;

/// Formats the line that shows how far work before the I/O of a job is, such as `laying out`: `done` of `total` bytes are
/// written or read after `elapsed`.
///
/// ```
/// use fiord_report::live::layout_line;
/// use fiord_stat::report::NumberStyle;
/// use fiord_types::{Bytes, Nanos};
///
/// let (done, total) = (Bytes::from_mib(256), Bytes::from_mib(1024));
/// assert_eq!(
///     layout_line("a", "laying out", (done, total), Nanos::from_secs(2), NumberStyle::default()),
///     "a: laying out [25.0%][256MiB of 1024MiB][128MiB/s][eta 00m:06s]"
/// );
/// ```
#[must_use]
pub fn layout_line(
    job: &str,
    work: &str,
    (done, total): (Bytes, Bytes),
    elapsed: Nanos,
    style: NumberStyle,
) -> String {
    let share = done.as_f64() / total.as_f64().max(1.0);
    let speed = done.as_f64() / elapsed.as_secs_f64().max(1e-9);
    let sizes = (size(done, style), size(total, style));
    let mut line = format!(": {work} [{:.1}%][{} of {}]", share * 100.0, sizes.0, sizes.1);
    if done == total {
        // All of it is in the page cache: the kernel writes it.
        line.push_str(if work == LAYING_OUT { "[writing back]" } else { "" });
    } else if done > Bytes::ZERO {
        let left = Nanos::from_secs(((total - done).as_f64() / speed).round() as u64);
        let speed = rate(Bytes(speed as u64), style);
        line.push_str(&format!("[{speed}][eta {}]", time_left(left)));
    }
    let room = LAYOUT_WIDTH.saturating_sub(line.chars().count());
    job.chars().take(room).chain(line.chars()).collect()
}

/// Pads a line to at least the length of the line that it replaces.
#[must_use]
pub fn padded(line: &str, last: usize) -> String {
    format!("{line:last$}")
}

/// Formats `r=…,w=…,t=…` for the directions with I/O.
fn rates(p: &Progress, values: &PerDir<u64>, show: impl Fn(u64) -> String) -> String {
    if p.unified {
        let all: u64 = values.values().sum();
        return if all > 0 { format!("r={}", show(all)) } else { String::new() };
    }
    // Bytes and I/Os have the same directions, even if one of the two rounds to nothing.
    let moving = Dir::ALL.into_iter().filter(|dir| p.bw[*dir] > Bytes::ZERO || p.iops[*dir] > 0);
    moving
        .map(|dir| format!("{}={}", &dir.name()[..1], show(values[dir])))
        .collect::<Vec<_>>()
        .join(",")
}

/// Run-length encodes job states: `_(1),M(3)`.
fn phases(jobs: &[JobProgress]) -> String {
    let runs: Vec<String> = jobs
        .chunk_by(|a, b| a.phase == b.phase)
        .map(|run| format!("{}({})", run[0].phase.letter(), run.len()))
        .collect();
    runs.join(",")
}

/// Formats a time as `00m:02s`, with hours and days if necessary.
#[must_use]
pub fn time_left(time: Nanos) -> String {
    let seconds = time.as_secs();
    let (days, hours) = (seconds / 86400, seconds / 3600 % 24);
    let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
    let mut text = String::new();
    if days > 0 {
        text.push_str(&format!("{days:02}d:"));
    }
    if days > 0 || hours > 0 {
        text.push_str(&format!("{hours:02}h:"));
    }
    text.push_str(&format!("{minutes:02}m:{seconds:02}s"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use fiord_stat::progress::{JobPhase, RunKind};
    use fiord_stat::report::NumberStyle;

    fn job(phase: JobPhase) -> JobProgress {
        JobProgress {
            phase,
            totals: Default::default(),
            bw: PerDir::all(Bytes::ZERO),
            iops: PerDir::all(0),
            latency: None,
            done: None,
            eta: None,
            behind: None,
        }
    }

    fn progress() -> Progress {
        Progress {
            interval: Nanos::from_millis(500),
            jobs: [JobPhase::Reaped, JobPhase::Running(RunKind::Mixed)].map(job).to_vec(),
            open_files: 1,
            done: Some(0.248),
            bw: PerDir::new(21495808, 24641536, 0).map(Bytes),
            iops: PerDir::new(82, 94, 0),
            rate_limits: (Bytes::ZERO, Bytes::ZERO),
            rate_iops_limits: (0, 0),
            eta: Some(Nanos::from_secs(91)),
            elapsed: Nanos::from_secs(30),
            style: NumberStyle::default(),
            unified: false,
        }
    }

    #[test]
    fn whole_line() {
        assert_eq!(
            live_line(&progress()),
            "Jobs: 1 (f=1): [_(1),M(1)][24.8%][r=20.5MiB/s,w=23.5MiB/s][r=82,w=94 IOPS]\
             [eta 01m:31s]"
        );
    }
    #[test]
    fn a_replay_that_is_late() {
        let late = JobProgress { behind: Some(Nanos::from_millis(3250)), ..job(JobPhase::Ramping) };
        let p = Progress { jobs: vec![late], ..progress() };
        assert!(live_line(&p).ends_with("IOPS][3.2 s behind][eta 01m:31s]"), "{}", live_line(&p));
    }
    #[test]
    fn limits_and_the_unknown() {
        let p = Progress { eta: None, rate_iops_limits: (0, 2000), ..progress() };
        assert_eq!(live_line(&p), "Jobs: 1 (f=1), 0-2000 IOPS");
        let rate_limits = (Bytes(512_000), Bytes(1 << 20));
        let p = Progress { eta: None, rate_limits, ..progress() };
        assert_eq!(live_line(&p), "Jobs: 1 (f=1), 500KiB/s-1024KiB/s");
        let jobs = vec![job(JobPhase::Ramping)];
        let (bw, iops) = (PerDir::all(Bytes::ZERO), PerDir::all(0));
        let p = Progress { jobs, done: None, bw, iops, ..progress() };
        assert_eq!(live_line(&p), "Jobs: 1 (f=1): [/(1)][-.-%][eta 01m:31s]");
    }
    #[test]
    fn long_times() {
        assert_eq!(time_left(Nanos::from_secs(3598)), "59m:58s");
        assert_eq!(time_left(Nanos::from_secs(107_997)), "01d:05h:59m:57s");
    }
}
