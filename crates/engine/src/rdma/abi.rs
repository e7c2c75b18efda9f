//! The interface of librdmacm and libibverbs: structures, numbers and functions.
//!
//! The layouts are facts of the binary interface of rdma-core, which its headers `infiniband/verbs.h` and
//! `rdma/rdma_cma.h` publish (dual licence, used under the terms of the OpenIB.org BSD licence). A structure that
//! a library allocates is declared as far as it is used.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

use crate::EngineError;
use crate::library::SystemLibrary;

/// `RDMA_PS_TCP`: connections.
pub(super) const CONNECTIONS: c_int = 0x106;
/// `IBV_QPT_RC`: reliable and connected.
pub(super) const RELIABLE: u32 = 2;
/// `IBV_ACCESS_LOCAL_WRITE`, `_REMOTE_WRITE`, `_REMOTE_READ`.
pub(super) const ACCESS_LOCAL: c_int = 1;
pub(super) const ACCESS_REMOTE: c_int = 1 | 2 | 4;
/// `IBV_SEND_SIGNALED`.
pub(super) const SIGNALED: u32 = 2;
/// `RDMA_MAX_RESP_RES`, `RDMA_MAX_INIT_DEPTH`: as many reads in flight as the device allows.
pub(super) const MAX_READS: u8 = 0xff;
/// `IBV_QP_MIN_RNR_TIMER`.
pub(super) const CHANGES_MIN_RNR_TIMER: c_int = 1 << 15;
/// 0.04 ms, as a code of the InfiniBand specification. The default, 0, is 655 ms.
pub(super) const SHORT_WAIT: u8 = 4;
/// Repeat without a limit when the receiver has no buffer ready.
pub(super) const ALWAYS: u8 = 7;

/// `enum ibv_wr_opcode`.
pub(super) mod opcode {
    pub(in super::super) const RDMA_WRITE: u32 = 0;
    pub(in super::super) const SEND: u32 = 2;
    pub(in super::super) const RDMA_READ: u32 = 4;
}

/// `enum ibv_wc_status`.
pub(super) mod status {
    pub(in super::super) const SUCCESS: u32 = 0;
    pub(in super::super) const TOO_LONG: u32 = 1;
    pub(in super::super) const FLUSHED: u32 = 5;
    pub(in super::super) const REMOTE_INVALID: u32 = 9;
    pub(in super::super) const REMOTE_ACCESS: u32 = 10;
    pub(in super::super) const REMOTE_FAILED: u32 = 11;
    pub(in super::super) const NO_ANSWER: u32 = 12;
    pub(in super::super) const NO_BUFFER: u32 = 13;
}

/// `enum rdma_cm_event_type`.
pub(super) mod event {
    pub(in super::super) const ADDRESS_RESOLVED: u32 = 0;
    pub(in super::super) const ROUTE_RESOLVED: u32 = 2;
    pub(in super::super) const CONNECT_REQUEST: u32 = 4;
    pub(in super::super) const UNREACHABLE: u32 = 7;
    pub(in super::super) const REJECTED: u32 = 8;
    pub(in super::super) const ESTABLISHED: u32 = 9;
    pub(in super::super) const DISCONNECTED: u32 = 10;
    pub(in super::super) const DEVICE_REMOVAL: u32 = 11;
}

/// `struct rdma_event_channel`.
#[repr(C)]
pub(super) struct EventChannel {
    pub fd: c_int,
}

/// `struct rdma_cm_id`, its beginning.
#[repr(C)]
pub(super) struct CmId {
    pub verbs: *mut Context,
    pub channel: *mut EventChannel,
    pub context: *mut c_void,
    pub qp: *mut c_void,
}

/// `struct rdma_cm_event` with the beginning of its parameters.
#[repr(C)]
pub(super) struct CmEvent {
    pub id: *mut CmId,
    pub listen_id: *mut CmId,
    pub event: c_uint,
    pub status: c_int,
    pub private_data: *const u8,
    pub private_data_len: c_uchar,
}

/// `struct rdma_conn_param`.
#[repr(C)]
pub(super) struct ConnParam {
    pub private_data: *const u8,
    pub private_data_len: c_uchar,
    pub responder_resources: c_uchar,
    pub initiator_depth: c_uchar,
    pub flow_control: c_uchar,
    pub retry_count: c_uchar,
    pub rnr_retry_count: c_uchar,
    pub srq: c_uchar,
    pub qp_num: c_uint,
}

