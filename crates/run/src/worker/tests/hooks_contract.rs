//! Checks the contract of hooks: what they see, in which order, and what they decide.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;
use std::sync::mpsc;
use std::time::Duration;

use fiord_engine::Sim;
use fiord_types::{Dir, Errno, Nanos};

use super::loops::mode::Managed;
use super::*;
use crate::hook::{
    Admission, Completed, Delay, Disposition, Events, Extra, Hook, IssuedIo, ReleasedSlot,
};

/// What a hook saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seen {
    Issued { seq: u64, offset: u64 },
    Completed { seq: u64, len: u32, succeeded: bool },
}

/// Writes down what it sees.
#[derive(Clone, Default)]
struct Observer(Rc<RefCell<Vec<Seen>>>);

impl Hook for Observer {
    fn events(&self) -> Events {
        Events::ISSUED | Events::COMPLETED | Events::FLUSHES
    }
    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        self.0.borrow_mut().push(Seen::Issued { seq: io.seq, offset: io.op.offset });
    }
    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        assert!(end.end >= io.start + end.times.lat.0, "{io:?}: {end:?}");
        let (seq, len, succeeded) = (io.seq, io.op.len, end.succeeded);
        self.0.borrow_mut().push(Seen::Completed { seq, len, succeeded });
        Disposition::Release
    }
}

impl Observer {
    /// The numbers of the ops in the order in which they were issued. Each must have been completed once, later.
    fn issued(&self) -> Vec<u64> {
        let log = self.0.borrow();
        let position = |wanted: u64| {
            let is_it = |seen: &Seen| matches!(seen, Seen::Completed { seq, .. } if *seq == wanted);
            assert_eq!(log.iter().filter(|seen| is_it(seen)).count(), 1, "op {wanted}");
            log.iter().position(is_it).unwrap()
        };
        let mut issued = Vec::new();
        for (at, seen) in log.iter().enumerate() {
            if let Seen::Issued { seq, .. } = seen {
                assert!(position(*seq) > at, "op {seq} completed before it was issued");
                issued.push(*seq);
            }
        }
        assert_eq!(log.len(), 2 * issued.len());
        issued
    }

    fn succeeded(&self) -> usize {
        let log = self.0.borrow();
        log.iter().filter(|seen| matches!(seen, Seen::Completed { succeeded: true, .. })).count()
    }
}

/// Runs a list in the loop with hooks.
fn run_on<E: Engine>(
    mut engine: E,
    job: &JobPlan,
    list: Vec<Next>,
    hooks: Vec<Box<dyn Hook>>,
) -> (WorkerResult, E) {
    let slots = engine.take_slots();
    let (control, live, mut files) = (JobControl::new(), Live::new(), NoFiles(1));
    let recorder = Recorder::new(axes::ASYNC, &[Dir::Read, Dir::Write]);
    let hooks = Hooks::new(hooks, slots.len() as u32);
    let at_once = engine.completes_at_once();
    let now = engine.clock().now();
    let state = { JobState::new(job, &mut files, &control, &live, recorder, hooks, now) };
    let mut worker = Worker::new((engine, slots), List(list, 0), Nothing, state);
    if at_once {
        worker.run_direct::<Managed>();
    } else {
        worker.run_queued::<Managed>();
    }
    worker.finish();
    worker.result_and_engine()
}

/// Runs a list on a scripted engine. Returns the result and the most ops that were in flight.
fn run_scripted<F: FnMut(usize, &Op) -> Outcome>(
    mut job: JobPlan,
    depth: u32,
    list: Vec<Next>,
    answer: F,
    hooks: Vec<Box<dyn Hook>>,
) -> (WorkerResult, Scripted<F>) {
    job.depth.depth = depth;
    job.load.mix = Mix::Write;
    run_on(Scripted::new(depth == 1, depth, answer), &job, list, hooks)
}

fn writes(blocks: Range<u64>) -> Vec<Next> {
    blocks.map(write_at).collect()
}

