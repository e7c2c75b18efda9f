//! Directions of a report, in the terms of a plan and in words.

use fiord_plan::Dir;
use fiord_stat::report::DirKind;

/// The direction of a row of the report; none where it is of all together.
pub(crate) fn dir(kind: DirKind) -> Option<Dir> {
    match kind {
        DirKind::Read => Some(Dir::Read),
        DirKind::Write => Some(Dir::Write),
        DirKind::Trim => Some(Dir::Trim),
        DirKind::Mixed => None,
    }
}

/// What is counted in a row.
pub(crate) fn words(kind: DirKind) -> &'static str {
    match kind {
        DirKind::Read => "reads",
        DirKind::Write => "writes",
        DirKind::Trim => "trims",
        DirKind::Mixed => "I/Os",
    }
}
