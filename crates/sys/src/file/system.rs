//! Finds out whether a file lies in a system directory, whatever its path looks like.
//!
//! The check works on an open descriptor, so spelling (`..`, relative names), symbolic links,
//! `/proc/self/root` and races make no difference: the kernel knows where the file lies
//! (`/proc/self/fd`), and the mount table shows where else the same directory is mounted (bind mounts).
//! Without `/proc` the check resolves the path instead, which must still lead to the same file; it does
//! not see bind mounts then.
//!
//! The check does not see hard links (a second name elsewhere for a system file), nor the directories of
//! the machine around a chroot or container, which are not system directories inside it.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use fiord_types::Errno;

use super::{Device, Open, facts, facts_of};
use crate::mount::{self, Mount};
use crate::{Error, Result};

/// Directories that hold the system and no user data.
pub const DIRECTORIES: &[&str] = &[
    "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/libexec", "/boot",
    "/proc", "/sys", "/dev",
];

/// Directories inside [`DIRECTORIES`] that are meant for program data: shared memory and huge pages.
pub const EXCEPT: &[&str] = &["/dev/shm", "/dev/hugepages"];

/// A file that lies in a system directory. `Display` states this in a sentence without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemFile {
    /// Real path of the file, with links resolved.
    pub location: PathBuf,
    /// The system directory, by its usual name.
    pub directory: &'static str,
}

impl fmt::Display for SystemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SystemFile { location, directory } = self;
        match *directory {
            "/dev" => {
                let location = location.display();
                write!(f, "it is not a device, and {location} lies in the system directory /dev")
            }
            _ => write!(f, "{} lies in the system directory {directory}", location.display()),
        }
    }
}

/// Returns the system directory that a path leads to, following links. For a missing file, it is the
/// system directory that the file would be created in. Does not check the type of the file.
///
/// # Errors
/// Errors of `open(2)`, except for a missing file; `ELOOP` after too many symbolic links.
pub fn directory_of(path: &Path) -> Result<Option<SystemFile>> {
    // The kernel follows as many links.
    const LINKS: usize = 40;
    let mut at = path.to_path_buf();
    for _ in 0..LINKS {
        match Open::path_only().open(&at) {
            Ok(fd) => return of(fd.as_fd(), &at),
            Err(error) if !missing(&error) => return Err(error),
            Err(_) => {}
        }
        // Opening a link to a missing file would create the file that the link leads to.
        at = match std::fs::read_link(&at) {
            Ok(to) => above(&at).join(to),
            Err(_) => above(&at).to_path_buf(),
        };
    }
    Err(Error::new("open", Errno::ELOOP).at(path))
}

fn missing(error: &Error) -> bool {
    matches!(error.errno, Errno::ENOENT | Errno::ENOTDIR)
}

fn above(path: &Path) -> &Path {
    path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the system directory that an open file or directory is or lies in. `path` is the path that
/// it was opened by.
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

/// Resolves a path, and checks that it still leads to the open file.
fn resolved(fd: BorrowedFd, path: &Path) -> Result<PathBuf> {
    let location =
        std::fs::canonicalize(path).map_err(|error| Error::from_io("realpath", &error).at(path))?;
    let (there, here) = (facts(&location)?, facts_of(fd)?);
    if (there.device, there.inode) == (here.device, here.inode) {
        return Ok(location);
    }
    let said = "another file has taken its place since it was opened. To fix: run again";
    Err(Error::new("open", Errno::EAGAIN).at(path).saying(said))
}

/// System directories with their usual names, as named and with links resolved (`/bin` is `/usr/bin` on
/// most machines); then the exceptions.
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
            // A link to `/` or to a user directory would turn everything there into system files.
            let real = real(name);
            if real.parent().is_some() {
                all.push((real, name));
            }
        }
        Tables(all, EXCEPT.iter().map(|name| real(name)).collect())
    })
}

/// A directory of a file system that is visible as a system directory.
struct Shown {
    device: Device,
    /// Path within the file system.
    inside: PathBuf,
    directory: &'static str,
}

struct MountTable {
    mounts: Vec<Mount>,
    shown: Vec<Shown>,
}

/// Returns the system directory in which the file at `location` is visible too, through another mount
/// of its file system.
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
            // Either the mount lies in a system directory, or parts of it are system directories.
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
