//! The machine's time, for engines that do real I/O.

use crate::Time;

/// Nanoseconds of `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy)]
pub struct MachineClock;

impl MachineClock {
    /// The best clock of this machine.
    pub fn best() -> Self {
        MachineClock
    }
}

impl Time for MachineClock {
    #[inline]
    fn now(&self) -> u64 {
        let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `t` is a valid timespec to write to.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    }

    fn sleep_until(&self, when: u64) {
        let now = self.now();
        if when > now {
            std::thread::sleep(std::time::Duration::from_nanos(when - now));
        }
    }
}
