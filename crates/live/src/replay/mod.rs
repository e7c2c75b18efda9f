//! Replays a finished run: the windows of its samples become the intervals of the view.
//!
//! | question | module |
//! |---|---|
//! | what does a result tell about the run, its hosts and jobs | `run` |
//! | what did a job do in a window | `track` |
//! | which moment is shown, and when does the next one come | [`player`] |
//! | how does a moment become a model | this one |

pub mod player;
mod run;
mod track;

use fiord_stat::progress::JobPhase;
use fiord_types::{Dir, HostIndex, Nanos};

pub use self::run::ReplayRun;
use self::run::{ReplayHost, ReplayJob};
use self::track::SampleTrack;
use crate::history::LiveHistory;
use crate::model::{LiveHost, LiveJob, LiveModel};

/// A finished run, and how many of its windows the model shows.
#[derive(Debug)]
pub struct ReplayView {
    run: ReplayRun,
    shown: usize,
}

/// A moment of the run: the end of a window.
#[derive(Debug, Clone, Copy)]
struct ReplayMoment {
    /// When the last window that is shown began.
    from: Nanos,
    /// When it ended.
    to: Nanos,
    /// The window is the last one of the run.
    last: bool,
    /// No window is shown.
    none: bool,
}

impl ReplayView {
    /// A view of a run, and the model of the moment before its first window.
    #[must_use]
    pub fn new(run: ReplayRun) -> (ReplayView, LiveModel) {
        let mut model = match run.has_hosts() {
            true => {
                let names = run.hosts.iter().map(|host| host.name.clone()).collect();
                LiveModel::of_hosts(run.title.clone(), names)
            }
            false => LiveModel::of_jobs(run.title.clone(), Vec::new()),
        };
        for (index, host) in run.hosts.iter().enumerate() {
            let jobs = host.jobs.iter().map(|job| (job.name.clone(), job.about.clone()));
            model.set_jobs(HostIndex::at(index), jobs.collect());
        }
        (model.style, model.unified) = (run.style, run.unified);
        model.interval = run.total.window_length();
        let mut view = ReplayView { run, shown: 0 };
        view.show(0, &mut model);
        (view, model)
    }

    /// The length of each window.
    #[must_use]
    pub fn lengths(&self) -> Vec<Nanos> {
        self.run.total.spans().iter().map(|(from, to)| to.saturating_sub(*from)).collect()
    }

    /// Shows the first `windows` windows of the run.
    pub fn show(&mut self, windows: usize, model: &mut LiveModel) {
        let windows = windows.min(self.run.total.spans().len());
        if windows < self.shown {
            forget(model);
            self.shown = 0;
        }
        for at in self.shown..windows {
            push(&mut model.total, &self.run.total, at, windows);
            for (host, known) in model.hosts.iter_mut().zip(&self.run.hosts) {
                push(&mut host.history, &known.track, at, windows);
                for (job, known) in host.jobs.iter_mut().zip(&known.jobs) {
                    push(&mut job.history, &known.track, at, windows);
                    add_totals(job, &known.track, at);
                }
            }
        }
        self.shown = windows;
        self.states(model);
    }

    fn moment(&self) -> ReplayMoment {
        let spans = self.run.total.spans();
        let begin = spans.first().map_or(Nanos::ZERO, |(from, _)| *from);
        let (from, to) = match self.shown.checked_sub(1).and_then(|at| spans.get(at)) {
            Some(span) => *span,
            None => (begin, begin),
        };
        ReplayMoment { from, to, last: self.shown == spans.len(), none: self.shown == 0 }
    }

