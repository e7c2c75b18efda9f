//! `fiord verify`: compares a target after a crash with the journal of the run that wrote it (`verify_journal`).
//!
//! | question | module |
//! |---|---|
//! | what does the command line accept | [`args`] |
//! | which records does a journal have | `journal` |
//! | how are blocks of the target read | `read` |
//! | which blocks are wrong | `check` |
//! | how far is it | [`progress`] |
//! | how is the result shown | `report` |
//! | how do many hosts check their targets | `hosts` |

pub mod args;
mod check;
mod error;
mod extents;
mod hosts;
mod journal;
mod later;
pub mod progress;
mod read;
mod report;
mod run;

pub use args::VerifyArgs;
pub use error::VerifyError;
pub use progress::VerifyProgress;
pub use run::run;
