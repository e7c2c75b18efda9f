//! `zonemode=zbd`: sizes in zones, rounding, what is refused.

use fiord_types::Bytes;

use super::{Fake, error, job, jobs, run};
use crate::{Resets, Tracking, Zones};

const MIB: u64 = 1 << 20;
/// A device of 64 zones of 16 MiB.
const ON_DEVICE: &str = "--name=a --filename=/dev/zoned --direct=1 --zonemode=zbd --bs=64k";
/// A file of 64 MiB with zones of 1 MiB.
const ON_FILE: &str = "--name=a --filename=/f --zonemode=zbd --zonesize=1m --bs=64k";

fn machine() -> Fake {
    Fake::empty().zoned("/dev/zoned", 64).file("/f", 64 * MIB)
}

fn region(line: &str) -> (u64, u64) {
    let job = job(&machine(), line);
    (job.target.files[0].offset.as_mib(), job.target.files[0].len.as_mib())
}

#[test]
fn sizes_and_offsets_in_zones() {
    assert_eq!(region(&format!("{ON_DEVICE} --rw=write --size=8z --offset=2z")), (32, 128));
    assert_eq!(region(&format!("{ON_FILE} --rw=write --size=8z --offset=2z")), (2, 8));
    let line = format!("{ON_DEVICE} --rw=write --size=8z --offset_increment=8z --numjobs=3");
    let starts: Vec<u64> =
        jobs(&machine(), &line).iter().map(|j| j.target.files[0].offset.as_mib()).collect();
    assert_eq!(starts, [0, 256, 128], "the first instance, then the others backwards");
    let job = job(&machine(), &format!("{ON_DEVICE} --rw=write --size=8z --io_size=20z"));
    assert_eq!(job.end.bytes, Bytes(320 * MIB));
}

#[test]
fn the_zones_of_a_file() {
    let zones = |line: &str| job(&machine(), line).target.files[0].zones;
    assert_eq!(
        zones(&format!("{ON_DEVICE} --rw=write")),
        Some(Zones { size: Bytes(16 * MIB), emulated: None })
    );
    assert_eq!(
        zones(&format!("{ON_FILE} --rw=write --zonecapacity=768k")),
        Some(Zones { size: Bytes(MIB), emulated: Some(Bytes(768 << 10)) })
    );
    assert_eq!(zones("--name=a --filename=/f"), None);
}

#[test]
fn ranges_are_whole_zones() {
    assert_eq!(region(&format!("{ON_FILE} --rw=write --offset=1500k --size=3500k")), (2, 2));
    let resolved = run(&machine(), &format!("{ON_FILE} --rw=write --offset=100k --size=3m"));
    let warnings: Vec<String> = resolved.unwrap().warnings.into_iter().map(|w| w.what).collect();
    assert!(warnings[0].contains("rounded up offset from 102400 to 1048576"), "{warnings:?}");
    assert!(warnings[1].contains("rounded down io_size from 2199552 to 2097152"), "{warnings:?}");
    let small = error(&machine(), &format!("{ON_FILE} --rw=write --size=800k"));
    assert!(small.contains("io_size must be at least one zone"), "{small}");
    let past = error(&machine(), &format!("{ON_DEVICE} --rw=write --offset=60z --size=8z"));
    assert!(past.contains("extends past the end"), "{past}");
}

#[test]
fn options_of_zones() {
    let line = format!(
        "{ON_DEVICE} --rw=randwrite --max_open_zones=7 --job_max_open_zones=2 --read_beyond_wp=1 \
         --zone_reset_threshold=0.5 --zone_reset_frequency=0.01 --write_zone_remainder=1 \
         --continue_on_error=write --recover_zbd_write_error=1"
    );
    let load = job(&machine(), &line).load;
    let zoned = load.zoned.unwrap();
    assert_eq!((zoned.max_open, zoned.job_max_open), (Some(7), Some(2)));
    assert!(zoned.read_beyond && zoned.remainders && zoned.recover && !zoned.ignore_limits);
    assert_eq!(zoned.resets, Some(Resets { threshold: 0.5, every: 100 }));
    assert!(load.no_map, "a map cannot know remainders, which are not blocks");
}

#[test]
fn refuses_options_that_do_not_work_with_zones() {
    for (line, what) in [
        (&*format!("{ON_FILE} --zonecapacity=2m"), "zonecapacity 2097152 is larger"),
        (&format!("{ON_FILE} --zoneskip=1m"), "`zoneskip` must be 0"),
        (&format!("{ON_DEVICE} --rw=trim"), "trim block size 65536 is not the zone size 16777216"),
        (&format!("{ON_DEVICE} --rw=write --max_open_zones=15"), "more than the 14 zones"),
        (&format!("{ON_FILE} --recover_zbd_write_error=1"), "only when continue_on_error is set"),
        (&format!("{ON_FILE} --rw=write:4k"), "a zone has no gaps"),
        (&format!("{ON_FILE} --rw=write --lockfile=exclusive"), "`lockfile` does not work"),
        (&format!("{ON_FILE} --rw=write --io_submit_mode=offload"), "writes from separate threads"),
        (&format!("{ON_FILE} --rw=write --ioengine=mmap"), "writes its pages back"),
        (&format!("{ON_FILE} --rw=write --file_append=1"), "both say where writes go"),
        ("--name=a --filename=/f --size=8z", "given in zones, but the job has none"),
        ("--name=a --filename=/f --size=1m --io_size=8z", "given in zones, but the job has none"),
    ] {
        let message = error(&machine(), line);
        assert!(message.contains(what), "{line}: {message}");
    }
    run(&machine(), &format!("{ON_DEVICE} --rw=write --max_open_zones=15 --ignore_zone_limits=1"))
        .unwrap();
    run(&machine(), &format!("{ON_DEVICE} --rw=trim --bs=16m")).unwrap();
}

