//! A turn at the ring: hand over what is queued, wait, take what has completed.

use super::entry::{Completion, Submission};
use super::ring::Ring;
use crate::{Completions, MachineClock, Time, Want};

/// How completions come about.
#[derive(Debug, Clone, Copy)]
pub struct Turn {
    /// They are polled for (`IORING_SETUP_IOPOLL`).
    pub iopoll: bool,
    /// A kernel thread submits (`IORING_SETUP_SQPOLL`).
    pub sqpoll: bool,
    /// For waits that a polled ring cannot bound.
    pub clock: MachineClock,
}

/// What an engine has that takes turns at a ring.
pub trait Turns {
    /// Its entries for submission.
    type Sqe: Submission;
    /// Its entries for completion.
    type Cqe: Completion;

    /// The ring.
    fn ring(&mut self) -> &mut Ring<Self::Sqe, Self::Cqe>;
    /// How its completions come about.
    fn how(&self) -> &Turn;
    /// Ops that were queued and have not been taken.
    fn in_flight(&self) -> u32;
    /// Takes what has completed, without a call, until `max` ops have ended; how many have.
    fn take(&mut self, max: u32, done: &mut Completions) -> u32;

    /// Takes completions as [`crate::Engine::reap`] wants it, or an errno.
    #[inline(always)]
    fn turn(&mut self, want: Want, done: &mut Completions) -> Result<(), i32> {
        if self.how().iopoll
            && let Some(ns) = want.timeout
        {
            return self.poll_until(want, ns, done);
        }
        let mut taken = self.take(want.max, done);
        loop {
            let enough = want.min.min(want.max).min(taken + self.in_flight());
            let mut missing = enough.saturating_sub(taken);
            let due = taken == 0 && (self.how().iopoll || self.ring().has_task_work());
            if missing == 0 && self.ring().unsent() == 0 && !due {
                return Ok(());
            }
            if self.how().sqpoll {
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

    /// With a kernel thread that submits, completions come without a call: looks for them for a
    /// while, after which waiting in the kernel costs less than it adds.
    #[inline(never)]
    fn spin(&mut self, missing: u32, max: u32, done: &mut Completions) -> Result<u32, i32> {
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

    /// A polled ring has no timed wait: polls until there are enough or time is up.
    #[cold]
    fn poll_until(&mut self, want: Want, ns: u64, done: &mut Completions) -> Result<(), i32> {
        let end = self.how().clock.now().saturating_add(ns);
        let mut taken = 0;
        loop {
            let going_on = self.ring().enter_once(0, None)?;
            taken += self.take(want.max - taken, done);
            let enough = taken >= want.min || self.in_flight() == 0;
            if enough || !going_on || self.how().clock.now() >= end {
                return Ok(());
            }
        }
    }
}

impl<S: Submission, C: Completion> Ring<S, C> {
    /// Hands over what is queued; how many entries that were, or an errno.
    #[inline]
    pub fn send(&mut self) -> Result<u32, i32> {
        if self.unsent() == 0 {
            return Ok(0);
        }
        match self.enter(0, false, None) {
            Ok(sent) => Ok(sent),
            Err(libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(0),
            Err(errno) => Err(errno),
        }
    }

    /// One `io_uring_enter(2)`: hands over what is queued and waits for so many completions. False
    /// when it ended for another reason than completions.
    #[inline(always)]
    fn enter_once(&mut self, wait: u32, timeout: Option<u64>) -> Result<bool, i32> {
        match self.enter(wait, true, timeout) {
            Ok(_) => Ok(true),
            // Time is up, or a signal came, or the kernel has no room just now and wants
            // completions to be taken first.
            Err(libc::ETIME | libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    /// Waits until so many completions have come and drops them: the kernel is then done with what
    /// their ops used. An errno: it is not, and will not be.
    pub fn drain(&mut self, completions: u32) -> Result<(), i32> {
        let mut left = completions;
        while left > 0 {
            self.enter_once(1, None)?;
            left -= self.take(u32::MAX, |_| {});
        }
        Ok(())
    }
}
