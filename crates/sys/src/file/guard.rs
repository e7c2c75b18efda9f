//! Writing files without harm to others: every path by which fiord creates, opens for writing,
//! replaces, renames or removes a file goes through a [`Guard`].
//!
//! | rule | how it holds |
//! |---|---|
//! | regular files in system directories are not written, created or removed | [`super::system`] looks at the open descriptor, so that neither the spelling of the path nor links nor a race matter |
//! | a name that fiord made up is never followed through a symbolic link | `O_NOFOLLOW` |
//! | in a sticky directory such as `/tmp` a made-up name is created or is the caller's own file | `O_EXCL`; owner and link count |
//!
//! A file is opened without `O_CREAT` first and examined; only when it is missing is it created, with
//! `O_EXCL`, in a directory that was examined through its own descriptor. Nothing is truncated before it
//! is examined.
//!
//! Controls of the kernel (a scheduler in sysfs, a control group) are no files of anyone and are written
//! by the modules that know them.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use super::mark::{self, Purpose};
use super::{Facts, Kind, Open, facts_of, system, truncate};
use crate::error::{check, retry};
use crate::{Error, Result};

/// Symbolic links followed to a file that is to be created; as many as the kernel follows.
const LINKS: usize = 40;
/// Attempts to open a file that others create and remove at the same time.
const ATTEMPTS: usize = 16;
/// The mode bit of directories in which only a file's owner may remove it.
const STICKY: u32 = 0o1000;

/// Rules for writing one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    generated: bool,
    system: bool,
    mark: Option<Purpose>,
}

/// A file that was opened for writing.
#[derive(Debug)]
pub struct Opened {
    /// The file.
    pub fd: OwnedFd,
    /// Whether this call created it.
    pub created: bool,
}

impl Guard {
    /// For a path that the user typed: links are followed.
    pub fn typed() -> Guard {
        Guard { generated: false, system: false, mark: None }
    }

    /// For a target that the user named: as [`Guard::typed`], and a file that is created is marked as
    /// fiord's.
    pub fn target() -> Guard {
        Guard { mark: Some(Purpose::Target), ..Guard::typed() }
    }

    /// For the file of `mem=`: as [`Guard::typed`], and marked as one that holds buffers.
    pub fn buffer_file() -> Guard {
        Guard { mark: Some(Purpose::Buffers), ..Guard::typed() }
    }

    /// For a name that fiord made up: a symbolic link in its place is an error.
    pub fn generated() -> Guard {
        Guard { generated: true, system: false, mark: None }
    }

    /// Permits system directories (`allow_mounted_write=1`).
    #[must_use]
    pub fn allow_system(self, on: bool) -> Guard {
        Guard { system: on, ..self }
    }

    /// Opens a file for writing, and creates it if `how` says so.
    ///
    /// # Errors
    /// `EPERM` where the file or its directory is a system directory's, `ELOOP` where a made-up name
    /// is a symbolic link, `EEXIST` where it is another user's file in a sticky directory; each with
    /// the remedy. Else what `open(2)` says.
    pub fn open(self, how: Open, path: &Path) -> Result<Opened> {
        let plain = how.create(false).truncate(false);
        // A pipe in the place of a made-up name must not hold up the caller.
        let first = plain.no_follow(self.generated).nonblocking(self.generated);
        for _ in 0..ATTEMPTS {
            match first.open(path) {
                Ok(fd) => {
                    self.examine(&fd, path)?;
                    if self.generated {
                        super::open::wait_again(&fd)?;
                    }
                    return Ok(Opened { fd, created: false });
                }
                Err(error) if error.errno == libc::ENOENT && how.creates() => {}
                Err(error) if error.errno == libc::ELOOP && self.generated => {
                    return self.follow_device(plain, path);
                }
                Err(error) => return Err(error),
            }
            // `None`: another program has created it in this moment.
            if let Some(fd) = self.create(how, path)? {
                return Ok(Opened { fd, created: true });
            }
        }
        Err(Error::new("open", libc::EAGAIN).at(path).saying(
            "other programs create and remove it all the time. To fix: use another directory",
        ))
    }

    /// Opens a file for writing and empties it, or creates it. What is no regular file (`/dev/null`, a
    /// pipe) is opened as it is.
    ///
    /// # Errors
    /// As [`Guard::open`].
    pub fn replace(self, path: &Path) -> Result<File> {
        let Opened { fd, created } =
            self.open(Open::write_only().create(true).mode(0o666), path)?;
        if !created && facts_of(&fd)?.kind == Kind::Regular {
            truncate(&fd, 0).map_err(|error| error.at(path))?;
        }
        Ok(File::from(fd))
    }

