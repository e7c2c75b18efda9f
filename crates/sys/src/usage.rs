//! Resources that a thread or the process has used: CPU time, context switches, faults, memory.

use std::fs::File;
use std::io::Read;

use fiord_types::{Bytes, Errno, Nanos};

use crate::Result;
use crate::error::check;

/// Counters of `getrusage(2)`. The difference of two readings of one thread is its use between them
/// ([`ResourceUsage::since`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ResourceUsage {
    /// CPU time in user mode; the kernel reports microseconds.
    pub user: Nanos,
    /// CPU time in the kernel.
    pub system: Nanos,
    /// Context switches because the thread had to wait.
    pub voluntary_switches: u64,
    /// Context switches because its time slice ended or a thread of higher priority ran.
    pub involuntary_switches: u64,
    /// Page faults that needed I/O.
    pub major_faults: u64,
    /// Page faults that needed no I/O.
    pub minor_faults: u64,
    /// Data that file systems read for it.
    pub read: Bytes,
    /// Data that file systems wrote for it.
    pub written: Bytes,
}

impl ResourceUsage {
    /// Reads the counters of the calling thread (`RUSAGE_THREAD`, Linux 2.6.26).
    ///
    /// # Errors
    /// Errors of `getrusage(2)`.
    pub fn of_thread() -> Result<ResourceUsage> {
        read(libc::RUSAGE_THREAD)
    }

    /// Reads the counters of the process, for all its threads together.
    ///
    /// # Errors
    /// Errors of `getrusage(2)`.
    pub fn of_process() -> Result<ResourceUsage> {
        read(libc::RUSAGE_SELF)
    }

    /// Reads the counters of all child processes that have ended and were waited for.
    ///
    /// # Errors
    /// Errors of `getrusage(2)`.
    pub fn of_children() -> Result<ResourceUsage> {
        read(libc::RUSAGE_CHILDREN)
    }

    /// Returns the use between `earlier` and this reading.
    #[must_use]
    pub fn since(&self, earlier: &ResourceUsage) -> ResourceUsage {
        let count = u64::saturating_sub;
        ResourceUsage {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            voluntary_switches: count(self.voluntary_switches, earlier.voluntary_switches),
            involuntary_switches: count(self.involuntary_switches, earlier.involuntary_switches),
            major_faults: count(self.major_faults, earlier.major_faults),
            minor_faults: count(self.minor_faults, earlier.minor_faults),
            read: self.read.saturating_sub(earlier.read),
            written: self.written.saturating_sub(earlier.written),
        }
    }

    /// Returns the number of all context switches.
    #[must_use]
    pub fn switches(&self) -> u64 {
        self.voluntary_switches + self.involuntary_switches
    }
}

fn read(who: libc::c_int) -> Result<ResourceUsage> {
    // SAFETY: `rusage` is a C struct of integers, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is writable.
    check("getrusage", unsafe { libc::getrusage(who, &raw mut usage) })?;
    let ns = |time: libc::timeval| {
        Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1000)
    };
    Ok(ResourceUsage {
        user: ns(usage.ru_utime),
        system: ns(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        major_faults: usage.ru_majflt as u64,
        minor_faults: usage.ru_minflt as u64,
        read: Bytes::from_sectors(usage.ru_inblock as u64),
        written: Bytes::from_sectors(usage.ru_oublock as u64),
    })
}

/// Returns how long the calling thread has been ready to run but had no CPU; `None` if
/// the kernel does not count it (`CONFIG_SCHED_INFO`).
#[must_use]
pub fn ready_time() -> Option<Nanos> {
    // On the stack: callers may not allocate. Three numbers of 20 digits fit, and one read returns all.
    let mut text = [0; 96];
    let len = File::open("/proc/thread-self/schedstat").ok()?.read(&mut text).ok()?;
    parse_ready(std::str::from_utf8(&text[..len]).ok()?)
}

/// Parses `schedstat`: time on a CPU, time spent waiting for one, number of time slices.
fn parse_ready(text: &str) -> Option<Nanos> {
    text.split_whitespace().nth(1)?.parse().ok().map(Nanos)
}

/// Memory of the process, from `/proc/self/status`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProcessMemory {
    /// Resident memory now.
    pub resident: Bytes,
    /// Peak of the resident memory.
    pub peak: Bytes,
    pub locked: Bytes,
    /// Size of the address space.
    pub mapped: Bytes,
}

