//! Tests of the loops, on engines without files and on a scripted engine.

mod hooks_contract;
mod pairs;
mod sampled;
mod virtual_clock;
mod windows;

use std::path::Path;

use fiord_engine::{
    Attachment, Buffers, Completions, Engine, EngineConfig, EngineError, FileKind, FreeSlot,
    HeldSlot, MachineClock, Op, OpKind, Outcome, Queued, Slot, Time, Want,
};
use fiord_load::{Flush, Io, IoAttributes, Next, Source};
use fiord_plan::{ContinueOnError, EnginePlan, JobPlan, Mix, Tolerance};
use fiord_stat::live::Live;
use fiord_stat::recorder::{Recorder, axes};
use fiord_types::{Bytes, Dir, Errno, FileIndex, Nanos, PerDir};

use super::core::JobState;
use super::hooks::Hooks;
use super::loops::mode::{Asynchronous, Dynamic, Mode};
use super::loops::{Payload, Worker};
use super::*;
use crate::error::JobError;
use crate::files::Files;
use crate::job::control::JobControl;
use crate::worker_result::WorkerResult;

/// Files that do not exist.
struct NoFiles(u32);

impl Files for NoFiles {
    fn count(&self) -> u32 {
        self.0
    }
    fn open(&mut self, _file: FileIndex) -> Result<Attachment, JobError> {
        Ok(Attachment {
            fd: None,
            kind: FileKind::Virtual,
            offset: Bytes::ZERO,
            len: Bytes(1 << 40),
            read_only: false,
        })
    }
    fn close(&mut self, _file: FileIndex) -> Result<(), JobError> {
        Ok(())
    }
    fn ready(&mut self) -> Result<(), JobError> {
        Ok(())
    }
    fn next_loop(&mut self) -> Result<(), JobError> {
        Ok(())
    }
    fn sync_file_systems(&mut self) -> Result<(), JobError> {
        Ok(())
    }
    fn path(&self, _file: FileIndex) -> &Path {
        Path::new("the-file")
    }
}

pub(crate) fn run_plain(job: &JobPlan) -> WorkerResult {
    let control = JobControl::new();
    control.go();
    *run(job, MachineClock::best(), &mut NoFiles(1), &control, &Live::new(), &nowhere())
}

/// A run that takes no messages.
fn nowhere() -> RunServices<'static> {
    let maps = Box::leak(Box::default());
    let extents = Box::leak(Box::default());
    let aux_path = Path::new("");
    RunServices {
        log: None,
        ready: &|| (),
        debug: None,
        error_dump: Arc::new(drop),
        verify: VerifyServices {
            bad_block: Arc::new(drop),
            warn: &drop,
            aux_path,
            maps,
            extents,
            journals: Box::leak(Box::default()),
            triggers: false,
            writes: Box::leak(Box::default()),
        },
        merges: Box::leak(Box::default()),
        iologs: Box::leak(Box::default()),
        windows: fiord_stat::samples::WindowLimit::in_run_of(1),
    }
}

#[test]
fn null_reads_every_block_once() {
    for depth in [1, 4, 64] {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
        job.depth.depth = depth;
        let result = run_plain(&job);
        assert_eq!(result.error, None);
        let read = &result.recorder.dirs[Dir::Read];
        assert_eq!((read.ios, read.bytes.0, read.issued), (256, 1 << 20, 256), "depth {depth}");
        assert_eq!(read.lat.n(), 256);
        assert_eq!(read.clat_hist.count(), 256);
    }
}

#[test]
fn null_measures_total_latencies_alone() {
    for random in [false, true] {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 26);
        (job.record.clat, job.record.slat, job.load.random) = (false, false, random);
        let result = run_plain(&job);
        assert_eq!(result.error, None);
        let read = &result.recorder.dirs[Dir::Read];
        // Also those after which housekeeping was due.
        assert_eq!(
            (read.ios, read.lat.n(), read.clat.n(), read.slat.n()),
            (1 << 14, 1 << 14, 0, 0)
        );
        assert!(read.lat.min() <= read.lat.max() && read.lat.sum() > 0);
        assert!(read.clat_hist.is_empty() && read.lat_hist.is_empty());
    }
}

#[test]
fn loops_multiply_and_number_ios_limits() {
    let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
    job.end.loops = 3;
    assert_eq!(run_plain(&job).recorder.dirs[Dir::Read].ios, 3 * 256);
    job.end.loops = 1;
    job.end.ios = Some(10);
    assert_eq!(run_plain(&job).recorder.dirs[Dir::Read].ios, 10);
}

