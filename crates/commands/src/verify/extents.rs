//! The list of all bad extents (`--extents`).

use std::path::{Path, PathBuf};

use fiord_stat::verify::FileExtent;
use fiord_sys::file::{self, FileGuard, RowFile};

use super::args::VerifyArgs;
use super::error::VerifyError;

/// The list of all bad extents, if the user wants one.
#[derive(Debug, Default)]
pub(super) struct Extents {
    list: Option<(PathBuf, RowFile)>,
}

impl Extents {
    /// Opens the list that the arguments name.
    pub(super) fn open(args: &VerifyArgs, targets: &[PathBuf]) -> Result<Self, VerifyError> {
        let Some(path) = &args.extents else { return Ok(Extents::default()) };
        let failed = |source| VerifyError::Extents { path: path.clone(), source };
        let is = |other: &Path| {
            let identity =
                |path: &Path| file::facts(path).ok().map(|facts| (facts.device, facts.inode));
            identity(path).is_some_and(|one| Some(one) == identity(other))
        };
        // A device would get the text as its data.
        let unusable = path.metadata().is_ok_and(|found| !found.is_file());
        if unusable || targets.iter().any(|target| is(target)) || is(&args.journal) {
            return Err(failed(std::io::Error::other(
                "it is the target, the journal, or not a regular file",
            )));
        }
        let file = FileGuard::typed().replace(path).and_then(RowFile::new);
        let file = file.map_err(|error| failed(error.into()))?;
        Ok(Extents { list: Some((path.clone(), file)) })
    }

    /// Adds a bad extent to the list.
    pub(super) fn add(&mut self, extent: Option<FileExtent>) -> Result<(), VerifyError> {
        if let (Some((path, file)), Some(extent)) = (&mut self.list, extent) {
            let line = format!("{extent}\n");
            file.write_lines(line.as_bytes())
                .map_err(|source| VerifyError::Extents { path: path.clone(), source })?;
        }
        Ok(())
    }
}
