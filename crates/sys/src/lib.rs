//! What the machine is, and safe wrappers over the system calls and ioctls that reach it.
//!
//! Nothing here knows about jobs. One module a subject:
//!
//! | question | module |
//! |---|---|
//! | what time is it, and what does asking cost | [`clock`] |
//! | open, size, allocate, sync, drop from the cache, lock, remove a file | [`file`] |
//! | block device sizes, discard, buffer flush, scheduler | [`block`] |
//! | is this device mounted | [`mount`] |
//! | what did the disk do while we ran | [`diskstats`] |
//! | CPU time, context switches, faults | [`usage`] |
//! | I/O buffers of every kind | [`memory`] |
//! | host name, page size, memory, wall time | [`host`] |
//!
//! Every fallible call returns [`Error`], which says what was tried, on which path, and what the
//! kernel answered. The kernel version a feature needs is in the documentation of the function;
//! nothing said means Linux 4.4 or older will do.

pub mod block;
pub mod clock;
pub mod diskstats;
pub mod errno;
mod error;
pub mod file;
pub mod host;
pub mod memory;
pub mod mount;
pub mod usage;

pub use error::{Error, Result};
