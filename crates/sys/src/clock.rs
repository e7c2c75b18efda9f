//! Nanoseconds from one clock.
//!
//! A [`Clock`] is a small `Copy` value; every copy in the process reads the same time line, so
//! stamps of different threads may be compared. Its origin is that of `CLOCK_MONOTONIC`: a stamp
//! may be handed to [`sleep_until`] and compared with what the kernel calls monotonic time.
//!
//! Three sources, named by the words of `clocksource=`:
//!
//! - `cpu`: the time stamp counter, where it is invariant (CPUID says so) and the kernel itself
//!   trusts it (`current_clocksource` is `tsc` or one that is read through it). It is calibrated
//!   once per process against `CLOCK_MONOTONIC` and the calibration never changes afterwards: the
//!   clock cannot step, and no cache line is shared with a thread that writes. How far it strays
//!   from the kernel's clock is measured ([`Clock::drift`]), for the report.
//! - `clock_gettime`: `CLOCK_MONOTONIC`.
//! - `gettimeofday`: wall time in microseconds. It may step when the wall clock is set: subtract
//!   stamps with `saturating_sub`.

mod publisher;

pub use publisher::Publisher;

use std::sync::OnceLock;
use std::time::Duration;

use crate::{Error, Result};

/// Shortest span over which the time stamp counter is calibrated, in nanoseconds.
///
/// An end point is known to some ten nanoseconds, so that a rate from 1 ms is good to about 10⁻⁵
/// even when the machine is busy.
const CALIBRATION_NS: u64 = 1_000_000;

/// Binary digits behind the point of [`Clock::mult`].
const SHIFT: u32 = 32;

/// Where a clock's time comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// `gettimeofday(2)`: wall time, microseconds.
    GetTimeOfDay,
    /// `clock_gettime(2)` with `CLOCK_MONOTONIC`.
    ClockGetTime,
    /// The processor's invariant time stamp counter.
    Cpu,
    /// What a thread on a CPU of its own writes down (`gtod_cpu=`; see [`Publisher`]).
    Published,
}

impl Source {
    /// The word of `clocksource=`; that of the option `gtod_cpu` for [`Source::Published`].
    pub fn word(self) -> &'static str {
        match self {
            Source::GetTimeOfDay => "gettimeofday",
            Source::ClockGetTime => "clock_gettime",
            Source::Cpu => "cpu",
            Source::Published => "gtod_cpu",
        }
    }

    /// The source with this word of `clocksource=`.
    pub fn from_word(word: &str) -> Option<Source> {
        [Source::GetTimeOfDay, Source::ClockGetTime, Source::Cpu]
            .into_iter()
            .find(|source| source.word() == word)
    }
}

/// A clock to be copied to wherever stamps are taken.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// Nanoseconds a tick, with [`SHIFT`] binary digits behind the point.
    mult: u64,
    base_ticks: u64,
    base_ns: u64,
    source: Source,
}

impl Clock {
    /// The best clock of this machine: the time stamp counter if it can be trusted, else
    /// `CLOCK_MONOTONIC`. The first call may take a millisecond to calibrate (see [`prime`]),
    /// later ones take nothing.
    pub fn best() -> Clock {
        Clock::cpu().unwrap_or(Clock::plain(Source::ClockGetTime))
    }

    /// The clock with this source.
    ///
    /// # Errors
    /// `EOPNOTSUPP` for [`Source::Cpu`] where the counter cannot be trusted ([`why_not_cpu`] says
    /// why), and for [`Source::Published`], which only a [`Publisher`] gives.
    pub fn with_source(source: Source) -> Result<Clock> {
        match source {
            Source::Cpu => {
                Clock::cpu().ok_or_else(|| Error::new("clocksource=cpu", libc::EOPNOTSUPP))
            }
            Source::Published => Err(Error::new("gtod_cpu without its thread", libc::EOPNOTSUPP)),
            other => Ok(Clock::plain(other)),
        }
    }

    fn plain(source: Source) -> Clock {
        Clock { mult: 0, base_ticks: 0, base_ns: 0, source }
    }

    fn cpu() -> Option<Clock> {
        static CALIBRATED: OnceLock<Option<Clock>> = OnceLock::new();
        *CALIBRATED.get_or_init(|| why_not_cpu().is_none().then(calibrate).flatten())
    }

    /// Nanoseconds now.
    #[inline(always)]
    pub fn now(&self) -> u64 {
        if self.source == Source::Cpu { self.ticks_to_ns(ticks()) } else { self.now_from_kernel() }
    }