/// `struct ibv_context`, its beginning, with the functions that are called for each I/O (`struct ibv_context_ops`).
#[repr(C)]
pub(super) struct Context {
    device: *mut c_void,
    unused_before: [*mut c_void; 11],
    pub poll_cq: unsafe extern "C" fn(*mut c_void, c_int, *mut WorkCompletion) -> c_int,
    pub req_notify_cq: unsafe extern "C" fn(*mut c_void, c_int) -> c_int,
    unused_between: [*mut c_void; 12],
    pub post_send:
        unsafe extern "C" fn(*mut c_void, *mut SendRequest, *mut *mut SendRequest) -> c_int,
    pub post_recv:
        unsafe extern "C" fn(*mut c_void, *mut ReceiveRequest, *mut *mut ReceiveRequest) -> c_int,
}

/// `struct ibv_comp_channel`.
#[repr(C)]
pub(super) struct CompletionChannel {
    context: *mut c_void,
    pub fd: c_int,
}

/// `struct ibv_mr`, its beginning.
#[repr(C)]
pub(super) struct MemoryKeys {
    unused: [*mut c_void; 4],
    handle: u32,
    pub local: c_uint,
    pub remote: c_uint,
}

/// `struct ibv_qp_init_attr`.
#[repr(C)]
pub(super) struct QueuePairAttributes {
    pub context: *mut c_void,
    pub send_cq: *mut c_void,
    pub recv_cq: *mut c_void,
    pub srq: *mut c_void,
    pub max_send_wr: c_uint,
    pub max_recv_wr: c_uint,
    pub max_send_sge: c_uint,
    pub max_recv_sge: c_uint,
    pub max_inline_data: c_uint,
    pub kind: c_uint,
    pub signal_all: c_int,
}

/// `struct ibv_qp_attr`, of which one field is used.
#[repr(C)]
pub(super) struct QueuePairChange {
    before: [u32; 32],
    pub min_rnr_timer: c_uchar,
    after: [u8; 15],
}

impl QueuePairChange {
    /// A sender without a buffer at the receiver waits for `code`, a number of the InfiniBand specification.
    pub(super) const fn wait_for_buffers(code: u8) -> Self {
        QueuePairChange { before: [0; 32], min_rnr_timer: code, after: [0; 15] }
    }
}

/// `struct ibv_sge`: a piece of memory.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Piece {
    pub address: c_ulonglong,
    pub len: c_uint,
    pub key: c_uint,
}

/// `struct ibv_send_wr`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct SendRequest {
    pub id: c_ulonglong,
    pub next: *mut SendRequest,
    pub pieces: *mut Piece,
    pub count: c_int,
    pub opcode: c_uint,
    pub flags: c_uint,
    pub immediate: c_uint,
    pub remote_address: c_ulonglong,
    pub remote_key: c_uint,
    pub unused: [u32; 19],
}

impl SendRequest {
    pub(super) const EMPTY: SendRequest = SendRequest {
        id: 0,
        next: std::ptr::null_mut(),
        pieces: std::ptr::null_mut(),
        count: 0,
        opcode: opcode::SEND,
        flags: SIGNALED,
        immediate: 0,
        remote_address: 0,
        remote_key: 0,
        unused: [0; 19],
    };
}

/// `struct ibv_recv_wr`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct ReceiveRequest {
    pub id: c_ulonglong,
    pub next: *mut ReceiveRequest,
    pub pieces: *mut Piece,
    pub count: c_int,
}

/// `struct ibv_wc`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct WorkCompletion {
    pub id: c_ulonglong,
    pub status: c_uint,
    pub opcode: c_uint,
    pub vendor_error: c_uint,
    pub bytes: c_uint,
    unused: [u32; 6],
}

/// Declares a structure of functions and how it is loaded.
macro_rules! functions {
    ($($library:ident { $($name:ident($($argument:ty),*) -> $result:ty;)* })*) => {
        /// The functions of both libraries. They are valid as long as the libraries are loaded.
        pub(super) struct RdmaFunctions {
            $($(pub $name: unsafe extern "C" fn($($argument),*) -> $result,)*)*
            _libraries: [SystemLibrary; 2],
        }

        impl RdmaFunctions {
            fn of($($library: SystemLibrary),*) -> Result<Self, EngineError> {
                Ok(RdmaFunctions {
                    // SAFETY: the headers of rdma-core declare the functions with these types.
                    $($($name: unsafe { $library.function(stringify!($name)) }?,)*)*
                    _libraries: [$($library),*],
                })
            }
        }
    };
}

type Void = *mut c_void;
type Address = *const libc::sockaddr;

