//! Writing files without harming other users' data. Wherever fiord creates, opens for writing,
//! replaces, renames or removes a file, it uses a [`FileGuard`].
//!
//! | rule | how the guard enforces it |
//! |---|---|
//! | fiord does not write, create or remove regular files in system directories | [`super::system`] checks the open descriptor, so the spelling of the path, links and races make no difference |
//! | fiord follows no symbolic link in place of a name that it generated | `O_NOFOLLOW` |
//! | a path that the user typed for an output leads to no block device and to no file that a device in use lies in | the open descriptor; [`crate::in_use`] |
//! | in a sticky directory such as `/tmp`, a file with a generated name is new or belongs to the caller | `O_EXCL`; owner and link count |
//!
//! The guard opens a file without `O_CREAT` first and examines it. Only if the file is missing does it
//! create it, with `O_EXCL`, in a directory that it examined through the directory's own descriptor. It
//! truncates nothing before it has examined it.
//!
//! The guard does not cover kernel controls (a scheduler in sysfs, a control group). The modules that
//! know these controls write them.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use fiord_types::{Bytes, Errno};
use rustix::fs::{self, AtFlags, Mode, OFlags};

use super::mark::{self, MarkPurpose};
use super::{FileFacts, InodeType, Open, facts_of, system, truncate};
use crate::error::{Named, retry};
use crate::{Error, Result, in_use};

/// Number of symbolic links followed to a file that is to be created; the kernel follows as many.
const LINKS: usize = 40;
/// Attempts to open a file that other programs create and remove at the same time.
const ATTEMPTS: usize = 16;
/// Mode bit of a directory in which only a file's owner may remove the file.
const STICKY: u32 = 0o1000;
/// Opens a directory only to examine it and to access names in it.
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The rules for writing one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileGuard {
    generated: bool,
    system: bool,
    mark: Option<MarkPurpose>,
}

/// A file that was opened for writing.
#[derive(Debug)]
pub struct Opened {
    /// Descriptor of the file.
    pub fd: OwnedFd,
    /// Whether this call created it.
    pub created: bool,
}

impl FileGuard {
    /// Returns the rules for a path that the user typed, for an output. Symbolic links are followed. Storage devices are
    /// refused.
    #[must_use]
    pub fn typed() -> FileGuard {
        FileGuard { generated: false, system: false, mark: None }
    }

    /// Returns the rules for a target that the user named: those of [`FileGuard::typed`], and a file that the
    /// guard creates is marked as fiord's.
    #[must_use]
    pub fn target() -> FileGuard {
        FileGuard { mark: Some(MarkPurpose::Target), ..FileGuard::typed() }
    }

    /// Returns the rules for the file of `mem=`: those of [`FileGuard::typed`], and a file that the guard
    /// creates is marked as a buffer file.
    #[must_use]
    pub fn buffer_file() -> FileGuard {
        FileGuard { mark: Some(MarkPurpose::Buffers), ..FileGuard::typed() }
    }

    /// Returns the rules for a file name that fiord generated: a symbolic link in its place is an error.
    #[must_use]
    pub fn generated() -> FileGuard {
        FileGuard { generated: true, system: false, mark: None }
    }

    /// Permits writing in system directories (`allow_mounted_write=1`).
    #[must_use]
    pub fn allow_system(self, on: bool) -> FileGuard {
        FileGuard { system: on, ..self }
    }

    /// Opens a file for writing. Creates it if it is missing and `how` asks for that.
    ///
    /// # Errors
    /// `EPERM` if the file or its directory lies in a system directory; `ELOOP` if a generated name is a
    /// symbolic link; `EBUSY` if a typed path leads to a storage device; `EEXIST` if a generated name in a sticky directory is another user's file. Each of
    /// these states the remedy. Otherwise those of `open(2)`.
    pub fn open(self, how: Open, path: &Path) -> Result<Opened> {
        let plain = how.create(false).truncate(false);
        // A pipe in place of a generated name must not block the caller.
        let first = plain.no_follow(self.generated).nonblocking(self.generated);
        for _ in 0..ATTEMPTS {
            match first.open(path) {
                Ok(fd) => {
                    self.examine(&fd, path)?;
                    if self.generated {
                        crate::poll::set_blocking(&fd, true)?;
                    }
                    return Ok(Opened { fd, created: false });
                }
                Err(error) if error.errno == Errno::ENOENT && how.creates() => {}
                Err(error) if error.errno == Errno::ELOOP && self.generated => {
                    return self.follow_device(plain, path);
                }
                Err(error) => return Err(error),
            }
            // `None`: another program has created the file in the meantime.
            if let Some(fd) = self.create(how, path)? {
                return Ok(Opened { fd, created: true });
            }
        }
        Err(Error::new("open", Errno::EAGAIN)
            .at(path)
            .saying("other programs keep creating and removing it. To fix: use another directory"))
    }

