//! Who may connect: connections to other machines need keys, unless the user says otherwise.

use std::path::PathBuf;

use fiord_fabric::hub::{BadEndpoint, Endpoint, Hub};
use fiord_job::command::HostsOptions;

/// Why connections would not be protected.
#[derive(Debug, thiserror::Error)]
pub enum ProtectionError {
    /// The endpoint is reachable from other machines, and there is no key.
    #[error(
        "{endpoint} connects other machines, and there is no key. To fix: run `fiord keys create` on both sides, then \
         `fiord keys trust` with the key of the other side; or use ssh (--hosts=HOST); or write --insecure, if everybody \
         in that network may run jobs on this machine"
    )]
    Open { endpoint: Endpoint },
    /// The name has no address.
    #[error(transparent)]
    Address(#[from] BadEndpoint),
    /// The keys cannot be used.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Keys(#[from] fiord_fabric::keys::KeysError),
    /// TLS cannot use the keys.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] fiord_fabric::tls::TlsError),
    /// The program has no TLS.
    #[cfg(not(feature = "tls"))]
    #[error("this fiord has no keys. To fix: build it with `--features tls`")]
    NotBuilt,
}

/// Where a server listens if the user names no address: on all addresses if it is protected or the user wants no
/// protection, else only on this machine.
#[must_use]
pub fn listening_endpoint(endpoint: Endpoint, options: &HostsOptions) -> Endpoint {
    match endpoint {
        Endpoint::Tcp { host, port, version }
            if host.is_empty() && options.keys.is_none() && !options.insecure =>
        {
            Endpoint::Tcp { host: "localhost".into(), port, version }
        }
        other => other,
    }
}

/// Protects the TCP connections of a hub: with the keys that the options name; without such an option, with the user's
/// keys if other machines can connect to one of the endpoints. Returns whether they are protected, or need no protection.
///
/// # Errors
/// There are no keys, and the options do not allow connections without them.
pub fn protect(
    hub: &mut Hub,
    endpoints: &[&Endpoint],
    options: &HostsOptions,
) -> Result<bool, ProtectionError> {
    if let Some(directory) = &options.keys {
        use_keys(hub, PathBuf::from(directory))?;
        return Ok(true);
    }
    let is_open = |endpoint: &&&Endpoint| endpoint.is_loopback() != Ok(true);
    let Some(open) = endpoints.iter().find(is_open) else { return Ok(true) };
    if options.insecure {
        return Ok(false);
    }
    match own_keys() {
        Some(directory) => use_keys(hub, directory).map(|()| true),
        None => {
            open.is_loopback()?;
            Err(ProtectionError::Open { endpoint: (*open).clone() })
        }
    }
}

/// The directory with the user's keys. `None`: there are none.
#[cfg(feature = "tls")]
fn own_keys() -> Option<PathBuf> {
    let directory = fiord_fabric::keys::default_directory(|name| std::env::var(name).ok());
    directory.filter(|directory| directory.join("key.pem").exists())
}

#[cfg(not(feature = "tls"))]
fn own_keys() -> Option<PathBuf> {
    None
}

#[cfg(feature = "tls")]
fn use_keys(hub: &mut Hub, directory: PathBuf) -> Result<(), ProtectionError> {
    let ring = fiord_fabric::keys::KeyRing::load(&directory)?;
    hub.use_keys(fiord_fabric::tls::TlsKeys::new(&ring)?);
    Ok(())
}

#[cfg(not(feature = "tls"))]
fn use_keys(_: &mut Hub, _: PathBuf) -> Result<(), ProtectionError> {
    Err(ProtectionError::NotBuilt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_machines_need_keys_or_a_decision() {
        let none = HostsOptions::default();
        let protected = |text: &str, options: &HostsOptions| {
            let endpoint = Endpoint::parse(text).unwrap();
            protect(&mut Hub::new().unwrap(), &[&endpoint], options)
        };
        assert!(protected("127.0.0.1,0", &none).unwrap());
        assert!(protected("sock:/x", &none).unwrap());
        let insecure = HostsOptions { insecure: true, ..HostsOptions::default() };
        assert!(!protected("192.0.2.1", &insecure).unwrap());
        assert!(!protected("nowhere.invalid", &insecure).unwrap());
        let nowhere = HostsOptions { keys: Some("/nowhere".into()), ..HostsOptions::default() };
        let error = protected("192.0.2.1", &nowhere).unwrap_err().to_string();
        if cfg!(feature = "tls") {
            assert!(error.contains("/nowhere") && error.contains("fiord keys create"), "{error}");
        }
    }

    #[test]
    fn without_an_address_a_server_listens_on_this_machine_only() {
        let listens = |text: &str, options: &HostsOptions| {
            listening_endpoint(Endpoint::parse(text).unwrap(), options).to_string()
        };
        let none = HostsOptions::default();
        assert_eq!(listens("", &none), "localhost:8765");
        assert_eq!(listens(",80", &none), "localhost:80");
        assert_eq!(listens("192.0.2.1", &none), "192.0.2.1:8765");
        let insecure = HostsOptions { insecure: true, ..HostsOptions::default() };
        assert_eq!(listens("", &insecure), "*:8765");
    }
}
