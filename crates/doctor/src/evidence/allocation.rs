//! Whether a file system must allocate space for the writes of a job.

use fiord_plan::{FileKind, JobPlan};
use fiord_types::{Bytes, Dir};

use crate::check::After;
use crate::evidence::amount::percent;
use crate::evidence::touched::{JobReach, Touched, moved, planned};
use crate::machine::FileState;

/// Share of a file that does not matter.
const FEW: f64 = 0.01;

/// Returns the limit and the remedy if the file system must allocate space for the job's writes, because
/// they go to space that was not written before.
pub(crate) fn allocation(known: &After<'_>, job: &JobPlan) -> Option<(String, String)> {
    let amount = moved(known, job, Dir::Write).or_else(|| planned(job, Dir::Write));
    let reach = JobReach::new(job, Dir::Write, amount);
    let files = job.target.files.iter().filter(|file| file.kind == FileKind::Regular);
    let written =
        files.filter_map(|file| Some((known.before.file(&file.path)?, reach.touched(file)?)));
    let missing = |state: &FileState, Touched { from, to, .. }: Touched| match &state.data {
        Some(Ok(data)) => {
            let (from, to) = (from.max(data.from), to.min(data.to));
            let range = to.saturating_sub(from).max(Bytes(1));
            1.0 - data.bytes_in(from, to).as_f64() / range.as_f64()
        }
        // Unknown: only a layout with `overwrite` is known to write the file.
        _ => f64::from(u8::from(!job.target.layout.overwrite)),
    };
    let (share, kind) = written
        .filter_map(|(state, range)| {
            Some((missing(state, range), state.file_system.as_deref().ok()?))
        })
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .filter(|(share, _)| *share > FEW)?;
    let limit = format!(
        "{kind} serializes direct writes that allocate or extend a file, and {} of the range that the job \
         wrote was not written before",
        percent(share)
    );
    let several = if job.target.files.len() > 1 { "" } else { ", use several files (nrfiles)" };
    Some((
        limit,
        format!("set overwrite=1{several}, or use the device itself if nothing on it is needed"),
    ))
}
