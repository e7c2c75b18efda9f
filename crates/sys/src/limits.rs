//! The kernel version, and the resource limits of the process.

use fiord_types::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::system::uname;

use crate::error::Named;
use crate::{Error, Result};

/// Returns the limit on the size of files that this process writes, in bytes (`RLIMIT_FSIZE`); `None` means no limit.
#[must_use]
pub fn file_size() -> Option<u64> {
    getrlimit(Resource::Fsize).current
}

/// Raises the limit on open files so that `want` files can be open at once: the soft limit, and as root
/// the hard one, if they are lower. Returns the soft limit now in force, which may be below `want`.
///
/// # Errors
/// Errors of `setrlimit(2)`.
pub fn raise_open_files(want: u64) -> Result<u64> {
    let soft = |limit: Rlimit| limit.current.unwrap_or(u64::MAX);
    let now = getrlimit(Resource::Nofile);
    if soft(now) >= want {
        return Ok(soft(now));
    }
    let set = |soft, maximum| {
        setrlimit(Resource::Nofile, Rlimit { current: Some(soft), maximum }).op("setrlimit")
    };
    // Without privilege, raise the soft limit up to the hard limit.
    if set(want, now.maximum.map(|hard| hard.max(want))).is_err() {
        set(now.maximum.map_or(want, |hard| hard.min(want)), now.maximum)?;
    }
    Ok(soft(getrlimit(Resource::Nofile)))
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

/// Returns the running kernel's version.
///
/// # Errors
/// `EINVAL` if the release has an unknown format.
pub fn kernel() -> Result<Kernel> {
    let release = uname().release().to_string_lossy().into_owned();
    Kernel::parse(&release).ok_or_else(|| Error::new("uname", Errno::EINVAL))
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
        let limit = getrlimit(Resource::Nofile);
        for want in [limit.current, limit.maximum.filter(|hard| *hard < 1 << 30)] {
            let want = want.unwrap_or(0);
            assert!(raise_open_files(want).unwrap() >= want);
        }
    }
}
