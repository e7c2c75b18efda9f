//! Time in nanoseconds.
//!
//! A [`Clock`] is a small `Copy` value; every copy in the process reads the same time line, so
//! time stamps of different threads can be compared. Its origin is that of `CLOCK_MONOTONIC`: a
//! stamp can be passed to [`sleep_until`] and compared with the kernel's monotonic time.
//!
//! There are three sources, named as in `clocksource=`:
//!
//! - `cpu`: the time stamp counter, if it is invariant (CPUID) and the kernel itself trusts it
//!   (`current_clocksource` is `tsc` or one that is read through it). It is calibrated once per
//!   process against `CLOCK_MONOTONIC`, and the calibration never changes afterwards: the clock
//!   cannot step, and readers share no cache line with a writer. [`Clock::drift`] measures how far
//!   it deviates from the kernel's clock, for the report.
//! - `clock_gettime`: `CLOCK_MONOTONIC`.
//! - `gettimeofday`: wall time in microseconds. It steps when the wall clock is set: subtract
//!   stamps with `saturating_sub`.

mod comparison;
pub(crate) mod monotonic;
mod publisher;

pub use comparison::{CpuCounter, compare_cpus};
pub use monotonic::{monotonic, read_id, sleep, sleep_until, thread_cpu, wall};
pub use publisher::Publisher;

use std::sync::OnceLock;

use fiord_types::{Errno, Nanos};

use crate::{Error, Result};

/// Shortest span over which the time stamp counter is calibrated, in nanoseconds.
///
/// Each end point is accurate to about ten nanoseconds, so a rate measured over 1 ms is accurate to
/// about 10⁻⁵ even on a busy machine.
const CALIBRATION_NS: u64 = 1_000_000;

/// Number of fractional bits in [`Clock::mult`].
const SHIFT: u32 = 32;

/// The source of a clock's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TimeSource {
    /// `gettimeofday(2)`: wall time, microseconds.
    GetTimeOfDay,
    /// `clock_gettime(2)` with `CLOCK_MONOTONIC`.
    ClockGetTime,
    /// The processor's invariant time stamp counter.
    Cpu,
    /// The time that a dedicated thread publishes in memory (`gtod_cpu=`; see [`Publisher`]).
    Published,
}

impl TimeSource {
    /// Returns the value of `clocksource=`, or `gtod_cpu` for [`TimeSource::Published`].
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            TimeSource::GetTimeOfDay => "gettimeofday",
            TimeSource::ClockGetTime => "clock_gettime",
            TimeSource::Cpu => "cpu",
            TimeSource::Published => "gtod_cpu",
        }
    }

    /// Returns the source with this value of `clocksource=`.
    #[must_use]
    pub fn from_word(word: &str) -> Option<TimeSource> {
        [TimeSource::GetTimeOfDay, TimeSource::ClockGetTime, TimeSource::Cpu]
            .into_iter()
            .find(|source| source.word() == word)
    }
}

/// A clock. Copy it to wherever time stamps are taken.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Nanoseconds per tick, a fixed-point number with [`SHIFT`] fractional bits; 0 if not calibrated.
    mult: u64,
    base_ticks: u64,
    base_ns: u64,
    source: TimeSource,
}

impl Clock {
    /// Returns the best clock of this machine: the time stamp counter if it can be trusted, else
    /// `CLOCK_MONOTONIC`. The first call may take a millisecond to calibrate (see [`prime`]); later
    /// calls do not calibrate.
    #[must_use]
    pub fn best() -> Clock {
        Clock::cpu().unwrap_or(Clock::plain(TimeSource::ClockGetTime))
    }

