//! Behaviour of single engines.

mod scratch;

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use fiord_engine::{
    Attachment, Completions, Engine, EngineConfig, FileKind, FreeSlot, IoAttributes, IoUring,
    Libaio, Mmap, Op, OpKind, Outcome, Psync, Pvsync2, Queued, Vsync, Want,
};
use fiord_plan::{EnginePlan, IoUringPlan, LibaioPlan, MmapPlan, Pvsync2Plan};
use fiord_types::{Bytes, Errno, FileIndex};
use scratch::{BLOCK, Scratch, attach, one, op};

const B: u64 = BLOCK as u64;
const ALL: Want = Want { min: u32::MAX, max: u32::MAX, timeout: None };
const LIBAIO: EnginePlan =
    EnginePlan::Libaio(LibaioPlan { userspace_reap: false, nowait: false, vectored: false });

fn config(engine: EnginePlan, slots: u32) -> EngineConfig {
    EngineConfig::plain(engine, slots, BLOCK)
}

fn uring(change: impl FnOnce(&mut IoUringPlan)) -> EnginePlan {
    let mut plan = IoUringPlan { nonvectored: true, ..Default::default() };
    change(&mut plan);
    EnginePlan::IoUring(plan)
}

/// Queues an op on a slot of the list. It must be pending.
fn pending<E: Engine>(engine: &mut E, free: &mut Vec<FreeSlot>, op: &Op) {
    assert_eq!(engine.queue(free.pop().unwrap(), op), Queued::Pending);
}

/// Queues an op, which the engine must refuse.
fn refused<E: Engine>(engine: &mut E, free: &mut Vec<FreeSlot>, op: &Op) {
    let slot = free.pop().unwrap();
    let index = slot.index();
    match engine.queue(slot, op) {
        Queued::Full(slot) => free.push(slot),
        other => panic!("{other:?}"),
    }
    assert_eq!(free.last().map(FreeSlot::index), Some(index));
}

const SYNC: Op = Op {
    kind: OpKind::Fsync,
    file: FileIndex(0),
    offset: 0,
    len: 0,
    at: 0,
    attributes: IoAttributes::PLAIN,
};

#[test]
fn vsync_gathers_neighbours_and_shares_a_short_transfer_out() {
    let mut engine = Vsync::new(&config(EnginePlan::Vsync, 8)).unwrap();
    let file = Scratch::new("vsync", 2 * B + 100);
    attach(&mut engine, FileIndex(0), &file.target(8 * B, false));
    let free = &mut engine.take_slots();
    for block in 0..4 {
        pending(&mut engine, free, &op(OpKind::Read, block));
    }
    // No neighbour, another direction, a sync after what is queued.
    for other in [op(OpKind::Read, 6), op(OpKind::Write, 4), SYNC] {
        refused(&mut engine, free, &other);
    }
    assert_eq!(engine.flush().unwrap(), 4);
    pending(&mut engine, free, &op(OpKind::Write, 4));
    let mut done = Completions::with_capacity(8);
    engine.reap(ALL, &mut done).unwrap();
    let expected = [
        Outcome::ok(BLOCK),
        Outcome::ok(BLOCK),
        Outcome::ok(100),
        Outcome::ok(0),
        Outcome::ok(BLOCK),
    ];
    let found: Vec<_> = done.as_slice().iter().map(|(_, outcome)| *outcome).collect();
    assert_eq!(found, expected);
    assert_eq!(one(&mut engine, free, &SYNC), Outcome::ok(0));
}

#[test]
fn libaio_syncs_after_what_is_queued_was_submitted() {
    let mut engine = Libaio::new(&config(LIBAIO, 2)).unwrap();
    let file = Scratch::new("aiosync", B);
    attach(&mut engine, FileIndex(0), &file.target(B, false));
    let free = &mut engine.take_slots();
    pending(&mut engine, free, &op(OpKind::Write, 0));
    refused(&mut engine, free, &SYNC);
    assert_eq!(engine.flush().unwrap(), 1);
    let synced = engine.queue(free.remove(0), &SYNC);
    assert!(matches!(synced, Queued::Done(_, outcome) if outcome == Outcome::ok(0)));
}

