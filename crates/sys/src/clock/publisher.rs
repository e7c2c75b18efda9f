//! A thread that publishes the time in memory (`gtod_cpu=`).
//!
//! If reading the clock is expensive, other threads read the published time instead. If the time
//! stamp counter can be used, reading the counter is cheaper than fetching a cache line that another
//! CPU keeps writing, and this thread only costs a CPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use fiord_types::Errno;

use super::{Clock, TimeSource};
use crate::cpu::{self, CpuSet};
use crate::{Error, Result, signal, thread};

/// The published time, on a cache line of its own.
#[repr(align(128))]
struct Line(AtomicU64);

static NOW: Line = Line(AtomicU64::new(0));
static RUNNING: AtomicBool = AtomicBool::new(false);

pub(super) fn published() -> u64 {
    NOW.0.load(Ordering::Relaxed)
}

/// The publishing thread. It ends when this value is dropped, and its clocks then stand still.
#[derive(Debug)]
pub struct Publisher {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Publisher {
    /// Starts the thread, pinned to CPU `on` if one is given. It keeps that CPU busy.
    ///
    /// # Errors
    /// `EBUSY` if a publisher already runs; those of [`cpu::set_affinity`] if CPU `on` cannot be used.
    pub fn start(on: Option<usize>) -> Result<Publisher> {
        if RUNNING.swap(true, Ordering::AcqRel) {
            return Err(Error::new("start the clock thread", Errno::EBUSY));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let (ready, is_ready) = std::sync::mpsc::channel();
        let stopped = Arc::clone(&stop);
        let body = move || {
            let outcome = prepare(on);
            let works = outcome.is_ok();
            let clock = Clock::best();
            NOW.0.store(clock.now(), Ordering::Release);
            // The receiver waits below for this message, so it still exists.
            let _ = ready.send(outcome);
            while works && !stopped.load(Ordering::Relaxed) {
                NOW.0.store(clock.now(), Ordering::Relaxed);
                std::hint::spin_loop();
            }
        };
        let spawned = std::thread::Builder::new().name("fiord-clock".into()).spawn(body);
        let thread = match spawned {
            Ok(thread) => thread,
            Err(error) => {
                RUNNING.store(false, Ordering::Release);
                return Err(Error::from_io("start the clock thread", &error));
            }
        };
        let publisher = Publisher { stop, thread: Some(thread) };
        is_ready.recv().unwrap_or(Err(Error::new("start the clock thread", Errno::ECANCELED)))?;
        Ok(publisher)
    }

    /// Returns a clock that reads the published time. Its resolution is the time of one round of the
    /// thread plus the transfer of a cache line.
    #[must_use]
    pub fn clock(&self) -> Clock {
        Clock::plain(TimeSource::Published)
    }
}

fn prepare(on: Option<usize>) -> Result<()> {
    signal::block_in_this_thread()?;
    thread::set_name("fiord-clock")?;
    match on {
        Some(cpu) => cpu::set_affinity(&[cpu].into_iter().collect::<CpuSet>()),
        None => Ok(()),
    }
}

impl Drop for Publisher {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The thread's panic, if any, has already been reported, and there is nothing to clean up.
            let _ = thread.join();
        }
        RUNNING.store(false, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_published_time_follows_the_clock() {
        let publisher = Publisher::start(None).unwrap();
        assert_eq!(Publisher::start(None).unwrap_err().errno, Errno::EBUSY);
        let clock = publisher.clock();
        assert_eq!(clock.source(), TimeSource::Published);
        let before = clock.now();
        while clock.now() - before < 10_000_000 {
            crate::clock::sleep(Duration::from_millis(1));
        }
        drop(publisher);
        let stopped = clock.now();
        crate::clock::sleep(Duration::from_millis(2));
        assert_eq!(clock.now(), stopped);
        assert_eq!(Publisher::start(Some(60_000)).unwrap_err().errno, Errno::EINVAL);
    }
}
