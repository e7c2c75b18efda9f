//! Checks a device or file that the user names: whether it exists, and whether it is in use.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use fiord_sys::file::{self, FileFacts};
use fiord_sys::in_use::{self, DeviceUse, WriteObstacle};

/// Why a device or file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TargetError {
    /// There is none at this path.
    #[error("{}", missing(.path))]
    Missing { path: PathBuf },
    /// A change would destroy what the user of the device relies on.
    #[error("{path} is in use: {user}{}", remedy(.path, .user))]
    InUse { path: PathBuf, user: WriteObstacle },
    /// The use of the device cannot be determined.
    #[error("cannot determine whether {path} is in use: {source}")]
    UseUnknown {
        path: PathBuf,
        /// The failed call.
        source: fiord_sys::Error,
    },
    /// A system call failed.
    #[error(transparent)]
    System(fiord_sys::Error),
}

impl TargetError {
    /// Converts an error that occurred at `path`: a path without a file becomes
    /// [`TargetError::Missing`].
    #[must_use]
    pub fn new(path: &Path, error: fiord_sys::Error) -> Self {
        match io::Error::from(error.clone()).kind() {
            ErrorKind::NotFound => TargetError::Missing { path: path.into() },
            _ => TargetError::System(error),
        }
    }
}

fn missing(path: &Path) -> String {
    let shown = path.display();
    match path.starts_with("/dev") {
        true => format!(
            "there is no device {shown}\n  To fix: check its name; `fiord devices --all` lists all \
             disks"
        ),
        false => format!("there is no file {shown}\n  To fix: check its path"),
    }
}

fn remedy(path: &Path, user: &WriteObstacle) -> String {
    let what = match user {
        WriteObstacle::Listed(DeviceUse::Mounted { .. }) => "unmount it first",
        WriteObstacle::Listed(DeviceUse::Swap { .. }) => "`swapoff` it first",
        WriteObstacle::Held { .. } => "remove its holder first",
    };
    let (shown, list) = (path.display(), if path.is_file() { "losetup -j" } else { "lsblk" });
    format!(
        "\n  To fix: {what}; `{list} {shown}` and `fuser -v {shown}` show all users. No option \
         overrides this check"
    )
}

/// Returns facts about the device or file at a path.
///
/// # Errors
/// It does not exist, or cannot be examined.
pub fn facts(path: &Path) -> Result<FileFacts, TargetError> {
    file::facts(path).map_err(|error| TargetError::new(path, error))
}

/// Refuses a device or file in use. Mounted file systems, swap space, and every holder with
/// exclusive access (device mapper, RAID, another program with `O_EXCL`) count as use. Call it again
/// right before each change: another program can mount the device while the user answers a question.
///
/// # Errors
/// The device is in use, or its use cannot be determined.
pub fn check_unused(path: &Path) -> Result<(), TargetError> {
    let path = || path.to_path_buf();
    match in_use::user(&path()) {
        Ok(None) => Ok(()),
        Ok(Some(user)) => Err(TargetError::InUse { path: path(), user }),
        Err(source) => Err(TargetError::UseUnknown { path: path(), source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_is_reported_as_missing() {
        let error = facts(Path::new("/dev/fiord-none")).unwrap_err();
        assert!(matches!(error, TargetError::Missing { .. }), "{error:?}");
        assert!(error.to_string().starts_with("there is no device /dev/fiord-none\n"), "{error}");
    }

    #[test]
    fn the_remedy_fits_the_use() {
        let error = |user| TargetError::InUse { path: "/dev/x".into(), user }.to_string();
        let swap = error(WriteObstacle::Listed(DeviceUse::Swap { device: "x1".into() }));
        assert!(
            swap.starts_with("/dev/x is in use: x1 is swap space\n  To fix: `swapoff`"),
            "{swap}"
        );
        let held = error(WriteObstacle::Held { device: "x".into(), by: vec!["dm-0".into()] });
        assert!(held.contains("is held by dm-0\n  To fix: remove its holder"), "{held}");
    }
}
