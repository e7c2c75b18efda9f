//! [`JobData`] as text: a line of JSON with a version. Histograms and series are compact blocks in it
//! ([`fiord_formats::block`]); everything else is plain JSON.
//!
//! `{"version":1,"settings":{"name":"a",…},"recorder":{"dirs":[{"ios":…,"clat":{…},"clat_hist":"wA6…"},{},{}],…},…}`
//!
//! A reader accepts every version up to its own [`VERSION`]. Fields that it does not know are ignored, and fields
//! that are missing have their default, so a field may be added without a new version. The version increases when
//! a field changes its meaning.

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::job::JobData;
use crate::priority::PriorityRecorder;

/// The version that this program writes, and the latest that it reads.
pub const VERSION: u32 = 1;

/// Most priorities of one direction. Each has a histogram, so this bounds the memory that a short text can claim.
const MOST_PRIORITIES: usize = 1024;

/// Why a text is not the data of a job.
#[derive(Debug, thiserror::Error)]
pub enum WireError {
    /// The text is not JSON, or not of a job.
    #[error("invalid job data: {0}")]
    Invalid(#[from] serde_json::Error),
    /// A later version of fiord wrote the text.
    #[error(
        "job data of version {0}; this fiord reads versions up to {VERSION}. To fix: use the same fiord everywhere"
    )]
    Later(u32),
}

/// The data with its version in front.
#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    data: &'a JobData,
}

#[derive(Deserialize)]
struct Head {
    version: u32,
}

impl JobData {
    /// Writes the data as one line of JSON without a line end.
    #[must_use]
    pub fn to_json(&self) -> String {
        // All keys are strings and all values finite or null, so this cannot fail.
        serde_json::to_string(&Versioned { version: VERSION, data: self }).unwrap_or_default()
    }

    /// Reads what [`JobData::to_json`] of this or an earlier version wrote. The memory that it takes is bounded by
    /// a constant and the length of the text.
    ///
    /// # Errors
    /// The text is not the data of a job, or a later version wrote it.
    pub fn from_json(text: &str) -> Result<JobData, WireError> {
        match serde_json::from_str(text)? {
            Head { version } if version > VERSION => Err(WireError::Later(version)),
            Head { .. } => Ok(serde_json::from_str(text)?),
        }
    }
}

/// Whether a value is its default, so that it can be left out.
pub(crate) fn is_unused<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reads a list of at most [`MOST_PRIORITIES`] entries.
pub(crate) fn few_priorities<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Vec<PriorityRecorder>, D::Error> {
    struct Few;
    impl<'de> Visitor<'de> for Few {
        type Value = Vec<PriorityRecorder>;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "at most {MOST_PRIORITIES} priorities")
        }
        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut few = Vec::new();
            while let Some(entry) = list.next_element()? {
                if few.len() == MOST_PRIORITIES {
                    return Err(A::Error::invalid_length(few.len() + 1, &self));
                }
                few.push(entry);
            }
            Ok(few)
        }
    }
    from.deserialize_seq(Few)
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
