//! Generating and checking, for all formats, types and positions.

use fiord_plan::{Checks, Guard, MetadataPlan, ProtectionPlan, ProtectionType};
use proptest::prelude::*;

use super::*;

const ALL: Checks = Checks { guard: true, reference: true, application: true };

fn plan(guard: Guard, kind: ProtectionType, metadata_bytes: u16) -> MetadataPlan {
    MetadataPlan {
        block_bytes: 512,
        metadata_bytes,
        extended: false,
        protection: Some(ProtectionPlan {
            guard,
            kind,
            first: false,
            storage_tag_bits: 0,
            by_controller: false,
            check: ALL,
            application_tag: 0x1234,
            application_mask: 0xffff,
        }),
    }
}

fn with(plan: MetadataPlan, change: impl Fn(&mut ProtectionPlan)) -> HostProtection {
    let mut protection = plan.protection.unwrap();
    change(&mut protection);
    HostProtection::new(&MetadataPlan { protection: Some(protection), ..plan }).unwrap()
}

#[test]
fn the_host_does_nothing_if_the_controller_protects() {
    let plan = plan(Guard::Crc16, ProtectionType::One, 8);
    let by_controller = ProtectionPlan { by_controller: true, ..plan.protection.unwrap() };
    assert!(
        HostProtection::new(&MetadataPlan { protection: Some(by_controller), ..plan }).is_none()
    );
    assert!(HostProtection::new(&MetadataPlan { protection: None, ..plan }).is_none());
    assert!(HostProtection::new(&MetadataPlan { metadata_bytes: 4, ..plan }).is_none());
}

#[test]
fn a_block_of_zeroes_with_a_16b_guard() {
    let protection = with(plan(Guard::Crc16, ProtectionType::One, 8), |_| {});
    let (mut data, mut meta) = (vec![0; 1024], vec![0xee; 16]);
    protection.generate(&mut data, &mut meta, 0x1_0000_0007);
    assert_eq!(meta, [0, 0, 0x12, 0x34, 0, 0, 0, 7, 0, 0, 0x12, 0x34, 0, 0, 0, 8]);
    assert_eq!(protection.verify(&data, &meta, 0x1_0000_0007), Ok(()));
}

#[test]
fn a_wrong_block_is_named_with_its_field() {
    let protection = with(plan(Guard::Crc16, ProtectionType::One, 8), |_| {});
    let (mut data, mut meta) = (vec![0x5a; 2048], vec![0; 32]);
    protection.generate(&mut data, &mut meta, 100);
    let moved = protection.verify(&data, &meta, 101).unwrap_err();
    assert_eq!((moved.lba, moved.field, moved.expected), (101, Field::Reference, 101));
    assert_eq!(
        moved.to_string(),
        "LBA 101: reference tag expected 0x65, found 0x64 (the block belongs to another address)"
    );
    data[1024] ^= 1;
    let torn = protection.verify(&data, &meta, 100).unwrap_err();
    assert_eq!((torn.lba, torn.field), (102, Field::Guard));
    data[1024] ^= 1;
    meta[26] = 0x99;
    let foreign = protection.verify(&data, &meta, 100).unwrap_err();
    assert_eq!((foreign.lba, foreign.expected, foreign.found), (103, 0x1234, 0x9934));
    let masked = with(plan(Guard::Crc16, ProtectionType::One, 8), |p| p.application_mask = 0xff);
    assert_eq!(masked.verify(&data, &meta, 100), Ok(()));
    meta[27] = 0x99;
    let foreign = masked.verify(&data, &meta, 100).unwrap_err().to_string();
    assert!(foreign.contains("expected 0x34, found 0x99 under mask 0xff"), "{foreign}");
}

