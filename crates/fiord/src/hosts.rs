//! Runs jobs on many hosts and prints what they report.
//!
//! The thread that talks to the hosts also sends the heartbeats, so it neither prints nor writes files: it hands events and
//! parts of logs to a thread that prints and writes them, and parts of files that hosts wait for to another one.

mod console;

mod trigger;
mod user_side;
mod view;

use std::collections::HashMap;
use std::error::Error;
use std::sync::mpsc;
use std::thread;

use fiord_app::coordinator::keeping::KeptFiles;
use fiord_app::coordinator::logs::FetchedLogs;
use fiord_app::coordinator::{self, HostsRun};
use fiord_app::signals::FromSignals;
use fiord_fabric::contract::Fabric;
use fiord_fabric::drive::drive;
use fiord_fabric::hub::Waker;
use fiord_fabric::message::Ended;
use fiord_fabric::outcome::HostsOutcome;
use fiord_job::command::hosts::HostsCommand;
use fiord_job::command::{Action, Findings, GeneralOptions, Invocation};
use fiord_job::diagnostic::Diagnostic;
use fiord_job::load::MachineLoader;
use fiord_stat::finding::{Finding, Severity};
use fiord_stat::hosts::HostsReport;
use fiord_types::{HostIndex, Nanos};

use self::console::HostsConsole;
use self::trigger::LocalTrigger;
use self::user_side::{Answers, HandedOver, UserSide};
use self::view::HostsView;
use crate::console::wants_progress;
use crate::exit::Exit;
use crate::exports::Exports;
use crate::page_file::PageFile;
use crate::sink::{self, Sink, report};
use crate::{full_screen, invoke};

/// Runs a command line that names hosts.
pub(crate) fn run(command: &HostsCommand) -> Exit {
    run_over(command, &mut NamedHosts)
}

/// Runs a command line on hosts that `connector` connects.
pub(crate) fn run_over(command: &HostsCommand, connector: &mut dyn Connector) -> Exit {
    let invocation = match fiord_job::invocation(&command.rest, &mut MachineLoader) {
        Ok(invocation) => invocation,
        Err(errors) => {
            let NotRun { exit, why } = NotRun::refused(&command.rest_as_typed(errors));
            connector.dismiss(None, &why);
            return exit;
        }
    };
    match invocation.action {
        Action::Run | Action::NoJobs | Action::ParseOnly => jobs(command, &invocation, connector)
            .unwrap_or_else(|NotRun { exit, why }| {
                connector.dismiss(Some(&invocation.general), &why);
                exit
            }),
        _ => invoke::act(&invocation, &command.rest),
    }
}

/// The jobs do not run. The user knows why.
struct NotRun {
    exit: Exit,
    /// The reason in one line.
    why: String,
}

impl NotRun {
    /// Prints what is wrong with the command line or the jobs.
    fn refused(errors: &[Diagnostic]) -> NotRun {
        let first = errors.first().map_or("", |error| error.what.as_str());
        let more = match errors.len() {
            0 | 1 => String::new(),
            all => format!(" (and {} more)", all - 1),
        };
        NotRun { why: format!("{first}{more}"), exit: sink::refuse(errors) }
    }

    /// Prints a complaint of one line.
    fn failed(complaint: &str) -> NotRun {
        report(format_args!("{complaint}\n"));
        NotRun { exit: Exit::Failure, why: complaint.to_owned() }
    }
}

fn jobs(
    command: &HostsCommand,
    invocation: &Invocation,
    connector: &mut dyn Connector,
) -> Result<Exit, NotRun> {
    let general = &invocation.general;
    let progress = wants_progress(general).then_some(Nanos(general.eta_interval.max(1_000_000)));
    let run = match HostsRun::of(command, general, progress, &mut MachineLoader) {
        Ok(Some(run)) => run,
        Ok(None) => {
            let exit = invoke::nothing_to_do(&command.rest);
            return Err(NotRun { exit, why: "there is no job".to_owned() });
        }
        Err(errors) => return Err(NotRun::refused(&errors)),
    };
    match invocation.action {
        Action::ParseOnly => Ok(Exit::Success),
        _ => execute(run, general, connector),
    }
}

/// Connects the hosts of a run.
pub(crate) trait Connector {
    /// Connects the hosts, which can get other names then. The fabric watches the signals.
    ///
    /// # Errors
    /// No host can be connected. The connector has told hosts that wait for this process.
    fn connect(
        &mut self,
        run: &mut HostsRun,
        signals: &mut FromSignals,
        general: &GeneralOptions,
    ) -> Result<ConnectedHosts, Box<dyn Error>>;

    /// The jobs do not run, for this reason. Hosts that wait for this process end. `general` are the options of this
    /// process, unless they are wrong.
    fn dismiss(&mut self, general: Option<&GeneralOptions>, why: &str);
}

/// The connections to all hosts.
pub(crate) struct ConnectedHosts {
    pub(crate) fabric: Box<dyn Fabric + Send>,
    /// Makes [`Fabric::receive`] return.
    pub(crate) waker: Waker,
}

/// The hosts that the command line names.
struct NamedHosts;

impl Connector for NamedHosts {
    fn connect(
        &mut self,
        run: &mut HostsRun,
        signals: &mut FromSignals,
        general: &GeneralOptions,
    ) -> Result<ConnectedHosts, Box<dyn Error>> {
        let mut hub = run.reach(&general.hosts)?;
        hub.watch_signals(signals.source());
        let waker = hub.waker();
        Ok(ConnectedHosts { fabric: Box::new(hub), waker })
    }

    fn dismiss(&mut self, _general: Option<&GeneralOptions>, _why: &str) {
        // No host waits: the coordinator would have reached them.
    }
}

