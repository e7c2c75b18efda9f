//! Each fault gets its class and no other.

use super::*;
use crate::integrity::diagnosis::FaultClass;
use proptest::prelude::*;

const TARGET: TargetId = TargetId(0x1234);
const RUN: RunId = RunId(0x6553_f100_0000_0063);
const START: u64 = 1 << 20;
const SIZE: usize = 512;
const LENGTH: usize = 32 * SIZE;

fn write(number: u64) -> SectorWrite {
    SectorWrite {
        size: SectorSize::MIN,
        flags: SectorFlags::NONE,
        target: TARGET,
        run: RUN,
        job: 1,
        number,
        start: START,
        length: LENGTH as u32,
    }
}

/// What the write leaves at its own place.
fn filled(write: SectorWrite, generation: u16) -> Vec<u8> {
    let mut data = vec![0; LENGTH];
    write.fill(write.start, generation, &mut data);
    data
}

/// The newest data: generation 5, written by write 50.
fn new() -> Vec<u8> {
    filled(write(50), 5)
}

/// The data before it.
fn old() -> Vec<u8> {
    filled(write(20), 4)
}

fn diagnose_as(state: SectorState, found: &[u8]) -> Vec<BadExtent> {
    let expected = ExpectedSectors {
        size: SectorSize::MIN,
        target: TARGET,
        run: RUN,
        cycle: Some(253),
        state: &|_| state,
    };
    expected.diagnose(Bytes(START), found)
}

fn written(writer: Option<SectorWriter>) -> SectorState {
    let expected = SectorExpected { generation: Some(5), writer };
    SectorState::Written { expected, promise: Promise::Flushed }
}

/// With and without knowledge of the writer the diagnosis must have the same class.
fn diagnose(found: &[u8]) -> Vec<BadExtent> {
    let unknown = diagnose_as(written(None), found);
    let known = diagnose_as(written(Some(SectorWriter { job: 1, number: 50 })), found);
    let classes = |extents: &[BadExtent]| -> Vec<_> {
        extents.iter().map(|e| (e.start, e.length, e.diagnosis.class())).collect()
    };
    assert_eq!(classes(&unknown), classes(&known));
    unknown
}

fn one(found: &[u8]) -> BadExtent {
    let mut extents = diagnose(found);
    assert_eq!(extents.len(), 1, "{extents:?}");
    extents.remove(0)
}

fn whole(found: &[u8]) -> Diagnosis {
    let extent = one(found);
    assert_eq!((extent.start, extent.length), (Bytes(START), Bytes(LENGTH as u64)));
    extent.diagnosis
}

#[test]
fn right_data_has_no_extents() {
    assert_eq!(diagnose(&new()), []);
    assert_eq!(diagnose_as(SectorState::Unchecked, &[7; 5000]), []);
    assert_eq!(diagnose_as(SectorState::Trimmed, &[0; 5000]), []);
}

#[test]
fn blank() {
    assert_eq!(whole(&[0; LENGTH]), Diagnosis::Blank { ones: false });
    assert_eq!(whole(&[0xff; LENGTH]), Diagnosis::Blank { ones: true });
    let mut part = new();
    part[SIZE..3 * SIZE].fill(0);
    let extent = one(&part);
    assert_eq!((extent.start.0, extent.length.0), (START + 512, 1024));
    assert_eq!(extent.diagnosis, Diagnosis::Blank { ones: false });
}

#[test]
fn other_runs_and_targets() {
    let run = RunId::new(1_600_000_000, 4);
    let earlier = SectorWrite { run, ..write(50) };
    let expected = Diagnosis::EarlierRun { run: Some(run), belongs: None };
    assert_eq!(whole(&filled(earlier, 5)), expected);
    let target = TargetId(9);
    let other = SectorWrite { target, ..write(50) };
    let expected = Diagnosis::OtherTarget { target, belongs: Bytes(START) };
    assert_eq!(whole(&filled(other, 5)), expected);
}

#[test]
fn misdirected_by_a_distance() {
    let elsewhere = SectorWrite { start: START + (1 << 16), ..write(51) };
    let Diagnosis::Misdirected(misdirection) = whole(&filled(elsewhere, 5)) else { panic!() };
    assert_eq!(misdirection.other, Bytes(START + (1 << 16)));
    assert_eq!(misdirection.distance(Bytes(START)), -(1 << 16));
}

#[test]
fn stale_by_generations() {
    let Diagnosis::Stale(stale) = whole(&old()) else { panic!() };
    assert_eq!(stale.generations, Some(1));
    assert_eq!(stale.found, SectorWriter { job: 1, number: 20 });
    assert_eq!(stale.promise, Promise::Flushed);
    // Generation 252 of the cycle before is 6 generations older than 5.
    let Diagnosis::Stale(stale) = whole(&filled(write(20), 252)) else { panic!() };
    assert_eq!(stale.generations, Some(6));
}

