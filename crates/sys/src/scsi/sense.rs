//! Sense data: why a device did not execute a command (SPC-5, clause 4.5).

use std::fmt;

/// The error code of sense data, which consists of three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Sense {
    /// Sense key: the class of the error.
    pub key: u8,
    /// Additional sense code (ASC).
    pub asc: u8,
    /// Additional sense code qualifier (ASCQ).
    pub ascq: u8,
}

/// Sense keys that this program refers to.
pub mod key {
    /// The command succeeded after the device recovered from an error.
    pub const RECOVERED_ERROR: u8 = 0x1;
    /// The medium has a defect.
    pub const MEDIUM_ERROR: u8 = 0x3;
    /// An event changed the state of the device since the last command.
    pub const UNIT_ATTENTION: u8 = 0x6;
    /// Data differs from the data that it was compared with.
    pub const MISCOMPARE: u8 = 0xe;
}

impl Sense {
    /// Parses sense data in the fixed or the descriptor format. `None` if it is too short or in another
    /// format.
    #[must_use]
    pub fn parse(data: &[u8]) -> Option<Self> {
        let of = |key: usize, asc: usize, ascq: usize| {
            let byte = |at: usize| data.get(at).copied().unwrap_or(0);
            Some(Sense { key: data.get(key)? & 0xf, asc: byte(asc), ascq: byte(ascq) })
        };
        match data.first()? & 0x7f {
            0x70 | 0x71 => of(2, 12, 13),
            0x72 | 0x73 => of(1, 2, 3),
            _ => None,
        }
    }

    /// Packs the three numbers into 20 bits, to be stored next to an errno.
    #[must_use]
    pub const fn bits(self) -> u32 {
        (self.key as u32 & 0xf) << 16 | (self.asc as u32) << 8 | self.ascq as u32
    }

    /// Unpacks the three numbers from the result of [`Sense::bits`].
    #[must_use]
    pub const fn from_bits(bits: u32) -> Self {
        Sense { key: (bits >> 16) as u8 & 0xf, asc: (bits >> 8) as u8, ascq: bits as u8 }
    }

    /// Returns the name of the sense key.
    #[must_use]
    pub fn key_name(self) -> &'static str {
        KEYS[usize::from(self.key & 0xf)]
    }

    /// Returns the text for the additional sense code and qualifier, if fiord knows it.
    #[must_use]
    pub fn code_name(self) -> Option<&'static str> {
        let code = u16::from_be_bytes([self.asc, self.ascq]);
        let at = CODES.binary_search_by_key(&code, |(code, _)| *code).ok()?;
        Some(CODES[at].1)
    }

    /// Whether the error concerns only the blocks of this command, so that other commands may succeed.
    #[must_use]
    pub const fn is_about_these_blocks(self) -> bool {
        matches!(self.key, key::MEDIUM_ERROR | key::MISCOMPARE)
    }

    /// Whether a thinly provisioned device has no free space.
    #[must_use]
    pub const fn is_full(self) -> bool {
        self.asc == 0x27 && self.ascq == 0x07
    }

    /// Returns the likely cause and the remedy, for errors that are well known; otherwise an empty text.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match (self.key, self.asc, self.ascq) {
            (_, 0x20, 0x00) => "the device does not have this command",
            (_, 0x21, 0x00) => {
                "the I/O lies beyond the end of the device. To fix: make `size` or `offset` smaller"
            }
            (_, 0x24, 0x00) => {
                "the device does not support an option of this command, or a command of this \
                 length. To fix: use a smaller block size"
            }
            (_, 0x27, _) => "the device is write-protected",
            (key::MISCOMPARE, ..) => "the data on the device differs from the data sent to compare",
            _ => "",
        }
    }
}

impl fmt::Display for Sense {
    /// Formats the error as `medium error: unrecovered read error (sense 3h, 11h/00h)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sense { key, asc, ascq } = *self;
        write!(f, "{}", self.key_name())?;
        match self.code_name() {
            Some(name) if (asc, ascq) != (0, 0) => write!(f, ": {name}")?,
            Some(_) => {}
            None => write!(f, ": additional code {asc:02X}h/{ascq:02X}h")?,
        }
        write!(f, " (sense {key:X}h, {asc:02X}h/{ascq:02X}h)")
    }
}

/// Names of sense keys (SPC-5, table 49).
const KEYS: [&str; 16] = [
    "no sense",
    "recovered error",
    "not ready",
    "medium error",
    "hardware error",
    "illegal request",
    "unit attention",
    "data protect",
    "blank check",
    "vendor specific",
    "copy aborted",
    "aborted command",
    "reserved",
    "volume overflow",
    "miscompare",
    "completed",
];

