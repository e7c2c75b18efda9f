//! Servers: where they are, and how a connection to them begins.

use std::net::ToSocketAddrs;
use std::os::fd::OwnedFd;

use fiord_plan::HttpServer;
use fiord_sys::net::{self, SocketAddress, SocketOption};
use fiord_types::Errno;

use super::failure::RequestFailure;
use crate::EngineError;
use crate::endpoint::LOOK;
use crate::error::{FailureCause, too_many_files};

/// A server and its addresses.
pub(super) struct Server {
    pub(super) named: HttpServer,
    /// The addresses of the name, once it was looked up.
    addresses: Vec<SocketAddress>,
}

impl Server {
    pub(super) const fn new(named: HttpServer) -> Server {
        Server { named, addresses: Vec::new() }
    }

    /// Looks the name up.
    ///
    /// # Errors
    ///
    /// The name has no address.
    pub(super) fn look_up(&mut self) -> Result<(), EngineError> {
        let HttpServer { name, port, .. } = &self.named;
        let found = (name.as_str(), port.get()).to_socket_addrs();
        let why = match found {
            Ok(found) => {
                self.addresses = found.map(SocketAddress::from).collect();
                "the name has no address".to_owned()
            }
            Err(error) => error.to_string(),
        };
        match self.addresses.is_empty() {
            false => Ok(()),
            true => Err(EngineError::plain(format!(
                "ioengine=http: cannot look up the host `{name}`: {why}"
            ))
            .help("To fix: check `http_host` and the name servers of this machine")),
        }
    }

    /// How many addresses the server has.
    pub(super) const fn candidates(&self) -> usize {
        self.addresses.len()
    }

    /// Begins to connect to one of the addresses. The connection exists when the socket becomes writable.
    pub(super) fn start(&self, candidate: usize) -> Result<OwnedFd, RequestFailure> {
        let Some(address) = self.addresses.get(candidate) else {
            return Err(RequestFailure::new(Errno::EDESTADDRREQ, "the host has no address"));
        };
        let fails = |error: fiord_sys::Error| self.unreachable(candidate, error.errno);
        let socket = net::new_socket(address.family(), true).map_err(fails)?;
        net::set_option(&socket, SocketOption::NoDelay, 1).map_err(fails)?;
        net::start_connecting(&socket, address).map_err(fails)?;
        Ok(socket)
    }

    /// Whether the connection exists now. `Err`: it does not come about.
    pub(super) fn finish(
        &self,
        socket: &OwnedFd,
        candidate: usize,
    ) -> Result<bool, RequestFailure> {
        let fails = |error: fiord_sys::Error| self.unreachable(candidate, error.errno);
        if !net::wait_for(socket, net::Readiness::Writable, std::time::Duration::ZERO)
            .map_err(fails)?
        {
            return Ok(false);
        }
        match net::socket_option(socket, SocketOption::PendingError).map_err(fails)? {
            0 => {}
            errno => return Err(self.unreachable(candidate, Errno::from_raw(errno))),
        }
        // Single calls say that they do not wait. Others wait for a moment only, so that the job can stop.
        fiord_sys::poll::set_blocking(socket, true).map_err(fails)?;
        net::set_patience(socket, LOOK).map_err(fails)?;
        Ok(true)
    }

    fn unreachable(&self, candidate: usize, errno: Errno) -> RequestFailure {
        // The message names the host already.
        let address = self.addresses.get(candidate).map(ToString::to_string);
        let address = address.filter(|address| *address != self.named.host);
        let to = address.map_or_else(String::new, |address| format!(" to {address}"));
        let help = too_many_files(errno)
            .unwrap_or("To fix: check that the server runs, and `http_host` with its port");
        let why = FailureCause::from(format!("cannot connect{to}: {errno}")).help(help);
        RequestFailure::new(errno, why).passing()
    }
}
