//! Runs jobs on this machine, from the arguments to the exit status.

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fiord_app::signals::FromSignals;
use fiord_app::status_file::StatusFile;
use fiord_app::{Prepared, RunSettings};
use fiord_job::command::{Action, Findings, Invocation};
use fiord_job::diagnostic::Diagnostic;
use fiord_job::load::MachineLoader;
use fiord_plan::Plan;
use fiord_plan::machine::system::SystemFacts;
use fiord_report::output::{self, Formats};
use fiord_report::unit_work;
use fiord_run::events::{Event, EventKind, EventSender, observe};
use fiord_sys::{host, terminal};
use fiord_types::HostIndex;
use fiord_types::program::{self, message};

use crate::checksums;
use crate::console::{Console, formats, wants_progress};
use crate::cpu_clocks;
use crate::debug::Debug;
use crate::exit::Exit;
use crate::exports::Exports;
use crate::findings;
use crate::full_screen::{self, ScreenView, WithEndWish};
use crate::help;
use crate::page_file::PageFile;
use crate::server;
use crate::sink::{self, Sink, complain, refuse, report};
use crate::subcommand::{self, definition};

/// Runs a command line without hosts. `args` lacks the name of the program.
pub(crate) fn run(args: &[String]) -> Exit {
    let invocation = match fiord_job::invocation(args, &mut MachineLoader) {
        Ok(invocation) => invocation,
        Err(errors) => {
            let exit = refuse(&errors);
            if let Some(name) = args.first().and_then(|first| definition::meant(first)) {
                complain(&format!("  help: did you mean `fiord {name}`?\n"));
            }
            return exit;
        }
    };
    act(&invocation, args)
}

/// Does what an invocation asks for.
pub(crate) fn act(invocation: &Invocation, args: &[String]) -> Exit {
    match &invocation.action {
        Action::Print(text) => sink::print(text),
        Action::MeasureChecksums(methods) => checksums::measure(methods),
        Action::MeasureUnitWork => sink::print(&unit_work(&fiord_run::idleness::unit_work())),
        Action::CompareCpuClocks => cpu_clocks::compare(),
        Action::InflateLog(path) => subcommand::inflate(path),
        Action::ShowCmd(text) => show(text, invocation.general.output.as_deref()),
        Action::Help => sink::print(&help::page()),
        Action::NoJobs => nothing_to_do(args),
        Action::Serve => server::run(&invocation.general),
        Action::MergeTraces => merge_traces(invocation),
        Action::ParseOnly | Action::Run => match Prepared::of(invocation) {
            Ok(jobs) => prepared(invocation, &jobs),
            Err(errors) => {
                if invocation.action == Action::Run {
                    document_refusal(invocation, &errors);
                }
                refuse(&errors)
            }
        },
    }
}

/// Writes the formats for programs of a run that is refused, as fio does: its jobs and their errors.
fn document_refusal(invocation: &Invocation, errors: &[Diagnostic]) {
    let formats = Formats { normal: false, ..formats(&invocation.general) };
    if !formats.json && !formats.json_plus && !formats.terse {
        return;
    }
    // A file that cannot be opened is not worth another message: the run is refused anyway.
    let Ok(mut sink) = Sink::open(invocation.general.output.as_deref()) else { return };
    let mut bytes = Vec::new();
    // Writing to memory cannot fail.
    let _ = output::write(&fiord_app::refused(invocation, errors), formats, &mut bytes);
    sink.put(&bytes);
    sink.end(Exit::Failure);
}

/// Opens the destination of the results and of `--debug`.
fn results(invocation: &Invocation) -> Result<(Sink, Option<Debug>), Exit> {
    let general = &invocation.general;
    let failed = |complaint: String| {
        complain(&complaint);
        Exit::Failure
    };
    let open = |path| Sink::open(path).map_err(|e| failed(message(format_args!("{e}\n"))));
    let sink = open(general.output.as_deref())?;
    let twin = sink.twin().map_err(|e| failed(message(format_args!("output file: {e}\n"))))?;
    Ok((sink, Debug::begin(&general.debug, twin)))
}

/// Writes a text to the destination of the results.
fn show(text: &str, output: Option<&str>) -> Exit {
    let mut sink = match Sink::open(output) {
        Ok(sink) => sink,
        Err(complaint) => {
            report(format_args!("{complaint}\n"));
            return Exit::Failure;
        }
    };
    sink.put(text.as_bytes());
    sink.end(Exit::Success)
}

/// Reports that there is no job. Without arguments it also says what to do next; called as `fio`, it prints the help, as fio
/// does. A script that passes an empty job file gets nothing on standard output.
pub(crate) fn nothing_to_do(args: &[String]) -> Exit {
    report("No job(s) defined\n");
    if args.is_empty() {
        let text = if program::name() == "fio" { help::page() } else { help::first_steps() };
        sink::print(&text);
    } else {
        complain(
            "  To fix: begin a job with a line [NAME] in a job file, or with --name=NAME; \
             `fiord --help` lists the options\n",
        );
    }
    Exit::Failure
}

