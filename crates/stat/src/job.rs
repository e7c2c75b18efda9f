//! Turns the raw data of jobs into the report: merging, percentages, groups.

use serde::{Deserialize, Serialize};

use fiord_types::{Bytes, Errno, Nanos, PerDir};

use crate::buckets::LatencyBuckets;
use crate::delays::ThreadDelays;
use crate::engine::EngineReport;
use crate::groups::per_second;
use crate::hooks::HookReport;
use crate::maps::is_default;
use crate::priority::{self, PriorityRecorder};
use crate::recorder::{DirRecorder, Recorder};
use crate::replay::ReplaySummary;
use crate::report::*;
use crate::samples::Samples;
use crate::shares::TimeShares;
use crate::time_units::{Millis, Seconds};
use crate::verify::VerifyResults;
use crate::windows::{RateStat, Windows};

pub use crate::groups::groups;
pub use crate::settings::{DEFAULT_PERCENTILES, JobSettings};

/// The raw data of one job at the end of the run or at a status report: what its worker counted, and what the
/// report needs to know about it. Merging is exact: the sums, extremes, histograms and series of merged data equal
/// those of one recorder that received all samples. [`JobData::to_json`] writes it for another process or host.
///
/// ```
/// use fiord_stat::job::JobData;
/// use fiord_stat::recorder::{Recorder, Times, axes};
/// use fiord_types::{Bytes, Dir, Nanos};
///
/// let mut job = JobData { recorder: Recorder::new(axes::ASYNC, &[Dir::Read]), ..JobData::default() };
/// let times = Times { slat: Nanos(900), clat: Nanos(8000), lat: Nanos(8900) };
/// job.recorder.complete::<{ axes::ASYNC }>(Dir::Read, Bytes(4096), times);
/// let copy = JobData::from_json(&job.to_json())?;
/// assert_eq!(copy, job);
/// job.merge(&copy);
/// assert_eq!(job.recorder.dirs[Dir::Read].clat_hist.count(), 2);
/// # Ok::<(), fiord_stat::wire::WireError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobData {
    /// Settings of the job for the report.
    pub settings: JobSettings,
    /// Number of jobs merged into this entry.
    pub members: u32,
    /// Thread id.
    pub pid: u32,
    /// When the job began, in whole milliseconds since 1970 or of the clock of `job_start_clock_id`.
    #[serde(rename = "start_ms", with = "Millis")]
    pub start: Nanos,
    /// The error that ended the job, else the first error that it survived (`continue_on_error`), else `None`. For
    /// an NVMe status it is the number of the status.
    pub error: Option<Errno>,
    /// An error ended the job.
    pub failed: bool,
    /// Where `error` occurred: file and operation (`/data/x`, `read`).
    pub error_site: Option<(String, String)>,
    /// Estimated time left, in whole seconds; `None` if unknown.
    #[serde(rename = "eta_s", with = "Seconds")]
    pub eta: Option<Nanos>,
    /// Time since the run began, in whole seconds.
    #[serde(rename = "elapsed_s", with = "Seconds")]
    pub elapsed: Nanos,
    /// The job's recorder.
    pub recorder: Recorder,
    /// Rates over windows of time.
    pub windows: Windows,
    /// What it did in windows of time, with latencies.
    #[serde(skip_serializing_if = "Samples::is_empty")]
    pub samples: Samples,
    /// The samples count virtual time, which begins with the job (`ioengine=sim`).
    #[serde(skip_serializing_if = "is_default")]
    pub virtual_time: bool,
    /// Time in which the job did I/O in each direction, in whole milliseconds; 0 for an unused direction.
    #[serde(rename = "dir_runtime_ms", with = "Millis")]
    pub dir_runtime: PerDir<Nanos>,
    /// Time the job ran, in whole milliseconds.
    #[serde(rename = "runtime_ms", with = "Millis")]
    pub runtime: Nanos,
    /// CPU time in user mode.
    #[serde(rename = "user_ns")]
    pub user: Nanos,
    /// CPU time in the kernel.
    #[serde(rename = "system_ns")]
    pub system: Nanos,
    /// Context switches, voluntary and not.
    pub ctx: u64,
    /// Page faults with I/O.
    pub majf: u64,
    /// Page faults without.
    pub minf: u64,
    /// `iodepth`, or the depth that `latency_target` found; 0 if the job did not run.
    pub latency_depth: u32,
    /// Result of `steadystate`; `None` if it is not set.
    pub steady_state: Option<SteadyState>,
    /// Zones reset; `None` if the target is not zoned.
    pub zone_resets: Option<u64>,
    /// Zone commands sent to the device: resets (of empty zones too), finishes and closes.
    pub zone_commands: u64,
    /// Times that the job found no zone with data to read.
    pub nothing_to_read: u64,
    /// How its thread spent its time; `None` without samples.
    pub shares: Option<TimeShares>,
    /// Delays of its thread that the machine caused.
    pub delays: ThreadDelays,
    /// What its hooks counted.
    #[serde(skip_serializing_if = "is_default")]
    pub hooks: HookReport,
    /// What its engine counted.
    #[serde(skip_serializing_if = "is_default")]
    pub engine: EngineReport,
}

