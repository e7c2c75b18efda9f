//! A block with wrong protection information.

use std::fmt;

/// The first wrong field of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mismatch {
    /// Logical block address.
    pub lba: u64,
    /// The field that is wrong.
    pub field: Field,
    /// The expected value.
    pub expected: u64,
    /// The value that the device returned.
    pub found: u64,
}

/// A field of the protection information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// Checksum of the block.
    Guard,
    /// Reference tag.
    Reference,
    /// Application tag, as far as `apptag_mask` selects its bits.
    Application {
        /// The bits that are compared.
        mask: u16,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, meaning) = match self.field {
            Field::Guard => ("guard", "data or metadata was changed"),
            Field::Reference => ("reference tag", "the block belongs to another address"),
            Field::Application { .. } => ("application tag", "another application wrote it"),
        };
        let Mismatch { lba, expected, found, .. } = self;
        write!(f, "LBA {lba}: {field} expected {expected:#x}, found {found:#x}")?;
        if let Field::Application { mask } = self.field
            && mask != u16::MAX
        {
            write!(f, " under mask {mask:#x}")?;
        }
        write!(f, " ({meaning})")
    }
}

impl std::error::Error for Mismatch {}
