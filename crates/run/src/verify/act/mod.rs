//! What follows from a read.
//!
//! | question | module |
//! |---|---|
//! | how much was verified | `tally.rs` |
//! | what happens if a block is bad | `policy.rs` |
//! | how are bad blocks saved (`verify_dump`) | `dump.rs` |

mod dump;
mod policy;
mod tally;

pub(super) use self::policy::ErrorPolicy;
pub(super) use self::tally::Tally;
