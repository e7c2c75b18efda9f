//! Verification (`verify`): the job writes blocks that say what they must contain, reads them back at the end of each
//! loop, and checks them.
//!
//! | question | module |
//! |---|---|
//! | what does a block contain, and what should it contain | [`contents`] |
//! | which write does each block contain | [`track`] |
//! | what is read back or trimmed, and when | [`pass`] |
//! | is a read good, and if not, what is wrong with it | [`judge`] |
//! | what happens then: messages, counts, the end of the job | [`act`] |
//! | what is kept on disk: states, extents, journals | [`save`] |
//! | how does a job with `verify` use all this, I/O by I/O | `verifier.rs` |
//! | what does verification need from the rest of the run | `services.rs` |
//! | what must jobs without `verify` tell those that verify their files | `informer.rs` |
//! | how are writes recorded for a check after a crash (`verify_journal`) | `write_journal.rs` |
//!
//! A room uses only rooms above it in this order: contents, track, act, save, pass, judge.

mod act;
mod contents;
mod informer;
mod judge;
mod pass;
pub(crate) mod save;
mod services;
#[cfg(test)]
mod tests;
mod track;
mod verifier;
mod write_journal;

pub(crate) use self::informer::MapInformer;
pub(crate) use self::save::WriteProgress;
pub(crate) use self::services::VerifyServices;
pub(crate) use self::verifier::Verifier;
pub(crate) use self::write_journal::WriteJournal;
