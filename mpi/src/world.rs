//! All calls of MPI, on one thread: it starts MPI, moves messages, and ends MPI.
//!
//! The thread polls, because MPI cannot wait for a message and for an order of this process at the same time. It polls
//! without a pause while messages arrive, then with pauses of up to [`MAX_PAUSE`].

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use fiord_fabric::hub::Waker;
use fiord_sys::clock;
use fiord_types::{HostIndex, Nanos};
use mpi::Threading;
use mpi::point_to_point::MatchedReceiveVec;
use mpi::request;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Root, Source};

/// Maximum time for which the thread does not look for messages, while none arrive.
const MAX_PAUSE: Duration = Duration::from_millis(1);

/// Minimum pause, the first one after a message.
const MIN_PAUSE: Duration = Duration::from_micros(10);

/// Maximum number of messages that are being sent at the same time.
const BATCH: usize = 256;

/// Length of the name of a machine, in bytes.
const NAME: usize = 256;

/// Why MPI cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MpiError {
    /// MPI was started before, or the thread failed.
    #[error("MPI cannot be started. To fix: start this program with mpirun")]
    NotStarted,
    /// The library cannot be used by a program with several threads.
    #[error("this MPI library does not allow threads. To fix: use one with MPI_THREAD_FUNNELED")]
    NoThreads,
}

/// A message that arrived.
#[derive(Debug)]
pub(crate) struct MpiArrival {
    pub(crate) from: HostIndex,
    pub(crate) at: Nanos,
    pub(crate) frame: Vec<u8>,
}

/// A message to send.
struct Outgoing {
    to: HostIndex,
    frame: Vec<u8>,
}

enum Order {
    Send(Outgoing),
    /// Ends the whole parallel job with this exit status.
    Abort(u8),
}

/// How the thread ends.
enum End {
    /// With all ranks.
    Orderly,
    /// At once, with this exit status.
    Abort(u8),
}

/// All ranks of the parallel job.
#[derive(Debug)]
pub(crate) struct MpiWorld {
    /// The rank of this process.
    pub(crate) rank: HostIndex,
    /// The name of the machine of each rank. Rank 0 has them all, the others have none.
    pub(crate) hosts: Vec<String>,
    /// The number of ranks.
    pub(crate) ranks: HostIndex,
    orders: Sender<Order>,
    arrivals: Receiver<MpiArrival>,
    /// Bytes that wait for each rank.
    queued: Arc<[AtomicU64]>,
    thread: JoinHandle<()>,
}

impl MpiWorld {
    /// Starts MPI. `waker` is used for each message that arrives.
    pub(crate) fn start(waker: Waker) -> Result<MpiWorld, MpiError> {
        let (orders, to_send) = mpsc::channel();
        let (arrived, arrivals) = mpsc::channel();
        let (started, start) = mpsc::channel();
        let thread = thread::spawn(move || {
            // MPI may be called by the thread that started it.
            let found = mpi::initialize_with_threading(Threading::Funneled);
            let Some((_universe, threading)) = found else {
                let _ = started.send(Err(MpiError::NotStarted));
                return;
            };
            if threading < Threading::Funneled {
                let _ = started.send(Err(MpiError::NoThreads));
                return;
            }
            let world = SimpleCommunicator::world();
            let queued: Arc<[AtomicU64]> = (0..world.size()).map(|_| AtomicU64::new(0)).collect();
            let rank = HostIndex(world.rank().unsigned_abs());
            let ranks = HostIndex(world.size().unsigned_abs());
            let _ = started.send(Ok((rank, ranks, names(&world), queued.clone())));
            Mover { world, arrived, waker, queued }.serve(&to_send);
            // MPI ends here, when all ranks have come so far.
        });
        let (rank, ranks, hosts, queued) = start.recv().map_err(|_| MpiError::NotStarted)??;
        Ok(MpiWorld { rank, hosts, ranks, orders, arrivals, queued, thread })
    }

    /// Queues a message.
    pub(crate) fn send(&self, to: HostIndex, frame: Vec<u8>) {
        self.queued[to.get()].fetch_add(frame.len() as u64, Ordering::Relaxed);
        // The thread lives as long as this sender.
        let _ = self.orders.send(Order::Send(Outgoing { to, frame }));
    }

