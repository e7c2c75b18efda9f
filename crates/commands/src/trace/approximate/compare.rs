//! How much the I/Os of a job differ from those of a trace.

use fiord_types::{Bytes, Dir};

use super::job::JobModel;
use crate::amount;
use crate::trace::profile::TraceProfile;

/// The difference in one property.
#[derive(Debug, Clone, PartialEq)]
pub struct JobDifference {
    pub what: &'static str,
    /// Value of the property in the trace.
    pub trace: String,
    /// Value of the property in the I/Os of the job.
    pub job: String,
    /// The difference in per cent: of the I/Os, or of the value if it is a size.
    pub percent: f64,
}

/// Caches for which reuse is compared, as shares of the working set.
const CACHES: [f64; 5] = [1.0 / 64.0, 1.0 / 16.0, 0.25, 0.5, 1.0];

fn shares(what: &'static str, trace: f64, job: f64) -> JobDifference {
    let text = |share: f64| format!("{:.1} %", share * 100.0);
    let percent = (trace - job).abs() * 100.0;
    JobDifference { what, trace: text(trace), job: text(job), percent }
}

fn distance(what: &'static str, share: f64) -> JobDifference {
    let (trace, job) = (String::new(), String::new());
    JobDifference { what, trace, job, percent: share * 100.0 }
}

/// Compares reads and writes.
pub(super) fn transfers(
    trace: &TraceProfile,
    made: &TraceProfile,
    job: &JobModel,
) -> Vec<JobDifference> {
    let reads = |profile: &TraceProfile| {
        let [reads, writes] = [Dir::Read, Dir::Write].map(|dir| profile.dir(dir).ios() as f64);
        reads / (reads + writes).max(1.0)
    };
    let mut all = vec![shares("reads", reads(trace), reads(made))];
    for (dir, size, sequential) in [
        (Dir::Read, "sizes of reads", "sequential reads"),
        (Dir::Write, "sizes of writes", "sequential writes"),
    ] {
        if trace.dir(dir).ios() > 0 {
            let mut sizes = distance(size, trace.sizes(dir).difference(made.sizes(dir)));
            let mean = |profile: &TraceProfile| {
                let count = profile.dir(dir);
                let mean = count.bytes().0 as f64 / count.ios().max(1) as f64;
                format!("{} on average", amount::rounded(Bytes(mean.round() as u64)))
            };
            (sizes.trace, sizes.job) = (mean(trace), mean(made));
            all.push(sizes);
            all.push(shares(sequential, trace.sequential(dir).0, made.sequential(dir).0));
        }
    }
    all.extend(places(trace, made));
    if job.rate.is_some() {
        let mut gaps = distance("times between I/Os", trace.rates().gap_error(job.poisson));
        let variation = trace.rates().gap_variation().unwrap_or(0.0);
        gaps.trace = format!("variation {variation:.2}");
        gaps.job = format!("variation {}", u8::from(job.poisson));
        all.push(gaps);
    }
    all
}

/// Compares where I/Os go.
pub(super) fn places(trace: &TraceProfile, made: &TraceProfile) -> Vec<JobDifference> {
    let (skew, other) = (trace.skew(), made.skew());
    let mut hottest = distance("skew", skew.difference(&other));
    hottest.trace = format!("{:.1} % to the hottest 10 %", skew.io_of(0.1) * 100.0);
    hottest.job = format!("{:.1} % to the hottest 10 %", other.io_of(0.1) * 100.0);
    let sets = [trace, made].map(|profile| profile.working_set());
    let working_set = JobDifference {
        what: "working set",
        trace: amount::rounded(sets[0]),
        job: amount::rounded(sets[1]),
        percent: (sets[1].0 as f64 / sets[0].0.max(1) as f64 - 1.0).abs() * 100.0,
    };
    let mut reuse = shares("reuse", trace.sample().reused(), made.sample().reused());
    reuse.percent = reuse_difference(trace, made) * 100.0;
    vec![hottest, working_set, reuse]
}

/// The largest difference between the hit rates of caches of the same size.
fn reuse_difference(trace: &TraceProfile, made: &TraceProfile) -> f64 {
    let blocks = trace.working_set().0 as f64 / crate::trace::profile::BLOCK.0 as f64;
    let differs = |share: &f64| {
        let cache = share * blocks;
        (trace.sample().hits(cache) - made.sample().hits(cache)).abs()
    };
    CACHES.iter().map(differs).fold(0.0, f64::max)
}

pub(super) fn trims(trace: &TraceProfile, made: &TraceProfile) -> Vec<JobDifference> {
    let sizes = trace.sizes(Dir::Trim).difference(made.sizes(Dir::Trim));
    vec![
        distance("sizes of trims", sizes),
        shares("sequential trims", trace.sequential(Dir::Trim).0, made.sequential(Dir::Trim).0),
    ]
}
