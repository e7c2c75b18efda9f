//! What fio's verification stores in each block, byte for byte.
//!
//! A write consists of one or more intervals. Each interval starts with a header and the digest of the data
//! after it; a body that is computed from a seed, or a pattern, fills the rest.
//!
//! | question | module |
//! |---|---|
//! | which methods are there, how long is a digest, and how is it computed | [`method`] |
//! | which bytes does a header have, and in which order are its fields checked | [`header`] |
//! | which bytes fill a write | [`body`], [`pattern`] |
//! | which writes does a state file expect on the target | [`state`] |
//! | how long is an interval, where is its header, and how is it sealed and checked | [`interval`] |
//!
//! ```
//! use fiord_formats::verify::{body::Body, header::{Expected, VerifyHeader, HeaderLayout}, interval, method::Method};
//!
//! let header = VerifyHeader {
//!     layout: HeaderLayout::Current, method: Method::Crc32c, length: 4096, seed: 77, offset: 8192,
//!     seconds: 0, fraction: 0, number: 2, thread: 1,
//! };
//! let mut write = vec![0; 4096];
//! Body::new(77, 4096).fill(0, &mut write);
//! interval::seal(&mut write, &header)?;
//!
//! let expected = Expected { length: 4096, offset: 8192, seed: Some(77), number: Some(2) };
//! assert_eq!(interval::check(&write, Method::Crc32c, &expected), Ok(header));
//! write[3000] ^= 1;
//! assert!(interval::check(&write, Method::Crc32c, &expected).is_err());
//! # Ok::<(), interval::IntervalError>(())
//! ```

pub mod body;
pub mod header;
pub mod interval;
pub mod method;
pub mod pattern;
pub mod state;

#[cfg(test)]
mod tests;
