//! The NBD protocol, without I/O: the client's side of the handshake, requests, replies, and URIs.
//!
//! | question | module |
//! |---|---|
//! | how do client and server agree on an export? | [`handshake`] |
//! | how is a request written? | [`request`] |
//! | how is a reply read? | [`reply`] |
//! | which server and which export does a URI name? | [`uri`] |
//!
//! The specification is `doc/proto.md` of the project NetworkBlockDevice.

pub mod handshake;
pub mod reply;
pub mod request;
pub mod uri;

/// What a server permits on an export: the transmission flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ExportFlags(pub u16);

impl ExportFlags {
    /// The other flags have a meaning.
    pub const HAS_FLAGS: u16 = 1;
    /// Writes and trims are not permitted.
    pub const READ_ONLY: u16 = 1 << 1;
    /// The server has `NBD_CMD_FLUSH`.
    pub const SEND_FLUSH: u16 = 1 << 2;
    /// The server has `NBD_CMD_FLAG_FUA`.
    pub const SEND_FUA: u16 = 1 << 3;
    /// The server has `NBD_CMD_TRIM`.
    pub const SEND_TRIM: u16 = 1 << 5;
    /// The server has `NBD_CMD_WRITE_ZEROES`.
    pub const SEND_WRITE_ZEROES: u16 = 1 << 6;
    /// All connections see what any of them has flushed.
    pub const CAN_MULTI_CONN: u16 = 1 << 8;

    /// Whether the server has set a flag.
    #[must_use]
    pub const fn has(self, flag: u16) -> bool {
        self.0 & Self::HAS_FLAGS != 0 && self.0 & flag != 0
    }
}

/// An export, as the server describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// Size of the export in bytes.
    pub size: u64,
    /// What the server permits.
    pub flags: ExportFlags,
    /// Offsets and lengths must be multiples of this size in bytes; at least 1.
    pub smallest_block: u32,
    /// The largest length of a read or a write, in bytes.
    pub largest_block: u32,
    /// Replies to reads consist of chunks.
    pub structured: bool,
}

impl Export {
    /// Maximum length of a read or a write that every server accepts which states none: 32 MiB.
    pub const USUAL_MAX_BLOCK: u32 = 32 << 20;
}

/// The server broke the protocol, or refused. The text is one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NbdError {
    /// The bytes are not those of an NBD server.
    #[error("this is not an NBD server: it begins with {0:?}")]
    NoServer(String),
    /// The server speaks the protocol before the year 2011.
    #[error("the server speaks the oldstyle protocol, which has no exports and no options")]
    Oldstyle,
    /// The server has no export of this name.
    #[error("the server has no export `{name}`{}", after(.said))]
    UnknownExport {
        name: String,
        /// The server's own words.
        said: String,
    },
    /// The server wants TLS.
    #[error("the server requires TLS{}", after(.0))]
    TlsRequired(String),
    /// The client wants TLS, and the server has none.
    #[error("the server has no TLS{}", after(.0))]
    NoTls(String),
    /// The server refused an option for another reason.
    #[error("the server refuses the export: {what}{}", after(.said))]
    Refused {
        /// What the number of the reply means.
        what: &'static str,
        /// The server's own words.
        said: String,
    },
    /// The bytes break the protocol.
    #[error("the server breaks the NBD protocol: {0}")]
    Broken(&'static str),
}

/// The server's words after a message.
fn after(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!(" ({said})") }
}

/// Text from a server, for messages: at most 200 characters, without control characters.
fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    text.chars().filter(|c| !c.is_control()).take(200).collect()
}

/// Reads integers from the front of bytes.
#[derive(Debug, Clone, Copy)]
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }
    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }
    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }
    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }
    fn bytes(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(head)
    }
}

#[cfg(test)]
mod tests;