    /// Counter reading to nanoseconds: one widening multiplication and a shift (two instructions
    /// on x86-64). Good for 2^64 ticks after the base, which is a century.
    #[inline(always)]
    fn ticks_to_ns(&self, ticks: u64) -> u64 {
        let passed = ticks.wrapping_sub(self.base_ticks);
        self.base_ns.wrapping_add(((u128::from(passed) * u128::from(self.mult)) >> SHIFT) as u64)
    }

    #[cold]
    #[inline(never)]
    fn now_from_kernel(&self) -> u64 {
        match self.source {
            Source::GetTimeOfDay => {
                let us = read(libc::CLOCK_REALTIME) / 1000;
                us * 1000
            }
            Source::Published => publisher::published(),
            _ => monotonic(),
        }
    }

    /// Where this clock's time comes from.
    pub fn source(&self) -> Source {
        self.source
    }

    /// Counter ticks a second, for a [`Source::Cpu`] clock.
    pub fn hertz(&self) -> Option<u64> {
        (self.mult != 0).then(|| ((1_000_000_000u128 << SHIFT) / u128::from(self.mult)) as u64)
    }

    /// Measures the cost of one [`Clock::now`], in picoseconds: the best of eight rounds of 64
    /// reads, some ten microseconds altogether.
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

    /// Compares this clock with `CLOCK_MONOTONIC` since the calibration (for `clock_gettime`,
    /// which is never calibrated, the kernel against itself; nothing for `gettimeofday`).
    pub fn drift(&self) -> Drift {
        if self.source == Source::GetTimeOfDay {
            return Drift { kernel_ns: 0, difference_ns: 0 };
        }
        let sample = Sample::take_with(|| self.now());
        Drift {
            kernel_ns: sample.ns.saturating_sub(self.base_ns),
            difference_ns: sample.ticks.wrapping_sub(sample.ns) as i64,
        }
    }
}

/// How far a clock has strayed from the kernel's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drift {
    /// Kernel time since the calibration, in nanoseconds.
    pub kernel_ns: u64,
    /// The clock's time less the kernel's, in nanoseconds.
    pub difference_ns: i64,
}

/// A counter reading and the kernel time of the same moment.
#[derive(Debug, Clone, Copy)]
struct Sample {
    ticks: u64,
    ns: u64,
}

impl Sample {
    fn take() -> Sample {
        Sample::take_with(ticks)
    }

    /// Reads the kernel clock between two counter readings, several times, and keeps the reading
    /// with the narrowest gap: the one nothing interrupted.
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

/// Takes the first end point of the calibration. Called first thing in `main`, it lets parsing
/// and planning count as calibration time, so that the first [`Clock::best`] seldom waits.
pub fn prime() {
    FIRST.get_or_init(Sample::take);
}

/// Calibrates the counter over at least [`CALIBRATION_NS`], and checks the result against the
/// kernel's clock. `None` if the two cannot be brought together.
fn calibrate() -> Option<Clock> {
    let first = *FIRST.get_or_init(Sample::take);
    let mut last = Sample::take();
    while last.ns.saturating_sub(first.ns) < CALIBRATION_NS {
        std::hint::spin_loop();
        last = Sample::take();
    }
    let clock = fit(first, last)?;
    // What the counter says must agree with the kernel at a third point: a counter that stops,
    // jumps or is emulated at another rate does not.
    let probe = Sample::take();
    let off = clock.ticks_to_ns(probe.ticks).abs_diff(probe.ns);
    let allowed = 1_000 + probe.ns.saturating_sub(first.ns) / 10_000;
    (off <= allowed).then_some(clock)
}

/// The line through two samples, with its base at the second. `None` for a counter that did not
/// move, or moves at a rate no processor has (below 10 MHz, above 100 GHz).
fn fit(first: Sample, last: Sample) -> Option<Clock> {
    let ns = last.ns.checked_sub(first.ns)?;
    let ticks = last.ticks.checked_sub(first.ticks)?;
    if ns == 0 || ticks < ns / 100 || ticks / 100 > ns {
        return None;
    }
    let mult = ((u128::from(ns) << SHIFT) + u128::from(ticks) / 2) / u128::from(ticks);
    Some(Clock { mult: mult as u64, base_ticks: last.ticks, base_ns: last.ns, source: Source::Cpu })
}

/// Why [`Source::Cpu`] cannot be used on this machine; `None` if it can.
pub fn why_not_cpu() -> Option<&'static str> {
    static WHY: OnceLock<Option<&'static str>> = OnceLock::new();
    *WHY.get_or_init(|| {
        if !cfg!(target_arch = "x86_64") {
            return Some("this processor family has no time stamp counter known here");
        }
        if !has_invariant_counter() {
            return Some("the processor's time stamp counter is not invariant (CPUID 8000_0007h)");
        }
        let path = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        let used = std::fs::read_to_string(path).unwrap_or_default();
        judge_clocksource(used.trim())
    })
}

