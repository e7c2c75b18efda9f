//! Public traces in text columns.
//!
//! | format | columns | time | offset, length |
//! |---|---|---|---|
//! | MSR Cambridge | `Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime` | issue, 100 ns since 1601 (Windows file time) | bytes |
//! | Alibaba | `device_id,opcode,offset,length,timestamp` | issue, microseconds since 1970 | bytes |
//! | Tencent | `Timestamp,Offset,Size,IOType,VolumeID` | issue, seconds since 1970 | sectors of 512 bytes |
//! | CloudPhysics | `ts,lba,op,size` | issue, microseconds | sectors of 512 bytes; bytes |
//! | biosnoop | `TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)`, also `QUE(ms)` | completion, in the unit of the header | sectors of 512 bytes; bytes |
//!
//! The first line can be a line of column names; biosnoop needs it. The reader returns I/Os in the order of issue, as far
//! as a window of [`WINDOW`] lines allows. It checks units: a timestamp outside of 1990 to 2100, a length that is not a
//! whole number of sectors and a length above 1 GiB are invalid.

mod biosnoop;
mod columns;
mod field;
mod read;
mod row;
#[cfg(test)]
mod tests;

pub(super) use columns::CsvLayout;
pub(super) use field::range;
pub use read::{CsvReader, WINDOW};