#[test]
fn one_refused_op_does_not_hold_up_the_others() {
    for userspace_reap in [false, true] {
        let plan =
            EnginePlan::Libaio(LibaioPlan { userspace_reap, nowait: false, vectored: false });
        let mut engine = Libaio::new(&config(plan, 4)).unwrap();
        let file = Scratch::new("refused", 4 * B);
        attach(&mut engine, FileIndex(0), &file.target(4 * B, false));
        for slot in engine.take_slots() {
            let file = u32::from(slot.index() == 1);
            let op = Op { file: FileIndex(file), ..op(OpKind::Read, u64::from(slot.index())) };
            assert_eq!(engine.queue(slot, &op), Queued::Pending);
        }
        let mut done = Completions::with_capacity(4);
        while done.len() < 4 {
            engine.reap(Want { min: 1, max: 4, timeout: None }, &mut done).unwrap();
        }
        for (slot, outcome) in done.as_slice() {
            let expected =
                if slot.index() == 1 { Outcome::err(Errno::EBADF) } else { Outcome::ok(BLOCK) };
            assert_eq!(*outcome, expected);
        }
    }
}

#[test]
fn a_timed_wait_ends_and_takes_nothing_away() {
    for plan in [uring(|_| {}), uring(|p| p.sqpoll = true), uring(|p| p.register_files = true)] {
        let (read, mut write) = std::io::pipe().unwrap();
        let fd = Some(Arc::new(OwnedFd::from(read)));
        let pipe = Attachment {
            fd,
            kind: FileKind::Pipe,
            offset: Bytes::ZERO,
            len: Bytes(1 << 20),
            read_only: true,
        };
        let mut engine = IoUring::new(&config(plan, 2)).unwrap();
        attach(&mut engine, FileIndex(0), &pipe);
        let free = &mut engine.take_slots();
        pending(&mut engine, free, &op(OpKind::Read, 0));
        let mut done = Completions::with_capacity(2);
        let start = Instant::now();
        engine.reap(Want { min: 1, max: 2, timeout: Some(20_000_000) }, &mut done).unwrap();
        assert!(done.is_empty());
        assert!(start.elapsed() >= Duration::from_millis(19), "{:?}", start.elapsed());
        engine.reap(Want { min: 0, max: 2, timeout: None }, &mut done).unwrap();
        assert!(done.is_empty());
        write.write_all(b"hello").unwrap();
        engine.reap(Want { min: 1, max: 2, timeout: None }, &mut done).unwrap();
        assert_eq!(done.pop_front().map(|(_, outcome)| outcome), Some(Outcome::ok(5)));
    }
}

#[test]
fn dropping_an_engine_waits_for_ops_in_flight() {
    let file = Scratch::new("dropped", 64 * B);
    let mut ring = IoUring::new(&config(uring(|p| p.force_async = 1), 64)).unwrap();
    let mut aio = Libaio::new(&config(LIBAIO, 64)).unwrap();
    attach(&mut ring, FileIndex(0), &file.target(64 * B, false));
    attach(&mut aio, FileIndex(0), &file.target(64 * B, false));
    let (in_ring, in_aio) = (&mut ring.take_slots(), &mut aio.take_slots());
    for block in 0..63 {
        pending(&mut ring, in_ring, &op(OpKind::Write, block));
        pending(&mut aio, in_aio, &op(OpKind::Read, block));
    }
    assert_eq!(aio.flush().unwrap(), 63);
    pending(&mut ring, in_ring, &SYNC);
}

#[test]
fn a_depth_beyond_the_kernels_is_full_in_between() {
    const SLOTS: u32 = 40_000;
    let mut engine = IoUring::new(&EngineConfig::plain(uring(|_| {}), SLOTS, 512)).unwrap();
    attach(&mut engine, FileIndex(0), &scratch::device_target("/dev/zero"));
    let read = Op { len: 512, ..op(OpKind::Read, 0) };
    let free = &mut engine.take_slots();
    for _ in 0..32_768 {
        pending(&mut engine, free, &read);
    }
    refused(&mut engine, free, &read);
    let mut done = Completions::with_capacity(SLOTS);
    engine.reap(ALL, &mut done).unwrap();
    assert_eq!(done.len(), 32_768);
    assert_eq!(one(&mut engine, free, &read), Outcome::ok(512));
}

/// A file that is registered with a ring keeps its device busy, and the kernel releases the files
/// of a closed ring only at some later time.
#[test]
fn nothing_holds_a_registered_file_once_the_engine_is_gone() {
    for register_files in [false, true] {
        let (mut reader, writer) = std::io::pipe().unwrap();
        let mut engine =
            IoUring::new(&config(uring(|p| p.register_files = register_files), 4)).unwrap();
        let fd = Some(Arc::new(OwnedFd::from(writer)));
        let target = Attachment {
            fd,
            kind: FileKind::Pipe,
            offset: Bytes::ZERO,
            len: Bytes(B),
            read_only: false,
        };
        attach(&mut engine, FileIndex(0), &target);
        let free = &mut engine.take_slots();
        pending(&mut engine, free, &Op { len: 1, ..op(OpKind::Write, 0) });
        drop((engine, target));
        // SAFETY: sets a flag of a descriptor that is open.
        let set = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
        assert_eq!(set, 0);
        // The byte that was in flight, then the end of the pipe. While a writer still has the pipe
        // open, the read returns `EWOULDBLOCK`.
        let mut bytes = [0; 8];
        assert_eq!(reader.read(&mut bytes).unwrap(), 1);
        assert_eq!(reader.read(&mut bytes).unwrap(), 0);
    }
}

