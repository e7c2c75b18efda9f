//! Which formats a run prints, and in which order.

use std::io::{self, Write};

use fiord_stat::report::Report;

use crate::terse::TerseVersion;

/// The requested formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Formats {
    /// Text for people.
    pub normal: bool,
    pub json: bool,
    /// JSON with histogram buckets. With `json` too, there is one document, which has the buckets.
    pub json_plus: bool,
    /// Terse lines with fields separated by semicolons.
    pub terse: bool,
    /// Version of the terse format, which determines its fields.
    pub terse_version: TerseVersion,
    /// Width of the terminal that shows the text, in columns: long findings are wrapped. `None` for files and pipes.
    pub columns: Option<usize>,
}

impl Default for Formats {
    fn default() -> Self {
        Formats {
            normal: true,
            json: false,
            json_plus: false,
            terse: false,
            terse_version: TerseVersion::V3,
            columns: None,
        }
    }
}

impl Formats {
    /// Whether text for people (header lines, layout lines) is requested.
    #[must_use]
    pub fn wants_header(&self) -> bool {
        self.normal
    }
}

/// Writes a final or interim report: terse lines, the JSON document, then the text.
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub fn write(report: &Report, formats: Formats, out: &mut dyn Write) -> io::Result<()> {
    if formats.terse {
        crate::terse(report, formats.terse_version, out)?;
    }
    if formats.json_plus {
        crate::json_plus(report, out)?;
    } else if formats.json {
        crate::json(report, out)?;
    }
    if formats.normal {
        crate::normal::normal_within(report, formats.columns, out)?;
    }
    Ok(())
}
