//! The threads that check what was read (`verify_async`).
//!
//! The job gives them reads in batches, so that the cost of waking a thread is shared by many reads. It waits for
//! them only at the end: when all of its spare slots are with them, it checks its reads itself. It also checks reads
//! itself whose check takes less time than to move their data to another CPU, and their buffer back.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fiord_engine::{HeldSlot, IoAttributes, Op, OpKind};
use fiord_plan::{JobPlan, VerifyPlan};
use fiord_sys::cpu::{self, CpuSet};
use fiord_types::{Errno, FileIndex};

use crate::error::{JobError, Stage};
use crate::verify::contents::{Contents, JudgedRead, KnownWrite, ReadKnowledge};

/// Bytes of a batch. The threads check them in several microseconds.
const BATCH: usize = 128 << 10;
/// Longest time that a read waits for its batch, ns.
const PATIENCE: u64 = 1_000_000;
/// A read whose check takes less time than this is not given to a thread: that takes about as long.
const WORTHWHILE: Duration = Duration::from_micros(2);
/// Nor is one whose check takes less time per byte than this, in ps: the other CPU fetches the data from the cache of the
/// job's CPU, which then fetches the lines of the buffer back for its next read.
const MOVING: u128 = 250;
/// Maximum time that the job waits for the threads before it looks around.
const MAX_WAIT: Duration = Duration::from_millis(50);

/// A read whose slot is held until it has been checked.
#[derive(Debug)]
pub(crate) struct HeldRead {
    pub slot: HeldSlot,
    pub wait: WaitingRead,
    /// The number of bytes that were checked, if all are right.
    good: Option<u64>,
}

/// What the job knows about a read that waits to be checked.
#[derive(Debug)]
pub(crate) struct WaitingRead {
    /// The whole op.
    pub op: Op,
    pub knowledge: ReadKnowledge,
    /// A bad result is final: no write can have interfered.
    pub is_final: bool,
    /// The file was flushed after its last write.
    pub is_flushed: bool,
    /// When the read completed, ns.
    pub end: u64,
}

impl HeldRead {
    /// The number of bytes that were checked, if all are right.
    pub(super) fn good(&self) -> Option<u64> {
        self.good
    }

    /// The read and its bytes.
    pub(super) fn read(&self) -> JudgedRead<'_> {
        JudgedRead { op: self.wait.op, data: &self.slot.data()[..self.wait.op.len as usize] }
    }

    /// Checks the read. One that cannot be checked here counts as bad, so that the job checks it again.
    fn check(&mut self, contents: &mut Contents) {
        let result = catch_unwind(AssertUnwindSafe(|| {
            let mut good = true;
            let checked =
                contents.check(&self.read(), &self.wait.knowledge.as_known(), &mut |_| {
                    good = false;
                    false
                });
            good.then_some(checked)
        }));
        self.good = result.unwrap_or(None);
    }
}

/// What the job and its threads exchange.
#[derive(Debug, Default)]
struct Exchange {
    lists: Mutex<Lists>,
    /// There is work, or the job has ended.
    work: Condvar,
    /// A batch has been checked.
    checked: Condvar,
    /// [`Lists::checked`] is not empty.
    has_checked: AtomicBool,
}

#[derive(Debug, Default)]
struct Lists {
    work: VecDeque<Vec<HeldRead>>,
    checked: Vec<Vec<HeldRead>>,
    /// Threads that wait for work.
    idle: u32,
    /// The job waits for a batch.
    is_awaited: bool,
    ended: bool,
}

impl Exchange {
    fn lists(&self) -> MutexGuard<'_, Lists> {
        self.lists.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a batch that has been checked.
    fn put_back(&self, batch: Vec<HeldRead>) {
        let mut lists = self.lists();
        lists.checked.push(batch);
        self.has_checked.store(true, Ordering::Release);
        if lists.is_awaited {
            drop(lists);
            self.checked.notify_one();
        }
    }

    /// Checks batches until the job ends.
    fn serve(&self, contents: &mut Contents) {
        while let Some(mut batch) = self.next_batch() {
            batch.iter_mut().for_each(|read| read.check(contents));
            self.put_back(batch);
        }
    }

    /// Waits for a batch. `None`: the job has ended.
    fn next_batch(&self) -> Option<Vec<HeldRead>> {
        let mut lists = self.lists();
        loop {
            if lists.ended {
                return None;
            }
            if let Some(batch) = lists.work.pop_front() {
                return Some(batch);
            }
            lists.idle += 1;
            lists = self.work.wait(lists).unwrap_or_else(PoisonError::into_inner);
            lists.idle -= 1;
        }
    }
}

/// Bytes of the shortest read whose check takes a [worthwhile](WORTHWHILE) time; `u32::MAX`: there is none. `largest`:
/// bytes of the largest one. Measures how long the check takes.
fn worthwhile(mut contents: Contents, largest: u32) -> u32 {
    let largest = largest.min(1 << 20);
    let mut data = vec![0; largest as usize];
    let op = Op {
        kind: OpKind::Read,
        file: FileIndex(0),
        offset: 0,
        len: largest,
        at: 0,
        attributes: IoAttributes::PLAIN,
    };
    let known = KnownWrite::Write { number: 0, generation: 1 };
    contents.fill(0, (op.file, op.offset), &mut data, 0, &known);
    let read = JudgedRead { op, data: &data };
    let mut check = || {
        let start = Instant::now();
        contents.check(&read, &known, &mut |_| true);
        start.elapsed()
    };
    let fastest = (0..3).map(|_| check()).min().unwrap_or_default().as_nanos().max(1);
    let largest = u128::from(largest);
    if fastest * 1000 < MOVING * largest {
        return u32::MAX;
    }
    u32::try_from(WORTHWHILE.as_nanos() * largest / fastest).unwrap_or(u32::MAX)
}

