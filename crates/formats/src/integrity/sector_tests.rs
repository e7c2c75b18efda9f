//! The format of `verify=fiord`.

use proptest::prelude::*;

use super::*;

const TARGET: TargetId = TargetId(0x1234);
const RUN: RunId = RunId(0x6553_f100_0000_0063);
const START: u64 = 1 << 20;

fn write(size: SectorSize) -> SectorWrite {
    SectorWrite {
        size,
        flags: SectorFlags::DURABLE,
        target: TARGET,
        run: RUN,
        job: 3,
        number: 77,
        start: START,
        length: 16384,
    }
}

fn filled(size: SectorSize) -> Vec<u8> {
    let mut data = vec![0xa5; 16384];
    write(size).fill(START, 9, &mut data);
    data
}

fn check(size: SectorSize, data: &[u8]) -> Option<usize> {
    let expected = SectorExpected { generation: Some(9), writer: None };
    SectorCheck::new(size, TARGET, RUN).first_bad(START, &expected, data)
}

/// The layout of the documentation, byte by byte. Data on disk must remain readable.
#[test]
fn the_layout_does_not_change() {
    let data = filled(SectorSize::MIN);
    let header = "4652445301090100341200000000000000001000000000006300000000f15365\
                  4d00000000000000004000000300090000001000000000006c637eb1263b63d0";
    let hex: String = data[..64].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, header);
    let seed = u64::from_le_bytes(data[56..64].try_into().expect("8 bytes"));
    for (i, word) in data[..512].as_chunks::<8>().0.iter().enumerate().skip(8) {
        assert_eq!(u64::from_le_bytes(*word), seed.wrapping_add(STEP.wrapping_mul(i as u64)));
    }
    assert_eq!(SectorHeader::read(&data[512..]).map(|header| header.address), Some(START + 512));
}

#[test]
fn headers_are_read_as_written() {
    let data = filled(SectorSize::MIN);
    let header = SectorHeader { write: write(SectorSize::MIN), address: START, generation: 9 };
    assert_eq!(SectorHeader::read(&data), Some(header));
    let mut sector = vec![0; 512];
    header.fill(&mut sector);
    assert_eq!(sector, data[..512]);
    assert_eq!(SectorHeader::read(&data[..63]), None);
}

#[test]
fn every_flipped_bit_is_found() {
    for size in [512, 4096] {
        let size = SectorSize::new(size).expect("a power of two");
        let mut data = filled(size);
        for bit in 0..2 * size.bytes() * 8 {
            data[bit / 8] ^= 1 << (bit % 8);
            let sector = bit / 8 / size.bytes() * size.bytes();
            assert_eq!(check(size, &data), Some(sector), "bit {bit}");
            data[bit / 8] ^= 1 << (bit % 8);
        }
        assert_eq!(check(size, &data), None);
    }
}

#[test]
fn other_writes_are_found() {
    let good = write(SectorSize::MIN);
    let found = |other: SectorWrite, address, generation| {
        let mut data = vec![0; 4096];
        other.fill(address, generation, &mut data);
        check(SectorSize::MIN, &data)
    };
    assert_eq!(found(good, START, 9), None);
    assert_eq!(found(good, START, 8), Some(0));
    assert_eq!(found(good, START + 512, 9), Some(0));
    assert_eq!(found(SectorWrite { target: TargetId(5), ..good }, START, 9), Some(0));
    assert_eq!(found(SectorWrite { run: RunId(5), ..good }, START, 9), Some(0));
    let larger = SectorSize::new(1024).expect("a power of two");
    assert_eq!(found(SectorWrite { size: larger, ..good }, START, 9), Some(0));
    assert_eq!(found(SectorWrite { number: 78, job: 1, ..good }, START, 9), None);
}

#[test]
fn a_known_writer_must_match() {
    let data = filled(SectorSize::MIN);
    let mut check = SectorCheck::new(SectorSize::MIN, TARGET, RUN);
    let by = |job, number| SectorExpected {
        generation: None,
        writer: Some(SectorWriter { job, number }),
    };
    assert_eq!(check.first_bad(START, &by(3, 77), &data), None);
    assert_eq!(check.first_bad(START, &by(3, 78), &data), Some(0));
    assert_eq!(check.first_bad(START, &by(2, 77), &data), Some(0));
}

/// A checker remembers the last write. That must not let a stale block pass.
#[test]
fn expectations_hold_although_the_last_write_is_remembered() {
    let data = filled(SectorSize::MIN);
    let mut check = SectorCheck::new(SectorSize::MIN, TARGET, RUN);
    let generation = |generation| SectorExpected { generation: Some(generation), writer: None };
    assert_eq!(check.first_bad(START, &generation(9), &data), None);
    assert_eq!(check.first_bad(START, &generation(10), &data), Some(0));
    assert_eq!(check.first_bad(START, &generation(9), &data), None);
}

#[test]
fn bytes_after_the_last_sector_are_zeros() {
    let mut data = vec![0xff; 1030];
    write(SectorSize::MIN).fill(START, 9, &mut data);
    assert_eq!(&data[1024..], [0; 6]);
    assert_eq!(check(SectorSize::MIN, &data), None);
    data[1029] = 1;
    assert_eq!(check(SectorSize::MIN, &data), Some(1024));
}

#[test]
fn sizes_are_powers_of_two() {
    assert_eq!(SectorSize::new(512), Some(SectorSize::MIN));
    assert_eq!(SectorSize::new(65536), Some(SectorSize::MAX));
    for bytes in [0, 1, 256, 520, 131_072, u64::MAX] {
        assert_eq!(SectorSize::new(bytes), None, "{bytes}");
    }
}

proptest! {
    /// A torn sector: any part of a sector replaced by the same part of another generation or address.
    #[test]
    fn torn_and_shifted_sectors_are_found(
        from in 0usize..512, length in 1usize..512, shift in 1usize..4096, other in 0u16..9,
    ) {
        let good = filled(SectorSize::MIN);
        let mut old = vec![0; 16384];
        write(SectorSize::MIN).fill(START, other, &mut old);
        let to = (from + length).min(512);
        let mut torn = good.clone();
        torn[from..to].copy_from_slice(&old[from..to]);
        prop_assert_eq!(check(SectorSize::MIN, &torn).is_none(), torn == good);
        let mut shifted = good.clone();
        shifted.rotate_right(shift);
        prop_assert_eq!(check(SectorSize::MIN, &shifted), Some(0));
    }

    #[test]
    fn no_bytes_cause_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..1100), address: u64) {
        let _ = SectorHeader::read(&bytes);
        let mut check = SectorCheck::new(SectorSize::MIN, TARGET, RUN);
        let found = check.first_bad(address, &SectorExpected::default(), &bytes);
        prop_assert_eq!(found.is_none(), bytes.iter().all(|byte| *byte == 0) && bytes.len() < 512);
    }
}
