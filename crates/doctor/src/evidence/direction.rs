//! Converts the directions of a report into those of a plan, and into words.
use fiord_stat::report::DirKind;
use fiord_types::Dir;

/// Returns the direction of a row of the report; `None` if the row covers all directions.
pub(crate) fn dir(kind: DirKind) -> Option<Dir> {
    match kind {
        DirKind::Read => Some(Dir::Read),
        DirKind::Write => Some(Dir::Write),
        DirKind::Trim => Some(Dir::Trim),
        DirKind::Mixed => None,
    }
}

/// Names the I/Os that a row counts: `reads`.
pub(crate) fn words(kind: DirKind) -> &'static str {
    match kind {
        DirKind::Read => "reads",
        DirKind::Write => "writes",
        DirKind::Trim => "trims",
        DirKind::Mixed => "I/Os",
    }
}
