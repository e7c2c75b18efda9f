//! Identify data structures, parsed into typed values with units.

use fiord_types::Bytes;

use super::admin::IdentifyData;

/// Reads a little-endian field at a byte offset in the data structure.
fn u16_at(data: &IdentifyData, at: usize) -> u16 {
    u16::from_le_bytes([data[at], data[at + 1]])
}

fn u32_at(data: &IdentifyData, at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| data[at + i]))
}

fn u64_at(data: &IdentifyData, at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| data[at + i]))
}

fn bit(word: u32, number: u32) -> bool {
    word >> number & 1 != 0
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_matches(['\0', ' ']).to_owned()
}

/// Minimum size of a memory page of a controller (`CAP.MPSMIN`, Base 3.1.3.1), in bytes. The kernel does not
/// expose the real value for PCIe controllers; [`super::DriverLimits`] holds the driver's limit on a
/// transfer, which is computed from it.
pub const MIN_PAGE: u32 = 4096;

/// Converts a limit of 2^n pages to bytes; n = 0 means no limit. A limit beyond 64 bits becomes
/// `u64::MAX`.
fn in_pages(exponent: u8, page: u32) -> Option<Bytes> {
    let pages = 1u64.checked_shl(exponent.into());
    let bytes = pages.and_then(|pages| pages.checked_mul(page.into()));
    (exponent != 0).then(|| bytes.unwrap_or(u64::MAX)).map(Bytes)
}

/// An I/O command set (CSI, Base figure "Command Set Identifiers").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommandSet {
    /// 00h: the NVM command set.
    Nvm,
    /// 01h: the Key Value command set.
    KeyValue,
    /// 02h: the Zoned Namespace command set.
    Zoned,
    /// Any other CSI.
    Other(u8),
}

impl CommandSet {
    /// Returns the command set with this CSI.
    #[must_use]
    pub const fn of(csi: u8) -> Self {
        match csi {
            0 => CommandSet::Nvm,
            1 => CommandSet::KeyValue,
            2 => CommandSet::Zoned,
            other => CommandSet::Other(other),
        }
    }

    /// Reads the command set from a list of namespace identifiers (CNS 03h, Base figure "Namespace
    /// Identification Descriptor"). Each descriptor has a type, a length, two reserved bytes and the
    /// identifier; type 04h is the CSI. Without one, the controller knows only the NVM command set.
    #[must_use]
    pub fn in_descriptors(data: &IdentifyData) -> Self {
        const CSI: u8 = 4;
        let mut at = 0;
        while at + 4 <= data.len() && data[at + 1] != 0 {
            let (kind, length) = (data[at], usize::from(data[at + 1]));
            if kind == CSI {
                return data.get(at + 4).map_or(CommandSet::Nvm, |csi| CommandSet::of(*csi));
            }
            at += 4 + length;
        }
        CommandSet::Nvm
    }
}

/// Identify Controller data (CNS 01h, Base 5.17.2.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Controller {
    /// SN: serial number.
    pub serial: String,
    /// MN: model number.
    pub model: String,
    /// FR: firmware revision.
    pub firmware: String,
    /// VER: version of the specification: major, minor, tertiary.
    pub version: (u16, u8, u8),
    /// MDTS: the largest data transfer of a command, computed with pages of [`MIN_PAGE`];
    /// `None`: no limit.
    pub max_transfer: Option<Bytes>,
    /// CTRATT.MEM: MDTS does not count metadata (otherwise it counts interleaved metadata).
    pub transfer_excludes_metadata: bool,
    /// CTRATT.ELBAS: supports extended LBA formats.
    pub extended_lba_formats: bool,
    /// CTRATT.FDPS: supports flexible data placement.
    pub flexible_placement: bool,
    /// LPA bit 1: has the Commands Supported and Effects log page.
    pub effects_log: bool,
    /// OACS bit 5: supports directives (streams, data placement).
    pub directives: bool,
    /// ONCS: the optional commands that it supports.
    pub optional: Optional,
    /// VWC bit 0: has a volatile write cache.
    pub volatile_cache: bool,
    /// AWUN: number of blocks that it writes atomically in normal operation.
    pub atomic_blocks: u32,
    /// AWUPF: number of blocks that it writes atomically even if power fails.
    pub atomic_power_fail_blocks: u32,
}

