//! Runs jobs on the processes of a parallel job (`--ranks`): rank 0 coordinates the run and is an agent, too; the others are
//! agents. Without another transport, they connect to rank 0 over TCP.

use std::error::Error;
use std::io;
use std::net::IpAddr;
use std::num::NonZeroU32;

use fiord_app::coordinator::HostsRun;
use fiord_app::protection::{ProtectionError, protect};
use fiord_app::signals::FromSignals;
use fiord_fabric::contract::Fabric;
use fiord_fabric::gather::{JoinError, JoiningRank, RankFabric, join};
use fiord_fabric::hub::{BadEndpoint, Endpoint, Hub, ListenError, Waker};
use fiord_fabric::policy::HostPolicy;
use fiord_fabric::ranks::{LaunchedRank, RankError, read};
use fiord_job::command::hosts::{HostsCommand, hosts_command};
use fiord_job::command::{Action, GeneralOptions};
use fiord_job::load::MachineLoader;
use fiord_run::{Interrupt, Interrupts};
use fiord_sys::signal::{self, Signals};
use fiord_sys::{clock, host};
use fiord_types::{HostIndex, Nanos};

use crate::exit::Exit;
use crate::hosts::{self, ConnectedHosts, Connector};
use crate::sink::{self, report};
use crate::{agent, invoke};

/// How long rank 0 waits for the others.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// How long another rank waits: it may be there before rank 0, which then waits for the rest.
const OTHERS_PATIENCE: Nanos = Nanos::from_secs(130);