    /// Returns a clock with this source.
    ///
    /// # Errors
    /// `EOPNOTSUPP` for [`TimeSource::Cpu`] if the counter cannot be trusted ([`why_not_cpu`] returns the
    /// reason), and for [`TimeSource::Published`], whose clock only a [`Publisher`] returns.
    pub fn with_source(source: TimeSource) -> Result<Clock> {
        match source {
            TimeSource::Cpu => {
                Clock::cpu().ok_or_else(|| Error::new("clocksource=cpu", Errno::EOPNOTSUPP))
            }
            TimeSource::Published => {
                Err(Error::new("gtod_cpu without its thread", Errno::EOPNOTSUPP))
            }
            other => Ok(Clock::plain(other)),
        }
    }

    fn plain(source: TimeSource) -> Clock {
        Clock { mult: 0, base_ticks: 0, base_ns: 0, source }
    }

    fn cpu() -> Option<Clock> {
        static CALIBRATED: OnceLock<Option<Clock>> = OnceLock::new();
        *CALIBRATED.get_or_init(|| why_not_cpu().is_none().then(calibrate).flatten())
    }

    /// Returns the current time in nanoseconds.
    #[inline(always)]
    #[must_use]
    pub fn now(&self) -> u64 {
        if self.source == TimeSource::Cpu {
            self.ticks_to_ns(ticks())
        } else {
            self.now_from_kernel()
        }
    }

    /// Converts a counter reading to nanoseconds with one widening multiplication and a shift (two
    /// instructions on x86-64). Correct for 2^64 ticks after the base, which is a century.
    #[inline(always)]
    fn ticks_to_ns(&self, ticks: u64) -> u64 {
        let passed = ticks.wrapping_sub(self.base_ticks);
        self.base_ns.wrapping_add(((u128::from(passed) * u128::from(self.mult)) >> SHIFT) as u64)
    }

    #[cold]
    #[inline(never)]
    fn now_from_kernel(&self) -> u64 {
        match self.source {
            TimeSource::GetTimeOfDay => {
                let us = wall() / 1000;
                us * 1000
            }
            TimeSource::Published => publisher::published(),
            _ => monotonic(),
        }
    }

    /// Returns the source of this clock's time.
    #[must_use]
    pub fn source(&self) -> TimeSource {
        self.source
    }

    /// Returns the counter's frequency in ticks per second, for a [`TimeSource::Cpu`] clock.
    #[must_use]
    pub fn hertz(&self) -> Option<u64> {
        (self.mult != 0).then(|| ((1_000_000_000u128 << SHIFT) / u128::from(self.mult)) as u64)
    }

    /// Measures the cost of one [`Clock::now`], in picoseconds: the best of eight rounds of 64
    /// reads, about ten microseconds altogether.
    #[must_use]
    pub fn read_cost_ps(&self) -> u64 {
        const READS: u64 = 64;
        let round = || {
            let start = monotonic();
            for _ in 0..READS {
                std::hint::black_box(self.now());
            }
            monotonic().saturating_sub(start)
        };
        (0..8).map(|_| round()).min().unwrap_or(0) * 1000 / READS
    }

    /// Compares this clock with `CLOCK_MONOTONIC` since the calibration. For `clock_gettime`, which is
    /// never calibrated, it compares the kernel's clock with itself; for `gettimeofday` it returns zeroes.
    #[must_use]
    pub fn drift(&self) -> Drift {
        if self.source == TimeSource::GetTimeOfDay {
            return Drift { kernel: Nanos::ZERO, difference_ns: 0 };
        }
        let sample = Sample::take_with(|| self.now());
        Drift {
            kernel: Nanos(sample.ns.saturating_sub(self.base_ns)),
            difference_ns: sample.ticks.wrapping_sub(sample.ns) as i64,
        }
    }
}

/// Deviation of a clock from the kernel's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drift {
    /// Kernel time since the calibration.
    pub kernel: Nanos,
    /// The clock's time minus the kernel's, in nanoseconds.
    pub difference_ns: i64,
}

/// A counter reading with the kernel time at the same moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    ticks: u64,
    ns: u64,
}

