//! Construction of the engine, and the messages for what the kernel refuses.

use fiord_plan::{Commands, EnginePlan, NvmePlan, PassthroughPlan, PlacementKind};
use fiord_types::{Bytes, Errno};

use super::command::{
    DEALLOCATE, FORCE_UNIT_ACCESS, Flags, NVME_URING_CMD_IO, NVME_URING_CMD_IO_VEC,
};
use super::compare::Comparisons;
use super::deallocate::RangeLists;
use super::metadata::Metadata;
use super::parts::Parts;
use super::protection::Mismatch;
use super::space::NamespaceBlocks;
use super::{IoUringCmd, Placements};
use crate::buffers::Buffers;
use crate::io_uring::abi::*;
use crate::io_uring::driver::CompletionMode;
use crate::io_uring::extras::RingExtras;
use crate::io_uring::registered::{Registered, RingFiles};
use crate::io_uring::ring::{Ring, RingOptions};
use crate::{EngineConfig, EngineError};

impl IoUringCmd {
    /// Creates the engine for use by the calling thread.
    ///
    /// # Errors
    ///
    /// The kernel refused the ring, the buffers or the files, or does not pass commands through.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let EnginePlan::IoUringCmd(plan) = &config.engine else {
            return Err(EngineError::plain(
                "the plan has no NVMe commands for ioengine=io_uring_cmd",
            ));
        };
        let PassthroughPlan { ring, commands: Commands::Nvme(nvme) } = &**plan;
        let options = *ring;
        let known: Vec<NamespaceBlocks> = nvme.targets.iter().map(NamespaceBlocks::new).collect();
        let parts = most_parts(config, &known);
        let ring = Ring::new(RingOptions {
            entries: config.slots.saturating_mul(parts),
            iopoll: options.hipri,
            sqpoll: options.sqpoll,
            sqpoll_cpu: options.sqpoll_cpu,
        })
        .map_err(|errno| setup_error(errno, options.sqpoll_cpu.is_some()))?;
        if !ring.operations().has(OP_URING_CMD) {
            return Err(setup_error(Errno::EINVAL, false));
        }
        let buffers = Buffers::new(config)?;
        let registered = match options.fixed_buffers {
            true => ring.register_buffers(&buffers, config.slots)?,
            false => Registered::Nothing,
        };
        let files = RingFiles::new(&ring, config, options.register_files)?;
        let vectored = !options.nonvectored && !options.fixed_buffers;
        let extras = RingExtras::new(config, &options, vectored, registered);
        Ok(IoUringCmd {
            limit: ring.entries(),
            mode: CompletionMode {
                iopoll: options.hipri,
                sqpoll: options.sqpoll,
                clock: config.clock,
            },
            buffers,
            spaces: vec![NamespaceBlocks::NONE; config.files as usize].into_boxed_slice(),
            known,
            flags: flags(nvme),
            common: Sqe128 {
                opcode: OP_URING_CMD,
                cmd_op: if vectored { NVME_URING_CMD_IO_VEC } else { NVME_URING_CMD_IO },
                flags: files.entry_flags(),
                uring_cmd_flags: match registered {
                    Registered::Nothing => 0,
                    Registered::AsOne | Registered::Each => URING_CMD_FIXED,
                },
                ..Default::default()
            },
            has_optional_fields: extras.any() || !config.placements.is_empty() || nvme.compares,
            extras,
            placements: Placements {
                directive: config.placed_by.map_or(0, PlacementKind::directive),
                ids: config.placements.clone().into(),
            },
            in_flight: 0,
            commands: 0,
            ranges: RangeLists::new(config.slots, config.trim_ranges),
            metadata: Metadata::new(&nvme.targets, config.slots, config.buffer_bytes.0 as u32),
            comparisons: nvme.compares.then(|| Box::new(Comparisons::new(config.slots))),
            parts: Parts::new(if parts > 1 { config.slots } else { 0 }),
            files,
            ring,
        })
    }
}

/// Number of commands of the largest op.
fn most_parts(config: &EngineConfig, spaces: &[NamespaceBlocks]) -> u32 {
    let least = spaces.iter().map(|space| space.most_data.max(1)).min().unwrap_or(u32::MAX);
    config.buffer_bytes.div_ceil(Bytes(least.into())).max(1) as u32
}

/// Flags of the commands, from the options of the job.
fn flags(nvme: &NvmePlan) -> Flags {
    let set = |on: bool, flag: u32| if on { flag } else { 0 };
    let write = set(nvme.write_fua, FORCE_UNIT_ACCESS);
    Flags {
        read: set(nvme.read_fua, FORCE_UNIT_ACCESS),
        write,
        zeroes: write | set(nvme.deallocate, DEALLOCATE),
    }
}

/// The error of an `io_uring_setup(2)` that failed. `bound`: the job names a CPU for the submitting
/// kernel thread.
fn setup_error(errno: Errno, bound: bool) -> EngineError {
    let help = match errno {
        Errno::EINVAL if bound => {
            "To fix: set sqthread_poll_cpu to a CPU that is online and allowed, together with \
             sqthread_poll=1; ioengine=io_uring_cmd needs Linux 5.19 or later"
        }
        Errno::EINVAL | Errno::ENOSYS => "ioengine=io_uring_cmd needs Linux 5.19 or later",
        Errno::EPERM | Errno::EACCES => {
            "To fix: allow io_uring (sysctl kernel.io_uring_disabled=0, container seccomp profile)"
        }
        Errno::ENOMEM => "To fix: lower iodepth, or raise `ulimit -l`",
        _ => "see the kernel log (`dmesg`)",
    };
    EngineError::call("ioengine=io_uring_cmd", "io_uring_setup", errno).help(help)
}

/// The error of an `io_uring_enter(2)` that failed.
pub(super) fn enter_error(errno: Errno) -> EngineError {
    EngineError::call("ioengine=io_uring_cmd", "io_uring_enter", errno)
}

/// The message for a read with wrong protection information.
pub(super) fn mismatch_text(wrong: &Mismatch) -> String {
    format!(
        "protection information: {wrong}; the medium, the drive or the path to it changed data; pi_chk \
         selects what is checked"
    )
}