#[test]
fn a_run_time_ends_a_time_based_job() {
    for depth in [1, 8] {
        let mut job = JobPlan::plain(EnginePlan::Null, 1 << 20);
        job.depth.depth = depth;
        job.end.time_based = true;
        job.end.runtime = Some(Nanos(30_000_000));
        job.end.ramp_time = Nanos(20_000_000);
        let result = run_plain(&job);
        assert!((30_000_000..60_000_000_000).contains(&result.runtime.0), "{:?}", result.runtime);
        assert!(result.recorder.dirs[Dir::Read].ios > 0);
    }
}

/// A clock that all clones share and only the engine advances.
#[derive(Clone, Default)]
struct Hand(std::rc::Rc<std::cell::Cell<u64>>);

impl Time for Hand {
    fn now(&self) -> u64 {
        self.0.get()
    }
    fn sleep_until(&self, when: u64) {
        self.0.set(self.0.get().max(when));
    }
}

/// A scripted engine: the outcome of the n-th op is `answer(n, op)`.
struct Scripted<F> {
    clock: Hand,
    buffers: Buffers,
    pending: Vec<(FreeSlot, Op)>,
    at_once: bool,
    answer: F,
    log: Vec<Op>,
    most: usize,
    unflushed: u32,
    /// The engine submits only together with a wait.
    broken: bool,
    /// Ops that it accepts at once.
    room: usize,
    /// The slot of the last op that the engine itself found wrong (outcome `EILSEQ`).
    wrong: Option<Slot>,
}

impl<F: FnMut(usize, &Op) -> Outcome> Scripted<F> {
    fn new(at_once: bool, slots: u32, answer: F) -> Self {
        Scripted {
            clock: Hand::default(),
            buffers: Buffers::new(&EngineConfig::plain(EnginePlan::Null, slots, 1 << 16)).unwrap(),
            pending: Vec::new(),
            at_once,
            answer,
            log: Vec::new(),
            most: 0,
            unflushed: 0,
            broken: false,
            room: usize::MAX,
            wrong: None,
        }
    }
    fn carry_out(&mut self, op: &Op) -> Outcome {
        let n = self.log.len();
        self.log.push(*op);
        (self.answer)(n, op)
    }
}

impl<F: FnMut(usize, &Op) -> Outcome> Engine for Scripted<F> {
    const ASYNC: bool = true;
    type Clock = Hand;
    fn completes_at_once(&self) -> bool {
        self.at_once
    }
    fn clock(&self) -> Hand {
        self.clock.clone()
    }
    fn attach(&mut self, _file: FileIndex, _target: &Attachment) -> Result<(), EngineError> {
        Ok(())
    }
    fn detach(&mut self, _file: FileIndex) -> Result<(), EngineError> {
        assert!(self.pending.is_empty(), "a file was closed under pending I/Os");
        self.clock.0.set(self.clock.0.get() + 1_000_000_000);
        Ok(())
    }
    fn take_slots(&mut self) -> Vec<FreeSlot> {
        self.buffers.take_slots()
    }
    fn buffer(&mut self, slot: &mut FreeSlot) -> &mut [u8] {
        self.buffers.slice(slot)
    }
    fn hold(&mut self, slot: FreeSlot) -> HeldSlot {
        self.buffers.hold(slot)
    }
    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        (self.wrong == Some(slot.index())).then(|| "a tag is wrong".into())
    }
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if self.at_once {
            self.clock.0.set(self.clock.0.get() + 1000);
            return Queued::Done(slot, self.carry_out(op));
        }
        if self.pending.len() >= self.room {
            return Queued::Full(slot);
        }
        self.pending.push((slot, *op));
        self.most = self.most.max(self.pending.len());
        self.unflushed += 1;
        Queued::Pending
    }
    fn flush(&mut self) -> Result<u32, EngineError> {
        if self.broken {
            let what = "submission is broken".into();
            return Err(EngineError { what, help: None, errno: Some(Errno::EIO) });
        }
        Ok(std::mem::take(&mut self.unflushed))
    }
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.unflushed = 0;
        self.clock.0.set(self.clock.0.get() + 1000);
        for _ in 0..want.min.max(1) {
            if self.pending.is_empty() {
                break;
            }
            let (slot, op) = self.pending.remove(0);
            let outcome = self.carry_out(&op);
            if outcome == Outcome::err(Errno::EILSEQ) {
                self.wrong = Some(slot.index());
            }
            done.push(slot, outcome);
        }
        Ok(())
    }
}