impl Sample {
    fn take() -> Sample {
        Sample::take_with(ticks)
    }

    /// Reads the kernel clock between two counter readings, several times, and keeps the reading with the
    /// narrowest gap, which was not interrupted.
    fn take_with(counter: impl Fn() -> u64) -> Sample {
        let mut best = Sample { ticks: 0, ns: 0 };
        let mut narrowest = u64::MAX;
        for _ in 0..16 {
            let before = counter();
            let ns = monotonic();
            let gap = counter().wrapping_sub(before);
            if gap < narrowest {
                narrowest = gap;
                best = Sample { ticks: before.wrapping_add(gap / 2), ns };
            }
        }
        best
    }
}

/// First end point of the calibration, set by [`prime`].
static FIRST: OnceLock<Sample> = OnceLock::new();

/// Takes the first end point of the calibration. If `main` calls this first, parsing and planning
/// count as calibration time, and the first [`Clock::best`] seldom waits.
pub fn prime() {
    FIRST.get_or_init(Sample::take);
}

/// Calibrates the counter over at least [`CALIBRATION_NS`], and checks the result against the kernel's
/// clock. `None` if the two do not agree.
fn calibrate() -> Option<Clock> {
    let first = *FIRST.get_or_init(Sample::take);
    let mut last = Sample::take();
    while last.ns.saturating_sub(first.ns) < CALIBRATION_NS {
        std::hint::spin_loop();
        last = Sample::take();
    }
    let clock = fit(first, last)?;
    // Check a third point: a counter that stops, jumps or is emulated at another rate does not agree
    // with the kernel there.
    let probe = Sample::take();
    let off = clock.ticks_to_ns(probe.ticks).abs_diff(probe.ns);
    let allowed = 1_000 + probe.ns.saturating_sub(first.ns) / 10_000;
    (off <= allowed).then_some(clock)
}

/// Fits a line through two samples, with its base at the second. `None` if the counter did not move,
/// or moved at a rate that no processor has (below 10 MHz, above 100 GHz).
fn fit(first: Sample, last: Sample) -> Option<Clock> {
    let ns = last.ns.checked_sub(first.ns)?;
    let ticks = last.ticks.checked_sub(first.ticks)?;
    if ns == 0 || ticks < ns / 100 || ticks / 100 > ns {
        return None;
    }
    let mult = ((u128::from(ns) << SHIFT) + u128::from(ticks) / 2) / u128::from(ticks);
    Some(Clock {
        mult: mult as u64,
        base_ticks: last.ticks,
        base_ns: last.ns,
        source: TimeSource::Cpu,
    })
}

/// Returns why [`TimeSource::Cpu`] cannot be used on this machine; `None` if it can.
pub fn why_not_cpu() -> Option<&'static str> {
    static WHY: OnceLock<Option<&'static str>> = OnceLock::new();
    *WHY.get_or_init(|| {
        if cfg!(miri) {
            return Some("Miri does not execute instructions of the processor");
        }
        if !cfg!(target_arch = "x86_64") {
            return Some("fiord knows no time stamp counter of this processor family");
        }
        if !has_invariant_counter() {
            return Some("the processor's time stamp counter is not invariant (CPUID 8000_0007h)");
        }
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let used = std::fs::read_to_string(path).unwrap_or_default();
        judge_clocksource(used.trim())
    })
}

/// Returns why the counter is not trusted with this clock source. The kernel marks a counter unstable
/// by switching to another source. A hypervisor's paravirtual sources scale the same counter.
fn judge_clocksource(used: &str) -> Option<&'static str> {
    match used {
        "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen" | "tsc-early" => None,
        "" => Some("the kernel does not report its clock source (current_clocksource)"),
        _ => Some("the kernel does not trust the time stamp counter (see current_clocksource)"),
    }
}

#[cfg(target_arch = "x86_64")]
fn has_invariant_counter() -> bool {
    use std::arch::x86_64::__cpuid;
    __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & (1 << 8) != 0
}

