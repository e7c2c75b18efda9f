//! The tests build data structures byte by byte, as the specifications define them.

use super::*;

/// Builds a data structure with these bytes at these offsets.
fn with(parts: &[(usize, &[u8])]) -> Box<IdentifyData> {
    let mut data = Box::new([0u8; 4096]);
    for (at, bytes) in parts {
        data[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    data
}

#[test]
fn identify_controller_is_parsed() {
    let data = with(&[
        (4, b"S1234               "),
        (24, b"Model X                                 "),
        (64, b"FW1.0   "),
        (77, &[5]),
        (80, &0x0002_0100u32.to_le_bytes()),
        (96, &(1u32 << 15 | 1 << 16 | 1 << 19).to_le_bytes()),
        (256, &(1u16 << 5).to_le_bytes()),
        (520, &0b1_1000_1101u16.to_le_bytes()),
        (525, &[0b111]),
        (526, &7u16.to_le_bytes()),
    ]);
    let controller = Controller::parse(&data);
    assert_eq!((&controller.serial[..], &controller.model[..]), ("S1234", "Model X"));
    assert_eq!((&controller.firmware[..], controller.version), ("FW1.0", (2, 1, 0)));
    assert_eq!(controller.max_transfer, Some(Bytes(128 << 10)));
    assert!(controller.transfer_excludes_metadata && controller.extended_lba_formats);
    assert!(controller.flexible_placement && controller.directives && controller.volatile_cache);
    let all_but_uncorrectable = Optional {
        compare: true,
        write_uncorrectable: false,
        dataset_management: true,
        write_zeroes: true,
        verify: true,
        copy: true,
    };
    assert_eq!(controller.optional, all_but_uncorrectable);
    assert_eq!((controller.atomic_blocks, controller.atomic_power_fail_blocks), (8, 1));
}

#[test]
fn no_transfer_limit_is_none_and_a_huge_one_is_the_largest_number() {
    assert_eq!(Controller::parse(&with(&[])).max_transfer, None);
    // 2^51 pages of 4 KiB are 2^63 bytes. A limit beyond 64 bits must never become a limit of 0.
    assert_eq!(Controller::parse(&with(&[(77, &[51])])).max_transfer, Some(Bytes(1 << 63)));
    for exponent in 52..=255 {
        assert_eq!(
            Controller::parse(&with(&[(77, &[exponent])])).max_transfer,
            Some(Bytes::MAX),
            "2^{exponent} pages"
        );
    }
}

#[test]
fn limits_of_commands_without_data_are_parsed() {
    let data = with(&[(0, &[7, 12, 0, 64]), (4, &8u32.to_le_bytes())]);
    let limits = CommandLimits::parse(&data);
    assert_eq!(
        (limits.verify, limits.write_zeroes),
        (Some(Bytes(512 << 10)), Some(Bytes(16 << 20)))
    );
    assert_eq!((limits.write_uncorrectable, limits.deallocate_blocks), (None, None));
    assert_eq!((limits.deallocate_ranges, limits.deallocate_range_blocks), (Some(64), Some(8)));
}

#[test]
fn only_supported_io_commands_are_reported() {
    // Write Zeroes (08h) with an effect, Verify (0Ch); Zone Append (7Dh) has effects, no support.
    let data = with(&[
        (1024 + 8 * 4, &[0b11]),
        (1024 + 12 * 4, &[1]),
        (1024 + 0x7d * 4, &[0b10]),
        (2 * 4, &[1]),
    ]);
    let commands = IoCommands::parse(&data);
    let has: Vec<u8> = (0..=255).filter(|opcode| commands.has(*opcode)).collect();
    assert_eq!(has, [0x08, 0x0c]);
}

#[test]
fn a_namespace_without_metadata_is_parsed() {
    let data = with(&[
        (0, &1000u64.to_le_bytes()),
        (8, &900u64.to_le_bytes()),
        (16, &10u64.to_le_bytes()),
        (24, &[1 | 1 << 4]),
        (25, &[1]),
        (26, &[1]),
        (33, &[0b1001]),
        (46, &256u16.to_le_bytes()),
        (64, &7u16.to_le_bytes()),
        (68, &15u16.to_le_bytes()),
        (72, &31u16.to_le_bytes()),
        (128, &[0, 0, 9, 2, 0, 0, 12, 0]),
    ]);
    let space = Namespace::parse(&data);
    assert_eq!((space.size, space.capacity, space.used), (1000, 900, 10));
    let allocation = Allocation::of(&space);
    assert_eq!(
        allocation,
        Allocation {
            size: Bytes(4_096_000),
            capacity: Bytes(3_686_400),
            used: Bytes(40_960),
            thin: true
        }
    );
    assert_eq!(allocation.short_of_full(), Some(40_960.0 / 3_686_400.0));
    let full = Allocation { used: allocation.capacity, ..allocation };
    assert_eq!(full.short_of_full(), None);
    assert_eq!(Allocation::default().short_of_full(), None);
    assert_eq!(
        (space.format.data, space.format.metadata, space.format_index),
        (Bytes(4096), Bytes::ZERO, 1)
    );
    assert_eq!((space.formats[0].data, space.formats[0].relative_performance), (Bytes(512), 2));
    assert_eq!((space.extended, space.protection, space.thin), (false, None, true));
    assert_eq!((space.deallocated, space.zeroes_may_deallocate), (Deallocated::Zeroes, true));
    assert_eq!((space.preferred_write, space.preferred_deallocate), (Some(8), Some(16)));
    assert_eq!((space.optimal_write, space.boundary), (Some(32), Some(256)));
    assert_eq!((space.block_in_buffer(), space.bytes()), (4096, 4_096_000));
}

#[test]
fn metadata_is_interleaved_or_separate() {
    let format: (usize, &[u8]) = (128, &[8, 0, 9, 0]);
    let apart = Namespace::parse(&with(&[(0, &[10]), format]));
    assert_eq!((apart.extended, apart.block_in_buffer(), apart.bytes()), (false, 512, 5120));
    let in_line = Namespace::parse(&with(&[(0, &[10]), (26, &[0x10]), format]));
    assert_eq!((in_line.extended, in_line.block_in_buffer(), in_line.bytes()), (true, 520, 5200));
    // A format without metadata is not interleaved, whatever FLBAS says.
    let none = Namespace::parse(&with(&[(26, &[0x10]), (128, &[0, 0, 9, 0])]));
    assert!(!none.extended);
}

#[test]
fn protection_information_has_the_guard_of_its_format() {
    let data = with(&[(29, &[0b1001]), (128, &[64, 0, 12, 0])]);
    let space = Namespace::parse(&data);
    let plain =
        FormatProtection { kind: 1, first: true, guard: GuardFormat::Crc16, storage_tag_bits: 0 };
    assert_eq!(space.protection, Some(plain));
    let guarded = |pif: u32| {
        let formats = with(&[(12, &(pif << 7 | 16).to_le_bytes())]);
        space.clone().with_guard(&formats).protection.unwrap()
    };
    assert_eq!(guarded(0).guard, GuardFormat::Crc16);
    assert_eq!((guarded(1).guard, guarded(1).storage_tag_bits), (GuardFormat::Crc32, 16));
    assert_eq!((guarded(2).guard, guarded(2).guard.bytes()), (GuardFormat::Crc64, 16));
    let reserved = Namespace::parse(&with(&[(29, &[0b111])]));
    assert_eq!(reserved.protection, None);
}

#[test]
fn the_format_index_has_six_bits_with_more_than_sixteen_formats() {
    // Index 35 = 10 0011b: bits 6:5 of FLBAS are 10b, bits 3:0 are 0011b.
    let data = with(&[(25, &[63]), (26, &[0b0100_0011]), (128 + 35 * 4, &[8, 0, 12, 0])]);
    let space = Namespace::parse(&data);
    assert_eq!(
        (space.format_index, space.format.data, space.format.metadata),
        (35, Bytes(4096), Bytes(8))
    );
    // With fewer formats, these bits have no meaning.
    assert_eq!(Namespace::parse(&with(&[(25, &[15]), (26, &[0x63])])).format_index, 3);
}

#[test]
fn data_of_all_ones_is_harmless() {
    let ones = Box::new([0xff; 4096]);
    let space = Namespace::parse(&ones).with_guard(&ones);
    assert_eq!((space.format.data, space.bytes()), (Bytes::ZERO, u64::MAX));
    let _ = Controller::parse(&ones);
    let _ = CommandLimits::parse(&ones);
    let _ = ZonedIdentify::parse(&ones, 255).with_controller(&ones);
    assert_eq!(CommandSet::in_descriptors(&ones), CommandSet::Nvm);
}

#[test]
fn the_command_set_is_found_among_the_descriptors() {
    // An NGUID (type 2, 16 bytes) before the command set.
    let data = with(&[(0, &[2, 16]), (20, &[4, 1, 0, 0, 2])]);
    assert_eq!(CommandSet::in_descriptors(&data), CommandSet::Zoned);
    assert_eq!(CommandSet::in_descriptors(&with(&[(0, &[2, 16])])), CommandSet::Nvm);
    assert_eq!(CommandSet::of(9), CommandSet::Other(9));
}

#[test]
fn a_zoned_namespace_is_parsed() {
    let data = with(&[
        (2, &[1, 0]),
        (4, &13u32.to_le_bytes()),
        (8, &[0xff; 4]),
        (2816 + 16, &2048u64.to_le_bytes()),
    ]);
    let zoned = ZonedIdentify::parse(&data, 1).with_controller(&with(&[(0, &[5])]));
    assert_eq!((zoned.zone_blocks, zoned.max_active, zoned.max_open), (2048, Some(14), None));
    assert_eq!((zoned.read_across_zones, zoned.max_append), (true, Some(Bytes(128 << 10))));
}

/// Generates bytes from a seed (splitmix64).
fn arbitrary(mut seed: u64) -> Box<IdentifyData> {
    let mut data = Box::new([0u8; 4096]);
    for chunk in data.chunks_exact_mut(8) {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = (seed ^ seed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        chunk.copy_from_slice(&(z ^ z >> 31).to_le_bytes());
    }
    data
}

#[test]
fn arbitrary_bytes_never_make_a_parser_panic() {
    for seed in 0..2000 {
        let data = arbitrary(seed);
        let space = Namespace::parse(&data).with_guard(&data);
        // A format is either unused, or has a block size that a transfer can hold.
        assert!(
            space.format.data == Bytes::ZERO
                || (Bytes(512)..=Bytes(1 << 31)).contains(&space.format.data)
        );
        assert!(space.bytes() >= space.size.min(1) * space.format.data.0);
        let _ = Controller::parse(&data);
        let _ = CommandLimits::parse(&data);
        let _ = IoCommands::parse(&data);
        let _ = CommandSet::in_descriptors(&data);
        let _ = ZonedIdentify::parse(&data, space.format_index).with_controller(&data);
    }
}
