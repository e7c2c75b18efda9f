//! How options are read, and what the planner says about them.
//!
//! | question | module |
//! |---|---|
//! | how does the planner read an option? | `reading` |
//! | where do errors and warnings go? | `messages` |
//! | which errors does a job survive? | `errors` |
//! | which combinations of options are refused? | `checks` |
//! | which jobs does a policy forbid? | `programs` |
//! | which options have no effect on a job? | `unused_options` |

pub(crate) mod checks;
pub(crate) mod errors;
pub(crate) mod messages;
pub(crate) mod programs;
pub(crate) mod reading;
pub(crate) mod unused_options;
