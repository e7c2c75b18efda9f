//! Prints output while jobs run on many hosts. The streams and formats are those of a run on this machine.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use fiord_app::coordinator;
use fiord_app::coordinator::logs::FetchError;
use fiord_fabric::conductor::{HostOrder, HostsEvent, RunOrder};
use fiord_fabric::outcome::HostStage;
use fiord_html::result::PageResult;
use fiord_job::command::GeneralOptions;
use fiord_report::hosts;
use fiord_report::output::Formats;
use fiord_run::events::{Event, EventKind};
use fiord_stat::hosts::{HostReport, HostsReport};
use fiord_stat::progress::{JobPhase, Progress};
use fiord_stat::report::Report;
use fiord_sys::clock;
use fiord_types::program::message;
use fiord_types::{HostIndex, Nanos, plain};

use super::view::HostsView;
use crate::console::{formats, header_of, job_failed, terminating};
use crate::exit::Exit;
use crate::exports::Exports;
use crate::live_line::LiveLine;
use crate::page_file::PageFile;
use crate::sink::{self, Sink, complain, report};

/// Prints the events of a run on many hosts, and its report.
pub(crate) struct HostsConsole {
    sink: Sink,
    /// Where the page of `--html` goes.
    page: Option<PageFile>,
    formats: Formats,
    hosts: Vec<HostNameLines>,
    live: LiveLine,
    /// Time between two updates of the live line.
    live_interval: Duration,
    /// When the line may change next. `None`: no host has sent progress.
    next_live: Option<Instant>,
    /// Errors of the coordinator itself.
    failed: bool,
    exports: Option<Exports>,
    /// With `--live`.
    view: Option<HostsView>,
}

/// How a host is called in lines.
struct HostNameLines {
    /// As the user wrote it, for messages.
    typed: String,
    /// The host's own name, for results, as in fio.
    own: String,
    /// How far its jobs were last.
    progress: Option<Box<Progress>>,
    /// The live line has not shown that.
    is_progress_new: bool,
    /// The host is reached, prepares or runs, so that it will send progress.
    goes_on: bool,
    /// What is known of it for a report of the run so far.
    report: HostReport,
    /// The host runs, so it answers when it is asked for a report.
    runs: bool,
}

impl HostsConsole {
    /// Creates a console for a run.
    pub(crate) fn new(
        sink: Sink,
        page: Option<PageFile>,
        general: &GeneralOptions,
        order: &RunOrder,
        exports: Option<Exports>,
        view: Option<HostsView>,
    ) -> Self {
        let host = |host: &HostOrder| HostNameLines {
            own: host.name.clone(),
            typed: host.name.clone(),
            progress: None,
            is_progress_new: false,
            goes_on: true,
            report: HostReport {
                name: host.name.clone(),
                port: host.port,
                ..HostReport::default()
            },
            runs: false,
        };
        HostsConsole {
            sink,
            page,
            formats: formats(general),
            hosts: order.hosts.iter().map(host).collect(),
            live: LiveLine::new(general),
            live_interval: Duration::from_nanos(general.eta_interval),
            next_live: None,
            failed: false,
            exports,
            view,
        }
    }

    /// Becomes true when the user of the full-screen view wants the run to end. `None` without a view.
    pub(crate) fn end_wish(&self) -> Option<Arc<AtomicBool>> {
        self.view.as_ref().map(HostsView::end_wish)
    }

