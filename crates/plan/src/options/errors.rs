//! The errors that a job survives: `continue_on_error`, `ignore_error`.

use fiord_job::option::table::{CONTINUE_ON_ERROR, IGNORE_ERROR, ToleratedErrors};

use super::reading::Reading;
use crate::model::{ContinueOnError, Tolerance};

/// Reads `continue_on_error` and `ignore_error`. As in fio, the one that comes last decides whether the job continues
/// after errors of a kind of I/O.
pub(crate) fn continue_on_error(job: Reading) -> ContinueOnError {
    let none = ContinueOnError::default();
    let (reads, writes) = (Tolerance::Medium, Tolerance::Medium);
    let verification = Tolerance::Medium;
    let mut tolerated = match job.get(CONTINUE_ON_ERROR) {
        ToleratedErrors::None => none,
        ToleratedErrors::Read => ContinueOnError { reads, ..none },
        ToleratedErrors::Write => ContinueOnError { writes, ..none },
        ToleratedErrors::Io => ContinueOnError { reads, writes, ..none },
        ToleratedErrors::Verify => ContinueOnError { verification, ..none },
        ToleratedErrors::All => ContinueOnError::ALL,
    };
    let Some(lists) = job.get(IGNORE_ERROR) else { return tolerated };
    let comes_last = job.position(IGNORE_ERROR) > job.position(CONTINUE_ON_ERROR);
    for (kind, list) in [
        (&mut tolerated.reads, lists.reads),
        (&mut tolerated.writes, lists.writes),
        (&mut tolerated.verification, lists.verification),
    ] {
        if !list.is_empty() && (comes_last || kind.counts()) {
            *kind = Tolerance::Listed(list);
        }
    }
    tolerated
}
