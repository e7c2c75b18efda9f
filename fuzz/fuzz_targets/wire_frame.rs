//! Any bytes as frames of a peer, and the messages in them: `cargo +nightly fuzz run wire_frame`.
#![no_main]

use fiord_fabric::frame::{Frame, FrameDecoder, MAX_BODY, MAX_REFUSAL, MAX_UNKNOWN};
use fiord_fabric::message::{FromHost, ToHost, decode, encode};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (trusted, cut, bytes) = input;
    let mut decoder = FrameDecoder::default();
    if trusted {
        decoder.trust();
    }
    // However the stream is cut into pieces, the frames are the same. So the first frame ends where its header says.
    for piece in bytes.chunks(usize::from(cut) + 1) {
        decoder.push(piece);
        loop {
            match decoder.next_frame() {
                Ok(Some(Frame::Message(body))) => {
                    assert!(body.len() <= if trusted { MAX_BODY } else { MAX_UNKNOWN });
                    check::<ToHost>(&body);
                    check::<FromHost>(&body);
                }
                Ok(Some(Frame::Refusal(why))) => {
                    assert!(why.len() <= 4 * MAX_REFUSAL && !why.contains(char::is_control));
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(!error.to_string().contains(char::is_control));
                    return;
                }
            }
        }
    }
    check::<ToHost>(bytes);
    check::<FromHost>(bytes);
});

/// A message that can be read has one form, which is read as the same message.
fn check<M: DeserializeOwned + Serialize>(body: &[u8]) {
    let Ok((message, attached)) = decode::<M>(body) else { return };
    let again = encode(&message, attached);
    let (second, same) = decode::<M>(&again).expect("a message that was encoded");
    assert_eq!(same, attached);
    assert_eq!(encode(&second, attached), again);
}