    /// Sets what the run, the hosts and the jobs are doing at the moment that is shown.
    fn states(&self, model: &mut LiveModel) {
        let moment = self.moment();
        let end = self.run.total.end();
        model.elapsed = whole_seconds(moment.to);
        model.done = Some(share(Nanos::ZERO, moment.to, end));
        model.eta = Some(whole_seconds(end.saturating_sub(moment.to)));
        model.findings.clone_from(&self.run.findings);
        for (host, known) in model.hosts.iter_mut().zip(&self.run.hosts) {
            for (job, known) in host.jobs.iter_mut().zip(&known.jobs) {
                set_job(job, known, moment);
            }
            set_host(host, known, moment);
        }
        for (host, known) in self.run.hosts.iter().enumerate() {
            for (job, known) in known.jobs.iter().enumerate() {
                let failure =
                    model.hosts.get(host).and_then(|host| host.jobs.get(job)?.failure.clone());
                if let Some(failure) = failure {
                    let of = self.run.prefix(host);
                    model.error(&format!("{of}{}: {failure}", known.name));
                }
            }
        }
    }
}

/// Forgets all windows.
fn forget(model: &mut LiveModel) {
    model.total.clear();
    for host in &mut model.hosts {
        host.history.clear();
        for job in &mut host.jobs {
            job.history.clear();
            job.totals = Default::default();
        }
    }
}

/// Adds a window to a history, unless it is gone from the history when `until` windows are shown.
fn push(history: &mut LiveHistory, track: &SampleTrack, at: usize, until: usize) {
    if at + history.most() >= until {
        history.push_window(&track.window(at));
    }
}

fn add_totals(job: &mut LiveJob, track: &SampleTrack, at: usize) {
    for dir in Dir::ALL {
        let Some(sample) = track.sample(dir, at) else { continue };
        let totals = &mut job.totals;
        totals.ios[dir] = totals.ios[dir].saturating_add(sample.ios());
        totals.bytes[dir] = totals.bytes[dir].saturating_add(sample.bytes());
    }
}

/// The share of a time that has passed, 0 to 1.
fn share(begin: Nanos, now: Nanos, end: Nanos) -> f64 {
    let all = end.saturating_sub(begin).as_secs_f64();
    if all <= 0.0 { 1.0 } else { (now.saturating_sub(begin).as_secs_f64() / all).min(1.0) }
}

/// A time as it is shown.
fn whole_seconds(time: Nanos) -> Nanos {
    Nanos::from_secs(time.saturating_add(Nanos::from_millis(500)).as_secs())
}

fn set_job(job: &mut LiveJob, known: &ReplayJob, moment: ReplayMoment) {
    let track = &known.track;
    // A job that ended within the window that is shown was running in it.
    let ended = moment.last || (!moment.none && track.end() <= moment.from);
    job.phase = match ended {
        true if known.failed => JobPhase::Failed,
        true => JobPhase::Reaped,
        false if moment.none || moment.to <= track.begin() => JobPhase::Waiting,
        false if known.ramps && moment.to <= track.measured() => JobPhase::Ramping,
        false => JobPhase::Running(known.kind),
    };
    job.failure = known.failure.clone().filter(|_| ended);
    job.done = Some(share(track.begin(), moment.to, track.end()));
    job.eta = Some(whole_seconds(track.end().saturating_sub(moment.to))).filter(|_| !ended);
}

fn set_host(host: &mut LiveHost, known: &ReplayHost, moment: ReplayMoment) {
    let all = |is: fn(JobPhase) -> bool| host.jobs.iter().all(|job| is(job.phase));
    let waiting = all(|phase| phase == JobPhase::Waiting);
    host.active = !host.jobs.is_empty() && !all(|phase| !phase.is_running()) || waiting;
    host.state = match () {
        () if known.failed && (host.jobs.is_empty() || moment.last) => "failed",
        () if host.jobs.is_empty() => "no data",
        () if waiting => "waiting",
        () if host.active => "running",
        () => "done",
    }
    .to_owned();
    host.active &= !host.jobs.is_empty();
    let track = &known.track;
    host.done = (!host.jobs.is_empty()).then(|| share(track.begin(), moment.to, track.end()));
    host.eta = Some(whole_seconds(track.end().saturating_sub(moment.to))).filter(|_| host.active);
}

#[cfg(test)]
mod tests;
