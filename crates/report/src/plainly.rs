//! Text without characters that a terminal obeys.

use std::io::{self, Write};

use fiord_types::plain;

/// Writes a text in which such characters of names are replaced ([`plain`]).
///
/// # Errors
/// Returns the error of `out` if the report cannot be written.
pub(crate) fn plainly(
    out: &mut dyn Write,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut text = Vec::new();
    let written = write(&mut text);
    out.write_all(plain(&String::from_utf8_lossy(&text)).as_bytes())?;
    written
}
