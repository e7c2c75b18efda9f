//! The interface of librados and librbd: numbers, structures and functions.
//!
//! The layouts are facts of the binary interface of Ceph, which its headers `rados/librados.h` and `rbd/librbd.h`
//! publish. The libraries stay loaded until the process ends, because they leave threads and destructors behind.

use std::ffi::{c_char, c_int, c_void};
use std::sync::OnceLock;

use crate::EngineError;
use crate::library::{SystemLibrary, library_functions};

/// A handle of a library: a cluster, a pool, an image, a completion or a list of operations.
pub(super) type CephHandle = *mut c_void;

/// A function that a library calls when a request has ended.
pub(super) type CephCallback = unsafe extern "C" fn(CephHandle, *mut c_void);

type Text = *const c_char;
type Bytes = *mut u8;

/// `LIBRADOS_CREATE_EXCLUSIVE`: an object that exists is an error.
pub(super) const CREATE_EXCLUSIVE: c_int = 1;

/// `RBD_ENCRYPTION_FORMAT_LUKS1` and `_LUKS2`.
pub(super) const LUKS1: c_int = 0;
pub(super) const LUKS2: c_int = 1;

/// `rbd_encryption_luks1_format_options_t` and `rbd_encryption_luks2_format_options_t`.
#[repr(C)]
pub(super) struct LuksOptions {
    /// `RBD_ENCRYPTION_ALGORITHM_…`. Not used to open an image.
    algorithm: c_int,
    passphrase: Text,
    passphrase_size: usize,
}

impl LuksOptions {
    /// Options that open an image. They point to the passphrase, which must outlive them.
    pub(super) fn to_open(passphrase: &str) -> Self {
        let size = passphrase.len();
        LuksOptions { algorithm: 0, passphrase: passphrase.as_ptr().cast(), passphrase_size: size }
    }
}

/// `rbd_image_info_t`, its beginning, with room for the rest.
#[repr(C)]
pub(super) struct ImageInfo {
    size: u64,
    rest: [u64; 25],
}

impl ImageInfo {
    pub(super) const EMPTY: ImageInfo = ImageInfo { size: 0, rest: [0; 25] };

    /// The size of the image, in bytes.
    pub(super) fn size(&self) -> u64 {
        self.size
    }
}

library_functions! {
    /// The functions of librados.
    RadosFunctions {
        rados_create(*mut CephHandle, Text) -> c_int;
        rados_create2(*mut CephHandle, Text, Text, u64) -> c_int;
        rados_conf_read_file(CephHandle, Text) -> c_int;
        rados_conf_set(CephHandle, Text, Text) -> c_int;
        rados_connect(CephHandle) -> c_int;
        rados_shutdown(CephHandle) -> ();
        rados_ioctx_create(CephHandle, Text, *mut CephHandle) -> c_int;
        rados_ioctx_destroy(CephHandle) -> ();
        rados_aio_create_completion(*mut c_void, Option<CephCallback>, Option<CephCallback>, *mut CephHandle) -> c_int;
        rados_aio_get_return_value(CephHandle) -> c_int;
        rados_aio_release(CephHandle) -> ();
        rados_aio_read(CephHandle, Text, CephHandle, Bytes, usize, u64) -> c_int;
        rados_aio_write(CephHandle, Text, CephHandle, Bytes, usize, u64) -> c_int;
        rados_aio_flush_async(CephHandle, CephHandle) -> c_int;
        rados_aio_write_op_operate(CephHandle, CephHandle, CephHandle, Text, *const i64, c_int) -> c_int;
        rados_create_write_op() -> CephHandle;
        rados_release_write_op(CephHandle) -> ();
        rados_write_op_create(CephHandle, c_int, Text) -> ();
        rados_write_op_zero(CephHandle, u64, u64) -> ();
        rados_write_op_operate(CephHandle, CephHandle, Text, *const i64, c_int) -> c_int;
        rados_stat(CephHandle, Text, *mut u64, *mut i64) -> c_int;
    }
}

