//! What the bytes of writes are.

use std::path::Path;

use fiord_job::option::value::PatternPart;

use crate::facts::FoundKind;
use crate::messages::Messages;
use crate::model::Content;
use crate::reading::Reading;
use crate::survey::Survey;

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

/// The files whose bytes a pattern takes must be there before anything is laid out.
pub(crate) fn pattern_files(job: Reading, survey: &mut Survey, messages: &mut Messages) {
    let parts = job.set_pattern("buffer_pattern").unwrap_or_default();
    for part in parts {
        let PatternPart::File(name) = part else { continue };
        let wrong = match survey.look(Path::new(name)) {
            Ok(found) if found.kind != FoundKind::Regular => "is no regular file".to_owned(),
            Ok(found) if !found.readable => "may not be read".to_owned(),
            Ok(found) if found.size == 0 => "is empty".to_owned(),
            Ok(_) => continue,
            Err(unseen) => format!("cannot be read: {}", unseen.text),
        };
        messages.push(
            job.error("buffer_pattern", format!("the pattern's file `{name}` {wrong}"))
                .help("a text stands in double quotes, a file's name in single ones"),
        );
    }
}
