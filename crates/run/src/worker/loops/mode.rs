//! Compile-time modes of the loops.

use fiord_stat::recorder::axes;

/// A set of features that a loop contains. Each loop is compiled once for each mode that its job may
/// need, so the plain loops have no test for what the job does not use.
pub(crate) trait Mode {
    /// The measurements of each completed I/O: a set of [`axes`].
    const AXES: u32;
    /// The loop calls [hooks](super::super::hooks).
    const HOOKS: bool = false;
    /// The clock is read between the stages of a round ([`super::super::core::stages`]).
    const SAMPLED: bool = false;
    /// The loop of an engine that completes each I/O at once also serves jobs that measure total latencies alone.
    const TOTAL_ALONE: bool = Self::AXES & axes::DYNAMIC != 0;
    /// The mode of sampled rounds of this loop.
    type Sampled: Mode;

    /// Decide at run time what the recorder takes, which rare features the job uses, and whether I/Os go into
    /// [logs](crate::logs).
    const DYNAMIC: bool = Self::AXES & axes::DYNAMIC != 0;
    /// No latency is measured, so the clock is read only now and then.
    const ROUGH_TIME: bool = Self::AXES == axes::BARE;
}

/// Counts I/Os and bytes only (`gtod_reduce`).
pub(crate) struct Bare;
/// Takes the default measurements of an engine that completes each I/O at once.
pub(crate) struct Synchronous;
/// Takes the default measurements of an engine that completes each I/O at once, or total latencies alone.
pub(crate) struct SynchronousOrTotal;
/// Takes the default measurements of an engine with many I/Os in flight.
pub(crate) struct Asynchronous;
/// Decides at run time what to measure.
pub(crate) struct Dynamic;
/// Has hooks, and decides at run time what to measure.
pub(crate) struct Managed;
/// A sampled round of a loop without hooks.
pub(crate) struct Sampled;
/// A sampled round of a loop with hooks.
pub(crate) struct ManagedSampled;

impl Mode for Bare {
    const AXES: u32 = axes::BARE;
    type Sampled = Sampled;
}

impl Mode for Synchronous {
    const AXES: u32 = axes::SYNC;
    type Sampled = Sampled;
}

impl Mode for SynchronousOrTotal {
    const AXES: u32 = axes::SYNC;
    const TOTAL_ALONE: bool = true;
    type Sampled = Sampled;
}

impl Mode for Asynchronous {
    const AXES: u32 = axes::ASYNC;
    type Sampled = Sampled;
}

impl Mode for Dynamic {
    const AXES: u32 = axes::DYNAMIC;
    type Sampled = Sampled;
}

impl Mode for Managed {
    const AXES: u32 = axes::DYNAMIC;
    const HOOKS: bool = true;
    type Sampled = ManagedSampled;
}

impl Mode for Sampled {
    const AXES: u32 = axes::DYNAMIC;
    const SAMPLED: bool = true;
    type Sampled = Sampled;
}

impl Mode for ManagedSampled {
    const AXES: u32 = axes::DYNAMIC;
    const HOOKS: bool = true;
    const SAMPLED: bool = true;
    type Sampled = ManagedSampled;
}
