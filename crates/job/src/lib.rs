//! fiord's job language: job files, the command line and the option table.
//!
//! This crate parses text into [`JobSpec`](spec::JobSpec)s. Each value is validated separately and
//! keeps its place in the source. The crate does not access the system under test.
//!
//! The only entry point is [`invocation`].
//!
//! ```
//! use fiord_job::diagnostic;
//! use fiord_job::load::Memory;
//! use fiord_job::option::table::{BS, SIZE};
//! use fiord_job::option::value::Amount;
//!
//! let mut files = Memory::job("[global]\nbs=8k\n[reader]\nrw=randread\nsize=1g\n");
//! let run = fiord_job::invocation(&["job.fio".into()], &mut files).unwrap();
//! assert_eq!(run.jobs[0].name, "reader");
//! assert_eq!(run.jobs[0].get(SIZE), Some(Amount::Bytes(1 << 30)));
//! assert!(run.jobs[0].setting(BS).is_some_and(|setting| setting.global));
//!
//! let errors = fiord_job::invocation(&["--name=a".into(), "--rw=randraed".into()], &mut files).unwrap_err();
//! assert!(diagnostic::render(&errors, false).contains("did you mean `randread`?"));
//! ```

#![forbid(unsafe_code)]

pub mod assemble;
pub mod command;
pub mod completion;
pub mod diagnostic;
pub mod expand;
pub mod expression;
pub mod file;
pub mod fuzz;
pub mod load;
pub mod man;
pub mod number;
pub mod option;
pub mod profile;
pub mod rational;
pub mod scan;
pub mod secret;
pub mod section;
pub mod spec;
pub mod suggest;
pub mod unsupported;

pub use command::{Action, GeneralOptions, Invocation, arguments, invocation, version};
pub use unsupported::unsupported;

#[cfg(test)]
mod tests;