functions! {
    verbs {
        ibv_alloc_pd(*mut Context) -> Void;
        ibv_dealloc_pd(Void) -> c_int;
        ibv_reg_mr(Void, Void, usize, c_int) -> *mut MemoryKeys;
        ibv_dereg_mr(*mut MemoryKeys) -> c_int;
        ibv_create_comp_channel(*mut Context) -> *mut CompletionChannel;
        ibv_destroy_comp_channel(*mut CompletionChannel) -> c_int;
        ibv_create_cq(*mut Context, c_int, Void, *mut CompletionChannel, c_int) -> Void;
        ibv_destroy_cq(Void) -> c_int;
        ibv_get_cq_event(*mut CompletionChannel, *mut Void, *mut Void) -> c_int;
        ibv_ack_cq_events(Void, u32) -> ();
        ibv_modify_qp(Void, *mut QueuePairChange, c_int) -> c_int;
        ibv_wc_status_str(u32) -> *const c_char;
    }
    manager {
        rdma_create_event_channel() -> *mut EventChannel;
        rdma_destroy_event_channel(*mut EventChannel) -> ();
        rdma_create_id(*mut EventChannel, *mut *mut CmId, Void, c_int) -> c_int;
        rdma_destroy_id(*mut CmId) -> c_int;
        rdma_bind_addr(*mut CmId, Address) -> c_int;
        rdma_listen(*mut CmId, c_int) -> c_int;
        rdma_resolve_addr(*mut CmId, Address, Address, c_int) -> c_int;
        rdma_resolve_route(*mut CmId, c_int) -> c_int;
        rdma_get_cm_event(*mut EventChannel, *mut *mut CmEvent) -> c_int;
        rdma_ack_cm_event(*mut CmEvent) -> c_int;
        rdma_create_qp(*mut CmId, Void, *mut QueuePairAttributes) -> c_int;
        rdma_destroy_qp(*mut CmId) -> ();
        rdma_connect(*mut CmId, *mut ConnParam) -> c_int;
        rdma_accept(*mut CmId, *mut ConnParam) -> c_int;
        rdma_disconnect(*mut CmId) -> c_int;
    }
}

impl RdmaFunctions {
    /// Loads both libraries.
    ///
    /// # Errors
    ///
    /// A library is not installed, or it lacks a function.
    pub(super) fn load() -> Result<Self, EngineError> {
        let verbs = SystemLibrary::load("rdma", "libibverbs.so.1", "libibverbs1")?;
        let manager = SystemLibrary::load("rdma", "librdmacm.so.1", "librdmacm1")?;
        Self::of(verbs, manager)
    }
}

impl std::fmt::Debug for RdmaFunctions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RdmaFunctions").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The numbers are those of the headers of rdma-core 44 on a machine with 64-bit pointers.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_layouts_are_those_of_the_headers() {
        assert_eq!((size_of::<SendRequest>(), size_of::<ReceiveRequest>()), (128, 32));
        assert_eq!((size_of::<WorkCompletion>(), size_of::<Piece>()), (48, 16));
        assert_eq!((size_of::<QueuePairAttributes>(), size_of::<ConnParam>()), (64, 24));
        assert_eq!(
            (offset_of!(Context, poll_cq), offset_of!(Context, req_notify_cq)),
            (8 + 88, 8 + 96)
        );
        assert_eq!(
            (offset_of!(Context, post_send), offset_of!(Context, post_recv)),
            (8 + 200, 8 + 208)
        );
        assert_eq!((offset_of!(CmId, verbs), offset_of!(CmId, qp)), (0, 24));
        assert_eq!((offset_of!(CmEvent, event), offset_of!(CmEvent, private_data)), (16, 24));
        assert_eq!((offset_of!(MemoryKeys, local), offset_of!(MemoryKeys, remote)), (36, 40));
        assert_eq!(offset_of!(CompletionChannel, fd), 8);
        assert_eq!(
            (size_of::<QueuePairChange>(), offset_of!(QueuePairChange, min_rnr_timer)),
            (144, 128)
        );
        assert_eq!(
            (offset_of!(SendRequest, remote_address), offset_of!(SendRequest, remote_key)),
            (40, 48)
        );
        assert_eq!(
            (offset_of!(QueuePairAttributes, kind), offset_of!(QueuePairAttributes, signal_all)),
            (52, 56)
        );
        assert_eq!(
            (offset_of!(ConnParam, rnr_retry_count), offset_of!(ConnParam, qp_num)),
            (13, 16)
        );
    }
}