#[test]
fn each_op_is_issued_and_completed_once_with_its_number() {
    let fsync = Next::Flush(Flush::Fsync, FileIndex(0), 0, 0, true);
    for depth in [1, 2, 32] {
        let observer = Observer::default();
        let list = [writes(0..50), vec![fsync], writes(50..99)].concat();
        let hooks: Vec<Box<dyn Hook>> = vec![Box::new(observer.clone())];
        let (result, engine) = run_scripted(plain(), depth, list, whole, hooks);
        assert_eq!(result.error, None);
        assert_eq!(engine.log.len(), 100);
        assert_eq!(observer.issued(), (0..100).collect::<Vec<u64>>(), "depth {depth}");
        assert_eq!(observer.succeeded(), 100);
        let log = observer.0.borrow();
        let place = log.iter().position(|seen| matches!(seen, Seen::Issued { seq: 50, .. }));
        assert_eq!(place, Some(100), "the fsync waits for the writes before it");
        assert!(log.contains(&Seen::Issued { seq: 51, offset: 50 * 4096 }));
    }
}

#[test]
fn hooks_are_called_in_the_order_of_their_list() {
    let order = Rc::new(RefCell::new(Vec::new()));
    /// Writes down its name.
    struct Named(u8, Rc<RefCell<Vec<u8>>>);
    impl Hook for Named {
        fn events(&self) -> Events {
            Events::ISSUED
        }
        fn issued(&mut self, _io: &mut IssuedIo, _data: &mut [u8]) {
            self.1.borrow_mut().push(self.0);
        }
    }
    let hooks = [3, 1, 2].map(|name| Box::new(Named(name, order.clone())) as Box<dyn Hook>);
    run_scripted(plain(), 4, writes(0..2), whole, hooks.into());
    assert_eq!(*order.borrow(), [3, 1, 2, 3, 1, 2]);
}

#[test]
fn an_error_and_a_short_transfer_complete_their_op_once() {
    for depth in [1, 4] {
        let mut job = plain();
        job.reporting.continue_on_error.writes = Tolerance::Medium;
        let answer = |_: usize, op: &Op| match op.offset / 4096 {
            3 => Outcome::err(Errno::EIO),
            _ => Outcome::ok(op.len.min(1024)),
        };
        let observer = Observer::default();
        let hooks: Vec<Box<dyn Hook>> = vec![Box::new(observer.clone())];
        let (result, engine) = run_scripted(job, depth, writes(0..10), answer, hooks);
        assert_eq!((result.error, result.recorder.errors), (None, 1));
        assert_eq!(engine.log.len(), 9 * 4 + 1);
        assert_eq!(observer.issued(), (0..10).collect::<Vec<u64>>(), "depth {depth}");
        assert_eq!(observer.succeeded(), 9);
        // The whole length, although each part was 1 KiB.
        let failed = Seen::Completed { seq: 3, len: 4096, succeeded: false };
        assert!(observer.0.borrow().contains(&failed));
        assert!(observer.0.borrow().contains(&Seen::Completed {
            seq: 9,
            len: 4096,
            succeeded: true
        }));
    }
}

#[test]
fn an_op_that_the_engine_refuses_is_announced_once() {
    let observer = Observer::default();
    let engine = Scripted { room: 3, ..Scripted::new(false, 8, whole) };
    let mut job = plain();
    job.depth.depth = 8;
    let (result, engine) = run_on(engine, &job, writes(0..100), vec![Box::new(observer.clone())]);
    assert_eq!((result.error, engine.most), (None, 3));
    let offsets: Vec<u64> = engine.log.iter().map(|op| op.offset / 4096).collect();
    assert_eq!(offsets, (0..100).collect::<Vec<u64>>());
    assert_eq!(observer.issued(), (0..100).collect::<Vec<u64>>());
}

#[test]
fn the_error_of_a_hook_ends_the_job_and_names_the_file() {
    /// Fails at the third op.
    struct Failing;
    impl Hook for Failing {
        fn events(&self) -> Events {
            Events::COMPLETED
        }
        fn completed(
            &mut self,
            io: &IssuedIo,
            _data: &[u8],
            _end: &Completed,
            _recorder: &mut Recorder,
        ) -> Disposition {
            match io.seq {
                2 => Disposition::Fail(Box::new(JobError::new(
                    crate::error::Stage::Write,
                    Errno::EILSEQ,
                    "it is wrong",
                ))),
                _ => Disposition::Release,
            }
        }
    }
    for depth in [1, 4] {
        let (result, engine) =
            run_scripted(plain(), depth, writes(0..100), whole, vec![Box::new(Failing)]);
        let error = result.error.expect("the hook failed");
        assert!(error.to_string().contains("the-file"), "{error}");
        assert!(engine.log.len() <= 3 + depth as usize, "the job went on");
    }
}

