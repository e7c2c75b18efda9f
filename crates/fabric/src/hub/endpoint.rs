//! Where an agent listens, as fio writes it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// The TCP port of an agent if none is given. It is fio's port.
pub const DEFAULT_PORT: u16 = 8765;

/// Where an agent listens.
///
/// ```
/// use fiord_fabric::hub::{Endpoint, IpVersion};
///
/// let endpoint = Endpoint::parse("ip6:n01,4444")?;
/// let wanted = Endpoint::Tcp { host: "n01".into(), port: 4444, version: IpVersion::V6 };
/// assert_eq!(endpoint, wanted);
/// assert_eq!(Endpoint::parse("n01")?.to_string(), "n01:8765");
/// assert_eq!(Endpoint::parse("[::1]:80")?.to_string(), "[::1]:80");
/// assert_eq!(Endpoint::parse("sock:/run/fiord")?, Endpoint::Unix("/run/fiord".into()));
/// # Ok::<(), fiord_fabric::hub::BadEndpoint>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Endpoint {
    /// A TCP port.
    Tcp {
        /// Name or address. Empty: all addresses of this machine for a listener, this machine for a connection.
        host: String,
        /// The port. 0 for a listener: any free port.
        port: u16,
        /// Which addresses of the host count.
        version: IpVersion,
    },
    /// A Unix socket with this path.
    Unix(PathBuf),
}

/// Which addresses of a host count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IpVersion {
    #[default]
    Any,
    /// IPv4 addresses.
    V4,
    /// IPv6 addresses.
    V6,
}

/// Why a text is not an [`Endpoint`], or a name has no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadEndpoint {
    /// The port is not a number, or above 65535.
    #[error("`{text}` is not a TCP port. To fix: write HOST,PORT with a port from 0 to 65535")]
    Port {
        /// The text in place of the port.
        text: String,
    },
    /// `sock:` without a path.
    #[error("`sock:` without a path. To fix: write sock:PATH")]
    NoPath,
    /// The name has no address.
    #[error(
        "cannot resolve the host `{host}`: {why}. To fix: check the name, or write the address"
    )]
    Unresolved {
        host: String,
        /// What the resolver says.
        why: String,
    },
}

impl Endpoint {
    /// Reads `[ip:|ip4:|ip6:]HOST[,PORT]`, `,PORT`, `HOST:PORT` or `sock:PATH`. An empty text is port
    /// [`DEFAULT_PORT`] of all addresses.
    ///
    /// # Errors
    /// The port is invalid, or the path is missing.
    pub fn parse(text: &str) -> Result<Endpoint, BadEndpoint> {
        if let Some(path) = text.strip_prefix("sock:") {
            return match path {
                "" => Err(BadEndpoint::NoPath),
                path => Ok(Endpoint::Unix(path.into())),
            };
        }
        let (version, rest) = version_of(text);
        let (host, port) = match rest.split_once(',') {
            Some((host, port)) => (host, Some(port)),
            None => host_and_port(rest),
        };
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let port = match port {
            None => DEFAULT_PORT,
            Some(text) => text.parse().map_err(|_| BadEndpoint::Port { text: text.to_owned() })?,
        };
        Ok(Endpoint::Tcp { host: host.to_owned(), port, version })
    }

    /// The TCP port. `None` for a Unix socket.
    #[must_use]
    pub const fn port(&self) -> Option<u16> {
        match self {
            Endpoint::Tcp { port, .. } => Some(*port),
            Endpoint::Unix(_) => None,
        }
    }

    /// Whether only processes of this machine can connect to a listener here. Asks the resolver for the addresses of a
    /// name, which can take seconds.
    ///
    /// # Errors
    /// The name has no address.
    pub fn is_loopback(&self) -> Result<bool, BadEndpoint> {
        match self {
            Endpoint::Unix(_) => Ok(true),
            Endpoint::Tcp { host, .. } if host.is_empty() => Ok(false),
            Endpoint::Tcp { .. } => {
                let addresses = self.addresses()?;
                Ok(addresses.iter().all(|address| address.ip().to_canonical().is_loopback()))
            }
        }
    }