/// The threads of one job, and the reads that they check.
pub(crate) struct CheckerThreads {
    exchange: Arc<Exchange>,
    threads: Vec<JoinHandle<()>>,
    /// Reads that wait for their batch, and their bytes.
    batch: Vec<HeldRead>,
    bytes: usize,
    /// Reads that have been checked.
    checked: Vec<HeldRead>,
    /// Empty lists for batches.
    lists: Vec<Vec<HeldRead>>,
    /// Reads that have not been checked.
    unchecked: u32,
    /// Maximum number of reads that may be unchecked: the spare slots of the job.
    most: u32,
    /// Bytes of the shortest read that is worth a thread.
    shortest: u32,
}

impl CheckerThreads {
    /// Starts the threads of a job. `None`: it has none.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub(crate) fn start(
        job: &JobPlan,
        plan: &VerifyPlan,
        contents: &Contents,
    ) -> Result<Option<Self>, JobError> {
        let most = job.spare_slots();
        if most == 0 {
            return Ok(None);
        }
        let mut threads = CheckerThreads {
            exchange: Arc::default(),
            threads: Vec::new(),
            batch: Vec::new(),
            bytes: 0,
            checked: Vec::new(),
            lists: Vec::new(),
            unchecked: 0,
            most,
            shortest: worthwhile(contents.clone(), job.largest_block()),
        };
        let cpus: CpuSet = plan.cpus.iter().map(|cpu| *cpu as usize).collect();
        for number in 0..plan.threads {
            let mut contents = contents.clone();
            let (exchange, cpus) = (Arc::clone(&threads.exchange), cpus.clone());
            let start = std::thread::Builder::new().name(format!("verify-{number}"));
            let thread = start.spawn(move || {
                if !cpus.is_empty() {
                    // The plan has checked that the CPUs are online. If one has gone since, any other will do.
                    let _ = cpu::set_affinity(&cpus);
                }
                exchange.serve(&mut contents);
            });
            threads.threads.push(thread.map_err(|e| {
                let errno = Errno::of(&e);
                let detail = "cannot create a thread of verify_async. To fix: raise the limit on threads (ulimit -u, \
                              pids.max), or use fewer threads";
                JobError::new(Stage::SetUp, errno, detail)
            })?);
        }
        Ok(Some(threads))
    }

    /// Whether the threads can take another read of `bytes` bytes, which completed at `now`, ns.
    #[inline]
    pub(crate) fn can_take(&mut self, bytes: u32, now: u64) -> bool {
        if bytes < self.shortest {
            return false;
        }
        if self.batch.first().is_some_and(|first| first.wait.end.saturating_add(PATIENCE) < now) {
            self.hand_over();
        }
        if self.unchecked < self.most {
            return true;
        }
        self.collect();
        self.unchecked < self.most
    }

    #[inline]
    pub(crate) fn take(&mut self, slot: HeldSlot, wait: WaitingRead) {
        self.unchecked += 1;
        self.bytes += wait.op.len as usize;
        self.batch.push(HeldRead { slot, wait, good: None });
        if self.bytes >= BATCH {
            self.hand_over();
        }
    }

    /// Gives the threads the current batch.
    fn hand_over(&mut self) {
        if self.batch.is_empty() {
            return;
        }
        self.bytes = 0;
        let list = self.lists.pop().unwrap_or_default();
        let batch = std::mem::replace(&mut self.batch, list);
        let mut lists = self.exchange.lists();
        lists.work.push_back(batch);
        let is_idle = lists.idle > 0;
        drop(lists);
        if is_idle {
            self.exchange.work.notify_one();
        }
    }

    /// Collects what the threads have checked.
    fn collect(&mut self) {
        if !self.exchange.has_checked.load(Ordering::Acquire) {
            return;
        }
        let mut lists = self.exchange.lists();
        self.exchange.has_checked.store(false, Ordering::Relaxed);
        for mut batch in lists.checked.drain(..) {
            self.unchecked -= batch.len() as u32;
            self.checked.append(&mut batch);
            self.lists.push(batch);
        }
    }

    /// A read that has been checked.
    #[inline]
    pub(crate) fn next_checked(&mut self) -> Option<HeldRead> {
        if self.checked.is_empty() {
            self.collect();
        }
        self.checked.pop()
    }

    /// Whether a read has not been checked.
    pub(crate) fn has_unchecked(&self) -> bool {
        self.unchecked > 0
    }

    /// Waits for a read that has been checked, with nothing else to do: the job checks a batch itself if no thread has
    /// taken it. Returns within about 50 ms.
    pub(crate) fn wait(&mut self, contents: &mut Contents) {
        self.hand_over();
        let mut lists = self.exchange.lists();
        if let Some(mut batch) = lists.work.pop_front() {
            drop(lists);
            batch.iter_mut().for_each(|read| read.check(contents));
            self.exchange.put_back(batch);
        } else if lists.checked.is_empty() && self.unchecked > 0 {
            lists.is_awaited = true;
            let waited = self.exchange.checked.wait_timeout(lists, MAX_WAIT);
            waited.unwrap_or_else(PoisonError::into_inner).0.is_awaited = false;
        }
    }
}

/// The threads end with the job.
impl Drop for CheckerThreads {
    fn drop(&mut self) {
        self.exchange.lists().ended = true;
        self.exchange.work.notify_all();
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