/// Optional commands of the NVM command set (ONCS, Base 5.17.2.1 bytes 521:520).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Optional {
    /// Bit 0: Compare.
    pub compare: bool,
    /// Bit 1: Write Uncorrectable.
    pub write_uncorrectable: bool,
    /// Bit 2: Dataset Management, which deallocates blocks.
    pub dataset_management: bool,
    /// Bit 3: Write Zeroes.
    pub write_zeroes: bool,
    /// Bit 7: Verify.
    pub verify: bool,
    /// Bit 8: Copy.
    pub copy: bool,
}

impl Controller {
    /// Parses the Identify Controller data structure.
    #[must_use]
    pub fn parse(data: &IdentifyData) -> Self {
        let version = u32_at(data, 80);
        let attributes = u32_at(data, 96);
        let oncs = u32::from(u16_at(data, 520));
        Controller {
            serial: text(&data[4..24]),
            model: text(&data[24..64]),
            firmware: text(&data[64..72]),
            version: ((version >> 16) as u16, (version >> 8) as u8, version as u8),
            max_transfer: in_pages(data[77], MIN_PAGE),
            transfer_excludes_metadata: bit(attributes, 16),
            extended_lba_formats: bit(attributes, 15),
            flexible_placement: bit(attributes, 19),
            effects_log: bit(data[261].into(), 1),
            directives: bit(u32::from(u16_at(data, 256)), 5),
            optional: Optional {
                compare: bit(oncs, 0),
                write_uncorrectable: bit(oncs, 1),
                dataset_management: bit(oncs, 2),
                write_zeroes: bit(oncs, 3),
                verify: bit(oncs, 7),
                copy: bit(oncs, 8),
            },
            volatile_cache: bit(data[525].into(), 0),
            atomic_blocks: u32::from(u16_at(data, 526)) + 1,
            atomic_power_fail_blocks: u32::from(u16_at(data, 528)) + 1,
        }
    }
}

/// The I/O commands that a controller reports as supported (log page 05h, Base 5.16.1.6). The log page
/// is finer than the optional commands in Identify, but not all controllers have it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IoCommands([u64; 4]);

impl IoCommands {
    /// Parses the log page: a dword for each admin command, then one for each I/O command. Bit 0 (CSUPP)
    /// of a dword means that the controller supports the command.
    #[must_use]
    pub fn parse(data: &IdentifyData) -> Self {
        const IO_COMMANDS: usize = 1024;
        let mut has = [0u64; 4];
        for opcode in 0..256 {
            let supported = bit(u32_at(data, IO_COMMANDS + opcode * 4), 0);
            has[opcode / 64] |= u64::from(supported) << (opcode % 64);
        }
        IoCommands(has)
    }

    /// Whether the controller supports the command with this opcode.
    #[must_use]
    pub const fn has(&self, opcode: u8) -> bool {
        self.0[opcode as usize / 64] >> (opcode % 64) & 1 != 0
    }
}

/// Limits of commands that transfer no data (CNS 06h, CSI 00h; NVM 4.1.5.4). `None`: no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CommandLimits {
    /// VSL: largest Verify.
    pub verify: Option<Bytes>,
    /// WZSL: largest Write Zeroes.
    pub write_zeroes: Option<Bytes>,
    /// WUSL: largest Write Uncorrectable.
    pub write_uncorrectable: Option<Bytes>,
    /// DMRL: number of ranges in one Dataset Management command.
    pub deallocate_ranges: Option<u8>,
    /// DMRSL: number of blocks in one range.
    pub deallocate_range_blocks: Option<u32>,
    /// DMSL: number of blocks in all ranges of a command.
    pub deallocate_blocks: Option<u64>,
}

