//! Frames: how a stream of bytes becomes messages.
//!
//! A frame is a header of 12 bytes, whose integers are little-endian, and a body.
//!
//! | bytes | content |
//! |---|---|
//! | 0..4 | `FIRD` |
//! | 4..6 | version of the protocol |
//! | 6..8 | kind of the frame: 1 message, 2 refusal |
//! | 8..12 | length of the body in bytes |
//!
//! This header and the refusal, whose body is one line of UTF-8, stay as they are in all versions, so that two different
//! versions can tell each other why they do not work together. The body of a message is not looked into here.

use fiord_types::{Bytes, is_obeyed};

/// The version of the protocol. Peers with different versions refuse each other.
pub const PROTOCOL: u16 = 1;

/// The largest body of a message in bytes.
pub const MAX_BODY: usize = 16 << 20;

/// The largest body of a message in bytes from a peer that is not trusted yet.
pub const MAX_UNKNOWN: usize = 64 << 10;

/// The largest body of a refusal in bytes.
pub const MAX_REFUSAL: usize = 2 << 10;

/// Length of a frame's header in bytes.
pub const HEADER: usize = 12;

const MAGIC: [u8; 4] = *b"FIRD";
const MESSAGE: u16 = 1;
const REFUSAL: u16 = 2;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A message for the upper layers.
    Message(Vec<u8>),
    /// The peer ends the connection, and says why in one line without control characters.
    Refusal(String),
}

/// Why bytes are not a frame. `Display` is a message for the user.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The bytes do not begin with this protocol's mark.
    #[error("{}", speaker(*.speaks, .beginning))]
    OtherProtocol {
        /// What the bytes look like.
        speaks: Speaks,
        /// The beginning of the bytes, for messages.
        beginning: String,
    },
    /// The peer has another version of this protocol.
    #[error(
        "the peer speaks version {theirs} of fiord's protocol, this fiord speaks version {PROTOCOL}. \
         To fix: install one version of fiord on all hosts"
    )]
    Version {
        /// The peer's version.
        theirs: u16,
    },
    /// The frame has an unknown kind.
    #[error("the peer sent a frame of the unknown kind {kind}")]
    UnknownKind { kind: u16 },
    /// The body is longer than allowed.
    #[error("the peer announced a frame of {length} bytes, at most {most} are allowed")]
    TooLong {
        /// The announced length.
        length: Bytes,
        /// The longest body that is allowed.
        most: Bytes,
    },
}

/// The protocol that the first bytes of a connection belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaks {
    /// fio's client or server.
    Fio {
        /// The version of its protocol.
        version: u16,
    },
    /// TLS, to an end without keys.
    Tls,
    /// HTTP, as port scanners and health checks send it.
    Http,
    /// A server of ssh.
    Ssh,
    /// Text: a shell or a login script that prints something.
    Text,
    /// Anything else.
    Unknown,
}

fn speaker(speaks: Speaks, beginning: &str) -> String {
    let fiord = concat!("this is fiord ", env!("CARGO_PKG_VERSION"));
    match speaks {
        Speaks::Fio { .. } => {
            format!("{fiord}; fio cannot talk to it. To fix: use fiord on both sides")
        }
        Speaks::Tls => {
            format!("{fiord} without keys; the peer uses TLS. To fix: use keys on both sides")
        }
        Speaks::Http => format!("{fiord}; the peer speaks HTTP"),
        Speaks::Ssh => format!("{fiord}; the peer is an ssh server"),
        Speaks::Text => format!(
            "the peer printed `{beginning}` where fiord's protocol was expected. To fix: make the start-up files of the \
             shell print nothing when it is not interactive"
        ),
        Speaks::Unknown => {
            format!("{fiord}; the peer does not speak its protocol (first bytes: {beginning})")
        }
    }
}

/// What a peer that does not speak this protocol gets.
pub(crate) fn plain_line(speaks: Speaks, error: &FrameError) -> Vec<u8> {
    let head = match speaks {
        Speaks::Fio { version } => return fio_text(version, &format!("fiord: {error}\n")),
        Speaks::Http => {
            "HTTP/1.0 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
        }
        _ => "",
    };
    format!("{head}{error}\n").into_bytes()
}

