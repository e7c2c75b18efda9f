//! fio's text format: one row per line.
//!
//! A row is `time, value[, maximum], direction, block size[, offset], priority[, issue time]`, with a comma and a blank
//! between columns. Nothing in a file says which columns it has: [`TextReader`] infers that from its rows. It also reads
//! logs of fio versions that had no priority.

mod form;
mod reader;
mod writer;

pub use reader::TextReader;
pub use writer::RowWriter;
