//! Pauses at random points, which show faults that depend on the order in which threads run.
//!
//! Code that passes data between threads without waiting calls [`point`] between its steps. In a debug build with
//! `FIORD_INTERLEAVING=SEED` in the environment, the thread sometimes lets others run there, or sleeps for a moment, so that
//! orders occur that are rare otherwise. The gate runs the tests of threads, queues, signals and terminals in this way. In a
//! release build the function is empty.

/// Pauses the thread at random, if the environment asks for it.
#[inline(always)]
pub fn point() {
    #[cfg(debug_assertions)]
    pauses::point();
}

#[cfg(debug_assertions)]
mod pauses {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::time::Duration;

    /// The state of the random numbers of all threads; `None`: no pauses.
    static STATE: OnceLock<Option<AtomicU64>> = OnceLock::new();

    pub(super) fn point() {
        let state = STATE.get_or_init(|| {
            let seed = std::env::var("FIORD_INTERLEAVING").ok()?;
            Some(AtomicU64::new(seed.bytes().fold(0, |sum, byte| sum * 31 + u64::from(byte))))
        });
        if let Some(state) = state {
            pause(state);
        }
    }

    #[cold]
    fn pause(state: &AtomicU64) {
        // SplitMix64: the state is a counter, and its hash is the random number.
        let mut hash = state.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        hash = (hash ^ hash >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ hash >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^= hash >> 31;
        match hash % 16 {
            0..10 => {}
            10..15 => std::thread::yield_now(),
            _ => std::thread::sleep(Duration::from_micros(hash >> 32 & 127)),
        }
    }
}
