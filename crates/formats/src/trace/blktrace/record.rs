//! Records of a blktrace file.

use std::io::{self, BufRead};

use fiord_types::{Bytes, Errno, Nanos};

use crate::trace::error::{RowProblem, TraceError};
use crate::trace::record::{TraceFlags, TraceKind};

/// `BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION`.
const MAGIC: u32 = 0x6561_7407;
/// Bytes of a record without its payload.
const RECORD: usize = 48;
/// The number of the event in an action; the bit above says that the payload names a control group.
const EVENT: u32 = 0xff;

/// The byte order of the machine that recorded a trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ByteOrder {
    /// The lowest byte first.
    Little,
    /// The highest byte first.
    Big,
}

/// What the first bytes of a trace say about its format.
pub(in crate::trace) enum Magic {
    /// A blktrace file.
    Version7(ByteOrder),
    /// A blktrace file of another version.
    Other(u8),
}

/// The byte order and version of a blktrace file; `None` if the bytes are not those of one.
pub(in crate::trace) fn magic(start: &[u8]) -> Option<Magic> {
    let four: [u8; 4] = start.get(..4)?.try_into().ok()?;
    let same = |number: u32| number >> 8 == MAGIC >> 8;
    let (order, number) = match (u32::from_le_bytes(four), u32::from_be_bytes(four)) {
        (number, _) if same(number) => (ByteOrder::Little, number),
        (_, number) if same(number) => (ByteOrder::Big, number),
        _ => return None,
    };
    Some(if number == MAGIC { Magic::Version7(order) } else { Magic::Other(number as u8) })
}

/// A record without its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BlktraceRecord {
    /// Number of the record.
    pub sequence: u32,
    /// When it was recorded, by the clock of the machine.
    pub time: Nanos,
    /// First sector, in units of 512 bytes.
    pub sector: u64,
    /// Length of the range.
    pub len: Bytes,
    /// Event in the low half, categories in the high half.
    pub action: u32,
    pub pid: u32,
    /// The device: major << 20 | minor.
    pub device: u32,
    pub cpu: u32,
    /// Error of a completion.
    pub error: u16,
}

/// What a record says about I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    Queued(TraceKind, TraceFlags),
    Merged,
    Completed(TraceKind, Option<Errno>),
    /// The record is about something else.
    Nothing,
}

impl BlktraceRecord {
    const WRITE: u32 = 1 << 17;
    const FLUSH: u32 = 1 << 18;
    const SYNC: u32 = 1 << 19;
    const PASSTHROUGH: u32 = 1 << 25;
    const NOTIFY: u32 = 1 << 26;
    const AHEAD: u32 = 1 << 27;
    const META: u32 = 1 << 28;
    const DISCARD: u32 = 1 << 29;
    const DRIVER: u32 = 1 << 30;
    const FUA: u32 = 1 << 31;

    /// Whether it is a message, such as the name of a process.
    pub(super) fn is_message(&self) -> bool {
        self.has(Self::NOTIFY)
    }

    fn has(&self, category: u32) -> bool {
        self.action & category != 0
    }

    pub(super) fn meaning(&self) -> Meaning {
        if self.has(Self::NOTIFY | Self::PASSTHROUGH | Self::DRIVER) {
            return Meaning::Nothing;
        }
        match self.action & EVENT {
            1 => match self.kind() {
                // An I/O without data that is not a flush has no range.
                TraceKind::Read | TraceKind::Write | TraceKind::Trim if self.len == Bytes::ZERO => {
                    Meaning::Nothing
                }
                kind => Meaning::Queued(kind, self.flags(kind)),
            },
            2 | 3 => Meaning::Merged,
            8 => {
                let error = (self.error != 0).then(|| Errno::from_raw(self.error.into()));
                Meaning::Completed(self.kind(), error)
            }
            _ => Meaning::Nothing,
        }
    }

    fn kind(&self) -> TraceKind {
        if self.has(Self::DISCARD) {
            TraceKind::Trim
        } else if self.has(Self::FLUSH) && self.len == Bytes::ZERO {
            TraceKind::Sync
        } else if self.has(Self::WRITE) {
            TraceKind::Write
        } else {
            TraceKind::Read
        }
    }

    fn flags(&self, kind: TraceKind) -> TraceFlags {
        let of = |category: u32, flag| if self.has(category) { flag } else { TraceFlags::NONE };
        let preflush = if kind == TraceKind::Sync { 0 } else { Self::FLUSH };
        of(Self::FUA, TraceFlags::FUA)
            | of(preflush, TraceFlags::PREFLUSH)
            | of(Self::SYNC, TraceFlags::SYNC)
            | of(Self::META, TraceFlags::META)
            | of(Self::AHEAD, TraceFlags::AHEAD)
    }

    /// Where the range begins.
    pub(super) fn offset(&self) -> Result<Bytes, RowProblem> {
        let offset = self.sector.checked_mul(512).ok_or(RowProblem::TooFar)?;
        match offset.checked_add(self.len.0) {
            Some(end) if end <= i64::MAX as u64 => Ok(Bytes(offset)),
            _ => Err(RowProblem::TooFar),
        }
    }

