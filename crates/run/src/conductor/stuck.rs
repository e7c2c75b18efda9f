//! Finds out what a job hangs in when the run ends without waiting for it.

use std::path::Path;
use std::sync::atomic::Ordering;

use fiord_plan::JobPlan;
use fiord_sys::task::{self, BlockedCall};
use fiord_types::Errno;

use crate::error::{JobError, Stage};
use crate::job::control::Phase;
use crate::shared::Shared;
/// Maximum number of files that the message names if the operation could be on any of them.
const NAMED: usize = 3;

/// The error of a job that has not ended: names the operation that its thread waits in, and the file. The
/// errno is `ETIMEDOUT`.
pub(crate) fn error(job: &JobPlan, shared: &Shared) -> JobError {
    let waiting = task::waits_in(shared.tid.load(Ordering::Relaxed));
    let mut error = JobError::new(
        stage(shared.control.phase()),
        Errno::ETIMEDOUT,
        detail(job, waiting.as_ref()),
    );
    if let Some(BlockedCall { file, offset, .. }) = waiting {
        error.file = file;
        error.offset = offset;
    }
    error
}

/// The stage that the job was in.
fn stage(phase: Phase) -> Stage {
    match phase {
        Phase::NotStarted => Stage::Layout,
        Phase::SetUp | Phase::Waiting => Stage::SetUp,
        Phase::Ramp | Phase::Running => Stage::Io,
        Phase::Finishing | Phase::Ended => Stage::End,
    }
}

fn detail(job: &JobPlan, waiting: Option<&BlockedCall>) -> String {
    let files = files(job);
    let what = match waiting {
        Some(BlockedCall { call, file: Some(_), .. }) => format!("the job hangs in {call}"),
        Some(BlockedCall { call, .. }) => format!("the job hangs in {call} with I/O on {files}"),
        None => format!("the job with I/O on {files} does not end"),
    };
    format!("{what}; the run ended without it. To fix: find the cause in the kernel log (dmesg)")
}

/// The files of a job in words; only the first ones if there are many.
fn files(job: &JobPlan) -> String {
    let real = job.target.files.iter().filter(|file| file.kind.has_path());
    let names: Vec<&Path> = real.map(|file| file.path.as_path()).collect();
    let shown: Vec<String> =
        names.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    match names.len() {
        0 => "no file".into(),
        n if n > NAMED => format!("{} and {} more", shown.join(", "), n - NAMED),
        _ => shown.join(", "),
    }
}
