//! What the report says about a run.
//!
//! | question | module |
//! |---|---|
//! | how do counters become the report | `report.rs` |
//! | how do time slices become tables (`latency_limits`) | `slices.rs` |
//! | how does a result compare with `spec` | `specification.rs` |
//! | when are results steady (`steadystate`) | `steady.rs` |
//! | which warnings follow from what a job did to raw flash | `flash.rs` |

pub(crate) mod flash;
pub(crate) mod report;
pub(crate) mod slices;
pub(crate) mod specification;
pub(crate) mod steady;