impl CommandLimits {
    /// Parses the data structure.
    #[must_use]
    pub fn parse(data: &IdentifyData) -> Self {
        CommandLimits {
            verify: in_pages(data[0], MIN_PAGE),
            write_zeroes: in_pages(data[1], MIN_PAGE),
            write_uncorrectable: in_pages(data[2], MIN_PAGE),
            deallocate_ranges: Some(data[3]).filter(|n| *n != 0),
            deallocate_range_blocks: Some(u32_at(data, 4)).filter(|n| *n != 0),
            deallocate_blocks: Some(u64_at(data, 8)).filter(|n| *n != 0),
        }
    }
}

/// One LBA format (NVM 4.1.5.1, figure "LBA Format Data Structure").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LbaFormat {
    /// LBADS: data bytes of a block; 0 for a format that is not in use.
    pub data: Bytes,
    /// MS: metadata bytes of a block.
    pub metadata: Bytes,
    /// RP: relative performance, from 0 (best) to 3 (worst).
    pub relative_performance: u8,
}

impl LbaFormat {
    const BYTES: usize = 4;

    fn parse(word: u32) -> Self {
        // Less than 512 bytes (2^9) is not a format; no buffer can hold a block above 2^31 bytes.
        let shift = word >> 16 & 0xff;
        LbaFormat {
            data: if (9..=31).contains(&shift) { Bytes(1 << shift) } else { Bytes::ZERO },
            metadata: Bytes(u64::from(word as u16)),
            relative_performance: (word >> 24 & 0b11) as u8,
        }
    }
}

/// The guard of protection information (NVM 5.2.1.3; figure "Extended LBA Format Data Structure",
/// field PIF).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GuardFormat {
    /// CRC-16, with 8 bytes of protection information.
    #[default]
    Crc16,
    /// CRC-32C, with 16 bytes of protection information.
    Crc32,
    /// CRC-64, with 16 bytes of protection information.
    Crc64,
}

impl GuardFormat {
    /// Returns the size of a block's protection information in bytes.
    #[must_use]
    pub const fn bytes(self) -> u16 {
        match self {
            GuardFormat::Crc16 => 8,
            GuardFormat::Crc32 | GuardFormat::Crc64 => 16,
        }
    }
}

/// The protection information that a namespace is formatted with (DPS, NVM 4.1.5.1 byte 29).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FormatProtection {
    /// Protection type: 1, 2 or 3.
    pub kind: u8,
    /// Whether it is in the first bytes of the metadata instead of the last.
    pub first: bool,
    /// Checksum format.
    pub guard: GuardFormat,
    /// STS: number of bits of the storage tag, which shares a field with the reference tag.
    pub storage_tag_bits: u8,
}

/// Data that reads of deallocated blocks return (DLFEAT bits 2:0).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deallocated {
    /// The controller does not specify it.
    Unspecified,
    /// All bytes 00h.
    Zeroes,
    /// All bytes FFh.
    Ones,
}

