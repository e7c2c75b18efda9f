//! Where a path leads: symbolic links and `..` are resolved, also for files that do not exist yet.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Component, Path, PathBuf};

use fiord_sys::block::block_device_of_generic;
use fiord_sys::file::Device;

/// As many symbolic links as the kernel follows.
const MAX_LINKS: u32 = 40;

/// Where a path leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResolvedPath {
    /// The absolute path without symbolic links.
    pub(super) path: PathBuf,
    /// Kind and number of the device, if it is a device.
    pub(super) device: Option<DeviceNumber>,
}

/// Number of a device. A block device and a character device can have the same major and minor number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct DeviceNumber {
    pub(super) is_block: bool,
    pub(super) number: Device,
}

impl ResolvedPath {
    /// The block device of the same storage, if this is a generic character device: `/dev/sgN`, `/dev/bsg/...` or `/dev/ngXnY`.
    pub(super) fn block_device_behind(&self) -> Option<ResolvedPath> {
        let generic = self.device.filter(|device| !device.is_block)?;
        let (name, number) = block_device_of_generic(generic.number)?;
        let device = Some(DeviceNumber { is_block: true, number });
        Some(ResolvedPath { path: Path::new("/dev").join(name), device })
    }
}

/// Why it is unknown where a path leads.
#[derive(Debug, thiserror::Error)]
#[error("cannot determine where {} leads: {why}", .path.display())]
pub(super) struct PathError {
    path: PathBuf,
    why: Unresolved,
}

#[derive(Debug, thiserror::Error)]
enum Unresolved {
    #[error("it has `..` after a directory that does not exist")]
    AboveMissing,
    /// These links lead to files that have no path, or one in another container.
    #[error("it contains a link below /proc")]
    Process,
    #[error("it contains too many symbolic links")]
    Links,
    #[error(transparent)]
    System(#[from] std::io::Error),
}

/// Resolves a path as the kernel would if the missing directories were created first.
///
/// # Errors
/// The path cannot be resolved.
pub(super) fn resolve(path: &Path) -> Result<ResolvedPath, PathError> {
    follow(path).map_err(|why| PathError { path: path.to_owned(), why })
}

fn follow(path: &Path) -> Result<ResolvedPath, Unresolved> {
    let mut rest = parts(&std::path::absolute(path)?);
    let (mut done, mut links, mut missing) = (PathBuf::from("/"), 0, false);
    while let Some(part) = rest.pop_front() {
        if part == ".." {
            if missing {
                return Err(Unresolved::AboveMissing);
            }
            done.pop();
            continue;
        }
        let next = done.join(&part);
        let metadata = if missing { None } else { metadata(&next)? };
        missing = metadata.is_none();
        if !metadata.is_some_and(|metadata| metadata.is_symlink()) {
            done = next;
            continue;
        }
        if done.starts_with("/proc") && done != Path::new("/proc") {
            return Err(Unresolved::Process);
        }
        links += 1;
        if links > MAX_LINKS {
            return Err(Unresolved::Links);
        }
        let target = next.read_link()?;
        if target.is_absolute() {
            done = PathBuf::from("/");
        }
        let mut parts = parts(&target);
        parts.append(&mut rest);
        rest = parts;
    }
    let device = if missing { None } else { device(&done.symlink_metadata()?) };
    Ok(ResolvedPath { path: done, device })
}

/// `None`: nothing has this path.
fn metadata(path: &Path) -> Result<Option<Metadata>, std::io::Error> {
    match path.symlink_metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        found => found.map(Some),
    }
}

fn device(metadata: &Metadata) -> Option<DeviceNumber> {
    let kind = metadata.file_type();
    let is_block = kind.is_block_device();
    let number = Device::from_raw(metadata.rdev());
    (is_block || kind.is_char_device()).then_some(DeviceNumber { is_block, number })
}

/// Names and `..`, without `/` and `.`.
fn parts(path: &Path) -> VecDeque<OsString> {
    let part = |component: Component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(part).collect()
}