    /// Prints an event.
    pub(crate) fn event(&mut self, event: HostsEvent) {
        if let Some(view) = &mut self.view {
            view.event(&event);
        }
        match event {
            HostsEvent::Welcomed { host, facts } => {
                self.header(&hosts::greeting(&facts));
                if let Some(names) = self.hosts.get_mut(host.get()) {
                    names.own.clone_from(&facts.hostname);
                    names.report.facts = Some(*facts);
                }
            }
            HostsEvent::Checked { host, jobs } => {
                self.notice(host, &jobs.warnings);
                self.lines(host, &jobs.introduction);
            }
            HostsEvent::Run { host, event } => {
                if let Ok(event) = serde_json::from_value(event) {
                    self.run_event(host, event);
                }
            }
            HostsEvent::Failed { host, failure } => {
                self.has_ended(host);
                let why = in_own_name(failure.why.trim_end());
                let name = self.typed(host);
                // A host that refuses its jobs sends complete messages of several lines.
                let gap = if why.contains('\n') { "\n" } else { " " };
                report(format_args!("host {name}: {}:{gap}{why}\n", failure.stage.words()));
            }
            HostsEvent::Idle { host, stage, idle, limit } => {
                let (name, idle, limit) = (self.typed(host), idle.as_secs(), limit.as_secs());
                match stage {
                    HostStage::Run => report(format_args!(
                        "host {name}: its jobs have done no I/O for {idle} s, and another host has ended. fiord waits \
                         {limit} s for them. To fix: press Ctrl-C to have the results now\n"
                    )),
                    stage => report(format_args!(
                        "host {name}: {}: no progress for {idle} s. fiord waits {limit} s for it. To fix: check \
                         whether its file systems and devices respond, or press Ctrl-C to end the run\n",
                        stage.words()
                    )),
                }
            }
            HostsEvent::Overdue { host, longest, limit } => {
                let (name, longest, limit) = (self.typed(host), longest.as_secs(), limit.as_secs());
                report(format_args!(
                    "host {name}: its jobs have not ended, and their run time is {longest} s at most. fiord ends them after \
                     {limit} s. To fix: press Ctrl-C to have the results now\n"
                ));
            }
            HostsEvent::Stopping { signal: Some(signal), .. } => {
                terminating(signal);
            }
            HostsEvent::Stopping { why, signal: None } => {
                report(format_args!("the jobs end on all hosts: {why}\n"));
            }
            HostsEvent::Ready { host } => self.runs(host, true),
            HostsEvent::Ended { host, .. } => self.has_ended(host),
            HostsEvent::Starting { at } => {
                let ahead = at.saturating_sub(Nanos(clock::monotonic()));
                if let Some(exports) = &mut self.exports {
                    exports.begin(Nanos(clock::wall()).saturating_add(ahead));
                }
            }
            HostsEvent::Stage(_) => {}
        }
    }

    fn run_event(&mut self, host: HostIndex, event: Event) {
        if let Some(view) = &mut self.view {
            match event.kind {
                EventKind::Progress(progress) => {
                    return view.run_event(host, EventKind::Progress(progress));
                }
                EventKind::Snapshot(_) | EventKind::Status(_) => {}
                ref kind => view.run_event(host, kind.clone()),
            }
        }
        let event = match event.kind {
            EventKind::Snapshot(_) => return self.export(host, event),
            EventKind::Progress(progress) => return self.progress(host, progress),
            EventKind::Status(report) => return self.status(host, *report),
            EventKind::BadBlock { .. } | EventKind::Warning { .. } => {
                self.export(host, event.clone());
                event.kind
            }
            other => other,
        };
        let errors = |console: &Self, text: &str| complain(&prefixed(console.typed(host), text));
        match &event {
            EventKind::JobEnded { job, pid, failure: Some(failure), .. } => {
                errors(self, &job_failed(job, *pid, failure));
            }
            EventKind::Warning { job, what } => {
                let job = job.as_ref().map(|job| format!("{job}: ")).unwrap_or_default();
                self.notice(host, &message(format_args!("{job}{what}\n")));
            }
            EventKind::BadBlock { job, what } => {
                errors(self, &message(format_args!("job {job}: {what}\n")))
            }
            EventKind::SurvivedError { what } => errors(self, &message(format_args!("{what}\n"))),
            event => {
                let text = header_of(event);
                self.lines(host, &text);
            }
        }
    }

    fn export(&mut self, host: HostIndex, event: Event) {
        if let Some(exports) = &mut self.exports {
            exports.event(host, event);
        }
    }

    /// Shows the progress of all hosts. Each host sends its own at its own time. The line waits up to an interval
    /// until all of them have done so: otherwise the line would mix fresh and stale progress.
    fn progress(&mut self, host: HostIndex, progress: Box<Progress>) {
        if let Some(names) = self.hosts.get_mut(host.get()) {
            // The jobs of the others end at the same time, and their progress is older. The end of this host follows.
            names.is_progress_new = !is_over(&progress);
            names.progress = Some(progress);
        }
        let now = Instant::now();
        let due = *self.next_live.get_or_insert(now);
        let waits = self.hosts.iter().any(|names| names.goes_on && !names.is_progress_new);
        if now < due || waits && now < due + self.live_interval {
            return;
        }
        self.next_live = Some(now + self.live_interval.mul_f64(0.5));
        self.hosts.iter_mut().for_each(|names| names.is_progress_new = false);
        let all = self.hosts.iter().filter_map(|names| names.progress.as_deref());
        self.live.show(&Progress::of_hosts(all));
    }

