//! Runs the program, from the arguments to the exit status.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use fiord_doctor::Typed;
use fiord_job::command::{Action, Findings, GeneralOptions, Invocation};
use fiord_job::diagnostic::{self, Diagnostic};
use fiord_job::load::Machine;
use fiord_plan::{Plan, Resolved, resolve_invocation};
use fiord_run::events::{Event, Observer};
use fiord_run::{Interrupt, Interrupts, RunOptions, RunResult};
use fiord_stat::finding::{Finding, Severity};
use fiord_sys::{host, terminal};

use crate::console::{Console, wants_live_line};
use crate::debug::Debug;
use crate::exit::Exit;
use crate::findings::{self, Surveyor};
use crate::headers;
use crate::interrupts::FromSignals;
use crate::sink::{self, Sink, complain};
use crate::status_file::StatusFile;
use crate::subcommand;

/// Runs the program with the arguments, without the name of the program.
pub(crate) fn run(args: &[String]) -> Exit {
    let invocation = match fiord_job::invocation(args, &mut Machine) {
        Ok(invocation) => invocation,
        Err(errors) => {
            let exit = refuse(&errors);
            if let Some(name) = args.first().and_then(|first| subcommand::meant(first)) {
                complain(&format!("  help: did you mean `fiord {name}`?\n"));
            }
            return exit;
        }
    };
    match &invocation.action {
        Action::Print(text) => sink::print(text),
        Action::ShowCmd(text) => show(text, invocation.general.output.as_deref()),
        Action::NoJobs(help) => nothing_to_do(args, help),
        Action::ParseOnly | Action::Run => {
            match resolve_invocation(&invocation, &fiord_plan::machine::system::Machine) {
                Ok(resolved) => resolved_run(&invocation, resolved),
                Err(errors) => refuse(&errors),
            }
        }
    }
}

/// Opens the destination of the results and of `--debug`.
fn results(invocation: &Invocation) -> Result<(Sink, Option<Debug>), Exit> {
    let general = &invocation.general;
    let failed = |complaint: String| {
        complain(&complaint);
        Exit::Failure
    };
    let open = |path| Sink::open(path).map_err(|e| failed(format!("{e}\n")));
    let sink = open(general.output.as_deref())?;
    let twin = sink.twin().map_err(|e| failed(format!("fio: output file: {e}\n")))?;
    Ok((sink, Debug::begin(&general.debug, twin)))
}

/// Writes a text to the destination of the results.
fn show(text: &str, output: Option<&str>) -> Exit {
    let mut sink = match Sink::open(output) {
        Ok(sink) => sink,
        Err(complaint) => {
            complain(&format!("{complaint}\n"));
            return Exit::Failure;
        }
    };
    sink.put(text.as_bytes());
    sink.end(Exit::Success)
}

/// Reports that there is no job. Without arguments it also prints the help. A script that passes an
/// empty job file gets nothing on standard output.
fn nothing_to_do(args: &[String], help: &str) -> Exit {
    complain("fio: No job(s) defined\n");
    if args.is_empty() {
        sink::print(help);
    } else {
        complain(
            "  help: a job begins with a line [NAME] in a job file, or with --name=NAME; \
             `fiord --help` lists the options\n",
        );
    }
    Exit::Failure
}

/// Prints errors of jobs. No target was touched.
fn refuse(errors: &[Diagnostic]) -> Exit {
    let color = terminal::is_terminal(io::stderr()) && std::env::var_os("NO_COLOR").is_none();
    complain(&diagnostic::render(errors, color));
    Exit::Failure
}

/// Runs valid jobs, or only checks them with `--parse-only`.
fn resolved_run(invocation: &Invocation, resolved: Resolved) -> Exit {
    let Resolved { plan, warnings } = resolved;
    let typed = Typed { specs: &invocation.jobs, notes: &warnings };
    let notes = match invocation.general.findings {
        Findings::Off => String::new(),
        Findings::On | Findings::Fatal => {
            let color =
                terminal::is_terminal(io::stderr()) && std::env::var_os("NO_COLOR").is_none();
            findings::rendered(&fiord_doctor::notes(&plan, typed), color)
        }
    };
    if invocation.action == Action::ParseOnly {
        sink::notice(&notes, true);
        return parsed(invocation, &plan);
    }
    execute(invocation, plan, typed, &notes)
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
fn execute(invocation: &Invocation, plan: Plan, typed: Typed<'_>, notes: &str) -> Exit {
    let general = &invocation.general;
    let mut interrupts = match FromSignals::install() {
        Ok(interrupts) => interrupts,
        Err(error) => {
            complain(&format!("fio: cannot install signal handlers: {error}\n"));
            return Exit::Failure;
        }
    };
    let (sink, debug) = match results(invocation) {
        Ok(opened) => opened,
        Err(exit) => return exit,
    };
    debug.iter().for_each(|debug| debug.read(invocation, &plan));
    let output = debug.as_ref().map(Debug::output);
    let mut console = Console::new(sink, general, debug);
    let version = fiord_job::version();
    console.notice(notes);
    console.header(&headers::text(&plan, &invocation.jobs, &version));
    let options = RunOptions { debug: output, ..options(general, version) };
    let plan = Arc::new(plan);
    let wanted = general.findings != Findings::Off;
    interrupts.report_on_second();
    let stopped = interrupts.stop_asked();
    let mut surveyor = Surveyor::new(&plan, &mut console, &stopped, wanted);
    let mut heard = StatusFile::and(&mut interrupts);
    let mut result = fiord_run::run(Arc::clone(&plan), &options, &mut surveyor, &mut heard);
    let before = surveyor.before();
    if general.ceiling && result.signal.is_none() {
        fiord_run::ceiling::measure(&plan, &options, &mut result.report);
    }
    // A survey would hang on the same files as the run.
    if wanted && result.stuck.is_empty() {
        findings::put(&plan, typed, before.as_ref(), &stopped, &mut result.report);
    }
    // A signal after the run stops the collection of findings.
    if result.signal.is_none()
        && let Some(Interrupt::End(signal)) = interrupts.next()
    {
        result.signal = Some(signal);
        console.event(&Event::Terminating { signal });
    }
    let exit = judge(&plan, &result, general.findings);
    console.finish(&result.report, exit)
}

fn options(general: &GeneralOptions, version: String) -> RunOptions {
    RunOptions {
        progress: wants_live_line(general).then_some(general.eta_interval.max(1_000_000)),
        status: general.status_interval.filter(|ns| *ns > 0),
        aux_path: general.aux_path.as_ref().map_or_else(|| PathBuf::from("."), PathBuf::from),
        version,
        utc_offset_s: host::utc_offset(host::wall_time() / 1_000_000_000),
        debug: None,
    }
}

/// Returns the exit status of a run.
fn judge(plan: &Plan, result: &RunResult, findings: Findings) -> Exit {
    let invalid = |f: &Finding| f.severity == Severity::Invalid;
    for (index, error) in &result.stuck {
        let name = plan.jobs.get(*index).map_or("", |job| &job.identity.name);
        complain(&format!("fio: job {name}: {error}\n"));
    }
    if result.signal.is_some() {
        Exit::Signalled
    } else {
        match result.errors.len() + result.stuck.len() {
            0 if findings == Findings::Fatal
                && result.report.extras.findings.iter().any(invalid) =>
            {
                Exit::Invalid
            }
            0 => Exit::Success,
            failed => Exit::Failed(failed),
        }
    }
}