    /// Removes a name. Returns whether there was one.
    ///
    /// # Errors
    /// `EPERM` where it lies in a system directory; else what `unlink(2)` says.
    pub fn remove(self, path: &Path) -> Result<bool> {
        let place = match Place::of("unlink", path) {
            Err(error) if error.errno == libc::ENOENT => return Ok(false),
            other => other?,
        };
        self.permit(&place.directory, parent(path), path)?;
        let at = place.directory.as_raw_fd();
        // SAFETY: the name is NUL-terminated and outlives the call; the directory is open.
        match check("unlink", unsafe { libc::unlinkat(at, place.name.as_ptr(), 0) }) {
            Ok(_) => Ok(true),
            Err(error) if error.errno == libc::ENOENT => Ok(false),
            Err(error) => Err(error.at(path)),
        }
    }

    /// Gives a file another name, which may be taken: that file goes.
    ///
    /// # Errors
    /// `EPERM` where either lies in a system directory; else what `rename(2)` says.
    pub fn rename(self, from: &Path, to: &Path) -> Result<()> {
        let (old, new) = (Place::of("rename", from)?, Place::of("rename", to)?);
        self.permit(&old.directory, parent(from), from)?;
        self.permit(&new.directory, parent(to), to)?;
        let (at, onto) = (old.directory.as_raw_fd(), new.directory.as_raw_fd());
        // SAFETY: both names are NUL-terminated and outlive the call; the directories are open.
        let rc = unsafe { libc::renameat(at, old.name.as_ptr(), onto, new.name.as_ptr()) };
        check("rename", rc).map(drop).map_err(|error| error.at(to))
    }

    /// Makes a directory and those above it that are missing.
    ///
    /// # Errors
    /// `EPERM` where one would be made in a system directory; else what `mkdir(2)` says.
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

    /// Opens a directory in another one, and makes it if it is missing.
    fn step_into(self, at: &OwnedFd, name: &OsStr, path: &Path) -> Result<OwnedFd> {
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
        let name = c_name("mkdir", name, path)?;
        match open_at("mkdir", at, &name, flags, 0) {
            Err(error) if error.errno == libc::ENOENT => {}
            other => return other.map_err(|error| error.at(path)),
        }
        self.permit(at, parent(path), path)?;
        // SAFETY: the name is NUL-terminated and outlives the call; the directory is open.
        let made = unsafe { libc::mkdirat(at.as_raw_fd(), name.as_ptr(), 0o777) };
        match check("mkdir", made) {
            Err(error) if error.errno != libc::EEXIST => return Err(error.at(path)),
            _ => {}
        }
        open_at("mkdir", at, &name, flags | libc::O_NOFOLLOW, 0).map_err(|error| error.at(path))
    }

    /// Creates a missing file where `path` leads. `None` when it is no longer missing.
    fn create(self, how: Open, path: &Path) -> Result<Option<OwnedFd>> {
        let mut at = path.to_path_buf();
        for _ in 0..LINKS {
            let place = Place::of("open", &at)?;
            self.permit(&place.directory, parent(&at), path)?;
            match self.create_in(&place.directory, &place.name, how) {
                Ok(fd) => return Ok(Some(fd)),
                Err(error) if error.errno != libc::EEXIST => return Err(error.at(path)),
                Err(_) => {}
            }
            match place.link() {
                None => return Ok(None),
                Some(_) if self.generated => return Err(planted(path)),
                Some(to) => at = at.parent().unwrap_or(Path::new("")).join(to),
            }
        }
        Err(Error::new("open", libc::ELOOP).at(path))
    }

    /// Creates a file in a directory that may have one. `EEXIST` where something has the name.
    fn create_in(self, at: &OwnedFd, name: &CString, how: Open) -> Result<OwnedFd> {
        let (flags, mode) = how.create(true).exclusive(true).no_follow(true).raw();
        let fd = open_at("open", at, name, flags, mode)?;
        if let Some(purpose) = self.mark {
            mark::set(&fd, purpose);
        }
        Ok(fd)
    }

    /// Follows a link of the system to a device (`/dev/disk/by-id/…`), where `filename_format` makes up the
    /// names of devices. No other link is followed.
    fn follow_device(self, plain: Open, path: &Path) -> Result<Opened> {
        let place = Place::of("open", path)?;
        let system = system::of(place.directory.as_fd(), parent(path))?;
        if system.is_none_or(|found| found.directory != "/dev") {
            return Err(planted(path));
        }
        let fd = plain.open(path)?;
        match facts_of(&fd)?.kind {
            Kind::Block | Kind::Char => Ok(Opened { fd, created: false }),
            _ => Err(planted(path)),
        }
    }

