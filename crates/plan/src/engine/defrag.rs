//! The options of `e4defrag`.

use fiord_job::option::table::file_operations::{DONORNAME, INPLACE};
use fiord_job::option::table::{DIRECTORY, IOENGINE};

use crate::files::filename::below;
use crate::model::E4defragPlan;
use crate::options::reading::Reading;

/// Reads the options of `e4defrag`. A job without a donor file is an error.
pub(super) fn options(job: Reading) -> E4defragPlan {
    let name = job.get(DONORNAME).filter(|name| !name.is_empty());
    if name.is_none() {
        job.report(
            job.error(
                IOENGINE,
                "`ioengine=e4defrag` exchanges blocks with a donor file, which is not named",
            )
            .help("To fix: set `donorname=FILE`, a file on the same file system"),
        );
    }
    let directories = job.get(DIRECTORY).unwrap_or_default();
    let directory = directories.first().map(std::path::Path::new);
    let donor = name.map_or_else(Default::default, |name| below(directory, &name));
    E4defragPlan { donor, inplace: job.get(INPLACE).unwrap_or(0) != 0 }
}