    /// The addresses of the host, with the port; at least one. Those of an empty name are the addresses of this machine
    /// for connections. None for a Unix socket.
    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>, BadEndpoint> {
        let Endpoint::Tcp { host, port, version } = self else { return Ok(Vec::new()) };
        let unresolved = |why: String| BadEndpoint::Unresolved { host: host.clone(), why };
        let name = if host.is_empty() { "localhost" } else { host };
        let all = (name, *port).to_socket_addrs().map_err(|error| unresolved(error.to_string()))?;
        let found: Vec<_> = all.filter(|address| version.includes(address.ip())).collect();
        match (found.is_empty(), version) {
            (false, _) => Ok(found),
            (true, IpVersion::V4) => Err(unresolved("it has no IPv4 address".into())),
            (true, IpVersion::V6) => Err(unresolved("it has no IPv6 address".into())),
            (true, IpVersion::Any) => Err(unresolved("it has no address".into())),
        }
    }

    /// The addresses to listen on. Only the first that works counts if the name is empty.
    pub(super) fn own_addresses(&self) -> Result<Vec<SocketAddr>, BadEndpoint> {
        let all = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
        match self {
            Endpoint::Tcp { host, port, version } if host.is_empty() => {
                let fitting = all.into_iter().filter(|ip| version.includes(*ip));
                Ok(fitting.map(|ip| SocketAddr::new(ip, *port)).collect())
            }
            _ => self.addresses(),
        }
    }
}

impl IpVersion {
    fn includes(self, ip: IpAddr) -> bool {
        match self {
            IpVersion::Any => true,
            IpVersion::V4 => ip.is_ipv4(),
            IpVersion::V6 => ip.is_ipv6(),
        }
    }
}

/// Separates the words with which fio chooses the version of IP.
fn version_of(text: &str) -> (IpVersion, &str) {
    let words = [("ip4:", IpVersion::V4), ("ip6:", IpVersion::V6), ("ip:", IpVersion::V4)];
    words
        .into_iter()
        .find_map(|(word, version)| Some((version, text.strip_prefix(word)?)))
        .unwrap_or((IpVersion::Any, text))
}

/// Separates `HOST:PORT` and `[ADDRESS]:PORT`. Several colons without brackets are an address of IPv6.
fn host_and_port(text: &str) -> (&str, Option<&str>) {
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (text, None),
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Endpoint::Unix(path) => write!(f, "sock:{}", path.display()),
            Endpoint::Tcp { host, port, .. } if host.is_empty() => write!(f, "*:{port}"),
            Endpoint::Tcp { host, port, .. } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Endpoint::Tcp { host, port, .. } => write!(f, "{host}:{port}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(host: &str, port: u16, version: IpVersion) -> Endpoint {
        Endpoint::Tcp { host: host.into(), port, version }
    }

    #[test]
    fn all_forms_of_fio_are_read() {
        let any = IpVersion::Any;
        let forms = [
            ("", tcp("", 8765, any)),
            ("ip:hostname,4444", tcp("hostname", 4444, IpVersion::V4)),
            ("ip4:hostname", tcp("hostname", 8765, IpVersion::V4)),
            ("ip6:::1,4444", tcp("::1", 4444, IpVersion::V6)),
            (",4444", tcp("", 4444, any)),
            ("1.2.3.4", tcp("1.2.3.4", 8765, any)),
            ("1.2.3.4,0", tcp("1.2.3.4", 0, any)),
            ("n1:4444", tcp("n1", 4444, any)),
            ("::1", tcp("::1", 8765, any)),
            ("[::1]", tcp("::1", 8765, any)),
            ("[fe80::1]:9", tcp("fe80::1", 9, any)),
            ("sock:/tmp/fio.sock", Endpoint::Unix("/tmp/fio.sock".into())),
        ];
        for (text, wanted) in forms {
            assert_eq!(Endpoint::parse(text), Ok(wanted), "{text}");
        }
        for text in ["n1,", "n1,65536", "n1:http", ",-1"] {
            assert!(matches!(Endpoint::parse(text), Err(BadEndpoint::Port { .. })), "{text}");
        }
        assert_eq!(Endpoint::parse("sock:"), Err(BadEndpoint::NoPath));
    }

    #[test]
    fn loopback_is_recognised() {
        let is_loopback = |text: &str| Endpoint::parse(text).unwrap().is_loopback();
        assert_eq!(is_loopback("127.0.0.9,80"), Ok(true));
        assert_eq!(is_loopback("::1"), Ok(true));
        assert_eq!(is_loopback("sock:x"), Ok(true));
        assert_eq!(is_loopback(",80"), Ok(false));
        assert_eq!(is_loopback("10.0.0.1"), Ok(false));
        let text = is_loopback("ip6:127.0.0.1").unwrap_err().to_string();
        assert!(text.starts_with("cannot resolve the host `127.0.0.1`: it has no IPv6"), "{text}");
    }
}
