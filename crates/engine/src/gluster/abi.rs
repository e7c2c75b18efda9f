//! The interface of libgfapi: functions.
//!
//! The header `glusterfs/api/glfs.h` publishes them. Their present form is that of version 6 of GlusterFS. The library
//! stays loaded until the process ends, because it leaves threads behind.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::EngineError;
use crate::library::{SystemLibrary, library_functions};

/// A volume or an open file.
pub(super) type GlfsHandle = *mut c_void;

/// A function that the library calls when a request has ended: file, result, attributes before and after, argument.
pub(super) type GlfsCallback =
    unsafe extern "C" fn(GlfsHandle, isize, *mut c_void, *mut c_void, *mut c_void);

type Text = *const c_char;
type Bytes = *mut u8;
/// Attributes of a file that the library returns if the pointer is not null.
type Attributes = *mut c_void;

library_functions! {
    /// The functions of libgfapi.
    GlusterFunctions {
        glfs_new(Text) -> GlfsHandle;
        glfs_set_volfile_server(GlfsHandle, Text, Text, c_int) -> c_int;
        glfs_set_xlator_option(GlfsHandle, Text, Text, Text) -> c_int;
        glfs_init(GlfsHandle) -> c_int;
        glfs_fini(GlfsHandle) -> c_int;
        glfs_open(GlfsHandle, Text, c_int) -> GlfsHandle;
        glfs_creat(GlfsHandle, Text, c_int, u32) -> GlfsHandle;
        glfs_close(GlfsHandle) -> c_int;
        glfs_stat(GlfsHandle, Text, *mut libc::stat) -> c_int;
        glfs_pread(GlfsHandle, Bytes, usize, i64, c_int, Attributes) -> isize;
        glfs_pwrite(GlfsHandle, Bytes, usize, i64, c_int, Attributes, Attributes) -> isize;
        glfs_fsync(GlfsHandle, Attributes, Attributes) -> c_int;
        glfs_fdatasync(GlfsHandle, Attributes, Attributes) -> c_int;
        glfs_discard(GlfsHandle, i64, usize) -> c_int;
        glfs_pread_async(GlfsHandle, Bytes, usize, i64, c_int, GlfsCallback, *mut c_void) -> c_int;
        glfs_pwrite_async(GlfsHandle, Bytes, c_int, i64, c_int, GlfsCallback, *mut c_void) -> c_int;
        glfs_fsync_async(GlfsHandle, GlfsCallback, *mut c_void) -> c_int;
        glfs_fdatasync_async(GlfsHandle, GlfsCallback, *mut c_void) -> c_int;
        glfs_discard_async(GlfsHandle, i64, usize, GlfsCallback, *mut c_void) -> c_int;
    }
}

/// The functions of libgfapi. `engine`: the name of the engine, for messages.
///
/// # Errors
///
/// The library is not installed, or lacks a function.
pub(super) fn gluster(engine: &'static str) -> Result<&'static GlusterFunctions, EngineError> {
    static LOADED: OnceLock<GlusterFunctions> = OnceLock::new();
    match LOADED.get() {
        Some(functions) => Ok(functions),
        None => {
            let library = SystemLibrary::load(engine, "libgfapi.so.0", "libgfapi0")?;
            // Version 6 brought this function together with the types that are declared here.
            // SAFETY: the function is not called.
            unsafe { library.function::<unsafe extern "C" fn()>("glfs_copy_file_range") }?;
            let functions = GlusterFunctions::of(library)?;
            Ok(LOADED.get_or_init(|| functions))
        }
    }
}
