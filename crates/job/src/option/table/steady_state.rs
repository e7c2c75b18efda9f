//! Ending a job when its results are steady.

use crate::option::declare::*;

words! {
    /// The words of `steadystate`.
    pub enum SteadyCriterion {
        Iops = new("iops", "every IOPS sample is within the limit of the mean"),
        IopsSlope = new(
            "iops_slope",
            "the slope of the regression line through the IOPS samples is within the limit",
        ),
        Bw = new("bw", "every bandwidth sample is within the limit of the mean"),
        BwSlope = new(
            "bw_slope",
            "the slope of the regression line through the bandwidth samples is within the limit",
        ),
        Lat = new("lat", "every latency sample is within the limit of the mean"),
        LatSlope = new(
            "lat_slope",
            "the slope of the regression line through the latency samples is within the limit",
        ),
        Pts = new(
            "pts",
            "over the last five samples, the range is within 20 % and the slope within 10 % \
             of the mean, as in the SNIA performance test specification; `pts:bw` and \
             `pts:lat` use bandwidth and latency instead of IOPS",
        ),
    }
}

options! {
    Category::SteadyState;

    /// Ends the job when a measure stays within a limit. The limit follows a colon and is a number
    /// or a percentage of the mean. `steadystate_duration` turns the check on; `pts` has its own
    /// window of five times `steadystate_check_interval`. Jobs with `group_reporting` are judged,
    /// and end, as a group. The clock of the job's engine times the samples.
    pub const STEADYSTATE: Opt<WithSuffix<SteadyCriterion>> =
        option("steadystate", one_of_with(Suffix::Text), "steadystate=iops:2%")
            .alias(&["ss"])
            .default("iops_slope:0.01%");

    /// The length of the window in which the measure must be steady. 0 turns the check off. A bare
    /// number is in seconds.
    pub const STEADYSTATE_DURATION: Opt<Nanos> =
        option("steadystate_duration", SECONDS, "steadystate_duration=300")
            .alias(&["ss_dur"])
            .default("0")
            .under("steadystate");

    /// How long the job runs before the first sample of the window. A bare number is in seconds.
    pub const STEADYSTATE_RAMP_TIME: Opt<Nanos> =
        option("steadystate_ramp_time", SECONDS, "steadystate_ramp_time=60")
            .alias(&["ss_ramp"])
            .default("0")
            .under("steadystate");

    /// The time between two samples of the window. It must be at least 10 ms and divide
    /// `steadystate_duration` evenly. A bare number is in seconds.
    pub const STEADYSTATE_CHECK_INTERVAL: Opt<Nanos> =
        option("steadystate_check_interval", SECONDS, "steadystate_check_interval=5")
            .alias(&["ss_interval"])
            .default("1")
            .under("steadystate")
            .since("3.42");
}
