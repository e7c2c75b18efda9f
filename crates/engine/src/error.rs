//! How engine errors are worded.

use fiord_sys::errno;

use crate::EngineError;

impl EngineError {
    /// A system call failed: what it was for, its name, its errno.
    pub(crate) fn call(purpose: &str, call: &str, errno: i32) -> Self {
        let (text, name) = (errno::text(errno), errno::name(errno));
        let help = errno::advice(call, errno).map(String::from);
        EngineError { what: format!("{purpose}: {call}: {text} ({name})"), help, errno }
    }

    /// A wrapper of a system call failed.
    pub(crate) fn from_sys(purpose: &str, error: &fiord_sys::Error) -> Self {
        if error.said.is_some() {
            let errno = error.errno;
            return EngineError { what: format!("{purpose}: {error}"), help: None, errno };
        }
        Self::call(purpose, error.op, error.errno)
    }

    /// Something that is wrong without a system call having failed.
    pub(crate) fn plain(what: impl Into<String>) -> Self {
        EngineError { what: what.into(), help: None, errno: 0 }
    }

    /// The same error with what to do about it.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// The calling thread's errno.
#[inline]
pub(crate) fn last_errno() -> i32 {
    // SAFETY: the C library gives each thread a valid errno location.
    unsafe { *libc::__errno_location() }
}

/// A system call's return value (-1 and errno) as a count or a negative errno.
#[inline(always)]
pub(crate) fn raw_result(ret: i64) -> i64 {
    if ret >= 0 { ret } else { -i64::from(last_errno()) }
}
