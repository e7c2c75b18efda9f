//! The pool with engines that sleep, fail and panic.

use std::time::Instant;

use fiord_plan::{EnginePlan, IoAttributes};

use super::*;
use crate::{Buffers, OpKind};

/// Sleeps for as many milliseconds as the op's offset says. Panics at offset 0.
struct Staged(Buffers);

impl Engine for Staged {
    const ASYNC: bool = false;
    type Clock = MachineClock;
    fn clock(&self) -> MachineClock {
        MachineClock::best()
    }
    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        Ok(())
    }
    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        Ok(())
    }
    fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.0.take_slots()
    }
    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
        self.0.slice(slot)
    }
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        self.0.hold(slot)
    }
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        assert!(op.offset > 0, "meant to fail");
        if op.offset != AT_ONCE {
            std::thread::sleep(Duration::from_millis(op.offset));
        }
        Queued::Done(slot, Outcome::ok(op.len))
    }
    fn flush(&mut self) -> Result<u32, EngineError> {
        Ok(0)
    }
    fn reap(&mut self, _want: Want, _done: &mut Completions) -> Result<(), EngineError> {
        Ok(())
    }
}

fn queued(times: &[u64]) -> Offload<Staged> {
    let slots = times.len() as u32;
    let config = EngineConfig::plain(EnginePlan::Psync, slots, 512);
    let mut engine =
        Offload::new(&config, slots, &|config| Buffers::new(config).map(Staged)).unwrap();
    for (slot, ms) in engine.take_slots().into_iter().zip(times) {
        assert_eq!(engine.queue(slot, &read_at(*ms)), Queued::Pending);
    }
    engine
}

#[test]
fn a_dead_thread_is_an_error_and_does_not_hang_the_job() {
    let mut engine = queued(&[1, 0, 60_000]);
    let mut done = Completions::with_capacity(3);
    let all = Want { min: 3, max: 3, timeout: None };
    let error = engine.reap(all, &mut done).unwrap_err();
    assert!(error.to_string().contains("a thread of io_submit_mode=offload"), "{error}");
    assert!(engine.reap(all, &mut done).is_err(), "it is for good");
    assert!(engine.flush().is_err());
    assert!(done.len() <= 1);
}

#[test]
fn completions_during_a_wait_do_not_extend_its_timeout() {
    let mut engine = queued(&[200, 400, 600, 60_000]);
    let mut done = Completions::with_capacity(4);
    let began = Instant::now();
    let timeout = Some(300_000_000);
    engine.reap(Want { min: 4, max: 4, timeout }, &mut done).unwrap();
    assert!((1..=2).contains(&done.len()), "{}", done.len());
    assert!(began.elapsed() >= Duration::from_millis(300));
}

#[test]
fn a_held_slot_has_the_bytes_of_its_own_engine() {
    let config = EngineConfig::plain(EnginePlan::Psync, 2, 512);
    let make = |config: &EngineConfig| Buffers::new(config).map(Staged);
    let mut engine = Offload::new(&config, 2, &make).unwrap();
    let mut free = engine.take_slots();
    for slot in &mut free {
        let byte = slot.index() as u8;
        engine.buffer(slot).fill(byte);
    }
    let held = free.pop().map(|slot| engine.hold(slot)).unwrap();
    assert_eq!((held.index(), held.data()), (1, &[1; 512][..]));
    let mut slot = held.release();
    assert_eq!(engine.buffer(&mut slot), [1; 512]);
}

/// Offset of an op that does not sleep.
const AT_ONCE: u64 = u64::MAX;

fn read_at(offset: u64) -> Op {
    let (kind, attributes) = (OpKind::Read, IoAttributes::PLAIN);
    Op { kind, file: FileIndex(0), offset, len: 512, at: 0, attributes }
}

#[test]
fn a_call_that_blocks_does_not_delay_others_although_calls_were_short() {
    let config = EngineConfig::plain(EnginePlan::Psync, 8, 512);
    let mut engine = Offload::new(&config, 8, &|config| Buffers::new(config).map(Staged)).unwrap();
    let mut free = engine.take_slots();
    let mut done = Completions::with_capacity(8);
    for _ in 0..200 {
        for slot in free.drain(..) {
            assert_eq!(engine.queue(slot, &read_at(AT_ONCE)), Queued::Pending);
        }
        while free.len() < 8 {
            engine.reap(Want { min: 1, max: 8, timeout: None }, &mut done).unwrap();
            while let Some((slot, outcome)) = done.pop_front() {
                assert_eq!(outcome, Outcome::ok(512));
                free.push(slot);
            }
        }
    }
    let began = Instant::now();
    for (i, slot) in free.drain(..).enumerate() {
        let offset = if i == 0 { 20_000 } else { AT_ONCE };
        assert_eq!(engine.queue(slot, &read_at(offset)), Queued::Pending);
    }
    let mut ended = 0;
    while ended < 7 && began.elapsed() < Duration::from_secs(15) {
        engine.reap(Want { min: 1, max: 8, timeout: Some(1_000_000_000) }, &mut done).unwrap();
        ended += done.len();
        done.clear();
    }
    assert_eq!(ended, 7, "{:?}", began.elapsed());
}

#[test]
fn polling_finds_every_completion() {
    let mut engine = queued(&[1, 2, 3, 1]);
    let mut done = Completions::with_capacity(4);
    let began = Instant::now();
    let mut ended = 0;
    while ended < 4 && began.elapsed() < Duration::from_secs(15) {
        engine.reap(Want { min: 0, max: 1, timeout: None }, &mut done).unwrap();
        assert!(done.len() <= 1);
        ended += done.len();
        done.clear();
    }
    assert_eq!(ended, 4);
}
