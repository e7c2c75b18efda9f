//! Subcommands that fio does not have.
//!
//! | question | module |
//! |---|---|
//! | `fiord sweep`: which settings give which result, and where is the knee | [`sweep`] |
//! | `fiord compare`: which of several sides is better, and how certain is that | [`compare`] |
//! | `fiord run`: how are jobs repeated, so that their results can be compared | [`repeat`] |
//! | `fiord suite`: which runs answer one question about a device | [`suite`] |
//! | `fiord zones`: which zones does a device have, and how are they reset | [`zones`] |
//! | `fiord devices`: which disks does the machine have, and which links do they share | [`devices`] |
//! | `fiord precondition`: how is a device filled before a measurement | [`precondition`] |
//! | `fiord powercut`: does a device keep what it had promised when its power fails | [`powercut`] |
//! | `fiord skew`: how does a random distribution spread the I/O over the data | [`skew`] |
//! | `fiord log`: what do logs of bandwidth, IOPS and latencies contain | [`log`] |
//! | `fiord series`: what did the jobs of a finished run do over time | [`series`] |
//! | `fiord live`: how is a finished run replayed | [`live`] |
//! | `fiord verify`: did a target keep its promises in a crash | [`verify`] |
//! | `fiord trace`: what does a trace contain, and which job approximates it | [`trace`] |
//! | `fiord report`: how do results become a page | [`report`] |
//! | `fiord keys`: which key has this host, and which keys does it trust | [`keys`] |
//!
//! What they share:
//!
//! | question | module |
//! |---|---|
//! | where does a subcommand write, whom does it ask, and how does it end | [`session`] |
//! | how does the user confirm that data will be lost | [`consent`] |
//! | does a target exist, and is it in use | [`target`] |
//! | how is this program started for each of several runs, and which of them are done | [`runs`] |
//! | what are the values of `--set`, and which points do they make | [`axis`] |
//! | which errors does a job have | [`rejected`] |
//! | how is progress saved, so that a later call can resume | [`state_file`] |
//! | how are bytes and times formatted | [`amount`] |
//! | how is a table aligned | [`columns`] |
//!
//! Each subcommand has an `Args`, which `clap` fills, a function that runs it, and an `Error` that
//! says what failed, where, why and what to do.
//!
//! ```
//! use fiord_commands::consent::{self, Answer, Ask, NoConsent};
//!
//! struct Script;
//! impl Ask for Script {
//!     fn ask(&mut self, _question: &str) -> Answer {
//!         Answer::NoTerminal
//!     }
//! }
//! assert_eq!(consent::obtain(false, &mut Script), Err(NoConsent::NoTerminal));
//! assert_eq!(consent::obtain(true, &mut Script), Ok(()));
//! ```

#![forbid(unsafe_code)]

pub mod amount;
pub mod axis;
pub mod columns;
pub mod compare;
pub mod consent;
pub mod devices;
pub mod keys;
pub mod live;
pub mod log;
pub mod powercut;
pub mod precondition;
pub mod rejected;
pub mod repeat;
pub mod report;
pub mod runs;
pub mod series;
pub mod session;
pub mod skew;
pub mod state_file;
pub mod suite;
pub mod sweep;
pub mod target;
pub mod trace;
pub mod verify;
pub mod zones;
