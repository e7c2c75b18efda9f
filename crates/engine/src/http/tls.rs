//! TLS to servers of objects.

use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_plan::{HttpPlan, HttpTls};
use fiord_types::Errno;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme,
};

use super::failure::RequestFailure;
use super::transport::{self, Moved};
use crate::EngineError;

/// Files in which distributions keep the certificates of authorities.
const BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What all connections of a job share.
pub(super) struct TlsClient(Arc<ClientConfig>);

impl TlsClient {
    /// Prepares TLS for a job. `None`: the job uses none.
    ///
    /// # Errors
    ///
    /// The certificates of the authorities cannot be read.
    pub(super) fn new(plan: &HttpPlan) -> Result<Option<TlsClient>, EngineError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let broken =
            |error: Error| EngineError::plain(format!("https: TLS cannot be set up: {error}"));
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(broken)?;
        let config = match &plan.tls {
            HttpTls::Off => return Ok(None),
            HttpTls::Insecure => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(AnyServer(provider)))
                .with_no_client_auth(),
            HttpTls::Checked { authorities } => {
                let certificates = certificates(authorities.as_deref())?;
                let checked = TrustedServers::new(certificates, provider)?;
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(checked))
                    .with_no_client_auth()
            }
        };
        Ok(Some(TlsClient(Arc::new(config))))
    }

    /// Begins TLS on a connection to a host.
    pub(super) fn wrap(
        &self,
        socket: OwnedFd,
        host: &str,
    ) -> Result<Box<TlsStream>, RequestFailure> {
        let fails = |why: String| RequestFailure::new(Errno::EPROTO, why);
        let name = ServerName::try_from(host.to_owned())
            .map_err(|_| fails(format!("`{host}` is no name that a certificate can have")))?;
        let connection = ClientConnection::new(self.0.clone(), name);
        let connection = connection.map_err(|error| fails(error.to_string()))?;
        Ok(Box::new(TlsStream { socket, connection }))
    }
}

/// The certificates of the authorities: those in a file of the job, in `SSL_CERT_FILE`, or of the system.
fn certificates(own: Option<&Path>) -> Result<Vec<CertificateDer<'static>>, EngineError> {
    let named = own.map(Path::to_path_buf);
    let named = named.or_else(|| std::env::var_os("SSL_CERT_FILE").map(PathBuf::from));
    let found = BUNDLES.iter().map(PathBuf::from).find(|path| path.exists());
    let Some(path) = named.or(found) else {
        let what = "https=on: this machine has no file with the certificates of authorities";
        return Err(EngineError::plain(what).help(
            "To fix: install the package `ca-certificates`, or name a file: `http_ca_file=/path/ca.pem`",
        ));
    };
    let fails = |why: String| {
        let what = format!("https=on: `{}`: {why}", path.display());
        EngineError::plain(what).help(
            "To fix: name a file with certificates in PEM format: `http_ca_file=/path/ca.pem`",
        )
    };
    let read = CertificateDer::pem_file_iter(&path).map_err(|error| fails(error.to_string()))?;
    let list: Vec<_> = read.filter_map(Result::ok).collect();
    match list.is_empty() {
        true => Err(fails("the file contains no certificate".to_owned())),
        false => Ok(list),
    }
}

/// Accepts certificates that an authority has signed, and those that the file with the authorities contains themselves:
/// the usual way to trust a server that signed its own certificate.
#[derive(Debug)]
struct TrustedServers {
    listed: Vec<CertificateDer<'static>>,
    rules: Arc<WebPkiServerVerifier>,
}

impl TrustedServers {
    fn new(
        listed: Vec<CertificateDer<'static>>,
        provider: Arc<CryptoProvider>,
    ) -> Result<Self, EngineError> {
        let mut store = RootCertStore::empty();
        // Files of distributions contain certificates that the library does not accept; the others are enough.
        store.add_parsable_certificates(listed.iter().cloned());
        let rules = WebPkiServerVerifier::builder_with_provider(Arc::new(store), provider);
        let rules = rules.build();
        let rules = rules.map_err(|error| {
            EngineError::plain(format!("https=on: no usable authority: {error}"))
        })?;
        Ok(TrustedServers { listed, rules })
    }
}

impl ServerCertVerifier for TrustedServers {
    fn verify_server_cert(
        &self,
        own: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.rules.verify_server_cert(own, between, name, stapled, now) {
            Err(_) if self.listed.iter().any(|listed| listed == own) => {
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
        self.rules.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.rules.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.rules.supported_verify_schemes()
    }
}

/// A connection with TLS.
pub(super) struct TlsStream {
    socket: OwnedFd,
    connection: ClientConnection,
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
        result(transport::receive(self.fd, to, self.wait))
    }
}

impl Write for RawSocket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        result(transport::send_parts(self.fd, data, &[], self.wait))
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
        _ => Moved::Tls(error.to_string()),
    }
}

impl TlsStream {
    pub(super) fn fd(&self) -> RawFd {
        self.socket.as_raw_fd()
    }

    pub(super) fn wants_write(&self) -> bool {
        self.connection.wants_write()
    }

    fn raw(&self, wait: bool) -> RawSocket {
        RawSocket { fd: self.fd(), wait }
    }

    /// Sends what is encrypted and waits.
    fn flush(&mut self, wait: bool) -> Result<(), Moved> {
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
                Moved::Tls(reason(&error))
            }
        }
    }

    pub(super) fn shake_hands(&mut self, wait: bool) -> Moved {
        loop {
            if let Err(moved) = self.flush(wait) {
                return moved;
            }
            if !self.connection.is_handshaking() {
                return Moved::Bytes(1);
            }
            match self.fill(wait) {
                Moved::Bytes(_) => {}
                Moved::End => return Moved::Tls("the server closed the connection in the TLS handshake. To fix: check that the server speaks TLS at this port".to_owned()),
                other => return other,
            }
        }
    }

    pub(super) fn send(&mut self, first: &[u8], second: &[u8], wait: bool) -> Moved {
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
            Err(error) => Moved::Tls(error.to_string()),
        }
    }

    pub(super) fn receive(&mut self, to: &mut [u8], wait: bool) -> Moved {
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
fn reason(error: &Error) -> String {
    let remedy = match error {
        Error::InvalidCertificate(why) => match why {
            CertificateError::UnknownIssuer
            | CertificateError::BadSignature
            | CertificateError::Other(_) => {
                ". To fix: name the certificate of the server's authority (`http_ca_file=/path/ca.pem`), or do not check \
                 the server (`https=insecure`)"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                ". To fix: write the name in the certificate as `http_host`, or do not check the server \
                 (`https=insecure`)"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                ". To fix: renew the certificate of the server, or do not check it (`https=insecure`)"
            }
            _ => ". To fix: repair the certificate, or do not check the server (`https=insecure`)",
        },
        Error::InvalidMessage(_) => {
            ". To fix: check that the server speaks TLS at this port, or use `https=off`"
        }
        _ => "",
    };
    match error {
        Error::InvalidCertificate(_) => {
            format!("the certificate of the server is not trusted ({error}){remedy}")
        }
        _ => format!("TLS failed: {error}{remedy}"),
    }
}

/// Accepts any certificate (`https=insecure`).
#[derive(Debug)]
struct AnyServer(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(
            message,
            certificate,
            signed,
            &self.0.signature_verification_algorithms,
        )
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
