//! Work over bytes in memory with the instructions of this CPU.
//!
//! | question | module |
//! |---|---|
//! | random bytes at memory speed | [`random_fill`] |
//! | loops over memory with the widest vectors of this CPU | [`vectors`] |
//! | CRCs of up to 64 bits | [`crc`] |
//! | CRC-32C, SHA-512 and MD5 with the instructions of this CPU | [`crc32c`], [`sha512`], [`md5_lanes`] |
//!
//! These are the loops that run for each byte of an I/O, so this crate is compiled for speed, unlike most others
//! (`Cargo.toml`). It depends on nothing.
//!
//! ```
//! use fiord_simd::random_fill::{LANES, Stream};
//!
//! let (mut first, mut second) = ([0; 4096], [0; 4096]);
//! Stream::new([7; LANES]).fill(&mut first);
//! Stream::new([7; LANES]).fill(&mut second);
//! assert_eq!(first, second);
//! ```

pub mod crc;
pub mod crc32c;
pub mod md5_lanes;
pub mod random_fill;
pub mod sha512;
pub mod vectors;
