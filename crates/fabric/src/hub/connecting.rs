//! Connecting to an agent that listens. Resolving a name can block, so each attempt has its own thread.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

use fiord_sys::clock::monotonic;
use fiord_sys::net::{self, SocketAddress};
use fiord_types::{Errno, HostIndex, Nanos};

use super::Wakes;
use super::endpoint::{DEFAULT_PORT, Endpoint};
use super::wire::Wire;
use crate::contract::Loss;

/// Time between two attempts to reach an agent that may not have started yet.
const PAUSE: Duration = Duration::from_millis(100);

/// What an attempt ended with.
#[derive(Debug)]
pub(super) struct Attempted {
    pub(super) peer: HostIndex,
    pub(super) result: Result<Wire, Loss>,
}

#[derive(Debug, Clone)]
pub(super) struct Attempt {
    pub(super) endpoint: Endpoint,
    /// How long it may take.
    pub(super) limit: Nanos,
    /// The agent may start later than this process.
    pub(super) retries: bool,
}

impl Attempt {
    /// Begins to connect. The result goes to `to`.
    pub(super) fn begin(
        self,
        peer: HostIndex,
        to: Sender<Attempted>,
        wakes: Arc<Wakes>,
    ) -> Result<(), Loss> {
        let until = Nanos(monotonic()).saturating_add(self.limit);
        let run = move || {
            let result = self.run(until);
            // A hub that no longer exists needs no connection.
            let _ = to.send(Attempted { peer, result });
            wakes.event.wake();
        };
        let thread = std::thread::Builder::new().name("fiord-connect".into()).spawn(run);
        let failed = |error| Loss::System(fiord_sys::Error::from_io("pthread_create", &error));
        thread.map(drop).map_err(failed)
    }

    fn run(&self, until: Nanos) -> Result<Wire, Loss> {
        loop {
            let lost = match reach(&self.endpoint, until) {
                Ok(wire) => return Ok(wire),
                Err(lost) => lost,
            };
            let left = until.saturating_sub(Nanos(monotonic()));
            if !self.retries || left == Nanos::ZERO {
                return Err(lost);
            }
            fiord_sys::clock::sleep(PAUSE.min(Duration::from_nanos(left.0)));
        }
    }

    /// Why an attempt that took too long failed.
    pub(super) fn too_late(&self) -> Loss {
        not_reached(&self.endpoint, &format!("no answer within {} s", self.limit.as_secs()))
    }
}

/// Connects to the first address that answers. All together may take until `until`.
fn reach(endpoint: &Endpoint, until: Nanos) -> Result<Wire, Loss> {
    let left = || until.saturating_sub(Nanos(monotonic()));
    let addresses = match endpoint {
        Endpoint::Unix(path) => {
            let address = SocketAddress::unix(path).map_err(Loss::System)?;
            return match open(&address, until) {
                Ok(fd) => Wire::unix(UnixStream::from(fd)).map_err(Loss::System),
                Err(error) => Err(not_reached(endpoint, &said(&error))),
            };
        }
        Endpoint::Tcp { .. } => {
            endpoint.addresses().map_err(|error| Loss::NotReached { why: error.to_string() })?
        }
    };
    let mut last = Errno::ETIMEDOUT.to_string();
    for (done, address) in addresses.iter().enumerate() {
        // An address without an answer leaves time for the others.
        let share = Nanos(left().0 / (addresses.len() - done) as u64);
        let until = Nanos(monotonic()).saturating_add(share);
        match open(&SocketAddress::from(*address), until) {
            Ok(fd) => {
                let stream = TcpStream::from(fd);
                if !is_itself(&stream, *address) {
                    return Wire::tcp(stream).map_err(Loss::System);
                }
                last = Errno::ECONNREFUSED.to_string();
            }
            Err(error) => last = said(&error),
        }
    }
    Err(not_reached(endpoint, &last))
}

fn open(address: &SocketAddress, until: Nanos) -> fiord_sys::Result<std::os::fd::OwnedFd> {
    let socket = net::new_socket(address.family(), true)?;
    match net::connect(&socket, address, &|| Nanos(monotonic()) < until)? {
        true => Ok(socket),
        false => Err(fiord_sys::Error::new("connect", Errno::ETIMEDOUT)),
    }
}

/// A connection to a port of this machine that has no listener can get that port itself, and is then connected to itself.
fn is_itself(stream: &TcpStream, address: SocketAddr) -> bool {
    stream.local_addr().is_ok_and(|own| own == address)
}

fn said(error: &fiord_sys::Error) -> String {
    error.errno.to_string()
}

fn not_reached(endpoint: &Endpoint, what: &str) -> Loss {
    let server = match endpoint.port() {
        None | Some(DEFAULT_PORT) => "fiord --server".to_owned(),
        Some(port) => format!("fiord --server=,{port}"),
    };
    let why = format!(
        "cannot connect to {endpoint}: {what}. To fix: check that `{server}` runs there and that no firewall blocks the \
         connection"
    );
    Loss::NotReached { why }
}
