//! Metadata of NVMe logical blocks, and the protection information in it.
//!
//! The NVM Command Set Specification 1.0, section 5.2 (End-to-end Data Protection), defines the
//! layouts.

/// How a job handles the metadata of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataPlan {
    /// Bytes of data in a logical block (LBA Data Size, `LBADS`).
    pub block_bytes: u32,
    /// Bytes of metadata of a logical block (Metadata Size, `MS`); more than 0.
    pub metadata_bytes: u16,
    /// The metadata of each block follows its data in the same buffer (extended LBA); `false`:
    /// metadata has a separate buffer.
    pub extended: bool,
    /// The protection information in the metadata. `None`: the namespace has none.
    pub protection: Option<ProtectionPlan>,
}

/// Protection information: its format, who generates it, and what the controller checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectionPlan {
    /// The format of the protection information.
    pub guard: Guard,
    /// The protection type that the namespace is formatted with.
    pub kind: ProtectionType,
    /// Protection information is the first bytes of the metadata (`DPS` bit 3); `false`: the last.
    pub first: bool,
    /// Number of bits of the storage tag (`STS`). Fiord always uses the value 0.
    pub storage_tag_bits: u8,
    /// `pi_act`: the controller inserts and strips the protection information (`PRACT`).
    pub by_controller: bool,
    /// `pi_chk`: the parts to check.
    pub check: Checks,
    /// `apptag`: the application tag.
    pub application_tag: u16,
    /// `apptag_mask`: the bits of the application tag to check.
    pub application_mask: u16,
}

/// `pi_chk`: the parts of the protection information to check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checks {
    /// Check the guard, which is a checksum.
    pub guard: bool,
    /// Check the reference tag.
    pub reference: bool,
    /// Check the application tag.
    pub application: bool,
}

/// The protection information formats (5.2.1.1 to 5.2.1.3), named after their checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Guard {
    /// 16b Guard: CRC-16 with the polynomial of T10 DIF, 8 bytes in all.
    Crc16,
    /// 32b Guard: CRC-32C, 16 bytes in all.
    Crc32,
    /// 64b Guard: the CRC-64 of 5.2.1.3.4, 16 bytes in all.
    Crc64,
}

impl Guard {
    /// Length of the checksum in bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Guard::Crc16 => 2,
            Guard::Crc32 => 4,
            Guard::Crc64 => 8,
        }
    }
    /// Length of the protection information of a block in bytes.
    #[must_use]
    pub const fn information_bytes(self) -> usize {
        match self {
            Guard::Crc16 => 8,
            Guard::Crc32 | Guard::Crc64 => 16,
        }
    }
    /// Number of bits of the storage and reference space: the rest after guard and application tag.
    #[must_use]
    pub const fn space_bits(self) -> u32 {
        8 * (self.information_bytes() - self.bytes() - 2) as u32
    }
}

/// The protection types, which differ in the meaning of the reference tag (5.2.1.4, 5.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectionType {
    /// The reference tag is the low bits of the block's address.
    One,
    /// The reference tag counts up from a value in the command. Fiord uses the low bits of the
    /// address here, too.
    Two,
    /// The reference tag has no meaning, and the controller does not check it.
    Three,
}

impl ProtectionPlan {
    /// The reference tag of the block at address `lba`: the low bits of the address; 0 for type 3.
    #[must_use]
    pub const fn reference_tag(&self, lba: u64) -> u64 {
        match self.kind {
            ProtectionType::One | ProtectionType::Two => lba & self.reference_mask(),
            ProtectionType::Three => 0,
        }
    }

    /// Mask of the reference tag's bits (5.2.1.4): the rest after the storage tag, at most 64 bits.
    #[must_use]
    pub const fn reference_mask(&self) -> u64 {
        match self.guard.space_bits().saturating_sub(self.storage_tag_bits as u32) {
            0 => 0,
            bits @ 1..64 => (1 << bits) - 1,
            _ => u64::MAX,
        }
    }
}

impl MetadataPlan {
    /// Bytes that a block takes in the data buffer, including metadata that lies there.
    #[must_use]
    pub const fn stride(&self) -> u32 {
        match self.in_data() {
            true => self.block_bytes + self.metadata_bytes as u32,
            false => self.block_bytes,
        }
    }

    /// Whether the host transfers metadata. It does not if the metadata consists only of protection
    /// information that the controller inserts and strips (5.2.2, `PRACT`).
    #[must_use]
    pub const fn travels(&self) -> bool {
        match &self.protection {
            Some(p) => {
                !p.by_controller || self.metadata_bytes as usize > p.guard.information_bytes()
            }
            None => true,
        }
    }

    /// Whether metadata lies in the data buffer.
    #[must_use]
    pub const fn in_data(&self) -> bool {
        self.extended && self.travels()
    }

    /// Size in bytes of the separate metadata buffer for an I/O of `data_bytes` bytes; 0 if the I/O
    /// needs none.
    #[must_use]
    pub const fn separate_bytes(&self, data_bytes: u32) -> u64 {
        match !self.extended && self.travels() {
            true => (data_bytes / self.block_bytes) as u64 * self.metadata_bytes as u64,
            false => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(guard: Guard, storage_tag_bits: u8) -> ProtectionPlan {
        ProtectionPlan {
            guard,
            kind: ProtectionType::One,
            first: false,
            storage_tag_bits,
            by_controller: false,
            check: Checks::default(),
            application_tag: 0,
            application_mask: 0xffff,
        }
    }

    #[test]
    fn reference_tags_have_what_storage_tags_leave() {
        assert_eq!(plan(Guard::Crc16, 0).reference_mask(), 0xffff_ffff);
        assert_eq!(plan(Guard::Crc16, 16).reference_mask(), 0xffff);
        assert_eq!(plan(Guard::Crc16, 32).reference_mask(), 0);
        assert_eq!(plan(Guard::Crc32, 16).reference_mask(), u64::MAX);
        assert_eq!(plan(Guard::Crc32, 64).reference_mask(), 0xffff);
        assert_eq!(plan(Guard::Crc64, 0).reference_mask(), 0xffff_ffff_ffff);
        assert_eq!(plan(Guard::Crc64, 48).reference_mask(), 0);
        assert_eq!(plan(Guard::Crc16, 8).reference_tag(0x1_ff00_0001), 0x0000_0001);
        let third = ProtectionPlan { kind: ProtectionType::Three, ..plan(Guard::Crc16, 0) };
        assert_eq!(third.reference_tag(7), 0);
    }

    #[test]
    fn metadata_travels_unless_the_controller_makes_all_of_it() {
        let meta = |metadata_bytes, extended, by_controller| MetadataPlan {
            block_bytes: 512,
            metadata_bytes,
            extended,
            protection: Some(ProtectionPlan { by_controller, ..plan(Guard::Crc16, 0) }),
        };
        assert_eq!(meta(8, true, true).stride(), 512);
        assert_eq!(meta(16, true, true).stride(), 528);
        assert_eq!(meta(8, true, false).stride(), 520);
        assert_eq!(meta(8, false, false).separate_bytes(4096), 64);
        assert_eq!(meta(8, false, true).separate_bytes(4096), 0);
        assert_eq!(meta(16, false, true).separate_bytes(4096), 128);
    }
}