#[test]
fn unwritten_blocks_are_not_checked() {
    for guard in [Guard::Crc16, Guard::Crc32, Guard::Crc64] {
        for kind in [ProtectionType::One, ProtectionType::Two, ProtectionType::Three] {
            let protection = with(plan(guard, kind, 16), |_| {});
            let mut meta = vec![0xff; 16];
            assert_eq!(protection.verify(&[7; 512], &meta, 9), Ok(()));
            // With type 3 the reference tag, too, must disable the checks.
            meta[15] = 0;
            let checked = protection.verify(&[7; 512], &meta, 9).is_err();
            assert_eq!(checked, kind == ProtectionType::Three);
        }
    }
}

#[test]
fn protection_in_the_first_bytes_covers_no_metadata() {
    for (first, covered) in [(true, false), (false, true)] {
        let protection = with(plan(Guard::Crc64, ProtectionType::Two, 64), |p| p.first = first);
        let (mut data, mut meta) = (vec![1; 512], vec![3; 64]);
        protection.generate(&mut data, &mut meta, 5);
        // A byte that is not protection information at either position.
        meta[30] ^= 1;
        assert_eq!(protection.verify(&data, &meta, 5).is_err(), covered);
    }
}

#[test]
fn storage_tags_are_zero_and_shorten_the_reference_tag() {
    let protection = with(plan(Guard::Crc16, ProtectionType::One, 8), |p| p.storage_tag_bits = 16);
    let (mut data, mut meta) = (vec![1; 512], vec![3; 8]);
    protection.generate(&mut data, &mut meta, 0xabcd_1234);
    assert_eq!(meta[4..], [0, 0, 0x12, 0x34]);
    assert_eq!(protection.verify(&data, &meta, 0xabcd_1234), Ok(()));
}

fn any_guard() -> impl Strategy<Value = Guard> {
    prop_oneof![Just(Guard::Crc16), Just(Guard::Crc32), Just(Guard::Crc64)]
}

fn any_kind() -> impl Strategy<Value = ProtectionType> {
    use ProtectionType::*;
    prop_oneof![Just(One), Just(Two), Just(Three)]
}

proptest! {
    #[test]
    fn generated_protection_verifies_and_any_flipped_bit_is_detected(
        guard in any_guard(),
        kind in any_kind(),
        extended: bool,
        first: bool,
        metadata in prop_oneof![Just(16u16), Just(64)],
        lba in 0..u64::MAX - 4,
        seed: u8,
        flip in 0usize..512 * 8,
        block in 0usize..4,
    ) {
        let plan = MetadataPlan { extended, ..plan(guard, kind, metadata) };
        let protection = with(plan, |p| p.first = first);
        let stride = plan.stride() as usize;
        let mut data: Vec<u8> = (0..stride * 4).map(|i| (i as u8).wrapping_mul(seed)).collect();
        let mut meta = vec![seed; plan.separate_bytes(4 * 512) as usize];
        protection.generate(&mut data, &mut meta, lba);
        prop_assert_eq!(protection.verify(&data, &meta, lba), Ok(()));
        data[block * stride + flip / 8] ^= 1 << (flip % 8);
        let wrong = protection.verify(&data, &meta, lba).unwrap_err();
        prop_assert_eq!((wrong.lba, wrong.field), (lba + block as u64, Field::Guard));
        data[block * stride + flip / 8] ^= 1 << (flip % 8);
        // Flip a bit of the protection information itself, at either position.
        let all = usize::from(metadata);
        let bytes = guard.information_bytes();
        let start = if first { 0 } else { all - bytes } + if extended { 512 } else { 0 };
        let at = start + flip % bytes + block * if extended { stride } else { all };
        let byte = if extended { &mut data[at] } else { &mut meta[at] };
        *byte ^= 0x10;
        let seen = protection.verify(&data, &meta, lba).is_err();
        let storage = flip % bytes >= guard.bytes() + 2;
        // The reference tag is not checked with type 3; of 80 bits of space the tag has the low 64.
        let beyond = guard == Guard::Crc32 && (6..8).contains(&(flip % bytes));
        let overlooked = beyond || storage && kind == ProtectionType::Three;
        prop_assert_eq!(seen, !overlooked);
    }
}
