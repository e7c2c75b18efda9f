//! TLS on connections to servers with storage.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_types::Errno;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use crate::EngineError;
use crate::error::FailureCause;
use crate::socket_calls::{self, Moved};
use crate::tls_options::{TlsIdentity, TlsNames, TlsTrust};

/// Files in which distributions keep the certificates of authorities.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What all connections of a job share.
#[derive(Debug)]
pub(crate) struct TlsClient {
    config: Arc<ClientConfig>,
    names: &'static TlsNames,
}

impl TlsClient {
    /// Prepares TLS for a job.
    ///
    /// # Errors
    ///
    /// A file with certificates or a key cannot be read.
    pub(crate) fn new(
        trust: TlsTrust<'_>,
        identity: Option<TlsIdentity<'_>>,
        names: &'static TlsNames,
    ) -> Result<TlsClient, EngineError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let broken = |error: Error| {
            EngineError::plain(format!("{}: TLS cannot be set up: {error}", names.on))
        };
        let trusted = match trust {
            TlsTrust::Any => None,
            TlsTrust::Authorities(file) => {
                Some(Authorities::new(certificates(file, names)?, provider.clone(), names)?)
            }
        };
        let checker = ServerCheck { trusted, provider: provider.clone() };
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(broken)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(checker));
        let config = match identity {
            None => builder.with_no_client_auth(),
            Some(TlsIdentity { certificate, key }) => {
                let chain = listed(certificate, names)?;
                let key = PrivateKeyDer::from_pem_file(key).map_err(|error| {
                    unreadable(key, &error.to_string(), names)
                        .help("To fix: write the key of the client to this file, in PEM format")
                })?;
                builder.with_client_auth_cert(chain, key).map_err(broken)?
            }
        };
        Ok(TlsClient { config: Arc::new(config), names })
    }

    /// Begins TLS on a connection to a host.
    ///
    /// # Errors
    ///
    /// The reason: no certificate can name this host.
    pub(crate) fn wrap(
        &self,
        socket: OwnedFd,
        host: &str,
    ) -> Result<Box<TlsStream>, TlsStartError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| TlsStartError::NotAName(host.to_owned()))?;
        let connection = ClientConnection::new(self.config.clone(), name);
        let connection = connection.map_err(TlsStartError::Refused)?;
        Ok(Box::new(TlsStream { socket, connection, names: self.names }))
    }
}

/// Why a connection cannot begin TLS.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TlsStartError {
    #[error("`{0}` is not a name that a certificate can have")]
    NotAName(String),
    #[error(transparent)]
    Refused(rustls::Error),
}

/// The certificates of the authorities: those in a file of the job, in `SSL_CERT_FILE`, or of the system.
fn certificates(
    own: Option<&Path>,
    names: &TlsNames,
) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    let named = own.map(Path::to_path_buf);
    let named = named.or_else(|| std::env::var_os("SSL_CERT_FILE").map(PathBuf::from));
    let found = BUNDLES.iter().map(PathBuf::from).find(|path| path.exists());
    let Some(path) = named.or(found) else {
        let what =
            format!("{}: this machine has no file with the certificates of authorities", names.on);
        return Err(EngineError::plain(what).help(format!(
            "To fix: install the package `ca-certificates`, or name a file: {}",
            names.authorities
        )));
    };
    listed(&path, names)
}

/// The certificates in a file.
fn listed(path: &Path, names: &TlsNames) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    let fails = |why: &str| {
        let help =
            format!("To fix: name a file with certificates in PEM format: {}", names.authorities);
        unreadable(path, why, names).help(&help)
    };
    let read = CertificateDer::pem_file_iter(path).map_err(|error| fails(&error.to_string()))?;
    let list: Vec<_> = read.filter_map(Result::ok).collect();
    match list.is_empty() {
        true => Err(fails("the file contains no certificate")),
        false => Ok(list),
    }
}

