//! How threads sleep and wake each other: with `futex(2)`, and without a system call if no thread sleeps.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use fiord_sys::interleaving;

/// Threads that sleep until there is something to do.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Sleepers {
    /// Threads that sleep and that no thread has woken.
    asleep: AtomicU32,
    /// Threads that were woken and still have to notice it.
    woken: AtomicU32,
}

impl Sleepers {
    /// Number of threads that sleep and that no thread has woken.
    pub(super) fn asleep(&self) -> u32 {
        self.asleep.load(Ordering::SeqCst)
    }

    /// Sleeps until another thread wakes this one. Returns at once if `ready` is true after the thread was counted as
    /// sleeping: the thread that makes it true must do so before it calls [`Sleepers::asleep`] or [`Sleepers::wake`].
    pub(super) fn sleep(&self, ready: impl Fn() -> bool) {
        self.asleep.fetch_add(1, Ordering::SeqCst);
        interleaving::point();
        if ready() && take_one(&self.asleep) {
            return;
        }
        // Either the thread sleeps, or another thread has just woken it.
        while !take_one(&self.woken) {
            interleaving::point();
            wait(&self.woken, 0, None);
        }
    }

    /// Wakes up to `count` threads.
    pub(super) fn wake(&self, count: u32) {
        let mut asleep = self.asleep.load(Ordering::SeqCst);
        let woken = loop {
            let woken = count.min(asleep);
            if woken == 0 {
                return;
            }
            let left = asleep - woken;
            interleaving::point();
            match self.asleep.compare_exchange(asleep, left, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => break woken,
                Err(now) => asleep = now,
            }
        };
        interleaving::point();
        self.woken.fetch_add(woken, Ordering::SeqCst);
        wake(&self.woken, woken);
    }
}

/// Decrements a counter unless it is 0. Returns whether it was not.
fn take_one(counter: &AtomicU32) -> bool {
    let take = |count: u32| count.checked_sub(1);
    counter.fetch_update(Ordering::SeqCst, Ordering::SeqCst, take).is_ok()
}

/// Counts events, and wakes one thread when a number of them is reached.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct EventCount {
    count: AtomicU64,
    /// Number of events that the sleeping thread waits for.
    goal: AtomicU64,
    /// 1 while a thread sleeps until the goal is reached.
    sleeps: AtomicU32,
}

impl EventCount {
    pub(crate) fn add(&self) {
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        interleaving::point();
        if self.sleeps.load(Ordering::SeqCst) == 1 && count >= self.goal.load(Ordering::SeqCst) {
            self.wake();
        }
    }

    /// Number of events so far.
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::SeqCst)
    }

    /// Wakes the thread that sleeps, if there is one.
    pub(crate) fn wake(&self) {
        if self.sleeps.swap(0, Ordering::SeqCst) == 1 {
            wake(&self.sleeps, 1);
        }
    }

    /// Sleeps until `goal` events have been counted, another thread calls [`EventCount::wake`], `timeout` has passed
    /// or a signal arrives. Returns at once if `stop` is true after the thread was counted as sleeping. Only one thread
    /// may call this.
    pub(crate) fn sleep(&self, goal: u64, timeout: Option<Duration>, stop: impl Fn() -> bool) {
        self.goal.store(goal, Ordering::SeqCst);
        interleaving::point();
        self.sleeps.store(1, Ordering::SeqCst);
        interleaving::point();
        if self.count() < goal && !stop() {
            wait(&self.sleeps, 1, timeout);
        }
        self.sleeps.store(0, Ordering::SeqCst);
    }
}

/// Sleeps while the word has this value. May return early.
fn wait(word: &AtomicU32, value: u32, timeout: Option<Duration>) {
    let time = timeout.map(|time| libc::timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref::<libc::timespec>);
    let op = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word and the time outlive the call.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, value, time) };
}

/// Wakes up to `count` threads that sleep on the word.
fn wake(word: &AtomicU32, count: u32) {
    let op = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the call uses only the address of the word.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), op, count) };
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;
    use std::time::Instant;

    use super::*;

    #[test]
    fn every_thread_that_sleeps_is_woken() {
        let (sleepers, stop) = (Sleepers::default(), AtomicBool::new(false));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !stop.load(Ordering::SeqCst) {
                        sleepers.sleep(|| stop.load(Ordering::SeqCst));
                    }
                });
            }
            for _ in 0..100 {
                sleepers.wake(2);
            }
            stop.store(true, Ordering::SeqCst);
            sleepers.wake(u32::MAX);
        });
        assert_eq!(sleepers.asleep(), 0);
    }

    #[test]
    fn the_sleeper_wakes_at_its_goal_or_its_timeout() {
        let events = EventCount::default();
        let began = Instant::now();
        events.sleep(1, Some(Duration::from_millis(20)), || false);
        assert!(began.elapsed() >= Duration::from_millis(20));
        std::thread::scope(|scope| {
            scope.spawn(|| (0..3).for_each(|_| events.add()));
            while events.count() < 3 {
                events.sleep(3, None, || false);
            }
        });
        events.sleep(3, None, || false);
    }
}