/// A source that returns the entries of a list.
struct List(Vec<Next>, usize);

impl Source for List {
    fn next(&mut self) -> Next {
        self.1 += 1;
        self.0.get(self.1 - 1).copied().unwrap_or(Next::End)
    }
    fn restart(&mut self) {
        self.1 = 0;
    }
}

struct Nothing;

impl Payload for Nothing {
    fn writes(&self) -> bool {
        true
    }
    fn fill(&mut self, _buffer: &mut [u8], _io: &Io) -> bool {
        false
    }
    fn prepare(&mut self, _buffer: &mut [u8]) {}
}

fn write_at(block: u64) -> Next {
    Next::Io(Io {
        dir: Dir::Write,
        file: FileIndex(0),
        offset: block * 4096,
        len: 4096,
        attributes: IoAttributes::PLAIN,
    })
}

fn read_at(block: u64) -> Next {
    match write_at(block) {
        Next::Io(io) => Next::Io(Io { dir: Dir::Read, ..io }),
        other => other,
    }
}

/// Runs a list on a scripted engine. Returns the result and every op that the engine got.
fn run_list<F: FnMut(usize, &Op) -> Outcome>(
    job: JobPlan,
    depth: u32,
    list: Vec<Next>,
    answer: F,
) -> (WorkerResult, Vec<Op>, usize) {
    run_list_by::<Asynchronous, F>(job, depth, list, answer)
}

/// Runs a list in the loop of mode `M`.
fn run_list_by<M: Mode, F: FnMut(usize, &Op) -> Outcome>(
    mut job: JobPlan,
    depth: u32,
    list: Vec<Next>,
    answer: F,
) -> (WorkerResult, Vec<Op>, usize) {
    job.depth.depth = depth;
    job.load.mix = Mix::Write;
    let mut engine = Scripted::new(depth == 1, depth, answer);
    let slots = engine.take_slots();
    let (control, live, mut files) = (JobControl::new(), Live::new(), NoFiles(1));
    let recorder = Recorder::new(axes::ASYNC, &[Dir::Write]);
    let now = engine.clock().now();
    let state = { JobState::new(&job, &mut files, &control, &live, recorder, Hooks::none(), now) };
    let mut worker = Worker::new((engine, slots), List(list, 0), Nothing, state);
    if depth == 1 {
        worker.run_direct::<M>();
    } else {
        worker.run_queued::<M>();
    }
    worker.finish();
    let (log, most) = (std::mem::take(&mut worker.engine.log), worker.engine.most);
    (*worker.result(), log, most)
}

fn plain() -> JobPlan {
    JobPlan::plain(EnginePlan::Null, 1 << 20)
}

fn whole(_n: usize, op: &Op) -> Outcome {
    Outcome::ok(if matches!(op.kind, OpKind::Read | OpKind::Write) { op.len } else { 0 })
}

#[test]
fn short_transfers_are_continued_and_counted_once() {
    for depth in [1, 4] {
        let answer = |_: usize, op: &Op| Outcome::ok(op.len.min(1024));
        let (result, log, _) = run_list(plain(), depth, (0..4).map(write_at).collect(), answer);
        assert_eq!(result.error, None);
        let write = &result.recorder.dirs[Dir::Write];
        assert_eq!((write.ios, write.bytes.0, write.short), (4, 16384, 4), "depth {depth}");
        assert_eq!(log.len(), 16);
        let mut ends: Vec<u64> = log.iter().map(|op| op.offset + 1024).collect();
        ends.sort_unstable();
        assert_eq!(ends, (1..=16).map(|n| n * 1024).collect::<Vec<u64>>());
        assert!(log.iter().all(|op| op.at == (op.offset % 4096) as u32));
    }
}

#[test]
fn an_error_names_file_offset_and_cause_and_ends_the_job() {
    for depth in [1, 4] {
        let answer =
            |n: usize, op: &Op| if n == 2 { Outcome::err(Errno::EIO) } else { Outcome::ok(op.len) };
        let (result, log, _) = run_list(plain(), depth, (0..100).map(write_at).collect(), answer);
        let error = result.error.expect("the job fails");
        assert_eq!(error.errno, Some(Errno::EIO));
        assert_eq!(error.offset, Some(8192));
        assert!(error.to_string().contains("write failed on the-file at offset 8192"), "{error}");
        assert!(log.len() < 10, "the job went on");
    }
}