impl JobData {
    /// Merges another job of the same entry. Adds up counts; keeps the longest run time of each direction, the first
    /// error, name, description and number style, and the options that both have; takes the other settings from `other`.
    pub fn merge(&mut self, other: &JobData) {
        self.merge_priorities(other);
        let name = std::mem::take(&mut self.settings.name);
        let description = self.settings.description.take();
        // The entry shows the options that all of its jobs share.
        let mut options = std::mem::take(&mut self.settings.options);
        options.retain(|option| other.settings.options.contains(option));
        self.settings = JobSettings {
            name,
            options,
            description: description.or_else(|| other.settings.description.clone()),
            style: self.settings.style,
            continue_on_error: self.settings.continue_on_error || other.settings.continue_on_error,
            ..other.settings.clone()
        };
        self.members = self.members.saturating_add(other.members);
        if self.error.is_none() {
            self.error = other.error;
            self.error_site.clone_from(&other.error_site);
        }
        self.failed |= other.failed;
        self.eta = self.eta.max(other.eta);
        self.elapsed = self.elapsed.max(other.elapsed);
        self.recorder.merge(&other.recorder);
        self.windows.merge(&other.windows);
        self.shares = match (self.shares, other.shares) {
            (Some(a), Some(b)) => TimeShares::weighed(&[(a, self.runtime), (b, other.runtime)]),
            (a, b) => a.or(b),
        };
        self.samples.merge(&other.samples);
        self.virtual_time |= other.virtual_time;
        for (mine, theirs) in self.dir_runtime.values_mut().zip(other.dir_runtime.values()) {
            *mine = (*mine).max(*theirs);
        }
        let counts = [
            (&mut self.ctx, other.ctx),
            (&mut self.majf, other.majf),
            (&mut self.minf, other.minf),
            (&mut self.zone_commands, other.zone_commands),
            (&mut self.nothing_to_read, other.nothing_to_read),
        ];
        counts.into_iter().for_each(|(mine, theirs)| *mine = mine.saturating_add(theirs));
        self.runtime = self.runtime.saturating_add(other.runtime);
        self.user = self.user.saturating_add(other.user);
        self.system = self.system.saturating_add(other.system);
        self.delays.merge(&other.delays);
        self.hooks.merge(&other.hooks);
        self.engine.merge(&other.engine);
        self.latency_depth = other.latency_depth;
        if self.steady_state.is_none() {
            self.steady_state.clone_from(&other.steady_state);
        }
        self.zone_resets = match (self.zone_resets, other.zone_resets) {
            (Some(a), Some(b)) => Some(a.saturating_add(b)),
            (a, b) => a.or(b),
        };
    }

    /// If the I/Os of two jobs differ in priority, creates the list of priorities for a job that has only one.
    fn merge_priorities(&mut self, other: &JobData) {
        let single = |job: &JobData| job.recorder.dirs.values().all(|d| d.priorities.is_empty());
        if single(self) && single(other) && self.settings.ioprio == other.settings.ioprio {
            return;
        }
        if single(self) {
            self.list_own_priority();
        }
        if single(other) {
            let mut other = other.clone();
            other.list_own_priority();
            self.add_priorities(&other);
        }
    }

