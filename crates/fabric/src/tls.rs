//! TLS between two hosts that trust each other's keys.
//!
//! Only TLS 1.3 is spoken. Each end shows its raw public key (RFC 7250) instead of a certificate, and proves that it has
//! the private key. The other end accepts it if [`KeyRing::trusted`] contains its fingerprint. A [`TlsChannel`] turns
//! messages into bytes for a connection and back. It does no I/O.

use std::fmt;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{AlwaysResolvesClientRawPublicKeys, ClientConfig, Resumption};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{AlwaysResolvesServerRawPublicKeys, ServerConfig};
use rustls::sign::CertifiedKey;
use rustls::{
    AlertDescription, CertificateError, ClientConnection, Connection, DigitallySignedStruct,
    DistinguishedName, Error, OtherError, ServerConnection, SignatureScheme,
};

use crate::keys::{Fingerprint, KeyRing, TrustedKey};

/// What TLS needs to know of the keys. Copies are cheap.
#[derive(Clone)]
pub struct TlsKeys {
    own: Fingerprint,
    trusted: Arc<[TrustedKey]>,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl fmt::Debug for TlsKeys {
    /// Shows no secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsKeys").field("own", &self.own).finish_non_exhaustive()
    }
}

/// Why two hosts cannot talk. `Display` is a message for the user, without the name of the peer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum TlsError {
    /// The peer has a key that this host does not trust.
    #[error(
        "this host does not trust the key {peer} of the peer. To fix: if that is what `fiord keys show` prints there, \
         run `fiord keys trust {peer} NAME` here"
    )]
    Untrusted {
        /// The fingerprint of the peer's key.
        peer: Fingerprint,
    },
    /// The peer does not trust the key of this host.
    #[error(
        "the peer does not trust the key of this host. To fix: run `fiord keys trust {own} NAME` there"
    )]
    NotTrusted {
        /// The fingerprint of this host's key.
        own: Fingerprint,
    },
    /// The peer speaks fiord's protocol without TLS.
    #[error("this host has keys and the peer has none. To fix: use keys on both sides (--keys)")]
    NoKeys,
    /// The peer speaks TLS, but is not fiord.
    #[error("the peer speaks TLS, but has no key that fiord can check; it is not fiord")]
    NotFiord,
    /// The peer does not speak TLS.
    #[error("the peer does not speak TLS. To fix: use fiord with keys on both sides")]
    NotTls,
    /// The peer begins TLS, but not in a way that can be understood.
    #[error(
        "the peer's first TLS message is malformed ({0}); it is not fiord, or the network changed it. fiord accepts \
         only TLS 1.3 with keys on both sides"
    )]
    Malformed(Error),
    /// The peer violates the protocol, or a key is wrong.
    #[error("TLS failed: {0}")]
    Other(Error),
}

impl TlsKeys {
    /// Prepares keys.
    ///
    /// # Errors
    /// The private key has an algorithm that TLS does not have.
    pub fn new(ring: &KeyRing) -> Result<TlsKeys, TlsError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let private = PrivatePkcs8KeyDer::from(ring.private_key()).into();
        let signer = provider.key_provider.load_private_key(private).map_err(TlsError::Other)?;
        let shown = vec![CertificateDer::from(ring.public_key())];
        let identity = Arc::new(CertifiedKey::new(shown, signer));
        let trusted: Arc<[TrustedKey]> = ring.trusted().into();
        let algorithms = provider.signature_verification_algorithms;
        let pinned = Arc::new(PinnedKeys { trusted: trusted.clone(), algorithms });
        let client = client_config(&provider, pinned.clone(), identity.clone());
        let server = server_config(&provider, pinned, identity);
        let (client, server) = (client.map_err(TlsError::Other)?, server.map_err(TlsError::Other)?);
        let own = ring.fingerprint();
        Ok(TlsKeys { own, trusted, client: Arc::new(client), server: Arc::new(server) })
    }
}

fn client_config(
    provider: &Arc<CryptoProvider>,
    pinned: Arc<PinnedKeys>,
    identity: Arc<CertifiedKey>,
) -> Result<ClientConfig, Error> {
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(pinned)
        .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(identity)));
    config.enable_sni = false;
    config.resumption = Resumption::disabled();
    Ok(config)
}

