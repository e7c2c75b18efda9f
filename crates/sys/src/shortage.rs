//! Explains which limit denies this process more memory or threads.
//!
//! The texts name the limit, its value, the current use and the remedy. The code that writes them for
//! memory does not allocate, so that [`Allocator`] can report that memory is exhausted.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use fiord_types::program;
use rustix::fs::{Mode, OFlags};
use rustix::process::{Resource, getrlimit};

use crate::host;
use crate::root::Root;

/// Explains why `bytes` more of memory are not available.
#[must_use]
pub fn of_memory(bytes: u64) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = memory(bytes, &mut text);
    text
}

/// Explains why one more thread with a stack of `stack` bytes cannot be created.
#[must_use]
pub fn of_threads(stack: u64) -> String {
    let mut text = String::new();
    let _ = match thread_limit() {
        Some(limit) => write!(text, "{limit}"),
        None => memory(stack, &mut text),
    };
    text
}

/// Whether `bytes` more would exceed the limit on this process's address space (`RLIMIT_AS`).
#[must_use]
pub fn exceeds_address_space(bytes: u64) -> bool {
    getrlimit(Resource::As).current.is_some_and(|limit| pages(0).saturating_add(bytes) > limit)
}

/// If the address space is limited, keeps the C library from reserving 64 MiB of it for each thread that
/// allocates. The cost is negligible, because a job's threads allocate before they run.
pub fn save_address_space() {
    #[cfg(target_env = "gnu")]
    if getrlimit(Resource::As).current.is_some() {
        // SAFETY: integers only; called before there are other threads.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
    }
}

fn memory(bytes: u64, out: &mut impl Write) -> fmt::Result {
    let (mapped, private) = (pages(0), pages(5));
    if let Some(space) = getrlimit(Resource::As).current
        && mapped.saturating_add(bytes) > space
    {
        return write!(
            out,
            "{bytes} bytes more exceed the limit on address space (RLIMIT_AS): {space} bytes, {mapped} \
             of them in use. To fix: raise it (ulimit -v unlimited), or use fewer jobs, a smaller \
             iodepth or smaller blocks"
        );
    }
    if let Some(data) = getrlimit(Resource::Data).current
        && private.saturating_add(bytes) > data
    {
        return write!(
            out,
            "{bytes} bytes more exceed the limit on private memory (RLIMIT_DATA): {data} bytes, \
             {private} of them in use. To fix: raise it (ulimit -d unlimited), or use fewer jobs, a \
             smaller iodepth or smaller blocks"
        );
    }
    write!(
        out,
        "the kernel does not give this process {bytes} bytes more (vm.overcommit_memory, \
         vm.max_map_count, memory.max of the control group). To fix: use fewer jobs, a smaller iodepth \
         or smaller blocks"
    )
}

/// Reads a field of `/proc/self/statm` (`proc_pid_statm(5)`), in bytes: 0 is the address space, 5 private
/// memory.
fn pages(field: usize) -> u64 {
    let mut buffer = [0u8; 128];
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(c"/proc/self/statm", flags, Mode::empty());
    let read = file.and_then(|file| rustix::io::read(file, &mut buffer)).unwrap_or(0);
    let text = std::str::from_utf8(&buffer[..read]).unwrap_or_default();
    let number = text.split_ascii_whitespace().nth(field).and_then(|word| word.parse::<u64>().ok());
    number.unwrap_or(0).saturating_mul(host::page_size() as u64)
}

