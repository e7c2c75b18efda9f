//! Traces: records of the I/Os of a job or machine, which can be replayed.
//!
//! | question | module |
//! |---|---|
//! | what does a trace say | `record` |
//! | how are block traces of the kernel read and merged | [`blktrace`] |
//! | how are public traces in text columns read | [`csv`] |
//! | how are fio's I/O logs read and written | [`iolog`] |
//! | what can be wrong with a trace | `error` |
//! | how are binary traces of virtual disks read | `vscsi` |
//! | how are compressed traces read | `compressed` |
//! | which time does an event get | `timeline` |
//! | how are events sorted in bounded memory | `window` |
//!
//! Readers stream: their memory does not depend on the length of the trace. They open no files.
//!
//! ```
//! use fiord_formats::trace::{self, TraceEvent, TraceOptions};
//!
//! let log = b"fio version 3 iolog\n10 /dev/sdb add\n20 /dev/sdb open\n35 /dev/sdb read 0 4096\n";
//! let mut reader = trace::open(&log[..], &TraceOptions::default())?;
//! let mut reads = 0;
//! while let Some(event) = reader.next_event()? {
//!     reads += matches!(event, TraceEvent::Io(_)) as u32;
//! }
//! assert_eq!(reads, 1);
//! # Ok::<(), fiord_formats::trace::TraceError>(())
//! ```

use std::fmt;
use std::io::{self, BufRead, Read};

use fiord_types::Nanos;

pub mod blktrace;
mod compressed;
pub mod csv;
mod error;
pub mod iolog;
mod record;
mod timeline;
mod vscsi;
mod window;

pub use compressed::readable_start;
pub use error::{RowProblem, SkippedLine, TraceError, TraceNotes};
pub use record::{
    TraceCompletion, TraceEvent, TraceFlags, TraceIo, TraceKind, TraceName, TraceOutcome,
    TraceTarget,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceFormat {
    /// fio's I/O log, version 2 or 3.
    Iolog,
    /// Binary trace of the kernel's block layer.
    Blktrace,
    /// Trace of Microsoft Research Cambridge.
    MsrCambridge,
    /// Block trace of Alibaba Cloud.
    Alibaba,
    /// Block trace of Tencent Cloud.
    Tencent,
    /// CSV version of a CloudPhysics trace.
    CloudPhysics,
    /// Binary trace of a virtual disk of VMware, as CloudPhysics recorded them.
    Vscsi,
    /// Text of biosnoop.
    Biosnoop,
}

impl TraceFormat {
    /// The name of the format in messages and reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            TraceFormat::Iolog => "iolog",
            TraceFormat::Blktrace => "blktrace",
            TraceFormat::MsrCambridge => "msr-cambridge",
            TraceFormat::Alibaba => "alibaba",
            TraceFormat::Tencent => "tencent",
            TraceFormat::CloudPhysics => "cloudphysics",
            TraceFormat::Vscsi => "vscsi",
            TraceFormat::Biosnoop => "biosnoop",
        }
    }

    /// The resolution of its timestamps. I/Os within it have the same time, or nearly so.
    #[must_use]
    pub const fn resolution(self) -> Nanos {
        match self {
            TraceFormat::Blktrace => Nanos(1),
            TraceFormat::MsrCambridge => Nanos(100),
            TraceFormat::Iolog
            | TraceFormat::Alibaba
            | TraceFormat::CloudPhysics
            | TraceFormat::Vscsi
            | TraceFormat::Biosnoop => Nanos::from_micros(1),
            TraceFormat::Tencent => Nanos::from_secs(1),
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a reader does with an invalid line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum InvalidLines {
    /// Reading ends with an error.
    #[default]
    Stop,
    /// The reader skips and counts the line ([`TraceNotes::skipped`]).
    Skip,
}

/// How to read a trace.
#[derive(Debug, Clone)]
pub struct TraceOptions {
    /// What happens with invalid lines. Invalid records of a binary trace always end the reading.
    pub invalid: InvalidLines,
    /// Longest time between two events. A longer gap is an error, because it usually means a wrong unit.
    pub longest_gap: Nanos,
}

impl Default for TraceOptions {
    /// Stops at the first invalid line, and at gaps above one day.
    fn default() -> Self {
        TraceOptions { invalid: InvalidLines::Stop, longest_gap: Nanos::from_secs(24 * 3600) }
    }
}

/// Reads a trace event by event.
pub trait TraceReader {
    /// The next event; `None` at the end of the trace. Times do not decrease from I/O to I/O.
    ///
    /// # Errors
    /// The trace cannot be read or is invalid. A reader returns no more events after an error.
    fn next_event(&mut self) -> Result<Option<TraceEvent>, TraceError>;

    /// What the reader noticed so far.
    fn notes(&self) -> &TraceNotes;

    fn format(&self) -> TraceFormat;
}

/// Opens a trace. Detects its format from its first bytes. A trace that is compressed with gzip is decompressed while it
/// is read.
///
/// A large buffer (64 KiB) makes reading fast.
///
/// # Errors
/// The source cannot be read, or its format is unknown or not supported.
pub fn open<'a>(
    mut source: impl BufRead + Send + 'a,
    options: &TraceOptions,
) -> Result<Box<dyn TraceReader + Send + 'a>, TraceError> {
    let start = first_bytes(&mut source).map_err(TraceError::Read)?;
    if !compressed::is_gzip(&start) {
        return open_plain(start, source, options);
    }
    let mut inflated = compressed::inflate(io::Cursor::new(start).chain(source));
    let start = first_bytes(&mut inflated).map_err(TraceError::Read)?;
    open_plain(start, inflated, options)
}

/// Opens a trace that is not compressed. `start`: the bytes that were taken from the source.
fn open_plain<'a>(
    start: Vec<u8>,
    source: impl BufRead + Send + 'a,
    options: &TraceOptions,
) -> Result<Box<dyn TraceReader + Send + 'a>, TraceError> {
    let all = io::Cursor::new(start.clone()).chain(source);
    if start.is_empty() {
        return Err(TraceError::Empty);
    }
    if start.starts_with(b"fio version") {
        return Ok(Box::new(iolog::IologReader::new(all, options)?));
    }
    if blktrace::magic(&start).is_some() {
        return Ok(Box::new(blktrace::BlktraceReader::new([all], options)));
    }
    if let Some(version) = vscsi::VscsiVersion::of(&start) {
        return Ok(Box::new(vscsi::VscsiReader::new(all, version, options)));
    }
    let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
    if csv::CsvLayout::of(line).is_some() {
        return Ok(Box::new(csv::CsvReader::new(all, options)?));
    }
    let packed = compressed::must_be_unpacked(&start);
    Err(packed.unwrap_or_else(|| TraceError::Unknown { start: error::quoted(&start) }))
}

/// The bytes that tell the format: the first line, or its start, or the first records of a binary trace.
fn first_bytes(source: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    while start.len() < crate::lines::MAX_LINE {
        let buffer = match source.fill_buf() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let len = buffer.len();
        start.extend_from_slice(buffer);
        source.consume(len);
        if len == 0 || start.len() >= 4 && is_enough(&start) {
            break;
        }
    }
    Ok(start)
}

/// Whether these bytes tell the format. More might never come: a stream may end with them.
fn is_enough(start: &[u8]) -> bool {
    if blktrace::magic(start).is_some() || compressed::is_gzip(start) {
        return true;
    }
    // A text has no zeros.
    match start.contains(&0) {
        true => start.len() >= vscsi::START,
        false => start.contains(&b'\n'),
    }
}