/// Delays each I/O until no other one is in flight, and drops every tenth.
struct Picky {
    in_flight: u64,
    last: Option<u64>,
}

impl Hook for Picky {
    fn events(&self) -> Events {
        Events::ADMIT | Events::ISSUED | Events::COMPLETED
    }
    fn admit(&mut self, io: &mut Io) -> Admission {
        let block = io.offset / 4096;
        if block % 10 == 9 && self.last.replace(block) != Some(block) {
            return Admission::Drop(fiord_load::Displaced::Over);
        }
        match self.in_flight {
            0 => Admission::AsDrawn,
            _ => Admission::Later(Delay::Completion),
        }
    }
    fn issued(&mut self, _io: &mut IssuedIo, _data: &mut [u8]) {
        self.in_flight += 1;
    }
    fn completed(
        &mut self,
        _io: &IssuedIo,
        _data: &[u8],
        _end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        self.in_flight -= 1;
        Disposition::Release
    }
}

#[test]
fn a_hook_delays_and_drops_ios() {
    for depth in [1, 8] {
        let picky = Picky { in_flight: 0, last: None };
        let (result, engine) =
            run_scripted(plain(), depth, writes(0..100), whole, vec![Box::new(picky)]);
        assert_eq!((result.error, engine.log.len()), (None, 90));
        assert!(engine.most <= 1 && engine.log.iter().all(|op| op.offset / 4096 % 10 != 9));
    }
}

/// A small verification: it writes its number into each block, reads each block once more, and has another
/// thread check it. Overlapping I/Os wait for each other.
struct ReadBack {
    /// The number that each block holds, by offset.
    written: HashMap<u64, u64>,
    /// Blocks that were written and not read yet, and those in use.
    unread: Vec<u64>,
    busy: Vec<u64>,
    checker: mpsc::Sender<(HeldSlot, u64)>,
    checked: mpsc::Receiver<(HeldSlot, bool)>,
    ready: Vec<HeldSlot>,
    good: Rc<Cell<u64>>,
    most_held: Rc<Cell<u64>>,
    held: u64,
}

impl ReadBack {
    fn new(good: Rc<Cell<u64>>, most_held: Rc<Cell<u64>>) -> Self {
        let (checker, work) = mpsc::channel::<(HeldSlot, u64)>();
        let (done, checked) = mpsc::channel();
        std::thread::spawn(move || {
            for (slot, number) in work {
                std::thread::sleep(Duration::from_micros(200));
                let good = slot.data()[..8] == number.to_le_bytes();
                if done.send((slot, good)).is_err() {
                    break;
                }
            }
        });
        let (written, ready) = (HashMap::new(), Vec::new());
        let (unread, busy) = (Vec::new(), Vec::new());
        ReadBack { written, unread, busy, checker, checked, ready, good, most_held, held: 0 }
    }

    fn take(&mut self, (slot, good): (HeldSlot, bool)) {
        self.good.set(self.good.get() + u64::from(good));
        self.ready.push(slot);
    }
}

impl Hook for ReadBack {
    fn events(&self) -> Events {
        Events::EXTRA | Events::ADMIT | Events::ISSUED | Events::COMPLETED | Events::DATA
    }
    fn extra(&mut self, _now: u64, ending: bool) -> Option<Extra> {
        // A backlog of four, and the rest at the end.
        if !ending && self.unread.len() < 4 {
            return None;
        }
        let offset = self.unread.pop()?;
        let attributes = IoAttributes::PLAIN;
        Some(Extra::Io(Io { dir: Dir::Read, file: FileIndex(0), offset, len: 4096, attributes }))
    }
    fn admit(&mut self, io: &mut Io) -> Admission {
        match self.busy.contains(&io.offset) {
            true => Admission::Later(Delay::Completion),
            false => Admission::AsDrawn,
        }
    }
    fn issued(&mut self, io: &mut IssuedIo, data: &mut [u8]) {
        self.busy.push(io.op.offset);
        assert_eq!(io.extra, io.dir == Dir::Read);
        if io.dir == Dir::Write {
            data[..8].copy_from_slice(&io.seq.to_le_bytes());
            self.written.insert(io.op.offset, io.seq);
            self.unread.retain(|offset| *offset != io.op.offset);
        }
    }
    fn completed(
        &mut self,
        io: &IssuedIo,
        data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        assert_eq!((end.succeeded, data.len()), (true, 4096));
        self.busy.retain(|offset| *offset != io.op.offset);
        if io.dir == Dir::Write {
            self.unread.push(io.op.offset);
            return Disposition::Release;
        }
        self.held = self.written[&io.op.offset];
        Disposition::Hold
    }
    fn hold(&mut self, slot: HeldSlot) {
        self.checker.send((slot, self.held)).unwrap();
        self.most_held.set(self.most_held.get() + 1);
    }
    fn released(&mut self) -> Option<ReleasedSlot> {
        while let Ok(checked) = self.checked.try_recv() {
            self.take(checked);
        }
        self.ready.pop().map(good)
    }
    fn wait(&mut self) {
        if let Ok(checked) = self.checked.recv_timeout(Duration::from_millis(50)) {
            self.take(checked);
        }
    }
}

