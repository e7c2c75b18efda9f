//! Exports what a run measures while it runs: rows of a time series, and metrics for Prometheus.
//!
//! Snapshots of the run go in, text and bytes come out; files and sockets are at the edge. All counts of a snapshot go
//! back to the beginning of the run, so a missed snapshot costs resolution and no I/O.
//!
//! | question | module |
//! |---|---|
//! | which rows does a snapshot add to a series | [`series`] |
//! | what is known of a run for its metrics | [`metrics`] |
//! | how are metrics written as text and as Prometheus' protocol buffers | `metrics/text.rs`, `metrics/protobuf.rs` |
//! | what does a request get, and who waits for it | [`http`] |
//! | how is a file of metrics replaced | [`mod@file`] |
//!
//! The crate `prometheus-client` is not used: it has no native histograms, its histograms cannot be filled with counts
//! that exist already, and it does not write Prometheus' protocol buffers.

#![forbid(unsafe_code)]

pub mod file;
pub mod http;
pub mod metrics;
pub mod series;

#[cfg(test)]
mod fixture;
