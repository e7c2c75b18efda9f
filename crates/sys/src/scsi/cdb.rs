//! Command descriptor blocks of block commands (SBC-4, clause 5). All functions are pure.

/// A command descriptor block, as the device receives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cdb {
    bytes: [u8; 32],
    len: u8,
}

/// The length of a command descriptor block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Length {
    /// The shortest form that can hold the address and the number of blocks.
    #[default]
    Shortest,
    /// 10 bytes: 32-bit addresses and 16-bit block counts.
    Ten,
    /// 16 bytes: 64-bit addresses and 32-bit block counts.
    Sixteen,
    /// 32 bytes: 64-bit addresses, 32-bit block counts, and fields for protection information.
    ThirtyTwo,
}

/// What VERIFY compares (the BYTCHK field).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(u8)]
pub enum Compare {
    /// Nothing: the device only reads its medium.
    #[default]
    Nothing = 0b00,
    /// All blocks, each with the block sent for it.
    All = 0b01,
    /// All blocks with one block that is sent.
    One = 0b11,
}

/// A command on a range of logical blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// READ: returns blocks.
    Read {
        /// Force unit access: bypass the volatile cache.
        fua: bool,
    },
    /// PRE-FETCH: the device loads blocks into its cache and returns no data.
    Prefetch,
    /// WRITE: writes blocks.
    Write {
        /// Force unit access: bypass the volatile cache.
        fua: bool,
    },
    /// WRITE AND VERIFY, without a comparison.
    WriteAndVerify,
    /// WRITE SAME: writes one block to the whole range.
    WriteSame {
        /// Send no data (NDOB): the device writes zeroes, or a pattern that it is configured for. Not
        /// available in 10 bytes.
        no_data: bool,
    },
    /// VERIFY: checks blocks on the medium.
    Verify(Compare),
    /// WRITE STREAM(16): a write that belongs to a stream.
    WriteStream {
        /// Identifier of the stream.
        stream: u16,
        /// Force unit access: bypass the volatile cache.
        fua: bool,
    },
    /// SYNCHRONIZE CACHE. A length of 0 means everything from the address on.
    Synchronize,
}

/// The requested form cannot hold the range, or the command has no such form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLong;

/// Operation codes in 10 and 16 bytes, and the service action in 32 bytes (operation code 7Fh). 0 means
/// that the command has no such form.
struct Codes {
    ten: u8,
    sixteen: u8,
    action: u16,
}

impl Command {
    const fn codes(self) -> Codes {
        let (ten, sixteen, action) = match self {
            Command::Read { .. } => (0x28, 0x88, 0x0009),
            Command::Write { .. } => (0x2a, 0x8a, 0x000b),
            Command::WriteAndVerify => (0x2e, 0x8e, 0x000c),
            Command::Verify(_) => (0x2f, 0x8f, 0x000a),
            Command::WriteSame { no_data: false } => (0x41, 0x93, 0x000d),
            Command::WriteSame { no_data: true } => (0, 0x93, 0x000d),
            Command::Prefetch => (0x34, 0x90, 0),
            Command::Synchronize => (0x35, 0x91, 0),
            Command::WriteStream { .. } => (0, 0x9a, 0),
        };
        Codes { ten, sixteen, action }
    }

    /// Returns the flags in the byte that follows the operation code or service action.
    const fn flags(self) -> u8 {
        match self {
            Command::Read { fua } | Command::Write { fua } => (fua as u8) << 3,
            Command::WriteStream { fua, .. } => (fua as u8) << 3,
            Command::Verify(compare) => (compare as u8) << 1,
            Command::WriteSame { no_data } => no_data as u8,
            Command::WriteAndVerify | Command::Prefetch | Command::Synchronize => 0,
        }
    }

