//! The header of a journal: its run and its targets.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use fiord_types::Bytes;

use super::{JOURNAL_MAGIC, JOURNAL_UNIT, JournalError, number, sum_of};
use crate::integrity::sector::{RunId, SectorSize, TargetId};

/// Where the path begins, and where the checksum of the header is.
const PATH: usize = 70;
const CHECKSUM: usize = JOURNAL_UNIT - 8;
/// Flag of the header.
const SECTORS_MAY_TEAR: u64 = 1;
/// Maximum number of targets of a journal.
pub const MAX_TARGETS: usize = 256;

/// The start of a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalHeader {
    pub run: RunId,
    /// Bytes of a block: a divisor of all offsets and lengths, and a multiple of `sector`.
    pub block: Bytes,
    /// The sectors of the targets.
    pub sector: SectorSize,
    /// A crash of the job can leave a part of a sector.
    pub sectors_may_tear: bool,
    /// The targets, at least one and at most [`MAX_TARGETS`], with ascending bases.
    pub targets: Vec<JournaledTarget>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournaledTarget {
    /// Identifies it in its sectors.
    pub id: TargetId,
    /// Size of the target; 0: unknown, because the target is a file.
    pub size: Bytes,
    /// The address of its first byte in the journal: a multiple of the block length.
    pub base: Bytes,
    /// The path of the target in the run. Empty if it was too long.
    pub path: PathBuf,
}

impl JournalHeader {
    /// The bytes at the start of the file.
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let parts = self.targets.iter().enumerate();
        parts.flat_map(|(index, target)| self.part(index, target)).collect()
    }

    fn part(&self, index: usize, target: &JournaledTarget) -> Vec<u8> {
        let path = target.path.as_os_str().as_bytes();
        let path = if path.len() <= CHECKSUM - PATH { path } else { &[] };
        let mut bytes = JOURNAL_MAGIC.to_vec();
        let flags = if self.sectors_may_tear { SECTORS_MAY_TEAR } else { 0 };
        let (sector, id, base) = (self.sector.bytes() as u64, target.id.0, target.base.0);
        for field in [id, self.run.0, self.block.0, sector, target.size.0, flags, base] {
            bytes.extend(field.to_le_bytes());
        }
        for field in [self.targets.len(), index, path.len()] {
            bytes.extend((field as u16).to_le_bytes());
        }
        bytes.extend(path);
        bytes.resize(CHECKSUM, 0);
        let sum = sum_of(&[&bytes]);
        bytes.extend(sum.to_le_bytes());
        bytes
    }

    /// Reads the start of a file. `bytes`: the file, or as much of it as the longest header has
    /// ([`MAX_TARGETS`] times [`JOURNAL_UNIT`]).
    ///
    /// # Errors
    /// It is not the start of a journal.
    pub fn read(bytes: &[u8]) -> Result<Self, JournalError> {
        let (mut header, count) = Self::read_part(bytes, 0)?;
        for index in 1..count {
            let rest = bytes.get(index * JOURNAL_UNIT..).unwrap_or_default();
            let (mut next, of) = Self::read_part(rest, index)?;
            let follows = next.targets[0].base > header.targets[index - 1].base;
            header.targets.append(&mut next.targets);
            next.targets.clone_from(&header.targets);
            if of != count || next != header || !follows {
                return Err(JournalError::NotAJournal);
            }
        }
        Ok(header)
    }

    /// Reads the part of the header with this index. Returns it with one target, and the number of targets.
    fn read_part(bytes: &[u8], index: usize) -> Result<(Self, usize), JournalError> {
        let bytes: &[u8; JOURNAL_UNIT] = bytes.first_chunk().ok_or(JournalError::NotAJournal)?;
        let field = |at: usize| number(&bytes[at..at + 8]);
        let short = |at: usize| number(&bytes[at..at + 2]) as usize;
        let (count, length) = (short(64), short(68));
        let intact = bytes[..8] == JOURNAL_MAGIC
            && field(CHECKSUM) == sum_of(&[&bytes[..CHECKSUM]])
            && (1..=MAX_TARGETS).contains(&count)
            && short(66) == index;
        let path = bytes[..CHECKSUM].get(PATH..PATH + length);
        let (block, base) = (field(24), field(56));
        match (SectorSize::new(field(32)), path) {
            (Some(sector), Some(path))
                if intact
                    && block > 0
                    && block.is_multiple_of(sector.bytes() as u64)
                    && base.is_multiple_of(block)
                    && (index > 0 || base == 0) =>
            {
                let target = JournaledTarget {
                    id: TargetId(field(8)),
                    size: Bytes(field(40)),
                    base: Bytes(base),
                    path: OsString::from_vec(path.to_vec()).into(),
                };
                let header = JournalHeader {
                    run: RunId(field(16)),
                    block: Bytes(block),
                    sector,
                    sectors_may_tear: field(48) & SECTORS_MAY_TEAR != 0,
                    targets: vec![target],
                };
                Ok((header, count))
            }
            _ => Err(JournalError::NotAJournal),
        }
    }

    /// Bytes of the header in the file. The first journal block begins there.
    #[must_use]
    pub fn length(&self) -> Bytes {
        Bytes((self.targets.len() * JOURNAL_UNIT) as u64)
    }
}

impl JournaledTarget {
    /// The path of the target in the run, if the journal has it.
    #[must_use]
    pub fn known_path(&self) -> Option<&Path> {
        (!self.path.as_os_str().is_empty()).then_some(&*self.path)
    }
}