fn server_config(
    provider: &Arc<CryptoProvider>,
    pinned: Arc<PinnedKeys>,
    identity: Arc<CertifiedKey>,
) -> Result<ServerConfig, Error> {
    let mut config = ServerConfig::builder_with_provider(provider.clone())
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_client_cert_verifier(pinned)
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(identity)));
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// One end of a connection with TLS.
#[derive(Debug)]
pub struct TlsChannel {
    connection: Connection,
    keys: TlsKeys,
    /// No byte has arrived yet.
    fresh: bool,
    ended: bool,
    failed: Option<TlsError>,
}

impl TlsChannel {
    /// The end that made the connection.
    ///
    /// # Errors
    /// The random number generator fails.
    pub fn client(keys: &TlsKeys) -> Result<TlsChannel, TlsError> {
        // The name is not sent: keys are pinned, and names are not compared.
        let name = ServerName::try_from("fiord").expect("a valid name");
        let connection = ClientConnection::new(keys.client.clone(), name);
        Ok(TlsChannel::new(connection.map_err(TlsError::Other)?.into(), keys))
    }

    /// The end that accepted the connection.
    ///
    /// # Errors
    /// The random number generator fails.
    pub fn server(keys: &TlsKeys) -> Result<TlsChannel, TlsError> {
        let connection = ServerConnection::new(keys.server.clone());
        Ok(TlsChannel::new(connection.map_err(TlsError::Other)?.into(), keys))
    }

    fn new(mut connection: Connection, keys: &TlsKeys) -> TlsChannel {
        // The caller bounds what it sends.
        connection.set_buffer_limit(None);
        TlsChannel { connection, keys: keys.clone(), fresh: true, ended: false, failed: None }
    }

    /// Whether both ends have not yet proved who they are. Bytes to send wait until then.
    #[must_use]
    pub fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    /// The peer's key. `None` until it has proved that it has the key.
    #[must_use]
    pub fn peer(&self) -> Option<&TrustedKey> {
        if self.is_handshaking() {
            return None;
        }
        let shown = Fingerprint::of(self.connection.peer_certificates()?.first()?);
        self.keys.trusted.iter().find(|key| key.fingerprint == shown)
    }

    /// Encrypts bytes. [`TlsChannel::take`] returns them.
    ///
    /// # Panics
    /// Never: bytes are written to memory.
    pub fn send(&mut self, bytes: &[u8]) {
        self.connection.writer().write_all(bytes).expect("bytes are written to memory");
    }

    /// Says that nothing more will be sent.
    pub fn close(&mut self) {
        self.connection.send_close_notify();
    }

    /// Appends the bytes that are to be written to the connection. Call it after every other call, also after an error,
    /// so that the peer learns the reason.
    ///
    /// # Panics
    /// Never: bytes are written to memory.
    pub fn take(&mut self, out: &mut Vec<u8>) {
        while self.connection.wants_write() {
            self.connection.write_tls(out).expect("bytes are written to memory");
        }
    }

    /// Decrypts bytes that were read from the connection, and appends what the peer sent.
    ///
    /// # Errors
    /// The peer is not trusted or violates the protocol. All later calls return this error too.
    pub fn receive(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.decrypt(bytes, plain).inspect_err(|error| self.failed = Some(error.clone()))
    }

