//! The suites that there are.

use crate::suite::definition::Definition;
use crate::suite::zbd;

/// Every suite.
#[must_use]
pub fn all() -> [Definition; 5] {
    [
        zbd::write::DEFINITION,
        zbd::parallel::SEQWRITE,
        zbd::parallel::SEQREAD,
        zbd::randread::DEFINITION,
        zbd::mixed::DEFINITION,
    ]
}
