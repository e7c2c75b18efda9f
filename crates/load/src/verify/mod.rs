//! Which write each block of a target contains (`verify`).
//!
//! | question | module |
//! |---|---|
//! | one byte for each block, shared by all jobs on a target | `map.rs` |
//! | what the byte says about the write | `value.rs` |
//! | the bytes of a range, in little memory | `cells.rs` |

mod cells;
mod map;
mod value;

pub use map::{ClaimRefused, Claimed, MapCounts, MapRun, MapSnapshot, WriteMap};
pub use value::{GranuleState, WriteValue};
