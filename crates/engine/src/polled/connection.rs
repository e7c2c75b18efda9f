//! The connection of a library: what it waits for, and the texts that it returns.

use std::ffi::{CStr, CString, c_char, c_int};

use fiord_sys::poll::{PollEntry, Readiness};

use crate::EngineError;

/// What to wait for on the descriptor of a connection. `events`: bits of `poll(2)`.
pub(crate) fn entry(fd: c_int, events: c_int) -> PollEntry {
    let sends = events & c_int::from(libc::POLLOUT) != 0;
    let receives = events & c_int::from(libc::POLLIN) != 0;
    PollEntry::new(
        fd,
        match (receives, sends) {
            (true, true) => Readiness::Both,
            (false, true) => Readiness::Writable,
            _ => Readiness::Readable,
        },
    )
}

/// What a descriptor is ready for, in bits of `poll(2)`.
pub(crate) fn ready(entry: PollEntry) -> i16 {
    let mut events = 0;
    if entry.is_readable() {
        events |= libc::POLLIN;
    }
    if entry.is_writable() {
        events |= libc::POLLOUT;
    }
    events
}

/// Copies a text of a library. `None` for a null pointer or no text.
///
/// # Safety
///
/// `text` is null or ends with NUL.
pub(crate) unsafe fn copied(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: the caller vouches for the text.
    let text = unsafe { CStr::from_ptr(text) }.to_string_lossy().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// A text for a function of a library. `purpose` begins the message.
///
/// # Errors
///
/// The text contains a NUL character.
pub(crate) fn text(bytes: &[u8], purpose: &str) -> Result<CString, EngineError> {
    let fails = |_| EngineError::plain(format!("{purpose}: a name contains a NUL character"));
    CString::new(bytes).map_err(fails)
}