    /// Refuses what must not be written, now that it is open.
    fn examine(self, fd: &OwnedFd, path: &Path) -> Result<()> {
        let facts = facts_of(fd)?;
        if facts.kind == Kind::Regular {
            self.permit(fd, path, path)?;
        }
        // SAFETY: takes nothing and cannot fail.
        let own = facts.owner == unsafe { libc::geteuid() } && facts.links <= 1;
        if self.generated && !own && in_sticky_directory(path)? {
            return Err(not_ours(path, &facts));
        }
        Ok(())
    }

    /// Refuses a file or directory that is, or lies in, a system directory: what is open, by which path
    /// it was opened, and which path the error is about.
    fn permit(self, fd: &OwnedFd, opened: &Path, path: &Path) -> Result<()> {
        if self.system {
            return Ok(());
        }
        match system::of(fd.as_fd(), opened)? {
            None => Ok(()),
            Some(found) => {
                let said = format!("{found}. To fix: use another directory");
                Err(Error::new("open", libc::EPERM).at(path).saying(said))
            }
        }
    }
}

/// Creates many files by the rules of a [`Guard`], and examines each directory once: it stays open, so
/// that nothing else can take its place.
#[derive(Debug)]
pub struct Creator {
    guard: Guard,
    last: Option<(PathBuf, OwnedFd)>,
}

impl Creator {
    /// By these rules.
    pub fn new(guard: Guard) -> Creator {
        Creator { guard, last: None }
    }

    /// Opens a file that is probably missing; otherwise as [`Guard::open`].
    ///
    /// # Errors
    /// As [`Guard::open`].
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
        let created = self.guard.create_in(&directory.1, &c_name("open", name, path)?, how);
        match created {
            Ok(fd) => {
                self.last = Some(directory);
                Ok(Opened { fd, created: true })
            }
            // It is there, or the directory was replaced.
            Err(error) if matches!(error.errno, libc::EEXIST | libc::ENOENT) => {
                self.guard.open(how, path)
            }
            Err(error) => Err(error.at(path)),
        }
    }
}

fn planted(path: &Path) -> Error {
    Error::new("open", libc::ELOOP).at(path).saying(
        "a symbolic link is in the place of a file whose name fiord made up, and what it leads to may \
         be anyone's. To fix: remove the link, or name the file it leads to with filename=",
    )
}

fn not_ours(path: &Path, facts: &Facts) -> Error {
    let why = match facts.links {
        0 | 1 => format!("it belongs to the user {}", facts.owner),
        links => format!("it has {links} names (hard links)"),
    };
    Error::new("open", libc::EEXIST).at(path).saying(format!(
        "a file is in the place of one whose name fiord made up, in a directory that all users write \
         to, and {why}. To fix: remove it, use another directory, or name the file with filename="
    ))
}

fn in_sticky_directory(path: &Path) -> Result<bool> {
    Ok(super::facts(parent(path))?.mode & STICKY != 0)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A name in a directory that is open.
struct Place {
    directory: OwnedFd,
    name: CString,
}

impl Place {
    fn of(op: &'static str, path: &Path) -> Result<Place> {
        let name = path.file_name().ok_or_else(|| Error::new(op, libc::EISDIR).at(path))?;
        let directory = directory(op, parent(path)).map_err(|error| error.at(path))?;
        Ok(Place { directory, name: c_name(op, name, path)? })
    }

    /// Where it leads, if it is a symbolic link.
    fn link(&self) -> Option<PathBuf> {
        let mut text = vec![0u8; libc::PATH_MAX as usize];
        // SAFETY: the name is NUL-terminated, the buffer writable for its length; both outlive the call.
        let len = unsafe {
            let (at, name) = (self.directory.as_raw_fd(), self.name.as_ptr());
            libc::readlinkat(at, name, text.as_mut_ptr().cast(), text.len())
        };
        text.truncate(usize::try_from(len).ok()?);
        Some(std::ffi::OsString::from_vec(text).into())
    }
}

fn c_name(op: &'static str, name: &OsStr, path: &Path) -> Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| Error::new(op, libc::EINVAL).at(path))
}

/// Opens a directory to look at it and to name what is in it.
fn directory(op: &'static str, path: &Path) -> Result<OwnedFd> {
    let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let name = crate::error::c_path(op, path)?;
    // SAFETY: the name is NUL-terminated and outlives the call.
    let fd = retry(op, || unsafe { libc::open(name.as_ptr(), flags) });
    let fd = fd.map_err(|error| error.at(path))?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

fn open_at(
    op: &'static str,
    at: &OwnedFd,
    name: &CString,
    flags: i32,
    mode: libc::mode_t,
) -> Result<OwnedFd> {
    // SAFETY: the name is NUL-terminated and outlives the call; the directory is open.
    let fd = retry(op, || unsafe { libc::openat(at.as_raw_fd(), name.as_ptr(), flags, mode) })?;
    // SAFETY: the kernel has just given this descriptor to us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(test)]
mod tests;
