//! Values of the options `sim_*`.
//!
//! Times have a unit (`ns`, `us`, `ms`, `s`, `m`); a number without a unit is in microseconds.
//! Sizes may end in `k`, `m`, `g` or `t` (powers of 1024).

use std::path::PathBuf;

use fiord_plan::{FaultEffect, FaultTrigger, SimCrash, SimFault, SimPlan};
use fiord_types::{Bytes, Errno, Nanos};

use super::random::LatencyDistribution;
use crate::EngineError;

/// Options of the simulated device.
#[derive(Debug, Clone, PartialEq)]
pub struct SimOptions {
    /// `sim_seed`: seed of all latencies and faults.
    pub seed: u64,
    /// `sim_latency`, or `sim_read_latency`, `sim_write_latency`, `sim_trim_latency` and
    /// `sim_sync_latency`, in this order.
    pub latency: [LatencyDistribution; 4],
    /// `sim_size`: size of the device; 0: unlimited.
    pub size: Bytes,
    /// `sim_channels`: number of I/Os that the device serves at a time; 0: unlimited.
    pub channels: u32,
    /// `sim_error_rate`: percentage of I/Os that fail with `EIO`.
    pub error_rate: f64,
    /// `sim_errors`: I/Os that fail, by position or by number.
    pub errors: Vec<Fault>,
    /// `sim_short_rate`: percentage of I/Os that transfer only their first sectors.
    pub short_rate: f64,
    /// `sim_stall`, or `sim_stall_at` with `sim_stall_time`: start (ns after the clock's start) and
    /// length (ns) of the times in which the device does nothing, in ascending order.
    pub stalls: Vec<(u64, u64)>,
    /// `sim_faults`, followed by `sim_torn_rate` and `sim_lost_rate` as faults.
    pub faults: Vec<SimFault>,
    pub crash: Option<SimCrash>,
    /// `sim_submit_cost`: time that the submission of an op takes from the submitter.
    pub submit_cost: Nanos,
    /// `sim_complete_cost`: time that a completion takes from the reaper.
    pub complete_cost: Nanos,
    /// `sim_store`: the device stores what is written and returns it to reads.
    pub store: bool,
    /// `sim_real_time`: the device runs on real time.
    pub real_time: bool,
    /// `sim_record`: the file that lists all ops with their times.
    pub record: Option<PathBuf>,
}

/// A fault that the options demand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fault {
    pub errno: Errno,
    /// The ops that fail.
    pub on: FaultOn,
}

/// The ops that a fault affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultOn {
    /// Ops that touch a byte from the first offset up to, and not including, the second.
    Bytes(u64, u64),
    /// The op with this number, counted from 1 in the order of submission.
    Op(u64),
}

impl Default for SimOptions {
    fn default() -> Self {
        SimOptions {
            seed: 1,
            latency: [LatencyDistribution::Constant(100_000); 4],
            size: Bytes::ZERO,
            channels: 64,
            error_rate: 0.0,
            errors: Vec::new(),
            short_rate: 0.0,
            stalls: Vec::new(),
            faults: Vec::new(),
            crash: None,
            submit_cost: Nanos::ZERO,
            complete_cost: Nanos::ZERO,
            store: false,
            real_time: false,
            record: None,
        }
    }
}

impl SimOptions {
    /// The options of a plan.
    ///
    /// # Errors
    ///
    /// A value is invalid.
    pub fn of(plan: &SimPlan) -> Result<Self, EngineError> {
        let mut options = SimOptions::parse(&plan.options)?;
        options.faults.splice(0..0, plan.faults.iter().cloned());
        options.crash = plan.crash;
        options.store |= !options.faults.is_empty() || options.crash.is_some();
        Ok(options)
    }