/// The kernel marks a counter unstable by moving to another source. Under a hypervisor its
/// paravirtual sources are scaled readings of the same counter.
fn judge_clocksource(used: &str) -> Option<&'static str> {
    match used {
        "tsc" | "kvm-clock" | "hyperv_clocksource_tsc_page" | "xen" | "tsc-early" => None,
        "" => Some("the kernel does not say which clock source it trusts"),
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

/// The raw counter; 0 where there is none (no [`Source::Cpu`] clock is ever made there).
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

/// `CLOCK_MONOTONIC` in nanoseconds.
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Wall time in nanoseconds since 1970.
pub fn wall() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// CPU time of the calling thread in nanoseconds.
pub fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

fn read(id: libc::clockid_t) -> u64 {
    // The ids used inside this module always exist.
    read_id(id).unwrap_or(0)
}

/// Any clock by its number (`job_start_clock_id`), in nanoseconds.
///
/// # Errors
/// `EINVAL` for a number the kernel does not know.
pub fn read_id(id: i32) -> Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid timespec to write to.
    let rc = unsafe { libc::clock_gettime(id, &mut time) };
    crate::error::check("clock_gettime", rc)?;
    Ok((time.tv_sec as u64).wrapping_mul(1_000_000_000).wrapping_add(time.tv_nsec as u64))
}

/// Sleeps until `CLOCK_MONOTONIC` (and so a [`Clock`] that is not `gettimeofday`) reaches
/// `deadline_ns`. Returns `false` if a signal ended the sleep early.
pub fn sleep_until(deadline_ns: u64) -> bool {
    let time = libc::timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as libc::time_t,
        tv_nsec: (deadline_ns % 1_000_000_000) as libc::c_long,
    };
    // SAFETY: `time` is a valid timespec; no remainder is asked for with TIMER_ABSTIME.
    let rc = unsafe {
        libc::clock_nanosleep(
            libc::CLOCK_MONOTONIC,
            libc::TIMER_ABSTIME,
            &time,
            std::ptr::null_mut(),
        )
    };
    rc == 0
}

/// Sleeps for a span, or less if a signal arrives. Returns `false` in that case.
pub fn sleep(span: Duration) -> bool {
    sleep_until(monotonic().saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX / 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_clock_agrees_with_the_kernel() {
        let clock = Clock::best();
        sleep(Duration::from_millis(20));
        let drift = clock.drift();
        assert!(drift.kernel_ns >= 15_000_000, "{drift:?}");
        assert!(drift.difference_ns.unsigned_abs() < 1_000_000, "{drift:?}");
        if clock.source() == Source::Cpu {
            assert!((10_000_000..100_000_000_000).contains(&clock.hertz().unwrap()));
        }
    }

    #[test]
    fn never_runs_backwards() {
        let clock = Clock::best();
        let mut last = clock.now();
        for _ in 0..100_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn every_copy_is_the_same_time_line() {
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
        for source in [Source::GetTimeOfDay, Source::ClockGetTime, Source::Cpu] {
            assert_eq!(Source::from_word(source.word()), Some(source));
        }
        assert_eq!(Source::from_word("hpet"), None);
    }

    #[test]
    fn each_source_works_or_says_why() {
        for source in [Source::GetTimeOfDay, Source::ClockGetTime] {
            let clock = Clock::with_source(source).unwrap();
            assert!(clock.now() > 0);
            assert!(clock.read_cost_ps() < 1_000_000_000);
        }
        let cpu = Clock::with_source(Source::Cpu);
        assert_eq!(cpu.is_ok(), Clock::best().source() == Source::Cpu);
        assert!(judge_clocksource("hpet").is_some());
        assert!(judge_clocksource("tsc").is_none());
    }

    #[test]
    fn unknown_clock_ids_are_errors() {
        assert!(read_id(0).unwrap() > 1_600_000_000_000_000_000);
        assert_eq!(read_id(12345).unwrap_err().errno, libc::EINVAL);
    }
}
