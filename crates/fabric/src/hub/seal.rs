//! Encryption of a connection with the keys of both ends.

use std::fmt::Debug;

use crate::contract::Loss;

/// The keys of this end.
pub(super) trait SealKeys: Debug + Send {
    /// Begins the encryption of a connection. `accepted`: the peer made the connection.
    ///
    /// # Errors
    /// The random number generator fails.
    fn seal(&self, accepted: bool) -> Result<Box<dyn Seal>, Loss>;
}

/// One end of an encrypted connection. It does no I/O.
pub(super) trait Seal: Debug + Send {
    /// Whether both ends have proved who they are.
    fn is_made(&self) -> bool;

    /// What the user calls the key of the peer.
    fn peer(&self) -> Option<&str>;

    /// Encrypts bytes. [`Seal::take`] returns them.
    fn send(&mut self, bytes: &[u8]);

    /// Says that nothing more follows.
    fn close(&mut self);

    /// The bytes for the connection. Call it after every other call, also after an error.
    fn take(&mut self) -> Vec<u8>;

    /// Decrypts bytes, and appends them to `plain`. Returns whether the peer has said that nothing more follows.
    fn receive(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<bool, Unsealed>;
}

/// Why bytes of a peer cannot be read.
#[derive(Debug)]
pub(super) struct Unsealed {
    /// Why the peer is lost.
    pub(super) loss: Loss,
    /// What the peer gets as it is. Empty: what the encryption itself has to say.
    pub(super) answer: Vec<u8>,
}

#[cfg(feature = "tls")]
mod with_tls {
    use super::{Loss, Seal, SealKeys, Unsealed};
    use crate::frame::{FrameDecoder, FrameError, encode_refusal, plain_line};
    use crate::tls::{TlsChannel, TlsError, TlsKeys};

    #[derive(Debug)]
    struct TlsSeal {
        channel: TlsChannel,
        /// The peer made the connection.
        accepted: bool,
    }

    impl SealKeys for TlsKeys {
        fn seal(&self, accepted: bool) -> Result<Box<dyn Seal>, Loss> {
            let channel = match accepted {
                true => TlsChannel::server(self),
                false => TlsChannel::client(self),
            };
            let failed = |error: TlsError| Loss::NotReached { why: error.to_string() };
            Ok(Box::new(TlsSeal { channel: channel.map_err(failed)?, accepted }))
        }
    }

    impl Seal for TlsSeal {
        fn is_made(&self) -> bool {
            !self.channel.is_handshaking()
        }

        fn peer(&self) -> Option<&str> {
            self.channel.peer().map(|key| key.name.as_str())
        }

        fn send(&mut self, bytes: &[u8]) {
            self.channel.send(bytes);
        }

        fn close(&mut self) {
            self.channel.close();
        }

        fn take(&mut self) -> Vec<u8> {
            let mut bytes = Vec::new();
            self.channel.take(&mut bytes);
            bytes
        }

        fn receive(&mut self, bytes: &[u8], plain: &mut Vec<u8>) -> Result<bool, Unsealed> {
            let made = self.is_made();
            match self.channel.receive(bytes, plain) {
                Ok(()) => Ok(self.channel.has_ended()),
                // The peer may refuse the key of this end after this end has accepted the peer's.
                Err(error) if made && !matches!(error, TlsError::NotTrusted { .. }) => {
                    let loss = Loss::Closed { said: error.to_string() };
                    Err(Unsealed { loss, answer: Vec::new() })
                }
                Err(error) => {
                    let answer = self.answer(&error, bytes);
                    let loss = Loss::NotReached { why: error.to_string() };
                    Err(Unsealed { loss, answer })
                }
            }
        }
    }

    impl TlsSeal {
        /// What a peer that does not speak TLS gets.
        fn answer(&self, error: &TlsError, bytes: &[u8]) -> Vec<u8> {
            let mut answer = Vec::new();
            match error {
                TlsError::NoKeys => encode_refusal(&error.to_string(), &mut answer),
                TlsError::NotTls if self.accepted => {
                    let mut decoder = FrameDecoder::default();
                    decoder.push(bytes);
                    if let Err(other @ FrameError::OtherProtocol { speaks, .. }) =
                        decoder.next_frame()
                    {
                        answer = plain_line(speaks, &other);
                    }
                }
                _ => {}
            }
            answer
        }
    }
}
