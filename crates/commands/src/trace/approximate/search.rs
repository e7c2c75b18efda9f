//! Searches the size and the distribution whose I/Os come closest to a trace.

use fiord_types::{Bytes, Dir};

use super::compare;
use super::job::{JobModel, OffsetLaw};
use super::simulate;
use crate::rejected::Rejected;
use crate::trace::profile::{BLOCK, TraceProfile};

/// I/Os of each attempt.
const ATTEMPT: u64 = 250_000;
/// Exponents of the first attempts. The second ones are between the best and its neighbours.
const EXPONENTS: [f64; 8] = [0.4, 0.6, 0.8, 0.95, 1.05, 1.2, 1.5, 2.0];
/// An attempt must be better by this many per cent to be preferred to a simpler one.
const BETTER: f64 = 1.0;

/// The job for reads and writes, and the profile of its I/Os.
pub(super) fn transfers(
    trace: &TraceProfile,
    name: &str,
    filename: &str,
) -> Result<(JobModel, TraceProfile), Rejected> {
    let whole = JobModel::transfers(trace, name, filename);
    let ios = trace.dir(Dir::Read).ios() + trace.dir(Dir::Write).ios();
    let finish = |job: JobModel| {
        let made = simulate::profile(&job, simulate::most(ios))?;
        Ok((job, made))
    };
    if !whole.is_random() {
        return finish(whole);
    }
    let mut best = Attempt::of(trace, whole.clone(), ios)?;
    for size in sizes(trace, &whole, ios) {
        let even = JobModel { size, ..whole.clone() };
        best = best.or(Attempt::of(trace, even.clone(), ios)?, BETTER);
        let zipf = |theta| {
            Attempt::of(trace, JobModel { law: OffsetLaw::Zipf(theta), ..even.clone() }, ios)
        };
        let mut of_size: Option<(usize, Attempt)> = None;
        for (place, theta) in EXPONENTS.into_iter().enumerate() {
            let attempt = zipf(theta)?;
            if of_size.as_ref().is_none_or(|(_, found)| attempt.cost < found.cost) {
                of_size = Some((place, attempt));
            }
        }
        let Some((place, mut found)) = of_size else { continue };
        if found.cost < best.cost + 5.0 {
            let neighbour = |place: usize| EXPONENTS[place.min(EXPONENTS.len() - 1)];
            let (low, high) = (neighbour(place.saturating_sub(1)), neighbour(place + 1));
            for step in 1..6 {
                let theta = low + (high - low) * f64::from(step) / 6.0;
                found = found.or(zipf((theta * 100.0).round() / 100.0)?, 0.0);
            }
        }
        best = best.or(found, BETTER);
    }
    finish(best.job)
}

/// Sizes of the data to try: the whole range, the size of which uniform I/Os would touch as much as those of the trace, and
/// sizes between.
fn sizes(trace: &TraceProfile, whole: &JobModel, ios: u64) -> Vec<Bytes> {
    let touched = trace.working_set();
    let largest =
        Dir::ALL.into_iter().flat_map(|dir| &whole.sizes[dir]).map(|(size, _)| *size).max();
    let least = largest.unwrap_or(BLOCK);
    let per_io = whole.bytes.0 as f64 / ios.max(1) as f64;
    let mut sizes = vec![whole.size];
    let draws = ios as f64 * per_io.max(BLOCK.0 as f64);
    let uniform = uniform_size(touched.0 as f64, draws);
    for size in [Some(touched), uniform, uniform.map(|size| size * 4)].into_iter().flatten() {
        let size = size.0.next_multiple_of(least.0.max(BLOCK.0));
        if size < whole.size.0 / 10 * 9 {
            sizes.push(Bytes(size));
        }
    }
    sizes
}

/// The size of which `draws` bytes of uniform I/O touch `touched` bytes.
fn uniform_size(touched: f64, draws: f64) -> Option<Bytes> {
    let touches = |size: f64| size * (1.0 - (-draws / size).exp());
    let (mut low, mut high) = (touched, touched * 1e6);
    if touched <= 0.0 || touches(high) < touched {
        return None;
    }
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if touches(middle) < touched { low = middle } else { high = middle }
    }
    Some(Bytes(high as u64))
}

struct Attempt {
    job: JobModel,
    cost: f64,
}

impl Attempt {
    /// Simulates a part of the I/Os on a part of the data: both are made smaller by one factor.
    fn of(trace: &TraceProfile, job: JobModel, ios: u64) -> Result<Self, Rejected> {
        let part = (ATTEMPT as f64 / ios.max(1) as f64).min(1.0);
        let largest = job.sizes.values().flatten().map(|(size, _)| size.0).max().unwrap_or(BLOCK.0);
        let size = ((job.size.0 as f64 * part) as u64).next_multiple_of(largest).max(largest);
        let smaller = JobModel { size: Bytes(size.min(job.size.0)), ..job.clone() };
        let made = simulate::profile(&smaller, ios.min(ATTEMPT))?;
        let cost = cost(trace, &made, part);
        Ok(Attempt { job, cost })
    }

    /// The better one of two. The other one must be better by `margin`.
    fn or(self, other: Attempt, margin: f64) -> Attempt {
        if other.cost + margin < self.cost { other } else { self }
    }
}

/// Sum of the differences in skew, working set and reuse, in per cent.
fn cost(trace: &TraceProfile, made: &TraceProfile, part: f64) -> f64 {
    if part >= 1.0 {
        return compare::places(trace, made).iter().map(|difference| difference.percent).sum();
    }
    let skew = trace.skew().difference(&made.skew());
    let expected = trace.working_set().0 as f64 * part;
    let set = (made.working_set().0 as f64 / expected.max(1.0) - 1.0).abs();
    let reuse = (trace.sample().reused() - made.sample().reused()).abs();
    (skew + set + reuse) * 100.0
}
