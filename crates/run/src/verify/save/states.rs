//! Saves the states of writes: at the end of a job (`verify_state_save`), and when a trigger ends the run.

use std::io::Write;
use std::path::{Path, PathBuf};

use fiord_formats::verify::state::{self, VerifyState, VerifyStateError};
use fiord_plan::JobPlan;
use fiord_sys::file::{self, FileGuard};
use fiord_types::{Bytes, Errno};

use crate::files::kept::{FileKeeper, KeptFile};

/// Why a state could not be saved.
#[derive(Debug, thiserror::Error)]
#[error("the verify state could not be saved to {}: {cause}. To fix: {remedy}", path.display())]
pub(crate) struct NotSaved {
    path: PathBuf,
    #[source]
    cause: Cause,
    remedy: &'static str,
}

#[derive(Debug, thiserror::Error)]
enum Cause {
    #[error(transparent)]
    State(#[from] VerifyStateError),
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    #[error("{}", Errno::explain(.0))]
    Io(#[from] std::io::Error),
}

/// Where a run saves the states of its jobs.
pub(crate) struct StateStore<'a> {
    pub aux_path: &'a Path,
    /// Keeps the states on another machine.
    pub keeper: Option<&'a dyn FileKeeper>,
}

impl StateStore<'_> {
    /// Saves the state of a job under the name that fio gives it.
    ///
    /// # Errors
    /// The state cannot be stored, or the file cannot be written.
    pub(crate) fn save(&self, job: &JobPlan, state: &VerifyState) -> Result<(), NotSaved> {
        let path = self.path(job);
        match self.keeper {
            Some(keeper) => kept(keeper, job, state),
            None => written(&path, state, false),
        }
        .map_err(|cause| not_saved(path, cause))
    }

    /// Saves the state of a job and makes it durable, because a power cut may follow.
    ///
    /// # Errors
    /// The state cannot be stored, or the file cannot be written.
    pub(crate) fn save_durably(&self, job: &JobPlan, state: &VerifyState) -> Result<(), NotSaved> {
        if self.keeper.is_some() {
            return self.save(job, state);
        }
        let path = self.path(job);
        written(&path, state, true).map_err(|cause| not_saved(path, cause))?;
        // The new name must survive, too. Where this is not possible, a crash may remove it.
        let _ = file::open_directory(self.aux_path).and_then(file::fsync);
        Ok(())
    }

    fn path(&self, job: &JobPlan) -> PathBuf {
        self.aux_path.join(name(job))
    }
}

fn name(job: &JobPlan) -> String {
    state::file_name(&job.identity.name, job.identity.index.get() as u64)
}

/// Lets another machine keep a state.
fn kept(keeper: &dyn FileKeeper, job: &JobPlan, state: &VerifyState) -> Result<(), Cause> {
    let bytes = state.write()?;
    Ok(keeper.keep(&KeptFile::State(name(job)), Bytes::ZERO, &bytes)?)
}

fn written(path: &Path, state: &VerifyState, durably: bool) -> Result<(), Cause> {
    let bytes = state.write()?;
    let guard = FileGuard::generated();
    let mut file = guard.replace(path)?;
    let saved = file.write_all(&bytes).and_then(|()| match durably {
        true => file.sync_all(),
        false => Ok(()),
    });
    if saved.is_err() {
        // A partial state is useless, and the state before it is gone. If this fails, too, a job that loads the file
        // finds that it is not whole.
        let _ = guard.remove(path);
    }
    Ok(saved?)
}

fn not_saved(path: PathBuf, cause: Cause) -> NotSaved {
    let remedy = match cause {
        Cause::State(_) => "give the job a shorter name",
        Cause::System(_) | Cause::Io(_) => "set --aux-path to a directory that can be written",
    };
    NotSaved { path, cause, remedy }
}
