//! What the bytes of writes are.

use crate::model::Content;
use crate::reading::Reading;

/// A pattern counts before zeros, zeros before refilling, refilling before scrambling.
pub(crate) fn content(job: Reading) -> Content {
    if let Some(pattern) = job.set_pattern("buffer_pattern").filter(|p| !p.is_empty()) {
        return Content::Pattern(pattern.to_vec());
    }
    if job.flag("zero_buffers") {
        Content::Zero
    } else if job.flag("refill_buffers") {
        Content::Refill
    } else if job.flag("scramble_buffers") {
        Content::Scramble
    } else {
        Content::Fixed
    }
}
