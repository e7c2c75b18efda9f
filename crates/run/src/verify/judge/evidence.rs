//! Collects evidence about each bad extent: reads it again, and lists it in a file.

use std::path::PathBuf;
use std::sync::Arc;

use fiord_formats::integrity::recheck::RereadConclusion;
use fiord_plan::JobPlan;
use fiord_stat::verify::FileExtent;
use fiord_types::{Bytes, FileIndex};

use super::reread::Rereader;
use crate::error::JobError;
use crate::verify::VerifyServices;
use crate::verify::save::ExtentList;

/// Collects evidence about bad extents of one job.
pub(super) struct BadDataEvidence {
    rereader: Rereader,
    /// `verify_extents`.
    list: Option<Arc<ExtentList>>,
    report: Arc<dyn Fn(String) + Send + Sync>,
}

impl BadDataEvidence {
    /// Creates the list if the job wants one.
    pub(super) fn of(job: &JobPlan, services: &VerifyServices) -> Result<Self, JobError> {
        let targets: Vec<PathBuf> = job.target.files.iter().map(|file| file.path.clone()).collect();
        let list = job.reporting.verify_extents.as_deref();
        Ok(BadDataEvidence {
            rereader: Rereader::of(job),
            list: list.map(|path| services.extents.open(path, &targets)).transpose()?,
            report: Arc::clone(&services.bad_block),
        })
    }

    /// Reads bad data again. See [`Rereader::conclude`].
    pub(super) fn reread(
        &mut self,
        file: FileIndex,
        place: (Bytes, Bytes),
        found: &[u8],
        right: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<RereadConclusion> {
        self.rereader.conclude(file, place, found, right)
    }

    /// Adds an extent to the list.
    pub(super) fn list(&mut self, extent: Option<FileExtent>) {
        if let (Some(list), Some(extent)) = (&self.list, extent)
            && let Err(error) = list.add(&extent)
        {
            (self.report)(format!(
                "could not write the list of corrupt extents: {error}; it is incomplete. \
                 To fix: set verify_extents to a file on a file system with free space"
            ));
            self.list = None;
        }
    }
}
