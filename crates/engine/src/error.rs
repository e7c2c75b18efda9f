//! Construction of [`EngineError`] and of errors about targets, so that all engines word their errors in the same way.

use fiord_plan::{EndpointError, EndpointSubject};
use fiord_sys::errno::advice;
use fiord_types::Errno;

use crate::EngineError;

impl EngineError {
    /// A system call failed. `purpose` says what the engine used it for, usually the option, and
    /// `call` is the name of the system call.
    pub(crate) fn call(purpose: &str, call: &str, errno: Errno) -> Self {
        let help = advice(call, errno).map(String::from);
        EngineError { what: format!("{purpose}: {call}: {errno}"), help, errno: Some(errno) }
    }

    /// A system call that ends the use of the buffers failed.
    pub(crate) fn leaked(purpose: &str, call: &str, errno: Errno) -> Self {
        Self::call(purpose, call, errno).help(
            "the kernel may still use the I/O buffers, so their memory stays allocated until the process \
             ends",
        )
    }

    /// A function of `fiord-sys` failed.
    pub(crate) fn from_sys(purpose: &str, error: &fiord_sys::Error) -> Self {
        if error.said.is_some() {
            let errno = Some(error.errno);
            return EngineError { what: format!("{purpose}: {error}"), help: None, errno };
        }
        Self::call(purpose, error.op, error.errno)
    }

    /// A failure without a failed system call. It has no errno.
    pub(crate) fn plain(what: impl Into<String>) -> Self {
        EngineError { what: what.into(), help: None, errno: None }
    }

    /// An engine was created from the plan of another one.
    pub(crate) fn other_engine() -> Self {
        Self::plain("the job has another engine")
    }

    /// Sets the text that says what the user can do. If there are too many open files, that is the cause whatever the
    /// engine tried to do.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        let files = self.errno.and_then(too_many_files);
        self.help = Some(files.map_or_else(|| help.into(), str::to_owned));
        self
    }
}

/// What to do if an errno says that there are too many open files.
pub(crate) fn too_many_files(errno: Errno) -> Option<&'static str> {
    matches!(errno, Errno::EMFILE | Errno::ENFILE).then(|| advice("", errno)).flatten()
}

/// Why something failed, and what the user can do about it. Its text has both.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}{}", after(.help.as_deref()))]
pub(crate) struct FailureCause {
    /// What failed: a sentence, or the end of one.
    pub(crate) what: String,
    /// What the user can do. A remedy starts with "To fix:".
    pub(crate) help: Option<String>,
}

impl FailureCause {
    /// Sets the text that says what the user can do.
    pub(crate) fn help(self, help: impl Into<String>) -> Self {
        FailureCause { help: Some(help.into()), ..self }
    }
}

impl From<String> for FailureCause {
    fn from(what: String) -> Self {
        FailureCause { what, help: None }
    }
}

impl From<&str> for FailureCause {
    fn from(what: &str) -> Self {
        what.to_owned().into()
    }
}

/// The help as it follows the sentence that says what failed: a remedy is a sentence of its own.
pub(crate) fn after(help: Option<&str>) -> String {
    match help {
        None => String::new(),
        Some(help) if help.starts_with("To fix:") => format!(". {help}"),
        Some(help) => format!("; {help}"),
    }
}

/// Converts the return value of a C library function (-1 and errno) to a count or a negative errno.
#[inline(always)]
pub(crate) fn raw_result(ret: i64) -> i64 {
    if ret >= 0 { ret } else { Errno::last().as_result() }
}

impl From<EngineError> for EndpointError {
    /// An error about the target.
    fn from(error: EngineError) -> Self {
        let EngineError { what, help, errno } = error;
        EndpointError { what, help, errno, about: EndpointSubject::Target }
    }
}

/// An error about the server of a target rather than the target.
pub(crate) fn about_the_server(error: EngineError) -> EndpointError {
    EndpointError { about: EndpointSubject::Server, ..error.into() }
}

/// An error about the library of an engine.
pub(crate) fn about_the_library(error: EngineError) -> EndpointError {
    EndpointError { about: EndpointSubject::Library, ..error.into() }
}
