//! Recorders, histograms and the report's data model.
//!
//! The way of a number: a worker counts into its own [`Recorder`](recorder::Recorder) and shows
//! totals through [`Live`](live::Live); the monitor feeds [`Windows`](windows::Windows) from
//! those; when the workers have ended, each job's data becomes a [`JobData`](job::JobData), and
//! [`assemble`](job::assemble) merges, summarises and groups them into the parts of a
//! [`Report`](report::Report). Nothing here prints.
pub mod buckets;
pub mod course;
pub mod delays;
pub mod device;
pub mod finding;
pub mod histogram;
pub mod job;
pub mod live;
pub mod priority;
pub mod progress;
pub mod recorder;
pub mod report;
pub mod shares;
pub mod slices;
pub mod steady;
pub mod summary;
pub mod units;
pub mod windows;
