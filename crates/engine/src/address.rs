//! The addresses of peers that an engine reaches over a network.

use std::net::{SocketAddr, ToSocketAddrs};

use fiord_types::Errno;

use crate::EngineError;

/// Separates `HOST:PORT`, in which brackets may surround the host.
pub(crate) fn host_and_port(text: &str) -> (&str, &str) {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, ""));
    (host.trim_start_matches('[').trim_end_matches(']'), port)
}

/// The first address of a host that `fits`, with this port. `lacking`: what a host without such an address lacks, for the
/// message.
///
/// # Errors
///
/// The name cannot be resolved, or no address fits.
pub(crate) fn resolve(
    host: &str,
    port: &str,
    fits: impl Fn(&SocketAddr) -> bool,
    lacking: &str,
) -> Result<SocketAddr, EngineError> {
    let why = match (host, port.parse().unwrap_or(0)).to_socket_addrs() {
        Ok(mut all) => match all.find(fits) {
            Some(address) => return Ok(address),
            None => format!("it has no {lacking}"),
        },
        Err(error) => error.to_string(),
    };
    let error = EngineError::plain(format!("cannot resolve the host `{host}`: {why}"));
    Err(EngineError { errno: Some(Errno::EINVAL), ..error }
        .help("To fix: check the name, or write the address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_separated() {
        assert_eq!(host_and_port("n1:80"), ("n1", "80"));
        assert_eq!(host_and_port("[::1]:80"), ("::1", "80"));
        assert_eq!(host_and_port("n1"), ("n1", ""));
    }

    #[test]
    #[cfg_attr(miri, ignore = "needs calls that Miri does not have")]
    fn the_first_fitting_address_counts() {
        let found = resolve("127.0.0.1", "80", SocketAddr::is_ipv4, "IPv4 address").unwrap();
        assert_eq!(found.to_string(), "127.0.0.1:80");
        let error = resolve("127.0.0.1", "80", SocketAddr::is_ipv6, "IPv6 address").unwrap_err();
        assert!(error.what.ends_with("`127.0.0.1`: it has no IPv6 address"), "{error}");
    }
}
