//! Requests of a client.

use super::Fields;

/// The length of a request in bytes. The data of a write follow it.
pub const REQUEST_LEN: usize = 28;

/// The first bytes of a request.
const MAGIC: u32 = 0x2560_9513;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum NbdCommand {
    /// Reads data.
    Read = 0,
    /// Writes the data that follow the request.
    Write = 1,
    /// Ends the connection. The server sends no reply.
    Disconnect = 2,
    /// Makes all completed writes durable.
    Flush = 3,
    /// Permits the server to forget the data.
    Trim = 4,
    WriteZeroes = 6,
}

/// A flag of a request: the write is durable when the server answers.
pub const FUA: u16 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NbdRequest {
    /// What it asks for.
    pub command: NbdCommand,
    /// [`FUA`] or 0.
    pub flags: u16,
    /// The reply has the same number.
    pub cookie: u64,
    /// The first byte, 0 for a flush.
    pub offset: u64,
    /// The number of bytes, 0 for a flush.
    pub len: u32,
}

impl NbdRequest {
    /// The request as bytes.
    #[inline]
    #[must_use]
    pub fn encode(&self) -> [u8; REQUEST_LEN] {
        let mut bytes = [0; REQUEST_LEN];
        bytes[..4].copy_from_slice(&MAGIC.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.flags.to_be_bytes());
        bytes[6..8].copy_from_slice(&(self.command as u16).to_be_bytes());
        bytes[8..16].copy_from_slice(&self.cookie.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.offset.to_be_bytes());
        bytes[24..].copy_from_slice(&self.len.to_be_bytes());
        bytes
    }

    /// The request of these bytes, for servers of tests. `None`: it is none, or its command is unknown.
    #[must_use]
    pub fn decode(bytes: &[u8; REQUEST_LEN]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let magic = fields.u32()?;
        let (flags, command) = (fields.u16()?, fields.u16()?);
        let command = match command {
            0 => NbdCommand::Read,
            1 => NbdCommand::Write,
            2 => NbdCommand::Disconnect,
            3 => NbdCommand::Flush,
            4 => NbdCommand::Trim,
            6 => NbdCommand::WriteZeroes,
            _ => return None,
        };
        let (cookie, offset, len) = (fields.u64()?, fields.u64()?, fields.u32()?);
        (magic == MAGIC).then_some(NbdRequest { command, flags, cookie, offset, len })
    }
}