    /// Returns the name of the command in the standard.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Command::Read { .. } => "READ",
            Command::Write { .. } => "WRITE",
            Command::WriteAndVerify => "WRITE AND VERIFY",
            Command::Verify(_) => "VERIFY",
            Command::WriteSame { .. } => "WRITE SAME",
            Command::Prefetch => "PRE-FETCH",
            Command::Synchronize => "SYNCHRONIZE CACHE",
            Command::WriteStream { .. } => "WRITE STREAM",
        }
    }

    /// Encodes the command for `blocks` logical blocks from `lba`.
    ///
    /// # Errors
    /// [`TooLong`] if the form cannot hold these numbers, or the command has no such form.
    pub fn encode(self, lba: u64, blocks: u32, length: Length) -> Result<Cdb, TooLong> {
        let codes = self.codes();
        let ten = (u32::try_from(lba), u16::try_from(blocks));
        match (length, ten) {
            (Length::Shortest | Length::Ten, (Ok(lba), Ok(blocks))) if codes.ten != 0 => {
                Ok(self.ten(codes.ten, lba, blocks))
            }
            (Length::Ten, _) => Err(TooLong),
            (Length::Shortest | Length::Sixteen, _) if codes.sixteen != 0 => {
                self.sixteen(codes.sixteen, lba, blocks)
            }
            (Length::ThirtyTwo, _) if codes.action != 0 => {
                Ok(self.thirty_two(codes.action, lba, blocks))
            }
            _ => Err(TooLong),
        }
    }

    fn ten(self, code: u8, lba: u32, blocks: u16) -> Cdb {
        let mut bytes = [0; 32];
        bytes[0] = code;
        bytes[1] = self.flags();
        bytes[2..6].copy_from_slice(&lba.to_be_bytes());
        bytes[7..9].copy_from_slice(&blocks.to_be_bytes());
        Cdb { bytes, len: 10 }
    }

    fn sixteen(self, code: u8, lba: u64, blocks: u32) -> Result<Cdb, TooLong> {
        let mut bytes = [0; 32];
        bytes[0] = code;
        bytes[1] = self.flags();
        bytes[2..10].copy_from_slice(&lba.to_be_bytes());
        if let Command::WriteStream { stream, .. } = self {
            let blocks = u16::try_from(blocks).map_err(|_| TooLong)?;
            bytes[10..12].copy_from_slice(&stream.to_be_bytes());
            bytes[12..14].copy_from_slice(&blocks.to_be_bytes());
        } else {
            bytes[10..14].copy_from_slice(&blocks.to_be_bytes());
        }
        Ok(Cdb { bytes, len: 16 })
    }

    fn thirty_two(self, action: u16, lba: u64, blocks: u32) -> Cdb {
        let mut bytes = [0; 32];
        bytes[0] = 0x7f;
        // Length of the part after the 8 bytes of the header.
        bytes[7] = 24;
        bytes[8..10].copy_from_slice(&action.to_be_bytes());
        bytes[10] = self.flags();
        bytes[12..20].copy_from_slice(&lba.to_be_bytes());
        bytes[28..32].copy_from_slice(&blocks.to_be_bytes());
        Cdb { bytes, len: 32 }
    }
}

/// Encodes UNMAP (SBC-4, clause 5.36) with a parameter list of `list_bytes` bytes.
#[must_use]
pub fn unmap(list_bytes: u16) -> Cdb {
    let mut bytes = [0; 32];
    bytes[0] = 0x42;
    bytes[7..9].copy_from_slice(&list_bytes.to_be_bytes());
    Cdb { bytes, len: 10 }
}

/// Appends a range to the parameter list of an UNMAP, which is empty at first. A list has at most 4095
/// ranges.
pub fn add_range(list: &mut Vec<u8>, lba: u64, blocks: u32) {
    list.resize(list.len().max(8), 0);
    list.extend(lba.to_be_bytes());
    list.extend(blocks.to_be_bytes());
    list.extend([0; 4]);
    let len = list.len() as u16;
    // Length of the list after this field, and length of the descriptors.
    list[0..2].copy_from_slice(&(len - 2).to_be_bytes());
    list[2..4].copy_from_slice(&(len - 8).to_be_bytes());
}

/// Size in bytes of the parameter list of an UNMAP with one range.
pub const ONE_RANGE: u16 = 24;

/// Code of the Block Limits VPD page.
pub const BLOCK_LIMITS: u8 = 0xb0;
/// Code of the Block Device Characteristics VPD page.
pub const BLOCK_CHARACTERISTICS: u8 = 0xb1;
/// Code of the Zoned Block Device Characteristics VPD page.
pub const ZONED_CHARACTERISTICS: u8 = 0xb6;

/// Encodes INQUIRY (SPC-5, clause 6.7) for a VPD page, with an allocation length of `room` bytes.
#[must_use]
pub fn inquiry(page: u8, room: u16) -> Cdb {
    let mut bytes = [0; 32];
    (bytes[0], bytes[1], bytes[2]) = (0x12, 1, page);
    bytes[3..5].copy_from_slice(&room.to_be_bytes());
    Cdb { bytes, len: 6 }
}

/// Encodes INQUIRY (SPC-5, clause 6.7) for the standard data, with an allocation length of `room` bytes.
#[must_use]
pub fn standard_inquiry(room: u16) -> Cdb {
    let mut cdb = inquiry(0, room);
    cdb.bytes[1] = 0;
    cdb
}

