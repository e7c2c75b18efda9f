//! The hooks of a job ([`Hook`](crate::hook::Hook)).
//!
//! | question | module |
//! |---|---|
//! | what a hook sees and decides | [`crate::hook`] |
//! | which hooks a job has, in which order they are called | `table.rs` |
//! | how the loops call them | `list.rs` |
//! | `rate`, `rate_iops`, `thinktime`, `thinkcycles` | `pacing.rs` |
//! | `cpuload` | `cpu_load.rs` |
//! | `flow` | `flow.rs` |
//! | `latency_target` | `latency_target.rs` |
//! | `rate_min`, `rate_iops_min` | `min_rate.rs` |
//! | `max_latency` | `max_latency.rs` |
//! | `latency_limits` | `slices.rs` |
//! | latencies by priority | `priorities.rs` |
//! | `block_error_percentiles` | `block_errors.rs` |
//! | `zonemode=zbd` | `zones.rs` |
//! | `read_iolog` | `replay.rs` |
//! | `write_iolog` | `iolog.rs` |
//! | `verify`, `verify_journal` | [`crate::verify`] |

mod block_errors;
mod cpu_load;
mod flow;
mod iolog;
mod latency_target;
mod list;
mod max_latency;
mod min_rate;
mod pacing;
mod priorities;
mod replay;
mod slices;
mod table;
mod zones;

pub(super) use iolog::IologHook;
pub(super) use list::Hooks;
pub(super) use table::HookInputs;