library_functions! {
    /// The functions of librbd.
    RbdFunctions {
        rbd_open(CephHandle, Text, *mut CephHandle, Text) -> c_int;
        rbd_open_read_only(CephHandle, Text, *mut CephHandle, Text) -> c_int;
        rbd_flush(CephHandle) -> c_int;
        rbd_close(CephHandle) -> c_int;
        rbd_stat(CephHandle, *mut ImageInfo, usize) -> c_int;
        rbd_aio_create_completion(*mut c_void, CephCallback, *mut CephHandle) -> c_int;
        rbd_aio_get_return_value(CephHandle) -> isize;
        rbd_aio_release(CephHandle) -> ();
        rbd_aio_read(CephHandle, u64, usize, Bytes, CephHandle) -> c_int;
        rbd_aio_write(CephHandle, u64, usize, Bytes, CephHandle) -> c_int;
        rbd_aio_discard(CephHandle, u64, u64, CephHandle) -> c_int;
        rbd_aio_flush(CephHandle, CephHandle) -> c_int;
    }
}

/// `rbd_encryption_load`, which librbd has since version 16.2 and not in every build.
pub(super) type LoadEncryption =
    unsafe extern "C" fn(CephHandle, c_int, *mut c_void, usize) -> c_int;

/// The functions of librados. `engine`: the name of the engine, for messages.
///
/// # Errors
///
/// The library is not installed, or lacks a function.
pub(super) fn rados(engine: &'static str) -> Result<&'static RadosFunctions, EngineError> {
    static LOADED: OnceLock<RadosFunctions> = OnceLock::new();
    loaded(&LOADED, || {
        RadosFunctions::of(SystemLibrary::load(engine, "librados.so.2", "librados2")?)
    })
}

/// The functions of librbd.
///
/// # Errors
///
/// The library is not installed, or lacks a function.
pub(super) fn rbd() -> Result<&'static RbdFunctions, EngineError> {
    static LOADED: OnceLock<RbdFunctions> = OnceLock::new();
    loaded(&LOADED, || RbdFunctions::of(SystemLibrary::load("rbd", "librbd.so.1", "librbd1")?))
}

/// The function of librbd that opens encrypted images.
///
/// # Errors
///
/// This version of the library does not have it.
pub(super) fn load_encryption() -> Result<LoadEncryption, EngineError> {
    let library = SystemLibrary::load("rbd", "librbd.so.1", "librbd1")?;
    // SAFETY: `librbd.h` declares the function with this type. The library stays loaded.
    let function = unsafe { library.function("rbd_encryption_load") };
    std::mem::forget(library);
    function
}

fn loaded<T>(
    known: &'static OnceLock<T>,
    load: impl FnOnce() -> Result<T, EngineError>,
) -> Result<&'static T, EngineError> {
    match known.get() {
        Some(functions) => Ok(functions),
        None => {
            let functions = load()?;
            Ok(known.get_or_init(|| functions))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// The numbers are those of the headers of Ceph 16.2 on a machine with 64-bit pointers.
    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_layouts_are_those_of_the_headers() {
        assert_eq!((size_of::<LuksOptions>(), offset_of!(LuksOptions, passphrase)), (24, 8));
        // `size`, `obj_size`, `num_objs`, `order`, a name of 24 bytes, `parent_pool`, a name of 96 bytes.
        const { assert!(size_of::<ImageInfo>() >= 8 * 3 + 4 + 24 + 4 + 8 + 96) };
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri loads no libraries")]
    fn the_libraries_have_all_functions_where_they_are_installed() {
        if !crate::library::CAN_LOAD {
            return;
        }
        for error in [rados("rados").err(), rbd().err()].into_iter().flatten() {
            let text = error.to_string();
            assert!(
                text.contains("cannot be loaded") && text.contains("To fix: install"),
                "{text}"
            );
        }
    }
}