/// Encodes REPORT ZONES (ZBC-2, clause 5.4) for all zones from the one that contains the block `lba`, with an allocation
/// length of `room` bytes.
#[must_use]
pub fn report_zones(lba: u64, room: u32) -> Cdb {
    let mut bytes = [0; 32];
    bytes[0] = 0x95;
    bytes[2..10].copy_from_slice(&lba.to_be_bytes());
    bytes[10..14].copy_from_slice(&room.to_be_bytes());
    // PARTIAL: the device need not count the zones that do not fit.
    bytes[14] = 0x80;
    Cdb { bytes, len: 16 }
}

/// Encodes a command of ZBC OUT (ZBC-2, clause 5), given by its service action, for the zone that begins at the block `lba`.
#[must_use]
pub fn manage_zone(action: u8, lba: u64) -> Cdb {
    let mut bytes = [0; 32];
    (bytes[0], bytes[1]) = (0x94, action);
    bytes[2..10].copy_from_slice(&lba.to_be_bytes());
    Cdb { bytes, len: 16 }
}

/// Encodes READ CAPACITY(16) (SBC-4, clause 5.21) with an allocation length of `room` bytes.
#[must_use]
pub fn read_capacity(room: u32) -> Cdb {
    service_action(0x10, room)
}

/// Encodes READ CAPACITY(10), which returns 8 bytes.
#[must_use]
pub fn read_capacity_10() -> Cdb {
    let mut bytes = [0; 32];
    bytes[0] = 0x25;
    Cdb { bytes, len: 10 }
}

/// Encodes STREAM CONTROL (SBC-4, clause 5.35) to open a stream. It returns 8 bytes; the fifth and sixth
/// are the identifier of the new stream.
#[must_use]
pub fn open_stream() -> Cdb {
    stream_control(0b01, 0)
}

/// Encodes STREAM CONTROL (SBC-4, clause 5.35) to close a stream.
#[must_use]
pub fn close_stream(stream: u16) -> Cdb {
    stream_control(0b10, stream)
}

fn stream_control(control: u8, stream: u16) -> Cdb {
    let mut cdb = service_action(0x14, 8);
    cdb.bytes[1] |= control << 5;
    cdb.bytes[4..6].copy_from_slice(&stream.to_be_bytes());
    cdb
}

/// Encodes SERVICE ACTION IN(16) with an allocation length of `room` bytes.
fn service_action(action: u8, room: u32) -> Cdb {
    let mut bytes = [0; 32];
    bytes[0] = 0x9e;
    bytes[1] = action;
    bytes[10..14].copy_from_slice(&room.to_be_bytes());
    Cdb { bytes, len: 16 }
}