/// Additional sense codes with qualifiers that disks and their transports return (SPC-5, annex F.2),
/// sorted by code.
const CODES: &[(u16, &str)] = &[
    (0x0000, "no additional sense information"),
    (0x0006, "I/O process terminated"),
    (0x001d, "ATA pass through information available"),
    (0x0200, "no seek complete"),
    (0x0300, "peripheral device write fault"),
    (0x0400, "logical unit not ready, cause not reportable"),
    (0x0401, "logical unit is in process of becoming ready"),
    (0x0402, "logical unit not ready, initializing command required"),
    (0x0403, "logical unit not ready, manual intervention required"),
    (0x0404, "logical unit not ready, format in progress"),
    (0x0409, "logical unit not ready, self-test in progress"),
    (0x040b, "logical unit not accessible, target port in standby state"),
    (0x040c, "logical unit not accessible, target port in unavailable state"),
    (0x0411, "logical unit not ready, notify (enable spinup) required"),
    (0x041b, "logical unit not ready, sanitize in progress"),
    (0x0500, "logical unit does not respond to selection"),
    (0x0800, "logical unit communication failure"),
    (0x0801, "logical unit communication time-out"),
    (0x0900, "track following error"),
    (0x0b00, "warning"),
    (0x0b01, "warning - specified temperature exceeded"),
    (0x0c00, "write error"),
    (0x0c01, "write error - recovered with auto reallocation"),
    (0x0c02, "write error - auto reallocation failed"),
    (0x0c03, "write error - recommend reassignment"),
    (0x1000, "ID CRC or ECC error"),
    (0x1001, "logical block guard check failed"),
    (0x1002, "logical block application tag check failed"),
    (0x1003, "logical block reference tag check failed"),
    (0x1100, "unrecovered read error"),
    (0x1101, "read retries exhausted"),
    (0x1102, "error too long to correct"),
    (0x1104, "unrecovered read error - auto reallocate failed"),
    (0x110b, "unrecovered read error - recommend reassignment"),
    (0x1114, "read error - LBA marked bad by application client"),
    (0x1400, "recorded entity not found"),
    (0x1401, "record not found"),
    (0x1500, "random positioning error"),
    (0x1700, "recovered data with no error correction applied"),
    (0x1701, "recovered data with retries"),
    (0x1800, "recovered data with error correction applied"),
    (0x1a00, "parameter list length error"),
    (0x1b00, "synchronous data transfer error"),
    (0x1d00, "miscompare during verify operation"),
    (0x2000, "invalid command operation code"),
    (0x2100, "logical block address out of range"),
    (0x2104, "unaligned write command"),
    (0x2105, "write boundary violation"),
    (0x2106, "attempt to read invalid data"),
    (0x2107, "read boundary violation"),
    (0x2400, "invalid field in CDB"),
    (0x2500, "logical unit not supported"),
    (0x2600, "invalid field in parameter list"),
    (0x2601, "parameter not supported"),
    (0x2602, "parameter value invalid"),
    (0x2700, "write protected"),
    (0x2701, "hardware write protected"),
    (0x2702, "logical unit software write protected"),
    (0x2707, "space allocation failed write protect"),
    (0x2708, "zone is read only"),
    (0x2800, "not ready to ready change, medium may have changed"),
    (0x2900, "power on, reset, or bus device reset occurred"),
    (0x2901, "power on occurred"),
    (0x2902, "SCSI bus reset occurred"),
    (0x2903, "bus device reset function occurred"),
    (0x2904, "device internal reset"),
    (0x2a00, "parameters changed"),
    (0x2a01, "mode parameters changed"),
    (0x2a09, "capacity data has changed"),
    (0x2c00, "command sequence error"),
    (0x2c0e, "reservation violation"),
    (0x2f00, "commands cleared by another initiator"),
    (0x3100, "medium format corrupted"),
    (0x3200, "no defect spare location available"),
    (0x3800, "event status notification"),
    (0x3807, "thin provisioning soft threshold reached"),
    (0x3a00, "medium not present"),
    (0x3d00, "invalid bits in identify message"),
    (0x3e00, "logical unit has not self-configured yet"),
    (0x3e01, "logical unit failure"),
    (0x3e02, "timeout on logical unit"),
    (0x3f00, "target operating conditions have changed"),
    (0x3f01, "microcode has been changed"),
    (0x3f0e, "reported LUNs data has changed"),
    (0x4400, "internal target failure"),
    (0x4500, "select or reselect failure"),
    (0x4700, "SCSI parity error"),
    (0x4701, "data phase CRC error detected"),
    (0x4800, "initiator detected error message received"),
    (0x4900, "invalid message error"),
    (0x4b00, "data phase error"),
    (0x4e00, "overlapped commands attempted"),
    (0x5500, "system resource failure"),
    (0x550e, "insufficient zone resources"),
    (0x5d00, "failure prediction threshold exceeded"),
    (0x5e00, "low power condition on"),
    (0x7400, "security error"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_and_the_descriptor_format_are_parsed() {
        let mut fixed = [0u8; 18];
        (fixed[0], fixed[2], fixed[12], fixed[13]) = (0x70, 0x03, 0x11, 0x00);
        let sense = Sense::parse(&fixed).unwrap();
        assert_eq!(sense, Sense { key: 3, asc: 0x11, ascq: 0 });
        assert_eq!(sense.to_string(), "medium error: unrecovered read error (sense 3h, 11h/00h)");
        let descriptor = [0x72, 0x05, 0x21, 0x00, 0, 0, 0, 0];
        let sense = Sense::parse(&descriptor).unwrap();
        assert_eq!(
            sense.to_string(),
            "illegal request: logical block address out of range (sense 5h, 21h/00h)"
        );
        assert!(!sense.advice().is_empty());
        let deferred = [0xf1, 0, 0xe4, 0, 0, 0, 0];
        assert_eq!(Sense::parse(&deferred), Some(Sense { key: 4, asc: 0, ascq: 0 }));
        for short in [&[][..], &[0x70, 0], &[0x00, 1, 2, 3], &[0x72]] {
            assert_eq!(Sense::parse(short), None, "{short:?}");
        }
    }

    #[test]
    fn codes_are_sorted_and_survive_packing() {
        assert!(CODES.is_sorted_by_key(|(code, _)| *code));
        let unknown = Sense { key: 9, asc: 0xab, ascq: 0xcd };
        assert_eq!(Sense::from_bits(unknown.bits()), unknown);
        assert_eq!(
            unknown.to_string(),
            "vendor specific: additional code ABh/CDh (sense 9h, ABh/CDh)"
        );
        assert_eq!(Sense { key: 2, asc: 0, ascq: 0 }.to_string(), "not ready (sense 2h, 00h/00h)");
    }
}
