//! Small types that all crates share. They depend on nothing and cost nothing: each is the integer that it
//! holds, and the compiler tells apart what is a time, a size, an errno or the index of a job.
//!
//! | question | module |
//! |---|---|
//! | which way does an I/O move data, and how is a value kept per direction? | `direction` |
//! | why did a system call fail? | `errno` |
//! | how much data? | `bytes` |
//! | how long is a time? | `nanos` |
//! | what happens when a time or an amount overflows? | `quantity` |
//! | which job, file, zone or host? | `index` |
//! | by which name was this program called, and how do its messages begin? | [`program`] |
//! | which number divides two numbers? | `divisor` |
//! | when do results count as steady? | `steady` |
//! | which ends of connections belong to one run? | `run_number` |
//! | which texts must not be shown? | `secret` |
//! | which characters does a terminal obey? | `plain` |
//!
//! ```
//! use fiord_types::{Dir, PerDir};
//!
//! let mut bytes = PerDir::all(0);
//! bytes[Dir::Write] += 4096;
//! assert_eq!(bytes, PerDir::new(0, 4096, 0));
//! ```
//!
//! The feature `serde` makes the types serializable, each as the value that it holds.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod bytes;
mod direction;
mod divisor;
mod errno;
mod index;
mod nanos;
mod plain;
mod plural;
pub mod program;
mod quantity;
mod run_number;
mod secret;
mod steady;

pub use bytes::Bytes;
pub use direction::{Dir, PerDir};
pub use divisor::common_divisor;
pub use errno::Errno;
pub use index::{FileIndex, HostIndex, JobIndex, ZoneIndex};
pub use nanos::Nanos;
pub use plain::{is_obeyed, plain};
pub use plural::plural;
pub use run_number::RunNumber;
pub use secret::Secret;
pub use steady::{SteadyLimit, SteadyMeasure, SteadyRule};
