//! A connection to a server: how it is made, and the handshake.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use fiord_formats::nbd::handshake::{Goal, Handshake, HandshakeStep};
use fiord_formats::nbd::uri::{NbdServer, NbdUri};
use fiord_formats::nbd::{Export, ExportFlags, NbdError};
use fiord_plan::{EndpointError, EndpointFacts, NbdPlan};
use fiord_types::{Bytes, Errno, Nanos};

use crate::endpoint::{LOOK, shown};
use crate::{EndSignal, EngineError};

/// A connection whose handshake is complete.
#[derive(Debug)]
pub(super) struct NbdLink {
    socket: OwnedFd,
    pub(super) export: Export,
}

/// A socket during the handshake.
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl NbdLink {
    /// Connects to the server of a job, and agrees on the export.
    ///
    /// # Errors
    ///
    /// The server cannot be reached, does not answer in time, or refuses. The error has an errno.
    pub(super) fn open(plan: &NbdPlan, goal: Goal, end: &EndSignal) -> Result<Self, EngineError> {
        let address = plan.endpoint.address.as_deref();
        let address = address.map(|path| path.display().to_string()).unwrap_or_default();
        let until = Instant::now() + Duration::from_nanos(plan.endpoint.timeout.0);
        let opening = Opening { address, timeout: plan.endpoint.timeout, until, end };
        let stream = opening.connect(&plan.uri)?;
        let export = opening.handshake(&stream, &plan.uri, goal)?;
        stream.set_patience(LOOK).map_err(|error| opening.failed(&error))?;
        let socket = match stream {
            Stream::Tcp(socket) => OwnedFd::from(socket),
            Stream::Unix(socket) => OwnedFd::from(socket),
        };
        Ok(NbdLink { socket, export })
    }

    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }
}

/// What errors say about a connection that is being made.
struct Opening<'a> {
    address: String,
    timeout: Nanos,
    until: Instant,
    end: &'a EndSignal,
}

