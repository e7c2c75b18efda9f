//! Results of verification, after fio's block of the job.

use std::io::{self, Write};

use fiord_stat::verify::VerifyResults;

/// Writes the coverage, and one line for each bad extent that is shown in full.
pub(super) fn write(results: &VerifyResults, out: &mut dyn Write) -> io::Result<()> {
    let coverage = &results.coverage;
    let (verified, written) = (coverage.verified.0, coverage.written.0);
    // Bytes that were read back and are wrong are checked, not verified.
    let word = if results.counts().is_empty() { "verified" } else { "checked" };
    write!(out, "  fiord: verify: {verified} of {written} bytes written were {word}")?;
    for (why, bytes) in &coverage.unverified {
        write!(out, ", {} {}", bytes.0, why.word())?;
    }
    writeln!(out)?;
    if results.counts().is_empty() {
        return Ok(());
    }
    write!(out, "  fiord: verify: bad extents")?;
    for (i, (class, count)) in results.counts().iter().enumerate() {
        let separator = if i == 0 { ":" } else { "," };
        write!(out, "{separator} {} {} ({} bytes)", count.extents(), class.word(), count.bytes.0)?;
    }
    writeln!(out)?;
    results.extents().iter().try_for_each(|extent| writeln!(out, "    {extent}"))?;
    match results.not_shown() {
        0 => Ok(()),
        more => writeln!(out, "    and {more} more"),
    }
}
