//! Whole writes: all intervals of a write are made, and checked, in one call.

use std::fmt;
use std::sync::Arc;

use super::ahead::DigestsAhead;
use super::body::Body;
use super::header::{Corruption, Expected, HeaderLayout, VerifyHeader};
use super::interval::{self, IntervalError, exchange, header_and_digest, seal_with};
use super::method::{Digest, Method};
use super::pattern::BodyPattern;

/// Changes the body of a write below its headers, so that storage can compress it or find duplicates in it.
pub trait BodyShape: fmt::Debug + Send + Sync {
    /// Changes `body`, the whole body of a write at an offset of its file. `seed`: that of the body. The result depends on
    /// nothing else.
    fn shape(&self, seed: u64, offset: u64, body: &mut [u8]);
}

/// What the writes of a job contain.
#[derive(Debug, Clone)]
pub struct WriteFormat {
    method: Method,
    /// Bytes from one header to the next. 0: each write is one interval.
    interval: usize,
    /// Position of the header in its interval. 0: at its start.
    header_offset: usize,
    pattern: Option<BodyPattern>,
    /// Changes bodies that are computed from their seed.
    shape: Option<Arc<dyn BodyShape>>,
}

/// What distinguishes one write from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriteIdentity {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Seed of the body.
    pub seed: u64,
    /// Number of writes that the job had issued before.
    pub number: u64,
    /// Number of the thread of the job, from 1: its low 16 bits.
    pub thread: u16,
    /// Start of the write on the monotonic clock: whole seconds.
    pub seconds: u32,
    /// Nanoseconds after `seconds`.
    pub nanos: u32,
}

impl WriteIdentity {
    /// The header of the first interval, without its length.
    fn header(&self, method: Method) -> VerifyHeader {
        VerifyHeader {
            layout: HeaderLayout::Current,
            method,
            length: 0,
            seed: self.seed,
            offset: self.offset,
            seconds: self.seconds,
            fraction: self.nanos,
            number: self.number,
            thread: self.thread,
        }
    }
}

/// What a reader knows about a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExpectedWrite {
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Seed of the body; `None` if `verify_header_seed` is off.
    pub seed: Option<u64>,
    /// Number of the write; `None` if `verify_write_sequence` is off.
    pub number: Option<u64>,
}

/// The first bad interval of a write.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{corruption} (interval of {length} bytes at position {position} of the write)")]
pub struct BadInterval {
    /// Position of the interval in the write, in bytes.
    pub position: usize,
    /// Length of the interval in bytes.
    pub length: usize,
    /// How its contents differ.
    #[source]
    pub corruption: Corruption,
}

impl WriteFormat {
    /// The format of a job. `interval` is the resolved `verify_interval`, or 0 if each write is one interval;
    /// `header_offset` is `verify_offset`.
    ///
    /// # Errors
    /// The header and digest do not fit into the interval, or not at `header_offset`.
    pub fn new(
        method: Method,
        interval: u32,
        header_offset: u32,
        pattern: Option<BodyPattern>,
    ) -> Result<Self, IntervalError> {
        let (interval, offset) = (interval as usize, header_offset as usize);
        let needed = header_and_digest(HeaderLayout::Current, method);
        if method.has_header() && interval > 0 {
            if interval < needed {
                return Err(IntervalError::TooShort { length: interval, needed });
            }
            let high = interval - needed;
            if offset > 0 && !(needed..=high).contains(&offset) {
                return Err(IntervalError::Offset { offset, low: needed, high });
            }
        }
        Ok(WriteFormat { method, interval, header_offset: offset, pattern, shape: None })
    }

    /// The format with bodies of this shape. A pattern keeps its bytes.
    #[must_use]
    pub fn shaped(self, shape: Option<Arc<dyn BodyShape>>) -> Self {
        WriteFormat { shape, ..self }
    }

    /// Fills `body`, the whole body of a write at an offset of its file.
    pub fn fill_body(&self, seed: u64, offset: u64, body: &mut [u8]) {
        if let Some(pattern) = &self.pattern {
            return pattern.fill(offset, body);
        }
        Body::new(seed, body.len() as u64).fill(0, body);
        if let Some(shape) = &self.shape {
            shape.shape(seed, offset, body);
        }
    }

    /// Whether the body of a write is computed from its seed alone.
    fn has_plain_body(&self) -> bool {
        self.pattern.is_none() && self.shape.is_none()
    }

    /// The method of the digest.
    #[must_use]
    pub fn method(&self) -> Method {
        self.method
    }

    /// `verify_pattern`; `None` if the body is computed from the seed.
    pub(crate) fn pattern(&self) -> Option<&BodyPattern> {
        self.pattern.as_ref()
    }

    /// Position of the header in its interval.
    pub(crate) fn header_offset(&self) -> usize {
        self.header_offset
    }

    /// Whether writes contain anything that this format defines (`verify=null` does not).
    #[must_use]
    pub fn has_contents(&self) -> bool {
        self.method != Method::Null
    }

    /// Makes the contents of a whole write: body or pattern, and the header and digest of each interval.
    ///
    /// # Errors
    /// An interval is too short for its header and digest. Without `bs_unaligned`, [`WriteFormat::new`] finds
    /// that out.
    pub fn seal_write(&self, id: &WriteIdentity, write: &mut [u8]) -> Result<(), IntervalError> {
        self.seal(id, write, None)
    }

