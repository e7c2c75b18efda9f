//! Files to which rows are appended, and which end with a whole row even if their file system becomes full.

use std::fs::File;
use std::io::{ErrorKind, Write};

use fiord_types::Bytes;

use super::{InodeType, facts_of, truncate};
use crate::Result;

/// A file of rows. Each row is a line, or rows are written in parts that are useless unless they are whole.
#[derive(Debug)]
pub struct RowFile {
    file: File,
    /// Where the last whole row ends; `None`: the file is not regular, such as a pipe, and cannot be cut.
    whole: Option<Bytes>,
}

impl RowFile {
    /// Appends to the end of a file that was opened for appending, or that is empty.
    ///
    /// # Errors
    /// The errors of `fstat(2)`.
    pub fn new(file: File) -> Result<RowFile> {
        let facts = facts_of(&file)?;
        let whole = (facts.kind == InodeType::Regular).then_some(facts.size);
        Ok(RowFile { file, whole })
    }

    /// Appends whole lines. If that fails, the file ends with the last line that was written whole.
    ///
    /// # Errors
    /// The errors of `write(2)`.
    pub fn write_lines(&mut self, lines: &[u8]) -> std::io::Result<()> {
        let end_of_line = |written: &[u8]| written.iter().rposition(|byte| *byte == b'\n');
        self.write(lines, &|written| end_of_line(written).map_or(0, |last| last + 1))
    }

    /// Appends bytes that are useless unless all are there, such as a compressed part. If that fails, the file has
    /// none of them.
    ///
    /// # Errors
    /// The errors of `write(2)`.
    pub fn write_part(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.write(bytes, &|_| 0)
    }

    #[must_use]
    pub fn file(&self) -> &File {
        &self.file
    }

    /// `whole`: how many of the bytes that were written before an error belong to whole rows.
    fn write(&mut self, bytes: &[u8], whole: &dyn Fn(&[u8]) -> usize) -> std::io::Result<()> {
        let (written, error) = write_most(&mut self.file, bytes);
        let kept = if error.is_some() { whole(&bytes[..written]) } else { written };
        if let Some(end) = &mut self.whole {
            *end = end.saturating_add(Bytes(kept as u64));
            if error.is_some() {
                // If this fails, too, the file ends with a part of a row.
                let _ = truncate(&self.file, *end);
            }
        }
        error.map_or(Ok(()), Err)
    }
}

/// Writes as many bytes as possible. Returns how many, and the error that prevented the rest.
fn write_most(file: &mut File, bytes: &[u8]) -> (usize, Option<std::io::Error>) {
    let mut written = 0;
    while written < bytes.len() {
        match file.write(&bytes[written..]) {
            Ok(0) => return (written, Some(ErrorKind::WriteZero.into())),
            Ok(count) => written += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}
