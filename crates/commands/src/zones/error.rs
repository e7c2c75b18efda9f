//! Why zones cannot be shown or changed.

use std::path::{Path, PathBuf};

use fiord_sys::file;
use fiord_types::Errno;

use crate::consent::NoConsent;
use crate::session::CannotPrint;
use crate::target::TargetError;
use crate::zones::change::ChangeError;
use crate::zones::range::RangeError;

/// Why zones cannot be shown or changed.
#[derive(Debug, thiserror::Error)]
pub enum ZonesError {
    /// `--readonly` and an action.
    #[error("{device}: --readonly forbids changes of zones. To fix: leave out --readonly")]
    ReadOnly { device: PathBuf },
    /// The device does not exist, is in use, or cannot be opened.
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(
        "{device} has no zones: it is neither a zoned block device (queue/zoned in sysfs) nor a namespace of the \
         Zoned Namespace command set. To fix: name a zoned device"
    )]
    NoZones { device: PathBuf },
    /// A character device of another kind.
    #[error("{device} is not an NVMe generic device: {source}")]
    NotNvme {
        device: PathBuf,
        /// The failed call.
        source: fiord_sys::Error,
    },
    #[error("{device} is not a device. To fix: name a zoned device, such as /dev/nvme0n1")]
    NotADevice { device: PathBuf },
    /// The device failed to report its zones.
    #[error(transparent)]
    Report(#[from] fiord_sys::Error),
    /// The device reported no zones.
    #[error("the device reported no zones")]
    Empty,
    /// The range names no zones.
    #[error(transparent)]
    Range(#[from] RangeError),
    /// No zone in the range can be changed.
    #[error(
        "{device}: no zone in this range has a write pointer. To fix: choose zones that must be written \
         sequentially; `fiord zones {device}` lists them"
    )]
    NoWritePointer { device: PathBuf },
    /// The user does not confirm.
    #[error(transparent)]
    NoConsent(#[from] NoConsent),
    /// The change failed.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The zones are changed, but the block layer does not know it.
    #[error(
        "the zones of {device} are changed, but writes through {block} may fail until its zones are \
         reset: {source}"
    )]
    BlockLayer {
        device: PathBuf,
        /// Path of the block device of the same namespace.
        block: PathBuf,
        source: Box<ZonesError>,
    },
    /// The list of zones cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

impl ZonesError {
    /// Explains an error from opening a zoned device.
    pub(super) fn from_open(path: &Path, source: fiord_sys::Error) -> Self {
        let device = path.to_path_buf();
        match source.errno {
            Errno::EOPNOTSUPP => ZonesError::NoZones { device },
            Errno::ENOTTY => match file::facts(path).map(|facts| facts.kind) {
                Ok(file::InodeType::Char) => ZonesError::NotNvme { device, source },
                _ => ZonesError::NotADevice { device },
            },
            _ => TargetError::new(path, source).into(),
        }
    }
}