    /// Parses the options. Their order does not matter.
    ///
    /// # Errors
    ///
    /// A value is invalid, or there is no such option. The error names the option.
    pub fn parse(list: &[(String, String)]) -> Result<Self, EngineError> {
        let mut options = SimOptions::default();
        let mut stall = (0, 0);
        if let Some((_, text)) = list.iter().find(|(name, _)| name == "sim_latency") {
            options.latency = [distribution("sim_latency", text)?; 4];
        }
        for (name, text) in list {
            let rest = options.set(name, text)?;
            match rest {
                None => {}
                Some("sim_stall_at") => stall.0 = seconds(name, text)?,
                Some("sim_stall_time") => stall.1 = seconds(name, text)?,
                Some(_) => {
                    return Err(EngineError::plain(format!("ioengine=sim has no option {name}")));
                }
            }
        }
        if stall.1 > 0 {
            options.stalls.push(stall);
        }
        options.stalls.sort();
        options.store |= !options.faults.is_empty();
        Ok(options)
    }

    /// Sets one option. Returns the name of an option that this function does not handle.
    fn set<'a>(&mut self, name: &'a str, text: &str) -> Result<Option<&'a str>, EngineError> {
        match name {
            "sim_seed" => self.seed = number(name, text)?,
            "sim_latency" => {}
            "sim_read_latency" => self.latency[0] = distribution(name, text)?,
            "sim_write_latency" => self.latency[1] = distribution(name, text)?,
            "sim_trim_latency" => self.latency[2] = distribution(name, text)?,
            "sim_sync_latency" => self.latency[3] = distribution(name, text)?,
            "sim_size" => self.size = Bytes(size(name, text)?),
            "sim_channels" => {
                self.channels = u32::try_from(number(name, text)?)
                    .map_err(|_| wrong(name, text, "a number below 4294967296"))?;
            }
            "sim_error_rate" => self.error_rate = percent(name, text)?,
            "sim_errors" => self.errors = parse_list(text, |item| fault(name, item))?,
            "sim_short_rate" => self.short_rate = percent(name, text)?,
            "sim_stall" => self.stalls = parse_list(text, |item| stall(name, item))?,
            "sim_torn_rate" => {
                let torn = FaultEffect::Torn { sectors: None, unit: Bytes(512) };
                self.faults.extend(at_rate(torn, percent(name, text)?));
            }
            "sim_lost_rate" => {
                self.faults.extend(at_rate(FaultEffect::Lost, percent(name, text)?));
            }
            "sim_submit_cost" => self.submit_cost = Nanos(time(name, text)?),
            "sim_complete_cost" => self.complete_cost = Nanos(time(name, text)?),
            "sim_store" => self.store = number(name, text)? != 0,
            "sim_record" => self.record = Some(PathBuf::from(text)),
            "sim_real_time" => self.real_time = number(name, text)? != 0,
            other => return Ok(Some(other)),
        }
        Ok(None)
    }
}

/// A fault that strikes this percentage of the I/Os; `None` for 0.
fn at_rate(effect: FaultEffect, percent: f64) -> Option<SimFault> {
    let trigger = FaultTrigger { rate: Some(percent), ..FaultTrigger::default() };
    (percent > 0.0).then_some(SimFault { effect, trigger })
}

fn wrong(name: &str, text: &str, right: &str) -> EngineError {
    EngineError::plain(format!("invalid value `{text}` for {name}"))
        .help(format!("To fix: give {right}"))
}

fn parse_list<T>(
    text: &str,
    read: impl Fn(&str) -> Result<T, EngineError>,
) -> Result<Vec<T>, EngineError> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(read).collect()
}

fn number(name: &str, text: &str) -> Result<u64, EngineError> {
    text.trim().parse().map_err(|_| wrong(name, text, "a whole number"))
}

fn percent(name: &str, text: &str) -> Result<f64, EngineError> {
    let digits = text.trim().trim_end_matches('%');
    let value: Option<f64> = digits.parse().ok().filter(|value| (0.0..=100.0).contains(value));
    value.ok_or_else(|| wrong(name, text, "a share from 0 to 100, in per cent"))
}

/// Parses a number with a unit. `units` maps each unit to its factor.
fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let text = text.trim().to_ascii_lowercase();
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let factor = units.iter().find(|(word, _)| *word == unit.trim())?.1;
    if let Ok(whole) = digits.parse::<u64>() {
        return whole.checked_mul(factor);
    }
    let value = digits.parse::<f64>().ok()? * factor as f64;
    (value < u64::MAX as f64).then_some(value.round() as u64)
}

