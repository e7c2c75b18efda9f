//! What verification stores in each block in fio's formats. For the format of `verify=fiord`, and for what is wrong with
//! data that was read back, see [`integrity`](crate::integrity).
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
//! | how is a whole write made and checked | [`write`](mod@write) |
//! | which digests are computed before their writes | [`ahead`] |
//!
//! ```
//! use fiord_formats::verify::header::Corruption;
//! use fiord_formats::verify::method::Method;
//! use fiord_formats::verify::write::{ExpectedWrite, WriteFormat, WriteIdentity};
//!
//! let format = WriteFormat::new(Method::Crc32c, 4096, 0, None)?;
//! let id = WriteIdentity { offset: 8192, seed: 77, number: 2, thread: 1, seconds: 0, nanos: 0 };
//! let mut write = vec![0; 16384];
//! format.seal_write(&id, &mut write)?;
//!
//! let expected = ExpectedWrite { offset: 8192, seed: Some(77), number: Some(2) };
//! assert_eq!(format.check_write(&expected, &mut write), Ok(()));
//! write[7000] ^= 1;
//! let bad = format.check_write(&expected, &mut write).unwrap_err();
//! assert_eq!(bad.position, 4096);
//! assert!(matches!(bad.corruption, Corruption::Digest(_)));
//! # Ok::<(), fiord_formats::verify::interval::IntervalError>(())
//! ```

pub mod ahead;
pub mod body;
pub mod header;
pub mod interval;
mod md5;
pub mod method;
pub mod pattern;
pub mod state;
pub mod write;

pub(crate) fn md5_digest(data: &[u8]) -> [u8; 16] {
    md5::digest(data)
}

#[cfg(test)]
mod tests;