    /// Bytes that wait for a rank.
    pub(crate) fn queued(&self, to: HostIndex) -> u64 {
        self.queued[to.get()].load(Ordering::Relaxed)
    }

    /// The next message that has arrived.
    pub(crate) fn arrival(&self) -> Option<MpiArrival> {
        self.arrivals.try_recv().ok()
    }

    /// Sends what is queued, waits for all ranks, and ends MPI.
    pub(crate) fn end(self) {
        drop(self.orders);
        let _ = self.thread.join();
    }

    /// Ends the processes of all ranks. MPI cannot end in an orderly way without a rank that is lost.
    pub(crate) fn abort(self, status: u8) {
        let _ = self.orders.send(Order::Abort(status));
        let _ = self.thread.join();
    }
}

/// Gathers the names of the machines at rank 0.
fn names(world: &SimpleCommunicator) -> Vec<String> {
    let mut own = [0u8; NAME];
    let name = mpi::environment::processor_name().unwrap_or_default();
    own.iter_mut().zip(name.bytes()).for_each(|(to, byte)| *to = byte);
    let root = world.process_at_rank(0);
    if world.rank() != 0 {
        root.gather_into(&own[..]);
        return Vec::new();
    }
    let mut all = vec![0u8; NAME * world.size().unsigned_abs() as usize];
    root.gather_into_root(&own[..], &mut all[..]);
    let text = |name: &[u8]| String::from_utf8_lossy(name).trim_end_matches('\0').to_owned();
    all.chunks(NAME).map(text).collect()
}

struct Mover {
    world: SimpleCommunicator,
    arrived: Sender<MpiArrival>,
    waker: Waker,
    queued: Arc<[AtomicU64]>,
}

impl Mover {
    /// Moves messages until the other end of `orders` is dropped.
    fn serve(&self, orders: &Receiver<Order>) {
        let mut pause = MIN_PAUSE;
        loop {
            let mut batch = Vec::new();
            let mut order = orders.recv_timeout(pause);
            let end = loop {
                match order {
                    Ok(Order::Send(outgoing)) => batch.push(outgoing),
                    Ok(Order::Abort(status)) => break Some(End::Abort(status)),
                    Err(RecvTimeoutError::Disconnected) => break Some(End::Orderly),
                    Err(RecvTimeoutError::Timeout) => break None,
                }
                if batch.len() == BATCH {
                    break None;
                }
                order = orders.try_recv().map_err(|error| match error {
                    TryRecvError::Empty => RecvTimeoutError::Timeout,
                    TryRecvError::Disconnected => RecvTimeoutError::Disconnected,
                });
            };
            self.send(&batch);
            match end {
                Some(End::Abort(status)) => self.world.abort(status.into()),
                Some(End::Orderly) => return,
                None => {}
            }
            let idle = !self.receive() && batch.is_empty();
            pause = if idle { (pause * 2).min(MAX_PAUSE) } else { MIN_PAUSE };
        }
    }

    /// Sends messages, and receives others meanwhile, so that two ranks which send to each other both make progress.
    fn send<'a>(&self, batch: &'a [Outgoing]) {
        request::scope(|scope| {
            let begin = |Outgoing { to, frame }: &'a Outgoing| {
                self.world.process_at_rank(to.0.cast_signed()).immediate_send(scope, &frame[..])
            };
            let mut pending: Vec<_> = batch.iter().map(begin).collect();
            while !pending.is_empty() {
                pending = pending.into_iter().filter_map(|request| request.test().err()).collect();
                if !self.receive() && !pending.is_empty() {
                    thread::sleep(MIN_PAUSE);
                }
            }
        });
        for Outgoing { to, frame } in batch {
            self.queued[to.get()].fetch_sub(frame.len() as u64, Ordering::Relaxed);
        }
    }

    /// Receives all messages that are there. Returns whether there was one.
    fn receive(&self) -> bool {
        let mut any = false;
        while let Some(found) = self.world.any_process().immediate_matched_probe() {
            let from = HostIndex(found.1.source_rank().unsigned_abs());
            let (frame, _) = found.matched_receive_vec::<u8>();
            let arrival = MpiArrival { from, at: Nanos(clock::monotonic()), frame };
            // The receiver may be gone at the end.
            let _ = self.arrived.send(arrival);
            self.waker.wake();
            any = true;
        }
        any
    }
}