    /// Creates a list with one entry: all I/Os under the job's own priority.
    fn list_own_priority(&mut self) {
        let JobSettings { ioprio, lat_percentiles, .. } = self.settings;
        for d in self.recorder.dirs.values_mut() {
            let (summary, hist) = match lat_percentiles {
                true => (d.lat, d.lat_hist.clone()),
                false => (d.clat, d.clat_hist.clone()),
            };
            d.priorities = vec![PriorityRecorder { ioprio, summary, hist }];
        }
    }

    fn add_priorities(&mut self, other: &JobData) {
        let theirs = &other.recorder.dirs;
        for (mine, theirs) in self.recorder.dirs.values_mut().zip(theirs.values()) {
            priority::merge(&mut mine.priorities, &theirs.priorities);
        }
    }

    /// The errors that the job survived; `None` without `continue_on_error`.
    fn errors(&self, error_text: &dyn Fn(Errno) -> String) -> Option<ErrorReport> {
        let (r, s) = (&self.recorder, &self.settings);
        s.continue_on_error.then(|| ErrorReport {
            total: r.errors,
            first: r.first_error,
            first_text: error_text(r.first_error.unwrap_or(Errno::from_raw(0))),
        })
    }

    /// Creates the job's entry of the report. `error_text` returns the text of an errno.
    pub fn summarise(&self, error_text: &dyn Fn(Errno) -> String) -> JobReport {
        let (r, s) = (&self.recorder, &self.settings);
        let [issued, short, dropped] = self.counted();
        let all_issued: u64 = r.dirs.values().map(|d| d.issued).sum();
        let coarse = r.latency_buckets();
        let ios = measured_ios(r, &coarse);
        // As in fio, 0 stands for no error.
        let latency = coarse.0.map(|n| at_least(0.01, percent(n, ios)));
        let pick = |from: usize, i: usize| latency[from + i];
        JobReport {
            name: s.name.clone(),
            description: s.description.clone(),
            group_id: s.group_id,
            members: self.members,
            pid: self.pid,
            start: self.start,
            error: self.error,
            failed: self.failed,
            error_text: self.error_words(error_text),
            eta: self.eta,
            elapsed: self.elapsed,
            options: s.options.clone(),
            style: s.style,
            percentile_list: match s.clat_percentiles || s.lat_percentiles {
                true => s.percentiles.clone(),
                false => Vec::new(),
            },
            percentile_decimals: s.percentile_decimals,
            unified: s.unified,
            dirs: self.dir_reports(),
            sync: SyncReport {
                total_ios: r.sync_issued,
                lat: summary(&r.sync, &r.sync_hist, true, &s.percentiles),
            },
            runtime: self.runtime,
            usr_cpu: cpu_percent(self.user, self.runtime),
            sys_cpu: cpu_percent(self.system, self.runtime),
            ctx: self.ctx,
            majf: self.majf,
            minf: self.minf,
            depth_level: distribution(&r.depth.0, all_issued),
            depth_submit: distribution(&r.submit.0, r.submit.0.iter().sum()),
            depth_complete: distribution(&r.complete.0, r.complete.0.iter().sum()),
            issued,
            short,
            dropped,
            latency_ns: std::array::from_fn(|i| pick(0, i)),
            latency_us: std::array::from_fn(|i| pick(10, i)),
            latency_under_2us: at_least(0.01, percent(coarse.0[..11].iter().sum(), ios)),
            latency_ms: std::array::from_fn(|i| pick(20, i)),
            errors: self.errors(error_text),
            latency_depth: self.latency_depth,
            latency_target: s.latency_target,
            latency_percentile: s.latency_percentile,
            latency_window: s.latency_window,
            steady_state: self.steady_state.clone(),
            zone_resets: self.zone_resets,
            nothing_to_read: self.nothing_to_read,
            intended: self.intended(),
            delays: self.delays,
            block_errors: self.hooks.block_errors.clone(),
            verify: self.hooks.verify.as_ref().map(VerifyResults::finished),
            replay: self.hooks.replay.as_deref().map(ReplaySummary::of),
            engine: self.engine.summarise(),
            samples: self.samples.clone(),
        }
    }