    fn has_ended(&mut self, host: HostIndex) {
        if let Some(names) = self.hosts.get_mut(host.get()) {
            names.goes_on = false;
        }
        self.runs(host, false);
    }

    fn runs(&mut self, host: HostIndex, runs: bool) {
        if let Some(names) = self.hosts.get_mut(host.get()) {
            names.runs = runs;
        }
        self.report_so_far();
    }

    /// Keeps the report of a host so far.
    fn status(&mut self, host: HostIndex, report: Report) {
        if let Some(names) = self.hosts.get_mut(host.get()) {
            names.report.report = Some(report);
        }
        self.report_so_far();
    }

    /// Prints the reports of the hosts so far, when all that run have sent theirs.
    fn report_so_far(&mut self) {
        let is_missing = |host: &HostNameLines| host.runs && host.report.report.is_none();
        let has_any = self.hosts.iter().any(|host| host.report.report.is_some());
        if !has_any || self.hosts.iter().any(is_missing) {
            return;
        }
        let arrived = self.hosts.iter_mut().filter_map(|host| {
            let report = host.report.report.take()?;
            Some(HostReport { report: Some(report), complete: true, ..host.report.clone() })
        });
        let interim = coordinator::interim(arrived.collect());
        self.write(&interim);
    }

    fn write(&mut self, report: &HostsReport) {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = hosts::write(report, self.formats, &mut bytes);
        self.sink.put(&bytes);
    }

    /// A log of a host is not, or not completely, in a file.
    pub(crate) fn log_failed(&mut self, error: &FetchError) {
        self.failed = true;
        report(format_args!("{error}\n"));
    }

    /// Writes the results. Returns `exit`, or another status if something could not be written.
    /// `stopped`: whether a signal wants the program to end.
    pub(crate) fn finish(
        mut self,
        report: &HostsReport,
        exit: Exit,
        stopped: &dyn Fn() -> bool,
    ) -> Exit {
        // The report appears where the view was.
        self.view = None;
        complain("");
        self.live.end(&self.sink);
        self.write(report);
        let exit = if self.failed && exit == Exit::Success { Exit::Failure } else { exit };
        let exit = self.sink.end(exit);
        let exit = match self.page {
            Some(page) => page.finish(PageResult::Hosts(Box::new(report.clone())), exit),
            None => exit,
        };
        let Some(exports) = self.exports else { return exit };
        for (index, host) in report.hosts.iter().enumerate() {
            let own = host.report.iter().flat_map(|report| &report.extras.findings);
            exports.findings(HostIndex::at(index), own);
        }
        exports.findings_of_all(&report.all.extras.findings);
        exports.end(exit, stopped)
    }

    /// Prints lines of a host for people.
    fn lines(&mut self, host: HostIndex, text: &str) {
        let own = self.hosts.get(host.get()).map_or("", |names| &names.own);
        let text = hosts::introduction(own, text);
        self.header(&text);
    }

    fn header(&mut self, text: &str) {
        if self.formats.wants_header() {
            self.sink.put(plain(text).as_bytes());
        }
    }

    /// Shows a note of a host on a terminal. Its report also contains it.
    fn notice(&self, host: HostIndex, text: &str) {
        let text = prefixed(self.typed(host), text);
        sink::notice(&text, self.formats.wants_header() || self.sink.is_file());
    }

    fn typed(&self, host: HostIndex) -> &str {
        match self.hosts.get(host.get()).map_or("", |names| &names.typed) {
            "" => "localhost",
            name => name,
        }
    }
}

/// Whether no job of a host continues.
fn is_over(progress: &Progress) -> bool {
    let ended = |phase: JobPhase| {
        use JobPhase::{Exited, Failed, Finishing, Killed, Reaped};
        matches!(phase, Finishing | Exited | Reaped | Failed | Killed)
    };
    progress.jobs.iter().all(|job| ended(job.phase))
}

/// Puts the name of the host in front of each line.
fn prefixed(host: &str, text: &str) -> String {
    text.lines().map(|line| format!("<{host}> {line}\n")).collect()
}

/// The messages of a host, which its program begins with `fiord: `, in the name by which this program was called.
fn in_own_name(text: &str) -> String {
    let own = |line: &str| line.strip_prefix("fiord: ").map_or_else(|| line.to_owned(), message);
    text.lines().map(own).collect::<Vec<_>>().join("\n")
}
