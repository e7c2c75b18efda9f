//! Structures and constants of the kernel (`linux/io_uring.h`), as far as the engines use them.

/// `struct io_uring_sqe`: one cache line.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Sqe {
    pub opcode: u8,
    pub flags: u8,
    pub ioprio: u16,
    pub fd: i32,
    pub off: u64,
    pub addr: u64,
    pub len: u32,
    pub op_flags: u32,
    pub user_data: u64,
    pub buf_index: u16,
    pub personality: u16,
    pub file_index: u32,
    pub addr3: u64,
    pub pad: u64,
}

/// `struct io_uring_cqe`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Cqe {
    pub user_data: u64,
    pub res: i32,
    pub flags: u32,
}

/// A submission entry of 128 bytes that carries a command for its file (`IORING_SETUP_SQE128`). The
/// fields before `addr3` are those of [`Sqe`], with the kind of command in the place of `off`. A
/// command of 80 bytes follows.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Sqe128<K> {
    pub opcode: u8,
    pub flags: u8,
    pub ioprio: u16,
    pub fd: i32,
    pub cmd_op: u32,
    pub pad1: u32,
    pub addr: u64,
    pub len: u32,
    pub uring_cmd_flags: u32,
    pub user_data: u64,
    pub buf_index: u16,
    pub personality: u16,
    pub file_index: u32,
    pub command: K,
}

/// A completion of 32 bytes (`IORING_SETUP_CQE32`).
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Cqe32 {
    pub user_data: u64,
    pub res: i32,
    pub flags: u32,
    /// The result that the command returns in addition to its status.
    pub result: u64,
    pub extra: u64,
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct SqOffsets {
    pub head: u32,
    pub tail: u32,
    pub ring_mask: u32,
    pub ring_entries: u32,
    pub flags: u32,
    pub dropped: u32,
    pub array: u32,
    pub resv1: u32,
    pub user_addr: u64,
}

#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct CqOffsets {
    pub head: u32,
    pub tail: u32,
    pub ring_mask: u32,
    pub ring_entries: u32,
    pub overflow: u32,
    pub cqes: u32,
    pub flags: u32,
    pub resv1: u32,
    pub user_addr: u64,
}

/// `struct io_uring_params`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Params {
    pub sq_entries: u32,
    pub cq_entries: u32,
    pub flags: u32,
    pub sq_thread_cpu: u32,
    pub sq_thread_idle: u32,
    pub features: u32,
    pub wq_fd: u32,
    pub resv: [u32; 3],
    pub sq_off: SqOffsets,
    pub cq_off: CqOffsets,
}

/// `struct io_uring_getevents_arg`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct GeteventsArg {
    pub sigmask: u64,
    pub sigmask_sz: u32,
    pub min_wait_usec: u32,
    pub ts: u64,
}

/// `struct __kernel_timespec`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct Timespec {
    pub tv_sec: i64,
    pub tv_nsec: i64,
}

/// `struct io_uring_rsrc_update`, also `struct io_uring_files_update`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct RsrcUpdate {
    pub offset: u32,
    pub resv: u32,
    pub data: u64,
}

/// `struct io_uring_probe_op`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
pub(crate) struct ProbeOp {
    pub op: u8,
    pub resv: u8,
    pub flags: u16,
    pub resv2: u32,
}

/// `struct io_uring_probe` with room for all operations.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Probe {
    pub last_op: u8,
    pub ops_len: u8,
    pub resv: u16,
    pub resv2: [u32; 3],
    pub ops: [ProbeOp; 256],
}

pub(crate) const SETUP_IOPOLL: u32 = 1 << 0;
pub(crate) const SETUP_SQPOLL: u32 = 1 << 1;
pub(crate) const SETUP_SQ_AFF: u32 = 1 << 2;
pub(crate) const SETUP_CQSIZE: u32 = 1 << 3;
pub(crate) const SETUP_CLAMP: u32 = 1 << 4;
/// Linux 5.18.
pub(crate) const SETUP_SUBMIT_ALL: u32 = 1 << 7;
/// Linux 5.19.
pub(crate) const SETUP_COOP_TASKRUN: u32 = 1 << 8;
/// Linux 5.19.
pub(crate) const SETUP_TASKRUN_FLAG: u32 = 1 << 9;
/// Linux 5.19.
pub(crate) const SETUP_SQE128: u32 = 1 << 10;
/// Linux 5.19.
pub(crate) const SETUP_CQE32: u32 = 1 << 11;
/// Linux 6.0.
pub(crate) const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
/// Linux 6.1.
pub(crate) const SETUP_DEFER_TASKRUN: u32 = 1 << 13;
/// Linux 6.6.
pub(crate) const SETUP_NO_SQARRAY: u32 = 1 << 16;

