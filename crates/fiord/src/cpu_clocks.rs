//! `--cpuclock-test`: are the clocks of the CPUs equal?

use std::time::Duration;

use fiord_sys::clock::{self, Clock, CpuCounter, TimeSource};

use crate::exit::Exit;
use crate::sink::{self, report};

/// How long the CPUs are compared.
const SPAN: Duration = Duration::from_millis(500);

/// Compares the clocks, and prints the result in fio's form.
pub(crate) fn compare() -> Exit {
    let clock = Clock::with_source(TimeSource::Cpu);
    let hertz = clock.as_ref().ok().and_then(Clock::hertz);
    let mut text = match (clock::why_not_cpu(), hertz) {
        (None, Some(hertz)) => {
            let mhz = hertz as f64 / 1e6;
            format!("cs: reliable_tsc: yes\ncs: {mhz:.3} MHz, compared with CLOCK_MONOTONIC\n")
        }
        (why, _) => {
            let why = why.unwrap_or("it does not agree with CLOCK_MONOTONIC");
            format!("cs: reliable_tsc: no ({why})\n")
        }
    };
    let counters = match clock::compare_cpus(SPAN) {
        Ok(counters) => counters,
        Err(error) => {
            sink::print(&text);
            report(format_args!(
                "cannot compare the CPUs: {error}\n  To fix: raise the limit on threads (ulimit -u, pids.max)\n"
            ));
            return Exit::Failure;
        }
    };
    text.push_str(&lines(&counters));
    match fault(&counters, hertz) {
        None => {
            text.push_str("cs: Pass!\n");
            sink::print(&text)
        }
        Some(why) => {
            text.push_str(&format!("cs: Fail: {why}\n"));
            sink::print(&text);
            Exit::Failure
        }
    }
}

fn lines(counters: &[CpuCounter]) -> String {
    let plural = fiord_types::plural(counters.len());
    let mut text = format!("cs: Testing {} CPU{plural}\n", counters.len());
    for counter in counters {
        let (cpu, reads, first) = (counter.cpu(), counter.reads(), counter.first());
        let behind = match counter.behind() {
            0 => String::new(),
            ticks => format!(", {ticks} behind another CPU"),
        };
        text.push_str(&format!("cs: cpu {cpu:>2}: {reads} clocks seen, first {first}{behind}\n"));
    }
    text
}

/// Why the clock of the CPUs cannot be used; `None`: it can be used. `hertz`: its frequency; `None`: it is not reliable.
fn fault(counters: &[CpuCounter], hertz: Option<u64>) -> Option<String> {
    let worst = counters.iter().max_by_key(|counter| counter.behind()).filter(|c| c.behind() > 0);
    match (worst, hertz) {
        (_, None) => Some("fiord does not use this clock; it uses CLOCK_MONOTONIC".into()),
        (Some(worst), Some(hertz)) => {
            let ns = worst.behind() as f64 * 1e9 / hertz.max(1) as f64;
            Some(format!(
                "the clock of CPU {} is {ns:.0} ns behind that of another CPU. To fix: set clocksource=clock_gettime",
                worst.cpu()
            ))
        }
        (None, Some(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_behind_fails() {
        let counter = |cpu, behind| CpuCounter::new(cpu, 1000, 5, behind);
        let (good, bad) = (counter(0, 0), counter(1, 3000));
        assert_eq!(fault(&[good], Some(3_000_000_000)), None);
        let why = fault(&[good, bad], Some(3_000_000_000)).unwrap();
        assert!(why.starts_with("the clock of CPU 1 is 1000 ns behind"), "{why}");
        assert!(fault(&[good], None).is_some());
        assert_eq!(
            lines(&[good, bad]),
            "cs: Testing 2 CPUs\ncs: cpu  0: 1000 clocks seen, first 5\n\
             cs: cpu  1: 1000 clocks seen, first 5, 3000 behind another CPU\n"
        );
    }
}
