//! Targets in persistent memory.

use fiord_types::Bytes;

use super::*;
use crate::machine::facts::FoundKind;
use crate::model::*;

fn machine() -> Fake {
    Fake::empty()
        .disk("/dev/pmem0", 1 << 30)
        .file("/data/file", 1 << 20)
        .with("/dev/dax0.0", FoundKind::Char, 1 << 30)
        .with("/dev/zero", FoundKind::Char, 0)
}

fn plan(rest: &str) -> Result<JobPlan, String> {
    let line = format!("--name=a --bs=4k {rest}");
    match run(&machine(), &line) {
        Ok(mut resolved) => Ok(resolved.plan.jobs.swap_remove(0)),
        Err(errors) => Err(errors.iter().map(|error| format!("{error:?}")).collect()),
    }
}

#[test]
fn a_dax_device_has_its_size_and_cannot_grow() {
    let job = plan("--ioengine=dev-dax --filename=/dev/dax0.0 --rw=randwrite").unwrap();
    let file = &job.target.files[0];
    assert_eq!((file.kind, file.len), (FileKind::Char, Bytes(1 << 30)));
    assert_eq!(file.size_needed, None);
    let job = plan("--ioengine=dev-dax --filename=/dev/dax0.0 --rw=read --offset=4k --size=64k");
    let file = &job.unwrap().target.files[0];
    assert_eq!((file.offset, file.len), (Bytes(4096), Bytes(65536)));
}

#[test]
fn a_target_of_another_kind_is_refused() {
    for (rest, wanted) in [
        ("dev-dax --filename=/data/file", "is a regular file, and `ioengine=dev-dax`"),
        ("dev-dax --filename=/dev/pmem0", "is a block device, and `ioengine=dev-dax`"),
        ("dev-dax --filename=/dev/zero --size=4k", "is a character device, and"),
        // It is not created as a file.
        ("dev-dax --filename=/data/missing --size=4k", "cannot use `/data/missing`"),
        ("dev-dax --filename=/dev/dax1.0 --size=4k", "there is no device `/dev/dax1.0`"),
        ("libpmem --filename=/dev/pmem0", "is a block device, and `ioengine=libpmem`"),
        ("libpmem --filename=/dev/dax0.0", "use `ioengine=dev-dax`"),
        ("libpmem --filename=/dev/zero --size=4k", "is a character device, and"),
        ("libpmem --filename=/data/file --rw=trim", "trim"),
        ("dev-dax --filename=/dev/dax0.0 --rw=trim", "trim"),
    ] {
        let message = plan(&format!("--rw=write --ioengine={rest}")).unwrap_err();
        assert!(message.contains(wanted), "{rest}: {message}");
    }
}

#[test]
fn a_job_outside_of_persistent_memory_says_so() {
    let line =
        "--name=a --bs=4k --ioengine=libpmem --filename=/data/file --rw=write --pmem_force=1";
    let warnings = run(&machine(), line).unwrap().warnings;
    assert!(warnings.iter().any(|warning| warning.what.contains("not durable")), "{warnings:?}");
}
