//! The status with which a device fails a command.

use fiord_sys::nvme::Status;
use fiord_sys::scsi::Sense;

/// Status that a device reported for a command that it did not carry out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DeviceStatus {
    Nvme(Status),
    /// SCSI sense data.
    Scsi(Sense),
}

impl DeviceStatus {
    /// Whether the failure concerns only the blocks of this command, so that I/O to other blocks
    /// may succeed.
    #[must_use]
    pub const fn is_about_these_blocks(self) -> bool {
        match self {
            DeviceStatus::Nvme(status) => status.is_about_these_blocks(),
            DeviceStatus::Scsi(sense) => sense.is_about_these_blocks(),
        }
    }
    /// Whether the device has no space left.
    #[must_use]
    pub const fn is_full(self) -> bool {
        match self {
            DeviceStatus::Nvme(status) => status.is_full(),
            DeviceStatus::Scsi(sense) => sense.is_full(),
        }
    }
    /// A likely cause, if one is known for this status; otherwise an empty string.
    #[must_use]
    pub fn advice(self) -> &'static str {
        match self {
            DeviceStatus::Nvme(status) => status.advice(),
            DeviceStatus::Scsi(sense) => sense.advice(),
        }
    }
}

impl std::fmt::Display for DeviceStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DeviceStatus::Nvme(status) => status.fmt(f),
            DeviceStatus::Scsi(sense) => sense.fmt(f),
        }
    }
}
