use fiord_types::Errno;

use super::fake::Fake;
use super::*;

const MIB: u64 = 1 << 20;

/// Builds a `struct blk_zone` as the kernel fills it.
fn blk_zone(start: u64, len: u64, wp: u64, kind: u8, cond: u8, capacity: u64) -> [u8; 64] {
    let mut raw = [0u8; 64];
    raw[..8].copy_from_slice(&start.to_ne_bytes());
    raw[8..16].copy_from_slice(&len.to_ne_bytes());
    raw[16..24].copy_from_slice(&wp.to_ne_bytes());
    (raw[24], raw[25]) = (kind, cond);
    raw[32..40].copy_from_slice(&capacity.to_ne_bytes());
    raw
}

fn blk_report(flags: u32, zones: &[[u8; 64]]) -> Vec<u8> {
    let mut raw = vec![0u8; 16];
    raw[8..12].copy_from_slice(&(zones.len() as u32).to_ne_bytes());
    raw[12..16].copy_from_slice(&flags.to_ne_bytes());
    zones.iter().for_each(|zone| raw.extend(zone));
    raw
}

#[test]
fn reports_of_block_devices_are_parsed() {
    let raw = blk_report(
        1,
        &[
            blk_zone(0, 32768, u64::MAX, 1, 0, 32768),
            blk_zone(32768, 32768, 32768 + 8, 2, 2, 24576),
            blk_zone(65536, 32768, 65536 + 32768, 2, 0xe, 24576),
            blk_zone(98304, 32768, 98304, 2, 1, 24576),
            blk_zone(131072, 32768, 7, 2, 0xd, 24576),
        ],
    );
    let zones = block::parse(&raw).unwrap();
    assert_eq!(zones.len(), 5);
    assert_eq!((zones[0].kind, zones[0].state), (ZoneType::Conventional, State::NoWritePointer));
    assert_eq!(zones[0].write_pointer, Bytes::ZERO);
    assert_eq!(zones[1].write_pointer, Bytes(16 * MIB + 4096));
    assert_eq!((zones[1].capacity, zones[1].writable_end()), (Bytes(12 * MIB), Bytes(28 * MIB)));
    assert_eq!(
        zones[2].write_pointer,
        Bytes(44 * MIB),
        "a full zone's pointer is its writable end"
    );
    assert_eq!(zones[3].write_pointer, Bytes(48 * MIB));
    assert_eq!(zones[4].write_pointer, Bytes(64 * MIB), "a read-only zone's pointer means nothing");
}

#[test]
fn kernels_without_capacities_report_whole_zones() {
    let zones = block::parse(&blk_report(0, &[blk_zone(0, 32768, 0, 2, 1, 0)])).unwrap();
    assert_eq!(zones[0].capacity, Bytes(16 * MIB));
}

#[test]
fn invalid_zones_are_errors_and_not_skipped() {
    assert_eq!(block::parse(&[]), Ok(Vec::new()));
    let good = blk_zone(0, 8, 0, 2, 1, 8);
    for bad in [
        blk_zone(8, 0, 8, 2, 1, 0),
        blk_zone(8, 8, 8, 9, 1, 8),
        blk_zone(8, 8, 8, 2, 7, 8),
        blk_zone(u64::MAX, 8, 0, 2, 1, 8),
    ] {
        let report = blk_report(1, &[good, bad, good]);
        assert_eq!(block::parse(&report).unwrap_err().errno, Errno::EBADMSG);
    }
    let mut cut = blk_report(1, &[good]);
    cut.truncate(50);
    assert_eq!(block::parse(&cut), Ok(Vec::new()));
}

fn facts() -> ZonedFacts {
    ZonedFacts {
        model: Model::HostManaged,
        size: Bytes(64 * MIB),
        zone_size: Bytes(16 * MIB),
        count: 4,
        max_open: Some(14),
        max_active: Some(14),
        block: Bytes(4096),
        write_granularity: Bytes(4096),
        append_max: Bytes::ZERO,
    }
}