const SECOND: u64 = 1_000_000_000;

fn time_text(text: &str, bare: u64) -> Option<u64> {
    let units = [
        ("", bare),
        ("ns", 1),
        ("us", 1000),
        ("usec", 1000),
        ("ms", 1_000_000),
        ("msec", 1_000_000),
        ("s", SECOND),
        ("sec", SECOND),
        ("m", 60 * SECOND),
    ];
    with_unit(text, &units)
}

fn time(name: &str, text: &str) -> Result<u64, EngineError> {
    time_text(text, 1000).ok_or_else(|| wrong(name, text, "a time such as 100us or 5ms"))
}

fn seconds(name: &str, text: &str) -> Result<u64, EngineError> {
    time_text(text, SECOND).ok_or_else(|| wrong(name, text, "a time such as 2s or 500ms"))
}

fn size_text(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let short = lower.strip_suffix("ib").or(lower.strip_suffix('b')).unwrap_or(&lower);
    let units = [("", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)];
    with_unit(short, &units)
}

fn size(name: &str, text: &str) -> Result<u64, EngineError> {
    size_text(text).ok_or_else(|| wrong(name, text, "a size such as 4096, 10g or 1t"))
}

/// Parses `constant:T`, `uniform:T-T`, `normal:T,T`, `exponential:T` or `lognormal:T,SIGMA`.
/// Between two parameters `:`, `,` and `-` are equivalent.
fn distribution(name: &str, text: &str) -> Result<LatencyDistribution, EngineError> {
    const RIGHT: &str = "constant:100us, uniform:50us-150us, normal:100us,20us, exponential:100us \
                         or lognormal:100us,0.5";
    let error = || wrong(name, text, RIGHT);
    let (word, rest) = text.trim().split_once(':').unwrap_or(("constant", text));
    let mut parts = rest.splitn(2, [':', ',', '-']);
    let first = parts.next().and_then(|part| time_text(part, 1000)).ok_or_else(error)?;
    let second = parts.next();
    let second_time = || second.and_then(|part| time_text(part, 1000)).ok_or_else(error);
    let made = match (word.trim(), second) {
        ("constant", None) => LatencyDistribution::Constant(first),
        ("exponential", None) => LatencyDistribution::Exponential(first),
        ("uniform", Some(_)) => LatencyDistribution::Uniform(first, second_time()?),
        ("normal", Some(_)) => {
            LatencyDistribution::Normal { mean: first, deviation: second_time()? }
        }
        ("lognormal", Some(part)) => {
            let sigma: Option<f64> = part.trim().parse().ok();
            let sigma = sigma.filter(|sigma| (0.0..=10.0).contains(sigma)).ok_or_else(error)?;
            LatencyDistribution::Lognormal { median: first, sigma }
        }
        _ => return Err(error()),
    };
    match made {
        LatencyDistribution::Uniform(low, high) if low > high => Err(error()),
        made => Ok(made),
    }
}

/// Parses `errno@offset-range` or `errno#n`.
fn fault(name: &str, text: &str) -> Result<Fault, EngineError> {
    const RIGHT: &str = "a list of ERRNO@FIRST-END (bytes, the end not included), ERRNO@OFFSET or ERRNO#NTH, such \
         as EIO@1m-2m,ENOSPC#100";
    let error = || wrong(name, text, RIGHT);
    let at = text.find(['@', '#']).ok_or_else(error)?;
    let (word, place) = (&text[..at], &text[at + 1..]);
    let errno = Errno::named(&word.trim().to_ascii_uppercase());
    let errno =
        errno.or_else(|| word.parse().ok().filter(|n| (1..4096).contains(n)).map(Errno::from_raw));
    let errno = errno.ok_or_else(error)?;
    if text.as_bytes()[at] == b'#' {
        let nth = place.trim().parse().ok().filter(|n| *n > 0).ok_or_else(error)?;
        return Ok(Fault { errno, on: FaultOn::Op(nth) });
    }
    let (first, end) = match place.split_once('-') {
        Some((first, end)) => (size_text(first), size_text(end)),
        None => (size_text(place), size_text(place).and_then(|first| first.checked_add(1))),
    };
    match (first, end) {
        (Some(first), Some(end)) if first < end => {
            Ok(Fault { errno, on: FaultOn::Bytes(first, end) })
        }
        _ => Err(error()),
    }
}

