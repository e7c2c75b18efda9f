//! Checksum of a block.

use fiord_plan::Guard;
use fiord_simd::crc::{CRC16_T10_DIF, CRC64_NVME, Crc};
use fiord_simd::crc32c;

/// Guard of a block: the checksum of its data and of the metadata before the protection information.
/// Protection information in the first bytes has no metadata before it, so it covers only the data
/// (5.2.1.1).
///
/// * 16b: CRC-16, polynomial 8BB7h (SBC-4, 4.21.4; T10 DIF).
/// * 32b: CRC-32C, polynomial 1EDC6F41h (RFC 3720, 12.1).
/// * 64b: polynomial AD93D23594C93659h, reflected, inverted at both ends (5.2.1.3.4).
pub(crate) fn of(guard: Guard, data: &[u8], before: &[u8]) -> u64 {
    let crc = |crc: &Crc, start| crc.update(crc.update(start, data), before);
    match guard {
        Guard::Crc16 => crc(&CRC16_T10_DIF, 0),
        Guard::Crc32 => u64::from(!crc32c::update(crc32c::update(!0, data), before)),
        Guard::Crc64 => !crc(&CRC64_NVME, !0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| i as u8).collect()
    }

    fn counting_down(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|i| !(i as u8)).collect()
    }

    /// Remainder of a division by the polynomial of T10 DIF, one bit at a time.
    fn slow_t10_dif(data: &[u8]) -> u16 {
        data.iter().fold(0, |crc, byte| {
            (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| match crc & 0x8000 {
                0 => crc << 1,
                _ => crc << 1 ^ 0x8bb7,
            })
        })
    }

    /// "64b CRC Test Cases", NVM Command Set Specification 1.0, 5.2.1.3.5.
    #[test]
    fn crc64_of_the_specifications_blocks() {
        let crc = |data: &[u8]| of(Guard::Crc64, data, &[]);
        assert_eq!(crc(&[0; 4096]), 0x6482_d367_eb22_b64e);
        assert_eq!(crc(&[0xff; 4096]), 0xc0dd_ba73_02ec_a3ac);
        assert_eq!(crc(&counting(4096)), 0x3e72_9f5f_6750_449c);
        assert_eq!(crc(&counting_down(4096)), 0x9a2d_f64b_8e9e_517e);
    }

    /// RFC 3720, B.4, which shows the bytes in the order of transmission, the lowest first.
    #[test]
    fn crc32c_of_the_iscsi_standard() {
        let crc = |data: &[u8]| of(Guard::Crc32, data, &[]) as u32;
        assert_eq!(crc(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc(&counting(32)), 0x46dd_794e);
        let down: Vec<u8> = counting(32).into_iter().rev().collect();
        assert_eq!(crc(&down), 0x113f_db5c);
    }

    /// The check value of the CRC catalogue, and a bit-by-bit division of whole blocks.
    #[test]
    fn crc16_is_that_of_t10_dif() {
        let crc = |data: &[u8]| of(Guard::Crc16, data, &[]) as u16;
        assert_eq!(crc(b"123456789"), 0xd0db);
        for data in [vec![0xff; 512], counting(512), counting_down(4096), counting(4160)] {
            assert_eq!(crc(&data), slow_t10_dif(&data));
        }
    }

    #[test]
    fn metadata_before_it_is_covered() {
        let all = counting(560);
        for guard in [Guard::Crc16, Guard::Crc32, Guard::Crc64] {
            assert_eq!(of(guard, &all[..512], &all[512..]), of(guard, &all, &[]));
        }
    }
}