#[test]
fn continue_on_error_continues_and_counts_errors() {
    for depth in [1, 4] {
        let mut job = plain();
        job.reporting.continue_on_error = ContinueOnError::ALL;
        let answer = |n: usize, op: &Op| {
            if n % 10 == 2 { Outcome::err(Errno::EIO) } else { Outcome::ok(op.len) }
        };
        let (result, ..) = run_list(job, depth, (0..100).map(write_at).collect(), answer);
        assert_eq!(result.error, None);
        assert_eq!((result.recorder.errors, result.recorder.first_error), (10, Some(Errno::EIO)));
        let write = &result.recorder.dirs[Dir::Write];
        assert_eq!((write.ios, write.issued), (90, 100), "depth {depth}");
        assert_eq!(write.failed_bytes.0, 10 * 4096);
    }
}

fn medium_if(on: bool) -> Tolerance {
    if on { Tolerance::Medium } else { Tolerance::None }
}

#[test]
fn errors_in_a_list_are_survived_and_all_others_end_the_job() {
    for (list, errno, survives) in [
        (vec![28, 122], Errno::EDQUOT, true),
        (vec![28], Errno::ENOSPC, true),
        (vec![28], Errno::EIO, false),
    ] {
        let mut job = plain();
        job.reporting.continue_on_error.writes = Tolerance::Listed(list);
        let answer = |n: usize, op: &Op| {
            if n % 10 == 2 { Outcome::err(errno) } else { Outcome::ok(op.len) }
        };
        let (result, ..) = run_list(job, 4, (0..100).map(write_at).collect(), answer);
        assert_eq!(result.error.is_none(), survives, "{errno}");
        assert_eq!(result.recorder.errors, if survives { 10 } else { 1 });
    }
}

#[test]
fn an_error_that_the_engine_detects_belongs_to_its_io() {
    for goes_on in [true, false] {
        let mut job = plain();
        job.reporting.continue_on_error =
            ContinueOnError { writes: medium_if(goes_on), ..ContinueOnError::default() };
        let answer = |n: usize, op: &Op| {
            if n % 10 == 2 { Outcome::err(Errno::EILSEQ) } else { Outcome::ok(op.len) }
        };
        let (result, ..) = run_list(job, 4, (0..100).map(write_at).collect(), answer);
        if goes_on {
            assert_eq!((result.error, result.recorder.errors), (None, 10));
            assert_eq!(result.recorder.first_error, Some(Errno::EILSEQ));
            assert_eq!(result.survived.map(|e| e.offset), Some(Some(2 * 4096)));
            continue;
        }
        let error = result.error.unwrap();
        assert_eq!((error.errno, error.offset), (Some(Errno::EILSEQ), Some(2 * 4096)));
        assert_eq!(error.detail, "a tag is wrong");
    }
}

#[test]
fn only_errors_of_the_medium_are_survived() {
    for errno in [Errno::ENOSPC, Errno::EINVAL, Errno::EBADF] {
        let mut job = plain();
        job.reporting.continue_on_error = ContinueOnError::ALL;
        let answer = |n: usize, op: &Op| {
            if n == 2 { Outcome::err(errno) } else { Outcome::ok(op.len) }
        };
        let (result, ..) = run_list(job, 1, (0..100).map(write_at).collect(), answer);
        assert_eq!(result.error.and_then(|e| e.errno), Some(errno));
        assert_eq!((result.recorder.errors, result.recorder.first_error), (1, Some(errno)));
    }
}

#[test]
fn a_full_device_ends_a_job_with_fill_device() {
    for depth in [1, 4] {
        let mut job = plain();
        job.end.fill_device = true;
        let answer = |n: usize, op: &Op| {
            if n >= 20 { Outcome::err(Errno::ENOSPC) } else { Outcome::ok(op.len) }
        };
        let (result, ..) = run_list(job, depth, (0..100).map(write_at).collect(), answer);
        assert_eq!(result.error, None);
        assert_eq!(result.recorder.dirs[Dir::Write].ios, 20);
    }
}

#[test]
fn a_transfer_of_zero_bytes_is_an_end_of_file_and_does_not_loop() {
    for depth in [1, 4] {
        let (result, ..) =
            run_list(plain(), depth, (0..9).map(write_at).collect(), |_, _| Outcome::ok(0));
        assert!(result.error.expect("it fails").to_string().contains("end of file"));
    }
}

