//! What the planner knows about the machine, and what a job asks of it.
//!
//! | question | module |
//! |---|---|
//! | what does the planner ask about the machine? | [`facts`] |
//! | how does the real machine answer? | [`system`] |
//! | which files exist, and how large do earlier jobs make them? | `survey` |
//! | on which CPUs does a job run? | `cpus` |
//! | where do the buffers of a job come from? | `memory` |
//! | with which user, priority and control group does a job run? | `process` |

pub(crate) mod cpus;
pub mod facts;
pub(crate) mod memory;
pub(crate) mod process;
pub(crate) mod survey;
pub mod system;
