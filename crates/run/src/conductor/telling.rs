//! What a run tells while it goes on, and at its end.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fiord_stat::finding::RunWarning;
use fiord_stat::report::CachedUnderDirect;
use fiord_stat::slices::SliceTable;
use fiord_sys::clock;

use super::{Book, Conductor, RunResult};
use crate::control::Phase;
use crate::events::Event;
use crate::files::Cached;
use crate::monitor::{Outcome, Standing, estimate};
use crate::report::{self, Frame, JobFacts};
use crate::shared::{Finished, Run, Shared};

/// How long a running job may take to answer a status request.
const PATIENCE: Duration = Duration::from_millis(500);

impl Conductor<'_> {
    pub(super) fn progress(&mut self, now: u64) {
        let (Some(due), Some(interval)) = (self.next_progress, self.options.progress) else {
            return;
        };
        if now < due {
            return;
        }
        self.next_progress = Some((due + interval).max(now + interval / 2));
        let outcomes: Vec<Outcome> = self.books.iter().map(outcome).collect();
        let run = Arc::clone(&self.run);
        let standings = standings(&run, &self.books, now);
        let progress = self.meter.progress(&run, &standings, &outcomes, (self.began, now));
        self.observer.event(&Event::Progress(&progress));
    }

    /// Reports how everything stands now.
    pub(super) fn status(&mut self) {
        let run = Arc::clone(&self.run);
        let runs = |(index, book): &(usize, &Book)| {
            book.finished.is_none() && run.jobs[*index].control.phase() >= Phase::Ramp
        };
        let running: Vec<usize> =
            self.books.iter().enumerate().filter(runs).map(|(index, _)| index).collect();
        for &index in &running {
            run.jobs[index].control.request_snapshot();
        }
        let until = clock::monotonic() + PATIENCE.as_nanos() as u64;
        let mut snapshots = Vec::new();
        for index in running {
            let left = Duration::from_nanos(until.saturating_sub(clock::monotonic()));
            snapshots.push((index, run.jobs[index].control.take_snapshot(left)));
        }
        let frame = self.frame();
        let standings = standings(&run, &self.books, clock::monotonic());
        let (eta_s, _) = estimate(&run.plan.jobs, &standings, frame.elapsed);
        let mut jobs = Vec::with_capacity(self.books.len());
        for (index, book) in self.books.iter().enumerate() {
            let facts = JobFacts { eta_s, ..self.facts(index) };
            let at = snapshots.iter_mut().find(|(i, _)| *i == index);
            jobs.push(match (&book.finished, at) {
                (Some(finished), _) => {
                    report::ended(&frame, index, &facts, finished.worker.as_ref())
                }
                (None, Some((_, None))) => {
                    let mut data = report::running(&frame, index, &facts, None);
                    report::set_so_far(&mut data, &run.jobs[index]);
                    data
                }
                (None, at) => report::running(&frame, index, &facts, at.and_then(|s| s.1.take())),
            });
        }
        let mut report = report::report(&frame, jobs, &self.disks, &self.devices);
        // Judged when the run is over.
        report.extras.slices.clear();
        report.extras.interim = true;
        self.observer.event(&Event::Status(&report));
    }

    /// What the page cache has of files that jobs went around it for.
    fn cached(&self) -> Vec<CachedUnderDirect> {
        let mut all = Vec::new();
        for (job, book) in self.books.iter().enumerate() {
            let files = book.finished.iter().flat_map(|finished| &finished.cached);
            all.extend(files.map(|&Cached { file, at_start, at_end }| CachedUnderDirect {
                job,
                file,
                pages: at_end,
                at_start,
            }));
        }
        all
    }

    /// Reports something that the run goes on without, now and in the result.
    pub(super) fn warn(&mut self, job: Option<&str>, what: &str) {
        self.observer.event(&Event::Warning { job, what });
        let warning = RunWarning { job: job.map(str::to_owned), what: what.to_owned() };
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            plan: &self.run.plan,
            version: &self.options.version,
            elapsed: clock::monotonic().saturating_sub(self.began),
            utc_offset_s: self.options.utc_offset_s,
            timebase: &self.run.timebase,
        }
    }

    fn facts(&self, index: usize) -> JobFacts<'_> {
        let book = &self.books[index];
        JobFacts {
            pid: self.run.jobs[index].tid.load(Ordering::Relaxed),
            start_ms: book.start_ms,
            error: book.finished.as_ref().and_then(|f| f.first_error()).or(book.stuck.as_ref()),
            eta_s: None,
            watch: &book.watch,
            steady: self.run.jobs[index].control.steady(),
        }
    }

    /// The end.
    pub(super) fn result(mut self) -> RunResult {
        self.look_at_devices();
        for what in self.run.groups.close() {
            self.warn(None, &what);
        }
        let frame = self.frame();
        let eta_s = left_at_end(frame.elapsed);
        let mut errors = Vec::new();
        let mut jobs = Vec::with_capacity(self.books.len());
        let mut stuck = Vec::new();
        for (index, book) in self.books.iter().enumerate() {
            let finished = book.finished.as_deref();
            if let Some(error) = finished.and_then(Finished::first_error) {
                errors.push((index, error.clone()));
            }
            let worker = finished.and_then(|f| f.worker.as_ref());
            let facts = JobFacts { eta_s, ..self.facts(index) };
            let mut data = report::ended(&frame, index, &facts, worker);
            if let Some(error) = &book.stuck {
                stuck.push((index, error.clone()));
                report::set_so_far(&mut data, &self.run.jobs[index]);
            }
            jobs.push(data);
        }
        let mut report = report::report(&frame, jobs, &self.disks, &self.devices);
        report.extras.courses = self.books.iter().map(|book| book.watch.timeline()).collect();
        report.extras.cached = self.cached();
        report.extras.warnings = std::mem::take(&mut self.warnings);
        if self.signal.is_some() {
            report.extras.slices.iter_mut().for_each(SliceTable::cut_short);
        }
        RunResult { report, errors, signal: self.signal, stuck }
    }
}

/// The seconds left of a run that has ended after `elapsed` nanoseconds: nothing of one long enough
/// for an estimate, which takes two seconds, unknown of a shorter one. fio 3.42: 2147483647 where it
/// prints an `elapsed` of 1 or 2, 0 from 3 on.
fn left_at_end(elapsed: u64) -> Option<u64> {
    (elapsed >= 2_000_000_000).then_some(0)
}

/// What is known of each job at `now`.
fn standings(run: &Run, books: &[Book], now: u64) -> Vec<Standing> {
    let one = |(book, shared): (&Book, &Shared)| {
        let totals = shared.live.totals();
        Standing {
            running: book.watch.went.map(|at| now.saturating_sub(at)),
            ended: book.finished.is_some(),
            bytes: totals.bytes.iter().sum(),
            ios: totals.ios.iter().sum(),
        }
    };
    books.iter().zip(&run.jobs).map(one).collect()
}

fn outcome(book: &Book) -> Outcome {
    match &book.finished {
        None => Outcome::None,
        Some(finished) if finished.first_error().is_some() => Outcome::Failed,
        Some(_) => Outcome::Well,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn nothing_is_left_of_long_runs() {
        assert_eq!(super::left_at_end(1_999_999_999), None);
        assert_eq!(super::left_at_end(2_000_000_000), Some(0));
    }
}
