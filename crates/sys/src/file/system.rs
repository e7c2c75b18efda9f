//! Whether a file lies in a directory of the system, wherever its path seems to lead.
//!
//! Asked of an open descriptor, so that spelling (`..`, relative names), symbolic links, `/proc/self/root`
//! and races make no difference: the kernel knows where the file lies (`/proc/self/fd`), and the mount
//! table knows where else the same directory is mounted (bind mounts). Without `/proc` the path is
//! resolved instead and must still lead to the same file; bind mounts are not seen then.
//!
//! What cannot be seen: hard links (a second name elsewhere for a file of the system), and the
//! directories of the machine around a chroot or container, which are no system directories inside it.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::{Device, Open, facts, facts_of};
use crate::mount::{self, Mount};
use crate::{Error, Result};

/// Directories that hold the system and no data of users.
pub const DIRECTORIES: &[&str] = &[
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/libexec", "/boot",
    "/proc", "/sys", "/dev",
];

/// In them, but made for the data of programs: shared memory and huge pages.
pub const EXCEPT: &[&str] = &["/dev/shm", "/dev/hugepages"];

/// A file that lies in a system directory. `Display` says so in a sentence without its full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFile {
    /// Where it lies, without links.
    pub location: PathBuf,
    /// The system directory, as it is usually named.
    pub directory: &'static str,
}

impl fmt::Display for SystemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SystemFile { location, directory } = self;
        match *directory {
            "/dev" => write!(f, "it is no device, and {} lies in /dev", location.display()),
            _ => write!(f, "{} lies in the system directory {directory}", location.display()),
        }
    }
}

/// The system directory that a path leads to, links followed; of a file that is missing, the one that
/// it would be created in. Says nothing about what kind of file it is.
///
/// # Errors
/// The path cannot be looked at.
pub fn directory_of(path: &Path) -> Result<Option<SystemFile>> {
    // As many links as the kernel follows.
    const LINKS: usize = 40;
    let mut at = path.to_path_buf();
    for _ in 0..LINKS {
        match Open::to_look().open(&at) {
            Ok(fd) => return of(fd.as_fd(), &at),
            Err(error) if !missing(&error) => return Err(error),
            Err(_) => {}
        }
        // A link to what is missing: opening it would create that.
        at = match std::fs::read_link(&at) {
            Ok(to) => above(&at).join(to),
            Err(_) => above(&at).to_path_buf(),
        };
    }
    Err(Error::new("open", libc::ELOOP).at(path))
}

fn missing(error: &Error) -> bool {
    matches!(error.errno, libc::ENOENT | libc::ENOTDIR)
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The system directory that an open file or directory is or lies in. `path` is how it was opened.
pub(super) fn of(fd: BorrowedFd, path: &Path) -> Result<Option<SystemFile>> {
    let link = format!("/proc/self/fd/{}", fd.as_raw_fd());
    let location = match std::fs::read_link(&link) {
        Ok(location) => location,
        Err(_) => resolved(fd, path)?,
    };
    let tables = tables();
    if let Some(directory) = tables.holding(&location) {
        return Ok(Some(SystemFile { location, directory }));
    }
    let Some(id) = mount::id_of(fd) else { return Ok(None) };
    let directory = mounted_in(id, &location);
    Ok(directory.map(|directory| SystemFile { location, directory }))
}

/// Where a path leads, when that is what is open.
fn resolved(fd: BorrowedFd, path: &Path) -> Result<PathBuf> {
    let location =
        std::fs::canonicalize(path).map_err(|error| Error::from_io("realpath", &error).at(path))?;
    let (there, here) = (facts(&location)?, facts_of(fd)?);
    if (there.device, there.inode) == (here.device, here.inode) {
        return Ok(location);
    }
    let said = "something else is there now than a moment ago. To fix: run again";
    Err(Error::new("open", libc::EAGAIN).at(path).saying(said))
}

/// The system directories without links: `/bin` is `/usr/bin` on most machines.
struct Tables(Vec<(PathBuf, &'static str)>, Vec<PathBuf>);

impl Tables {
    fn holding(&self, location: &Path) -> Option<&'static str> {
        if self.1.iter().any(|except| location.starts_with(except)) {
            return None;
        }
        self.0.iter().find(|(real, _)| location.starts_with(real)).map(|(_, name)| *name)
    }
}

fn tables() -> &'static Tables {
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let real = |name: &str| std::fs::canonicalize(name).unwrap_or_else(|_| name.into());
        let mut all: Vec<(PathBuf, &'static str)> = Vec::new();
        for name in DIRECTORIES {
            all.push((name.into(), name));
            // A link to `/` or to a directory of users would take everything in there with it.
            let real = real(name);
            if real.parent().is_some() {
                all.push((real, name));
            }
        }
        Tables(all, EXCEPT.iter().map(|name| real(name)).collect())
    })
}

/// Where a directory of some file system shows up as a system directory.
struct Shown {
    device: Device,
    /// Within the file system.
    inside: PathBuf,
    directory: &'static str,
}

struct MountTable {
    mounts: Vec<Mount>,
    shown: Vec<Shown>,
}

/// The system directory in which what lies at `location` can be seen too, through another mount of
/// its file system.
fn mounted_in(id: u64, location: &Path) -> Option<&'static str> {
    static TABLE: Mutex<Option<MountTable>> = Mutex::new(None);
    let mut table = TABLE.lock().unwrap_or_else(PoisonError::into_inner);
    let known = table.as_ref().is_some_and(|table| table.mounts.iter().any(|mount| mount.id == id));
    if !known {
        *table = Some(MountTable::new(mount::mounts().ok()?));
    }
    table.as_ref()?.directory(id, location)
}

impl MountTable {
    fn new(mounts: Vec<Mount>) -> MountTable {
        let tables = tables();
        let mut shown = Vec::new();
        for mount in &mounts {
            // All of it lies in a system directory, or some of it is system directories.
            if let Some(directory) = tables.holding(&mount.point) {
                shown.push(Shown { device: mount.device, inside: mount.root.clone(), directory });
            }
            for (real, directory) in &tables.0 {
                if let Ok(below) = real.strip_prefix(&mount.point)
                    && below != Path::new("")
                {
                    let inside = mount.root.join(below);
                    shown.push(Shown { device: mount.device, inside, directory });
                }
            }
        }
        MountTable { mounts, shown }
    }

    fn directory(&self, id: u64, location: &Path) -> Option<&'static str> {
        let mount = self.mounts.iter().find(|mount| mount.id == id)?;
        let inside = mount.root.join(location.strip_prefix(&mount.point).ok()?);
        let same =
            |shown: &&Shown| shown.device == mount.device && inside.starts_with(&shown.inside);
        self.shown.iter().find(same).map(|shown| shown.directory)
    }
}