#[test]
fn data_that_survives_a_trim_is_stale() {
    let extents = diagnose_as(SectorState::Trimmed, &old());
    assert_eq!(extents.len(), 1);
    assert_eq!(extents[0].diagnosis.class(), FaultClass::Stale);
}

#[test]
fn torn_at_sectors_and_pages() {
    for (sectors, unit) in [(3, TearUnit::Sector), (8, TearUnit::Page), (31, TearUnit::Sector)] {
        let (mut head_new, mut tail_new) = (new(), old());
        let at = sectors * SIZE;
        head_new[at..].copy_from_slice(&old()[at..]);
        tail_new[at..].copy_from_slice(&new()[at..]);
        let tear =
            |order| Tear { write: Bytes(START), at: Bytes(at as u64), order, unit, boundaries: 1 };
        let extent = one(&head_new);
        assert_eq!(extent.diagnosis, Diagnosis::Torn(tear(TearOrder::HeadNew)));
        assert_eq!((extent.start.0, extent.end().0), (START + at as u64, START + LENGTH as u64));
        let extent = one(&tail_new);
        assert_eq!(extent.diagnosis, Diagnosis::Torn(tear(TearOrder::TailNew)));
        assert_eq!((extent.start.0, extent.end().0), (START, START + at as u64));
    }
}

#[test]
fn torn_within_a_sector() {
    let mut data = new();
    data[5 * SIZE + 256..].copy_from_slice(&old()[5 * SIZE + 256..]);
    let extent = one(&data);
    let Diagnosis::Torn(tear) = extent.diagnosis else { panic!("{extent:?}") };
    assert_eq!((tear.at, tear.unit), (Bytes(5 * 512 + 256), TearUnit::Byte));
    assert_eq!((tear.order, tear.boundaries), (TearOrder::HeadNew, 1));
    assert_eq!(extent.start, Bytes(START + 5 * 512));
}

#[test]
fn torn_over_data_of_an_earlier_run() {
    let mut data = new();
    let earlier = filled(SectorWrite { run: RunId(3), ..write(50) }, 5);
    data[4096..].copy_from_slice(&earlier[4096..]);
    assert_eq!(one(&data).diagnosis.class(), FaultClass::Torn);
}

/// Write 50 is there, and write 60, which overwrote its second half later, is lost.
#[test]
fn a_lost_write_over_part_of_another_is_stale() {
    let state = |address: u64| {
        let generation = Some(if address < START + LENGTH as u64 / 2 { 5 } else { 6 });
        let expected = SectorExpected { generation, writer: None };
        SectorState::Written { expected, promise: Promise::Acknowledged }
    };
    let expected = ExpectedSectors {
        size: SectorSize::MIN,
        target: TARGET,
        run: RUN,
        cycle: Some(253),
        state: &state,
    };
    let extents = expected.diagnose(Bytes(START), &new());
    assert_eq!(extents.len(), 1);
    assert_eq!(extents[0].diagnosis.class(), FaultClass::Stale);
    assert_eq!(extents[0].start, Bytes(START + LENGTH as u64 / 2));
}

#[test]
fn shifted_by_any_number_of_bytes() {
    for by in [1, 3, 8, 64, 511, 513, 1000] {
        let mut right = new();
        right.rotate_right(by);
        let extents = diagnose(&right);
        assert!(
            extents.iter().all(|e| e.diagnosis == Diagnosis::Shifted { by: by as i64 }
                || e.diagnosis == Diagnosis::Shifted { by: by as i64 - LENGTH as i64 }),
            "{extents:?}"
        );
        let mut left = new();
        left.copy_within(by.., 0);
        left[LENGTH - by..].fill(0x55);
        let first = diagnose(&left).remove(0);
        assert_eq!(first.diagnosis, Diagnosis::Shifted { by: -(by as i64) });
    }
    let mut sectors = new();
    sectors.copy_within(..LENGTH - 1024, 1024);
    let extent = one(&sectors);
    assert_eq!(extent.diagnosis, Diagnosis::Shifted { by: 1024 });
    assert_eq!(extent.start, Bytes(START + 1024));
}

/// A reader that learns the run from the data finds no intact header in it.
#[test]
fn shifted_data_of_an_unknown_run() {
    let mut data = filled(SectorWrite { run: RunId(1), target: TargetId(2), ..write(50) }, 5);
    data.rotate_right(24);
    for extent in diagnose(&data) {
        assert_eq!(extent.diagnosis.class(), FaultClass::Shifted, "{extent:?}");
    }
}

