//! The parts of the page, in the order in which an engineer asks.
//!
//! | question | module |
//! |---|---|
//! | how is a run seen: jobs of one machine or of many hosts | `view.rs` |
//! | tables, figures and tiles, which all parts use | `element.rs` |
//! | can I trust the numbers | `findings.rs` |
//! | what ran on what | `machine.rs`, `job_text.rs` |
//! | what are the numbers | `jobs.rs` |
//! | how did they develop | `series.rs` |
//! | how are latencies distributed | `curves.rs` |
//! | what did the devices see | `devices.rs` |
//! | what did the generator itself cost | `generator.rs` |
//! | what was wrong with the data | `verification.rs` |
//! | how were devices filled before a measurement | `precondition.rs` |
//! | which settings give which result | `sweep.rs`, `suite.rs`, `points.rs`, `knee.rs` |

pub(crate) mod curves;
pub(crate) mod devices;
pub(crate) mod element;
pub(crate) mod findings;
pub(crate) mod generator;
pub(crate) mod job_text;
pub(crate) mod jobs;
mod knee;
pub(crate) mod machine;
pub(crate) mod points;
pub(crate) mod precondition;
pub(crate) mod series;
pub(crate) mod suite;
pub(crate) mod sweep;
pub(crate) mod verification;
pub(crate) mod view;
