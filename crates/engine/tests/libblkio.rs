//! `libblkio` on files: data, flushes, trims, the end of the file, and what fails.
#![cfg(feature = "libblkio")]

mod scratch;

use fiord_engine::{Engine, EngineConfig, FreeSlot, Libblkio, Op, OpKind, Outcome};
use fiord_plan::{
    BlkioInstance, EnginePlan, LibblkioDriver, LibblkioPlan, LibblkioWaitMode, Memory,
};
use fiord_types::{Errno, FileIndex};
use scratch::{BLOCK, LoopDevice, Scratch, attach, one, op};

fn plan(zeroes_on_trim: bool) -> LibblkioPlan {
    LibblkioPlan {
        instance: BlkioInstance::new(LibblkioDriver::IoUring, "target".into()),
        polled: false,
        vectored: false,
        zeroes_on_trim,
        wait: LibblkioWaitMode::Block,
        completion_events: false,
    }
}

fn engine(plan: LibblkioPlan, memory: Memory) -> (Libblkio, Vec<FreeSlot>) {
    let config = EngineConfig::plain(EnginePlan::Libblkio(Box::new(plan)), 4, 2 * BLOCK);
    let mut engine = Libblkio::new(&EngineConfig { memory, ..config }).unwrap();
    let slots = engine.take_slots();
    (engine, slots)
}

#[test]
fn blocks_come_back_as_they_were_written_from_every_memory() {
    for memory in [Memory::MemoryFile, Memory::Malloc, Memory::MmapShared(None)] {
        let (mut engine, mut free) = engine(plan(true), memory);
        let file = Scratch::new("blkio", 8 * u64::from(BLOCK));
        attach(&mut engine, FileIndex(0), &file.target(8 * u64::from(BLOCK), false));
        for block in 0..8 {
            free.truncate(1);
            engine.buffer(&mut free[0]).fill(block as u8 + 1);
            assert_eq!(one(&mut engine, &mut free, &op(OpKind::Write, block)), Outcome::ok(BLOCK));
        }
        for kind in [OpKind::Fsync, OpKind::Fdatasync] {
            assert_eq!(one(&mut engine, &mut free, &op(kind, 0)), Outcome::ok(0), "{kind:?}");
        }
        assert_eq!(one(&mut engine, &mut free, &op(OpKind::Trim, 3)), Outcome::ok(0));
        for block in 0..8 {
            engine.buffer(&mut free[0]).fill(0xff);
            assert_eq!(one(&mut engine, &mut free, &op(OpKind::Read, block)), Outcome::ok(BLOCK));
            let expected = if block == 3 { 0 } else { block as u8 + 1 };
            let data = &engine.buffer(&mut free[0])[..BLOCK as usize];
            assert!(data.iter().all(|byte| *byte == expected), "block {block}");
        }
    }
}

#[test]
fn failures_are_outcomes() {
    let (mut engine, mut free) = engine(plan(false), Memory::MemoryFile);
    free.truncate(1);
    let read = op(OpKind::Read, 0);
    assert_eq!(one(&mut engine, &mut free, &read), Outcome::err(Errno::EBADF), "no file");
    let file = Scratch::new("blkio-edges", 2 * u64::from(BLOCK));
    attach(&mut engine, FileIndex(0), &file.target(u64::from(BLOCK), true));
    assert_eq!(one(&mut engine, &mut free, &op(OpKind::Write, 0)), Outcome::err(Errno::EBADF));
    let outside = Op { at: 2 * BLOCK - 1, len: 2, ..read };
    assert_eq!(one(&mut engine, &mut free, &outside), Outcome::err(Errno::EINVAL));
    assert_eq!(one(&mut engine, &mut free, &read), Outcome::ok(BLOCK));
    engine.detach(FileIndex(0)).unwrap();
    assert_eq!(one(&mut engine, &mut free, &read), Outcome::err(Errno::EBADF), "detached");
    attach(&mut engine, FileIndex(0), &file.target(u64::from(BLOCK), false));
    // The driver's discards need a block device.
    let trim = one(&mut engine, &mut free, &op(OpKind::Trim, 0));
    assert_eq!(trim, Outcome::err(Errno::EOPNOTSUPP));
    let too_large = file.target(3 * u64::from(BLOCK), false);
    engine.detach(FileIndex(0)).unwrap();
    let error = engine.attach(FileIndex(0), &too_large).unwrap_err().to_string();
    assert!(
        error.contains("`target` has 8192 bytes, but the job uses it up to byte 12288"),
        "{error}"
    );
}

#[test]
fn wrong_properties_name_the_property() {
    let file = Scratch::new("blkio-props", u64::from(BLOCK));
    for (name, value, what) in [
        ("nonsense", "1", "cannot set the property `nonsense` to `1`: Unknown property name"),
        ("num-entries", "x", "Value must be a signed 32-bit integer"),
        ("num-entries", "0", "num-entries must be greater than 0"),
    ] {
        let mut plan = plan(false);
        plan.instance.before_start = vec![(name.into(), value.into())];
        let (mut engine, _free) = engine(plan, Memory::MemoryFile);
        let target = file.target(u64::from(BLOCK), false);
        let error = engine.attach(FileIndex(0), &target).unwrap_err();
        assert!(error.to_string().contains(what), "{error}");
        assert_eq!(error.errno, Some(Errno::EINVAL), "{error}");
    }
}

#[test]
fn engines_with_one_plan_share_a_device() {
    let Some(device) = LoopDevice::new(64 * u64::from(BLOCK)) else { return };
    let target = device.target();
    let (mut first, mut first_free) = engine(plan(true), Memory::MemoryFile);
    let (mut second, mut second_free) = engine(plan(true), Memory::MemoryFile);
    first_free.truncate(1);
    second_free.truncate(1);
    attach(&mut first, FileIndex(0), &target);
    attach(&mut second, FileIndex(0), &target);
    first.buffer(&mut first_free[0]).fill(7);
    assert_eq!(one(&mut first, &mut first_free, &op(OpKind::Write, 5)), Outcome::ok(BLOCK));
    drop(first);
    assert_eq!(one(&mut second, &mut second_free, &op(OpKind::Read, 5)), Outcome::ok(BLOCK));
    assert!(second.buffer(&mut second_free[0])[..BLOCK as usize].iter().all(|byte| *byte == 7));
    let beyond = one(&mut second, &mut second_free, &op(OpKind::Write, 64));
    assert_eq!(beyond, Outcome::err(Errno::ENOSPC));
}
