//! Trims and syncs, which transfer no data, as system calls of the calling thread.

use std::os::fd::RawFd;

use fiord_types::Errno;

use crate::error::raw_result;
use crate::files::AttachedFiles;
use crate::{FileKind, Op, OpKind, Outcome};

/// `BLKDISCARD` (`linux/fs.h`: `_IO(0x12, 119)`).
const BLKDISCARD: libc::Ioctl = 0x1277;

/// Issues a trim or a sync. Returns `EINVAL` for a read or a write.
pub(crate) fn carry_out(fd: RawFd, kind: FileKind, op: &Op) -> Outcome {
    let ret = match op.kind {
        OpKind::Trim => return trim(fd, kind, op.offset, u64::from(op.len)),
        // SAFETY: the call takes no pointers.
        OpKind::Fsync => unsafe { libc::fsync(fd) },
        // SAFETY: the call takes no pointers.
        OpKind::Fdatasync => unsafe { libc::fdatasync(fd) },
        // SAFETY: the call takes no pointers.
        OpKind::SyncFileRange(flags) => unsafe {
            libc::sync_file_range(fd, op.offset as i64, i64::from(op.len), flags)
        },
        OpKind::Read | OpKind::Write => return Outcome::err(Errno::EINVAL),
    };
    Outcome::from_raw(raw_result(i64::from(ret)))
}

/// Issues a trim or a sync on an attached file. The op comes by value: an op whose address escapes is
/// made in memory, which costs time on the path of reads and writes.
#[cold]
#[inline(never)]
pub(crate) fn on(files: &AttachedFiles, op: Op) -> Outcome {
    carry_out(files.fd(op.file), files.kind(op.file), &op)
}

/// Deallocates a range: `BLKDISCARD` on a block device, a hole in a regular file. Returns
/// `EOPNOTSUPP` for other types of files.
pub(crate) fn trim(fd: RawFd, kind: FileKind, offset: u64, len: u64) -> Outcome {
    let ret = match kind {
        FileKind::Block => {
            let range = [offset, len];
            // SAFETY: the ioctl reads two u64 from `range`.
            unsafe { libc::ioctl(fd, BLKDISCARD, range.as_ptr()) }
        }
        FileKind::Regular => {
            let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
            // SAFETY: the call takes no pointers.
            unsafe { libc::fallocate(fd, mode, offset as i64, len as i64) }
        }
        FileKind::Char
        | FileKind::Pipe
        | FileKind::Name
        | FileKind::Endpoint
        | FileKind::Virtual => {
            return Outcome::err(Errno::EOPNOTSUPP);
        }
    };
    Outcome::from_raw(raw_result(i64::from(ret)))
}