#[test]
fn facts_follow_from_identify() {
    let mut namespace = [0u8; 4096];
    namespace[..8].copy_from_slice(&(64 * MIB / 4096).to_le_bytes());
    (namespace[25], namespace[26]) = (1, 1);
    namespace[128 + 4 + 2] = 12;
    let mut zoned = [0u8; 4096];
    zoned[4..8].copy_from_slice(&13u32.to_le_bytes());
    zoned[8..12].copy_from_slice(&13u32.to_le_bytes());
    zoned[2816 + 16..2816 + 24].copy_from_slice(&4096u64.to_le_bytes());
    let mut limits = [0u8; 4096];
    let read = |namespace: &[u8; 4096], zoned: &[u8; 4096], limits: &[u8; 4096], transfer| {
        let namespace = crate::nvme::Namespace::parse(namespace);
        let zoned = crate::nvme::ZonedIdentify::parse(zoned, namespace.format_index);
        nvme::facts(&namespace, &zoned.with_controller(limits), transfer)
    };
    let appends = |most| Some(ZonedFacts { append_max: most, ..facts() });
    assert_eq!(read(&namespace, &zoned, &limits, None), appends(Bytes(16 * MIB)), "a whole zone");
    assert_eq!(read(&namespace, &zoned, &limits, Some(Bytes(MIB))), appends(Bytes(MIB)), "MDTS");
    limits[0] = 5;
    assert_eq!(
        read(&namespace, &zoned, &limits, Some(Bytes(MIB))),
        appends(Bytes(128 << 10)),
        "ZASL"
    );
    zoned[4..12].fill(0xff);
    let unlimited = read(&namespace, &zoned, &limits, None).unwrap();
    assert_eq!((unlimited.max_open, unlimited.max_active), (None, None));
    zoned[2816 + 16..2816 + 24].fill(0);
    assert_eq!(read(&namespace, &zoned, &limits, None), None, "not zoned");
    assert_eq!(read(&[0; 4096], &[0; 4096], &limits, None), None);
}

#[test]
fn reports_of_nvme_namespaces_are_parsed() {
    let descriptor = |state: u8, capacity: u64, start: u64, pointer: u64| {
        let mut raw = [0u8; 64];
        (raw[0], raw[1]) = (2, state << 4);
        raw[8..16].copy_from_slice(&capacity.to_le_bytes());
        raw[16..24].copy_from_slice(&start.to_le_bytes());
        raw[24..32].copy_from_slice(&pointer.to_le_bytes());
        raw
    };
    let mut raw = vec![0u8; 64];
    raw[..8].copy_from_slice(&3u64.to_le_bytes());
    raw.extend(descriptor(1, 3072, 0, 0));
    raw.extend(descriptor(4, 3072, 4096, 4097));
    raw.extend(descriptor(0xe, 3072, 8192, u64::MAX));
    raw.extend(descriptor(1, 3072, 12288, 12288));
    let zones = nvme::parse_report(&raw, &facts()).unwrap();
    assert_eq!(zones.len(), 3, "the header counts");
    assert_eq!((zones[0].state, zones[0].capacity), (State::Empty, Bytes(12 * MIB)));
    assert_eq!((zones[1].state, zones[1].write_pointer), (State::Closed, Bytes(16 * MIB + 4096)));
    assert_eq!((zones[2].state, zones[2].write_pointer), (State::Full, Bytes(44 * MIB)));
    // Make the second zone invalid: another type, an unknown state, beyond the end of the device.
    for (at, byte) in [(0, 3), (1, 0x70), (20, 1)] {
        let mut raw = raw.clone();
        raw[128 + at] = byte;
        assert_eq!(nvme::parse_report(&raw, &facts()).unwrap_err().errno, Errno::EBADMSG);
    }
}

