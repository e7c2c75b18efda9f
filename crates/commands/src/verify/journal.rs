//! Reads a journal, as often as it is needed: its records are not kept.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use fiord_formats::integrity::journal::{
    JOURNAL_UNIT, JournalEnd, JournalHeader, JournalReader, JournalRecord, JournaledTarget,
    MAX_TARGETS,
};
use fiord_sys::file::{FileGuard, Open};
use fiord_types::Bytes;

use super::error::VerifyError;
use crate::target::TargetError;

/// Bytes that are read together.
const CHUNK: usize = 1 << 20;

/// An open journal.
#[derive(Debug)]
pub(super) struct JournalFile {
    pub path: PathBuf,
    pub header: JournalHeader,
    file: File,
}

impl JournalFile {
    /// Opens a journal and reads its header.
    pub(super) fn open(path: &Path) -> Result<Self, VerifyError> {
        let file = Open::read_only().open(path).map_err(|e| TargetError::new(path, e))?;
        let file = File::from(file);
        let mut start = vec![0; JOURNAL_UNIT * MAX_TARGETS];
        let length = read_at(&file, &mut start, 0)
            .map_err(|source| VerifyError::Read { path: path.into(), source })?;
        let header = JournalHeader::read(&start[..length])
            .map_err(|source| VerifyError::Journal { path: path.into(), source })?;
        Ok(JournalFile { path: path.into(), header, file })
    }

    /// Opens a journal that comes through standard input, after which standard input stays open. `name`: its name for messages.
    pub(super) fn from_input(name: &Path, length: Bytes) -> Result<Self, VerifyError> {
        let directory = std::env::temp_dir();
        let path = directory.join(format!("fiord-journal.{}", std::process::id()));
        let failed = |source| VerifyError::Spool { path: directory.clone(), source };
        let mut file =
            FileGuard::generated().replace(&path).map_err(|error| failed(error.into()))?;
        let copied = io::copy(&mut io::stdin().lock().take(length.0), &mut file);
        let journal = match copied {
            Err(error) => Err(failed(error)),
            Ok(found) if found < length.0 => {
                Err(VerifyError::ShortInput { found: Bytes(found), expected: length })
            }
            Ok(_) => JournalFile::open(&path),
        };
        // The open file stays readable without its name.
        let removed = FileGuard::generated().remove(&path);
        let journal = journal.map_err(|error| error.of_journal(name))?;
        removed.map_err(|error| failed(error.into()))?;
        Ok(JournalFile { path: name.into(), ..journal })
    }

    /// Passes all records to `apply`, in order.
    pub(super) fn each(
        &self,
        apply: &mut dyn FnMut(JournalRecord),
    ) -> Result<JournalEnd, VerifyError> {
        let damaged = |source| VerifyError::Journal { path: self.path.clone(), source };
        let mut reader = JournalReader::of(&self.header);
        let (mut chunk, mut records) = (vec![0; CHUNK], Vec::new());
        let mut at = self.header.length().0;
        loop {
            while reader.next_block(&mut records).map_err(damaged)? {
                records.drain(..).for_each(&mut *apply);
            }
            if !reader.wants_more() {
                break;
            }
            let length = read_at(&self.file, &mut chunk, at)
                .map_err(|source| VerifyError::Read { path: self.path.clone(), source })?;
            if length == 0 {
                break;
            }
            reader.push(&chunk[..length]);
            at += length as u64;
        }
        reader.end().map_err(damaged)
    }
}

/// The path of a target of the run, for messages.
pub(super) fn named(target: &JournaledTarget) -> String {
    target.known_path().map_or("unknown".into(), |path| path.display().to_string())
}

/// Reads until the buffer is full or the file ends. Returns the number of bytes.
pub(super) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut length = 0;
    while length < buffer.len() {
        match file.read_at(&mut buffer[length..], offset + length as u64) {
            Ok(0) => break,
            Ok(bytes) => length += bytes,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(length)
}
