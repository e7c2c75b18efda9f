//! `steadystate`: ends a job when its results are steady.

use fiord_job::option::handle::{WithSuffix, WordEnum};
use fiord_job::option::table::{
    DISABLE_CLAT, GTOD_REDUCE, STEADYSTATE, STEADYSTATE_CHECK_INTERVAL, STEADYSTATE_DURATION,
    STEADYSTATE_RAMP_TIME, SteadyCriterion,
};
use fiord_types::{Nanos, SteadyLimit, SteadyMeasure, SteadyRule};

use crate::model::SteadyPlan;
use crate::options::reading::Reading;

/// Minimum interval: twice the time between two housekeeping calls of a worker.
const MIN_INTERVAL: Nanos = Nanos::from_millis(10);
/// Number of samples in the window of `pts`.
const ROUNDS: u64 = 5;
/// Maximum number of samples in a window: every new sample causes a check of the whole window.
const MAX_SAMPLES: u64 = 1_000_000;

/// Reads the `steadystate` criterion of a job. `None`: it has none.
pub(crate) fn steady(job: Reading) -> Option<SteadyPlan> {
    let WithSuffix { word, suffix } = job.get(STEADYSTATE);
    let duration = job.get(STEADYSTATE_DURATION);
    let pts = word == SteadyCriterion::Pts;
    if duration == Nanos::ZERO && !pts {
        // An invalid criterion is an error even though it has no effect.
        if job.is_set(STEADYSTATE) {
            criterion(job, word, suffix.as_deref())?;
        }
        return None;
    }
    let (measure, rule, spec) = criterion(job, word, suffix.as_deref())?;
    let interval = interval(job, pts, duration)?;
    if measure == SteadyMeasure::Latency && (job.get(DISABLE_CLAT) || job.get(GTOD_REDUCE)) {
        job.report(
            job.error(
                STEADYSTATE,
                "steadystate judges completion latency, but the job does not measure it",
            )
            .help("To fix: leave out `disable_clat` and `gtod_reduce`, or judge `iops` or `bw`"),
        );
    }
    let samples = if pts { ROUNDS } else { duration / interval };
    Some(SteadyPlan {
        measure,
        rule,
        spec,
        interval,
        samples: u32::try_from(samples).unwrap_or(u32::MAX),
        ramp: job.get(STEADYSTATE_RAMP_TIME),
    })
}

fn criterion(
    job: Reading,
    state: SteadyCriterion,
    suffix: Option<&str>,
) -> Option<(SteadyMeasure, SteadyRule, String)> {
    let suffix = suffix.map(str::trim);
    let word = state.word();
    let measure = match state {
        SteadyCriterion::Bw | SteadyCriterion::BwSlope => SteadyMeasure::Bandwidth,
        SteadyCriterion::Lat | SteadyCriterion::LatSlope => SteadyMeasure::Latency,
        SteadyCriterion::Iops | SteadyCriterion::IopsSlope | SteadyCriterion::Pts => {
            SteadyMeasure::Iops
        }
    };
    if state == SteadyCriterion::Pts {
        let measure = match suffix {
            None | Some("iops") => SteadyMeasure::Iops,
            Some("bw") => SteadyMeasure::Bandwidth,
            Some("lat") => SteadyMeasure::Latency,
            Some(other) => {
                let what = format!("steadystate=pts cannot judge `{other}`");
                let help = "To fix: write `pts:iops`, `pts:bw` or `pts:lat`";
                job.report(job.error(STEADYSTATE, what).help(help));
                return None;
            }
        };
        let spec = suffix.map_or("pts".to_owned(), |s| format!("pts:{s}"));
        return Some((measure, SteadyRule::Pts, spec));
    }
    let Some(text) = suffix.filter(|s| !s.is_empty()) else {
        let what = format!("steadystate={word} needs a limit");
        let help = format!("To fix: write it after a colon: `{word}:2%`");
        job.report(job.error(STEADYSTATE, what).help(help));
        return None;
    };
    let percent = text.ends_with('%');
    // bench-fio doubles the sign, and fio ignores what follows the first one.
    let number = text.trim_end_matches('%').trim();
    let limit = number.parse::<f64>().ok().filter(|l| l.is_finite() && *l >= 0.0);
    let Some(limit) = limit else {
        let what = format!("`{text}` is not a valid limit of steadystate={word}");
        let help = format!("To fix: write a number or a percentage of 0 or more: `{word}:2%`");
        job.report(job.error(STEADYSTATE, what).help(help));
        return None;
    };
    let spec = format!("{word}:{limit:.6}{}", if percent { "%" } else { "" });
    let slope = [SteadyCriterion::IopsSlope, SteadyCriterion::BwSlope, SteadyCriterion::LatSlope];
    let limit = SteadyLimit { value: limit, percent };
    let rule = match slope.contains(&state) {
        true => SteadyRule::Slope(limit),
        false => SteadyRule::Deviation(limit),
    };
    Some((measure, rule, spec))
}

/// The time between two samples in nanoseconds. It divides the window into at least two parts.
fn interval(job: Reading, pts: bool, duration: Nanos) -> Option<Nanos> {
    let mut interval = job.get(STEADYSTATE_CHECK_INTERVAL);
    if pts && duration > Nanos::ZERO {
        if !job.is_set(STEADYSTATE_CHECK_INTERVAL) {
            interval = duration / ROUNDS;
        }
        if duration != interval.saturating_mul(ROUNDS) {
            let what = "the window of steadystate=pts is five rounds, \
                        and steadystate_duration is not five times steadystate_check_interval";
            let help = "To fix: set one of them: the length of a round, `ss_interval=60`";
            job.report(job.error(STEADYSTATE_DURATION, what).help(help));
            return None;
        }
    }
    if interval < MIN_INTERVAL {
        job.report(
            job.error(STEADYSTATE_CHECK_INTERVAL, "the check interval must be at least 10 ms")
                .help("To fix: write `ss_interval=1`, which is one second"),
        );
        return None;
    }
    let samples = if pts { ROUNDS } else { duration / interval };
    if !pts && (samples < 2 || !duration.0.is_multiple_of(interval.0)) {
        let what = format!(
            "steadystate_duration ({} ms) is not a multiple of steadystate_check_interval ({} ms), \
             or not at least twice as long",
            duration.as_millis(),
            interval.as_millis()
        );
        let help = "To fix: write, for example, `ss_dur=60` with `ss_interval=2`";
        job.report(job.error(STEADYSTATE_DURATION, what).help(help));
        return None;
    }
    if samples > MAX_SAMPLES {
        let what = format!("a window of {samples} samples is too long: the limit is {MAX_SAMPLES}");
        let help = "To fix: use a longer `ss_interval`";
        job.report(job.error(STEADYSTATE_DURATION, what).help(help));
        return None;
    }
    Some(interval)
}
