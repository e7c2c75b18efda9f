//! Runs jobs on many hosts and prints what they report.
//!
//! The thread that talks to the hosts also sends the heartbeats, so it neither prints nor writes logs: it hands events and
//! parts of logs to the thread that does.

mod console;

use std::error::Error;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;

use fiord_app::coordinator::logs::FetchedLogs;
use fiord_app::coordinator::{self, HostsRun};
use fiord_app::signals::FromSignals;
use fiord_fabric::conductor::{HostsEvent, HostsRequest};
use fiord_fabric::contract::Fabric;
use fiord_fabric::drive::{HostsOutside, drive};
use fiord_fabric::outcome::HostsOutcome;
use fiord_job::command::hosts::HostsCommand;
use fiord_job::command::{Action, Findings, GeneralOptions, Invocation};
use fiord_job::diagnostic::Diagnostic;
use fiord_job::load::MachineLoader;
use fiord_run::{Interrupt, Interrupts};
use fiord_stat::finding::{Finding, Severity};
use fiord_stat::hosts::HostsReport;
use fiord_sys::clock;
use fiord_types::{Bytes, HostIndex, Nanos};

use self::console::HostsConsole;
use crate::console::wants_live_line;
use crate::exit::Exit;
use crate::exports::Exports;
use crate::invoke;
use crate::page_file::PageFile;
use crate::sink::{Sink, report};

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
        NotRun { why: format!("{first}{more}"), exit: invoke::refuse(errors) }
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
    let progress = wants_live_line(general).then_some(Nanos(general.eta_interval.max(1_000_000)));
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
    ) -> Result<HostsFabric, Box<dyn Error>>;

    /// The jobs do not run, for this reason. Hosts that wait for this process end. `general` are the options of this
    /// process, unless they are wrong.
    fn dismiss(&mut self, general: Option<&GeneralOptions>, why: &str);
}

/// The connections to all hosts.
pub(crate) type HostsFabric = Box<dyn Fabric + Send>;

/// The hosts that the command line names.
struct NamedHosts;

impl Connector for NamedHosts {
    fn connect(
        &mut self,
        run: &mut HostsRun,
        signals: &mut FromSignals,
        general: &GeneralOptions,
    ) -> Result<HostsFabric, Box<dyn Error>> {
        let mut hub = run.reach(&general.hosts)?;
        hub.watch_signals(signals.source());
        Ok(Box::new(hub))
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
    // Before the signal handlers: opening a pipe can wait, and then Ctrl-C ends the program.
    let sink =
        Sink::open(general.output.as_deref()).map_err(|why| NotRun::failed(&why.to_string()))?;
    let page = PageFile::of(general).map_err(|why| NotRun::failed(&why.to_string()))?;
    let mut signals = FromSignals::install()
        .map_err(|error| NotRun::failed(&format!("cannot install signal handlers: {error}")))?;
    let mut fabric = match connector.connect(&mut run, &mut signals, general) {
        Ok(fabric) => fabric,
        Err(error) => {
            report(format_args!("cannot connect to hosts: {error}\n"));
            return Ok(Exit::Failure);
        }
    };
    // Ranks have learned their names.
    if let Err(errors) = run.link() {
        return Ok(invoke::refuse(&errors));
    }
    let names: Vec<String> = run.order.hosts.iter().map(|host| host.name.clone()).collect();
    let exports = match Exports::open(general, &names) {
        Ok(exports) => exports,
        Err(exit) => return Ok(exit),
    };
    signals.report_on_second();
    let stopped = signals.stop_asked();
    let mut console = HostsConsole::new((sink, page), general, &run.order, exports);
    let surroundings = Surroundings::new(signals, general.status_interval.map(Nanos));
    let outcome = coordinate(&mut *fabric, &run, surroundings, &mut console);
    let report = coordinator::report(outcome, general);
    Ok(console.finish(&report, exit(&report, general), &stopped))
}

/// What the thread that talks to the hosts hands over.
enum Shown {
    Event(HostsEvent),
    Log { host: HostIndex, name: String, offset: Bytes, bytes: Vec<u8>, last: bool },
}

/// Runs the jobs on the hosts. Another thread prints and writes meanwhile.
fn coordinate(
    fabric: &mut (dyn Fabric + Send),
    run: &HostsRun,
    (mut surroundings, receiver): (Surroundings, Receiver<Shown>),
    console: &mut HostsConsole,
) -> HostsOutcome {
    let mut logs = FetchedLogs::of(&run.order);
    thread::scope(|scope| {
        // The receiver ends when the thread drops the sender.
        let driver = scope.spawn(move || drive(fabric, &run.order, &mut surroundings));
        for shown in receiver {
            match shown {
                Shown::Event(event) => console.event(event),
                Shown::Log { host, name, offset, bytes, last } => {
                    if let Err(error) = logs.part(host, &name, offset, &bytes, last) {
                        console.log_failed(&error);
                    }
                }
            }
        }
        driver.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

struct Surroundings {
    signals: FromSignals,
    sender: Sender<Shown>,
    /// Time between two reports of the run so far (`--status-interval`).
    interval: Option<Nanos>,
    /// When the next of these reports is due. `None`: the jobs have not started.
    next_status: Option<Nanos>,
    /// A signal asks for a report.
    wants_status: bool,
}

impl Surroundings {
    fn new(signals: FromSignals, interval: Option<Nanos>) -> (Self, Receiver<Shown>) {
        let (sender, receiver) = mpsc::channel();
        let new =
            Surroundings { signals, sender, interval, next_status: None, wants_status: false };
        (new, receiver)
    }
}

impl HostsOutside for Surroundings {
    fn interrupt(&mut self) -> Option<i32> {
        match self.signals.next() {
            Some(Interrupt::End(signal)) => Some(signal),
            Some(Interrupt::Status) => {
                self.wants_status = true;
                None
            }
            // Signals only ask for the two above.
            Some(Interrupt::Finish) | None => None,
        }
    }

    fn request(&mut self) -> Option<HostsRequest> {
        let now = Nanos(clock::monotonic());
        let is_due = self.next_status.is_some_and(|due| due <= now);
        if is_due {
            self.next_status = self.interval.map(|interval| now.saturating_add(interval));
        }
        let wanted = std::mem::take(&mut self.wants_status) || is_due;
        wanted.then_some(HostsRequest::Status)
    }

    fn event(&mut self, event: HostsEvent) {
        if let HostsEvent::Starting { at } = &event {
            self.next_status = self.interval.map(|interval| at.saturating_add(interval));
        }
        // The receiver lives until this sender is dropped.
        let _ = self.sender.send(Shown::Event(event));
    }

    fn log(&mut self, host: HostIndex, name: &str, offset: Bytes, bytes: &[u8], last: bool) {
        let (name, bytes) = (name.to_owned(), bytes.to_vec());
        let _ = self.sender.send(Shown::Log { host, name, offset, bytes, last });
    }
}

/// The exit status of a run.
fn exit(report: &HostsReport, general: &GeneralOptions) -> Exit {
    let statuses = || report.hosts.iter().filter_map(|host| host.status);
    let failed: usize =
        statuses().filter(|status| (1..128).contains(status)).map(usize::from).sum();
    let invalid = |finding: &Finding| finding.severity == Severity::Invalid;
    let fatal = general.findings == Findings::Fatal;
    match failed {
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
