//! What belongs to one job, apart from its I/O.
//!
//! | question | module |
//! |---|---|
//! | how do the rest of the run and the worker talk to each other | `control.rs` |
//! | CPU affinity, priorities, user of its thread | `thread.rs` |
//! | which clock times it | `timebase.rs` |
//! | how are commands run (`exec_prerun`, `exec_postrun`) | `command.rs` |
//! | when are its results steady (`steadystate`) | `steady.rs` |

pub(crate) mod command;
pub(crate) mod control;
pub(crate) mod steady;
pub(crate) mod thread;
pub(crate) mod timebase;
