//! `ioengine=mtd` on imaginary flash, and what it does not permit.

use fiord_sys::flash::Flash;
use fiord_types::Bytes;

use super::*;
use crate::machine::facts::FoundKind;
use crate::model::*;

/// A NAND flash of 1 MiB.
pub(super) fn nand() -> Flash {
    Flash {
        kind: "nand".into(),
        size: Bytes(1 << 20),
        erase_block: Bytes(16384),
        write_unit: Bytes(256),
        needs_erase: true,
        writable: true,
    }
}

fn machine() -> Fake {
    Fake::empty()
        .flash("/dev/mtd0", nand())
        .flash("/dev/mtd0ro", Flash { writable: false, ..nand() })
        .disk("/dev/mtdblock0", 1 << 20)
        .with("/dev/zero", FoundKind::Char, 0)
        .file("plain", 1 << 20)
}

fn line(rest: &str) -> String {
    let file = if rest.contains("--filename=") { "" } else { "--filename=/dev/mtd0" };
    format!("--name=a {file} --ioengine=mtd {rest}")
}

#[test]
fn a_flash_has_its_size_and_bad_blocks_can_be_skipped() {
    let plain = job(&machine(), &line("--rw=trimwrite --bs=16k"));
    let file = &plain.target.files[0];
    assert_eq!((file.kind, file.len), (FileKind::Char, Bytes(1 << 20)));
    assert_eq!(plain.engine, EnginePlan::Mtd(MtdPlan { skip_bad: false }));
    let skips = job(&machine(), &line("--rw=read --skip_bad=1 --filename=/dev/mtd0ro"));
    assert_eq!(skips.engine, EnginePlan::Mtd(MtdPlan { skip_bad: true }));
}

#[test]
fn what_a_flash_does_not_permit_is_refused() {
    for (rest, what) in [
        (
            "--rw=read --filename=/dev/mtdblock0",
            "is a block device, and `ioengine=mtd` works on raw",
        ),
        ("--rw=read --filename=plain", "is a regular file, and"),
        ("--rw=read --filename=/dev/zero", "is not raw flash"),
        ("--rw=write --filename=/dev/mtd9", "there is no device"),
        ("--rw=write --filename=/dev/mtd0ro", "`/dev/mtd0ro` is read-only"),
        ("--rw=write --bs=1000", "is written in units of 256 bytes, and 1000 is not a multiple"),
        ("--rw=write --bs=512 --offset=100", "256 bytes, and 100 is not a multiple"),
        ("--rw=randwrite --bs=512 --ba=128", "256 bytes, and 128 is not a multiple"),
        ("--rw=trim --bs=4k", "is erased in blocks of 16384 bytes, and 4096 is not a multiple"),
        ("--rw=trimwrite --bs=512,512,8k", "8192 is not a multiple"),
        ("--rw=trim --bs=16k --offset=4k", "16384 bytes, and 4096 is not a multiple"),
        (
            "--rw=write --bs=512 --verify=crc32c --trim_percentage=10 --trim_backlog=4",
            "the job trims blocks",
        ),
        (
            "--rw=write --bs=16k --verify=crc32c --trim_percentage=10 --trim_backlog=4",
            "all bits of an erased block of `/dev/mtd0` are 1",
        ),
        ("--rw=read --io_submit_mode=offload --iodepth=4", "makes its calls on one thread"),
    ] {
        let found = run(&machine(), &line(rest)).expect_err(rest);
        assert!(found.iter().any(|error| error.what.contains(what)), "{rest}: {found:?}");
    }
    for rest in ["--rw=read --bs=1000", "--rw=write --bs=256", "--rw=trim --bs=32k --offset=16k"] {
        job(&machine(), &line(rest));
    }
}

#[test]
fn options_about_caches_have_no_effect_on_flash() {
    for rest in ["--direct=1", "--sync=1", "--fsync=4", "--end_fsync=1", "--fdatasync=1"] {
        let found = run(&machine(), &line(&format!("--rw=write --bs=512 {rest}"))).expect(rest);
        let about = |warning: &Diagnostic| warning.what.contains("has no effect on raw flash");
        assert!(found.warnings.iter().any(about), "{rest}: {:?}", found.warnings);
    }
}