fn unreadable(path: &Path, why: &str, names: &TlsNames) -> EngineError {
    EngineError::plain(format!("{}: `{}`: {why}", names.on, path.display()))
}

/// The authorities that a job trusts.
#[derive(Debug)]
struct Authorities {
    listed: Vec<CertificateDer<'static>>,
    rules: Arc<WebPkiServerVerifier>,
}

impl Authorities {
    fn new(
        listed: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
        names: &TlsNames,
    ) -> Result<Self, EngineError> {
        let mut store = RootCertStore::empty();
        // Files of distributions contain certificates that the library does not accept; the others are enough.
        store.add_parsable_certificates(listed.iter().cloned());
        let rules = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider);
        let rules = rules.build();
        let rules = rules.map_err(|error| {
            EngineError::plain(format!("{}: no usable authority: {error}", names.on))
        })?;
        Ok(Authorities { listed, rules })
    }
}

/// Accepts certificates that an authority has signed, and those that the file with the authorities contains themselves:
/// the usual way to trust a server that signed its own certificate. Without authorities, accepts any certificate.
#[derive(Debug)]
struct ServerCheck {
    trusted: Option<Authorities>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for ServerCheck {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(Authorities { listed, rules }) = &self.trusted else {
            return Ok(ServerCertVerified::assertion());
        };
        match rules.verify_server_cert(own, between, name, stapled, now) {
            Err(_) if listed.iter().any(|listed| listed == own) => {
                Ok(ServerCertVerified::assertion())
            }
            result => result,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// A connection with TLS.
pub(crate) struct TlsStream {
    socket: OwnedFd,
    connection: ClientConnection,
    names: &'static TlsNames,
}

/// The socket as a reader and writer, with or without waiting.
struct RawSocket {
    fd: RawFd,
    wait: bool,
}

fn result(moved: Moved) -> io::Result<usize> {
    match moved {
        Moved::Bytes(bytes) => Ok(bytes),
        Moved::End => Ok(0),
        Moved::Wait => Err(ErrorKind::WouldBlock.into()),
        // `Interrupted` would be tried again by the library.
        Moved::Interrupted => Err(ErrorKind::WouldBlock.into()),
        Moved::Failed(errno) => Err(io::Error::from_raw_os_error(errno.raw())),
        Moved::Tls(why) => Err(io::Error::other(why)),
    }
}

impl Read for RawSocket {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        result(socket_calls::receive(self.fd, to, self.wait))
    }
}

impl Write for RawSocket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        result(socket_calls::send_parts(self.fd, data, &[], self.wait))
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// How an error of a call on the socket is reported.
fn failed(error: &io::Error) -> Moved {
    match (error.kind(), error.raw_os_error()) {
        (ErrorKind::WouldBlock, _) => Moved::Wait,
        (_, Some(errno)) => Moved::Failed(Errno::from_raw(errno)),
        _ => Moved::Tls(error.to_string().into()),
    }
}

impl TlsStream {
    pub(crate) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub(crate) fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    fn raw(&self, wait: bool) -> RawSocket {
        RawSocket { fd: self.fd(), wait }
    }

    /// Encrypts bytes and keeps them for the next [`TlsStream::flush`]. Returns how many: 0 if it keeps much already.
    pub(crate) fn keep(&mut self, data: &[u8]) -> usize {
        self.connection.writer().write(data).unwrap_or(0)
    }

    /// Sends what is encrypted and waits.
    ///
    /// # Errors
    ///
    /// Why something of it was not sent.
    pub(crate) fn flush(&mut self, wait: bool) -> Result<(), Moved> {
        let mut raw = self.raw(wait);
        while self.connection.wants_write() {
            match self.connection.write_tls(&mut raw) {
                Ok(_) => {}
                Err(error) => return Err(failed(&error)),
            }
        }
        Ok(())
    }

    /// Receives and decrypts. `Bytes` means that something arrived, not necessarily data.
    fn fill(&mut self, wait: bool) -> Moved {
        let mut raw = self.raw(wait);
        match self.connection.read_tls(&mut raw) {
            Ok(0) => return Moved::End,
            Ok(_) => {}
            Err(error) => return failed(&error),
        }
        match self.connection.process_new_packets() {
            Ok(_) => Moved::Bytes(1),
            Err(error) => {
                // The server learns why.
                let _ = self.flush(false);
                Moved::Tls(reason(&error, self.names))
            }
        }
    }

    pub(crate) fn shake_hands(&mut self, wait: bool) -> Moved {
        loop {
            if let Err(moved) = self.flush(wait) {
                return moved;
            }
            if !self.connection.is_handshaking() {
                return Moved::Bytes(1);
            }
            match self.fill(wait) {
                Moved::Bytes(_) => {}
                Moved::End => {
                    let what = "the server closed the connection in the TLS handshake";
                    let help = "To fix: check that the server speaks TLS at this port";
                    return Moved::Tls(FailureCause::from(what).help(help));
                }
                other => return other,
            }
        }
    }

    pub(crate) fn send(&mut self, first: &[u8], second: &[u8], wait: bool) -> Moved {
        if let Err(moved) = self.flush(wait) {
            return moved;
        }
        let part = if first.is_empty() { second } else { first };
        match self.connection.writer().write(part) {
            Ok(bytes) => match self.flush(wait) {
                // What the library has taken will be sent.
                Ok(()) | Err(Moved::Wait) if bytes > 0 => Moved::Bytes(bytes),
                Ok(()) => Moved::Wait,
                Err(moved) => moved,
            },
            Err(error) => Moved::Tls(error.to_string().into()),
        }
    }

    pub(crate) fn receive(&mut self, to: &mut [u8], wait: bool) -> Moved {
        if self.wants_write()
            && let Err(moved) = self.flush(wait)
            && moved != Moved::Wait
        {
            return moved;
        }
        loop {
            match self.connection.reader().read(to) {
                Ok(0) => return Moved::End,
                Ok(bytes) => return Moved::Bytes(bytes),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                // The server ended the connection without a farewell.
                Err(_) => return Moved::End,
            }
            match self.fill(wait) {
                // The next read says what kind of end it was.
                Moved::Bytes(_) | Moved::End => {}
                other => return other,
            }
        }
    }
}

/// Why TLS failed, with a remedy where one is known.
fn reason(error: &Error, names: &TlsNames) -> FailureCause {
    let what = match error {
        Error::InvalidCertificate(_) => {
            format!("the certificate of the server is not trusted ({error})")
        }
        Error::AlertReceived(alert) => {
            format!("TLS failed: {error}. The server ended the connection with the alert {alert:?}")
        }
        _ => format!("TLS failed: {error}"),
    };
    FailureCause { what, help: remedy(error, names) }
}

/// What the user can do about a failure of TLS.
fn remedy(error: &Error, names: &TlsNames) -> Option<String> {
    let TlsNames { authorities, unchecked, host, off, .. } = names;
    Some(match error {
        Error::InvalidCertificate(why) => match why {
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::Other(_) => format!(
                "To fix: name the certificate of the server's authority ({authorities}), or do not check the server \
                 ({unchecked})"
            ),
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                format!(
                    "To fix: write the name in the certificate as {host}, or do not check the server ({unchecked})"
                )
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                format!(
                    "To fix: renew the certificate of the server, or do not check it ({unchecked})"
                )
            }
            _ => {
                format!("To fix: repair the certificate, or do not check the server ({unchecked})")
            }
        },
        Error::InvalidMessage(_) => {
            format!("To fix: check that the server speaks TLS at this port, or use {off}")
        }
        Error::AlertReceived(_) => {
            "To fix: check the log of the server, and whether it wants a certificate of the client"
                .to_owned()
        }
        _ => return None,
    })
}
