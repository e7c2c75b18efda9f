//! Building the engine: rings with big entries, registrations, and what to say when the kernel
//! refuses something.

use fiord_plan::{Commands, EnginePlan, NvmePlan, PassthroughPlan, PlacementKind};

use super::command::{
    DEALLOCATE, FORCE_UNIT_ACCESS, Flags, NVME_URING_CMD_IO, NVME_URING_CMD_IO_VEC,
};
use super::deallocate::RangeLists;
use super::metadata::Metadata;
use super::parts::Parts;
use super::protection::Mismatch;
use super::space::Space;
use super::{IoUringCmd, Placements};
use crate::buffers::Buffers;
use crate::io_uring::abi::*;
use crate::io_uring::extras::Extras;
use crate::io_uring::registered::{Registered, RingFiles};
use crate::io_uring::ring::{Ring, Wish};
use crate::io_uring::turn::Turn;
use crate::{EngineConfig, EngineError};

impl IoUringCmd {
    /// Makes one, for use by the calling thread.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let EnginePlan::IoUringCmd(plan) = &config.engine else {
            return Err(EngineError::plain("the plan has no commands for ioengine=io_uring_cmd"));
        };
        let PassthroughPlan { ring, commands: Commands::Nvme(nvme) } = &**plan;
        let options = *ring;
        let known: Vec<Space> = nvme.targets.iter().map(Space::new).collect();
        let parts = most_parts(config, &known);
        let ring = Ring::new(Wish {
            entries: config.slots.saturating_mul(parts),
            iopoll: options.hipri,
            sqpoll: options.sqpoll,
            sqpoll_cpu: options.sqpoll_cpu,
        })
        .map_err(|errno| setup_error(errno, options.sqpoll_cpu.is_some()))?;
        if !ring.operations().has(OP_URING_CMD) {
            return Err(setup_error(libc::EINVAL, false));
        }
        let buffers = Buffers::new(config)?;
        let registered = match options.fixed_buffers {
            true => ring.register_buffers(&buffers, config.slots)?,
            false => Registered::Nothing,
        };
        let files = RingFiles::new(&ring, config, options.register_files)?;
        let vectored = !options.nonvectored && !options.fixed_buffers;
        let extras = Extras::new(config, &options, vectored, registered);
        Ok(IoUringCmd {
            limit: ring.entries(),
            how: Turn { iopoll: options.hipri, sqpoll: options.sqpoll, clock: config.clock },
            buffers,
            spaces: vec![Space::NONE; config.files as usize].into_boxed_slice(),
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
            adorned: extras.any() || !config.placements.is_empty(),
            extras,
            placements: Placements {
                directive: config.placed_by.map_or(0, PlacementKind::directive),
                ids: config.placements.clone().into(),
            },
            in_flight: 0,
            commands: 0,
            ranges: RangeLists::new(config.slots, config.trim_ranges),
            metadata: Metadata::new(&nvme.targets, config.slots, config.buffer_bytes),
            parts: Parts::new(if parts > 1 { config.slots } else { 0 }),
            files,
            ring,
        })
    }
}

/// Of how many commands the largest op is made.
fn most_parts(config: &EngineConfig, spaces: &[Space]) -> u32 {
    let least = spaces.iter().map(|space| space.most_data.max(1)).min().unwrap_or(u32::MAX);
    config.buffer_bytes.div_ceil(least).max(1)
}

/// What commands of a kind carry.
fn flags(nvme: &NvmePlan) -> Flags {
    let set = |on: bool, flag: u32| if on { flag } else { 0 };
    let write = set(nvme.write_fua, FORCE_UNIT_ACCESS);
    Flags {
        read: set(nvme.read_fua, FORCE_UNIT_ACCESS),
        write,
        zeroes: write | set(nvme.deallocate, DEALLOCATE),
    }
}

/// Why there is no ring.
fn setup_error(errno: i32, bound: bool) -> EngineError {
    let help = match errno {
        libc::EINVAL if bound => {
            "sqthread_poll_cpu must name a CPU that is online and allowed, and needs \
             sqthread_poll=1; rings with big entries need Linux 5.19 or later"
        }
        libc::EINVAL | libc::ENOSYS => "commands through io_uring need Linux 5.19 or later",
        libc::EPERM | libc::EACCES => {
            "io_uring is not allowed here: sysctl kernel.io_uring_disabled=0, or the container's \
             seccomp profile"
        }
        libc::ENOMEM => "lower iodepth, or raise `ulimit -l`",
        _ => "see `dmesg`",
    };
    EngineError::call("ioengine=io_uring_cmd", "io_uring_setup", errno).help(help)
}

/// Why the ring does not go on.
pub(super) fn enter_error(errno: i32) -> EngineError {
    EngineError::call("ioengine=io_uring_cmd", "io_uring_enter", errno)
}

/// A read brought something else than what was written.
pub(super) fn mismatch_text(wrong: &Mismatch) -> String {
    format!(
        "protection information: {wrong}; the medium, the drive or the way to it changed data; pi_chk says \
         what is checked"
    )
}