#[test]
fn a_verifying_hook_reads_back_each_block_while_its_slot_is_held() {
    for depth in [1, 2, 3, 16] {
        let options = [("sim_latency", "constant:10us"), ("sim_channels", "8"), ("sim_store", "1")];
        let mut job = on_sim(&options);
        job.depth.depth = depth;
        let (good, held) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
        let observer = Observer::default();
        let hooks: Vec<Box<dyn Hook>> =
            vec![Box::new(observer.clone()), Box::new(ReadBack::new(good.clone(), held.clone()))];
        let engine = Sim::new(&EngineConfig::for_job(&job, MachineClock::best())).unwrap();
        // Every block twice, near each other.
        let list = (0..200).map(|n| write_at(n / 4 + n % 2)).collect();
        let (result, _) = run_on(engine, &job, list, hooks);
        assert_eq!(result.error, None);
        let (reads, ios) = (result.recorder.dirs[Dir::Read].ios, observer.issued().len() as u64);
        assert_eq!((ios, result.recorder.dirs[Dir::Write].ios), (200 + reads, 200));
        assert!(reads >= 51, "{reads} reads: each of the 51 blocks was read at its end");
        assert_eq!((good.get(), held.get()), (reads, reads), "depth {depth}");
    }
}

/// A slot that was held, and whose op was good.
fn good(slot: HeldSlot) -> ReleasedSlot {
    ReleasedSlot { slot: slot.release(), verdict: Disposition::Release }
}

/// Holds the slot of every I/O until the job has ended, or until no slot is left.
struct Hoarder {
    held: Vec<HeldSlot>,
    slots: usize,
    ending: bool,
}

impl Hook for Hoarder {
    fn events(&self) -> Events {
        Events::COMPLETED
    }
    fn completed(
        &mut self,
        _io: &IssuedIo,
        _data: &[u8],
        _end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        Disposition::Hold
    }
    fn hold(&mut self, slot: HeldSlot) {
        self.held.push(slot);
    }
    fn released(&mut self) -> Option<ReleasedSlot> {
        if self.held.len() == self.slots || self.ending {
            self.ending = self.held.len() > 1;
            return self.held.pop().map(good);
        }
        None
    }
    fn wait(&mut self) {
        self.ending = true;
    }
}

#[test]
fn a_job_uses_slots_again_when_they_are_released_and_ends_when_all_are() {
    for depth in [1, 2, 8] {
        for timed in [false, true] {
            let mut job = on_sim(&[("sim_latency", "constant:10us")]);
            job.depth.depth = depth;
            job.end.runtime = timed.then_some(Nanos(1_000_000));
            job.end.time_based = timed;
            let engine = Sim::new(&EngineConfig::for_job(&job, MachineClock::best())).unwrap();
            let (result, _) = run_on(engine, &job, writes(0..100), hoarding(depth));
            assert_eq!(result.error, None);
            let ios = result.recorder.dirs[Dir::Write].ios;
            assert!(if timed { ios >= 90 } else { ios == 100 }, "depth {depth}: {ios} I/Os");
        }
        // A loop that issues one I/O at a time.
        let engine = Scripted::new(true, depth, whole);
        let (result, _) = run_on(engine, &plain(), writes(0..100), hoarding(depth));
        assert_eq!((result.error, result.recorder.dirs[Dir::Write].ios), (None, 100));
    }
}

fn hoarding(slots: u32) -> Vec<Box<dyn Hook>> {
    vec![Box::new(Hoarder { held: Vec::new(), slots: slots as usize, ending: false })]
}
