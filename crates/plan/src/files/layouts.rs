//! Files that several jobs lay out at the same time (`create_serialize=0`).

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::model::{FileKind, FilePlan, JobPlan};

/// Has all users of a file that a job with `create_serialize=0` lays out state which size they need: whichever comes first
/// lays it out. Such a job does so only when it starts, so that its file is not there yet for the others.
pub(crate) fn share(plans: &mut [JobPlan]) {
    let laid_out = |file: &&FilePlan| file.size_needed.is_some();
    let late = plans.iter().filter(|plan| !plan.target.layout.serialize);
    let late = late.flat_map(|plan| plan.target.files.iter().filter(laid_out));
    let late: HashSet<PathBuf> = late.map(|file| named(&file.path)).collect();
    if late.is_empty() {
        return;
    }
    for file in plans.iter_mut().flat_map(|plan| &mut plan.target.files) {
        let kind = matches!(file.kind, FileKind::Regular | FileKind::Name);
        if kind && file.size_needed.is_none() && late.contains(&named(&file.path)) {
            file.size_needed = Some(file.end());
        }
    }
}

/// One spelling of a path for `f` and `./f`.
fn named(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}
