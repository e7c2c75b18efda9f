//! A connection to a server: how it is made, and the handshake.

use std::io::ErrorKind;
use std::net::{TcpStream, ToSocketAddrs};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use fiord_formats::nbd::handshake::{Goal, Handshake, HandshakeStep};
use fiord_formats::nbd::uri::{NbdServer, NbdTls, NbdUri};
use fiord_formats::nbd::{Export, ExportFlags, NbdError};
use fiord_plan::{EndpointError, EndpointFacts, NbdPlan};
use fiord_types::{Bytes, Errno, Nanos};

use crate::endpoint::{LOOK, shown};
use crate::error::FailureCause;
use crate::tls::TlsClient;
use crate::tls_options::{TlsIdentity, TlsNames, TlsTrust};
use crate::transport::{Moved, Transport};
use crate::{EndSignal, EngineError};

/// How messages name the parameters of the URI that concern TLS.
const NAMES: TlsNames = TlsNames {
    on: "nbds",
    authorities: "`tls-certificates=DIRECTORY` in `uri`, with `ca-cert.pem` in the directory",
    unchecked: "`tls-verify-peer=false` in `uri`",
    host: "the host of `uri` or as its parameter `tls-hostname`",
    off: "`nbd` instead of `nbds` in `uri`",
};

