//! When a job issues its I/Os: rates, think times, flows and latency targets.

use std::num::NonZeroU8;

use fiord_types::{Nanos, PerDir};

use super::RateProcess;

/// How fast a job issues its I/Os.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pace {
    /// `rate`, `rate_iops` per direction. `None`: no limit.
    pub rate: PerDir<Option<Rate>>,
    /// `rate_min`, `rate_iops_min` per direction: the job fails if it gets slower.
    pub min_rate: PerDir<Option<Rate>>,
    /// `rate_cycle`: the interval over which the job checks `min_rate`.
    pub cycle: Nanos,
    /// `rate_process`: how I/Os of a rate are spaced.
    pub process: RateProcess,
    /// `rate_ignore_thinktime`: the job does not catch up on I/Os that it missed during a think
    /// time.
    pub forgive_think: bool,
    /// `thinktime` and related options: pauses between I/Os.
    pub think: Option<Think>,
    /// `cpuload`: the job sleeps between its cycles so that its thread uses this share of the time,
    /// in per cent. `None`: it does not sleep.
    pub cpu_load: Option<NonZeroU8>,
    /// `flow`: the job's share of I/Os among the jobs with the same `flow_id`.
    pub flow: Option<FlowShare>,
    /// `max_latency` per direction: an I/O that takes longer ends the job.
    pub max_latency: PerDir<Option<Nanos>>,
    /// `latency_target`: the job searches for the largest depth that meets it.
    pub latency_target: Option<LatencyTargetPlan>,
    /// `io_submit_mode=offload`: a synchronous engine has one thread per I/O in flight.
    pub offload: bool,
}

/// No limits.
impl Default for Pace {
    fn default() -> Self {
        Pace {
            rate: PerDir::all(None),
            min_rate: PerDir::all(None),
            cycle: Nanos::ZERO,
            process: RateProcess::Linear,
            forgive_think: false,
            think: None,
            cpu_load: None,
            flow: None,
            max_latency: PerDir::all(None),
            latency_target: None,
            offload: false,
        }
    }
}

impl Pace {
    /// Whether only the device and the queue depth decide when the job issues an I/O, and the job
    /// checks nothing when an I/O ends.
    #[must_use]
    pub fn is_free(&self) -> bool {
        self.rate == PerDir::all(None)
            && self.min_rate == PerDir::all(None)
            && self.think.is_none()
            && self.cpu_load.is_none()
            && self.flow.is_none()
            && self.max_latency == PerDir::all(None)
            && self.latency_target.is_none()
    }
}

/// A rate of I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate {
    /// Bytes per second; at least 1.
    Bytes(u64),
    /// I/Os per second; at least 1.
    Ios(u64),
}

/// `thinktime` and related options: pauses between I/Os.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Think {
    /// `thinktime`: length of a pause.
    pub time: Nanos,
    /// `thinktime_spin`: time of the pause that the job busy-waits; at most `time`.
    pub spin: Nanos,
    /// `thinkcycles`: the job busy-waits for this many cycles after each I/O.
    pub cycles: u64,
    /// `thinktime_blocks`: a pause follows this many I/Os. `None`: only `io_time` counts.
    pub blocks: Option<u32>,
    /// `thinktime_blocks_type=issue`: `blocks` counts issued I/Os, not completed ones.
    pub on_issue: bool,
    /// `thinktime_iotime`: a pause follows this much time of I/O. 0: only `blocks` counts.
    pub io_time: Nanos,
}

/// A job's share of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowShare {
    /// `flow_id`: the number of the flow.
    pub id: u32,
    /// `flow`: the weight of the job in the flow; at least 1.
    pub weight: u32,
    /// `flow_sleep`: time that the job sleeps before it checks again whether it may
    /// continue.
    pub sleep: Nanos,
}

/// `latency_target` and related options: the latency that the job keeps by adjusting its depth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LatencyTargetPlan {
    /// `latency_target`: the longest latency that an I/O may have.
    pub target: Nanos,
    /// `latency_window`: time for which the job tries each depth.
    pub window: Nanos,
    /// `latency_percentile`: the share of I/Os that must meet the target, in millionths.
    pub share_ppm: u32,
    /// `latency_run`: the job keeps adjusting the depth after it has found one.
    pub keep_on: bool,
}
