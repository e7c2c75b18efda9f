//! Flags of single I/Os (`RWF_*` of `linux/fs.h`), and a check whether a file supports them.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};

use fiord_types::Errno;

use crate::{Attachment, EngineError, FileKind};

/// Polls for the completion. Kernels since 4.6 accept the flag and ignore it where the device has
/// no polling queues.
pub(crate) const RWF_HIPRI: i32 = 0x01;
/// The write is durable when it completes.
pub(crate) const RWF_DSYNC: i32 = 0x02;
/// Fails with `EAGAIN` instead of blocking.
pub(crate) const RWF_NOWAIT: i32 = 0x08;
/// The write is stored completely or not at all, even if power fails. Linux 6.11.
pub(crate) const RWF_ATOMIC: i32 = 0x40;
/// Goes through the page cache and drops the pages afterwards. Linux 6.14.
pub(crate) const RWF_DONTCACHE: i32 = 0x80;

/// Flags of all reads, and flags of all writes.
pub(crate) fn of(uncached: bool, nowait: bool, atomic: bool) -> (i32, i32) {
    let mut flags = 0;
    if uncached {
        flags |= RWF_DONTCACHE;
    }
    if nowait {
        flags |= RWF_NOWAIT;
    }
    (flags, if atomic { flags | RWF_ATOMIC } else { flags })
}

/// Checks that the kernel and the file system support these flags on this file.
///
/// `statx(2)` reports support for atomic writes. For the other flags the function reads one page
/// with them, because there is no other way to find out. It reads nothing if the job uses
/// none of these flags.
///
/// # Errors
///
/// A flag is not supported; the error names it and the option to drop.
pub(crate) fn check(target: &Attachment, flags: i32) -> Result<(), EngineError> {
    let Some(fd) = target.fd.as_ref() else { return Ok(()) };
    if flags & RWF_ATOMIC != 0 && !target.read_only {
        check_atomic(fd)?;
    }
    let fd = fd.as_raw_fd();
    let probed = flags & !RWF_ATOMIC;
    if probed == 0 || !matches!(target.kind, FileKind::Regular | FileKind::Block) {
        return Ok(());
    }
    if probe(fd, target.offset.0, probed) != Some(Errno::EOPNOTSUPP) {
        return Ok(());
    }
    let names = [
        (RWF_NOWAIT, "RWF_NOWAIT", "4.14", "nowait"),
        (RWF_DONTCACHE, "RWF_DONTCACHE", "6.14", "uncached"),
    ];
    let bad = names
        .into_iter()
        .find(|(flag, ..)| {
            probed & flag != 0 && probe(fd, target.offset.0, *flag) == Some(Errno::EOPNOTSUPP)
        })
        .unwrap_or(names[0]);
    let (_, name, version, option) = bad;
    Err(EngineError {
        what: format!("the kernel or the file system does not support {name} on this file"),
        help: Some(format!(
            "To fix: leave out {option}=1; {name} needs Linux {version} or later and a file system that \
             supports it"
        )),
        errno: Some(Errno::EOPNOTSUPP),
    })
}

/// Reads a page with these flags. Returns the errno, or `None` on success.
fn probe(fd: RawFd, offset: u64, flags: i32) -> Option<Errno> {
    #[repr(align(4096))]
    struct Page([u8; 4096]);
    let mut page = Page([0; 4096]);
    let vector = libc::iovec { iov_base: page.0.as_mut_ptr().cast(), iov_len: 4096 };
    // SAFETY: the one entry describes `page`, which outlives the call.
    let ret = unsafe { libc::preadv2(fd, &raw const vector, 1, offset as i64, flags) };
    if ret >= 0 { None } else { Some(Errno::last()) }
}

fn check_atomic(fd: &OwnedFd) -> Result<(), EngineError> {
    let limits = fiord_sys::file::atomic_limits(fd)
        .map_err(|error| EngineError::from_sys("atomic=1", &error))?;
    if limits.is_some() {
        return Ok(());
    }
    Err(EngineError {
        what: "this file does not support atomic writes (RWF_ATOMIC)".into(),
        help: Some(
            "To fix: leave out atomic=1; it needs Linux 6.11 or later, direct=1, and a device (and file \
             system) that reports a nonzero atomic_write_unit_max_bytes"
                .into(),
        ),
        errno: Some(Errno::EOPNOTSUPP),
    })
}
