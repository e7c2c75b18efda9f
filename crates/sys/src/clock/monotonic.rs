//! Reads the clocks of the kernel, and sleeps until a time of `CLOCK_MONOTONIC`.

use std::time::Duration;

use crate::Result;

/// Returns `CLOCK_MONOTONIC` in nanoseconds.
#[inline]
#[must_use]
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Returns the wall time in nanoseconds since 1970.
#[must_use]
pub fn wall() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Returns the CPU time of the calling thread in nanoseconds.
#[must_use]
pub fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Reads a clock that exists in every kernel. It is inlined, because jobs read it for each I/O if the CPU has no usable
/// counter.
#[inline(always)]
fn read(id: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to. The call fails only for ids that do not exist.
    unsafe { libc::clock_gettime(id, &raw mut time) };
    nanoseconds(&time)
}

#[inline(always)]
fn nanoseconds(time: &libc::timespec) -> u64 {
    (time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64)
}

/// Reads any clock by its number (`job_start_clock_id`), in nanoseconds.
///
/// # Errors
/// `EINVAL` if the kernel does not know the number.
pub fn read_id(id: i32) -> Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    let rc = unsafe { libc::clock_gettime(id, &raw mut time) };
    crate::error::check("clock_gettime", rc)?;
    Ok(nanoseconds(&time))
}

/// Sleeps until `CLOCK_MONOTONIC` (and so any [`Clock`](super::Clock) but `gettimeofday`) reaches `deadline_ns`.
/// Returns `false` if a signal ended the sleep early.
#[allow(clippy::must_use_candidate, reason = "most callers do not care about signals")]
pub fn sleep_until(deadline_ns: u64) -> bool {
    let time = libc::timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (deadline_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` is a valid timespec; with TIMER_ABSTIME the kernel writes no remainder.
    let rc = unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &raw const time,
            std::ptr::null_mut(),
        )
    };
    rc == 0
}

/// Sleeps for a time span. Returns `false` if a signal ended the sleep early.
#[allow(clippy::must_use_candidate, reason = "most callers do not care about signals")]
pub fn sleep(span: Duration) -> bool {
    sleep_until(monotonic().saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX / 2)))
}