#[test]
fn every_op_goes_to_the_file_that_it_names() {
    for (register_files, held) in [(false, false), (true, false), (false, true)] {
        let mut config = config(uring(|p| p.register_files = register_files), 4);
        config.files = 3;
        config.held = held;
        let mut engine = IoUring::new(&config).unwrap();
        let files: Vec<_> = (0..3).map(|_| Scratch::new("several", 0)).collect();
        for (index, file) in files.iter().enumerate() {
            attach(&mut engine, FileIndex(index as u32), &file.target(B, false));
        }
        let free = &mut engine.take_slots();
        for file in 0..3 {
            engine.buffer(free.last_mut().unwrap()).fill(file as u8 + 1);
            pending(&mut engine, free, &Op { file: FileIndex(file), ..op(OpKind::Write, 0) });
        }
        let mut done = Completions::with_capacity(4);
        engine.reap(ALL, &mut done).unwrap();
        assert_eq!(done.len(), 3);
        for (index, file) in files.iter().enumerate() {
            let data = std::fs::read(&file.path).unwrap();
            assert!(data.len() == BLOCK as usize && data.iter().all(|b| *b == index as u8 + 1));
        }
        let target = files[0].target(B, false);
        assert!(engine.attach(FileIndex(3), &target).unwrap_err().what.contains("3 files"));
    }
}

#[test]
fn a_mapped_file_that_shrinks_is_an_error_of_the_op() {
    let file = Scratch::new("shrinks", 4 * B);
    let mut engine = Mmap::new(&config(EnginePlan::Mmap(MmapPlan { thp: false }), 1)).unwrap();
    attach(&mut engine, FileIndex(0), &file.target(4 * B, false));
    let free = &mut engine.take_slots();
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 2)), Outcome::ok(BLOCK));
    let opened = std::fs::OpenOptions::new().write(true).open(&file.path).unwrap();
    opened.set_len(B).unwrap();
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 2)), Outcome::err(Errno::EIO));
    assert_eq!(one(&mut engine, free, &op(OpKind::Write, 2)), Outcome::err(Errno::EIO));
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 0)), Outcome::ok(BLOCK));
    assert_eq!(one(&mut engine, free, &op(OpKind::Write, 4)), Outcome::err(Errno::EIO));
}

#[test]
fn a_mapped_file_that_grows_is_read_further() {
    let file = Scratch::new("grows", B + 100);
    let mut engine = Mmap::new(&config(EnginePlan::Mmap(MmapPlan { thp: false }), 1)).unwrap();
    attach(&mut engine, FileIndex(0), &file.target(4 * B, false));
    let free = &mut engine.take_slots();
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 0)), Outcome::ok(BLOCK));
    // The part of the block that is in the file, then the end.
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 1)), Outcome::ok(100));
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 2)), Outcome::ok(0));
    let opened = std::fs::OpenOptions::new().write(true).open(&file.path).unwrap();
    opened.set_len(3 * B).unwrap();
    assert_eq!(one(&mut engine, free, &op(OpKind::Read, 2)), Outcome::ok(BLOCK));
    assert_eq!(one(&mut engine, free, &op(OpKind::Write, 2)), Outcome::ok(BLOCK));
    assert_eq!(one(&mut engine, free, &op(OpKind::Write, 3)), Outcome::err(Errno::EIO));
}

#[test]
fn a_window_moves_over_a_file_larger_than_it() {
    let size = 200u64 << 30;
    let file = Scratch::new("window", size);
    let mut engine = Mmap::new(&config(EnginePlan::Mmap(MmapPlan { thp: false }), 1)).unwrap();
    attach(&mut engine, FileIndex(0), &file.target(size, false));
    let free = &mut engine.take_slots();
    for offset in [0, 100 << 30, (64 << 30) - 2048, size - B, 4096] {
        let write = Op { offset, ..op(OpKind::Write, 0) };
        engine.buffer(&mut free[0]).fill((offset % 251) as u8 + 1);
        assert_eq!(one(&mut engine, free, &write), Outcome::ok(BLOCK));
    }
    assert_eq!(one(&mut engine, free, &SYNC), Outcome::ok(0));
    for offset in [100 << 30, size - B] {
        let read = Op { offset, ..op(OpKind::Read, 0) };
        engine.buffer(&mut free[0]).fill(0);
        assert_eq!(one(&mut engine, free, &read), Outcome::ok(BLOCK));
        assert!(engine.buffer(&mut free[0]).iter().all(|b| *b == (offset % 251) as u8 + 1));
    }
}