/// Explains the limit on threads that has been reached, if any.
fn thread_limit() -> Option<String> {
    let root = Root::machine();
    if let Some((group, max)) = full_group(&root) {
        return Some(format!(
            "the control group {group} may have {max} threads (pids.max). To fix: raise it, or use a \
             smaller numjobs"
        ));
    }
    let status = |text: &str, key: &str| -> Option<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(key))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let mut all = 0;
    let mut own = 0;
    let user = status(&root.text("/proc/self/status")?, "Uid:")?;
    for entry in std::fs::read_dir(root.path("/proc")).ok()?.flatten() {
        // A process may end in the meantime; other directories have no such file.
        let Ok(text) = std::fs::read_to_string(entry.path().join("status")) else { continue };
        let threads = status(&text, "Threads:").unwrap_or(0);
        all += threads;
        own += if status(&text, "Uid:") == Some(user) { threads } else { 0 };
    }
    for name in ["threads-max", "pid_max"] {
        if let Some(max) = root.number(format!("/proc/sys/kernel/{name}")).filter(|max| all >= *max)
        {
            return Some(format!(
                "the system may have {max} threads (kernel.{name}). To fix: raise it, or use a smaller \
                 numjobs"
            ));
        }
    }
    let limit = getrlimit(Resource::Nproc).current?;
    (own >= limit).then(|| {
        format!(
            "this user may have {limit} processes and threads (RLIMIT_NPROC), and has {own}. To fix: \
             raise the limit (ulimit -u), or use a smaller numjobs"
        )
    })
}

/// Returns the version 2 control group of this process, or above it, that has reached its limit on
/// threads, with the limit.
fn full_group(root: &Root) -> Option<(String, u64)> {
    let groups = root.text("/proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?.trim_start_matches('/');
    let full = |group: &std::path::Path| {
        let number = |name: &str| root.number(root.path("/sys/fs/cgroup").join(group).join(name));
        let max = number("pids.max").filter(|max| number("pids.current") >= Some(*max))?;
        Some((format!("/{}", group.display()), max))
    };
    std::path::Path::new(own).ancestors().find_map(full)
}

/// The system's allocator. If memory is exhausted, it ends the process with a message that names the
/// limit; Rust's default is to abort with only the number of bytes.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: every call is forwarded to the system's allocator with the caller's arguments.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        checked(unsafe { System.alloc(layout) }, layout.size())
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        checked(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        checked(unsafe { System.realloc(block, layout, size) }, size)
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the contract of `GlobalAlloc`.
        unsafe { System.dealloc(block, layout) }
    }
}

#[inline(always)]
fn checked(block: *mut u8, size: usize) -> *mut u8 {
    if block.is_null() {
        exhausted(size);
    }
    block
}

#[cold]
fn exhausted(size: usize) -> ! {
    static FIRST: AtomicBool = AtomicBool::new(true);
    if FIRST.swap(false, Ordering::Relaxed) {
        let mut text = Line { bytes: [0; 640], len: 0 };
        let _ = write!(text, "{}: out of memory: ", program::name());
        let _ = memory(size as u64, &mut text);
        let _ = text.write_str("\n");
        crate::screen::restore();
        let _ = rustix::io::write(rustix::stdio::stderr(), &text.bytes[..text.len]);
        // SAFETY: _exit runs no code of this process, whose other threads may be in any state.
        unsafe { libc::_exit(1) };
    }
    loop {
        // The first thread that got here is about to end the process.
        rustix::event::pause();
    }
}

/// A text on the stack. Text beyond its capacity is dropped.
struct Line {
    bytes: [u8; 640],
    len: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.len..];
        let len = text.len().min(room.len());
        room[..len].copy_from_slice(&text.as_bytes()[..len]);
        self.len += len;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_read() {
        assert!(pages(0) > 1 << 20 && pages(5) > 1 << 16 && pages(5) < pages(0));
        assert!(!exceeds_address_space(4096));
    }

    #[test]
    fn memory_in_use_is_read_from_statm() {
        assert!(of_memory(1 << 20).contains("To fix: "));
        assert!(of_threads(1 << 20).contains("To fix: "));
    }

    #[test]
    fn a_line_takes_what_fits() {
        let mut line = Line { bytes: [0; 640], len: 0 };
        (0..100).for_each(|_| line.write_str("0123456789").unwrap());
        assert_eq!(line.len, 640);
    }
}
