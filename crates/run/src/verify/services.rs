//! What verification needs from the rest of the run.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use super::save::{ExtentLists, Journals, WriteProgress};
use crate::maps::VerifyMaps;

/// What verification needs from the rest of the run.
pub(crate) struct VerifyServices<'a> {
    /// Receives a message about each bad block that the job finds.
    pub bad_block: Arc<dyn Fn(String) + Send + Sync>,
    /// Receives warnings about the job.
    pub warn: &'a dyn Fn(String),
    /// Directory for files that the run itself creates (`--aux-path`).
    pub aux_path: &'a Path,
    /// Which write each block of the targets contains.
    pub maps: &'a VerifyMaps,
    /// The lists of corrupt extents of the run (`verify_extents`).
    pub extents: &'a ExtentLists,
    /// The journals of the run (`verify_journal`).
    pub journals: &'a Journals,
    /// A trigger may end the run, so that the job keeps a state (`--trigger-file`).
    pub triggers: bool,
    /// Receives how far the writes of the job are, if it keeps a state.
    pub writes: &'a OnceLock<Arc<WriteProgress>>,
}