/// Identify Namespace data (CNS 00h, NVM 4.1.5.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Namespace {
    /// NSZE: size in blocks.
    pub size: u64,
    /// NCAP: number of blocks that may be allocated at any time.
    pub capacity: u64,
    /// NUSE: number of blocks that are allocated now.
    pub used: u64,
    /// The LBA format in use (FLBAS).
    pub format: LbaFormat,
    /// Index of the LBA format in use.
    pub format_index: u8,
    /// All LBA formats of the namespace.
    pub formats: Vec<LbaFormat>,
    /// FLBAS bit 4: metadata follows the data of each block in one buffer, instead of being in a
    /// separate buffer.
    pub extended: bool,
    /// Protection information, if the namespace is formatted with it. The guard is CRC-16 until
    /// [`Namespace::with_guard`] sets another one.
    pub protection: Option<FormatProtection>,
    /// DLFEAT bits 2:0: data that reads of deallocated blocks return.
    pub deallocated: Deallocated,
    /// DLFEAT bit 3: Write Zeroes supports the Deallocate bit.
    pub zeroes_may_deallocate: bool,
    /// NSFEAT bit 0: thinly provisioned.
    pub thin: bool,
    /// NPWG: preferred write granularity in blocks, if reported.
    pub preferred_write: Option<u32>,
    /// NPDG: preferred deallocate granularity in blocks, if reported.
    pub preferred_deallocate: Option<u32>,
    /// NOWS: optimal size of a write in blocks, if reported.
    pub optimal_write: Option<u32>,
    /// NOIOB: distance in blocks between boundaries that I/Os should not cross.
    pub boundary: Option<u32>,
    /// NSATTR bit 0: write-protected.
    pub write_protected: bool,
}

impl Namespace {
    /// Parses the Identify Namespace data structure.
    #[must_use]
    pub fn parse(data: &IdentifyData) -> Self {
        const FORMATS: usize = 128;
        let features = u32::from(data[24]);
        let count = usize::from(data[25]) + 1;
        let formats: Vec<LbaFormat> = (0..count.min(64))
            .map(|i| LbaFormat::parse(u32_at(data, FORMATS + i * LbaFormat::BYTES)))
            .collect();
        let flbas = data[26];
        // Bits 6:5 are the upper part of the index if there are more than 16 formats.
        let upper = if count > 16 { flbas >> 1 & 0x30 } else { 0 };
        let format_index = flbas & 0xf | upper;
        let none = LbaFormat { data: Bytes::ZERO, metadata: Bytes::ZERO, relative_performance: 0 };
        let format = formats.get(usize::from(format_index)).copied().unwrap_or(none);
        let optimal = features >> 4 & 0b11 != 0;
        let if_reported = |at: usize| optimal.then(|| u32::from(u16_at(data, at)) + 1);
        let dps = data[29];
        Namespace {
            size: u64_at(data, 0),
            capacity: u64_at(data, 8),
            used: u64_at(data, 16),
            format,
            format_index,
            formats,
            extended: bit(flbas.into(), 4) && format.metadata > Bytes::ZERO,
            protection: match dps & 0b111 {
                kind @ 1..=3 => Some(FormatProtection {
                    kind,
                    first: bit(dps.into(), 3),
                    guard: GuardFormat::Crc16,
                    storage_tag_bits: 0,
                }),
                _ => None,
            },
            deallocated: match data[33] & 0b111 {
                1 => Deallocated::Zeroes,
                2 => Deallocated::Ones,
                _ => Deallocated::Unspecified,
            },
            zeroes_may_deallocate: bit(data[33].into(), 3),
            thin: bit(features, 0),
            preferred_write: if_reported(64),
            preferred_deallocate: if_reported(68),
            optimal_write: if_reported(72),
            boundary: Some(u32::from(u16_at(data, 46))).filter(|n| *n != 0),
            write_protected: bit(data[99].into(), 0),
        }
    }

    /// Adds the guard and storage tag size from the extended LBA formats (CNS 05h, CSI 00h; NVM 4.1.5.3,
    /// ELBAF from byte 12: bits 6:0 STS, bits 8:7 PIF).
    #[must_use]
    pub fn with_guard(mut self, data: &IdentifyData) -> Self {
        const FORMATS: usize = 12;
        let word = u32_at(data, FORMATS + usize::from(self.format_index) * 4);
        if let Some(protection) = &mut self.protection {
            protection.storage_tag_bits = (word & 0x7f) as u8;
            protection.guard = match word >> 7 & 0b11 {
                1 => GuardFormat::Crc32,
                2 => GuardFormat::Crc64,
                _ => GuardFormat::Crc16,
            };
        }
        self
    }