/// A message that fio's client prints (as seen on the connection of fio 3.42): version and kind, flags and tag, the length of
/// the body, and the CRC-16/ARC of this head and of the body. The body has a level, the length of the text, a time and the
/// text.
fn fio_text(version: u16, text: &str) -> Vec<u8> {
    const TEXT: u16 = 5;
    const ERROR: u32 = 2;
    let length = text.len() as u32;
    let mut body = [ERROR.to_le_bytes(), length.to_le_bytes()].concat();
    body.extend([0; 16]);
    body.extend(text.as_bytes());
    let mut message = [version.to_le_bytes(), TEXT.to_le_bytes()].concat();
    message.extend([0; 12]);
    message.extend((body.len() as u32).to_le_bytes());
    let sums = [crc16(&message), crc16(&body)].map(u16::to_le_bytes);
    message.extend(sums.concat());
    message.extend(body);
    message
}

/// CRC-16/ARC.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8)
            .fold(crc ^ u16::from(*byte), |crc, _| crc >> 1 ^ if crc & 1 > 0 { 0xa001 } else { 0 })
    })
}

impl Speaks {
    /// Guesses the protocol from the first bytes of a connection.
    #[must_use]
    pub fn guess(bytes: &[u8]) -> Speaks {
        let starts = |words: &[&str]| words.iter().any(|word| bytes.starts_with(word.as_bytes()));
        if starts(&["GET ", "HEAD ", "POST ", "PUT ", "OPTIONS ", "CONNECT ", "HTTP/", "PRI * "]) {
            return Speaks::Http;
        }
        if starts(&["SSH-"]) {
            return Speaks::Ssh;
        }
        match bytes {
            // A handshake or an alert, with the version of a record.
            [0x15 | 0x16, 3, 0..=4, ..] => Speaks::Tls,
            // Version and opcode are 16 bits wide and small, and the 32 bits of flags are 0 or 1. A version is never 0.
            [version @ 1..=255, 0, 1..=64, 0, 0 | 1, 0, 0, 0, ..] => {
                Speaks::Fio { version: u16::from(*version) }
            }
            _ if text_length(bytes) >= bytes.len().clamp(1, 16) => Speaks::Text,
            _ => Speaks::Unknown,
        }
    }
}

/// How many of the first bytes are text.
fn text_length(bytes: &[u8]) -> usize {
    let text =
        |b: &&u8| b.is_ascii_graphic() || b.is_ascii_whitespace() || **b == 0x1b || **b >= 0x80;
    bytes.iter().take_while(text).count()
}

/// The first line of text, or the first bytes as hexadecimal numbers.
fn beginning(bytes: &[u8], speaks: Speaks) -> String {
    if speaks == Speaks::Text {
        let line = bytes.trim_ascii_start().split(|b| *b == b'\n').next().unwrap_or_default();
        return printable(line, 80);
    }
    bytes.iter().take(8).map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(" ")
}

/// At most `most` characters of text that a peer sent, without control characters.
#[must_use]
pub fn printable(bytes: &[u8], most: usize) -> String {
    let cut = &bytes[..bytes.len().min(most.saturating_mul(4))];
    let text = String::from_utf8_lossy(cut);
    let shown = |c: char| if c.is_control() || is_obeyed(c) { '?' } else { c };
    text.trim().chars().take(most).map(shown).collect()
}

/// Appends the frame of a message to `out`.
///
/// # Panics
/// If the body has more than [`MAX_BODY`] bytes.
pub fn encode_message(body: &[u8], out: &mut Vec<u8>) {
    assert!(body.len() <= MAX_BODY, "a message of {} bytes", body.len());
    encode(MESSAGE, body, out);
}

/// Appends a refusal to `out`. Text beyond [`MAX_REFUSAL`] bytes is cut off.
pub fn encode_refusal(why: &str, out: &mut Vec<u8>) {
    let mut line = printable(why.as_bytes(), MAX_REFUSAL / 4);
    while line.len() > MAX_REFUSAL {
        line.pop();
    }
    encode(REFUSAL, line.as_bytes(), out);
}

fn encode(kind: u16, body: &[u8], out: &mut Vec<u8>) {
    out.reserve(HEADER + body.len());
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&PROTOCOL.to_le_bytes());
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&(body.len() as u32).to_le_bytes());
    out.extend_from_slice(body);
}

