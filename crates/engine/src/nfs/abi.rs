//! The interface of libnfs 4: structures, numbers and functions.
//!
//! The names and types are facts of the binary interface that the header `nfsc/libnfs.h` publishes. Only the library with
//! the soname `libnfs.so.13` has it: libnfs 6 passes buffers in other arguments.

use std::ffi::{c_char, c_int, c_ulonglong, c_void};

use crate::EngineError;
use crate::library::{SystemLibrary, library_functions};

/// The file of the library.
const FILE: &str = "libnfs.so.13";

/// The Debian package of the library.
const PACKAGE: &str = "libnfs13";

/// `R_OK`, `W_OK` in the answer of `nfs_access2`.
pub(super) const MAY_WRITE: c_int = 2;

/// `struct nfs_context`, which only the library looks into.
#[repr(C)]
pub(super) struct NfsContext {
    _private: [u8; 0],
}

/// `struct nfsfh`, an open file.
#[repr(C)]
pub(super) struct NfsFile {
    _private: [u8; 0],
}

#[repr(C)]
pub(super) struct NfsUrl {
    pub server: *mut c_char,
    pub path: *mut c_char,
    pub file: *mut c_char,
}

/// `struct nfs_stat_64`.
#[repr(C)]
pub(super) struct NfsStat {
    unused_before: [c_ulonglong; 7],
    pub size: c_ulonglong,
    unused_after: [c_ulonglong; 9],
}

/// `nfs_cb`: status, context, data or text of the error, and the pointer that the caller passed.
pub(super) type NfsCallback =
    unsafe extern "C" fn(c_int, *mut NfsContext, *mut c_void, *mut c_void);

type Context = *mut NfsContext;
type Text = *const c_char;
type Void = *mut c_void;

library_functions! {
    /// The functions of libnfs.
    NfsFunctions {
        nfs_init_context() -> Context;
        nfs_destroy_context(Context) -> ();
        nfs_get_error(Context) -> Text;
        nfs_get_fd(Context) -> c_int;
        nfs_which_events(Context) -> c_int;
        nfs_service(Context, c_int) -> c_int;
        nfs_set_autoreconnect(Context, c_int) -> ();
        nfs_parse_url_dir(Context, Text) -> *mut NfsUrl;
        nfs_destroy_url(*mut NfsUrl) -> ();
        nfs4_set_client_name(Context, Text) -> ();
        nfs_mount_async(Context, Text, Text, NfsCallback, Void) -> c_int;
        nfs_stat64_async(Context, Text, NfsCallback, Void) -> c_int;
        nfs_fstat64_async(Context, *mut NfsFile, NfsCallback, Void) -> c_int;
        nfs_access2_async(Context, Text, NfsCallback, Void) -> c_int;
        nfs_open2_async(Context, Text, c_int, c_int, NfsCallback, Void) -> c_int;
        nfs_close_async(Context, *mut NfsFile, NfsCallback, Void) -> c_int;
        nfs_pread_async(Context, *mut NfsFile, u64, u64, NfsCallback, Void) -> c_int;
        nfs_pwrite_async(Context, *mut NfsFile, u64, u64, *const c_void, NfsCallback, Void) -> c_int;
        nfs_fsync_async(Context, *mut NfsFile, NfsCallback, Void) -> c_int;
    }
}

impl NfsFunctions {
    /// Loads the library.
    ///
    /// # Errors
    ///
    /// The library is not installed, or it lacks a function.
    pub(super) fn load() -> Result<Self, EngineError> {
        Self::of(SystemLibrary::load("nfs", FILE, PACKAGE)?)
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The numbers are those of the header of libnfs 4.0.
    #[test]
    fn the_layouts_are_those_of_the_header() {
        assert_eq!(size_of::<NfsStat>(), 17 * 8);
        assert_eq!(offset_of!(NfsStat, size), 56);
    }
}
