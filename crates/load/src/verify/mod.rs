//! Which write each block of a target contains (`verify`).
//!
//! | question | module |
//! |---|---|
//! | one byte for each block, shared by all jobs on a target | `map.rs` |
//! | a record for each write, for blocks of any length at any offset | `records.rs` |
//! | what the byte says about the write | `value.rs` |
//! | the bytes of a range, in little memory | `cells.rs` |
//! | the generations of blocks that the byte does not count | `generations.rs` |

mod cells;
mod generations;
mod map;
mod records;
mod value;

pub use generations::GENERATIONS;
pub use map::{ClaimRefused, Claimed, MapCounts, MapRun, MapSnapshot, WriteMap};
pub use records::WriteRecords;
pub use value::{GranuleState, WriteValue};
