//! When I/Os are made.

/// How fast a job makes its I/Os.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Pace {
    /// `rate`, `rate_iops`: of each direction; `None`: as fast as it goes.
    pub rate: [Option<Rate>; 3],
    /// `rate_min`, `rate_iops_min`: below it the job ends with an error.
    pub floor: [Option<Rate>; 3],
    /// `rate_cycle`: over this time the floor is checked.
    pub cycle: u64,
    /// `rate_process`.
    pub process: RateProcess,
    /// `rate_ignore_thinktime`: what was not done in a think time is not made up for.
    pub forgive_think: bool,
    /// `thinktime` and its family.
    pub think: Option<Think>,
    /// `flow`: the share among the jobs with the same `flow_id`.
    pub flow: Option<FlowShare>,
    /// `max_latency`: an I/O that takes longer ends the job.
    pub max_latency: [Option<u64>; 3],
    /// `latency_target`: look for the depth that keeps it.
    pub goal: Option<LatencyGoal>,
    /// `io_submit_mode=offload`: a synchronous engine gets a thread for each of its I/Os.
    pub offload: bool,
}

impl Pace {
    /// Whether anything but the device and the depth decides when an I/O is made, or is checked
    /// when one ends.
    pub fn is_free(&self) -> bool {
        self.rate == [None; 3]
            && self.floor == [None; 3]
            && self.think.is_none()
            && self.flow.is_none()
            && self.max_latency == [None; 3]
            && self.goal.is_none()
    }
}

/// A rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Bytes a second, at least 1.
    Bytes(u64),
    /// I/Os a second, at least 1.
    Ios(u64),
}

/// `rate_process`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RateProcess {
    /// Evenly spaced.
    #[default]
    Linear,
    /// Exponentially distributed spaces.
    Poisson,
}

/// `thinktime` and its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Think {
    /// `thinktime`: how long a pause is.
    pub time: u64,
    /// `thinktime_spin`: how much of it is spent busy.
    pub spin: u64,
    /// `thinkcycles`: busy for this many cycles after each I/O.
    pub cycles: u64,
    /// `thinktime_blocks`: a pause after so many I/Os; `None`: only after `io_time`.
    pub blocks: Option<u32>,
    /// `thinktime_blocks_type=issue`: they count when they are issued.
    pub on_issue: bool,
    /// `thinktime_iotime`: a pause after so long; 0: only after `blocks`.
    pub io_time: u64,
}

/// A job's part of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowShare {
    /// `flow_id`.
    pub id: u32,
    /// `flow`: its weight, at least 1.
    pub weight: u32,
    /// `flow_sleep`: how long it waits before it looks again.
    pub sleep: u64,
}

/// `latency_target` and its family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyGoal {
    /// `latency_target`: no I/O is to take longer.
    pub target: u64,
    /// `latency_window`: how long a depth is tried.
    pub window: u64,
    /// `latency_percentile`: the share of I/Os that has to keep the target, in millionths.
    pub share_ppm: u32,
    /// `latency_run`: go on adjusting when the depth is found.
    pub keep_on: bool,
}
