//! Drives a ring for an engine: submits, waits, takes completions.

use fiord_types::Errno;

use super::entry::{Completion, Submission};
use super::ring::Ring;
use crate::{Completions, MachineClock, Time, Want};

/// How an engine gets its completions.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompletionMode {
    /// The kernel polls for them (`IORING_SETUP_IOPOLL`).
    pub iopoll: bool,
    /// A kernel thread submits (`IORING_SETUP_SQPOLL`).
    pub sqpoll: bool,
    /// Clock for timeouts that a polled ring does not support.
    pub clock: MachineClock,
}

/// An engine that submits and completes ops by a ring.
pub(crate) trait RingDriver {
    /// Type of the submission entries.
    type Sqe: Submission;
    /// Type of the completion entries.
    type Cqe: Completion;

    fn ring(&mut self) -> &mut Ring<Self::Sqe, Self::Cqe>;
    /// How the engine gets its completions.
    fn mode(&self) -> &CompletionMode;
    /// Number of ops that are queued and not taken.
    fn in_flight(&self) -> u32;
    /// Takes completions from memory, without a system call, until `max` ops have ended. Returns
    /// the number of ops that ended.
    fn take(&mut self, max: u32, done: &mut Completions) -> u32;

    /// Implements [`crate::Engine::reap`].
    ///
    /// # Errors
    ///
    /// The errno of `io_uring_enter(2)`.
    #[inline(always)]
    fn submit_and_reap(&mut self, want: Want, done: &mut Completions) -> Result<(), Errno> {
        if self.mode().iopoll
            && let Some(ns) = want.timeout
        {
            return self.poll_until(want, ns, done);
        }
        let mut taken = self.take(want.max, done);
        loop {
            let enough = want.min.min(want.max).min(taken + self.in_flight());
            let mut missing = enough.saturating_sub(taken);
            let due = taken == 0 && (self.mode().iopoll || self.ring().has_task_work());
            if missing == 0 && self.ring().unsent() == 0 && !due {
                return Ok(());
            }
            if self.mode().sqpoll {
                let spun = self.spin(missing, want.max - taken, done)?;
                taken += spun;
                missing = missing.saturating_sub(spun);
                if missing == 0 {
                    return Ok(());
                }
            }
            let going_on = self.ring().enter_once(missing, want.timeout)?;
            taken += self.take(want.max - taken, done);
            if !going_on || taken >= enough {
                return Ok(());
            }
        }
    }

    /// Looks for completions in memory for a while. With a submitting kernel thread they arrive
    /// without a system call. After this many looks the wait is so long that the cost of a system
    /// call is small compared with it.
    #[inline(never)]
    fn spin(&mut self, missing: u32, max: u32, done: &mut Completions) -> Result<u32, Errno> {
        const LOOKS: u32 = 1000;
        self.ring().send()?;
        let mut taken = self.take(max, done);
        for _ in 0..LOOKS {
            if taken >= missing {
                break;
            }
            std::hint::spin_loop();
            taken += self.take(max - taken, done);
        }
        Ok(taken)
    }

    /// Polls until there are enough completions or the time is up, because a polled ring has no
    /// wait with a timeout.
    #[cold]
    fn poll_until(&mut self, want: Want, ns: u64, done: &mut Completions) -> Result<(), Errno> {
        let end = self.mode().clock.now().saturating_add(ns);
        let mut taken = 0;
        loop {
            let going_on = self.ring().enter_once(0, None)?;
            taken += self.take(want.max - taken, done);
            let enough = taken >= want.min || self.in_flight() == 0;
            if enough || !going_on || self.mode().clock.now() >= end {
                return Ok(());
            }
        }
    }
}

impl<S: Submission, C: Completion> Ring<S, C> {
    /// Submits the queued entries and returns their number.
    ///
    /// # Errors
    ///
    /// The errno of `io_uring_enter(2)`.
    #[inline]
    pub(crate) fn send(&mut self) -> Result<u32, Errno> {
        if self.unsent() == 0 {
            return Ok(0);
        }
        match self.enter(0, false, None) {
            Ok(sent) => Ok(sent),
            Err(Errno::EINTR | Errno::EAGAIN | Errno::EBUSY) => Ok(0),
            Err(errno) => Err(errno),
        }
    }

    /// Submits and waits for `wait` completions with one `io_uring_enter(2)`. Returns `false` if
    /// the wait ended for another reason.
    #[inline(always)]
    fn enter_once(&mut self, wait: u32, timeout: Option<u64>) -> Result<bool, Errno> {
        match self.enter(wait, true, timeout) {
            Ok(_) => Ok(true),
            // The time is up, or a signal arrived, or the kernel has no room and wants completions
            // to be taken first.
            Err(Errno::ETIME | Errno::EINTR | Errno::EAGAIN | Errno::EBUSY) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Waits for this many completions and drops them. The kernel is then done with the memory of
    /// their ops.
    ///
    /// # Errors
    ///
    /// The errno of `io_uring_enter(2)`. The kernel may still use the memory.
    pub(crate) fn drain(&mut self, completions: u32) -> Result<(), Errno> {
        let mut left = completions;
        while left > 0 {
            self.enter_once(1, None)?;
            left -= self.take(u32::MAX, |_| {});
        }
        Ok(())
    }
}
