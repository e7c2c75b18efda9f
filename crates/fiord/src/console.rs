//! Prints output while jobs run.
//!
//! Results and the lines around them go to the sink, the live line to standard output, and errors
//! to standard error. Notes are in the report; a terminal also shows them before the run. In
//! formats for programs, only the document is written.

use std::io;

use fiord_app::introduction::Introduction;
use fiord_html::result::PageResult;
use fiord_job::command::{Eta, Format, GeneralOptions};
use fiord_report::output::{self, Formats};
use fiord_report::{TerseVersion, header, live};
use fiord_run::events::{EventKind, JobFailure};
use fiord_stat::report::{NumberStyle, Report};
use fiord_sys::terminal;
use fiord_types::program::message;
use fiord_types::{plain, plural};

use crate::debug::Debug;
use crate::exit::Exit;
use crate::full_screen::ScreenView;
use crate::live_line::LiveLine;
use crate::page_file::PageFile;
use crate::sink::{self, Sink, complain, report};

/// Returns the requested output formats.
pub(crate) fn formats(general: &GeneralOptions) -> Formats {
    let has = |format| general.formats.contains(&format);
    Formats {
        normal: has(Format::Normal),
        json: has(Format::Json),
        json_plus: has(Format::JsonPlus),
        terse: has(Format::Terse),
        terse_version: match general.terse_version {
            2 => TerseVersion::V2,
            4 => TerseVersion::V4,
            5 => TerseVersion::V5,
            _ => TerseVersion::V3,
        },
        columns: None,
    }
}

/// Whether to show a live line. Never if all requested formats are for programs, or if a series takes standard output.
pub(crate) fn wants_live_line(general: &GeneralOptions) -> bool {
    if general.export.takes_standard_output() {
        return false;
    }
    let shown = match general.eta {
        Eta::Always => true,
        Eta::Never => false,
        Eta::Auto => terminal::is_terminal(io::stdout()) && terminal::is_foreground(io::stdout()),
    };
    shown && general.formats.contains(&Format::Normal)
}

/// Whether an observer wants to know how far the run is.
pub(crate) fn wants_progress(general: &GeneralOptions) -> bool {
    general.live || wants_live_line(general)
}

/// Prints the events of a run.
pub(crate) struct Console {
    sink: Sink,
    /// Where the page of `--html` goes.
    page: Option<PageFile>,
    formats: Formats,
    debug: Option<Debug>,
    live: LiveLine,
    /// With `--live`.
    view: Option<ScreenView>,
    /// What to print when a job starts, by the index of the job.
    starts: Vec<String>,
}

impl Console {
    /// Creates a console for an invocation.
    pub(crate) fn new(
        sink: Sink,
        page: Option<PageFile>,
        general: &GeneralOptions,
        debug: Option<Debug>,
    ) -> Self {
        Console {
            page,
            formats: Formats { columns: sink.columns(), ..formats(general) },
            debug,
            live: LiveLine::new(general),
            view: None,
            starts: Vec::new(),
            sink,
        }
    }

    /// Prints what introduces the jobs.
    pub(crate) fn introduce(&mut self, introduction: &Introduction) {
        let jobs = introduction.jobs.iter();
        let sections = introduction.sections.iter();
        let start = |at: &usize| header::job_started(&introduction.jobs[*at].0);
        self.starts = sections.map(start).collect();
        let mut text: String = jobs.map(|(job, style)| header::job(job, *style)).collect();
        text.push_str(&fiord_job::version());
        text.push('\n');
        text.push_str(&header::starting(introduction.threads, introduction.processes));
        self.header(&text);
    }

    /// Shows the run on the whole screen from now on, if there is a view.
    pub(crate) fn set_view(&mut self, view: Option<ScreenView>) {
        self.view = view;
    }

    /// Prints lines for people; omitted in formats for programs.
    fn header(&mut self, text: &str) {
        if self.formats.wants_header() {
            self.sink.put(plain(text).as_bytes());
        }
    }

    /// Shows a note on a terminal. The report also contains it.
    pub(crate) fn notice(&self, text: &str) {
        sink::notice(text, self.formats.wants_header() || self.sink.is_file());
    }