impl Cdb {
    /// Returns the bytes of the command descriptor block.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        text.split_whitespace().map(|b| u8::from_str_radix(b, 16).unwrap()).collect()
    }

    #[track_caller]
    fn check(command: Command, (lba, blocks): (u64, u32), length: Length, bytes: &str) {
        let cdb = command.encode(lba, blocks, length).unwrap();
        assert_eq!(cdb.as_bytes(), hex(bytes), "{command:?}");
    }

    #[test]
    fn commands_in_ten_bytes() {
        use Length::{Shortest, Ten};
        let at = (0x0102_0304, 0x0506);
        let read = Command::Read { fua: true };
        check(read, at, Shortest, "28 08 01 02 03 04 00 05 06 00");
        check(Command::Read { fua: false }, at, Ten, "28 00 01 02 03 04 00 05 06 00");
        check(Command::Write { fua: false }, at, Shortest, "2a 00 01 02 03 04 00 05 06 00");
        check(Command::Write { fua: true }, at, Shortest, "2a 08 01 02 03 04 00 05 06 00");
        check(Command::WriteAndVerify, at, Shortest, "2e 00 01 02 03 04 00 05 06 00");
        check(Command::Verify(Compare::Nothing), at, Ten, "2f 00 01 02 03 04 00 05 06 00");
        check(Command::Verify(Compare::All), at, Ten, "2f 02 01 02 03 04 00 05 06 00");
        check(Command::Verify(Compare::One), at, Ten, "2f 06 01 02 03 04 00 05 06 00");
        let same = Command::WriteSame { no_data: false };
        check(same, at, Shortest, "41 00 01 02 03 04 00 05 06 00");
        check(Command::Prefetch, at, Shortest, "34 00 01 02 03 04 00 05 06 00");
        check(Command::Synchronize, (0, 0), Shortest, "35 00 00 00 00 00 00 00 00 00");
    }

    #[test]
    fn commands_take_sixteen_bytes_if_ten_are_too_short() {
        let far = (1 << 32, 1);
        let read = Command::Read { fua: true };
        check(read, far, Length::Shortest, "88 08 00 00 00 01 00 00 00 00 00 00 00 01 00 00");
        let long = (1, 1 << 16);
        let write = Command::Write { fua: false };
        check(write, long, Length::Shortest, "8a 00 00 00 00 00 00 00 00 01 00 01 00 00 00 00");
        let same = Command::WriteSame { no_data: true };
        check(same, (2, 3), Length::Shortest, "93 01 00 00 00 00 00 00 00 02 00 00 00 03 00 00");
        let verify = Command::Verify(Compare::One);
        check(verify, (2, 3), Length::Sixteen, "8f 06 00 00 00 00 00 00 00 02 00 00 00 03 00 00");
        let stream = Command::WriteStream { stream: 0x0a0b, fua: true };
        check(stream, (2, 3), Length::Shortest, "9a 08 00 00 00 00 00 00 00 02 0a 0b 00 03 00 00");
        check(
            Command::Prefetch,
            (2, 3),
            Length::Sixteen,
            "90 00 00 00 00 00 00 00 00 02 00 00 00 03 00 00",
        );
    }

    #[test]
    fn commands_in_thirty_two_bytes() {
        check(
            Command::Write { fua: true },
            (0x0102_0304_0506_0708, 0x090a_0b0c),
            Length::ThirtyTwo,
            "7f 00 00 00 00 00 00 18 00 0b 08 00 01 02 03 04 05 06 07 08 \
             00 00 00 00 00 00 00 00 09 0a 0b 0c",
        );
        let read = Command::Read { fua: false }.encode(0, 1, Length::ThirtyTwo).unwrap();
        assert_eq!(read.as_bytes()[8..12], [0, 9, 0, 0]);
        let same = Command::WriteSame { no_data: true }.encode(0, 1, Length::ThirtyTwo).unwrap();
        assert_eq!(same.as_bytes()[8..12], [0, 0x0d, 1, 0]);
    }

    #[test]
    fn ranges_that_do_not_fit_are_refused() {
        let write = Command::Write { fua: false };
        assert_eq!(write.encode(1 << 32, 1, Length::Ten), Err(TooLong));
        assert_eq!(write.encode(0, 1 << 16, Length::Ten), Err(TooLong));
        assert_eq!(Command::WriteSame { no_data: true }.encode(0, 1, Length::Ten), Err(TooLong));
        assert_eq!(Command::Prefetch.encode(0, 1, Length::ThirtyTwo), Err(TooLong));
        let stream = Command::WriteStream { stream: 1, fua: false };
        assert_eq!(stream.encode(0, 1 << 16, Length::Shortest), Err(TooLong));
    }

    #[test]
    fn unmap_and_its_parameter_list_are_encoded() {
        let mut list = Vec::new();
        add_range(&mut list, 0x0102_0304_0506_0708, 0x090a_0b0c);
        assert_eq!(list.len(), usize::from(ONE_RANGE));
        assert_eq!(unmap(ONE_RANGE).as_bytes(), hex("42 00 00 00 00 00 00 00 18 00"));
        let descriptor = "01 02 03 04 05 06 07 08 09 0a 0b 0c 00 00 00 00";
        assert_eq!(list[..], hex(&format!("00 16 00 10 00 00 00 00 {descriptor}")));
        add_range(&mut list, 0x10, 2);
        let second = "00 00 00 00 00 00 00 10 00 00 00 02 00 00 00 00";
        assert_eq!(list[..], hex(&format!("00 26 00 20 00 00 00 00 {descriptor} {second}")));
        assert_eq!(inquiry(BLOCK_LIMITS, 64).as_bytes(), hex("12 01 b0 00 40 00"));
    }

    #[test]
    fn commands_to_zones_are_encoded() {
        let report = report_zones(0x0102_0304_0506_0708, 0x10000);
        assert_eq!(report.as_bytes(), hex("95 00 01 02 03 04 05 06 07 08 00 01 00 00 80 00"));
        let reset = manage_zone(4, 0x0102_0304_0506_0708);
        assert_eq!(reset.as_bytes(), hex("94 04 01 02 03 04 05 06 07 08 00 00 00 00 00 00"));
        assert_eq!(standard_inquiry(64).as_bytes(), hex("12 00 00 00 40 00"));
    }

    #[test]
    fn read_capacity_and_stream_control_are_encoded() {
        let capacity = read_capacity(32);
        assert_eq!(capacity.as_bytes(), hex("9e 10 00 00 00 00 00 00 00 00 00 00 00 20 00 00"));
        assert_eq!(read_capacity_10().as_bytes(), hex("25 00 00 00 00 00 00 00 00 00"));
        let open = open_stream();
        assert_eq!(open.as_bytes(), hex("9e 34 00 00 00 00 00 00 00 00 00 00 00 08 00 00"));
        let close = close_stream(0x0102);
        assert_eq!(close.as_bytes(), hex("9e 54 00 00 01 02 00 00 00 00 00 00 00 08 00 00"));
    }
}
