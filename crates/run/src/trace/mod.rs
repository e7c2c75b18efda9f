//! I/Os that are recorded, and recorded I/Os that are replayed.
//!
//! | question | module |
//! |---|---|
//! | how are the I/Os of jobs recorded (`write_iolog`) | `iolog.rs` |
//! | how is a trace read ahead of its replay (`read_iolog`) | `replay/` |

pub(crate) mod iolog;
pub mod replay;