    /// The peer has said that it will send nothing more.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    fn decrypt(&mut self, mut bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), TlsError> {
        if let (true, Some(first)) = (self.fresh, bytes.first()) {
            self.fresh = false;
            match first {
                b'F' => return Err(TlsError::NoKeys),
                // A handshake or an alert.
                0x15 | 0x16 => {}
                _ => return Err(TlsError::NotTls),
            }
        }
        while !bytes.is_empty() && !self.ended {
            // Reading from memory fails only if decrypted bytes were not taken, which `drain` does each time.
            if self.connection.read_tls(&mut bytes).is_err() {
                let error = Error::General(
                    "the peer sent too much data before it proved its identity".into(),
                );
                return Err(TlsError::Other(error));
            }
            let state =
                self.connection.process_new_packets().map_err(|error| self.explain(error))?;
            self.ended = state.peer_has_closed();
            self.drain(plain)?;
        }
        Ok(())
    }

    fn drain(&mut self, plain: &mut Vec<u8>) -> Result<(), TlsError> {
        match self.connection.reader().read_to_end(plain) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => {
                Err(TlsError::Other(Error::General(error.to_string())))
            }
            _ => Ok(()),
        }
    }

    fn explain(&self, error: Error) -> TlsError {
        use AlertDescription as Alert;
        match &error {
            Error::InvalidCertificate(CertificateError::Other(OtherError(cause))) => {
                match cause.downcast_ref::<UntrustedKey>() {
                    Some(UntrustedKey(peer)) => TlsError::Untrusted { peer: *peer },
                    None => TlsError::Other(error),
                }
            }
            Error::AlertReceived(Alert::CertificateUnknown) => {
                TlsError::NotTrusted { own: self.keys.own }
            }
            Error::AlertReceived(Alert::UnsupportedCertificate | Alert::HandshakeFailure)
            | Error::PeerIncompatible(_)
            | Error::NoCertificatesPresented => TlsError::NotFiord,
            // The first byte was that of TLS.
            Error::InvalidMessage(_)
            | Error::PeerMisbehaved(_)
            | Error::InappropriateMessage { .. }
            | Error::InappropriateHandshakeMessage { .. }
            | Error::PeerSentOversizedRecord
                if self.is_handshaking() =>
            {
                TlsError::Malformed(error)
            }
            _ => TlsError::Other(error),
        }
    }
}

/// Accepts the keys in a list.
#[derive(Debug)]
struct PinnedKeys {
    trusted: Arc<[TrustedKey]>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// The peer's key is not in the list.
#[derive(Debug, thiserror::Error)]
#[error("the key {0} is not trusted")]
struct UntrustedKey(Fingerprint);

impl PinnedKeys {
    fn check(&self, key: &CertificateDer<'_>) -> Result<(), Error> {
        let shown = Fingerprint::of(key);
        if self.trusted.iter().any(|trusted| trusted.fingerprint == shown) {
            return Ok(());
        }
        Err(CertificateError::Other(OtherError(Arc::new(UntrustedKey(shown)))).into())
    }

    fn check_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signature, &self.algorithms)
    }
}

/// Only TLS 1.3 is configured.
fn old_version() -> Error {
    Error::General("only TLS 1.3 is allowed".into())
}

impl ServerCertVerifier for PinnedKeys {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(old_version())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for PinnedKeys {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(old_version())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.check_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::tests::{KeyRoom, named};

    /// Moves bytes between both ends until nothing moves. Returns what each end received, or why it gave up.
    fn exchange(
        client: &mut TlsChannel,
        server: &mut TlsChannel,
    ) -> (Result<Vec<u8>, TlsError>, Result<Vec<u8>, TlsError>) {
        let (mut at_client, mut at_server) = (Ok(Vec::new()), Ok(Vec::new()));
        for _ in 0..10 {
            let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
            client.take(&mut to_server);
            // Bytes arrive in small pieces.
            to_server.chunks(1000).for_each(|bytes| deliver(server, bytes, &mut at_server));
            server.take(&mut to_client);
            to_client.chunks(1000).for_each(|bytes| deliver(client, bytes, &mut at_client));
        }
        (at_client, at_server)
    }

    fn deliver(end: &mut TlsChannel, bytes: &[u8], got: &mut Result<Vec<u8>, TlsError>) {
        if let Ok(plain) = got
            && let Err(error) = end.receive(bytes, plain)
        {
            *got = Err(error);
        }
    }

    /// Two hosts, and whether each trusts the other.
    fn pair(room: &KeyRoom, client_trusts: bool, server_trusts: bool) -> (TlsChannel, TlsChannel) {
        let (mut a, mut b) = (room.ring("client"), room.ring("server"));
        let (to_b, to_a) = (named(&b, "the server"), named(&a, "the client"));
        if client_trusts {
            a.trust(to_b).unwrap();
        }
        if server_trusts {
            b.trust(to_a).unwrap();
        }
        let client = TlsChannel::client(&TlsKeys::new(&a).unwrap()).unwrap();
        (client, TlsChannel::server(&TlsKeys::new(&b).unwrap()).unwrap())
    }