/// Why a process does not take part in a run.
#[derive(Debug, thiserror::Error)]
enum RankRunError {
    #[error(transparent)]
    Rank(#[from] RankError),
    #[error(transparent)]
    Address(#[from] BadEndpoint),
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error(transparent)]
    Protection(#[from] ProtectionError),
    #[error(transparent)]
    Join(#[from] JoinError),
    #[error("interrupted while the other ranks connected")]
    Interrupted,
    #[error("cannot determine the path of this executable: {0}")]
    Program(io::Error),
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
}

/// The processes of a parallel job, as rank 0 sees them.
pub struct RankConnections {
    /// The other ranks, and the agent of rank 0 as peer 0.
    pub fabric: Box<dyn Fabric + Send>,
    /// Makes `receive` of the fabric return.
    pub waker: Waker,
    /// The names of their machines. Empty: unknown.
    pub hosts: Vec<String>,
}

/// Runs a command line with `--ranks` as this process's launcher says.
pub(crate) fn run(command: HostsCommand) -> Exit {
    let ended = match read(|name| std::env::var(name).ok()) {
        Ok(launched) if launched.rank == HostIndex(0) => Ok(first(command, &launched)),
        Ok(launched) => other(&command, &launched),
        Err(error) => Err(error.into()),
    };
    ended.unwrap_or_else(|error| {
        report(format_args!("--ranks: {error}\n"));
        Exit::Failure
    })
}

/// Runs a command line with `--ranks` as rank 0. `connect` connects the processes; it is given the command that starts the
/// agent of rank 0, and the signals that the fabric must watch. Returns the exit status.
pub fn coordinate(
    args: &[String],
    ranks: NonZeroU32,
    connect: impl FnOnce(&[String], &'static Signals) -> Result<RankConnections, Box<dyn Error>>,
) -> u8 {
    let mut connector = ConnectedRanks { connect: Some(connect) };
    let exit = match hosts_command(args) {
        Ok(Some(mut command)) => {
            command.set_ranks(ranks);
            hosts::run_over(&command, &mut connector)
        }
        Ok(None) => invoke::run(args),
        Err(errors) => {
            let exit = sink::refuse(&errors);
            connector.dismiss(None, errors.first().map_or("", |error| &error.what));
            exit
        }
    };
    exit.status()
}

/// Ranks that the caller of [`coordinate`] connects.
struct ConnectedRanks<F> {
    /// `None`: used.
    connect: Option<F>,
}

impl<F> ConnectedRanks<F>
where
    F: FnOnce(&[String], &'static Signals) -> Result<RankConnections, Box<dyn Error>>,
{
    fn connected(&mut self, signals: &'static Signals) -> Result<RankConnections, Box<dyn Error>> {
        let connect = self.connect.take().ok_or(RankRunError::Interrupted)?;
        connect(&own_agent()?, signals)
    }
}

impl<F> Connector for ConnectedRanks<F>
where
    F: FnOnce(&[String], &'static Signals) -> Result<RankConnections, Box<dyn Error>>,
{
    fn connect(
        &mut self,
        run: &mut HostsRun,
        signals: &mut FromSignals,
        _general: &GeneralOptions,
    ) -> Result<ConnectedHosts, Box<dyn Error>> {
        let RankConnections { fabric, waker, hosts } = self.connected(signals.source())?;
        name(run, &hosts);
        Ok(ConnectedHosts { fabric, waker })
    }

    fn dismiss(&mut self, _general: Option<&GeneralOptions>, why: &str) {
        let Ok(signals) = signal::install() else { return };
        // The user knows why the jobs do not run. A rank that cannot be told notices that nothing arrives.
        let Ok(RankConnections { mut fabric, .. }) = self.connected(signals) else { return };
        for rank in HostIndex(0).to(HostIndex(fabric.size())) {
            fabric.refuse(rank, &dismissal(why));
        }
    }
}

/// Tells the other ranks why there is no run.
fn dismissal(why: &str) -> String {
    format!("it does not run the jobs: {why}")
}

/// Serves rank 0 as another rank, over a fabric that watches the signals and whose peer 0 is rank 0. The waker must make
/// its `receive` return. Returns the exit status.
pub fn serve(fabric: &mut dyn Fabric, waker: Waker, signals: &'static Signals) -> u8 {
    let policy = HostPolicy::unlimited();
    agent::run_over(fabric, waker, signals, false, policy, &mut agent::complain_of_losses).status()
}

/// Coordinates the run.
fn first(mut command: HostsCommand, launched: &LaunchedRank) -> Exit {
    command.set_ranks(launched.ranks);
    hosts::run_over(&command, &mut JoiningRanks(launched))
}

/// Ranks that connect to rank 0.
struct JoiningRanks<'a>(&'a LaunchedRank);

impl Connector for JoiningRanks<'_> {
    fn connect(
        &mut self,
        run: &mut HostsRun,
        signals: &mut FromSignals,
        general: &GeneralOptions,
    ) -> Result<ConnectedHosts, Box<dyn Error>> {
        let (connected, hosts) = gather(self.0, signals, general)?;
        name(run, &hosts);
        Ok(connected)
    }

    fn dismiss(&mut self, general: Option<&GeneralOptions>, why: &str) {
        // Every rank notices that its command line is wrong.
        let Some(general) = general else { return };
        // A rank that cannot be told does not wait forever.
        if let Ok(mut fabric) = listen(self.0, general, None) {
            fabric.dismiss(after(PATIENCE), &dismissal(why));
        }
    }
}

/// Listens for the other ranks.
fn listen(
    launched: &LaunchedRank,
    general: &GeneralOptions,
    signals: Option<&'static Signals>,
) -> Result<RankFabric<Hub>, RankRunError> {
    let rendezvous = Endpoint::parse(&launched.rendezvous)?;
    let mut hub = Hub::new()?;
    signals.into_iter().for_each(|signals| hub.watch_signals(signals));
    let listening = listening(&rendezvous);
    protect(&mut hub, &[&listening], &general.hosts)?;
    hub.listen(&listening)?;
    Ok(RankFabric::new(hub, launched.ranks, &host::name()))
}

/// Waits for the other ranks, then starts the agent of this one.
fn gather(
    launched: &LaunchedRank,
    signals: &mut FromSignals,
    general: &GeneralOptions,
) -> Result<(ConnectedHosts, Vec<String>), RankRunError> {
    let own = own_agent()?;
    let mut fabric = listen(launched, general, Some(signals.source()))?;
    let mut interrupted = false;
    fabric.gather(after(PATIENCE), "60 s", &mut || {
        interrupted |= matches!(signals.next(), Some(Interrupt::End(_)));
        interrupted
    });
    if interrupted {
        return Err(RankRunError::Interrupted);
    }
    fabric.inner().stop_listening();
    let peer = fabric.inner().start(&own);
    fabric.add_own(peer);
    let hosts = fabric.hosts().to_vec();
    let waker = fabric.inner().waker();
    Ok((ConnectedHosts { fabric: Box::new(fabric), waker }, hosts))
}

/// Serves rank 0.
fn other(command: &HostsCommand, launched: &LaunchedRank) -> Result<Exit, RankRunError> {
    let general = match fiord_job::invocation(&command.rest, &mut MachineLoader) {
        // Rank 0 prints what such a command line asks for.
        Ok(invocation) if !matches!(invocation.action, Action::Run | Action::NoJobs) => {
            return Ok(Exit::Success);
        }
        Ok(invocation) => invocation.general,
        Err(errors) => return Ok(sink::refuse(&errors)),
    };
    let signals = signal::install()?;
    let rendezvous = Endpoint::parse(&launched.rendezvous)?;
    let mut hub = Hub::new()?;
    hub.watch_signals(signals);
    protect(&mut hub, &[&listening(&rendezvous)], &general.hosts)?;
    hub.connect_within(&rendezvous, PATIENCE);
    let (rank, ranks) = (launched.rank, launched.ranks);
    let own = JoiningRank { rank, ranks, host: host::name() };
    join(&mut hub, &own, after(OTHERS_PATIENCE), &mut || signals.stop_signal().is_some())?;
    let waker = hub.waker();
    let policy = HostPolicy::unlimited();
    Ok(agent::run_over(&mut hub, waker, signals, false, policy, &mut agent::complain_of_losses))
}

/// Where rank 0 listens, which decides whether the ranks need keys: on all addresses, unless the rendezvous is loopback.
///
/// A name is not resolved for this: the name of a machine often is a loopback address on that machine only, and all ranks
/// must come to the same decision.
fn listening(rendezvous: &Endpoint) -> Endpoint {
    let is_loopback = |host: &str| {
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
    };
    match rendezvous {
        Endpoint::Tcp { host, port, version } if !is_loopback(host) => {
            Endpoint::Tcp { host: String::new(), port: *port, version: *version }
        }
        other => other.clone(),
    }
}

/// The hosts get the names of their machines instead of numbers. Ranks on one machine also get their numbers.
fn name(run: &mut HostsRun, hosts: &[String]) {
    let known = run.addresses.iter_mut().zip(hosts).filter(|(_, host)| !host.is_empty());
    known.for_each(|(address, host)| address.clone_from(host));
    for (rank, (order, host)) in run.order.hosts.iter_mut().zip(hosts).enumerate() {
        let several = hosts.iter().filter(|other| *other == host).count() > 1;
        match (host.is_empty(), several) {
            (true, _) => {}
            (false, false) => order.name.clone_from(host),
            (false, true) => order.name = format!("{host}.{rank}"),
        }
    }
}

/// The command that starts an agent on standard input and output.
fn own_agent() -> Result<Vec<String>, RankRunError> {
    let program = std::env::current_exe().map_err(RankRunError::Program)?;
    Ok([program.to_string_lossy().as_ref(), "agent", "--stdio"].map(String::from).to_vec())
}

fn after(time: Nanos) -> Nanos {
    Nanos(clock::monotonic()).saturating_add(time)
}
