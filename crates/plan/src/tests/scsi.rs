//! `ioengine=sg` and `ioengine=libzbc` on imaginary disks, and what they do not support.

use fiord_types::Bytes;

use super::*;
use crate::machine::facts::FoundKind;
use crate::model::*;

fn machine() -> Fake {
    Fake::empty()
        .disk("/dev/sda", 512 << 20)
        .disk("/dev/sda1", 1 << 20)
        .disk("/dev/vda", 1 << 30)
        .with("/dev/sg0", FoundKind::Char, 0)
        .file("plain", 1 << 20)
}

fn line(rest: &str) -> String {
    let file = if rest.contains("--filename=") { "" } else { "--filename=/dev/sg0" };
    format!("--name=a {file} --ioengine=sg --rw=randrw --bs=4k {rest}")
}

fn plan(rest: &str) -> SgPlan {
    match job(&machine(), &line(rest)).engine {
        EnginePlan::Sg(plan) => plan,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_generic_device_has_the_size_of_its_disk() {
    let job = job(&machine(), &line(""));
    assert_eq!(
        (job.target.files[0].kind, job.target.files[0].len),
        (FileKind::Char, Bytes::from_mib(512))
    );
    let block = super::job(&machine(), &line("--filename=/dev/sda"));
    assert_eq!(block.target.files[0].kind, FileKind::Block);
}

#[test]
fn kinds_of_writes() {
    assert_eq!(plan(""), SgPlan::default());
    let flags = plan("--hipri --readfua=1 --writefua=1");
    assert!(flags.hipri && flags.read_fua && flags.write_fua);
    for (words, write) in [
        ("write", SgWrite::Write),
        ("write_and_verify", SgWrite::WriteAndVerify),
        ("verify", SgWrite::WriteAndVerify),
        ("write_same", SgWrite::WriteSame),
        ("same", SgWrite::WriteSame),
        ("write_same_ndob", SgWrite::WriteSameNoData),
        ("verify_bytchk_00", SgWrite::Verify(0)),
        ("verify_bytchk_01", SgWrite::Verify(1)),
        ("verify_bytchk_11", SgWrite::Verify(3)),
        ("write_stream", SgWrite::Stream(0)),
        ("write_stream --stream_id=3", SgWrite::Stream(3)),
    ] {
        assert_eq!(plan(&format!("--sg_write_mode={words}")).write, write, "{words}");
    }
    for (words, trims) in [
        ("--iodepth=16", 0),
        ("--iodepth=16 --iodepth_batch=8", 8),
        ("--iodepth=16 --iodepth_batch=0", 16),
        ("--iodepth=16 --iodepth_batch=99", 16),
    ] {
        assert_eq!(plan(words).trims, trims, "{words}");
    }
    let load = job(&machine(), &line("--sg_write_mode=write_same_ndob")).load;
    assert!(!load.writes_data());
}

/// A job with `verify` writes only with commands that store its data.
#[test]
fn refuses_to_verify_what_other_commands_write() {
    for (word, why) in [
        ("write_same", "repeats one block"),
        ("verify_bytchk_00", "writes nothing"),
        ("verify_bytchk_01", "writes nothing"),
    ] {
        let line = line(&format!("--rw=write --verify=crc32c --sg_write_mode={word}"));
        let message = error(&machine(), &line);
        assert!(message.contains(why), "{word}: {message}");
    }
    for word in ["write", "write_and_verify"] {
        job(&machine(), &line(&format!("--rw=write --verify=crc32c --sg_write_mode={word}")));
    }
}

#[test]
fn refuses_targets_and_options_that_do_not_support_commands() {
    for (rest, what) in [
        ("--filename=/dev/sda1", "it is a partition"),
        ("--filename=/dev/vda", "it is not a SCSI device"),
        ("--filename=plain", "sends SCSI commands to a disk"),
        ("--bs=1000", "whole blocks, which have 512 bytes"),
        ("--bs=1m", "at most 524288 bytes"),
        ("--ioengine=psync", "it takes commands, not reads and writes"),
        ("--stream_id=70000 --sg_write_mode=write_stream", "not a stream number"),
        ("--sync_file_range=write:8", "no page cache"),
    ] {
        let found = error(&machine(), &line(rest));
        assert!(found.contains(what), "{rest}: {found}");
    }
    for (rest, what) in [
        ("--iodepth=32", "queues at most 16 commands"),
        ("--filename=/dev/sda --iodepth=2", "one at a time"),
        ("--writefua=1 --sg_write_mode=write_same", "no effect"),
        ("--stream_id=3", "no effect"),
        ("--sync=1", "no effect"),
    ] {
        let warnings = run(&machine(), &line(rest)).unwrap().warnings;
        assert!(warnings.iter().any(|w| w.what.contains(what)), "{rest}: {warnings:?}");
    }
}

#[test]
fn never_emulates_zones_on_a_generic_device() {
    let line = |rest: &str| line(&format!("--rw=write --zonemode=zbd --zonesize=1m {rest}"));
    // It is unknown whether the disk of sg0 has zones.
    let message = error(&machine(), &line(""));
    assert!(message.contains("cannot determine the zones of `/dev/sg0`"), "{message}");
    let zones = job(&machine(), &line("--filename=/dev/sda")).target.files[0].zones;
    assert_eq!(zones, Some(Zones { size: Bytes(1 << 20), emulated: Some(Bytes(1 << 20)) }));
    for word in ["verify_bytchk_00", "verify_bytchk_11", "write_same", "write_stream"] {
        let line = line(&format!("--filename=/dev/sda --sg_write_mode={word}"));
        let message = error(&machine(), &line);
        assert!(message.contains(&format!("`sg_write_mode={word}` does not write")), "{message}");
    }
    job(&machine(), &line("--filename=/dev/sda --sg_write_mode=write_and_verify"));
}

/// A host-managed disk and its generic device.
fn zoned_machine() -> Fake {
    machine().zones_of("/dev/sg0").zones_of("/dev/sda")
}

fn zbc(rest: &str) -> String {
    line(&format!("--ioengine=libzbc --zonemode=zbd {rest}"))
}

#[test]
fn libzbc_uses_the_zones_of_the_disk() {
    for path in ["/dev/sg0", "/dev/sda"] {
        let job = job(&zoned_machine(), &zbc(&format!("--filename={path} --direct=1")));
        assert_eq!(job.engine, EnginePlan::Libzbc);
        let zones = Zones { size: Bytes::from_mib(16), emulated: None };
        assert_eq!(job.target.files[0].zones, Some(zones), "{path}");
        // Commands bypass the page cache, so `direct` is not needed.
        super::job(&zoned_machine(), &zbc(&format!("--filename={path}")));
    }
    // Trims reset zones.
    job(&zoned_machine(), &zbc("--rw=trim --bs=16m"));
    // One command is in flight. Without `zonemode=zbd`, threads have more reads in flight.
    let depth = |rest: &str| run(&zoned_machine(), &zbc(rest)).unwrap().warnings;
    let capped = depth("--iodepth=8");
    assert!(capped.iter().any(|w| w.what.contains("will be capped at 1")), "{capped:?}");
    let threads = "--zonemode=none --rw=randread --iodepth=8 --io_submit_mode=offload";
    assert!(depth(threads).iter().all(|w| !w.what.contains("will be capped at 1")));
}

#[test]
fn libzbc_refuses_what_has_no_zones() {
    for (machine, rest, what) in [
        (machine(), "--filename=/dev/sda", "`ioengine=libzbc` works only on zoned disks"),
        (machine(), "--filename=/dev/sda1", "it is a partition"),
        (machine(), "--filename=plain", "`ioengine=libzbc` sends SCSI commands to a disk"),
        (machine(), "--filename=/dev/sg0", "cannot determine the zones of `/dev/sg0`"),
        (zoned_machine(), "--zonemode=none --rw=randtrim", "resets a zone, which needs"),
        (zoned_machine(), "--max_open_zones=9", "more than the 8 zones"),
        (zoned_machine(), "--zonesize=1m", "does not match disk zone size"),
    ] {
        let found = error(&machine, &zbc(rest));
        assert!(found.contains(what), "{rest}: {found}");
    }
}
