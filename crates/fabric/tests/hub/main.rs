//! The hub with real processes and sockets.

mod bad_networks;
#[cfg(feature = "tls")]
mod encrypted;
mod heartbeats;
mod processes;
mod proxy;
mod sockets;

use std::time::Duration;

use fiord_fabric::contract::{Arrival, Fabric, Happening, Loss};
use fiord_fabric::hub::Hub;
use fiord_sys::clock::monotonic;
use fiord_types::{HostIndex, Nanos};

/// No wait of a test takes longer.
const LIMIT: Duration = Duration::from_secs(60);

fn after(time: Duration) -> Nanos {
    Nanos(monotonic() + time.as_nanos() as u64)
}

fn next(hub: &mut Hub) -> Arrival {
    let until = after(LIMIT);
    loop {
        if let Some(arrival) = hub.receive(until) {
            return arrival;
        }
        assert!(Nanos(monotonic()) < until, "nothing arrives");
    }
}

fn message(hub: &mut Hub) -> (HostIndex, Vec<u8>) {
    match next(hub) {
        Arrival { from, what: Happening::Message(message), .. } => (from, message),
        other => panic!("{other:?}"),
    }
}

fn loss(hub: &mut Hub) -> (HostIndex, Loss) {
    match next(hub) {
        Arrival { from, what: Happening::Lost(loss), .. } => (from, loss),
        other => panic!("{other:?}"),
    }
}

fn joined(hub: &mut Hub) -> (HostIndex, String) {
    match next(hub) {
        Arrival { from, what: Happening::Joined { peer }, .. } => (from, peer),
        other => panic!("{other:?}"),
    }
}