/// Splits a stream of bytes into frames. It holds at most one frame and what was pushed last.
#[derive(Debug)]
pub struct FrameDecoder {
    bytes: Vec<u8>,
    /// How many of `bytes` belong to frames that were returned.
    taken: usize,
    most: usize,
    failed: Option<FrameError>,
}

impl Default for FrameDecoder {
    /// Accepts messages of at most [`MAX_UNKNOWN`] bytes.
    fn default() -> Self {
        FrameDecoder { bytes: Vec::new(), taken: 0, most: MAX_UNKNOWN, failed: None }
    }
}

impl FrameDecoder {
    /// Accepts messages of at most [`MAX_BODY`] bytes from now on.
    pub fn trust(&mut self) {
        self.most = MAX_BODY;
    }

    /// Adds bytes that have arrived. Call [`FrameDecoder::next_frame`] until it returns `None` before adding more.
    /// Ignores the bytes after an error.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.bytes.drain(..self.taken);
            self.taken = 0;
            self.bytes.extend_from_slice(bytes);
        }
    }

    /// Whether the last frame is incomplete, so that an end of the stream would cut it off.
    #[must_use]
    pub fn is_within_frame(&self) -> bool {
        self.taken < self.bytes.len()
    }

    /// Takes the next complete frame. `None`: more bytes are needed.
    ///
    /// # Errors
    /// The bytes are not a frame of this protocol. All later calls return this error too.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        self.take().inspect_err(|error| {
            self.failed = Some(error.clone());
            self.bytes = Vec::new();
            self.taken = 0;
        })
    }

    fn take(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.bytes[self.taken..];
        let Some((kind, length)) = header(rest, self.most)? else { return Ok(None) };
        let Some(body) = rest.get(HEADER..HEADER + length) else { return Ok(None) };
        let frame = match kind {
            REFUSAL => Frame::Refusal(printable(body, MAX_REFUSAL)),
            _ => Frame::Message(body.to_vec()),
        };
        self.taken += HEADER + length;
        if self.taken == self.bytes.len() {
            // The memory of a long message is not kept.
            self.bytes.clear();
            self.bytes.shrink_to(MAX_UNKNOWN);
            self.taken = 0;
        }
        Ok(Some(frame))
    }
}

