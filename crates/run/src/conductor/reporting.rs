//! Progress, status reports and warnings during a run, and the final report.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fiord_stat::finding::RunWarning;
use fiord_stat::report::CachedUnderDirect;
use fiord_stat::slices::SliceTable;
use fiord_stat::snapshot::RunSnapshot;
use fiord_sys::clock;
use fiord_types::{Bytes, Dir, JobIndex, Nanos};

use super::{Conductor, JobEntry, RunResult};
use crate::events::{EventKind, LayoutWork};
use crate::files::set::Cached;
use crate::idleness::IdleWatch;
use crate::job::control::Phase;
use crate::monitor::{JobEnd, KnownJob, LEAD, Standing, estimate};
use crate::results::report;
use crate::results::report::{JobFacts, ReportContext};
use crate::shared::{Finished, Run, Shared};

/// How long a status report waits for the snapshots of running jobs.
const SNAPSHOT_TIMEOUT: Duration = Duration::from_millis(500);

impl Conductor<'_> {
    pub(super) fn progress(&mut self, now: u64) {
        let (Some(due), Some(interval)) = (self.next_progress, self.options.progress) else {
            return;
        };
        let run = Arc::clone(&self.run);
        if now < due {
            let requests = self.latencies.as_mut().filter(|meter| !meter.requested);
            if let Some(meter) = requests.filter(|_| now.saturating_add(LEAD) >= due) {
                meter.request(&run);
            }
            return;
        }
        self.next_progress = Some((due + interval).max(now + interval / 2));
        if self.setup_progress(now) {
            return;
        }
        let outcomes: Vec<JobEnd> = self.entries.iter().map(outcome).collect();
        let standings = standings(&run, &self.entries, now);
        let latencies = self.latencies.as_mut().map(|meter| meter.take(&run)).unwrap_or_default();
        let times = (self.began, now);
        let progress = self.meter.progress(&run, &standings, &outcomes, latencies, times);
        self.events.send(EventKind::Progress(Box::new(progress)));
    }

    /// Reports how far the jobs are that lay out their own files (`create_serialize=0`) or read them before their I/O
    /// (`pre_read`). Returns false if there is no such work, or if a job does I/O, whose rates are of more interest.
    fn setup_progress(&self, now: u64) -> bool {
        let run = &self.run;
        let phases = || run.jobs.iter().map(|job| job.control.phase());
        if phases().any(|phase| matches!(phase, Phase::Ramp | Phase::Running)) {
            return false;
        }
        let part = |work: LayoutWork| {
            let mut jobs = Vec::new();
            let (mut done, mut total) = (Bytes::ZERO, Bytes::ZERO);
            for (index, job) in run.jobs.iter().enumerate() {
                let counters = match work {
                    LayoutWork::Layout if run.plan.jobs[index].target.layout.serialize => continue,
                    LayoutWork::Layout => &job.layout,
                    LayoutWork::PreRead => &job.pre_read,
                };
                let Some((job_done, job_total)) = counters.so_far() else { continue };
                (done, total) = (done + job_done, total + job_total);
                if job.control.phase() == Phase::SetUp {
                    jobs.push(index);
                }
            }
            let first = *jobs.first()?;
            let name = match jobs.len() {
                1 => report::name(&run.plan, first).into(),
                several => format!("{several} jobs"),
            };
            Some((name, work, done, total))
        };
        // A job reads its files after their layout.
        let found = [LayoutWork::PreRead, LayoutWork::Layout].into_iter().find_map(part);
        let Some((job, work, done, total)) = found else { return false };
        let elapsed = Nanos(now.saturating_sub(self.began));
        self.events.send(EventKind::LayoutProgress { job, work, done, total, elapsed });
        true
    }

    /// When [`Conductor::progress`] has something to do, ns.
    pub(super) fn progress_due(&self) -> Option<u64> {
        let requests = self.latencies.as_ref().is_some_and(|meter| !meter.requested);
        let lead = if requests { LEAD } else { 0 };
        self.next_progress.map(|due| due.saturating_sub(lead))
    }

    /// Emits a snapshot if one is due.
    pub(super) fn snapshot(&mut self, now: u64) {
        let run = Arc::clone(&self.run);
        let controls = run.jobs.iter().map(|job| &job.control);
        if let Some(at) = self.snapshots.as_mut().and_then(|meter| meter.due(controls, now)) {
            self.send_snapshot(at, false);
        }
    }

    /// Emits the snapshot of a moment, ns, if the run is exported. `last`: the run is over.
    fn send_snapshot(&mut self, at: u64, last: bool) {
        let Some(meter) = &mut self.snapshots else { return };
        let run = &*self.run;
        let all = standings(run, &self.entries, at);
        let elapsed = at.saturating_sub(self.began);
        let (eta, done) = estimate(&run.plan.jobs, &all, elapsed);
        let known = self.entries.iter().zip(all).map(|(entry, standing)| KnownJob {
            standing,
            end: outcome(entry),
            worker: entry.finished.as_ref().and_then(|finished| finished.worker.as_deref()),
        });
        let jobs = meter.jobs(run, known, self.began, at, last);
        self.events.send(EventKind::Snapshot(Box::new(RunSnapshot {
            elapsed: Nanos(elapsed),
            done,
            eta: eta.map(Nanos::from_secs),
            jobs,
            last,
        })));
    }

    /// Creates a report of the run so far and emits it, unless the observer has too many to print. If the results
    /// of a job that has just ended are on their way, the report waits for them: see `late_status`.
    pub(super) fn status(&mut self) {
        if !self.events.wants_report() {
            return;
        }
        let now = clock::monotonic();
        let latest = *self.late_status.get_or_insert(now + SNAPSHOT_TIMEOUT.as_nanos() as u64);
        if now < latest && self.results_are_on_their_way() {
            return;
        }
        let run = Arc::clone(&self.run);
        let runs = |(index, entry): &(usize, &JobEntry)| {
            entry.finished.is_none() && run.jobs[*index].control.phase() >= Phase::Ramp
        };
        let running: Vec<usize> =
            self.entries.iter().enumerate().filter(runs).map(|(index, _)| index).collect();
        for &index in &running {
            run.jobs[index].control.request_snapshot();
        }
        let until = clock::monotonic() + SNAPSHOT_TIMEOUT.as_nanos() as u64;
        let mut snapshots = Vec::new();
        for index in running {
            let left = Duration::from_nanos(until.saturating_sub(clock::monotonic()));
            snapshots.push((index, run.jobs[index].control.take_snapshot(left)));
        }
        if clock::monotonic() < latest && self.results_are_on_their_way() {
            return;
        }
        self.late_status = None;
        let context = self.context();
        let standings = standings(&run, &self.entries, clock::monotonic());
        let (eta_s, _) = estimate(&run.plan.jobs, &standings, context.elapsed.0);
        let mut jobs = Vec::with_capacity(self.entries.len());
        for (index, entry) in self.entries.iter().enumerate() {
            let facts = JobFacts { eta_s, ..self.facts(index) };
            let snapshot = snapshots.iter().find(|(i, _)| *i == index).map(|(_, s)| s.as_deref());
            let (worker, hangs) = match (&entry.finished, snapshot) {
                (Some(finished), _) => (finished.worker.as_deref(), false),
                (None, Some(snapshot)) => (snapshot, snapshot.is_none()),
                (None, None) => (None, false),
            };
            let mut data = report::data(&context, index, &facts, worker);
            if hangs {
                report::set_so_far(&mut data, &run.plan.jobs[index], &run.jobs[index]);
            }
            jobs.push(data);
        }
        let mut report = report::report(&context, jobs, &self.disks, &self.devices);
        // Slices get their verdict at the end of the run.
        report.extras.slices.clear();
        report.extras.idleness = self.idleness.as_ref().map(IdleWatch::result);
        report.extras.interim = true;
        self.events.send(EventKind::Status(Box::new(report)));
    }

    /// Whether a worker has ended whose results have not arrived.
    fn results_are_on_their_way(&self) -> bool {
        let jobs = self.entries.iter().zip(&self.run.jobs);
        let mut missing = jobs.filter(|(entry, _)| entry.finished.is_none());
        missing.any(|(_, job)| job.control.phase() == Phase::Ended)
    }

    /// Pages in the page cache of the files of jobs with `direct=1`.
    fn cached(&self) -> Vec<CachedUnderDirect> {
        let mut all = Vec::new();
        for (job, entry) in self.entries.iter().enumerate() {
            let files = entry.finished.iter().flat_map(|finished| &finished.cached);
            all.extend(files.map(|&Cached { file, at_start, at_end }| CachedUnderDirect {
                job: JobIndex(job),
                file,
                pages: at_end,
                at_start,
            }));
        }
        all
    }

    /// Emits a warning now and adds it to the result.
    pub(super) fn warn(&mut self, job: Option<&str>, what: &str) {
        self.events.send(EventKind::Warning { job: job.map(str::to_owned), what: what.to_owned() });
        let warning = RunWarning { job: job.map(str::to_owned), what: what.to_owned() };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn context(&self) -> ReportContext<'_> {
        ReportContext {
            plan: &self.run.plan,
            version: &self.options.version,
            elapsed: Nanos(clock::monotonic().saturating_sub(self.began)),
            utc_offset_s: self.options.utc_offset_s,
            timebase: &self.run.timebase,
        }
    }

    fn facts(&self, index: usize) -> JobFacts<'_> {
        let entry = &self.entries[index];
        JobFacts {
            pid: self.run.jobs[index].tid.load(Ordering::Relaxed),
            start_ms: entry.start_ms,
            error: entry.finished.as_ref().and_then(|f| f.first_error()).or(entry.stuck.as_ref()),
            eta_s: None,
            steady: self.run.jobs[index].control.steady(),
        }
    }

    /// Creates the result of the run.
    pub(super) fn result(mut self) -> RunResult {
        self.send_snapshot(clock::monotonic(), true);
        if let Some(log) = &mut self.bandwidth_log {
            log.finish(self.run.totals(), clock::monotonic());
        }
        self.run.logs.end(self.abandoned);
        for what in self.run.groups.close() {
            self.warn(None, &what);
        }
        let context = self.context();
        let eta_s = left_at_end(context.elapsed.0);
        let mut errors = Vec::new();
        let mut jobs = Vec::with_capacity(self.entries.len());
        let mut stuck = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            let finished = entry.finished.as_deref();
            if let Some(error) = finished.and_then(Finished::first_error) {
                errors.push((index, error.clone()));
            }
            let worker = finished.and_then(|f| f.worker.as_deref());
            let facts = JobFacts { eta_s, ..self.facts(index) };
            let mut data = report::data(&context, index, &facts, worker);
            if let Some(error) = &entry.stuck {
                stuck.push((index, error.clone()));
                report::set_so_far(&mut data, &self.run.plan.jobs[index], &self.run.jobs[index]);
            }
            jobs.push(data);
        }
        let data = if self.options.keep_data { jobs.clone() } else { Vec::new() };
        let mut report = report::report(&context, jobs, &self.disks, &self.devices);
        report.extras.cached = self.cached();
        report.extras.idleness = self.idleness.as_ref().map(IdleWatch::result);
        report.extras.warnings = std::mem::take(&mut self.warnings);
        if self.signal.is_some() || self.finished_early {
            report.extras.slices.iter_mut().for_each(SliceTable::cut_short);
        }
        let started = self.run.jobs.iter().map(|job| job.control.started()).collect();
        let trigger = self.trigger.fired();
        RunResult { report, errors, signal: self.signal, trigger, stuck, data, started }
    }
}