/// With `create_on_open`, a job that also writes reads what its file has so far.
#[test]
fn reads_of_a_growing_file_end_where_it_ends() {
    for depth in [1, 4] {
        let mut job = plain();
        job.target.layout.on_open = true;
        job.target.files[0].kind = FileKind::Regular;
        job.load.mix = Mix::ReadWrite { read_percent: 50 };
        let answer =
            |n: usize, op: &Op| Outcome::ok(if n.is_multiple_of(3) { 0 } else { op.len / 2 });
        let (result, ..) = run_list(job, depth, (0..9).map(read_at).collect(), answer);
        assert_eq!(result.error, None);
        let reads = &result.recorder.dirs[Dir::Read];
        assert_eq!((reads.ios, reads.short), (9, 9), "{depth}: {reads:?}");
        assert!(reads.bytes < Bytes(9 * 4096), "{depth}: {reads:?}");
    }
}

#[test]
fn a_barrier_waits_for_earlier_ios() {
    let list = vec![
        write_at(0),
        write_at(1),
        Next::Flush(Flush::Fsync, FileIndex(0), 0, 0, true),
        write_at(2),
        Next::Flush(Flush::Fdatasync, FileIndex(0), 0, 0, false),
    ];
    for depth in [1, 8] {
        let (result, log, _) = run_list(plain(), depth, list.clone(), whole);
        assert_eq!(result.error, None);
        let kinds: Vec<OpKind> = log.iter().map(|op| op.kind).collect();
        use OpKind::{Fdatasync, Fsync, Write};
        assert_eq!(kinds, [Write, Write, Fsync, Write, Fdatasync]);
        assert_eq!((result.recorder.sync_issued, result.recorder.sync.n()), (2, 2));
        assert_eq!(result.recorder.dirs[Dir::Write].issued, 3);
    }
}

#[test]
fn fsyncs_at_the_end_are_issued_but_not_counted() {
    let mut job = plain();
    job.load.end_fsync = true;
    job.load.fsync_on_close = true;
    for depth in [1, 8] {
        let (result, log, _) = run_list(job.clone(), depth, vec![write_at(0)], whole);
        assert_eq!(result.error, None);
        assert_eq!(log.iter().filter(|op| op.kind == OpKind::Fsync).count(), 2);
        assert_eq!((result.recorder.sync_issued, result.recorder.sync.n()), (0, 0));
    }
}

/// A server of files writes what it keeps in memory when a file is closed, which takes long.
#[test]
fn closing_the_files_is_not_part_of_the_run_time() {
    let mut job = plain();
    job.load.fsync_on_close = true;
    for depth in [1, 8] {
        let (result, log, _) = run_list(job.clone(), depth, vec![write_at(0)], whole);
        assert_eq!((result.error, log.len()), (None, 2));
        // The write and the flush.
        assert!((2000..1_000_000).contains(&result.runtime.0), "{:?}", result.runtime);
    }
}

#[test]
fn iodepth_low_and_batches_are_kept() {
    let mut job = plain();
    job.depth.batch = Some(4);
    job.depth.low = Some(2);
    let list = || (0..100).map(write_at).collect();
    let (result, log, most) = run_list(job.clone(), 16, list(), whole);
    assert_eq!((log.len(), most), (100, 16));
    // 100 I/Os in submissions of at most 4.
    assert_eq!(result.recorder.submit.0[2..], [0; 5]);
    assert!(result.recorder.submit.0[1] >= 25);
    // The rests of short transfers do not count.
    let (result, ..) = run_list(job, 16, list(), |_, op| Outcome::ok(op.len.min(1024)));
    assert_eq!(result.recorder.submit.0[2..], [0; 5]);
}

#[test]
fn overlapping_ios_are_serialised() {
    let mut job = plain();
    job.load.serialize_overlap = true;
    let list = vec![write_at(0), write_at(1), write_at(0), write_at(2)];
    let (_, log, most) = run_list_by::<Dynamic, _>(job, 8, list, whole);
    assert_eq!(log.len(), 4);
    assert_eq!(most, 3, "block 0 twice at once");
}

/// Reads change nothing, so they wait for writes only.
#[test]
fn overlapping_reads_are_in_flight_together() {
    let mut job = plain();
    job.load.serialize_overlap = true;
    for (list, expected) in [
        (vec![read_at(0); 8], 8),
        (vec![read_at(0), read_at(0), write_at(0), read_at(0), read_at(0)], 2),
    ] {
        let count = list.len();
        let (_, log, most) = run_list_by::<Dynamic, _>(job.clone(), 8, list, whole);
        assert_eq!((log.len(), most), (count, expected));
    }
}

/// A job on the simulated device with these device options.
fn on_sim(options: &[(&str, &str)]) -> JobPlan {
    let options = options.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    JobPlan::plain(EnginePlan::Sim(fiord_plan::SimPlan { options, ..Default::default() }), 1 << 30)
}
