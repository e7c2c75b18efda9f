//! Building the engine: rings with big entries, registrations, and what to say when the kernel
//! refuses something.

use fiord_plan::{Commands, EnginePlan, NvmePlan, PassthroughPlan};

use super::IoUringCmd;
use super::command::{
    DEALLOCATE, FORCE_UNIT_ACCESS, Flags, NVME_URING_CMD_IO, NVME_URING_CMD_IO_VEC,
};
use super::deallocate::RangeLists;
use super::metadata::Metadata;
use super::parts::Parts;
use super::protection::Mismatch;
use super::space::Space;
use crate::buffers::Buffers;
use crate::files::Files;
use crate::io_uring::abi::*;
use crate::io_uring::ring::{Ring, Wish};
use crate::io_uring::turn::Turn;
use crate::{EngineConfig, EngineError};

/// The largest buffer that can be registered (1 GiB).
const MAX_REGISTERED: usize = 1 << 30;
/// The largest number of buffers that can be registered.
const MAX_BUFFERS: u32 = 1 << 14;

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
        options.register_files |= ring.needs_registered_files();
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
                flags: if options.register_files { IOSQE_FIXED_FILE } else { 0 },
                cmd_op: if vectored { NVME_URING_CMD_IO_VEC } else { NVME_URING_CMD_IO },
                uring_cmd_flags: if options.fixed_buffers { URING_CMD_FIXED } else { 0 },
                ..Default::default()
            },
            adorned: vectored || options.force_async != 0,
            sqe_fds: vec![-1; config.files as usize].into_boxed_slice(),
            until_async: options.force_async,
            in_flight: 0,
            commands: 0,
            vectors: vec![empty; if vectored { config.slots as usize } else { 0 }],
            buffer_per_slot: false,
            ranges: RangeLists::new(config.slots),
            metadata: Metadata::new(&nvme.targets, config.slots, config.buffer_bytes),
            mismatch: None,
            parts: Parts::new(if parts > 1 { config.slots } else { 0 }),
            options,
            ring,
        };
        if options.fixed_buffers {
            engine.register_buffers(config.slots)?;
        }
        if options.register_files {
            engine.register_no_files(config.files)?;
        }
        Ok(engine)
    }

    /// Registers the buffers: as one where that can be, else each slot's own.
    fn register_buffers(&mut self, slots: u32) -> Result<(), EngineError> {
        let (base, stride) = self.buffers.region();
        let whole = stride * slots as usize;
        if whole == 0 {
            self.common.uring_cmd_flags &= !URING_CMD_FIXED;
            return Ok(());
        }
        let vectors: Vec<libc::iovec> = if whole <= MAX_REGISTERED {
            vec![libc::iovec { iov_base: base.cast(), iov_len: whole }]
        } else if slots > MAX_BUFFERS {
            return Err(EngineError::plain(format!(
                "{slots} buffers of {stride} bytes are more than the kernel registers"
            ))
            .help("drop fixedbufs=1, or lower iodepth or bs"));
        } else {
            self.buffer_per_slot = true;
            self.adorned = true;
            (0..slots as usize)
                .map(|slot| libc::iovec {
                    iov_base: base.wrapping_add(slot * stride).cast(),
                    iov_len: stride,
                })
                .collect()
        };
        let (list, count) = (vectors.as_ptr().cast(), vectors.len() as u32);
        // SAFETY: `vectors` has `count` entries that describe the buffers, which outlive the ring's
        // ops.
        let registered = unsafe { self.ring.register(REGISTER_BUFFERS, list, count) };
        registered.map(drop).map_err(|errno| {
            EngineError::call("fixedbufs=1", "io_uring_register(IORING_REGISTER_BUFFERS)", errno)
                .help(match errno {
                    libc::ENOMEM | libc::EPERM => {
                        "registered buffers count as locked memory: raise `ulimit -l`, or drop \
                         fixedbufs=1"
                    }
                    _ => "drop fixedbufs=1, or use iomem=malloc",
                })
        })
    }

    /// Registers as many empty places as there can be files.
    fn register_no_files(&mut self, files: u32) -> Result<(), EngineError> {
        let none = vec![-1i32; files as usize];
        // SAFETY: `none` has `files` entries.
        let ret = unsafe { self.ring.register(REGISTER_FILES, none.as_ptr().cast(), files) };
        ret.map(drop).map_err(|errno| file_error("IORING_REGISTER_FILES", errno))
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
        let update = RsrcUpdate { offset: file, resv: 0, data: (&raw const fd) as u64 };
        // SAFETY: `update` points to one descriptor, and both outlive the call.
        let ret =
            unsafe { self.ring.register(REGISTER_FILES_UPDATE, (&raw const update).cast(), 1) };
        ret.map(drop).map_err(|errno| file_error("IORING_REGISTER_FILES_UPDATE", errno))
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

fn file_error(what: &str, errno: i32) -> EngineError {
    EngineError::call("registerfiles=1", &format!("io_uring_register({what})"), errno)
        .help("raise `ulimit -n`, or drop registerfiles=1")
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