/// The `eta` of a run that ended after `elapsed` ns: 0 if it was long enough for an estimate, which takes two
/// seconds, else unknown. fio 3.42 prints 2147483647 with an `elapsed` of 1 or 2, and 0 from 3 on.
fn left_at_end(elapsed: u64) -> Option<u64> {
    (elapsed >= 2_000_000_000).then_some(0)
}

/// The progress of each job at `now`.
fn standings(run: &Run, entries: &[JobEntry], now: u64) -> Vec<Standing> {
    let one = |(entry, shared): (&JobEntry, &Shared)| {
        let totals = shared.live.totals();
        Standing {
            running: entry.watch.released.map(|at| now.saturating_sub(at)),
            ended: entry.finished.is_some(),
            bytes: totals.bytes.values().copied().sum(),
            ios: totals.ios.values().sum(),
            written: totals.bytes[Dir::Write],
            read_back: shared.live.read_back(),
        }
    };
    entries.iter().zip(&run.jobs).map(one).collect()
}

fn outcome(entry: &JobEntry) -> JobEnd {
    match &entry.finished {
        None => JobEnd::None,
        Some(finished) if finished.first_error().is_some() => JobEnd::Failed,
        Some(_) => JobEnd::Succeeded,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_eta_of_an_ended_run_is_zero_from_two_seconds_on() {
        assert_eq!(super::left_at_end(1_999_999_999), None);
        assert_eq!(super::left_at_end(2_000_000_000), Some(0));
    }
}
