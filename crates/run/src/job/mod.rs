//! The thread of a job, apart from its I/O.
//!
//! | question | module |
//! |---|---|
//! | what happens before and after the I/O | `life.rs` |
//! | how do the rest of the run and the worker talk to each other | `control.rs` |
//! | CPU affinity, priorities, user of the thread | `thread.rs` |
//! | which clock times the job | `timebase.rs` |
//! | how are commands run (`exec_prerun`, `exec_postrun`) | `command.rs` |
//! | what does a job hang in | `stuck.rs` |

pub(crate) mod command;
pub(crate) mod control;
pub(crate) mod life;
pub(crate) mod stuck;
pub(crate) mod thread;
pub(crate) mod timebase;