    /// [`WriteFormat::seal_write`] for a job that knows the seeds of its next writes, so that their digests can be
    /// computed together. `seed_of`: the seed of the write with a number. `ahead` belongs to the job.
    ///
    /// # Errors
    /// See [`WriteFormat::seal_write`].
    pub fn seal_next_write(
        &self,
        id: &WriteIdentity,
        write: &mut [u8],
        ahead: &mut DigestsAhead,
        seed_of: &dyn Fn(u64) -> u64,
    ) -> Result<(), IntervalError> {
        if self.method == Method::Crc32c && self.has_plain_body() {
            return self.seal_with_crc32c(id, write);
        }
        let length = write.len();
        let needed = header_and_digest(HeaderLayout::Current, self.method);
        let digest = match (self.method, self.has_plain_body()) {
            (Method::Md5, true) if length >= needed && self.step(length) >= length => {
                ahead.md5(id.number, (needed, length), seed_of)
            }
            _ => None,
        };
        self.seal(id, write, digest)
    }

    /// Makes a whole write. `digest`: that of its only interval, if the caller knows it.
    fn seal(
        &self,
        id: &WriteIdentity,
        write: &mut [u8],
        digest: Option<Digest>,
    ) -> Result<(), IntervalError> {
        if self.method == Method::Null {
            return Ok(());
        }
        if self.method == Method::Crc32c && self.has_plain_body() {
            return self.seal_with_crc32c(id, write);
        }
        self.fill_body(id.seed, id.offset, write);
        if !self.method.has_header() {
            return Ok(());
        }
        let needed = header_and_digest(HeaderLayout::Current, self.method);
        let mut header = id.header(self.method);
        for interval in write.chunks_mut(self.step(write.len())) {
            header.length = interval.len() as u32;
            seal_with(interval, &header, digest)?;
            exchange(interval, needed, self.header_offset)?;
            header.offset += u64::from(header.length);
        }
        Ok(())
    }

    /// Makes a whole write, and computes the CRC of each interval while its body is filled.
    fn seal_with_crc32c(&self, id: &WriteIdentity, write: &mut [u8]) -> Result<(), IntervalError> {
        let needed = header_and_digest(HeaderLayout::Current, Method::Crc32c);
        let body = Body::new(id.seed, write.len() as u64);
        let mut header = id.header(Method::Crc32c);
        for interval in write.chunks_mut(self.step(write.len())) {
            header.length = interval.len() as u32;
            let crc = body.fill_with_crc32c(header.offset - id.offset, interval, needed);
            let length = interval.len();
            let too_short = IntervalError::TooShort { length, needed };
            let (head, rest) = interval.split_first_chunk_mut().ok_or(too_short)?;
            let digest = rest.first_chunk_mut().ok_or(too_short)?;
            header.write_current(head);
            *digest = crc.to_le_bytes();
            exchange(interval, needed, self.header_offset)?;
            header.offset += u64::from(header.length);
        }
        Ok(())
    }

    /// Checks a whole write as fio does: the headers, the digests, and the pattern if the method has no digest.
    /// `write` is changed in between (`verify_offset`), but not in the end.
    ///
    /// # Errors
    /// The first bad interval.
    pub fn check_write(
        &self,
        expected: &ExpectedWrite,
        write: &mut [u8],
    ) -> Result<(), BadInterval> {
        let length = write.len();
        match self.method {
            Method::Null => return Ok(()),
            Method::Pattern => {
                return self
                    .check_pattern(expected.offset, 0, write)
                    .map_err(|corruption| BadInterval { position: 0, length, corruption });
            }
            _ => {}
        }
        let step = self.step(length);
        for (index, interval) in write.chunks_mut(step).enumerate() {
            let (position, length) = (index * step, interval.len());
            self.check_interval(expected, position, interval)
                .map_err(|corruption| BadInterval { position, length, corruption })?;
        }
        Ok(())
    }

    /// Bytes from one header to the next in a write of `length` bytes.
    pub(crate) fn step(&self, length: usize) -> usize {
        if self.interval == 0 { length.max(1) } else { self.interval }
    }

    pub(crate) fn check_interval(
        &self,
        write: &ExpectedWrite,
        position: usize,
        interval: &mut [u8],
    ) -> Result<(), Corruption> {
        let taken = header_and_digest(HeaderLayout::Current, self.method);
        // A write that is too short for this exchange was not exchanged either.
        let moved = exchange(interval, taken, self.header_offset).is_ok();
        let expected = Expected {
            length: interval.len() as u32,
            offset: write.offset.wrapping_add(position as u64),
            seed: write.seed,
            number: write.number,
        };
        let result = interval::check(interval, self.method, &expected).and_then(|header| {
            let start = header_and_digest(header.layout, self.method);
            match self.method.compares_pattern() {
                true => self.check_pattern(write.offset, position + start, &interval[start..]),
                false => Ok(()),
            }
        });
        if moved {
            let undone = exchange(interval, taken, self.header_offset);
            debug_assert!(undone.is_ok(), "what was exchanged can be exchanged back");
        }
        result
    }

    fn check_pattern(&self, offset: u64, position: usize, found: &[u8]) -> Result<(), Corruption> {
        let Some(pattern) = &self.pattern else { return Ok(()) };
        let difference = pattern.first_difference(offset, position as u64, found);
        difference.map_or(Ok(()), |difference| Err(Corruption::Pattern(difference)))
    }
}

#[cfg(test)]
mod tests;