pub(crate) const FEAT_SINGLE_MMAP: u32 = 1 << 0;
/// Linux 5.11.
pub(crate) const FEAT_SQPOLL_NONFIXED: u32 = 1 << 7;
/// Linux 5.11.
pub(crate) const FEAT_EXT_ARG: u32 = 1 << 8;

pub(crate) const OFF_SQ_RING: i64 = 0;
pub(crate) const OFF_CQ_RING: i64 = 0x800_0000;
pub(crate) const OFF_SQES: i64 = 0x1000_0000;

pub(crate) const ENTER_GETEVENTS: u32 = 1 << 0;
pub(crate) const ENTER_SQ_WAKEUP: u32 = 1 << 1;
pub(crate) const ENTER_EXT_ARG: u32 = 1 << 3;
pub(crate) const ENTER_REGISTERED_RING: u32 = 1 << 4;

pub(crate) const SQ_NEED_WAKEUP: u32 = 1 << 0;
pub(crate) const SQ_TASKRUN: u32 = 1 << 2;

pub(crate) const REGISTER_BUFFERS: u32 = 0;
pub(crate) const REGISTER_FILES: u32 = 2;
pub(crate) const UNREGISTER_FILES: u32 = 3;
pub(crate) const REGISTER_FILES_UPDATE: u32 = 6;
pub(crate) const REGISTER_PROBE: u32 = 8;
pub(crate) const REGISTER_RING_FDS: u32 = 20;
pub(crate) const UNREGISTER_RING_FDS: u32 = 21;

pub(crate) const IOSQE_FIXED_FILE: u8 = 1 << 0;
pub(crate) const IOSQE_IO_LINK: u8 = 1 << 2;
pub(crate) const IOSQE_ASYNC: u8 = 1 << 4;

pub(crate) const OP_READV: u8 = 1;
pub(crate) const OP_WRITEV: u8 = 2;
pub(crate) const OP_FSYNC: u8 = 3;
pub(crate) const OP_READ_FIXED: u8 = 4;
pub(crate) const OP_WRITE_FIXED: u8 = 5;
pub(crate) const OP_SYNC_FILE_RANGE: u8 = 8;
pub(crate) const OP_FALLOCATE: u8 = 17;
pub(crate) const OP_OPENAT: u8 = 18;
pub(crate) const OP_CLOSE: u8 = 19;
pub(crate) const OP_STATX: u8 = 21;
pub(crate) const OP_READ: u8 = 22;
pub(crate) const OP_WRITE: u8 = 23;
/// Linux 5.11.
pub(crate) const OP_UNLINKAT: u8 = 36;
/// Linux 5.15.
pub(crate) const OP_MKDIRAT: u8 = 37;
pub(crate) const OP_URING_CMD: u8 = 46;

pub(crate) const FSYNC_DATASYNC: u32 = 1;
/// `_IO(0x12, 0)` of `linux/blkdev.h`. Linux 6.12.
pub(crate) const BLOCK_URING_CMD_DISCARD: u64 = 0x1200;

/// Value of the field `file_index` for a write with this write stream. The kernel reads the stream
/// from `write_stream`, the first byte of the field in memory. Linux 6.16.
pub(crate) const fn write_stream(stream: u16) -> u32 {
    u32::from_ne_bytes([stream as u8, 0, 0, 0])
}

/// Flag of `uring_cmd_flags`: the data are in a registered buffer. Linux 6.1.
pub(crate) const URING_CMD_FIXED: u32 = 1 << 0;

const _: () = assert!(size_of::<Sqe128<[u64; 10]>>() == 128 && size_of::<Cqe32>() == 32);
const _: () = assert!(std::mem::offset_of!(Sqe128<[u64; 10]>, command) == 48);
const _: () = assert!(size_of::<Sqe>() == 64 && size_of::<Cqe>() == 16);
const _: () = assert!(size_of::<Params>() == 120 && size_of::<Probe>() == 16 + 256 * 8);