/// Reads the memory use of the process.
///
/// # Errors
/// Errors of reading `/proc/self/status`.
pub fn memory() -> Result<ProcessMemory> {
    let path = "/proc/self/status";
    let text = std::fs::read_to_string(path)
        .map_err(|error| crate::Error::from_io("read", &error).at(path))?;
    Ok(parse_status(&text))
}

fn parse_status(text: &str) -> ProcessMemory {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        value.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(Bytes::from_kib)
    };
    ProcessMemory {
        resident: field("VmRSS").unwrap_or_default(),
        peak: field("VmHWM").unwrap_or_default(),
        locked: field("VmLck").unwrap_or_default(),
        mapped: field("VmSize").unwrap_or_default(),
    }
}

/// Bytes that the process caused to move between memory and storage, from `/proc/self/io`
/// (`proc_pid_io(5)`). They include direct I/O and read-ahead, but not reads that the page cache serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StorageBytes {
    /// Bytes fetched from storage.
    pub read: Bytes,
    /// Bytes sent to storage, or made dirty in the page cache.
    pub written: Bytes,
}

/// Reads the bytes moved by all threads of the process, including those that have ended. Needs a kernel
/// with `CONFIG_TASK_IO_ACCOUNTING`.
///
/// # Errors
/// Errors of reading `/proc/self/io`; `ENOENT` if the kernel does not have it; `EINVAL` if its format is
/// unknown.
pub fn storage_bytes() -> Result<StorageBytes> {
    let path = "/proc/self/io";
    let text = std::fs::read_to_string(path)
        .map_err(|error| crate::Error::from_io("read", &error).at(path))?;
    parse_io(&text).ok_or_else(|| crate::Error::new("read", Errno::EINVAL).at(path))
}

fn parse_io(text: &str) -> Option<StorageBytes> {
    let field = |name: &str| {
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))?;
        value.trim().parse::<u64>().ok().map(Bytes)
    };
    Some(StorageBytes { read: field("read_bytes")?, written: field("write_bytes")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_thread_uses_user_time() {
        let before = ResourceUsage::of_thread().unwrap();
        let start = crate::clock::thread_cpu();
        while crate::clock::thread_cpu() - start < 20_000_000 {
            std::hint::black_box((0..1000u64).sum::<u64>());
        }
        let used = ResourceUsage::of_thread().unwrap().since(&before);
        assert!(used.user.saturating_add(used.system) >= Nanos::from_millis(10), "{used:?}");
    }

    #[test]
    fn a_sleeping_thread_switches_voluntarily() {
        let before = ResourceUsage::of_thread().unwrap();
        for _ in 0..3 {
            crate::clock::sleep(std::time::Duration::from_millis(1));
        }
        let used = ResourceUsage::of_thread().unwrap().since(&before);
        assert!(used.voluntary_switches >= 3, "{used:?}");
        assert!(used.switches() >= 3);
    }

    #[test]
    fn memory_is_parsed_in_bytes() {
        let text = "Name:\tx\nVmSize:\t  2048 kB\nVmLck:\t 0 kB\nVmHWM:\t 128 kB\nVmRSS:\t 64 kB\n";
        let parsed = parse_status(text);
        assert_eq!(
            parsed,
            ProcessMemory {
                resident: Bytes(65536),
                peak: Bytes(131072),
                locked: Bytes::ZERO,
                mapped: Bytes(2097152)
            }
        );
        assert!(memory().unwrap().resident > Bytes::ZERO);
    }

    #[test]
    fn the_wait_for_a_cpu_is_parsed() {
        assert_eq!(parse_ready("416030 316580 5\n"), Some(Nanos(316_580)));
        assert_eq!(parse_ready(""), None);
    }

    #[test]
    fn storage_bytes_are_parsed() {
        let text =
            "rchar: 9\nwchar: 8\nread_bytes: 4096\nwrite_bytes: 512\ncancelled_write_bytes: 1\n";
        assert_eq!(parse_io(text), Some(StorageBytes { read: Bytes(4096), written: Bytes(512) }));
        assert_eq!(parse_io("read_bytes: x"), None);
    }
}
