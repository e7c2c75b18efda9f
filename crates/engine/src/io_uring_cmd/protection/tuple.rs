//! Layout of a block's protection information.
//!
//! All fields are big-endian. Byte offsets, NVM Command Set Specification 1.0, 5.2.1.1 to 5.2.1.3:
//!
//! | format | guard | application tag | storage and reference space |
//! |---|---|---|---|
//! | 16b Guard | 0 to 1 | 2 to 3 | 4 to 7 |
//! | 32b Guard | 0 to 3 | 4 to 5 | 6 to 15 |
//! | 64b Guard | 0 to 7 | 8 to 9 | 10 to 15 |
//!
//! The high bits of the space are the storage tag, as many as the namespace is formatted with. The low
//! bits are the reference tag (5.2.1.4).

use fiord_plan::Guard;

/// The fields of a block's protection information.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tuple {
    /// The checksum, in the low bits.
    pub guard: u64,
    /// The application tag.
    pub application: u16,
    /// The storage and reference space, in the low bits.
    pub space: u128,
}

impl Tuple {
    /// Decodes the fields. `bytes` must have exactly the length of the format.
    pub(crate) fn read(format: Guard, bytes: &[u8]) -> Self {
        let (guard, rest) = bytes.split_at(format.bytes());
        let (application, space) = rest.split_at(2);
        Tuple {
            guard: big_endian(guard) as u64,
            application: big_endian(application) as u16,
            space: big_endian(space),
        }
    }

    /// Encodes the fields. `bytes` must have exactly the length of the format.
    pub(crate) fn write(&self, format: Guard, bytes: &mut [u8]) {
        let (guard, rest) = bytes.split_at_mut(format.bytes());
        let (application, space) = rest.split_at_mut(2);
        put(self.guard.into(), guard);
        put(self.application.into(), application);
        put(self.space, space);
    }
}

/// Decodes a number of at most 16 bytes.
fn big_endian(bytes: &[u8]) -> u128 {
    bytes.iter().fold(0, |value, byte| value << 8 | u128::from(*byte))
}

/// Encodes the low bytes of a number.
fn put(value: u128, bytes: &mut [u8]) {
    let all = value.to_be_bytes();
    bytes.copy_from_slice(&all[all.len() - bytes.len()..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_where_the_tables_say() {
        let tuple = |guard| Tuple { guard, application: 0xa1a2, space: 0xb0b1_b2b3 };
        let mut short = [0; 8];
        tuple(0xc1c2).write(Guard::Crc16, &mut short);
        assert_eq!(short, [0xc1, 0xc2, 0xa1, 0xa2, 0xb0, 0xb1, 0xb2, 0xb3]);
        let mut long = [0xee; 16];
        tuple(0xc1c2_c3c4).write(Guard::Crc32, &mut long);
        assert_eq!(
            long,
            [0xc1, 0xc2, 0xc3, 0xc4, 0xa1, 0xa2, 0, 0, 0, 0, 0, 0, 0xb0, 0xb1, 0xb2, 0xb3]
        );
        tuple(0xc1c2_c3c4_c5c6_c7c8).write(Guard::Crc64, &mut long);
        assert_eq!(long[..10], [0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xa1, 0xa2]);
        assert_eq!(long[10..], [0, 0, 0xb0, 0xb1, 0xb2, 0xb3]);
    }

    #[test]
    fn what_is_written_is_read() {
        for format in [Guard::Crc16, Guard::Crc32, Guard::Crc64] {
            let bits = format.space_bits();
            let tuple = Tuple {
                guard: u64::MAX >> (64 - 8 * format.bytes()),
                application: 0x1234,
                space: (1 << (bits - 1)) | 5,
            };
            let mut bytes = vec![0; format.information_bytes()];
            tuple.write(format, &mut bytes);
            assert_eq!(Tuple::read(format, &bytes), tuple);
        }
    }
}
