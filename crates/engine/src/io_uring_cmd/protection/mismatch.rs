//! A block whose protection information is not what it should be.

use std::fmt;

/// The first that is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mismatch {
    /// The logical block's address.
    pub lba: u64,
    /// What of it is wrong.
    pub field: Field,
    /// What it should be.
    pub expected: u64,
    /// What came from the device.
    pub found: u64,
}

/// A field of the protection information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// The checksum over the block.
    Guard,
    /// The reference tag.
    Reference,
    /// The application tag, as far as `apptag_mask` looks at it.
    Application {
        /// The bits that are looked at.
        mask: u16,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (field, meaning) = match self.field {
            Field::Guard => ("guard", "data or metadata were changed"),
            Field::Reference => ("reference tag", "the block belongs to another address"),
            Field::Application { .. } => ("application tag", "it was written by somebody else"),
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
