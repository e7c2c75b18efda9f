//! Finds out in which system call a thread of this process is blocked, and on which file.
//!
//! `/proc/self/task/*/syscall` shows the blocking call of a thread and its arguments, even if the thread
//! cannot be interrupted. The thread records nothing in advance, so workers have no cost.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The call in which a thread is blocked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockedCall {
    /// Name of the system call; `a system call` if this module does not know it, `a page fault` if the
    /// thread waits for mapped memory.
    pub call: &'static str,
    /// The file that the call works on, if it has one with a name.
    pub file: Option<PathBuf>,
    /// Offset of the first byte that the call reads or writes, if its arguments contain it.
    pub offset: Option<u64>,
}

/// What the arguments of a call refer to.
#[derive(Clone, Copy)]
enum About {
    /// A descriptor in argument 0; the value is the index of the argument with the offset.
    Fd(Option<usize>),
    /// A path in the argument with this index.
    Path(usize),
    /// Neither a descriptor nor a path.
    Other,
}

/// Returns the call in which a thread of this process is blocked; `None` if the thread runs, has ended,
/// or its state cannot be read.
#[must_use]
pub fn waits_in(thread: u32) -> Option<BlockedCall> {
    let text = std::fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    let (number, arguments) = parse(&text)?;
    let (call, about) = named(number);
    let argument = |n: usize| arguments.get(n).copied().unwrap_or(0);
    let (file, offset) = match about {
        About::Fd(offset) => (of_descriptor(argument(0)), offset.map(argument)),
        About::Path(n) => (text_at(argument(n)), None),
        About::Other => (None, None),
    };
    Some(BlockedCall { call, offset: offset.filter(|_| file.is_some()), file })
}

/// Parses the number of the call and its arguments. The file contains either `running`, or numbers: the
/// call (-1: none), six arguments, the stack pointer and the program counter (`proc_pid_syscall(5)`).
fn parse(text: &str) -> Option<(i64, Vec<u64>)> {
    let mut words = text.split_whitespace();
    let number = words.next()?.parse().ok()?;
    let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
    Some((number, words.map_while(hex).collect()))
}

fn named(number: i64) -> (&'static str, About) {
    const AT: About = About::Fd(Some(3));
    const FD: About = About::Fd(None);
    let call: libc::c_long = match number {
        -1 => return ("a page fault", About::Other),
        other => other,
    };
    match call {
        libc::SYS_read => ("read", FD),
        libc::SYS_write => ("write", FD),
        libc::SYS_pread64 => ("pread", AT),
        libc::SYS_pwrite64 => ("pwrite", AT),
        libc::SYS_readv => ("readv", FD),
        libc::SYS_writev => ("writev", FD),
        libc::SYS_preadv => ("preadv", AT),
        libc::SYS_pwritev => ("pwritev", AT),
        libc::SYS_preadv2 => ("preadv2", AT),
        libc::SYS_pwritev2 => ("pwritev2", AT),
        libc::SYS_fsync => ("fsync", FD),
        libc::SYS_fdatasync => ("fdatasync", FD),
        libc::SYS_syncfs => ("syncfs", FD),
        libc::SYS_sync_file_range => ("sync_file_range", About::Fd(Some(1))),
        libc::SYS_fallocate => ("fallocate", About::Fd(Some(2))),
        libc::SYS_ftruncate => ("ftruncate", FD),
        libc::SYS_fadvise64 => ("posix_fadvise", FD),
        libc::SYS_fstat => ("stat", FD),
        libc::SYS_ioctl => ("ioctl", FD),
        libc::SYS_close => ("close", FD),
        libc::SYS_openat => ("open", About::Path(1)),
        libc::SYS_newfstatat => ("stat", About::Path(1)),
        libc::SYS_statx => ("statx", About::Path(1)),
        libc::SYS_unlinkat => ("unlink", About::Path(1)),
        libc::SYS_statfs => ("statfs", About::Path(0)),
        #[cfg(target_arch = "x86_64")]
        libc::SYS_unlink => ("unlink", About::Path(0)),
        libc::SYS_msync => ("msync", About::Other),
        libc::SYS_munmap => ("munmap", About::Other),
        libc::SYS_io_submit => ("io_submit", About::Other),
        libc::SYS_io_getevents => ("io_getevents", About::Other),
        libc::SYS_io_uring_enter => ("io_uring_enter", About::Other),
        libc::SYS_io_destroy => ("io_destroy", About::Other),
        libc::SYS_futex => ("a lock", About::Other),
        _ => ("a system call", About::Other),
    }
}

/// Returns the file behind a descriptor; `None` if it has no name (rings, sockets).
fn of_descriptor(fd: u64) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/self/fd/{}", fd as i32)).ok()?;
    path.is_absolute().then_some(path)
}

/// Reads the text at an address of this process that a blocked thread has passed to the kernel. It uses
/// `/proc/self/mem`, so that an unmapped address is an error and not a fault.
fn text_at(address: u64) -> Option<PathBuf> {
    let mut bytes = vec![0; 4096];
    let memory = File::open("/proc/self/mem").ok()?;
    // The memory after the text may not be mapped, so try shorter reads too.
    let n =
        (0..4).find_map(|less| memory.read_at(&mut bytes[..4096 >> (3 * less)], address).ok())?;
    let end = bytes[..n].iter().position(|byte| *byte == 0)?;
    bytes.truncate(end);
    (end > 0).then(|| PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::sync::mpsc::channel;
    use std::time::{Duration, Instant};

    use super::*;

    /// Starts a thread and waits until it is blocked on a file.
    fn blocked(body: impl FnOnce() + Send + 'static) -> BlockedCall {
        let (sender, receiver) = channel();
        std::thread::spawn(move || {
            sender.send(crate::thread::id()).unwrap();
            body();
        });
        let thread = u32::try_from(receiver.recv().unwrap()).unwrap();
        let until = Instant::now() + Duration::from_secs(20);
        while Instant::now() < until {
            match waits_in(thread) {
                Some(waiting) if waiting.file.is_some() => return waiting,
                _ => std::thread::sleep(Duration::from_millis(1)),
            }
        }
        panic!("the thread is not blocked: {:?}", waits_in(thread));
    }

    #[test]
    fn a_blocked_thread_reports_its_call_and_file() {
        let fifo = std::env::temp_dir().join(format!("fiord-task-{}", std::process::id()));
        let status = std::process::Command::new("mkfifo").arg(&fifo).status();
        if !status.is_ok_and(|status| status.success()) {
            return;
        }
        let path = fifo.clone();
        let opening = blocked(move || drop(std::fs::File::open(path)));
        let both = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
        let fd = both.as_raw_fd();
        let reading = blocked(move || {
            let mut byte = [0];
            let _ = std::io::Read::read(&mut &both, &mut byte);
        });
        std::fs::remove_file(&fifo).unwrap();
        assert_eq!((opening.call, opening.file), ("open", Some(fifo.clone())));
        assert_eq!(
            (reading.call, reading.file, reading.offset),
            ("read", Some(fifo), None),
            "{fd}"
        );
    }

    #[test]
    fn the_syscall_file_is_parsed() {
        let text = "17 0x5 0x7f00 0x1000 0x2000 0x0 0x0 0x7ffe 0x7f01\n";
        let (number, arguments) = parse(text).unwrap();
        assert_eq!((number, arguments[0], arguments[3]), (17, 5, 0x2000));
        assert_eq!(parse("running\n"), None);
        assert_eq!(named(-1).0, "a page fault");
    }
}
