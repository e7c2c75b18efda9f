//! fio's I/O logs (`write_iolog`, `read_iolog`), versions 2 and 3.
//!
//! The first line is `fio version 3 iolog`. Each other line is one action. Its fields are separated by blanks:
//!
//! | field | in version 3 | in version 2 |
//! |---|---|---|
//! | time in microseconds since the start of the log | yes | no |
//! | name of the file | yes | yes |
//! | action | `add`, `open`, `close`, `read`, `write`, `trim`, `sync`, `datasync` | and `wait` |
//! | offset in bytes; not for `add`, `open` and `close` | yes | yes; of `wait`: milliseconds since the start |
//! | length in bytes; not for `add`, `open` and `close` | yes | yes |
//!
//! # Logs with completions
//!
//! fiord can add two fields to the lines of I/Os in version 3. fio ignores them when it replays the log:
//!
//! | field | meaning |
//! |---|---|
//! | latency | nanoseconds from the issue of the I/O to its completion |
//! | result | bytes transferred, or the negative errno |
//!
//! Such a log has its lines in the order of completion, with the time of issue in the first field. The reader returns
//! the I/Os in the order of issue, as far as a window of [`WINDOW`] lines allows.
//!
//! # What the reader accepts beyond fio
//!
//! - A name can contain blanks, which fio writes but cannot read.
//! - A second first line, as in a log to which two runs appended: its times continue after those of the first run.
//! - An empty line has no meaning.

mod read;
#[cfg(test)]
mod tests;
mod write;

pub use read::{IologReader, WINDOW};
pub use write::{IologColumns, IologWriter};
