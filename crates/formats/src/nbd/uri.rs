//! URIs of exports.

use std::path::PathBuf;

/// The port of a URI without one.
pub const PORT: u16 = 10809;

/// The server and the export that a URI names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbdUri {
    pub server: NbdServer,
    /// The name of the export; empty: the default export.
    pub export: String,
    /// TLS, if the URI asks for it.
    pub tls: Option<NbdTls>,
}

/// What a URI says about TLS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NbdTls {
    /// `tls-certificates`: a directory with `ca-cert.pem`, and perhaps `client-cert.pem` and `client-key.pem`. `None`: the
    /// authorities of the machine.
    pub certificates: Option<PathBuf>,
    /// The name that the certificate of the server must have: `tls-hostname`, or the host.
    pub host: String,
    /// The certificate of the server is checked (`tls-verify-peer`).
    pub checks_server: bool,
}

/// How a client reaches a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NbdServer {
    /// A host, without the brackets around an IPv6 address, and a port.
    Tcp(String, u16),
    /// A Unix socket.
    Unix(PathBuf),
}

/// Why a URI is wrong. The text continues "the URI".
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NbdUriError {
    /// The scheme is not one of NBD.
    #[error("does not begin with `nbd://`, `nbd+unix://`, `nbds://` or `nbds+unix://`")]
    Scheme,
    /// A parameter about TLS without TLS.
    #[error("has the parameter `{0}`, but does not begin with `nbds://` or `nbds+unix://`")]
    NoTls(String),
    /// TLS with a key that both sides know before.
    #[error(
        "asks for TLS with a pre-shared key (`tls-psk-file`), which `ioengine=nbd` does not have"
    )]
    PreSharedKey,
    /// A value that is neither true nor false.
    #[error("sets `tls-verify-peer` to something other than `true` or `false`")]
    VerifyPeer,
    /// The scheme is that of sockets between virtual machines and their hosts.
    #[error("asks for a vsock connection, which `ioengine=nbd` does not have")]
    Vsock,
    /// A Unix socket without a path.
    #[error("names no socket: `?socket=PATH` is missing")]
    NoSocket,
    /// The URI has a host and a Unix socket.
    #[error("has a host, but a Unix socket has none")]
    HostOfSocket,
    /// The port is not a number from 1 to 65535.
    #[error("has a port that is not a number from 1 to 65535")]
    Port,
    /// A `%` without two hexadecimal digits, or bytes that are not UTF-8.
    #[error("has a `%` without two hexadecimal digits, or is not UTF-8")]
    Escape,
    /// The parameter is unknown.
    #[error("has the unknown parameter `{0}`")]
    Parameter(String),
}

impl NbdUri {
    /// Reads a URI.
    ///
    /// ```
    /// use fiord_formats::nbd::uri::{NbdServer, NbdUri};
    ///
    /// let uri = NbdUri::parse("nbd+unix:///disk%201?socket=/run/nbd.sock").unwrap();
    /// assert_eq!(uri.server, NbdServer::Unix("/run/nbd.sock".into()));
    /// assert_eq!(uri.export, "disk 1");
    /// assert_eq!(NbdUri::parse("nbd://[::1]").unwrap().server, NbdServer::Tcp("::1".into(), 10809));
    /// ```
    ///
    /// # Errors
    ///
    /// The URI is wrong, or names a kind of connection that fiord does not have.
    pub fn parse(text: &str) -> Result<Self, NbdUriError> {
        let (scheme, rest) = text.split_once("://").ok_or(NbdUriError::Scheme)?;
        let (unix, encrypted) = match scheme {
            "nbd" => (false, false),
            "nbd+unix" => (true, false),
            "nbds" => (false, true),
            "nbds+unix" => (true, true),
            "nbd+vsock" | "nbds+vsock" => return Err(NbdUriError::Vsock),
            _ => return Err(NbdUriError::Scheme),
        };
        let rest = rest.split_once('#').map_or(rest, |(rest, _)| rest);
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // The user's name matters only for pre-shared keys.
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        let export = unescaped(path)?;
        let parameters = Parameters::read(query, encrypted)?;
        let server = match (unix, parameters.socket) {
            (true, None) => return Err(NbdUriError::NoSocket),
            (true, Some(_)) if !host.is_empty() => return Err(NbdUriError::HostOfSocket),
            (true, Some(path)) => NbdServer::Unix(path),
            (false, Some(_)) => return Err(NbdUriError::Parameter("socket".into())),
            (false, None) => tcp(host)?,
        };
        let own_name = match &server {
            NbdServer::Tcp(host, _) => host.clone(),
            NbdServer::Unix(_) => "localhost".to_owned(),
        };
        let tls = encrypted.then(|| NbdTls {
            certificates: parameters.certificates,
            host: parameters.host.unwrap_or(own_name),
            checks_server: parameters.checks_server,
        });
        Ok(NbdUri { server, export, tls })
    }
}

struct Parameters {
    socket: Option<PathBuf>,
    certificates: Option<PathBuf>,
    host: Option<String>,
    checks_server: bool,
}

impl Parameters {
    fn read(query: &str, encrypted: bool) -> Result<Self, NbdUriError> {
        let mut found =
            Parameters { socket: None, certificates: None, host: None, checks_server: true };
        for parameter in query.split(['&', ';']).filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if name.starts_with("tls-") && !encrypted {
                return Err(NbdUriError::NoTls(name.to_owned()));
            }
            match (name, value) {
                ("socket", "") => return Err(NbdUriError::NoSocket),
                ("socket", path) => found.socket = Some(unescaped(path)?.into()),
                ("tls-certificates", path) if !path.is_empty() => {
                    found.certificates = Some(unescaped(path)?.into());
                }
                ("tls-hostname", host) if !host.is_empty() => found.host = Some(unescaped(host)?),
                ("tls-verify-peer", "true" | "1") => found.checks_server = true,
                ("tls-verify-peer", "false" | "0") => found.checks_server = false,
                ("tls-verify-peer", _) => return Err(NbdUriError::VerifyPeer),
                ("tls-psk-file", _) => return Err(NbdUriError::PreSharedKey),
                _ => return Err(NbdUriError::Parameter(name.to_owned())),
            }
        }
        Ok(found)
    }
}

/// Reads `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`. Without a host it is this machine.
fn tcp(text: &str) -> Result<NbdServer, NbdUriError> {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, rest)) => (host, rest.strip_prefix(':')),
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let port = match port.filter(|port| !port.is_empty()) {
        Some(port) => port.parse().ok().filter(|port| *port > 0).ok_or(NbdUriError::Port)?,
        None => PORT,
    };
    let host = if host.is_empty() { "localhost".to_owned() } else { unescaped(host)? };
    Ok(NbdServer::Tcp(host, port))
}

/// Replaces `%XX` by bytes.
fn unescaped(text: &str) -> Result<String, NbdUriError> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        if first != b'%' {
            bytes.push(first);
            continue;
        }
        let digits = rest.split_at_checked(2).ok_or(NbdUriError::Escape)?;
        let digit = |at: usize| (digits.0[at] as char).to_digit(16).ok_or(NbdUriError::Escape);
        bytes.push((digit(0)? * 16 + digit(1)?) as u8);
        rest = digits.1;
    }
    String::from_utf8(bytes).map_err(|_| NbdUriError::Escape)
}
