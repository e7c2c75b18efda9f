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
use crate::files::Files;
use crate::io_uring::abi::*;
use crate::io_uring::registered::Registered;
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
        let mut options = *ring;
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
        let asked = options.register_files || ring.needs_registered_files();
        // As with `io_uring`, a file that stays open is registered, which spares its look-up.
        options.register_files = asked || config.held;
        let vectored = !options.nonvectored && !options.fixed_buffers;
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut engine = IoUringCmd {
            limit: ring.entries(),
            turn: Turn { iopoll: options.hipri, sqpoll: options.sqpoll, clock: config.clock },
            buffers: Buffers::new(config)?,
            files: Files::new(config.files),
            spaces: vec![Space::NONE; config.files as usize].into_boxed_slice(),
            known,
            flags: flags(nvme),
            common: Sqe128 {
                opcode: OP_URING_CMD,
                cmd_op: if vectored { NVME_URING_CMD_IO_VEC } else { NVME_URING_CMD_IO },
                uring_cmd_flags: if options.fixed_buffers { URING_CMD_FIXED } else { 0 },
                ..Default::default()
            },
            adorned: vectored || options.force_async != 0 || !config.placements.is_empty(),
            placements: Placements {
                directive: config.placed_by.map_or(0, PlacementKind::directive),
                ids: config.placements.clone().into(),
            },
            sqe_fds: vec![-1; config.files as usize].into_boxed_slice(),
            until_async: options.force_async,
            in_flight: 0,
            commands: 0,
            vectors: vec![empty; if vectored { config.slots as usize } else { 0 }],
            buffer_per_slot: false,
            ranges: RangeLists::new(config.slots, config.trim_ranges),
            metadata: Metadata::new(&nvme.targets, config.slots, config.buffer_bytes),
            mismatch: None,
            parts: Parts::new(if parts > 1 { config.slots } else { 0 }),
            options,
            ring,
        };
        if options.fixed_buffers {
            match engine.ring.register_buffers(&engine.buffers, config.slots)? {
                Registered::Nothing => engine.common.uring_cmd_flags &= !URING_CMD_FIXED,
                Registered::AsOne => {}
                Registered::Each => (engine.buffer_per_slot, engine.adorned) = (true, true),
            }
        }
        if options.register_files {
            match engine.ring.register_no_files(config.files) {
                Ok(()) => engine.common.flags = IOSQE_FIXED_FILE,
                Err(error) if asked => return Err(error),
                // More files than may be registered: an optimisation less.
                Err(_) => engine.options.register_files = false,
            }
        }
        Ok(engine)
    }

    /// Lets go of registered files, for a ring that is about to be closed.
    pub(super) fn unregister_files(&mut self) {
        if self.options.register_files {
            self.ring.unregister_files();
        }
    }

    /// Makes what entries and the kernel know of a file what the table says.
    pub(super) fn update_file(&mut self, file: u32) -> Result<(), EngineError> {
        let fd = self.files.fd(file);
        let Some(place) = self.sqe_fds.get_mut(file as usize) else { return Ok(()) };
        if !self.options.register_files {
            *place = fd;
            return Ok(());
        }
        *place = file as i32;
        self.ring.register_file(file, fd)
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
pub(super) fn mismatch_error(wrong: &Mismatch) -> EngineError {
    let what = format!("protection information: {wrong}");
    EngineError { errno: libc::EILSEQ, ..EngineError::plain(what) }
        .help("the medium, the drive or the way to it changed data; pi_chk says what is checked")
}
