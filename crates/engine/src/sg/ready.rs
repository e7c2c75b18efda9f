//! Commands to a SCSI device before its first I/O.

use std::os::fd::OwnedFd;

use fiord_sys::scsi::generic::Failure;
use fiord_sys::scsi::{Capacity, capacity, sense};
use fiord_types::Errno;

use crate::EngineError;

/// Reads the capacity of a device . `engine` is `ioengine=` and its name. Repeats the command after a UNIT ATTENTION, which reports an
/// event from before this job.
///
/// # Errors
///
/// The device or the kernel refuses READ CAPACITY.
pub(crate) fn capacity(engine: &str, fd: &OwnedFd) -> Result<Capacity, EngineError> {
    const TRIES: u32 = 5;
    let mut tries = 0;
    loop {
        tries += 1;
        match capacity::read(fd) {
            Ok(capacity) => return Ok(capacity),
            Err(Failure::Device(sense))
                if sense.key == sense::key::UNIT_ATTENTION && tries < TRIES => {}
            Err(failure) => return Err(refused(engine, "READ CAPACITY", failure)),
        }
    }
}

/// The error for a command that an engine sent and that failed.
pub(crate) fn refused(engine: &str, command: &str, failure: Failure) -> EngineError {
    let help = match failure {
        Failure::Kernel(Errno::ENOTTY | Errno::EINVAL) => "it is not a SCSI device".to_string(),
        Failure::Kernel(Errno::EPERM | Errno::EACCES) => {
            "SCSI commands need root (CAP_SYS_RAWIO), or membership in the device's group".into()
        }
        Failure::Device(sense) => sense.advice().into(),
        _ => String::new(),
    };
    EngineError {
        what: format!("{engine}: {command}: {failure}"),
        help: Some(help).filter(|h| !h.is_empty()),
        errno: Some(failure.errno()),
    }
}