    /// Latencies from the time at which each I/O was due, for the directions that have a rate.
    fn intended(&self) -> Vec<(DirKind, LatencySummary)> {
        let s = &self.settings;
        let list = if s.percentiles.is_empty() { &DEFAULT_PERCENTILES[..] } else { &s.percentiles };
        let of = |kind, d: &DirRecorder| (kind, summary(&d.intended, &d.intended_hist, true, list));
        let dirs = &self.recorder.dirs;
        let mut rows = Vec::new();
        if s.unified != Unified::Mixed {
            rows.extend(dirs.iter().map(|(dir, d)| of(DirKind::from(dir), d)));
        }
        if s.unified != Unified::Separate {
            let mut all = DirRecorder::default();
            dirs.values().for_each(|d| all.merge(d));
            rows.push(of(DirKind::Mixed, &all));
        }
        rows.retain(|(_, latency)| latency.n > 0);
        rows
    }

    /// I/Os issued, short and dropped: read, write, trim, sync.
    fn counted(&self) -> [[u64; 4]; 3] {
        let [mut issued, mut short, mut dropped] = [[0; 4]; 3];
        for (i, d) in self.recorder.dirs.values().enumerate() {
            let row = if self.settings.unified == Unified::Mixed { 0 } else { i };
            issued[row] += d.issued;
            short[row] += d.short;
            dropped[row] += d.dropped;
        }
        // fio counts the writes that `verify_only` goes over, too, as if it had issued them.
        let writes = usize::from(self.settings.unified != Unified::Mixed);
        issued[writes] += self.hooks.verify.as_ref().map_or(0, |verify| verify.replayed_writes);
        issued[3] = self.recorder.sync_issued;
        [issued, short, dropped]
    }

    fn error_words(&self, error_text: &dyn Fn(Errno) -> String) -> String {
        match (self.error, &self.error_site) {
            (None, _) => String::new(),
            (Some(e), None) => format!("error={}", error_text(e)),
            (Some(e), Some((file, func))) => {
                format!("file:{file}, func={func}, error={}", error_text(e))
            }
        }
    }

    fn dir_reports(&self) -> Vec<DirReport> {
        let s = &self.settings;
        let mut dirs = Vec::with_capacity(4);
        if s.unified != Unified::Mixed {
            for (dir, d) in self.recorder.dirs.iter() {
                let rates = (self.windows.bw[dir], self.windows.iops[dir]);
                let runtime = self.dir_runtime[dir];
                dirs.push(dir_report(DirKind::from(dir), d, runtime, rates, s));
            }
        }
        if s.unified != Unified::Separate {
            let mut all = DirRecorder::default();
            let mut rates = (RateStat::default(), RateStat::default());
            for (dir, d) in self.recorder.dirs.iter() {
                all.merge(d);
                rates.0.merge(&self.windows.bw[dir]);
                rates.1.merge(&self.windows.iops[dir]);
            }
            let runtime = self.dir_runtime.values().copied().max().unwrap_or_default();
            dirs.push(dir_report(DirKind::Mixed, &all, runtime, rates, s));
        }
        dirs
    }
}

/// The number of I/Os of which `latency_ns` and its relatives are shares. I/Os without an answer are in the latencies, but not
/// among those that completed.
fn measured_ios(recorder: &Recorder, coarse: &LatencyBuckets) -> u64 {
    let done: u64 = recorder.dirs.values().map(|d| d.ios).sum();
    done.max(coarse.0.iter().sum())
}

