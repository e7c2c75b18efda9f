//! Prints output while jobs run.
//!
//! Results and the lines around them go to the sink, the live line to standard output, and errors
//! to standard error. Notes are in the report; a terminal also shows them before the run. In
//! formats for programs, only the document is written.

use std::io::{self, Write};

use fiord_app::introduction::Introduction;
use fiord_job::command::{Eta, Format, GeneralOptions};
use fiord_report::output::{self, Formats};
use fiord_report::{TerseVersion, header, live};
use fiord_run::events::{EventKind, JobFailure};
use fiord_stat::report::Report;
use fiord_sys::terminal;
use fiord_types::Nanos;

use crate::debug::Debug;
use crate::exit::Exit;
use crate::sink::{self, Sink, complain};

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
    }
}

/// Whether to show a live line. Never if all requested formats are for programs.
pub(crate) fn wants_live_line(general: &GeneralOptions) -> bool {
    let shown = match general.eta {
        Eta::Always => true,
        Eta::Never => false,
        Eta::Auto => terminal::is_terminal(io::stdout()) && terminal::is_foreground(io::stdout()),
    };
    shown && general.formats.contains(&Format::Normal)
}

/// Prints the events of a run.
pub(crate) struct Console {
    sink: Sink,
    formats: Formats,
    debug: Option<Debug>,
    /// Time between new lines of the live line.
    newline: Option<Nanos>,
    /// When the last new line came, from the beginning of the run.
    last_newline: Nanos,
    /// Length of the live line on the terminal.
    shown: usize,
    live_line_used: bool,
    /// What to print when a job starts, by the index of the job.
    starts: Vec<String>,
}

impl Console {
    /// Creates a console for an invocation.
    pub(crate) fn new(sink: Sink, general: &GeneralOptions, debug: Option<Debug>) -> Self {
        Console {
            sink,
            formats: formats(general),
            debug,
            newline: general.eta_newline.map(|ns| Nanos::from_secs((ns / 1_000_000_000).max(1))),
            last_newline: Nanos::ZERO,
            shown: 0,
            live_line_used: false,
            starts: Vec::new(),
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

    /// Prints lines for people; omitted in formats for programs.
    fn header(&mut self, text: &str) {
        if self.formats.wants_header() {
            self.sink.put(text.as_bytes());
        }
    }

    /// Shows a note on a terminal. The report also contains it.
    pub(crate) fn notice(&self, text: &str) {
        sink::notice(text, self.formats.wants_header() || self.sink.is_file());
    }

    /// Writes the results. Returns `exit`, or another status if the results could not be written.
    pub(crate) fn finish(mut self, report: &Report, exit: Exit) -> Exit {
        if self.live_line_used && self.sink.is_file() {
            to_terminal("\n");
        }
        self.report(report);
        self.sink.end(exit)
    }

    fn live_line(&mut self, progress: &fiord_stat::progress::Progress) {
        let line = live::live_line(progress);
        let mut text = live::padded(&line, self.shown);
        text.push('\r');
        self.shown = line.len();
        if let Some(every) = self.newline
            && progress.elapsed >= self.last_newline.saturating_add(every)
        {
            self.last_newline = progress.elapsed;
            text.push('\n');
            self.shown = 0;
        }
        self.live_line_used = true;
        to_terminal(&text);
    }

    /// Writes a report in all formats; the sink makes it visible at once.
    fn report(&mut self, report: &Report) {
        let mut bytes = Vec::new();
        // Writing to memory cannot fail.
        let _ = output::write(report, self.formats, &mut bytes);
        self.sink.put(&bytes);
    }

    /// Prints an event of the run.
    pub(crate) fn event(&mut self, event: &EventKind) {
        if let Some(debug) = &self.debug {
            debug.event(event);
        }
        match event {
            EventKind::LayingOut { job, files, bytes } => {
                self.header(&header::laying_out(job, *files as u64, *bytes));
            }
            EventKind::Command { job, when, output } => {
                let (when, output) = (when.word(), output.display());
                self.header(&format!("{job} : Saving output of {when} in {output}\n"));
            }
            EventKind::LaidOut => {}
            EventKind::JobStarted { index, .. } => {
                let line = self.starts.get_mut(*index).map(std::mem::take);
                self.header(&line.unwrap_or_default());
            }
            EventKind::JobEnded { job, pid, failure, .. } => {
                if let Some(failure) = failure {
                    complain(&failed(job, *pid, failure));
                }
            }
            EventKind::Warning { job: None, what } => self.notice(&format!("fio: {what}\n")),
            EventKind::Warning { job: Some(job), what } => {
                self.notice(&format!("fio: {job}: {what}\n"));
            }
            EventKind::Progress(progress) => self.live_line(progress),
            EventKind::Status(report) => self.report(report),
            EventKind::BadBlock { job, what } => complain(&format!("fio: job {job}: {what}\n")),
            EventKind::SurvivedError { what } => complain(&format!("fio: {what}\n")),
            EventKind::Triggered { cause, states, command } => {
                self.header(&triggered(cause.in_words(), *states, command.as_deref()));
            }
            EventKind::Terminating { signal } => {
                complain(&format!("\nfio: terminating on signal {signal}\n"));
            }
        }
    }
}

/// Formats the failure of a job. The first line has the parts that scripts search for (`err=28/`,
/// `func=`, `error=`); the second line says where it failed and what to do.
fn failed(job: &str, pid: u32, failure: &JobFailure) -> String {
    let JobFailure { errno, file, operation, meaning, message } = failure;
    format!(
        "fio: pid={pid}, err={}/file:{file}, func={operation}, error={meaning}\n  \
         job {job}: {message}\n",
        errno.raw()
    )
}

/// Formats what a trigger does.
fn triggered(cause: &str, states: usize, command: Option<&str>) -> String {
    let plural = if states == 1 { "" } else { "s" };
    let command = command.map(|line| format!(", runs `{line}`")).unwrap_or_default();
    format!(
        "fio: trigger: {cause}: stopped the jobs, saved {states} verify state{plural}{command}\n"
    )
}

/// Writes the live line and ignores errors, because it is only decoration.
fn to_terminal(text: &str) {
    let mut out = io::stdout();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
