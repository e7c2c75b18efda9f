//! fiord's own binary log: less than 10 bytes per row, one file for all logs of a run, readable after a crash.
//!
//! The file begins with `FRDLOGS` and the version of the format, 1. Blocks follow. A writer appends one block at a time,
//! so a file whose writer was killed is complete up to the last block. All integers of the header of a block are little
//! endian.
//!
//! | bytes of a block | field |
//! |---|---|
//! | 0 to 3 | magic `FLGB` |
//! | 4 to 7 | length of the contents in bytes, at most 4 MiB |
//! | 8 to 15 | CRC-64/NVME of bytes 0 to 7 and of the contents |
//! | from 16 | contents: chunks |
//!
//! Integers in chunks are [varints](crate::varint). A chunk begins with 0, or with 1 plus the number of a log:
//!
//! | chunk | fields |
//! |---|---|
//! | a log, 0 | kind ([`LogKind`]) · columns (1: maximum, 2: offset, 4: full priority, 8: issue time) · coarseness · window in milliseconds or 0 · thread number · length of the job's name · name. The first log of a file has the number 0, the next one 1, … |
//! | rows of a log | number of rows, at most 131,072 · the columns one after another: time, value, \[maximum less value\], direction, block size, \[offset\], priority, \[issue time\] |
//! | histograms of a log | number of rows · for each row: time, direction, block size · number of counts above zero · for each of them: empty bins before it, count |
//!
//! A column is stored in groups of 128 values, the last group may have fewer: the smallest value, then a byte with a
//! width in bits. If the width is not 0, a byte with a shift follows, and the values less the smallest one, shifted right,
//! as fields of this width, the first one in the lowest bits, padded to whole bytes.

mod column;
mod reader;
mod writer;

use fiord_simd::crc::CRC64_NVME;

use super::histogram::Coarseness;
use super::{LogColumns, LogKind};

pub use reader::{CompactEntry, CompactReader};
pub use writer::{CompactWriter, sealed};

/// The first bytes of a compact log; the version follows.
pub const COMPACT_MAGIC: [u8; 7] = *b"FRDLOGS";
const VERSION: u8 = 1;
const BLOCK_MAGIC: [u8; 4] = *b"FLGB";
const BLOCK_HEADER: usize = 16;
/// Maximum size of the contents of a block, in bytes.
const MAX_CONTENTS: usize = 4 << 20;
/// Maximum number of rows of a chunk.
const MAX_ROWS: usize = 1 << 17;
/// Maximum length of the name of a job in bytes.
const MAX_NAME: usize = 4096;

/// Index of a log in a compact file, in the order of the definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogIndex(pub u32);

/// One of the logs in a compact file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogDefinition {
    /// The prefix of the log's file name in text form: the job's name, or the name that the job states for the log.
    pub name: String,
    /// Number of the job's thread, from 1; 0 if the log belongs to all threads.
    pub thread: u32,
    /// What the values are.
    pub kind: LogKind,
    pub columns: LogColumns,
    /// Length of the windows in milliseconds; 0: each row is an I/O.
    pub window_ms: u64,
    /// Coarseness of histograms.
    pub coarseness: Coarseness,
}

impl LogDefinition {
    /// The name of the file with this log in fio's text form.
    #[must_use]
    pub fn file_name(&self) -> String {
        match self.thread {
            0 => format!("{}_{}.log", self.name, self.kind.name()),
            thread => format!("{}_{}.{thread}.log", self.name, self.kind.name()),
        }
    }
}

/// The checksum of a block.
fn sum_of(header: &[u8], contents: &[u8]) -> u64 {
    !CRC64_NVME.update(CRC64_NVME.update(!0, header), contents)
}