/// Reads a header: kind and length of the body. `None` if it is incomplete.
fn header(bytes: &[u8], most: usize) -> Result<Option<(u16, usize)>, FrameError> {
    let mark = bytes.len().min(MAGIC.len());
    if bytes[..mark] != MAGIC[..mark] {
        let speaks = Speaks::guess(bytes);
        return Err(FrameError::OtherProtocol { speaks, beginning: beginning(bytes, speaks) });
    }
    let Some(header) = bytes.first_chunk::<HEADER>() else { return Ok(None) };
    let number = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let (theirs, kind) = (number(4), number(6));
    let length = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
    if kind != REFUSAL && theirs != PROTOCOL {
        return Err(FrameError::Version { theirs });
    }
    let most = match kind {
        MESSAGE => most,
        REFUSAL => MAX_REFUSAL,
        _ => return Err(FrameError::UnknownKind { kind }),
    };
    if length > most {
        let (length, most) = (Bytes(length as u64), Bytes(most as u64));
        return Err(FrameError::TooLong { length, most });
    }
    Ok(Some((kind, length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn decode(bytes: &[u8]) -> Result<Vec<Frame>, FrameError> {
        let mut decoder = FrameDecoder::default();
        decoder.push(bytes);
        std::iter::from_fn(|| decoder.next_frame().transpose()).collect()
    }

    fn one_error(bytes: &[u8]) -> String {
        decode(bytes).unwrap_err().to_string()
    }

    #[test]
    fn messages_and_refusals_survive() {
        let mut bytes = Vec::new();
        encode_message(b"{}", &mut bytes);
        encode_refusal("no key\u{1b}[2J\n", &mut bytes);
        encode_message(b"", &mut bytes);
        let refusal = Frame::Refusal("no key?[2J".into());
        let frames = [Frame::Message(b"{}".into()), refusal, Frame::Message(Vec::new())];
        assert_eq!(decode(&bytes).unwrap(), frames);
        let mut long = Vec::new();
        encode_refusal(&"\u{1F980}".repeat(9000), &mut long);
        assert!(decode(&long).unwrap().len() == 1 && long.len() <= MAX_REFUSAL + HEADER);
    }

    #[test]
    fn a_frame_of_4_gib_is_refused_at_its_header() {
        let bytes = b"FIRD\x01\0\x01\0\xff\xff\xff\xff";
        let wanted = "the peer announced a frame of 4294967295 bytes, at most 65536 are allowed";
        assert_eq!(one_error(bytes), wanted);
        let mut decoder = FrameDecoder::default();
        decoder.trust();
        decoder.push(b"FIRD\x01\0\x01\0\x01\0\0\x01");
        assert!(decoder.next_frame().unwrap_err().to_string().contains("at most 16777216"));
        // Nothing that follows is kept.
        decoder.push(&[0; 1000]);
        assert!(decoder.next_frame().is_err() && decoder.bytes.capacity() == 0);
        // Only after the peer is trusted, its messages may be long.
        let long = b"FIRD\x01\0\x01\0\0\0\x02\0";
        assert!(matches!(decode(long), Err(FrameError::TooLong { .. })));
        let mut decoder = FrameDecoder::default();
        decoder.trust();
        decoder.push(long);
        assert_eq!(decoder.next_frame(), Ok(None));
    }

    #[test]
    fn other_versions_and_kinds_are_refused() {
        let old = one_error(b"FIRD\0\0\x01\0\0\0\0\0");
        assert!(old.starts_with("the peer speaks version 0 of fiord's protocol"), "{old}");
        assert!(matches!(
            decode(b"FIRD\x01\0\x09\0\0\0\0\0"),
            Err(FrameError::UnknownKind { kind: 9 })
        ));
        // A refusal is readable in every version.
        let refusal = decode(b"FIRD\x09\0\x02\0\x02\0\0\0no").unwrap();
        assert_eq!(refusal, [Frame::Refusal("no".into())]);
    }

    #[test]
    fn other_protocols_are_named() {
        // The first bytes of fio 3.42's client.
        let fio = b"\x79\0\x0a\0\0\0\0\0\xb0\xf7\xd3\xd6\xf6\x55\0\0\x88\0\0\0";
        assert!(one_error(fio).contains("fio cannot talk to it. To fix: use fiord on both sides"));
        let answer = plain_line(Speaks::guess(fio), &FrameError::UnknownKind { kind: 9 });
        let text = b"fiord: the peer sent a frame of the unknown kind 9\n";
        // As fio's server sends a text of this length, but for the checksums: these are those of the standard.
        let length = text.len() as u8;
        let head = [0x79, 0, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 24 + length, 0, 0, 0];
        assert_eq!((&answer[..20], &answer[48..]), (&head[..], &text[..]));
        assert_eq!(answer[24..32], [2, 0, 0, 0, length, 0, 0, 0]);
        assert_eq!(
            (crc16(b"123456789"), crc16(&head).to_le_bytes()),
            (0xbb3d, [answer[20], answer[21]])
        );
        assert!(one_error(b"\x16\x03\x01\x02\0\x01").contains("uses TLS"));
        assert!(one_error(b"GET / HTTP/1.1\r\n\r\n").contains("HTTP"));
        assert!(one_error(b"SSH-2.0-OpenSSH_9.6\r\n").contains("ssh server"));
        let motd = one_error(b"\nWelcome to \x1b[1mn01\x1b[0m!\nHave fun\n");
        assert!(motd.starts_with("the peer printed `Welcome to ?[1mn01?[0m!` where"), "{motd}");
        assert!(one_error(b"\0\x01\x02\xff").contains("first bytes: 00 01 02 ff"));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_frames(
            bodies in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..200), 0..6),
            cut in 1usize..50,
        ) {
            let mut bytes = Vec::new();
            bodies.iter().for_each(|body| encode_message(body, &mut bytes));
            let mut decoder = FrameDecoder::default();
            let mut frames = Vec::new();
            for part in bytes.chunks(cut) {
                decoder.push(part);
                while let Some(frame) = decoder.next_frame().unwrap() {
                    frames.push(frame);
                }
            }
            let wanted: Vec<_> = bodies.into_iter().map(Frame::Message).collect();
            prop_assert_eq!(frames, wanted);
            prop_assert!(!decoder.is_within_frame());
        }

        #[test]
        fn any_bytes_are_frames_or_one_error(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = decode(&bytes);
            let mut marked = b"FIRD\x01\0".to_vec();
            marked.extend_from_slice(&bytes);
            let _ = decode(&marked);
        }
    }
}