#[cfg(not(target_arch = "x86_64"))]
fn has_invariant_counter() -> bool {
    false
}

/// Reads the raw counter; 0 if there is none (no [`TimeSource::Cpu`] clock exists there).
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn ticks() -> u64 {
    // SAFETY: RDTSC exists on every x86-64 processor and touches no memory.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn ticks() -> u64 {
    0
}

/// Reads the raw counter after all instructions before this call.
#[cfg(target_arch = "x86_64")]
fn ordered_ticks() -> u64 {
    // SAFETY: LFENCE exists on every x86-64 processor and touches no memory.
    unsafe { std::arch::x86_64::_mm_lfence() };
    ticks()
}

#[cfg(not(target_arch = "x86_64"))]
fn ordered_ticks() -> u64 {
    ticks()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn best_clock_agrees_with_the_kernel() {
        let clock = Clock::best();
        sleep(Duration::from_millis(20));
        let drift = clock.drift();
        assert!(drift.kernel >= Nanos::from_millis(15), "{drift:?}");
        assert!(drift.difference_ns.unsigned_abs() < 1_000_000, "{drift:?}");
        if clock.source() == TimeSource::Cpu {
            assert!((10_000_000..100_000_000_000).contains(&clock.hertz().unwrap()));
        }
    }

    #[test]
    fn the_clock_never_runs_backwards() {
        let clock = Clock::best();
        let mut last = clock.now();
        for _ in 0..100_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn every_copy_reads_the_same_time_line() {
        let here = Clock::best();
        let before = here.now();
        let there = std::thread::spawn(|| Clock::best().now()).join().unwrap();
        assert!((before..=here.now()).contains(&there));
    }

    #[test]
    fn fit_is_exact_and_refuses_nonsense() {
        let first = Sample { ticks: 1_000, ns: 500 };
        let clock = fit(first, Sample { ticks: 3_001_000, ns: 1_000_500 }).unwrap();
        assert!(clock.hertz().unwrap().abs_diff(3_000_000_000) < 10);
        let year_ticks = 3_000_000_000u64 * 86_400 * 365;
        let passed = clock.ticks_to_ns(3_001_000 + year_ticks) - 1_000_500;
        let exact = 1_000_000_000u64 * 86_400 * 365;
        assert!(passed.abs_diff(exact) < exact / 1_000_000_000 * 2, "{passed} {exact}");
        assert!(fit(first, first).is_none());
        assert!(fit(first, Sample { ticks: 1_001, ns: 1_000_500 }).is_none());
        assert!(fit(first, Sample { ticks: 900, ns: 1_000_500 }).is_none());
    }

    #[test]
    fn words_round_trip() {
        for source in [TimeSource::GetTimeOfDay, TimeSource::ClockGetTime, TimeSource::Cpu] {
            assert_eq!(TimeSource::from_word(source.word()), Some(source));
        }
        assert_eq!(TimeSource::from_word("hpet"), None);
    }

    #[test]
    fn each_source_works_or_gives_a_reason() {
        for source in [TimeSource::GetTimeOfDay, TimeSource::ClockGetTime] {
            let clock = Clock::with_source(source).unwrap();
            assert!(clock.now() > 0);
            assert!(clock.read_cost_ps() < 1_000_000_000);
        }
        let cpu = Clock::with_source(TimeSource::Cpu);
        assert_eq!(cpu.is_ok(), Clock::best().source() == TimeSource::Cpu);
        assert!(judge_clocksource("hpet").is_some());
        assert!(judge_clocksource("tsc").is_none());
    }

    #[test]
    fn unknown_clock_ids_are_errors() {
        assert!(read_id(0).unwrap() > 1_600_000_000_000_000_000);
        assert_eq!(read_id(12345).unwrap_err().errno, Errno::EINVAL);
    }
}