    /// Returns the size of a block in a data buffer in bytes, including metadata that follows the data.
    #[must_use]
    pub fn block_in_buffer(&self) -> u32 {
        let metadata = if self.extended { self.format.metadata.0 as u32 } else { 0 };
        (self.format.data + Bytes(u64::from(metadata))).0 as u32
    }

    /// Returns the size of the namespace in bytes of data buffers.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.size.saturating_mul(u64::from(self.block_in_buffer()))
    }
}

/// The allocated part of a namespace, in bytes of data (NSZE, NCAP, NUSE; NVM 4.1.5.1).
///
/// A write allocates a block; Dataset Management, Write Zeroes and Sanitize may deallocate it. A
/// controller without thin provisioning may report NUSE equal to NCAP at all times. So only NUSE below
/// NCAP is information: that part of the capacity holds no data now. If the namespace is thin and can
/// make reads of deallocated blocks fail (DULBE), NUSE must follow every deallocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Allocation {
    /// NSZE: addressable bytes.
    pub size: Bytes,
    /// NCAP: bytes that may be allocated at any time.
    pub capacity: Bytes,
    /// NUSE: bytes that are allocated now.
    pub used: Bytes,
    /// NSFEAT bit 0 (THINP): the capacity may be less than the size.
    pub thin: bool,
}

impl Allocation {
    /// Computes the allocation of a namespace.
    #[must_use]
    pub fn of(namespace: &Namespace) -> Self {
        let bytes = |blocks: u64| blocks.saturating_mul(namespace.format.data.0);
        Allocation {
            size: Bytes(bytes(namespace.size)),
            capacity: Bytes(bytes(namespace.capacity)),
            used: Bytes(bytes(namespace.used)),
            thin: namespace.thin,
        }
    }

    /// Returns the allocated share of the capacity (0 to 1) if it is less than the whole capacity. `None`
    /// proves nothing about the allocation.
    #[must_use]
    pub fn short_of_full(&self) -> Option<f64> {
        (self.used < self.capacity).then(|| self.used.0 as f64 / self.capacity.0 as f64)
    }
}

/// Identify Namespace data of the zoned command set (CNS 05h, CSI 02h; ZNS 4.1.5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ZonedIdentify {
    /// ZSZE of the LBA format in use: zone size in blocks.
    pub zone_blocks: u64,
    /// MAR: number of zones that may be active at a time; `None`: no limit.
    pub max_active: Option<u32>,
    /// MOR: number of zones that may be open at a time; `None`: no limit.
    pub max_open: Option<u32>,
    /// OZCS bit 0: reads may cross from one zone into the next.
    pub read_across_zones: bool,
    /// ZASL (CNS 06h, CSI 02h): the largest zone append; `None`: MDTS applies.
    pub max_append: Option<Bytes>,
}

impl ZonedIdentify {
    /// Parses the data structure, for the LBA format in use.
    #[must_use]
    pub fn parse(data: &IdentifyData, format_index: u8) -> Self {
        const EXTENSIONS: usize = 2816;
        // Limits are stored minus one; all ones means no limit.
        let limit = |word: u32| word.checked_add(1);
        ZonedIdentify {
            zone_blocks: u64_at(data, EXTENSIONS + usize::from(format_index & 0x3f) * 16),
            max_active: limit(u32_at(data, 4)),
            max_open: limit(u32_at(data, 8)),
            read_across_zones: bit(u16_at(data, 2).into(), 0),
            max_append: None,
        }
    }

    /// Adds the controller's limit on zone appends (CNS 06h, CSI 02h, byte 0).
    #[must_use]
    pub fn with_controller(mut self, data: &IdentifyData) -> Self {
        self.max_append = in_pages(data[0], MIN_PAGE);
        self
    }
}

#[cfg(test)]
mod tests;