    /// Appends the record without payload, in little-endian order. A length above 2^32 - 1 is cut.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC.to_le_bytes());
        out.extend_from_slice(&self.sequence.to_le_bytes());
        out.extend_from_slice(&self.time.0.to_le_bytes());
        out.extend_from_slice(&self.sector.to_le_bytes());
        out.extend_from_slice(&u32::try_from(self.len.0).unwrap_or(u32::MAX).to_le_bytes());
        for number in [self.action, self.pid, self.device, self.cpu] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&self.error.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
    }

    /// Reads a record, and the length of the payload that follows it.
    fn read(bytes: &[u8; RECORD], order: ByteOrder) -> (u32, Self, u16) {
        let u16_at = |at: usize| {
            let two = [bytes[at], bytes[at + 1]];
            match order {
                ByteOrder::Little => u16::from_le_bytes(two),
                ByteOrder::Big => u16::from_be_bytes(two),
            }
        };
        let u32_at = |at: usize| {
            let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
            match order {
                ByteOrder::Little => u32::from_le_bytes(four),
                ByteOrder::Big => u32::from_be_bytes(four),
            }
        };
        let u64_at = |at: usize| {
            let (first, second) = (u64::from(u32_at(at)), u64::from(u32_at(at + 4)));
            match order {
                ByteOrder::Little => second << 32 | first,
                ByteOrder::Big => first << 32 | second,
            }
        };
        let record = BlktraceRecord {
            sequence: u32_at(4),
            time: Nanos(u64_at(8)),
            sector: u64_at(16),
            len: Bytes::from(u32_at(24)),
            action: u32_at(28),
            pid: u32_at(32),
            device: u32_at(36),
            cpu: u32_at(40),
            error: u16_at(44),
        };
        (u32_at(0), record, u16_at(46))
    }
}

/// The records of one file.
#[derive(Debug)]
pub(super) struct Records<R> {
    source: R,
    /// `None` before the first record.
    order: Option<ByteOrder>,
    /// Where the next record begins.
    offset: u64,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(source: R) -> Self {
        Records { source, order: None, offset: 0 }
    }

    /// The next record; `None` at the end of the file. Skips payloads.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<BlktraceRecord>, TraceError> {
        let mut bytes = [0; RECORD];
        let buffer = self.source.fill_buf().map_err(TraceError::Read)?;
        if let Some(whole) = buffer.first_chunk() {
            bytes = *whole;
            self.source.consume(RECORD);
        } else if !self.across_buffers(&mut bytes)? {
            return Ok(None);
        }
        let order = match self.order {
            Some(order) => order,
            None => match magic(&bytes) {
                Some(Magic::Version7(order)) => *self.order.insert(order),
                Some(Magic::Other(found)) => return Err(TraceError::BlktraceVersion { found }),
                None => ByteOrder::Little,
            },
        };
        let (found, record, payload) = BlktraceRecord::read(&bytes, order);
        if found != MAGIC {
            return Err(self.invalid(RowProblem::Magic { found, expected: MAGIC }));
        }
        if payload > 0 {
            self.skip_payload(payload.into())?;
        }
        self.offset += RECORD as u64 + u64::from(payload);
        Ok(Some(record))
    }

    /// The error for the record that begins at `offset`.
    #[cold]
    fn invalid(&self, problem: RowProblem) -> TraceError {
        TraceError::Record { offset: Bytes(self.offset), problem }
    }

    /// Reads a record that crosses the end of the source's buffer. Returns whether there is one.
    #[cold]
    fn across_buffers(&mut self, bytes: &mut [u8; RECORD]) -> Result<bool, TraceError> {
        let mut found = 0;
        while found < RECORD {
            match self.source.read(&mut bytes[found..]) {
                Ok(0) if found == 0 => return Ok(false),
                Ok(0) => return Err(self.truncated(found as u64, RECORD as u64)),
                Ok(more) => found += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(TraceError::Read(error)),
            }
        }
        Ok(true)
    }

    fn skip_payload(&mut self, len: u64) -> Result<(), TraceError> {
        let mut left = len;
        while left > 0 {
            let buffer = match self.source.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other.map_err(TraceError::Read)?,
            };
            if buffer.is_empty() {
                return Err(self.truncated(RECORD as u64 + len - left, RECORD as u64 + len));
            }
            let part = (buffer.len() as u64).min(left);
            self.source.consume(part as usize);
            left -= part;
        }
        Ok(())
    }

    #[cold]
    fn truncated(&self, found: u64, expected: u64) -> TraceError {
        let offset = Bytes(self.offset);
        TraceError::Truncated { offset, found: Bytes(found), expected: Bytes(expected) }
    }
}

/// The records of several files in the order of time.
#[derive(Debug)]
pub(super) struct CpuFiles<R> {
    files: Vec<Records<R>>,
    /// The next record of each file that has one.
    heads: Vec<(usize, BlktraceRecord)>,
    started: bool,
}

impl<R: BufRead> CpuFiles<R> {
    pub(super) fn new(sources: impl IntoIterator<Item = R>) -> Self {
        let files = sources.into_iter().map(Records::new).collect();
        CpuFiles { files, heads: Vec::new(), started: false }
    }

    /// The next record, and where it is for an error about it.
    pub(super) fn next(&mut self) -> Result<Option<BlktraceRecord>, TraceError> {
        if let [file] = &mut self.files[..] {
            return file.next();
        }
        if !self.started {
            self.started = true;
            for file in 0..self.files.len() {
                if let Some(record) = self.next_of(file)? {
                    self.heads.push((file, record));
                }
            }
        }
        let earliest = (0..self.heads.len()).min_by_key(|head| self.heads[*head].1.time);
        let Some(earliest) = earliest else { return Ok(None) };
        let (file, record) = self.heads[earliest];
        match self.next_of(file)? {
            Some(next) => self.heads[earliest].1 = next,
            None => {
                self.heads.remove(earliest);
            }
        }
        Ok(Some(record))
    }

    fn next_of(&mut self, file: usize) -> Result<Option<BlktraceRecord>, TraceError> {
        self.files[file]
            .next()
            .map_err(|source| TraceError::File { file, source: Box::new(source) })
    }
}