    #[test]
    fn hosts_that_trust_each_other_talk() {
        let room = KeyRoom::new("talk");
        let (mut client, mut server) = pair(&room, true, true);
        // Sent before the handshake, and longer than all buffers.
        let (question, answer) = (vec![b'?'; 1 << 20], vec![b'!'; 3 << 20]);
        client.send(&question);
        server.send(&answer);
        assert!(client.peer().is_none() && server.peer().is_none());
        assert_eq!(exchange(&mut client, &mut server), (Ok(answer), Ok(question)));
        assert_eq!(client.peer().unwrap().name, "the server");
        assert_eq!(server.peer().unwrap().name, "the client");
        server.close();
        exchange(&mut client, &mut server).0.unwrap();
        assert!(client.has_ended() && !server.has_ended());
    }

    #[test]
    fn unknown_keys_are_refused_by_both_sides() {
        let room = KeyRoom::new("wrong-client");
        let (mut client, mut server) = pair(&room, true, false);
        client.send(b"secret");
        let (at_client, at_server) = exchange(&mut client, &mut server);
        let own = client.keys.own;
        assert_eq!(at_server, Err(TlsError::Untrusted { peer: own }));
        assert_eq!(at_client, Err(TlsError::NotTrusted { own }));
        assert!(server.peer().is_none());

        let room = KeyRoom::new("wrong-server");
        let (mut client, mut server) = pair(&room, false, true);
        client.send(b"secret");
        let (at_client, at_server) = exchange(&mut client, &mut server);
        let own = server.keys.own;
        assert_eq!(at_client, Err(TlsError::Untrusted { peer: own }));
        assert_eq!(at_server, Err(TlsError::NotTrusted { own }));
        let message = at_client.unwrap_err().to_string();
        assert!(message.contains(&format!("`fiord keys trust {own} NAME` here")), "{message}");
    }

    #[test]
    fn other_protocols_are_named() {
        let room = KeyRoom::new("other");
        let (mut client, mut server) = pair(&room, true, true);
        let mut nothing = Vec::new();
        assert_eq!(client.receive(b"FIRD\x01\0", &mut nothing), Err(TlsError::NoKeys));
        assert_eq!(client.receive(b"\x16", &mut nothing), Err(TlsError::NoKeys));
        assert_eq!(server.receive(b"GET / HTTP/1.1\r\n\r\n", &mut nothing), Err(TlsError::NotTls));
        let (_, mut server) = pair(&KeyRoom::new("other2"), true, true);
        // A record of TLS whose content is none, or has no end.
        let records: [&[u8]; 4] = [
            b"\x16\x03\x01\x00\x05hello",
            b"\x16\x03\x01\x00\x05\x01\0\0\x01\0",
            b"\x16\x03\x01\xff\xff",
            b"\x15\x03\x03\x00\x01\x00",
        ];
        let error = server.receive(records[0], &mut nothing).unwrap_err();
        assert!(error.to_string().contains("first TLS message is malformed"), "{error}");
        for record in &records[1..] {
            let (_, mut server) = pair(&KeyRoom::new("other3"), true, true);
            let error = server.receive(record, &mut nothing).unwrap_err();
            assert!(matches!(error, TlsError::Malformed(_)), "{record:?} {error:?}");
        }
        assert!(nothing.is_empty());
    }

    #[test]
    fn clients_without_a_key_are_refused() {
        let room = KeyRoom::new("keyless");
        let (_, mut server) = pair(&room, true, true);
        let keys = server.keys.clone();
        let provider = keys.server.crypto_provider().clone();
        let algorithms = provider.signature_verification_algorithms;
        let everyone = PinnedKeys { trusted: [named(&room.ring("x"), "x")].into(), algorithms };
        let config = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .unwrap()
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(everyone))
            .with_no_client_auth();
        let name = ServerName::try_from("fiord").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).unwrap();
        let mut client = TlsChannel::new(connection.into(), &keys);
        let (at_client, at_server) = exchange(&mut client, &mut server);
        assert_eq!(at_server, Err(TlsError::NotFiord));
        assert!(at_client.is_err() && server.peer().is_none());
    }
}
