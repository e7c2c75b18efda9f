//! The files that a run lays out, opens, guards and locks.
//!
//! | question | module |
//! |---|---|
//! | which files are created before the run, and how | `layout/` |
//! | how is a file opened, advised, dropped from the cache | `set.rs` |
//! | which files may a job write, create and remove | `guard.rs` |
//! | how do jobs that share a file take turns (`lockfile`) | `lock.rs` |
//! | when does a job stop before its file system is full (`space_reserve`) | `space.rs` |
//! | which files of a run does another machine keep | `kept.rs` |

pub(crate) mod guard;
pub(crate) mod kept;
pub(crate) mod layout;
pub(crate) mod lock;
pub(crate) mod set;
pub(crate) mod space;
