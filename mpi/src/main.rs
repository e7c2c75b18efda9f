//! `mpirun -n 64 fiord-mpi job.fio`: fiord on the ranks of an MPI job. Rank 0 coordinates the run and prints the report; all
//! ranks run the jobs. Messages travel over MPI, so that the nodes need no other network.
//!
//! | question | module |
//! |---|---|
//! | how are ranks the peers of a fabric | [`fabric`] |
//! | which calls of MPI are made | [`world`] |

#![forbid(unsafe_code)]

mod fabric;
mod world;

use std::error::Error;
use std::num::NonZeroU32;
use std::process::ExitCode;

use fiord::ranks::{self, RankConnections};
use fiord_fabric::hub::{Hub, Waker};
use fiord_sys::signal;
use fiord_types::HostIndex;

use fabric::MpiFabric;
use world::MpiWorld;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    // The agent of rank 0 is a process of its own. It does not belong to the MPI job.
    if args.first().is_some_and(|first| first == "agent") {
        return fiord::run_process();
    }
    fiord::prepare_process();
    match run(&args) {
        Ok(status) => status.into(),
        Err(error) => {
            eprintln!("fiord-mpi: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the exit status.
fn run(args: &[String]) -> Result<u8, Box<dyn Error>> {
    let hub = Hub::new()?;
    let waker = hub.waker();
    let world = MpiWorld::start(hub.waker())?;
    if world.rank == HostIndex(0) { coordinate(args, hub, world) } else { serve(hub, waker, world) }
}

fn coordinate(args: &[String], mut hub: Hub, world: MpiWorld) -> Result<u8, Box<dyn Error>> {
    let ranks = NonZeroU32::new(world.ranks.0).unwrap_or(NonZeroU32::MIN);
    let with_ranks: Vec<String> =
        std::iter::once("--ranks".to_string()).chain(args.iter().cloned()).collect();
    Ok(ranks::coordinate(&with_ranks, ranks, move |own_agent, signals| {
        hub.watch_signals(signals);
        hub.start(own_agent);
        let waker = hub.waker();
        let hosts = world.hosts.clone();
        Ok(RankConnections { fabric: Box::new(MpiFabric::new(hub, world)), waker, hosts })
    }))
}

fn serve(mut hub: Hub, waker: Waker, world: MpiWorld) -> Result<u8, Box<dyn Error>> {
    let signals = signal::install()?;
    hub.watch_signals(signals);
    Ok(ranks::serve(&mut MpiFabric::new(hub, world), waker, signals))
}
