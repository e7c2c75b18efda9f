//! A turn at the ring: hand over what is queued, wait, take what has completed.

use super::entry::{Completion, Submission};
use super::ring::Ring;
use crate::{MachineClock, Time, Want};

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

    /// Takes what completes, as [`crate::Engine::reap`] wants it. `each` says whether an op has
    /// ended with this completion; `in_flight` ops had not.
    pub fn turn(
        &mut self,
        how: Turn,
        want: Want,
        in_flight: u32,
        mut each: impl FnMut(C) -> bool,
    ) -> Result<(), i32> {
        let most = want.max.min(in_flight);
        let mut taken = self.take_ended(most, &mut each);
        let mut first = taken == 0;
        let end = match want.timeout {
            // A polled ring has no timed wait.
            Some(ns) if how.iopoll => Some(how.clock.now().saturating_add(ns)),
            _ => None,
        };
        loop {
            let enough = want.min.min(most);
            let missing = enough.saturating_sub(taken);
            let due = first && (how.iopoll || self.has_task_work());
            first = false;
            if missing == 0 && self.unsent() == 0 && !due {
                return Ok(());
            }
            if how.sqpoll && missing > 0 {
                self.send()?;
                taken += self.spin(missing, most - taken, &mut each);
                if taken >= enough {
                    return Ok(());
                }
            }
            let wait = if end.is_some() { 0 } else { enough.saturating_sub(taken) };
            let going_on = self.enter_once(wait, want.timeout.filter(|_| end.is_none()))?;
            taken += self.take_ended(most - taken, &mut each);
            let late = end.is_some_and(|end| how.clock.now() >= end);
            if !going_on || taken >= enough || late {
                return Ok(());
            }
        }
    }

    /// Takes completions until `max` ops have ended, and says how many have.
    #[inline(always)]
    fn take_ended(&mut self, max: u32, each: &mut impl FnMut(C) -> bool) -> u32 {
        let mut ended = 0;
        // An op may have several completions, never fewer than one.
        while ended < max {
            let mut now = 0;
            if self.take(max - ended, |cqe| now += u32::from(each(cqe))) == 0 {
                break;
            }
            ended += now;
        }
        ended
    }

    /// One `io_uring_enter(2)`. False when it ended for another reason than completions.
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

    /// With a kernel thread that submits, completions come without a call: looks for them for a
    /// while, after which waiting in the kernel costs less than it adds.
    #[inline(never)]
    fn spin(&mut self, missing: u32, max: u32, each: &mut impl FnMut(C) -> bool) -> u32 {
        const LOOKS: u32 = 1000;
        let mut taken = self.take_ended(max, each);
        for _ in 0..LOOKS {
            if taken >= missing {
                break;
            }
            std::hint::spin_loop();
            taken += self.take_ended(max - taken, each);
        }
        taken
    }
}