/// Parses `at:duration`.
fn stall(name: &str, text: &str) -> Result<(u64, u64), EngineError> {
    let both = text
        .split_once(':')
        .and_then(|(at, span)| Some((time_text(at, 1000)?, time_text(span, 1000)?)));
    both.ok_or_else(|| wrong(name, text, "a list of AT:DURATION, such as 2s:500ms,10s:1s"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(list: &[(&str, &str)]) -> Result<SimOptions, EngineError> {
        let list: Vec<_> =
            list.iter().map(|(name, text)| (name.to_string(), text.to_string())).collect();
        SimOptions::parse(&list)
    }

    #[test]
    fn every_option_is_read() {
        let options = parse(&[
            ("sim_seed", "7"),
            ("sim_write_latency", "uniform:50us-150us"),
            ("sim_latency", "lognormal:90us:0.4"),
            ("sim_trim_latency", "normal:1ms,100"),
            ("sim_sync_latency", "exponential:2ms"),
            ("sim_size", "1t"),
            ("sim_channels", "8"),
            ("sim_error_rate", "0.1"),
            ("sim_errors", "EIO@1m-2m, enospc#100,5@4k"),
            ("sim_short_rate", "1"),
            ("sim_stall", "2s:500ms,1s:10"),
            ("sim_stall_at", "3"),
            ("sim_stall_time", "1"),
            ("sim_torn_rate", "2.5%"),
            ("sim_submit_cost", "300ns"),
            ("sim_complete_cost", "1"),
            ("sim_store", "1"),
        ])
        .unwrap();
        assert_eq!(options.seed, 7);
        assert_eq!(
            options.latency,
            [
                LatencyDistribution::Lognormal { median: 90_000, sigma: 0.4 },
                LatencyDistribution::Uniform(50_000, 150_000),
                LatencyDistribution::Normal { mean: 1_000_000, deviation: 100_000 },
                LatencyDistribution::Exponential(2_000_000),
            ]
        );
        assert_eq!((options.size, options.channels), (Bytes(1 << 40), 8));
        assert_eq!(
            options.errors,
            [
                Fault { errno: Errno::EIO, on: FaultOn::Bytes(1 << 20, 2 << 20) },
                Fault { errno: Errno::ENOSPC, on: FaultOn::Op(100) },
                Fault { errno: Errno::EIO, on: FaultOn::Bytes(4096, 4097) },
            ]
        );
        assert_eq!(
            options.stalls,
            [(SECOND, 10_000), (2 * SECOND, SECOND / 2), (3 * SECOND, SECOND)]
        );
        assert_eq!((options.submit_cost, options.complete_cost), (Nanos(300), Nanos(1000)));
        assert_eq!(options.faults[0].trigger.rate, Some(2.5));
    }

    #[test]
    fn an_invalid_value_is_an_error_that_names_the_option() {
        for (name, text) in [
            ("sim_latency", "gauss:3"),
            ("sim_latency", "uniform:5us-1us"),
            ("sim_latency", "uniform:5us"),
            ("sim_latency", "constant:1us:2us"),
            ("sim_latency", ""),
            ("sim_latency", "constant:99999999999999999999s"),
            ("sim_error_rate", "101"),
            ("sim_error_rate", "nan"),
            ("sim_errors", "EFOO@1"),
            ("sim_errors", "EIO@2-1"),
            ("sim_errors", "EIO#0"),
            ("sim_errors", "€@1"),
            ("sim_stall", "1s"),
            ("sim_size", "12q"),
            ("sim_channels", "-1"),
        ] {
            let error = parse(&[(name, text)]).expect_err(text);
            assert!(error.what.contains(name), "{error:?}");
            assert!(error.help.is_some(), "{error:?}");
        }
        assert!(parse(&[("sim_colour", "red")]).unwrap_err().what.contains("sim_colour"));
    }
}
