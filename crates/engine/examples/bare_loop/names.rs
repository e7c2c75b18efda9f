//! Calls on names: one system call on each of many files or directories in one directory.

use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use std::time::Instant;

use super::{Job, Measured, cpu_time, die};

/// Makes the call of an engine of this name on `count` names in a directory, from which it looks them up. `None`: no call
/// has this name.
pub(crate) fn run(job: &Job, engine: &str, directory: &str) -> Option<Measured> {
    let call: fn(i32, &CString) -> i32 = match engine {
        "filecreate" => create,
        "filestat" | "dirstat" => attributes,
        "filedelete" => |at, name| {
            // SAFETY: the name is NUL-terminated and outlives the call.
            unsafe { libc::unlinkat(at, name.as_ptr(), 0) }
        },
        "dircreate" => make,
        "dirdelete" => |at, name| {
            // SAFETY: the name is NUL-terminated and outlives the call.
            unsafe { libc::unlinkat(at, name.as_ptr(), libc::AT_REMOVEDIR) }
        },
        _ => return None,
    };
    let directory = open(Path::new(directory));
    let name = |number| CString::new(format!("bare.0.{number}")).expect("a name without a NUL");
    let names: Vec<CString> = (0..job.count).map(name).collect();
    for name in &names {
        if matches!(engine, "filestat" | "filedelete") {
            fill(&directory, name);
        } else if matches!(engine, "dirstat" | "dirdelete") {
            make(directory.as_raw_fd(), name);
        }
    }
    let (start, before) = (Instant::now(), cpu_time());
    for name in &names {
        if call(directory.as_raw_fd(), name) != 0 {
            die(engine);
        }
    }
    let (wall, after) = (start.elapsed(), cpu_time());
    Some(Measured { ios: job.count, wall, user: after.0 - before.0, system: after.1 - before.1 })
}

fn open(directory: &Path) -> OwnedFd {
    let path =
        CString::new(directory.as_os_str().as_encoded_bytes()).expect("a path without a NUL");
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    // SAFETY: the path is NUL-terminated and outlives the call.
    let fd = unsafe { libc::open(path.as_ptr(), flags) };
    if fd < 0 {
        die("open");
    }
    // SAFETY: the kernel has just given this descriptor to us alone.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A new file with a block of data, as the layout of a job makes it.
fn fill(directory: &OwnedFd, name: &CString) {
    let fd = new_file(directory.as_raw_fd(), name);
    let block = [7u8; 4096];
    // SAFETY: the block is readable memory of this length.
    let written = unsafe { libc::write(fd, block.as_ptr().cast(), block.len()) };
    if written != block.len() as isize {
        die("write");
    }
    // SAFETY: this function has opened the descriptor.
    unsafe { libc::close(fd) };
}

fn new_file(at: i32, name: &CString) -> i32 {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_CLOEXEC;
    // SAFETY: the name is NUL-terminated and outlives the call.
    unsafe { libc::openat(at, name.as_ptr(), flags, 0o644) }
}

fn create(at: i32, name: &CString) -> i32 {
    let fd = new_file(at, name);
    // SAFETY: this function has opened the descriptor.
    unsafe { libc::close(fd) }
}

fn make(at: i32, name: &CString) -> i32 {
    // SAFETY: the name is NUL-terminated and outlives the call.
    unsafe { libc::mkdirat(at, name.as_ptr(), 0o755) }
}

fn attributes(at: i32, name: &CString) -> i32 {
    // SAFETY: all-zero is a valid stat.
    let mut found: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the name is NUL-terminated, there is room for the result, and both outlive the call.
    unsafe { libc::fstatat(at, name.as_ptr(), &raw mut found, 0) }
}