/// A device whose reports leave out one zone.
#[derive(Debug)]
struct MissingZone(Fake, usize);

impl ZonedDevice for MissingZone {
    fn facts(&self) -> Result<ZonedFacts> {
        self.0.facts()
    }
    fn report(&self, from: Bytes, limit: usize) -> Result<Vec<Zone>> {
        let mut zones = self.0.report(from, limit)?;
        zones.remove(self.1);
        Ok(zones)
    }
    fn manage(&self, action: ZoneAction, start: Bytes, len: Bytes) -> Result<()> {
        self.0.manage(action, start, len)
    }
}

#[test]
fn a_report_with_a_missing_zone_is_an_error() {
    for left_out in [0, 2, 3] {
        let device = MissingZone(Fake::new(4, 1, 16 * MIB, 12 * MIB), left_out);
        assert_eq!(device.zones().unwrap_err().errno, Errno::EBADMSG, "{left_out}");
        assert_eq!(device.report(Bytes::ZERO, 9).unwrap().len(), 3);
    }
}

#[test]
fn nvme_statuses_keep_their_names() {
    let failed = |status| {
        let refused = crate::nvme::admin::Refused::Controller(crate::nvme::Status(status));
        nvme::failure("NVMe Zone Management Send (open)", refused)
    };
    for (status, errno, said) in [
        (0x41bd, Errno::EOVERFLOW, "Too Many Active Zones (NVMe command specific status BDh"),
        (0x1be, Errno::ETOOMANYREFS, "Too Many Open Zones (NVMe command specific status BEh)"),
        (0x1bb, Errno::EIO, "Zone Is Offline (NVMe command specific status BBh)"),
        (0x1b9, Errno::EIO, "Zone Is Full (NVMe command specific status B9h)"),
        (0x2, Errno::EINVAL, "Invalid Field in Command (NVMe generic command status 02h)"),
    ] {
        let error = failed(status);
        assert_eq!(error.errno, errno, "{error}");
        assert!(error.to_string().starts_with("NVMe Zone Management Send (open): "), "{error}");
        assert!(error.to_string().contains(said), "{error}");
    }
}

#[test]
fn regular_files_have_no_zones() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    assert_eq!(ZonedNode::of(file.into()).unwrap_err().errno, Errno::ENOTTY);
    assert_eq!(outline(Path::new("/proc/self/exe")), None);
    assert_eq!(outline(Path::new("/dev/null")), None);
    assert!(ZonedNode::open(Path::new("/dev/null"), false).is_err());
}

#[test]
fn the_fake_enforces_its_limits() {
    let fake = Fake::new(4, 1, 16 * MIB, 12 * MIB).limited(1, 2);
    fake.write(4096, 4096).unwrap();
    assert!(fake.write(16 * MIB + 4096, 4096).is_err(), "away from the pointer");
    fake.write(16 * MIB, 4096).unwrap();
    fake.write(32 * MIB, 4096).unwrap();
    assert_eq!(fake.zone(16 * MIB).unwrap().state, State::Closed, "one open at a time");
    assert_eq!(fake.write(48 * MIB, 4096).unwrap_err().errno, Errno::EOVERFLOW);
    fake.manage(ZoneAction::Finish, Bytes(16 * MIB), Bytes(16 * MIB)).unwrap();
    fake.write(48 * MIB, 12 * MIB).unwrap();
    assert_eq!(fake.zone(48 * MIB).unwrap().state, State::Full);
    assert!(fake.write(60 * MIB, 4096).is_err());
    fake.manage(ZoneAction::Reset, Bytes(48 * MIB), Bytes(16 * MIB)).unwrap();
    assert!(fake.manage(ZoneAction::Reset, Bytes::ZERO, Bytes(16 * MIB)).is_err(), "conventional");
    assert_eq!((fake.resets(), fake.finishes(), fake.most()), (1, 1, (1, 2)));
}
