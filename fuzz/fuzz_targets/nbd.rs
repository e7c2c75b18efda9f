//! Any bytes as an NBD server's handshake and replies, and as a URI: `cargo +nightly fuzz run nbd`.
#![no_main]

use fiord_formats::nbd::handshake::{Goal, Handshake, HandshakeStep};
use fiord_formats::nbd::reply::header;
use fiord_formats::nbd::uri::NbdUri;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (greeted, cut, bytes) = input;
    let start: &[u8] = if greeted { b"NBDMAGICIHAVEOPT\0\x03" } else { b"" };
    let whole: Vec<u8> = [start, bytes].concat();
    // However the stream is cut into pieces, the client understands the same.
    assert_eq!(shake(&whole, usize::from(cut) + 1), shake(&whole, whole.len().max(1)));
    let mut rest = bytes;
    while let Ok(Some((reply, len))) = header(rest) {
        assert!(len > 0 && len <= rest.len() && !format!("{reply:?}").is_empty());
        rest = &rest[len..];
    }
    let _ = NbdUri::parse(&String::from_utf8_lossy(bytes));
});

/// What a client sends to a server that sends these bytes in pieces, and how the handshake ends.
fn shake(bytes: &[u8], size: usize) -> (Vec<u8>, String) {
    let mut client = Handshake::new("x", Goal::Use).expect("a short name");
    let mut sent = Vec::new();
    for piece in bytes.chunks(size) {
        let mut piece = piece;
        loop {
            match client.receive(piece) {
                Ok(HandshakeStep::Send(out)) => sent.extend_from_slice(&out),
                // TLS is not asked for.
                Ok(HandshakeStep::Receive | HandshakeStep::StartTls) => break,
                Ok(HandshakeStep::Done(out, export)) => {
                    sent.extend_from_slice(&out);
                    return (sent, format!("{export:?}"));
                }
                Err(error) => {
                    // The text of an error can depend on how much has arrived of bytes that do not come from a server.
                    assert!(!error.to_string().contains(char::is_control));
                    return (sent, "refused".into());
                }
            }
            piece = &[];
        }
    }
    (sent, "it goes on".into())
}