    /// Writes the results. Returns `exit`, or another status if the results could not be written.
    pub(crate) fn finish(mut self, report: &Report, exit: Exit) -> Exit {
        // The report appears where the view was.
        self.view = None;
        complain("");
        self.live.end(&self.sink);
        self.report(report);
        let exit = self.sink.end(exit);
        match self.page {
            Some(page) => page.finish(PageResult::Run(Box::new(report.clone())), exit),
            None => exit,
        }
    }

    /// Writes a report in all formats; the sink makes it visible at once.
    fn report(&mut self, report: &Report) {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = output::write(report, self.formats, &mut bytes);
        self.sink.put(&bytes);
    }

    /// Prints an event of the run.
    pub(crate) fn event(&mut self, event: EventKind) {
        if let Some(debug) = &self.debug {
            debug.event(&event);
        }
        self.print(&event);
        if let Some(view) = &mut self.view {
            view.event(event);
        }
    }

    /// Prints what an event adds to the streams. While the view covers a stream, that waits.
    fn print(&mut self, event: &EventKind) {
        match event {
            EventKind::LayoutProgress { job, work, done, total, elapsed } => {
                if self.view.is_none() {
                    let style = NumberStyle::default();
                    let (work, sizes) = (work.in_words(), (*done, *total));
                    let line = live::layout_line(job, work, sizes, *elapsed, style);
                    self.live.show_layout(&line);
                }
            }
            EventKind::LaidOut => self.live.clear(),
            EventKind::LayingOut { .. }
            | EventKind::Command { .. }
            | EventKind::Triggered { .. } => {
                self.live.clear();
                self.header(&header_of(event));
            }
            EventKind::JobStarted { index, .. } => {
                let line = self.starts.get_mut(*index).map(std::mem::take);
                self.header(&line.unwrap_or_default());
            }
            EventKind::JobEnded { job, pid, failure, .. } => {
                if let Some(failure) = failure {
                    complain(&job_failed(job, *pid, failure));
                }
            }
            EventKind::Warning { job: None, what } => {
                self.notice(&message(format_args!("{what}\n")))
            }
            EventKind::Warning { job: Some(job), what } => {
                self.notice(&message(format_args!("{job}: {what}\n")));
            }
            EventKind::Progress(progress) => {
                if self.view.is_none() {
                    self.live.show(progress);
                }
            }
            EventKind::Snapshot(_) => {}
            EventKind::Status(report) => self.report(report),
            EventKind::BadBlock { job, what } => report(format_args!("job {job}: {what}\n")),
            EventKind::SurvivedError { what } => report(format_args!("{what}\n")),
            EventKind::Terminating { signal } => {
                terminating(*signal);
            }
        }
    }
}

/// Says that a signal ends the run. The line starts anew, because a live line may be there.
pub(crate) fn terminating(signal: i32) {
    complain(&format!("\n{}", message(format_args!("terminating on signal {signal}\n"))));
}

/// The lines for people that an event adds to the results; empty for most events.
pub(crate) fn header_of(event: &EventKind) -> String {
    match event {
        EventKind::LayingOut { job, files, bytes } => {
            header::laying_out(job, *files as u64, *bytes)
        }
        EventKind::Command { job, when, output } => {
            let (when, output) = (when.word(), output.display());
            format!("{job} : Saving output of {when} in {output}\n")
        }
        EventKind::Triggered { cause, states, command } => {
            triggered(cause.in_words(), *states, command.as_deref())
        }
        _ => String::new(),
    }
}

/// Formats the failure of a job. The first line has the parts that scripts search for (`err=28/`,
/// `func=`, `error=`); the second line says where it failed and what to do.
pub(crate) fn job_failed(job: &str, pid: u32, failure: &JobFailure) -> String {
    let JobFailure { errno, file, operation, meaning, message: what } = failure;
    message(format_args!(
        "pid={pid}, err={}/file:{file}, func={operation}, error={meaning}\n  \
         job {job}: {what}\n",
        errno.raw()
    ))
}

/// Formats what a trigger does.
fn triggered(cause: &str, states: usize, command: Option<&str>) -> String {
    let plural = plural(states);
    let command = command.map(|line| format!(", runs `{line}`")).unwrap_or_default();
    message(format_args!(
        "trigger: {cause}: stopped the jobs, saved {states} verify state{plural}{command}\n"
    ))
}