#[test]
fn flips_that_repeat_in_each_sector() {
    let mut data = new();
    for sector in 4..9 {
        data[sector * SIZE + 100] |= 0x10;
        data[sector * SIZE + 101] |= 0x10;
    }
    let flipped: Vec<_> = (0..LENGTH).filter(|i| data[*i] != new()[*i]).collect();
    for extent in diagnose(&data) {
        let Diagnosis::BitFlips(flips) = extent.diagnosis else { panic!() };
        assert_eq!(flips.ones, flips.count);
        assert_eq!(flips.lines & !0x1010_0000_0000, 0);
    }
    assert!(!flipped.is_empty());
    let mut uniform = new();
    (4..9).for_each(|sector| uniform[sector * SIZE + 100] ^= 0x10);
    let Diagnosis::BitFlips(flips) = one(&uniform).diagnosis else { panic!() };
    assert!(flips.uniform);
    assert_eq!((flips.count, flips.units), (5, 5));
    let at: Vec<u64> = flips.first.iter().map(|bits| bits.at.0).collect();
    assert_eq!(at, [100, 612, 1124, 1636, 2148]);
    uniform[6 * SIZE + 300] ^= 1;
    let Diagnosis::BitFlips(flips) = one(&uniform).diagnosis else { panic!() };
    assert!(!flips.uniform);
}

#[test]
fn another_job() {
    let found = SectorWriter { job: 2, number: 7 };
    let other = filled(SectorWrite { job: 2, number: 7, ..write(0) }, 5);
    let extents = diagnose_as(written(Some(SectorWriter { job: 1, number: 50 })), &other);
    assert_eq!(extents[0].diagnosis, Diagnosis::OtherJob { found });
}

#[test]
fn garbage_is_unrecognized() {
    let mut data = new();
    data[2 * SIZE..3 * SIZE].fill(0x5a);
    data[5 * SIZE + 200..5 * SIZE + 240].fill(0x5a);
    let extents = diagnose(&data);
    assert_eq!(extents.len(), 2);
    let Diagnosis::Unrecognized(whole) = extents[0].diagnosis else { panic!("{extents:?}") };
    assert_eq!((whole.first_bytes, whole.first_difference), ([0x5a; 16], None));
    let Diagnosis::Unrecognized(part) = extents[1].diagnosis else { panic!("{extents:?}") };
    assert_eq!(part.first_difference, Some(Bytes(200)));
}

proptest! {
    /// One or two flipped bits anywhere, also in the header, are located exactly.
    #[test]
    fn single_flipped_bits_are_located(sector in 0usize..32, bits in proptest::collection::btree_set(0usize..4096, 1..2)) {
        let mut data = new();
        for bit in &bits {
            data[sector * SIZE + bit / 8] ^= 1 << (bit % 8);
        }
        let extents = diagnose(&data);
        prop_assert_eq!(extents.len(), 1);
        prop_assert_eq!(extents[0].start, Bytes(START + (sector * SIZE) as u64));
        let Diagnosis::BitFlips(flips) = &extents[0].diagnosis else { panic!("{extents:?}") };
        prop_assert_eq!(flips.count, bits.len() as u64);
        let found: Vec<usize> = flips.first.iter()
            .flat_map(|b| (0..8).filter(|i| b.mask() >> i & 1 == 1).map(move |i| b.at.0 as usize * 8 + i))
            .collect();
        prop_assert_eq!(found, bits.into_iter().collect::<Vec<_>>());
    }

    #[test]
    fn a_whole_single_sector_is_enough(bit in 0usize..4096) {
        let mut data = new();
        data[bit / 8] ^= 1 << (bit % 8);
        let extents = diagnose(&data[..SIZE]);
        prop_assert_eq!(extents[0].diagnosis.class(), FaultClass::BitFlips);
    }

    /// Every difference is covered by an extent, and right sectors by none.
    #[test]
    fn extents_cover_exactly_the_bad_sectors(
        changes in proptest::collection::vec((0usize..LENGTH, 1usize..3000, any::<u8>()), 0..4),
    ) {
        let good = new();
        let mut data = good.clone();
        for (from, length, byte) in changes {
            data[from..(from + length).min(LENGTH)].fill(byte);
        }
        let extents = diagnose(&data);
        for sector in 0..32 {
            let range = sector * SIZE..(sector + 1) * SIZE;
            let at = Bytes(START + range.start as u64);
            let covered = extents.iter().filter(|e| e.start <= at && at < e.end()).count();
            prop_assert_eq!(covered, usize::from(data[range.clone()] != good[range]));
        }
    }
}
