//! Data on disk and on the wire, without I/O: functions between values and bytes.
//!
//! | question | module |
//! |---|---|
//! | how are histograms and series stored in little space | [`block`] |
//! | how is an integer stored in as few bytes as it needs | [`varint`] |
//! | how are traces of I/Os read and written | [`trace`] |
//! | what do logs of bandwidth, IOPS and latencies contain | [`log`] |
//! | how does a client speak to an NBD server | [`nbd`] |
//! | what does fio's verification store in a block | [`verify`] |
//! | what does `verify=fiord` store, and why is data wrong | [`integrity`] |
//! | how does a client speak HTTP, and sign requests to S3 | [`http`] |
//!
//! No input can cause a panic, and every reader bounds its memory by the length of its input.
//!
//! ```
//! use fiord_formats::block;
//!
//! let histogram = [0, 0, 0, 0, 0, 0, 0, 0, 0, 130, 0, 7];
//! let text = block::counts_to_text(&histogram);
//! assert_eq!(text, "DAmCAQEH");
//! assert_eq!(block::counts_from_text(&text, 12), Ok(histogram.to_vec()));
//! ```

#![forbid(unsafe_code)]

pub mod block;
mod hex;
pub mod http;
pub mod integrity;
mod lines;
pub mod log;
pub mod nbd;
pub mod trace;
pub mod varint;
pub mod verify;
