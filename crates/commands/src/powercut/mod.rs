//! `fiord powercut`: writes to a target, cuts its power, and checks that it kept what it had promised; several rounds
//! in one command.
//!
//! | question | module |
//! |---|---|
//! | what is on the command line | [`args`] |
//! | which target, load and cut do the rounds have, so that a later call repeats them | [`settings`] |
//! | what does a round write | `load.rs` |
//! | how does the writer start and end | `writer.rs` |
//! | how is the power cut and restored, and when is the target back | `power.rs` |
//! | what does one round do | `round.rs` |
//! | how is a round judged | [`result`] |
//! | which rounds are done, so that a later call can resume | [`state`] |
//! | in which order does everything happen | `drive.rs` |
//! | how are results printed | [`table`] |
//!
//! The writer is this program with `verify=fiord` and `verify_journal`; `fiord verify` checks. Both are child processes.

pub mod args;
mod drive;
mod error;
mod load;
mod power;
pub mod result;
mod round;
pub mod settings;
pub mod state;
pub mod table;
#[cfg(test)]
mod tests;
mod writer;

pub use args::PowercutArgs;
pub use drive::run;
pub use error::PowercutError;
