//! The kernel version, and the resource limits of the process.

use fiord_types::Errno;

use crate::error::check;
use crate::{Error, Result};

/// A resource limit of the process (`getrlimit(2)`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResourceLimit {
    /// The limit in force; `u64::MAX` means no limit.
    pub soft: u64,
    /// The highest value that an unprivileged process may raise the soft limit to.
    pub hard: u64,
}

#[cfg(target_env = "gnu")]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(target_env = "gnu"))]
type Resource = libc::c_int;

fn read(resource: Resource) -> Result<ResourceLimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is writable.
    check("getrlimit", unsafe { libc::getrlimit(resource, &raw mut limit) })?;
    Ok(ResourceLimit { soft: limit.rlim_cur, hard: limit.rlim_max })
}

fn write(resource: Resource, limit: ResourceLimit) -> Result<()> {
    let limit = libc::rlimit { rlim_cur: limit.soft, rlim_max: limit.hard };
    // SAFETY: `limit` is a valid rlimit that the kernel reads.
    check("setrlimit", unsafe { libc::setrlimit(resource, &raw const limit) }).map(drop)
}

/// A limit that this crate only reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitKind {
    /// `RLIMIT_AS`: address space of the process, in bytes.
    AddressSpace,
    /// `RLIMIT_DATA`: private writable memory, in bytes.
    Data,
    /// `RLIMIT_NPROC`: number of processes and threads of the user.
    Processes,
}

/// Returns a limit of this process.
///
/// # Errors
/// Errors of `getrlimit(2)`.
pub fn of(kind: LimitKind) -> Result<ResourceLimit> {
    read(match kind {
        LimitKind::AddressSpace => libc::RLIMIT_AS,
        LimitKind::Data => libc::RLIMIT_DATA,
        LimitKind::Processes => libc::RLIMIT_NPROC,
    })
}

/// Returns the limit on open files (`RLIMIT_NOFILE`).
///
/// # Errors
/// Errors of `getrlimit(2)`.
pub fn open_files() -> Result<ResourceLimit> {
    read(libc::RLIMIT_NOFILE)
}

/// Returns the limit on the size of files that this process writes, in bytes (`RLIMIT_FSIZE`).
///
/// # Errors
/// Errors of `getrlimit(2)`.
pub fn file_size() -> Result<ResourceLimit> {
    read(libc::RLIMIT_FSIZE)
}

/// Raises the limit on open files so that `want` files can be open at once: the soft limit, and as root
/// the hard one, if they are lower. Returns the soft limit now in force, which may be below `want`.
///
/// # Errors
/// Errors of `getrlimit(2)` and `setrlimit(2)`.
pub fn raise_open_files(want: u64) -> Result<u64> {
    raise(libc::RLIMIT_NOFILE, want)
}

fn raise(resource: Resource, want: u64) -> Result<u64> {
    let now = read(resource)?;
    if now.soft >= want {
        return Ok(now.soft);
    }
    let raised = ResourceLimit { soft: want, hard: now.hard.max(want) };
    // Without privilege, raise the soft limit up to the hard limit.
    if write(resource, raised).is_err() {
        write(resource, ResourceLimit { soft: want.min(now.hard), hard: now.hard })?;
    }
    Ok(read(resource)?.soft)
}

/// A kernel version. Versions can be compared: `kernel()? >= Kernel::new(5, 19)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kernel {
    /// First number.
    pub major: u32,
    /// Second number.
    pub minor: u32,
    /// Third number; 0 if there is none.
    pub patch: u32,
}

impl Kernel {
    /// Returns the version `major.minor.0`.
    #[must_use]
    pub const fn new(major: u32, minor: u32) -> Kernel {
        Kernel { major, minor, patch: 0 }
    }

    /// Parses a kernel release (`6.18.44-rc1`, `5.4`).
    #[must_use]
    pub fn parse(release: &str) -> Option<Kernel> {
        let mut numbers = release.split('.').map(|part| {
            let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
            part[..end].parse::<u32>().ok()
        });
        let (major, minor) = (numbers.next()??, numbers.next()??);
        Some(Kernel { major, minor, patch: numbers.next().flatten().unwrap_or(0) })
    }
}

impl std::fmt::Display for Kernel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

/// Returns the running kernel's release, as `uname -r` prints it.
///
/// # Errors
/// Errors of `uname(2)`.
pub fn kernel_release() -> Result<String> {
    // SAFETY: `utsname` is a C struct of character arrays, for which all zeroes is a value.
    let mut names: libc::utsname = unsafe { std::mem::zeroed() };
    // SAFETY: `names` is writable.
    check("uname", unsafe { libc::uname(&raw mut names) })?;
    let bytes: Vec<u8> =
        names.release.iter().take_while(|&&byte| byte != 0).map(|&byte| byte as u8).collect();
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the running kernel's version.
///
/// # Errors
/// Errors of `uname(2)`; `EINVAL` if the release has an unknown format.
pub fn kernel() -> Result<Kernel> {
    Kernel::parse(&kernel_release()?).ok_or_else(|| Error::new("uname", Errno::EINVAL))
}

/// Returns who may use `io_uring` (`kernel.io_uring_disabled`, Linux 6.6): 0 all processes, 1 the
/// group in `kernel.io_uring_group` and privileged processes, 2 no process. Returns 0 on older
/// kernels.
#[must_use]
pub fn io_uring_disabled() -> u64 {
    read_number("/proc/sys/kernel/io_uring_disabled").unwrap_or(0)
}

fn read_number(path: &str) -> Result<u64> {
    let text =
        std::fs::read_to_string(path).map_err(|error| Error::from_io("read", &error).at(path))?;
    text.trim().parse().map_err(|_| Error::new("parse", Errno::EINVAL).at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_versions_compare() {
        assert_eq!(Kernel::parse("6.18.44-x-y"), Some(Kernel { major: 6, minor: 18, patch: 44 }));
        assert_eq!(Kernel::parse("5.4"), Some(Kernel::new(5, 4)));
        assert_eq!(Kernel::parse("4.19-rc3.foo"), Some(Kernel::new(4, 19)));
        assert_eq!(Kernel::parse("linux"), None);
        assert!(Kernel::new(5, 19) > Kernel::new(5, 4));
        assert!(kernel().unwrap() > Kernel::new(3, 0));
        assert_eq!(Kernel::new(6, 1).to_string(), "6.1.0");
        assert!(io_uring_disabled() <= 2);
    }

    #[test]
    fn open_files_can_be_raised_to_the_hard_limit() {
        let limit = open_files().unwrap();
        assert!(raise_open_files(limit.soft).unwrap() >= limit.soft);
        if limit.hard < 1 << 30 {
            assert!(raise_open_files(limit.hard).unwrap() >= limit.hard);
        }
    }
}