/// Writes the merged block traces of the jobs (`--merge-blktrace-only`).
fn merge_traces(invocation: &Invocation) -> Exit {
    let merges = match fiord_plan::merges(&invocation.jobs, &SystemFacts) {
        Ok(merges) => merges,
        Err(errors) => return refuse(&errors),
    };
    for merge in &merges {
        if let Err(error) = fiord_run::write_merged(merge) {
            report(format_args!("{error}\n"));
            return Exit::Failure;
        }
    }
    Exit::Success
}

/// Runs valid jobs, or only checks them with `--parse-only`.
fn prepared(invocation: &Invocation, jobs: &Prepared<'_>) -> Exit {
    let color = terminal::is_terminal(io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    let notes = findings::rendered(&jobs.notes(), color);
    if invocation.action == Action::ParseOnly {
        if !jobs.unavailable().is_empty() {
            return refuse(jobs.unavailable());
        }
        sink::notice(&notes, true);
        return parsed(invocation, jobs.plan());
    }
    execute(invocation, jobs, &notes)
}

/// Prints the `--debug` lines of jobs that are only parsed.
fn parsed(invocation: &Invocation, plan: &Plan) -> Exit {
    if invocation.general.debug.is_empty() {
        return Exit::Success;
    }
    match results(invocation) {
        Ok((sink, debug)) => {
            debug.iter().for_each(|debug| debug.read(invocation, plan));
            sink.end(Exit::Success)
        }
        Err(exit) => exit,
    }
}

/// Runs a plan and writes the results. Shows `notes` on a terminal before the run.
fn execute(invocation: &Invocation, jobs: &Prepared<'_>, notes: &str) -> Exit {
    let general = &invocation.general;
    let view_terminal = match full_screen::terminal(general) {
        Ok(found) => found,
        Err(exit) => return exit,
    };
    let mut interrupts = match FromSignals::install() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            report(format_args!("cannot install signal handlers: {error}\n"));
            return Exit::Failure;
        }
    };
    let (sink, debug) = match results(invocation) {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    let page = match PageFile::open(general) {
        Ok(page) => page,
        Err(exit) => return exit,
    };
    let mut exports = match Exports::open(general, &[host::name()]) {
        Ok(exports) => exports,
        Err(exit) => return exit,
    };
    debug.iter().for_each(|debug| debug.read(invocation, jobs.plan()));
    let settings = RunSettings {
        snapshots: exports.as_ref().map(|_| general.export.sample_interval()),
        progress: wants_progress(general).then_some(general.eta_interval.max(1_000_000)),
        latencies: general.live,
        debug: debug.as_ref().map(Debug::output),
        ..RunSettings::default()
    };
    let mut console = Console::new(sink, page, general, debug);
    console.notice(notes);
    console.introduce(&jobs.introduction());
    let wish = view_terminal.is_some().then(Arc::<AtomicBool>::default);
    let open = |found| ScreenView::open(found, jobs, wish.clone().unwrap_or_default());
    let view = match view_terminal.map(open).transpose() {
        Ok(view) => view,
        Err(error) => return full_screen::refused(&error),
    };
    console.set_view(view);
    interrupts.report_on_second();
    let stopped = interrupts.stop_asked();
    let mut interrupts = StatusFile::and(&mut interrupts);
    let mut interrupts = WithEndWish::and(&mut interrupts, wish);
    if let Some(exports) = &exports {
        exports.findings(HostIndex(0), jobs.notes().findings());
    }
    let run = |events: &EventSender| jobs.run(settings, events, &mut interrupts, &stopped);
    let observer = |event: Event| deliver(event, &mut console, exports.as_mut());
    let outcome = match observe(observer, run) {
        Ok(outcome) => outcome,
        Err(error) => {
            let why = "cannot create the thread that prints. To fix: raise the limit on threads (ulimit -u, pids.max)";
            report(format_args!("{why}: {error}\n"));
            return Exit::Failure;
        }
    };
    for (name, error) in &outcome.stuck {
        report(format_args!("job {name}: {error}\n"));
    }
    let end = outcome.end(general.findings == Findings::Fatal);
    let exit = console.finish(&outcome.report, end.into());
    let Some(exports) = exports else { return exit };
    exports.findings(HostIndex(0), &outcome.report.extras.findings);
    exports.end(exit, &stopped)
}

/// Gives an event to those who want it.
fn deliver(event: Event, console: &mut Console, exports: Option<&mut Exports>) {
    match (&event.kind, exports) {
        (EventKind::Snapshot(_), Some(exports)) => exports.event(HostIndex(0), event),
        (EventKind::Progress(_), _) | (_, None) => console.event(event.kind),
        (_, Some(exports)) => {
            exports.event(HostIndex(0), event.clone());
            console.event(event.kind);
        }
    }
}