/// Scripts search for these phrases under these conditions (errors first, then notes).
#[test]
fn messages_contain_the_phrases_that_scripts_search_for() {
    let of_job = |text: &str| format!("--name=a --filename=/f --rw=write {text}");
    let threshold = "--zone_reset_threshold=0.5 --zone_reset_frequency=1 --rw=write";
    for (line, phrase) in [
        (
            format!("{ON_DEVICE} --rw=write --direct=0"),
            "Using direct I/O is mandatory for writing to ZBD drives",
        ),
        (format!("{ON_FILE} --rw=write --bs=2m"), "buflen exceeds zone size"),
        (format!("{ON_FILE} --rw=write --size=800k"), "io_size must be at least one zone"),
        (
            of_job("--zonemode=strided"),
            "fiord: --zonesize must be specified when using --zonemode=strided",
        ),
        (
            format!("{ON_DEVICE} --rw=write --zonesize=1m"),
            "job parameter zonesize 1048576 does not match disk zone size 16777216",
        ),
        (
            of_job("--zonemode=zbd"),
            "Specifying the zone size is mandatory for regular file/block device with \
             --zonemode=zbd",
        ),
        (
            of_job("--zonemode=zbd --zonesize=256 --bs=256"),
            "zone size must be at least 512 bytes for --zonemode=zbd",
        ),
        (of_job("--zonesize=64k"), "fiord: --zonemode=none and --zonesize are not compatible"),
        (
            format!("{ON_FILE} --rw=write --zoneskip=3k"),
            "zoneskip 3072 is not a multiple of the device zone size 1048576",
        ),
        (
            format!("{ON_FILE} --rw=write --verify=md5 --experimental_verify=1"),
            "not support experimental verify",
        ),
        (format!("{ON_DEVICE} --rw=write --max_open_zones=15"), "Exceeded max_active_zones limit"),
    ] {
        let message = error(&machine(), &line);
        assert!(message.contains(phrase), "{line}: {message}");
    }
    for (line, phrase) in [
        (format!("{ON_FILE} --rw=read --job_max_open_zones=2"), "valid only for write jobs"),
        (
            format!("{ON_FILE} {threshold} --size=2m {} {threshold}", ON_FILE.replace("=a", "=b")),
            "write different ranges",
        ),
    ] {
        let warnings = run(&machine(), &line).unwrap().warnings;
        assert_eq!(warnings.len(), 1, "{line}: {warnings:?}");
        assert!(warnings[0].what.contains(phrase), "{line}: {warnings:?}");
    }
    let shared = format!("{ON_FILE} {threshold} --numjobs=3");
    assert!(run(&machine(), &shared).unwrap().warnings.is_empty(), "one range");
}

#[test]
fn options_without_effect_have_a_warning() {
    let warnings = |line: &str| -> Vec<String> {
        run(&machine(), line).unwrap().warnings.into_iter().map(|w| w.what).collect()
    };
    let message = warnings("--name=a --filename=/f --max_open_zones=3");
    assert!(message[0].contains("no effect without `zonemode=zbd`"), "{message:?}");
    let message = warnings("--name=a --filename=/dev/zoned --rw=write --direct=1 --bs=64k");
    assert!(message[0].contains("is a zoned device"), "{message:?}");
    let message = warnings(&format!("{ON_FILE} --rw=write --zone_reset_threshold=0.5"));
    assert!(message[0].contains("resets no zone without zone_reset_frequency"), "{message:?}");
}

/// After a failed write, the device says where the next one begins: at any sector.
#[test]
fn writes_after_an_error_are_verified_at_any_sector() {
    let tracking = |verify: &str, more: &str| {
        let line =
            format!("{ON_DEVICE} --rw=write --continue_on_error=write --verify={verify} {more}");
        job(&machine(), &line).verify.unwrap().tracking
    };
    let recovers = "--recover_zbd_write_error=1";
    assert_eq!(tracking("md5", recovers), Tracking::Records);
    assert_eq!(tracking("fiord", recovers), Tracking::Map { granule: Bytes(512) });
    for verify in ["md5", "fiord"] {
        assert_eq!(tracking(verify, ""), Tracking::Map { granule: Bytes(64 << 10) });
    }
}
