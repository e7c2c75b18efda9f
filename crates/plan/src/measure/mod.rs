//! What a job measures, and how its results are reported.
//!
//! | question | module |
//! |---|---|
//! | which latencies and windows does a job record? | `record` |
//! | when does a job record latencies in slices of time? | `slices` |
//! | whose blocks are followed until they fail (`block_error_percentiles`)? | `block_errors` |
//! | which logs does a job write, and what is in them? | `log` |
//! | how do reports show a job? | `reporting` |
//! | which jobs are reported together? | `groups` |
//! | with which claims is a result compared (`spec=`)? | `specification` |

pub(crate) mod block_errors;
pub(crate) mod groups;
pub(crate) mod listing;
pub(crate) mod log;
pub(crate) mod record;
pub(crate) mod reporting;
pub(crate) mod slices;
pub(crate) mod specification;