fn execute(
    mut run: HostsRun,
    general: &GeneralOptions,
    connector: &mut dyn Connector,
) -> Result<Exit, NotRun> {
    let terminal = full_screen::terminal(general)
        .map_err(|exit| NotRun { exit, why: "there is no terminal for --live".to_owned() })?;
    // Before the signal handlers: opening a pipe can wait, and then Ctrl-C ends the program.
    let sink =
        Sink::open(general.output.as_deref()).map_err(|why| NotRun::failed(&why.to_string()))?;
    let page = PageFile::of(general).map_err(|why| NotRun::failed(&why.to_string()))?;
    let mut signals = FromSignals::install()
        .map_err(|error| NotRun::failed(&format!("cannot install signal handlers: {error}")))?;
    let mut hosts = match connector.connect(&mut run, &mut signals, general) {
        Ok(hosts) => hosts,
        Err(error) => {
            report(format_args!("cannot connect to hosts: {error}\n"));
            return Ok(Exit::Failure);
        }
    };
    // Ranks have learned their names.
    let ready = run
        .link()
        .and_then(|()| run.check_logs_of_ranks())
        .and_then(|()| run.read_states(general.aux_path.as_deref()).map_err(|wrong| vec![wrong]));
    if let Err(errors) = ready {
        let why = errors.first().map_or("", |error| &error.what);
        for host in HostIndex(0).to(HostIndex(hosts.fabric.size())) {
            hosts.fabric.refuse(host, why);
        }
        return Ok(sink::refuse(&errors));
    }
    let names: Vec<String> = run.order.hosts.iter().map(|host| host.name.clone()).collect();
    let exports = match Exports::open(general, &names) {
        Ok(exports) => exports,
        Err(exit) => return Ok(exit),
    };
    signals.report_on_second();
    let stopped = signals.stop_asked();
    let view = terminal.map(|terminal| HostsView::new(terminal, names));
    let mut console = HostsConsole::new(sink, page, general, &run.order, exports, view);
    let outcome = coordinate(hosts, &run, signals, general, &mut console);
    let report = coordinator::report(outcome, general);
    Ok(console.finish(&report, exit(&report, general), &stopped))
}

/// Runs the jobs on the hosts. Other threads print and write meanwhile.
fn coordinate(
    ConnectedHosts { mut fabric, waker }: ConnectedHosts,
    run: &HostsRun,
    signals: FromSignals,
    general: &GeneralOptions,
    console: &mut HostsConsole,
) -> HostsOutcome {
    let mut logs = FetchedLogs::of(&run.order);
    let mut trigger = LocalTrigger::new(general, run.order.hosts.len());
    let answers = Answers::waking(waker);
    let mut failed_logs = HashMap::new();
    let outcome = thread::scope(|scope| {
        let (parts, arriving) = mpsc::channel();
        let finish = console.end_wish();
        let (mut user_side, receiver) =
            UserSide::new(signals, general, parts, answers.clone(), finish);
        // Both receivers end when the driver's thread drops their senders.
        let mut kept = KeptFiles::of(&run.order, general.aux_path.as_deref());
        let kept_answers = answers.clone();
        scope.spawn(move || {
            for part in arriving {
                let failed = kept.keep(&part).err().map(|error| error.to_string());
                kept_answers.add(part.host, part.number, failed);
            }
        });
        let driver = scope.spawn(move || drive(&mut *fabric, &run.order, &mut user_side));
        for shown in receiver {
            match shown {
                HandedOver::Event(event) => {
                    trigger.event(&event);
                    console.event(event);
                }
                HandedOver::Fired => trigger.fired(),
                HandedOver::Complaint(complaint) => report(complaint),
                HandedOver::Log { host, name, number, offset, bytes, last } => {
                    if let Err(error) = logs.part(host, &name, offset, &bytes, last) {
                        console.log_failed(&error);
                        failed_logs.insert((host, number), error.to_string());
                    }
                    if last {
                        answers.add(host, number, failed_logs.remove(&(host, number)));
                    }
                }
            }
        }
        let outcome = driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        trigger.end(outcome.signal.is_some());
        outcome
    });
    for (index, host) in (0..).map(HostIndex).zip(&outcome.hosts) {
        // A host with an error may not have come so far, and the user sees the error.
        let is_whole = |ended: &Ended| ended.errors.is_empty() && ended.signal.is_none();
        if host.failure.is_none() && host.ended.as_ref().is_some_and(is_whole) {
            logs.missing(index).iter().for_each(|error| console.log_failed(error));
        }
    }
    outcome
}

/// The exit status of a run.
fn exit(report: &HostsReport, general: &GeneralOptions) -> Exit {
    let statuses = || report.hosts.iter().filter_map(|host| host.status);
    let failed: usize =
        statuses().filter(|status| (1..128).contains(status)).map(usize::from).sum();
    let invalid = |finding: &Finding| finding.severity == Severity::Invalid;
    let is_lost = !report.refused && report.hosts.iter().any(|host| host.failure.is_some());
    let fatal = general.findings == Findings::Fatal;
    match failed {
        // Results of a host are missing, whether or not the user ended the others. A host that was only not reached yet
        // when the user ended the run has no failure.
        _ if is_lost => Exit::Partial,
        _ if report.signal.is_some() => Exit::Signalled,
        _ if report.refused => Exit::Failure,
        _ if report.is_partial() => Exit::Partial,
        0 if fatal && report.all.extras.findings.iter().any(invalid) => Exit::Invalid,
        0 => match statuses().max() {
            Some(status) if status == Exit::Invalid.status() => Exit::Invalid,
            Some(status) if status == Exit::Unverified.status() => Exit::Unverified,
            Some(0) | None => Exit::Success,
            Some(_) => Exit::Failure,
        },
        failed => Exit::Failed(failed),
    }
}
