//! How options are read, and what the planner says about them.
//!
//! | question | module |
//! |---|---|
//! | how does the planner read an option? | `reading` |
//! | where do errors and warnings go? | `messages` |
//! | which errors does a job survive? | `errors` |
//! | which jobs does a policy forbid? | `programs` |
//! | with which method and pattern does a job verify, and does it trim what it has written? | `verification` |

pub(crate) mod errors;
pub(crate) mod messages;
pub(crate) mod programs;
pub(crate) mod reading;
pub(crate) mod verification;
