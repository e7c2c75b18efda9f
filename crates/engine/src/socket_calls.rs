//! The calls that move bytes over the socket of a connection.

use std::os::fd::RawFd;

use fiord_types::Errno;

use crate::error::FailureCause;

/// How a send or a receive ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Moved {
    /// Number of bytes that were moved, at least 1.
    Bytes(usize),
    /// The server has closed its end.
    End,
    /// Nothing now: wait until the connection is ready.
    Wait,
    /// A signal arrived.
    Interrupted,
    /// A system call failed.
    Failed(Errno),
    /// TLS failed, for this reason.
    #[cfg_attr(not(feature = "tls"), allow(dead_code, reason = "nothing else fails in this way"))]
    Tls(FailureCause),
}

const fn flags(wait: bool) -> i32 {
    if wait { libc::MSG_NOSIGNAL } else { libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT }
}

/// The result of a call that moves bytes.
fn moved(ret: isize) -> Moved {
    match ret {
        1.. => Moved::Bytes(ret as usize),
        0 => Moved::End,
        _ => match Errno::last() {
            Errno::EAGAIN => Moved::Wait,
            Errno::EINTR => Moved::Interrupted,
            errno => Moved::Failed(errno),
        },
    }
}

/// `sendmsg(2)` of two parts.
pub(crate) fn send_parts(fd: RawFd, first: &[u8], second: &[u8], wait: bool) -> Moved {
    let part = |data: &[u8]| libc::iovec {
        iov_base: data.as_ptr().cast_mut().cast(),
        iov_len: data.len(),
    };
    let mut parts = [part(first), part(second)];
    // SAFETY: all bytes zero are a valid message without anything.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    message.msg_iov = parts.as_mut_ptr();
    message.msg_iovlen = parts.len() as _;
    // SAFETY: the message has two parts, which are readable memory of their lengths.
    moved(unsafe { libc::sendmsg(fd, &raw const message, flags(wait)) })
}

/// `recv(2)`.
pub(crate) fn receive(fd: RawFd, to: &mut [u8], wait: bool) -> Moved {
    // SAFETY: the slice is writable memory of its length.
    moved(unsafe { libc::recv(fd, to.as_mut_ptr().cast(), to.len(), flags(wait)) })
}