    /// Opens a file for writing and empties it, or creates it. Files that are not regular (`/dev/null`, a
    /// pipe) are opened as they are.
    ///
    /// # Errors
    /// Errors of [`FileGuard::open`].
    pub fn replace(self, path: &Path) -> Result<File> {
        let Opened { fd, created } =
            self.open(Open::write_only().create(true).mode(0o666), path)?;
        if !created && facts_of(&fd)?.kind == InodeType::Regular {
            truncate(&fd, Bytes::ZERO).map_err(|error| error.at(path))?;
        }
        Ok(File::from(fd))
    }

    /// Removes a file name. Returns whether it existed.
    ///
    /// # Errors
    /// `EPERM` if it lies in a system directory; otherwise those of `unlink(2)`.
    pub fn remove(self, path: &Path) -> Result<bool> {
        self.unlink("unlink", path, AtFlags::empty())
    }

    /// Removes an empty directory. Returns whether it existed.
    ///
    /// # Errors
    /// `EPERM` if it lies in a system directory; otherwise those of `rmdir(2)`.
    pub fn remove_directory(self, path: &Path) -> Result<bool> {
        self.unlink("rmdir", path, AtFlags::REMOVEDIR)
    }

    fn unlink(self, op: &'static str, path: &Path, how: AtFlags) -> Result<bool> {
        let place = match DirectoryEntry::of(op, path) {
            Err(error) if error.errno == Errno::ENOENT => return Ok(false),
            other => other?,
        };
        self.permit(&place.directory, parent(path), path)?;
        match fs::unlinkat(&place.directory, place.name, how).op(op) {
            Ok(()) => Ok(true),
            Err(error) if error.errno == Errno::ENOENT => Ok(false),
            Err(error) => Err(error.at(path)),
        }
    }