/// A connection whose handshake is complete.
pub(super) struct NbdLink {
    pub(super) transport: Transport,
    pub(super) export: Export,
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
        let socket = opening.connect(&plan.uri)?;
        let (transport, export) = opening.handshake(socket, &plan.uri, goal)?;
        Ok(NbdLink { transport, export })
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
    /// A connected socket whose calls wait for [`LOOK`] at most.
    fn connect(&self, uri: &NbdUri) -> Result<OwnedFd, EngineError> {
        match &uri.server {
            NbdServer::Unix(path) => {
                let socket = UnixStream::connect(path).map_err(|error| self.failed(&error))?;
                socket.set_read_timeout(Some(LOOK)).map_err(|error| self.failed(&error))?;
                Ok(socket.into())
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
                            let set = socket.set_nodelay(true);
                            set.and_then(|()| socket.set_read_timeout(Some(LOOK)))
                                .map_err(|error| self.failed(&error))?;
                            return Ok(socket.into());
                        }
                        Err(error) => last = error,
                    }
                }
                Err(self.failed(&last))
            }
        }
    }

    fn handshake(
        &self,
        socket: OwnedFd,
        uri: &NbdUri,
        goal: Goal,
    ) -> Result<(Transport, Export), EngineError> {
        let refused = |error: NbdError| self.refused(&error);
        let tls = uri.tls.as_ref().map(|tls| Ok((tls_client(tls)?, tls.host.as_str())));
        let tls = tls.transpose().map_err(|error: EngineError| EngineError {
            what: format!("{}: {}", self.address, error.what),
            ..error
        })?;
        let mut client = Handshake::new(&uri.export, goal).map_err(refused)?;
        if tls.is_some() {
            client = client.with_tls();
        }
        let mut transport = Transport::Plain(socket);
        let mut bytes = [0; 4096];
        let mut received = 0;
        loop {
            let step = client.receive(&bytes[..received]).map_err(refused)?;
            received = 0;
            match step {
                HandshakeStep::Receive => received = self.receive(&mut transport, &mut bytes)?,
                HandshakeStep::Send(out) => self.send(&mut transport, &out)?,
                HandshakeStep::StartTls => {
                    if let (Transport::Plain(socket), Some((client, host))) = (transport, &tls) {
                        transport = self.encrypt(socket, client, host)?;
                    } else {
                        let error = NbdError::Broken("it begins TLS a second time");
                        return Err(refused(error));
                    }
                }
                HandshakeStep::Done(out, export) => {
                    // A server may close the connection of a client that only asks before it reads this.
                    match self.send(&mut transport, &out) {
                        Err(error) if goal == Goal::Use => return Err(error),
                        _ => return Ok((transport, export)),
                    }
                }
            }
        }
    }

    /// Begins TLS.
    fn encrypt(
        &self,
        socket: OwnedFd,
        client: &TlsClient,
        host: &str,
    ) -> Result<Transport, EngineError> {
        let stream =
            client.wrap(socket, host).map_err(|why| self.tls_failed(why.to_string().into()))?;
        let mut transport = Transport::Tls(stream);
        self.wait_for(|| transport.shake_hands(true))?;
        Ok(transport)
    }

    fn send(&self, transport: &mut Transport, mut bytes: &[u8]) -> Result<(), EngineError> {
        while !bytes.is_empty() {
            let sent = self.wait_for(|| match transport.send(bytes, &[], true) {
                // The server has closed the connection. Its last message may say why.
                Moved::Failed(Errno::EPIPE | Errno::ECONNRESET) => {
                    match transport.receive(&mut [0; 256], true) {
                        Moved::Tls(why) => Moved::Tls(why),
                        _ => Moved::End,
                    }
                }
                moved => moved,
            })?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Receives at least one byte.
    fn receive(&self, transport: &mut Transport, bytes: &mut [u8]) -> Result<usize, EngineError> {
        self.wait_for(|| transport.receive(bytes, true))
    }

    /// Repeats a call that waits for the server until it has moved bytes. Returns their number.
    fn wait_for(&self, mut call: impl FnMut() -> Moved) -> Result<usize, EngineError> {
        loop {
            match call() {
                Moved::Bytes(count) => return Ok(count),
                Moved::End | Moved::Failed(Errno::ECONNRESET | Errno::EPIPE) => {
                    let what = format!(
                        "{}: the server closed the connection during the handshake",
                        self.address
                    );
                    return Err(EngineError { what, help: None, errno: Some(Errno::ECONNRESET) }
                        .help("To fix: check the log of the server, and whether it accepts another client"));
                }
                Moved::Wait | Moved::Interrupted
                    if Instant::now() < self.until && !self.end.is_stopped() => {}
                Moved::Wait | Moved::Interrupted => {
                    let time = shown(self.timeout);
                    let what =
                        format!("{}: no answer to the handshake within {time}", self.address);
                    return Err(EngineError { what, help: None, errno: Some(Errno::ETIMEDOUT) }
                        .help("To fix: check the server, which may serve one client at a time, or set a longer `endpoint_timeout`"));
                }
                Moved::Failed(errno) => {
                    return Err(self.failed(&std::io::Error::from_raw_os_error(errno.raw())));
                }
                Moved::Tls(why) => return Err(self.tls_failed(why)),
            }
        }
    }

    fn tls_failed(&self, why: FailureCause) -> EngineError {
        let what = format!("{}: {}", self.address, why.what);
        let help = why.help.unwrap_or_else(|| "To fix: check the log of the server".to_owned());
        EngineError { what, help: Some(help), errno: Some(Errno::EPROTO) }
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
                "To fix: write `nbds` instead of `nbd` in `uri`, and name the certificate of the server's authority: \
                 `tls-certificates=DIRECTORY`"
            }
            NbdError::NoTls(_) => {
                "To fix: give the server a certificate (`nbdkit --tls=on`, `qemu-nbd --tls-creds`), or write `nbd` \
                 instead of `nbds` in `uri`"
            }
            NbdError::Oldstyle | NbdError::Refused { .. } | NbdError::Broken(_) => {
                "To fix: check the version and the configuration of the server"
            }
        };
        EngineError { what, help: None, errno: Some(Errno::EPROTO) }.help(help)
    }
}

/// What a URI says about TLS, as all connections need it.
fn tls_client(tls: &NbdTls) -> Result<TlsClient, EngineError> {
    let file = |name: &str| tls.certificates.as_ref().map(|directory| directory.join(name));
    let authorities = file("ca-cert.pem");
    let trust = match tls.checks_server {
        true => TlsTrust::Authorities(authorities.as_deref()),
        false => TlsTrust::Any,
    };
    let own = file("client-cert.pem").zip(file("client-key.pem"));
    let own = own.filter(|(certificate, _)| certificate.exists());
    let identity = own.as_ref().map(|(certificate, key)| TlsIdentity { certificate, key });
    TlsClient::new(trust, identity, &NAMES)
}

/// Asks the server for the export of a job.
pub(crate) fn ask(plan: &NbdPlan) -> Result<EndpointFacts, EndpointError> {
    let link = NbdLink::open(plan, Goal::Ask, &EndSignal::default())?;
    let export = link.export;
    Ok(EndpointFacts {
        block: Bytes(export.smallest_block.into()),
        read_only: export.flags.has(ExportFlags::READ_ONLY),
        ..EndpointFacts::fixed(Bytes(export.size))
    })
}
