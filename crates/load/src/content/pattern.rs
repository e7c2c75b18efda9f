//! A pattern, repeated from the start of every buffer (`buffer_pattern`).

use fiord_job::option::value::PatternPart;

use crate::{Content, Io, LoadError};

/// A pattern as the bytes of one repetition, and where in it the I/O's offset stands.
#[derive(Debug, Clone)]
pub struct Pattern {
    bytes: Vec<u8>,
    /// Where `%o` stands, 8 bytes each.
    offsets: Vec<usize>,
    /// Buffers are also read into: everything is put back before each write.
    put_back: bool,
}

impl Pattern {
    /// Of a plan's parts. Files must have been read into bytes (see [`with_files`]). `put_back`:
    /// whether buffers are also read into.
    pub fn new(parts: &[PatternPart], put_back: bool) -> Result<Self, LoadError> {
        let (mut bytes, mut offsets) = (Vec::new(), Vec::new());
        for part in parts {
            match part {
                PatternPart::Bytes(more) => bytes.extend_from_slice(more),
                PatternPart::Offset => {
                    offsets.push(bytes.len());
                    bytes.extend_from_slice(&[0; 8]);
                }
                PatternPart::File(path) => return Err(LoadError::PatternFile(path.clone())),
            }
        }
        if bytes.is_empty() {
            Err(LoadError::NoPattern)
        } else {
            Ok(Pattern { bytes, offsets, put_back })
        }
    }

    /// Whether a write changes the buffer.
    pub fn touches(&self) -> bool {
        self.put_back || !self.offsets.is_empty()
    }

    /// Puts `offset` where `%o` stands.
    #[inline]
    pub fn put_offset(&self, buffer: &mut [u8], offset: u64) {
        if self.offsets.is_empty() {
            return;
        }
        let offset = offset.to_le_bytes();
        for chunk in buffer.chunks_mut(self.bytes.len()) {
            for &at in &self.offsets {
                let room = chunk.len().saturating_sub(at).min(8);
                if room > 0 {
                    chunk[at..at + room].copy_from_slice(&offset[..room]);
                }
            }
        }
    }
}

/// The parts with every file replaced by what `read` finds in it. More than the largest block of a
/// file is never used; `read` may leave the rest out.
pub fn with_files<E>(
    parts: &[PatternPart],
    mut read: impl FnMut(&str) -> Result<Vec<u8>, E>,
) -> Result<Vec<PatternPart>, E> {
    let resolve = |part: &PatternPart| match part {
        PatternPart::File(path) => read(path).map(PatternPart::Bytes),
        other => Ok(other.clone()),
    };
    parts.iter().map(resolve).collect()
}

impl Content for Pattern {
    fn prepare(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(self.bytes.len()) {
            chunk.copy_from_slice(&self.bytes[..chunk.len()]);
        }
    }

    /// Only what `%o` stands for changes: the offset of the I/O, little-endian.
    #[inline]
    fn fill(&mut self, buffer: &mut [u8], io: &Io) {
        if self.put_back {
            self.prepare(buffer);
        }
        self.put_offset(buffer, io.offset);
    }
}
