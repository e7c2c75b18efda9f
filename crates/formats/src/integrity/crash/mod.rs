//! What a target may contain after a crash, according to the journal of the run.
//!
//! A write that was flushed must be there, or a newer one. A write that was issued and not flushed may be there or not.
//! So each block may contain the last flushed write or any that was issued after it. A sector of `verify=fiord` states
//! its write, so the journal only has to say which writes were flushed, and in which order writes were issued.
//!
//! The journal is read several times, from its start to its end, so that memory does not grow with the number of
//! writes that it contains:
//!
//! | reading | question | type |
//! |---|---|---|
//! | first | which writes did the last flush cover, and in which order were writes issued | [`JournalSummary`], [`WriteOrder`] |
//! | one for each part of the target | what must each block contain | [`CrashTable`] |
//! | after a loss, two | was a write issued after the flush that covered a lost one | [`FlushBefore`], [`OutOfOrder`] |
//!
//! [`CrashCheck`] compares blocks of the target with the table.

mod check;
mod misorder;
mod order;
mod summary;
mod table;
#[cfg(test)]
mod tests;

pub use check::{CrashCheck, CrashFault, CrashTally};
pub use misorder::{FlushBefore, OutOfOrder};
pub use order::{Ordinal, WriteOrder};
pub use summary::JournalSummary;
pub use table::{BlockWindow, CrashTable};