fn dir_report(
    kind: DirKind,
    d: &DirRecorder,
    runtime: Nanos,
    (bw, iops): (RateStat, RateStat),
    s: &JobSettings,
) -> DirReport {
    let rate = |r: RateStat| RateSummary {
        min: r.min,
        max: r.max,
        agg: 0.0,
        mean: r.mean,
        dev: r.stddev(),
        samples: r.samples,
    };
    DirReport {
        kind,
        io_bytes: d.bytes,
        bw: per_second(d.bytes, runtime),
        iops: match runtime.as_millis() {
            0 => 0.0,
            ms => d.ios as f64 * 1000.0 / ms as f64,
        },
        runtime,
        total_ios: d.ios,
        short_ios: d.short,
        drop_ios: d.dropped,
        slat: summary(&d.slat, &d.slat_hist, s.slat_percentiles, &s.percentiles),
        clat: summary(&d.clat, &d.clat_hist, s.clat_percentiles, &s.percentiles),
        lat: summary(&d.lat, &d.lat_hist, s.lat_percentiles, &s.percentiles),
        priorities: priorities(d, s),
        bw_samples: rate(bw),
        iops_samples: rate(iops),
    }
}

/// Latency by priority; empty if all I/Os have the same priority.
fn priorities(d: &DirRecorder, s: &JobSettings) -> Vec<PriorityReport> {
    let seen = || d.priorities.iter().filter(|p| p.summary.n() > 0);
    if seen().count() < 2 {
        return Vec::new();
    }
    let wanted = s.lat_percentiles || s.clat_percentiles;
    let report = |p: &PriorityRecorder| PriorityReport {
        class: (p.ioprio >> 13) as u8,
        level: p.ioprio as u8 & 7,
        hint: p.ioprio >> 3 & 0x3ff,
        total: s.lat_percentiles,
        latency: summary(&p.summary, &p.hist, wanted, &s.percentiles),
    };
    seen().map(report).collect()
}

fn summary(
    s: &crate::summary::Summary,
    hist: &crate::histogram::Histogram,
    wanted: bool,
    list: &[f64],
) -> LatencySummary {
    LatencySummary {
        min: Nanos(s.min()),
        max: Nanos(s.max()),
        mean: s.mean(),
        stddev: s.stddev(),
        n: s.n(),
        percentiles: if wanted { hist.percentiles(list) } else { Vec::new() },
        bins: if wanted { hist.bins() } else { Vec::new() },
    }
}

fn percent(n: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { 100.0 * n as f64 / of as f64 }
}

fn cpu_percent(used: Nanos, runtime: Nanos) -> f64 {
    // fio also rounds down to whole milliseconds.
    percent(used.as_millis(), runtime.as_millis())
}

/// Raises a share above 0 to `least`, so that it is visible in the output.
fn at_least(least: f64, share: f64) -> f64 {
    if share > 0.0 { share.max(least) } else { 0.0 }
}

/// Shares in percent. A share above 0 is at least 0.1.
fn distribution(counts: &[u64; 7], of: u64) -> [f64; 7] {
    counts.map(|n| at_least(0.1, percent(n, of)))
}

/// Merges jobs with `group_reporting`, summarises each entry and computes the run status groups. `jobs` are in
/// the order of the report; jobs with `stats=0` are left out.
pub fn assemble(
    jobs: Vec<JobData>,
    error_text: &dyn Fn(Errno) -> String,
) -> (Vec<JobReport>, Vec<GroupReport>) {
    let mut entries: Vec<JobData> = Vec::new();
    for mut job in jobs.into_iter().filter(|j| j.settings.stats) {
        job.members = job.members.max(1);
        // A job that still runs has not called this yet; a second call changes nothing.
        job.recorder.finish();
        let joins = job.settings.group_reporting;
        match entries.last_mut() {
            Some(entry) if joins && entry.settings.group_id == job.settings.group_id => {
                entry.merge(&job);
            }
            _ => entries.push(job),
        }
    }
    let mut reports: Vec<JobReport> = entries.iter().map(|e| e.summarise(error_text)).collect();
    let groups = groups(&reports);
    for job in &mut reports {
        let group = groups.iter().find(|g| g.id == job.group_id);
        for d in &mut job.dirs {
            let total = group.and_then(|g| g.dirs.iter().find(|x| x.kind == d.kind));
            if let Some(total) = total.filter(|t| t.agg_bw > Bytes::ZERO) {
                let share = d.bw_samples.mean * 100.0 / (total.agg_bw.0 as f64 / 1024.0);
                d.bw_samples.agg = share.min(100.0);
            }
        }
    }
    (reports, groups)
}

#[cfg(test)]
#[path = "job_tests.rs"]
mod tests;
