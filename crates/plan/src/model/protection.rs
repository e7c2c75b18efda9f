//! What an NVMe namespace keeps with each logical block besides data: metadata, and in it the
//! protection information.
//!
//! Layouts are those of the NVM Command Set Specification 1.0, section 5.2 (End-to-end Data
//! Protection).

/// The metadata of every I/O of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetadataPlan {
    /// Bytes of data in a logical block (LBA Data Size, `LBADS`).
    pub block_bytes: u32,
    /// Bytes of metadata of a logical block (Metadata Size, `MS`); more than 0.
    pub metadata_bytes: u16,
    /// Each block's metadata follows its data in the same buffer (an extended LBA); else it has a
    /// buffer of its own.
    pub extended: bool,
    /// What of it is protection information; `None`: the namespace has none.
    pub protection: Option<ProtectionPlan>,
}

/// Protection information: what it looks like, who makes it, what is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtectionPlan {
    /// The format of each block's protection information.
    pub guard: Guard,
    /// The type that the namespace is formatted with.
    pub kind: ProtectionType,
    /// It is the first bytes of the metadata (`DPS` bit 3), else the last.
    pub first: bool,
    /// Bits of the storage tag (`STS`); its value is always 0 here.
    pub storage_tag_bits: u8,
    /// `pi_act`: the controller makes and takes away protection information (`PRACT`).
    pub by_controller: bool,
    /// `pi_chk`.
    pub check: Checks,
    /// `apptag`.
    pub application_tag: u16,
    /// `apptag_mask`: the bits of the application tag that are checked.
    pub application_mask: u16,
}

/// What of the protection information is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Checks {
    /// The checksum.
    pub guard: bool,
    /// The reference tag.
    pub reference: bool,
    /// The application tag.
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
    /// Bytes of the checksum.
    pub const fn bytes(self) -> usize {
        match self {
            Guard::Crc16 => 2,
            Guard::Crc32 => 4,
            Guard::Crc64 => 8,
        }
    }
    /// Bytes of a block's protection information.
    pub const fn information_bytes(self) -> usize {
        match self {
            Guard::Crc16 => 8,
            Guard::Crc32 | Guard::Crc64 => 16,
        }
    }
    /// Bits of the storage and reference space: what guard and application tag leave.
    pub const fn space_bits(self) -> u32 {
        8 * (self.information_bytes() - self.bytes() - 2) as u32
    }
}

/// The protection types: what a reference tag is (5.2.1.4, 5.2.3).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectionType {
    /// The low bits of the block's address.
    One,
    /// It counts up from what the command says; here from the low bits of the address, too.
    Two,
    /// Anything; nobody checks it.
    Three,
}

impl ProtectionPlan {
    /// The reference tag of a block: its address as far as it fits; 0 where it has no meaning.
    pub const fn reference_tag(&self, lba: u64) -> u64 {
        match self.kind {
            ProtectionType::One | ProtectionType::Two => lba & self.reference_mask(),
            ProtectionType::Three => 0,
        }
    }

    /// The bits of a reference tag (5.2.1.4): what the storage tag leaves, at most 64.
    pub const fn reference_mask(&self) -> u64 {
        match self.guard.space_bits().saturating_sub(self.storage_tag_bits as u32) {
            0 => 0,
            bits @ 1..64 => (1 << bits) - 1,
            _ => u64::MAX,
        }
    }
}

impl MetadataPlan {
    /// Bytes that a block takes in the data buffer.
    pub const fn stride(&self) -> u32 {
        match self.in_data() {
            true => self.block_bytes + self.metadata_bytes as u32,
            false => self.block_bytes,
        }
    }

    /// Whether metadata travels at all: not when it is nothing but protection information that the
    /// controller makes and takes away (5.2.2, `PRACT`).
    pub const fn travels(&self) -> bool {
        match &self.protection {
            Some(p) => {
                !p.by_controller || self.metadata_bytes as usize > p.guard.information_bytes()
            }
            None => true,
        }
    }

    /// Whether metadata lies among the data.
    pub const fn in_data(&self) -> bool {
        self.extended && self.travels()
    }

    /// Bytes of the metadata buffer of an I/O of so many bytes of data.
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
