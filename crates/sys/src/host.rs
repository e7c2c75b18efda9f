//! The machine: host name, page sizes, memory, wall time.

use std::sync::OnceLock;

use fiord_types::Bytes;
use rustix::system::{sysinfo, uname};

/// Returns the host name (`gethostname(2)`).
#[must_use]
pub fn name() -> String {
    uname().nodename().to_string_lossy().into_owned()
}

/// Returns the page size in bytes.
pub fn page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    // SAFETY: takes and returns integers.
    *SIZE.get_or_init(|| match unsafe { libc::sysconf(libc::_SC_PAGESIZE) } {
        size if size > 0 => size as usize,
        _ => 4096,
    })
}

/// Returns the default huge page size in bytes (2 MiB if the kernel has no huge pages).
pub fn huge_page_size() -> usize {
    static SIZE: OnceLock<usize> = OnceLock::new();
    *SIZE.get_or_init(|| memory().huge_page_size.0 as usize)
}

/// Memory of the machine from `/proc/meminfo`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MachineMemory {
    /// All memory that the kernel can use.
    pub total: Bytes,
    /// Memory that programs could get without swapping.
    pub available: Bytes,
    /// Memory in dirty pages.
    pub dirty: Bytes,
    /// Memory in pages under write-back.
    pub writeback: Bytes,
    /// Number of free huge pages of the default size.
    pub huge_pages_free: u64,
    /// Default huge page size.
    pub huge_page_size: Bytes,
}

/// Reads the memory of the machine. Without `/proc` it takes the total from `sysinfo(2)` and sets the
/// rest to 0, except for the huge page size (2 MiB).
#[must_use]
pub fn memory() -> MachineMemory {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let mut memory = parse_meminfo(&text);
    if memory.total == Bytes::ZERO {
        let system = sysinfo();
        memory.total = Bytes(u64::from(system.mem_unit) * system.totalram);
    }
    memory
}

fn parse_meminfo(text: &str) -> MachineMemory {
    let number = |name: &str| {
        let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    let size = |name: &str| number(name).map(Bytes::from_kib);
    MachineMemory {
        total: size("MemTotal").unwrap_or_default(),
        available: size("MemAvailable").unwrap_or_default(),
        dirty: size("Dirty").unwrap_or_default(),
        writeback: size("Writeback").unwrap_or_default(),
        huge_pages_free: number("HugePages_Free").unwrap_or(0),
        huge_page_size: size("Hugepagesize").unwrap_or(Bytes(2 << 20)),
    }
}

/// Returns the wall time in nanoseconds since 1970.
#[must_use]
pub fn wall_time() -> u64 {
    crate::clock::wall()
}

/// Returns the seconds to add to UTC to get local time, at the moment `at` (seconds since 1970), in the
/// time zone of the process (`localtime_r(3)`); 0 if it is not known.
#[must_use]
pub fn utc_offset(at: u64) -> i32 {
    let Ok(at) = libc::time_t::try_from(at) else { return 0 };
    // SAFETY: `tm` is a C struct of integers and one pointer, for which all zeroes is a value.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are valid for the call, which reads the one and writes the other.
    let known = unsafe { libc::localtime_r(&raw const at, &raw mut local) };
    if known.is_null() { 0 } else { i32::try_from(local.tm_gmtoff).unwrap_or(0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn meminfo_is_parsed_in_bytes() {
        let text = "MemTotal:       1000 kB\nMemAvailable:    500 kB\nDirty: 8 kB\nWriteback: 4 kB\n\
                    HugePages_Free:        3\nHugepagesize:       2048 kB\n";
        let memory = parse_meminfo(text);
        assert_eq!(memory.total, Bytes(1_024_000));
        assert_eq!(memory.available, Bytes(512_000));
        assert_eq!((memory.dirty, memory.writeback), (Bytes(8192), Bytes(4096)));
        assert_eq!((memory.huge_pages_free, memory.huge_page_size), (3, Bytes(2 << 20)));
    }

    #[test]
    fn this_machine_has_plausible_values() {
        assert!(!name().is_empty());
        assert!(page_size().is_power_of_two());
        assert!(memory().total > Bytes(16 << 20));
        assert!(utc_offset(1_600_000_000).abs() <= 14 * 3600);
        assert!(wall_time() > 1_600_000_000_000_000_000);
    }
}