impl Opening<'_> {
    fn connect(&self, uri: &NbdUri) -> Result<Stream, EngineError> {
        match &uri.server {
            NbdServer::Unix(path) => {
                UnixStream::connect(path).map(Stream::Unix).map_err(|error| self.failed(&error))
            }
            NbdServer::Tcp(host, port) => {
                let found = (host.as_str(), *port).to_socket_addrs().map_err(|error| {
                    let what =
                        format!("{}: cannot resolve the host `{host}`: {error}", self.address);
                    EngineError { what, help: None, errno: Some(Errno::EINVAL) }
                        .help("To fix: check the name, or write the address")
                })?;
                let mut last = std::io::Error::from(ErrorKind::AddrNotAvailable);
                for address in found {
                    let left = self.until.saturating_duration_since(Instant::now());
                    match TcpStream::connect_timeout(&address, left.max(Duration::from_millis(1))) {
                        Ok(socket) => {
                            socket.set_nodelay(true).map_err(|error| self.failed(&error))?;
                            return Ok(Stream::Tcp(socket));
                        }
                        Err(error) => last = error,
                    }
                }
                Err(self.failed(&last))
            }
        }
    }

    fn handshake(&self, stream: &Stream, uri: &NbdUri, goal: Goal) -> Result<Export, EngineError> {
        let refused = |error: NbdError| self.refused(&error);
        stream.set_patience(LOOK).map_err(|error| self.failed(&error))?;
        let mut client = Handshake::new(&uri.export, goal).map_err(refused)?;
        let mut bytes = [0; 4096];
        let mut received = 0;
        loop {
            let step = client.receive(&bytes[..received]).map_err(refused)?;
            received = 0;
            match step {
                HandshakeStep::Receive => received = self.receive(stream, &mut bytes)?,
                HandshakeStep::Send(out) => {
                    stream.send(&out).map_err(|error| self.failed(&error))?
                }
                HandshakeStep::Done(out, export) => {
                    // A server may close the connection of a client that only asks before it reads this.
                    match stream.send(&out) {
                        Err(error) if goal == Goal::Use => return Err(self.failed(&error)),
                        _ => return Ok(export),
                    }
                }
            }
        }
    }

    /// Receives at least one byte.
    fn receive(&self, stream: &Stream, bytes: &mut [u8]) -> Result<usize, EngineError> {
        loop {
            match stream.receive(bytes) {
                Ok(0) => {
                    let what = format!(
                        "{}: the server closed the connection during the handshake",
                        self.address
                    );
                    return Err(EngineError { what, help: None, errno: Some(Errno::ECONNRESET) }
                        .help("To fix: check the log of the server, and whether it accepts another client"));
                }
                Ok(count) => return Ok(count),
                Err(error) => match error.kind() {
                    ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut
                        if Instant::now() < self.until && !self.end.is_stopped() => {}
                    ErrorKind::Interrupted | ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                        let time = shown(self.timeout);
                        let what =
                            format!("{}: no answer to the handshake within {time}", self.address);
                        return Err(EngineError { what, help: None, errno: Some(Errno::ETIMEDOUT) }
                            .help("To fix: check the server, which may serve one client at a time, or set a longer `endpoint_timeout`"));
                    }
                    _ => return Err(self.failed(&error)),
                },
            }
        }
    }

    fn failed(&self, error: &std::io::Error) -> EngineError {
        let timed_out = matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock);
        let errno = match error.raw_os_error() {
            _ if timed_out => Errno::ETIMEDOUT,
            Some(errno) => Errno::from_raw(errno),
            None => Errno::EIO,
        };
        let what = format!("{}: cannot connect to the server: {errno}", self.address);
        EngineError { what, help: None, errno: Some(errno) }
            .help("To fix: start the server, or check host, port and socket in `uri`")
    }

    fn refused(&self, error: &NbdError) -> EngineError {
        let what = format!("{}: {error}", self.address);
        let help = match error {
            NbdError::NoServer(_) => "To fix: check the port in `uri`",
            NbdError::UnknownExport { .. } => {
                "To fix: check the name of the export in `uri`; `nbdinfo --list` shows those of a server"
            }
            NbdError::TlsRequired(_) => {
                "To fix: let the server permit connections without TLS, which `ioengine=nbd` does not have"
            }
            NbdError::Oldstyle | NbdError::Refused { .. } | NbdError::Broken(_) => {
                "To fix: check the version and the configuration of the server"
            }
        };
        EngineError { what, help: None, errno: Some(Errno::EPROTO) }.help(help)
    }
}

impl Stream {
    fn set_patience(&self, patience: Duration) -> std::io::Result<()> {
        match self {
            Stream::Tcp(socket) => socket.set_read_timeout(Some(patience)),
            Stream::Unix(socket) => socket.set_read_timeout(Some(patience)),
        }
    }

    fn send(&self, bytes: &[u8]) -> std::io::Result<()> {
        match self {
            Stream::Tcp(socket) => {
                let mut socket = socket;
                socket.write_all(bytes)
            }
            Stream::Unix(socket) => {
                let mut socket = socket;
                socket.write_all(bytes)
            }
        }
    }

    fn receive(&self, bytes: &mut [u8]) -> std::io::Result<usize> {
        match self {
            Stream::Tcp(socket) => {
                let mut socket = socket;
                socket.read(bytes)
            }
            Stream::Unix(socket) => {
                let mut socket = socket;
                socket.read(bytes)
            }
        }
    }
}

/// Asks the server for the export of a job.
pub(crate) fn ask(plan: &NbdPlan) -> Result<EndpointFacts, EndpointError> {
    let link = NbdLink::open(plan, Goal::Ask, &EndSignal::default())
        .map_err(|error| EndpointError { what: error.what, help: error.help, property: false })?;
    let export = link.export;
    Ok(EndpointFacts {
        block: Bytes(export.smallest_block.into()),
        read_only: export.flags.has(ExportFlags::READ_ONLY),
        ..EndpointFacts::fixed(Bytes(export.size))
    })
}
