//! Recorders, histograms and the report's data model.
//!
//! Data flow: each worker counts into its own [`Recorder`](recorder::Recorder) and publishes totals through
//! [`Live`](live::Live). The monitor feeds [`Windows`](windows::Windows) from these totals. When the workers
//! have ended, the data of each job becomes a [`JobData`](job::JobData), and [`assemble`](job::assemble)
//! merges, summarises and groups the jobs into the parts of a [`Report`](report::Report). This crate prints
//! nothing.
//!
//! ```
//! use fiord_stat::histogram::Histogram;
//! use fiord_types::Nanos;
//!
//! let mut latencies = Histogram::default();
//! (1..=100).for_each(|us| latencies.record(Nanos::from_micros(us)));
//! // Buckets are at most 1/64 wide, as in fio.
//! assert_eq!(latencies.percentiles(&[50.0, 99.0]), [(50.0, Nanos(49_920)), (99.0, Nanos(98_816))]);
//! ```

#![forbid(unsafe_code)]

pub mod block_errors;
pub mod buckets;
pub mod claim;
pub mod delays;
pub mod device;
pub mod engine;
pub mod finding;
mod groups;
pub mod histogram;
pub mod hooks;
pub mod hosts;
pub mod job;
pub mod live;
mod maps;
mod named;
pub mod priority;
pub mod progress;
pub mod ramp;
pub mod recorder;
pub mod replay;
pub mod report;
pub mod samples;
mod settings;
pub mod shares;
pub mod slices;
pub mod snapshot;
pub mod steady;
pub mod summary;
mod time_units;
pub mod units;
pub mod verify;
pub mod windows;
pub mod wire;
pub mod wrap;
mod zero_one;
