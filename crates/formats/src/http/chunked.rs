//! Chunked bodies (RFC 9112, section 7.1).

use super::HttpError;

/// Maximum length of a line with the length of a chunk, or in the trailer, in bytes.
const MAX_LINE: usize = 4096;

/// Maximum length of all lines of the trailer, in bytes.
const MAX_TRAILER: usize = 16 << 10;

/// Finds the data in a chunked body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Chunks {
    state: ChunkState,
    /// Bytes of the current line.
    line: usize,
    /// Bytes of the trailer.
    trailer: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ChunkState {
    /// In the digits of the length; `None` before the first one.
    Length(Option<u64>),
    /// In an extension after the length.
    Extension(u64),
    /// In the data; number of bytes before its end.
    Data(u64),
    /// In the line end after the data; whether the carriage return has passed.
    DataEnd(bool),
    /// In a line of the trailer.
    Trailer,
    /// After the last chunk.
    End,
}

/// What follows in a chunked body.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ChunkStep<'a> {
    /// The input is used up.
    More,
    Data(&'a [u8]),
    /// The body is complete.
    End,
}

impl Chunks {
    pub(super) const fn new() -> Chunks {
        Chunks { state: ChunkState::Length(None), line: 0, trailer: 0 }
    }

    /// Takes bytes from the input.
    pub(super) fn next<'a>(&mut self, input: &mut &'a [u8]) -> Result<ChunkStep<'a>, HttpError> {
        loop {
            match self.state {
                ChunkState::End => return Ok(ChunkStep::End),
                ChunkState::Data(left) if !input.is_empty() => {
                    let room = usize::try_from(left).unwrap_or(usize::MAX);
                    let (data, rest) = input.split_at(room.min(input.len()));
                    *input = rest;
                    self.state = match left - data.len() as u64 {
                        0 => ChunkState::DataEnd(false),
                        left => ChunkState::Data(left),
                    };
                    return Ok(ChunkStep::Data(data));
                }
                _ => {}
            }
            let Some((byte, rest)) = input.split_first() else { return Ok(ChunkStep::More) };
            *input = rest;
            self.byte(*byte)?;
        }
    }

    /// A byte outside the data.
    fn byte(&mut self, byte: u8) -> Result<(), HttpError> {
        self.line += 1;
        if self.line > MAX_LINE {
            return Err(HttpError::BadChunk);
        }
        self.state = match (self.state, byte) {
            (ChunkState::Length(Some(length)), b'\n') | (ChunkState::Extension(length), b'\n') => {
                self.line = 0;
                if length == 0 { ChunkState::Trailer } else { ChunkState::Data(length) }
            }
            (ChunkState::Length(Some(length)), b';' | b' ' | b'\t' | b'\r') => {
                ChunkState::Extension(length)
            }
            (ChunkState::Length(length), digit) => {
                let digit = (digit as char).to_digit(16).ok_or(HttpError::BadChunk)?;
                let length = length.unwrap_or(0);
                let shifted = length.checked_mul(16).ok_or(HttpError::BadChunk)?;
                ChunkState::Length(Some(shifted + u64::from(digit)))
            }
            (ChunkState::Extension(length), _) => ChunkState::Extension(length),
            (ChunkState::DataEnd(false), b'\r') => ChunkState::DataEnd(true),
            (ChunkState::DataEnd(_), b'\n') => {
                self.line = 0;
                ChunkState::Length(None)
            }
            (ChunkState::DataEnd(_), _) => return Err(HttpError::BadChunk),
            (ChunkState::Trailer, b'\n') if self.line == 1 => ChunkState::End,
            (ChunkState::Trailer, b'\n') => {
                self.trailer += self.line;
                self.line = 0;
                if self.trailer > MAX_TRAILER {
                    return Err(HttpError::BadChunk);
                }
                ChunkState::Trailer
            }
            // A carriage return alone does not make the line longer than an empty one.
            (ChunkState::Trailer, b'\r') if self.line == 1 => {
                self.line = 0;
                ChunkState::Trailer
            }
            (ChunkState::Trailer, _) => ChunkState::Trailer,
            // `next` handles these.
            (state @ (ChunkState::Data(_) | ChunkState::End), _) => state,
        };
        Ok(())
    }
}
