//! The C interface of `include/fiord-engine.h`, version 1, and how a library is loaded.

use std::ffi::{c_char, c_int, c_longlong, c_uint, c_ulonglong, c_void};
use std::path::Path;

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

use crate::{EngineError, library};

/// The version of the interface.
const API: u32 = 1;

/// Maximum size in bytes of a library that is searched for functions.
const MAX_LIBRARY: u64 = 1 << 30;

/// `enum fiord_op_kind`.
pub(super) mod kind {
    pub(in super::super) const READ: u32 = 0;
    pub(in super::super) const WRITE: u32 = 1;
    pub(in super::super) const TRIM: u32 = 2;
    pub(in super::super) const FSYNC: u32 = 3;
    pub(in super::super) const FDATASYNC: u32 = 4;
}

/// `struct fiord_config`.
#[repr(C)]
pub(super) struct RawConfig {
    pub struct_bytes: c_uint,
    pub depth: c_uint,
    pub files: c_uint,
    pub direct: c_uint,
    pub buffer_bytes: c_ulonglong,
    pub buffers: *mut c_void,
    pub stride: c_ulonglong,
}

/// `struct fiord_file`.
#[repr(C)]
pub(super) struct RawFile {
    pub struct_bytes: c_uint,
    pub fd: c_int,
    pub offset: c_ulonglong,
    pub bytes: c_ulonglong,
    pub read_only: c_uint,
    pub reserved: c_uint,
}

/// `struct fiord_op`.
#[repr(C)]
pub(super) struct RawOp {
    pub slot: c_uint,
    pub kind: c_uint,
    pub file: c_uint,
    pub bytes: c_uint,
    pub offset: c_ulonglong,
    pub data: *mut c_void,
}

/// `struct fiord_completion`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RawCompletion {
    pub slot: c_uint,
    pub reserved: c_uint,
    pub result: c_longlong,
}

/// The functions of a library. They are valid as long as the library is loaded.
#[derive(Debug)]
pub(super) struct Functions {
    pub open: unsafe extern "C" fn(*const RawConfig, *mut *mut c_void) -> c_int,
    pub attach: unsafe extern "C" fn(*mut c_void, u32, *const RawFile) -> c_int,
    pub detach: unsafe extern "C" fn(*mut c_void, u32) -> c_int,
    pub queue: unsafe extern "C" fn(*mut c_void, *const RawOp) -> c_int,
    pub flush: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub reap: unsafe extern "C" fn(*mut c_void, u32, u32, i64, *mut RawCompletion) -> c_int,
    pub close: unsafe extern "C" fn(*mut c_void) -> c_int,
    pub explain: Option<unsafe extern "C" fn(*mut c_void, u32) -> *const c_char>,
    /// Keeps the functions loaded.
    _library: Library,
}

/// Loads a library.
///
/// # Errors
///
/// The file is not a library, or is a plug-in of fio or a library of another version, or lacks a function.
pub(super) fn load(path: &Path) -> Result<Functions, EngineError> {
    let shown = path.display();
    let wrong = |why: &str| EngineError::plain(format!("ioengine=external:{shown}: {why}"));
    library::possible(&format_args!("ioengine=external:{shown}"))?;
    let file = std::fs::metadata(path).and_then(|facts| match facts.len() {
        len if facts.is_file() && len <= MAX_LIBRARY => std::fs::read(path),
        _ => Err(std::io::ErrorKind::InvalidData.into()),
    });
    let bytes = file.map_err(|error| match error.raw_os_error() {
        Some(_) => EngineError::from_sys(
            &format!("ioengine=external:{shown}"),
            &fiord_sys::Error::from_io("open", &error),
        ),
        None => wrong("this is not a shared library"),
    })?;
    // Looks before loading, because a library can run code when it is loaded.
    if !bytes.starts_with(b"\x7fELF") {
        return Err(wrong("this is not a shared library")
            .help("To fix: build it with `cc -shared -fPIC`; see docs/external-engines.md"));
    }
    if !names(&bytes, "fiord_engine_api") {
        if names(&bytes, "get_ioengine") || names(&bytes, "ioengine") {
            return Err(wrong(
                "this is a plug-in for fio, and fiord cannot load it: its structures are internals of one \
                 version of fio",
            )
            .help("To fix: write its calls against include/fiord-engine.h; see docs/external-engines.md"));
        }
        return Err(missing(&shown, "fiord_engine_api"));
    }
    // SAFETY: the user names this library as an engine, and so vouches for the code that it runs when it is
    // loaded.
    let library = unsafe { Library::open(Some(absolute(path)), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|error| wrong(&format!("the library cannot be loaded: {error}")))?;
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: the header declares the type of the function with this name.
            match unsafe { library.get(concat!($name, "\0").as_bytes()) } {
                Ok(symbol) => *symbol,
                Err(_) => return Err(missing(&shown, $name)),
            }
        };
    }
    let api: unsafe extern "C" fn() -> u32 = function!("fiord_engine_api");
    // SAFETY: the function takes nothing and returns a number.
    let version = unsafe { api() };
    if version != API {
        return Err(wrong(&format!(
            "it is built for version {version} of the interface, and this fiord has version {API}"
        ))
        .help("To fix: build it with the fiord-engine.h of this fiord"));
    }
    Ok(Functions {
        open: function!("fiord_engine_open"),
        attach: function!("fiord_engine_attach"),
        detach: function!("fiord_engine_detach"),
        queue: function!("fiord_engine_queue"),
        flush: function!("fiord_engine_flush"),
        reap: function!("fiord_engine_reap"),
        close: function!("fiord_engine_close"),
        // SAFETY: the header declares the type of the function with this name.
        explain: unsafe { library.get(b"fiord_engine_explain\0") }.ok().map(|symbol| *symbol),
        _library: library,
    })
}

/// The path as `dlopen(3)` wants it: it searches a name without a slash elsewhere.
fn absolute(path: &Path) -> std::path::PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf())
}

/// Whether a file has the name of a function or variable in its tables of names.
fn names(bytes: &[u8], name: &str) -> bool {
    let wanted = [&[0], name.as_bytes(), &[0]].concat();
    memchr::memmem::find(bytes, &wanted).is_some()
}

fn missing(shown: &std::path::Display<'_>, function: &str) -> EngineError {
    EngineError::plain(format!("ioengine=external:{shown}: the library has no function {function}"))
        .help("To fix: define and export it; include/fiord-engine.h declares all functions")
}
