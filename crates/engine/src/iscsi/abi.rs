//! The interface of libiscsi: structures, numbers and functions.
//!
//! The layouts are facts of the binary interface that the headers `iscsi/iscsi.h` and `iscsi/scsi-lowlevel.h` publish. A
//! structure that the library allocates is declared as far as it is used.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_void};

use crate::EngineError;
use crate::library::{SystemLibrary, library_functions};

/// The file of the library.
const FILE: &str = "libiscsi.so.7";

/// The Debian package of the library.
const PACKAGE: &str = "libiscsi7";

/// `ISCSI_SESSION_NORMAL`.
pub(super) const NORMAL_SESSION: c_int = 2;

/// `enum scsi_status`.
pub(super) mod status {
    use std::ffi::c_int;

    pub(in super::super) const GOOD: c_int = 0;
    pub(in super::super) const CHECK_CONDITION: c_int = 2;
    pub(in super::super) const BUSY: c_int = 8;
    pub(in super::super) const RESERVATION_CONFLICT: c_int = 0x18;
    pub(in super::super) const TASK_SET_FULL: c_int = 0x28;
    pub(in super::super) const CANCELLED: c_int = 0x0f00_0000;
}

/// `SCSI_RESIDUAL_UNDERFLOW`: the target transferred fewer bytes than the command says.
pub(super) const UNDERFLOW: c_int = 1;

/// `struct iscsi_context`, which only the library looks into.
#[repr(C)]
pub(super) struct IscsiContext {
    _private: [u8; 0],
}

/// `struct iscsi_url`, its beginning.
#[repr(C)]
pub(super) struct IscsiUrl {
    pub portal: [c_char; 256],
    pub target: [c_char; 256],
    pub user: [c_char; 256],
    pub password: [c_char; 256],
    pub target_user: [c_char; 256],
    pub target_password: [c_char; 256],
    pub lun: c_int,
}

/// `struct scsi_task`, its beginning.
#[repr(C)]
pub(super) struct ScsiTask {
    pub status: c_int,
    unused_command: [c_int; 3],
    unused_cdb: [c_uchar; 16],
    pub residual_status: c_int,
    pub residual: libc::size_t,
    unused_kind: c_uchar,
    pub sense_key: c_int,
    /// Additional sense code and its qualifier.
    pub sense_code: c_int,
    unused_position: [c_uchar; 4],
    pub data_bytes: c_int,
    pub data: *mut c_uchar,
}

/// `struct unmap_list`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct UnmapRange {
    pub block: c_ulonglong,
    pub blocks: c_uint,
}

/// `iscsi_command_cb`: context, status, data, and the pointer that the caller passed.
pub(super) type IscsiCallback =
    unsafe extern "C" fn(*mut IscsiContext, c_int, *mut c_void, *mut c_void);

type Context = *mut IscsiContext;
type Text = *const c_char;
type Void = *mut c_void;

library_functions! {
    /// The functions of libiscsi.
    IscsiFunctions {
        iscsi_create_context(Text) -> Context;
        iscsi_destroy_context(Context) -> c_int;
        iscsi_get_error(Context) -> Text;
        iscsi_get_fd(Context) -> c_int;
        iscsi_which_events(Context) -> c_int;
        iscsi_service(Context, c_int) -> c_int;
        iscsi_set_noautoreconnect(Context, c_int) -> ();
        iscsi_set_reconnect_max_retries(Context, c_int) -> ();
        iscsi_set_session_type(Context, c_int) -> c_int;
        iscsi_set_targetname(Context, Text) -> c_int;
        iscsi_set_initiator_username_pwd(Context, Text, Text) -> c_int;
        iscsi_set_target_username_pwd(Context, Text, Text) -> c_int;
        iscsi_parse_full_url(Context, Text) -> *mut IscsiUrl;
        iscsi_destroy_url(*mut IscsiUrl) -> ();
        iscsi_full_connect_async(Context, Text, c_int, IscsiCallback, Void) -> c_int;
        iscsi_logout_async(Context, IscsiCallback, Void) -> c_int;
        iscsi_readcapacity10_task(Context, c_int, c_int, c_int, IscsiCallback, Void) -> *mut ScsiTask;
        iscsi_readcapacity16_task(Context, c_int, IscsiCallback, Void) -> *mut ScsiTask;
        iscsi_modesense6_task(Context, c_int, c_int, c_int, c_int, c_int, c_uchar, IscsiCallback, Void) -> *mut ScsiTask;
        iscsi_read10_iov_task(Context, c_int, u32, u32, c_int, c_int, c_int, c_int, c_int, c_int, IscsiCallback, Void, *mut libc::iovec, c_int) -> *mut ScsiTask;
        iscsi_read16_iov_task(Context, c_int, u64, u32, c_int, c_int, c_int, c_int, c_int, c_int, IscsiCallback, Void, *mut libc::iovec, c_int) -> *mut ScsiTask;
        iscsi_write10_task(Context, c_int, u32, *mut c_uchar, u32, c_int, c_int, c_int, c_int, c_int, c_int, IscsiCallback, Void) -> *mut ScsiTask;
        iscsi_write16_task(Context, c_int, u64, *mut c_uchar, u32, c_int, c_int, c_int, c_int, c_int, c_int, IscsiCallback, Void) -> *mut ScsiTask;
        iscsi_synchronizecache10_task(Context, c_int, c_int, c_int, c_int, c_int, IscsiCallback, Void) -> *mut ScsiTask;
        iscsi_unmap_task(Context, c_int, c_int, c_int, *mut UnmapRange, c_int, IscsiCallback, Void) -> *mut ScsiTask;
        scsi_free_scsi_task(*mut ScsiTask) -> ();
    }
}

impl IscsiFunctions {
    /// Loads the library.
    ///
    /// # Errors
    ///
    /// The library is not installed, or it lacks a function.
    pub(super) fn load() -> Result<Self, EngineError> {
        Self::of(SystemLibrary::load("libiscsi", FILE, PACKAGE)?)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The numbers are those of the headers of libiscsi 1.19 on a machine with 64-bit pointers.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_layouts_are_those_of_the_headers() {
        assert_eq!((offset_of!(ScsiTask, status), offset_of!(ScsiTask, residual_status)), (0, 32));
        assert_eq!((offset_of!(ScsiTask, residual), offset_of!(ScsiTask, sense_key)), (40, 52));
        assert_eq!((offset_of!(ScsiTask, sense_code), offset_of!(ScsiTask, data_bytes)), (56, 64));
        assert_eq!(offset_of!(ScsiTask, data), 72);
        assert_eq!((offset_of!(IscsiUrl, target), offset_of!(IscsiUrl, lun)), (256, 1536));
        assert_eq!((size_of::<UnmapRange>(), offset_of!(UnmapRange, blocks)), (16, 8));
    }
}
