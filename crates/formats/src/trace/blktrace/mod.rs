//! Binary traces of the kernel's block layer, as `blktrace` and `blkparse -d` write them.
//!
//! The format is that of the kernel header `include/uapi/linux/blktrace_api.h`, version 7. Records follow each other,
//! with integers in the byte order of the machine that recorded them:
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3 | magic number 0x65617407: it tells the byte order |
//! | 4 to 7 | number of the record |
//! | 8 to 15 | time in nanoseconds |
//! | 16 to 23 | first sector, in units of 512 bytes |
//! | 24 to 27 | length in bytes |
//! | 28 to 31 | event in the low half, categories in the high half |
//! | 32 to 35 | process |
//! | 36 to 39 | device: major << 20 \| minor |
//! | 40 to 43 | CPU |
//! | 44 to 45 | error of a completion |
//! | 46 to 47 | length of the payload that follows the record |
//!
//! `blktrace` writes one file for each CPU: `NAME.blktrace.0`, `NAME.blktrace.1` and so on ([`CpuFileName`]).
//! [`BlktraceReader`] reads them together, in the order of time. [`merge`] combines several traces in one.
//!
//! | record | event |
//! |---|---|
//! | queued (Q), of a discard | [`Io`](crate::trace::TraceEvent::Io) with kind `Trim` |
//! | queued, of a flush without data | `Io` with kind `Sync` |
//! | queued, of a write with preflush | `Io` with kind `Write` and the flag `PREFLUSH`. fio replays only the flush |
//! | queued, of another write or of a read | `Io` with kind `Write` or `Read` |
//! | merged (M, F) | [`Merged`](crate::trace::TraceEvent::Merged) |
//! | completed (C) | [`Completed`](crate::trace::TraceEvent::Completed) |
//! | other | none |

mod merge;
mod names;
mod read;
mod record;
#[cfg(test)]
mod tests;

pub use merge::{MergeSource, MergeSummary, OpenTrace, merge};
pub use names::CpuFileName;
pub use read::BlktraceReader;
pub(super) use record::magic;
pub use record::{BlktraceRecord, ByteOrder};