/// Whatever this kernel supports: an I/O works, or an error names the option to drop.
#[test]
fn an_unsupported_option_is_named_in_the_error() {
    let file = Scratch::new("lacks", 4 * B);
    let plans = [
        ("hipri", uring(|p| p.hipri = true)),
        ("uncached", uring(|p| p.uncached = true)),
        ("nowait", uring(|p| p.nowait = true)),
    ];
    for (option, plan) in plans {
        let config = EngineConfig { direct: option == "hipri", ..config(plan, 1) };
        let mut engine = IoUring::new(&config).unwrap();
        let free = &mut engine.take_slots();
        let mut done = Completions::with_capacity(1);
        let result = engine.attach(FileIndex(0), &file.target(4 * B, false)).and_then(|()| {
            pending(&mut engine, free, &op(OpKind::Read, 0));
            engine.reap(Want { min: 1, max: 1, timeout: None }, &mut done)
        });
        match result {
            Err(error) => assert!(error.help.unwrap().contains(option)),
            Ok(()) => {
                let outcome = done.as_slice()[0].1.get();
                assert!(matches!(outcome, Ok(BLOCK) | Err(Errno::EAGAIN)), "{outcome:?}");
            }
        }
    }
}

#[test]
fn impossible_options_are_refused_with_a_remedy() {
    let nowhere = uring(|p| {
        p.sqpoll = true;
        p.sqpoll_cpu = Some(100_000);
    });
    let error = IoUring::new(&config(nowhere, 1)).unwrap_err();
    assert!(error.help.unwrap().contains("sqthread_poll_cpu"));

    let plan = EnginePlan::Pvsync2(Pvsync2Plan::default());
    let atomic = EngineConfig { atomic: true, ..config(plan, 1) };
    let file = Scratch::new("atomic", B);
    let refused = Pvsync2::new(&atomic).unwrap().attach(FileIndex(0), &file.target(B, false));
    if let Err(error) = refused {
        assert!(error.help.unwrap().contains("atomic=1"));
    }

    let error = Libaio::new(&config(LIBAIO, i32::MAX as u32)).unwrap_err();
    assert!(error.help.unwrap().contains("iodepth"));

    let error = IoUring::new(&config(uring(|p| p.hipri = true), 1)).unwrap_err();
    assert!(error.help.unwrap().contains("direct=1"));
}

#[test]
fn the_slot_of_another_engine_gives_access_to_nothing() {
    let file = Scratch::new("foreign", 4 * B);
    let mut engine = IoUring::new(&config(uring(|_| {}), 2)).unwrap();
    attach(&mut engine, FileIndex(0), &file.target(4 * B, false));
    let mut foreign = Psync::new(&config(EnginePlan::Psync, 1)).unwrap().take_slots();
    assert_eq!(one(&mut engine, &mut foreign, &op(OpKind::Read, 0)), Outcome::err(Errno::EINVAL));
    let buffer = || engine.buffer(&mut foreign[0]).fill(0);
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(buffer)).is_err());
    let hold = || engine.hold(foreign.remove(0));
    assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(hold)).is_err());
    assert_eq!(engine.take_slots().len(), 2);
    assert!(engine.take_slots().is_empty(), "each slot has one token");
}

#[test]
fn a_held_slot_is_read_by_another_thread_while_the_engine_goes_on() {
    let file = Scratch::new("held", 2 * B);
    std::fs::write(&file.path, [[1; BLOCK as usize], [2; BLOCK as usize]].concat()).unwrap();
    let mut engine = IoUring::new(&config(uring(|_| {}), 2)).unwrap();
    attach(&mut engine, FileIndex(0), &file.target(2 * B, true));
    let mut free = engine.take_slots();
    let [first, second] = &mut free[..] else { panic!("two slots") };
    for slot in [first, second] {
        engine.buffer(slot).fill(0);
    }
    assert_eq!(one(&mut engine, &mut free, &op(OpKind::Read, 1)), Outcome::ok(BLOCK));
    let held = engine.hold(free.pop().unwrap());
    let checker = std::thread::spawn(move || {
        let equal = held.data().iter().all(|byte| *byte == 2);
        (held, equal)
    });
    assert_eq!(one(&mut engine, &mut free, &op(OpKind::Read, 0)), Outcome::ok(BLOCK));
    let (held, equal) = checker.join().unwrap();
    assert!(equal);
    // The memory outlives the engine.
    drop(engine);
    assert_eq!(held.data(), [2; BLOCK as usize]);
    assert_eq!(held.release().index(), 1);
}
