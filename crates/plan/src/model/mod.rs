//! The plan: everything a run needs to know, with all options, defaults and units resolved. Code
//! that executes a plan never reads an option by name.
//!
//! Times are in nanoseconds, sizes and offsets in bytes, unless a field says otherwise. The docs of
//! a field name the option it comes from; `docs/reference.md` explains the options.

mod answers;
mod attributes;
mod ceph;
mod content;
mod distribution;
mod endpoint;
mod engine;
mod engines;
mod gfapi;
mod http;
mod iscsi;
mod job;
mod libblkio;
mod load;
mod log;
mod names;
mod nbd;
mod nfs;
mod pace;
mod passthrough;
mod placement;
mod plain;
mod priority;
mod process;
mod protection;
mod record;
mod replay;
mod specification;
mod sprandom;
mod target;
mod verify;
mod zones;

pub use answers::*;
pub use attributes::*;
pub use ceph::*;
pub use content::*;
pub use distribution::*;
pub use endpoint::*;
pub use engine::*;
pub use gfapi::*;
pub use http::*;
pub use iscsi::*;
pub use job::*;
pub use libblkio::*;
pub use load::*;
pub use log::*;
pub use names::*;
pub use nbd::*;
pub use nfs::*;
pub use pace::*;
pub use passthrough::*;
pub use placement::*;
pub use priority::*;
pub use process::*;
pub use protection::*;
pub use record::*;
pub use replay::*;
pub use specification::*;
pub use sprandom::*;
pub use target::*;
pub use verify::*;
pub use zones::*;

// Values that are one of several words have the type of the option table.
pub use fiord_job::option::table::{
    Advice, ClockSource, ExitWhat, Fallocate, Generator, LockFile, LogWindowValue, RateProcess,
    Sequencer, SyncMode, Unified, WriteHint,
};
