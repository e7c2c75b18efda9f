//! What the report says about a run.
//!
//! | question | module |
//! |---|---|
//! | how do counters become the report | `report.rs` |
//! | how do time slices become tables (`latency_limits`) | `slices.rs` |
//! | how does a result compare with `spec` | `specification.rs` |

pub(crate) mod report;
pub(crate) mod slices;
pub(crate) mod specification;
