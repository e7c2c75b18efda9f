//! Replies of a server: simple ones, and those that consist of chunks.

use super::{Fields, NbdError, shown};

/// Maximum length of the header that [`header`] needs, in bytes, without the text of an error.
pub const MAX_HEADER: usize = 32;

/// Maximum length of the text of an error that a client accepts, in bytes.
const MAX_ERROR: u32 = 8192;

const SIMPLE: u32 = 0x6744_6698;
const STRUCTURED: u32 = 0x668e_33ef;
/// The chunk is the last one of its reply.
const DONE: u16 = 1;
const NONE: u16 = 0;
const OFFSET_DATA: u16 = 1;
const OFFSET_HOLE: u16 = 2;
const ERROR: u16 = (1 << 15) + 1;
const ERROR_OFFSET: u16 = (1 << 15) + 2;
/// Types with this bit are errors, also those that a client does not know.
const IS_ERROR: u16 = 1 << 15;

/// The beginning of a reply, or of a chunk of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyHeader {
    /// The number of the request.
    pub cookie: u64,
    /// The last header of the reply.
    pub done: bool,
    /// What it contains.
    pub content: ReplyContent,
}

/// What a reply or a chunk contains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReplyContent {
    /// The answer is that of a simple reply. 0: success, and the data of a read follow; otherwise an errno.
    Simple(u32),
    Nothing,
    /// Data for this offset of the export; `len` bytes follow.
    Data {
        /// The first byte.
        offset: u64,
        /// The number of bytes that follow, at least 1.
        len: u32,
    },
    /// Zeroes, which are not sent.
    Hole {
        /// The first byte.
        offset: u64,
        /// The number of zeroes.
        len: u32,
    },
    /// The request failed.
    Error {
        /// The errno; not 0.
        errno: u32,
        /// The server's reason; can be empty.
        why: String,
    },
}

/// Reads the header at the front of bytes. Returns it with its length in bytes; `None`: it is not complete.
///
/// ```
/// use fiord_formats::nbd::reply::{ReplyContent, header};
///
/// let simple = [0x67, 0x44, 0x66, 0x98, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 9];
/// let (reply, len) = header(&simple).unwrap().unwrap();
/// assert_eq!((reply.cookie, reply.content, len), (9, ReplyContent::Simple(5), 16));
/// assert_eq!(header(&simple[..15]), Ok(None));
/// ```
///
/// # Errors
///
/// The bytes are not a reply.
#[inline]
pub fn header(bytes: &[u8]) -> Result<Option<(ReplyHeader, usize)>, NbdError> {
    let mut fields = Fields(bytes);
    let Some(magic) = fields.u32() else { return Ok(None) };
    match magic {
        SIMPLE => {
            let (Some(errno), Some(cookie)) = (fields.u32(), fields.u64()) else { return Ok(None) };
            Ok(Some((ReplyHeader { cookie, done: true, content: ReplyContent::Simple(errno) }, 16)))
        }
        STRUCTURED => chunk(fields),
        _ => Err(NbdError::Broken("a reply begins with an unknown magic number")),
    }
}

/// Reads a chunk after its first 4 bytes.
fn chunk(mut fields: Fields) -> Result<Option<(ReplyHeader, usize)>, NbdError> {
    let (Some(flags), Some(kind)) = (fields.u16(), fields.u16()) else { return Ok(None) };
    let (Some(cookie), Some(len)) = (fields.u64(), fields.u32()) else { return Ok(None) };
    let header = |content| ReplyHeader { cookie, done: flags & DONE != 0, content };
    let wrong = |what| Err(NbdError::Broken(what));
    match kind {
        NONE if len != 0 => wrong("an empty chunk has a length"),
        NONE if flags & DONE == 0 => wrong("an empty chunk does not end its reply"),
        NONE => Ok(Some((header(ReplyContent::Nothing), 20))),
        OFFSET_DATA if len <= 8 => wrong("a chunk of data is empty"),
        OFFSET_DATA => {
            Ok(fields.u64().map(|offset| (header(ReplyContent::Data { offset, len: len - 8 }), 28)))
        }
        OFFSET_HOLE if len != 12 => wrong("the chunk of a hole is not 12 bytes long"),
        OFFSET_HOLE => {
            let (Some(offset), Some(len)) = (fields.u64(), fields.u32()) else { return Ok(None) };
            match len {
                0 => wrong("a hole has no size"),
                _ => Ok(Some((header(ReplyContent::Hole { offset, len }), 32))),
            }
        }
        kind if kind & IS_ERROR != 0 => {
            let least = match kind {
                ERROR => 6,
                ERROR_OFFSET => 14,
                _ => 4,
            };
            if !(least..=MAX_ERROR).contains(&len) {
                return wrong("an error has an impossible length");
            }
            let Some(payload) = fields.bytes(len as usize) else { return Ok(None) };
            let content = error(kind, payload)
                .ok_or(NbdError::Broken("the text of an error is longer than its chunk"))?;
            Ok(Some((header(content), 20 + len as usize)))
        }
        _ => wrong("a chunk has an unknown type"),
    }
}

/// Reads the payload of an error. `None`: its text does not fit.
fn error(kind: u16, payload: &[u8]) -> Option<ReplyContent> {
    let mut fields = Fields(payload);
    // An error without an error is one all the same.
    let errno = fields.u32()?.max(1);
    let why = match kind {
        ERROR | ERROR_OFFSET => {
            let len = fields.u16()?;
            shown(fields.bytes(len.into())?)
        }
        _ => String::new(),
    };
    Some(ReplyContent::Error { errno: if errno > 4095 { 22 } else { errno }, why })
}
