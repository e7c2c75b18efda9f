//! Construction of the engine, and the messages for what the kernel refuses.

use fiord_plan::{EnginePlan, IoUringPlan};
use fiord_types::{Errno, FileIndex};

use super::IoUring;
use super::abi::*;
use super::driver::CompletionMode;
use super::extras::RingExtras;
use super::registered::{Registered, RingFiles};
use super::ring::{Ring, RingOptions};
use crate::buffers::Buffers;
use crate::flags;
use crate::{EngineConfig, EngineError, IoAttributes, Op, OpKind};

impl IoUring {
    /// Creates the engine for use by the calling thread.
    ///
    /// # Errors
    ///
    /// The kernel refused the ring, the buffers or the files, or the options contradict each other.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let options = match config.engine {
            EnginePlan::IoUring(options) => options,
            _ => IoUringPlan { nonvectored: true, ..Default::default() },
        };
        let ring = new_ring(config, &options)?;
        let buffers = Buffers::new(config)?;
        let registered = match options.fixed_buffers {
            true => ring.register_buffers(&buffers, config.slots)?,
            false => Registered::Nothing,
        };
        let files = RingFiles::new(&ring, config, options.register_files)?;
        let (read_flags, write_flags) = flags::of(options.uncached, options.nowait, config.atomic);
        // READ and WRITE came with Linux 5.6. Earlier kernels know only the vectored commands.
        let known = ring.operations();
        let single = options.nonvectored && known.has(OP_READ) && known.has(OP_WRITE);
        let (read_op, write_op) = if options.fixed_buffers {
            (OP_READ_FIXED, OP_WRITE_FIXED)
        } else if single {
            (OP_READ, OP_WRITE)
        } else {
            (OP_READV, OP_WRITEV)
        };
        let extras = RingExtras::new(config, &options, read_op == OP_READV, registered);
        let no_op = Op {
            kind: OpKind::Trim,
            file: FileIndex(0),
            offset: 0,
            len: 0,
            at: 0,
            attributes: IoAttributes::PLAIN,
        };
        let common = |opcode, op_flags: i32| Sqe {
            opcode,
            flags: files.entry_flags(),
            op_flags: op_flags as u32,
            ..Default::default()
        };
        Ok(IoUring {
            limit: ring.entries().min(config.slots),
            buffers,
            options,
            read: common(read_op, read_flags),
            write: common(write_op, write_flags),
            has_optional_fields: extras.any()
                || !config.priorities.is_empty()
                || !config.placements.is_empty()
                || config.durable_writes,
            extras,
            streams: config.placements.clone().into(),
            priorities: config.priorities.clone().into(),
            in_flight: 0,
            ring_syncs: known.has(OP_SYNC_FILE_RANGE),
            ring_fallocate: known.has(OP_FALLOCATE),
            ring_discard: known.has(OP_URING_CMD),
            trims: vec![no_op; config.slots as usize],
            unsupported: None,
            mode: CompletionMode {
                iopoll: options.hipri,
                sqpoll: options.sqpoll,
                clock: config.clock,
            },
            files,
            ring,
        })
    }
}

/// Creates the ring of a job.
fn new_ring(config: &EngineConfig, options: &IoUringPlan) -> Result<Ring, EngineError> {
    if options.hipri && !config.direct {
        return Err(EngineError::plain("hipri=1: the kernel polls only for direct I/O")
            .help("To fix: set direct=1, or leave out hipri=1"));
    }
    Ring::new(RingOptions {
        entries: config.slots,
        iopoll: options.hipri,
        sqpoll: options.sqpoll,
        sqpoll_cpu: options.sqpoll_cpu,
    })
    .map_err(|errno| setup_error(errno, options))
}

/// The error of an `io_uring_setup(2)` that failed.
fn setup_error(errno: Errno, options: &IoUringPlan) -> EngineError {
    let help = match errno {
        Errno::ENOSYS => "io_uring needs Linux 5.1 or later. To fix: use ioengine=libaio".into(),
        Errno::EPERM if options.sqpoll => {
            "sqthread_poll=1 needs root before Linux 5.11. To fix: leave it out, run as root, or allow \
             io_uring (sysctl kernel.io_uring_disabled=0, container seccomp profile)"
                .into()
        }
        Errno::EPERM | Errno::EACCES => {
            "To fix: allow io_uring (sysctl kernel.io_uring_disabled=0, container seccomp profile), \
             or use ioengine=libaio"
                .into()
        }
        Errno::ENOMEM => "To fix: raise `ulimit -l` (rings count as locked memory before Linux 5.12), or \
                         lower iodepth"
            .into(),
        Errno::EINVAL if options.sqpoll_cpu.is_some() => {
            "To fix: set sqthread_poll_cpu to a CPU that is online and allowed, together with \
             sqthread_poll=1"
                .into()
        }
        _ => String::from("To fix: use ioengine=libaio"),
    };
    EngineError::call("ioengine=io_uring", "io_uring_setup", errno).help(help)
}

/// The error of an `io_uring_enter(2)` that failed.
pub(super) fn enter_error(errno: Errno) -> EngineError {
    let error = EngineError::call("ioengine=io_uring", "io_uring_enter", errno);
    match errno {
        Errno::EEXIST => error.help("only the thread that created the engine may use it"),
        _ => error,
    }
}

/// The error for an I/O that ended with `EOPNOTSUPP`, if one of these options can be the cause.
#[cold]
pub(super) fn explain_unsupported(options: &IoUringPlan) -> Option<EngineError> {
    let (what, help) = if options.hipri {
        (
            "hipri=1: this file or device has no polled completions",
            "To fix: leave out hipri=1; it needs direct=1 and a device with polling queues (for NVMe: \
             nvme.poll_queues=N)",
        )
    } else if options.uncached {
        (
            "uncached=1: this file system does not support RWF_DONTCACHE",
            "To fix: leave out uncached=1; it needs Linux 6.14 or later and a file system that supports it",
        )
    } else if options.nowait {
        (
            "nowait=1: this file does not support RWF_NOWAIT",
            "To fix: leave out nowait=1, or set direct=1",
        )
    } else {
        return None;
    };
    Some(EngineError { what: what.into(), help: Some(help.into()), errno: Some(Errno::EOPNOTSUPP) })
}
