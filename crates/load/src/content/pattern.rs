//! A pattern that is repeated from the start of every buffer (`buffer_pattern`).

use fiord_job::option::value::PatternPart;

use crate::{Content, Io, LoadError};

/// The bytes of one repetition, and the positions in it that hold the offset of the I/O.
#[derive(Debug, Clone)]
pub struct RepeatedPattern {
    bytes: Vec<u8>,
    /// Positions of `%o`, 8 bytes each.
    offsets: Vec<usize>,
    /// The job also reads into the buffers, so the pattern is written again before each write.
    put_back: bool,
}

impl RepeatedPattern {
    /// The pattern of a plan. `put_back`: the job also reads into the buffers.
    ///
    /// # Errors
    ///
    /// The pattern is empty, or one of its files was not read (see [`with_files`]).
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
            Ok(RepeatedPattern { bytes, offsets, put_back })
        }
    }

    /// Whether a write changes the buffer.
    #[must_use]
    pub fn touches(&self) -> bool {
        self.put_back || !self.offsets.is_empty()
    }

    /// Writes `offset` to the positions of `%o`.
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

/// Replaces every file of a pattern by the bytes that `read` returns for it. A pattern uses no more
/// bytes than the largest block, so `read` may leave out the rest of a file.
///
/// # Errors
///
/// The first error of `read`.
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

impl Content for RepeatedPattern {
    fn prepare(&mut self, buffer: &mut [u8]) {
        for chunk in buffer.chunks_mut(self.bytes.len()) {
            chunk.copy_from_slice(&self.bytes[..chunk.len()]);
        }
    }

    /// Changes only the positions of `%o`, which hold the offset of the I/O in little-endian order,
    /// unless the job also reads.
    #[inline]
    fn fill(&mut self, buffer: &mut [u8], io: &Io) {
        if self.put_back {
            self.prepare(buffer);
        }
        self.put_offset(buffer, io.offset);
    }
}