    /// Removes a directory with everything in it. Symbolic links in it are removed, not followed. Returns whether it existed.
    ///
    /// # Errors
    /// `EPERM` if it lies in a system directory; otherwise those of `unlink(2)` and `rmdir(2)`.
    pub fn remove_tree(self, path: &Path) -> Result<bool> {
        let place = match DirectoryEntry::of("rmdir", path) {
            Err(error) if error.errno == Errno::ENOENT => return Ok(false),
            other => other?,
        };
        self.permit(&place.directory, parent(path), path)?;
        match std::fs::remove_dir_all(path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Error::from_io("rmdir", &error).at(path)),
        }
    }

    /// Checks that names may be created and removed in a directory, for a caller that then does so itself.
    ///
    /// # Errors
    /// `EPERM` if it is, or lies in, a system directory; `ENOENT` if it does not exist; otherwise those of `open(2)`.
    pub fn permit_names_in(self, path: &Path) -> Result<()> {
        self.permit(&directory("open", path)?, path, path)
    }

    /// Renames a file. Replaces a file that has the new name.
    ///
    /// # Errors
    /// `EPERM` if either name lies in a system directory; `EBUSY` if the new one is that of a device; otherwise those of
    /// `rename(2)`.
    pub fn rename(self, from: &Path, to: &Path) -> Result<()> {
        let (old, new) = (DirectoryEntry::of("rename", from)?, DirectoryEntry::of("rename", to)?);
        self.permit(&old.directory, parent(from), from)?;
        self.permit(&new.directory, parent(to), to)?;
        if super::facts(to)
            .is_ok_and(|found| matches!(found.kind, InodeType::Block | InodeType::Char))
        {
            let said = "it is a device, whose name would be lost. To fix: name a file that may be replaced";
            return Err(Error::new("rename", Errno::EBUSY).at(to).saying(said));
        }
        let renamed = fs::renameat(&old.directory, old.name, &new.directory, new.name);
        renamed.op("rename").map_err(|error| error.at(to))
    }

    /// Creates a directory and the missing directories above it.
    ///
    /// # Errors
    /// `EPERM` if it would create one in a system directory; otherwise those of `mkdir(2)`.
    pub fn make_directories(self, path: &Path) -> Result<()> {
        let start = if path.is_absolute() { "/" } else { "." };
        let mut at = directory("mkdir", Path::new(start))?;
        let mut done = PathBuf::from(start);
        for part in path.components() {
            let name = match part {
                Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
                Component::ParentDir => OsStr::new(".."),
                Component::Normal(name) => name,
            };
            done.push(name);
            at = self.step_into(&at, name, &done)?;
        }
        Ok(())
    }

    /// Opens a directory inside another one; creates it if it is missing.
    fn step_into(self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<OwnedFd> {
        let open = |flags| {
            let fd = retry(|| fs::openat(at, name, flags, Mode::empty()).op("mkdir"));
            fd.map_err(|error| error.at(path))
        };
        match open(DIRECTORY) {
            Err(error) if error.errno == Errno::ENOENT => {}
            other => return other,
        }
        self.permit(at, parent(path), path)?;
        match make_directory(at, name) {
            Err(error) if error.errno != Errno::EEXIST => return Err(error.at(path)),
            _ => {}
        }
        open(DIRECTORY | OFlags::NOFOLLOW)
    }

    /// Creates the missing file that `path` leads to. `None` if the file exists by now.
    fn create(self, how: Open, path: &Path) -> Result<Option<OwnedFd>> {
        let mut at = path.to_path_buf();
        for _ in 0..LINKS {
            let place = DirectoryEntry::of("open", &at)?;
            self.permit(&place.directory, parent(&at), path)?;
            match self.create_in(&place.directory, place.name, how) {
                Ok(fd) => return Ok(Some(fd)),
                Err(error) if error.errno != Errno::EEXIST => return Err(error.at(path)),
                Err(_) => {}
            }
            match place.link() {
                None => return Ok(None),
                Some(_) if self.generated => return Err(unexpected_link(path)),
                Some(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            }
        }
        Err(Error::new("open", Errno::ELOOP).at(path))
    }

    /// Creates a file in a directory that has already been checked. `EEXIST` if the name is taken.
    fn create_in(self, at: &OwnedFd, name: &OsStr, how: Open) -> Result<OwnedFd> {
        let fd = how.create(true).exclusive(true).no_follow(true).open_in(at, name)?;
        if let Some(purpose) = self.mark {
            mark::set(&fd, purpose);
        }
        Ok(fd)
    }

    /// Follows a link below `/dev` to a device (`/dev/disk/by-id/…`), for device names that
    /// `filename_format` generates. Follows no other link.
    fn follow_device(self, plain: Open, path: &Path) -> Result<Opened> {
        let place = DirectoryEntry::of("open", path)?;
        let system = system::of(place.directory.as_fd(), parent(path))?;
        if system.is_none_or(|found| found.directory != "/dev") {
            return Err(unexpected_link(path));
        }
        let fd = plain.open(path)?;
        match facts_of(&fd)?.kind {
            InodeType::Block | InodeType::Char => Ok(Opened { fd, created: false }),
            _ => Err(unexpected_link(path)),
        }
    }

    /// Refuses an open file that must not be written.
    fn examine(self, fd: &OwnedFd, path: &Path) -> Result<()> {
        let facts = facts_of(fd)?;
        if facts.kind == InodeType::Regular {
            self.permit(fd, path, path)?;
        }
        if !self.generated && self.mark != Some(MarkPurpose::Target) {
            refuse_storage(path, &facts)?;
        }
        let own = facts.owner == crate::thread::user() && facts.links <= 1;
        if self.generated && !own && in_sticky_directory(path)? {
            return Err(foreign_file(path, &facts));
        }
        Ok(())
    }

    /// Refuses a file or directory that is, or lies in, a system directory. `fd` is the open file,
    /// `opened` the path that it was opened by, and `path` the one that the error names.
    fn permit(self, fd: &OwnedFd, opened: &Path, path: &Path) -> Result<()> {
        if self.system {
            return Ok(());
        }
        match system::of(fd.as_fd(), opened)? {
            None => Ok(()),
            Some(found) => {
                let said = format!("{found}. To fix: use another directory");
                Err(Error::new("open", Errno::EPERM).at(path).saying(said))
            }
        }
    }
}

/// Creates many files by the rules of a [`FileGuard`]. It examines each directory once and keeps it open,
/// so that nothing else can take its place.
#[derive(Debug)]
pub struct Creator {
    guard: FileGuard,
    last: Option<(PathBuf, OwnedFd)>,
}

impl Creator {
    /// Creates files by these rules.
    #[must_use]
    pub fn new(guard: FileGuard) -> Creator {
        Creator { guard, last: None }
    }

    /// Opens a file, and is fast if the file is missing. The result is that of [`FileGuard::open`].
    ///
    /// # Errors
    /// Errors of [`FileGuard::open`].
    pub fn open(&mut self, how: Open, path: &Path) -> Result<Opened> {
        let Some(name) = path.file_name().filter(|_| how.creates()) else {
            return self.guard.open(how, path);
        };
        let directory = match self.last.take() {
            Some(known) if known.0.as_os_str() == parent(path).as_os_str() => known,
            _ => {
                let fd = directory("open", parent(path)).map_err(|error| error.at(path))?;
                self.guard.permit(&fd, parent(path), path)?;
                (parent(path).to_path_buf(), fd)
            }
        };
        match self.guard.create_in(&directory.1, name, how) {
            Ok(fd) => {
                self.last = Some(directory);
                Ok(Opened { fd, created: true })
            }
            // The file exists, or another program replaced the directory.
            Err(error) if matches!(error.errno, Errno::EEXIST | Errno::ENOENT) => {
                self.guard.open(how, path)
            }
            Err(error) => Err(error.at(path)),
        }
    }

    /// Creates a directory and the missing directories above it, and is fast if the one above it is that of the last
    /// call.
    ///
    /// # Errors
    /// Errors of [`FileGuard::make_directories`].
    pub fn make_directories(&mut self, path: &Path) -> Result<()> {
        if let (Some((above, fd)), Some(name)) = (&self.last, path.file_name())
            && above.as_os_str() == parent(path).as_os_str()
        {
            match make_directory(fd, name) {
                Ok(()) => return Ok(()),
                // The name exists, or another program replaced the directory above it.
                Err(error) if matches!(error.errno, Errno::EEXIST | Errno::ENOENT) => {}
                Err(error) => return Err(error.at(path)),
            }
        }
        self.last = None;
        self.guard.make_directories(path)?;
        let above = parent(path);
        let fd = directory("mkdir", above).map_err(|error| error.at(path))?;
        // A directory in which nothing may be created is not kept open for the next call.
        if self.guard.permit(&fd, above, path).is_ok() {
            self.last = Some((above.to_path_buf(), fd));
        }
        Ok(())
    }
}

/// Refuses storage whose data an output would overwrite: a block device, raw flash, or a file that a device in use lies in.
fn refuse_storage(path: &Path, facts: &FileFacts) -> Result<()> {
    let why = match facts.kind {
        InodeType::Block => "it is a block device, whose data would be overwritten".to_owned(),
        InodeType::Char if in_use::storage(path)?.is_some() => {
            "it is a storage device, whose data would be overwritten".to_owned()
        }
        // A file without data holds no device. If nothing is known about its use, nothing speaks against it.
        InodeType::Regular if facts.size > Bytes::ZERO => match in_use::user(path) {
            Ok(Some(user)) => format!("{user}, and its data would be overwritten"),
            Ok(None) | Err(_) => return Ok(()),
        },
        _ => return Ok(()),
    };
    let said = format!("{why}. To fix: name a file that may be replaced");
    Err(Error::new("open", Errno::EBUSY).at(path).saying(said))
}

fn unexpected_link(path: &Path) -> Error {
    Error::new("open", Errno::ELOOP).at(path).saying(
        "fiord generated this file name, and a symbolic link has it; the link may lead to any user's \
         file. To fix: remove the link, or name the file it leads to with filename=",
    )
}

fn foreign_file(path: &Path, facts: &FileFacts) -> Error {
    let why = match facts.links {
        0 | 1 => format!("it belongs to the user {}", facts.owner),
        links => format!("it has {links} names (hard links)"),
    };
    Error::new("open", Errno::EEXIST).at(path).saying(format!(
        "fiord generated this file name, and a file that all users could have created has it ({why}). \
         To fix: remove the file, use another directory, or name the file with filename="
    ))
}

fn in_sticky_directory(path: &Path) -> Result<bool> {
    Ok(super::facts(parent(path))?.mode & STICKY != 0)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file name in an open directory.
struct DirectoryEntry<'a> {
    directory: OwnedFd,
    name: &'a OsStr,
}

impl DirectoryEntry<'_> {
    fn of<'a>(op: &'static str, path: &'a Path) -> Result<DirectoryEntry<'a>> {
        let name = path.file_name().ok_or_else(|| Error::new(op, Errno::EISDIR).at(path))?;
        let directory = directory(op, parent(path)).map_err(|error| error.at(path))?;
        Ok(DirectoryEntry { directory, name })
    }

    /// Returns the target of the name, if it is a symbolic link.
    fn link(&self) -> Option<PathBuf> {
        let target = fs::readlinkat(&self.directory, self.name, Vec::new()).ok()?;
        Some(OsString::from_vec(target.into_bytes()).into())
    }
}

/// Opens a directory with `O_PATH`, to examine it and to access names in it.
fn directory(op: &'static str, path: &Path) -> Result<OwnedFd> {
    let fd = retry(|| fs::open(path, DIRECTORY, Mode::empty()).op(op));
    fd.map_err(|error| error.at(path))
}

fn make_directory(at: &OwnedFd, name: &OsStr) -> Result<()> {
    fs::mkdirat(at, name, Mode::from_raw_mode(0o777)).op("mkdir")
}

#[cfg(test)]
mod tests;
