//! [`JobData`] as text: a line of JSON with a version. Histograms and series are compact blocks in it
//! ([`fiord_formats::block`]); everything else is plain JSON.
//!
//! `{"version":1,"settings":{"name":"a",…},"recorder":{"dirs":[{"ios":…,"clat":{…},"clat_hist":"wA6…"},{},{}],…},…}`
//!
//! A reader accepts every version up to its own [`VERSION`]. Fields that it does not know are ignored, and fields
//! that are missing have their default, so a field may be added without a new version. The version increases when
//! a field changes its meaning.

use serde::{Deserialize, Serialize};

use crate::job::JobData;

/// The version that this program writes, and the latest that it reads.
pub const VERSION: u32 = 1;

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
    Later(u64),
}

/// The data with its version in front.
#[derive(Serialize)]
struct Versioned<'a> {
    version: u32,
    #[serde(flatten)]
    data: &'a JobData,
}

/// What all versions have.
#[derive(Deserialize)]
struct Head {
    version: u64,
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
        // The version comes first: the rest may differ between versions.
        let Head { version } = serde_json::from_str(text)?;
        if version > u64::from(VERSION) {
            return Err(WireError::Later(version));
        }
        Ok(serde_json::from_str(text)?)
    }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
