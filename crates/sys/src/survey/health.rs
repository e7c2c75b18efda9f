//! Health of a disk: temperature, wear, errors.
//!
//! - NVMe: the SMART / Health Information log (Base 2.0, 5.16.1.3), 512 bytes, little-endian.
//! - SCSI: the kernel's count of commands that ended with an error.
//! - Temperatures that need no privilege come from hwmon (`nvme` since Linux 5.5, `drivetemp` since 5.6).

use std::path::Path;

use crate::nvme::admin::SMART_BYTES;
use crate::root::{names, number, text};

/// The SMART log of an NVMe controller. Counters cover its whole life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Smart {
    /// Critical warnings, from bit 0: spare low, temperature out of range, reliability degraded,
    /// read-only, backup of volatile memory failed.
    pub critical_warning: u8,
    /// Composite temperature in °C; `None` if the controller reports none.
    pub temperature: Option<i32>,
    /// Available spare in per cent.
    pub spare: u8,
    /// Threshold of the available spare below which the controller warns, in per cent.
    pub spare_threshold: u8,
    /// Endurance used, in per cent; may exceed 100.
    pub percent_used: u8,
    /// Bytes that the host read, in steps of 512 000.
    pub bytes_read: u128,
    /// Bytes that the host wrote, in steps of 512 000.
    pub bytes_written: u128,
    /// Number of hours powered on.
    pub power_on_hours: u128,
    /// Number of power losses without a shutdown notification.
    pub unsafe_shutdowns: u128,
    /// Number of media errors that the controller could not correct.
    pub media_errors: u128,
    /// Number of entries that the error log has ever had.
    pub error_entries: u128,
    /// Minutes above the warning temperature.
    pub warning_minutes: u32,
    /// Minutes above the critical temperature.
    pub critical_minutes: u32,
    /// Number of times the controller throttled because of heat: `[lightly, heavily]`.
    pub throttled: [u32; 2],
    /// Seconds the controller was throttled because of heat: `[lightly, heavily]`.
    pub throttled_seconds: [u32; 2],
}

impl Smart {
    /// Parses the log page.
    #[must_use]
    pub fn parse(log: &[u8; SMART_BYTES]) -> Smart {
        let u32_at = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| log[at + i]));
        let u128_at = |at: usize| u128::from_le_bytes(std::array::from_fn(|i| log[at + i]));
        let kelvin = i32::from(u16::from_le_bytes([log[1], log[2]]));
        // A data unit is a thousand blocks of 512 bytes.
        let units = |at: usize| u128_at(at).saturating_mul(512_000);
        Smart {
            critical_warning: log[0],
            temperature: (kelvin != 0).then_some(kelvin - 273),
            spare: log[3],
            spare_threshold: log[4],
            percent_used: log[5],
            bytes_read: units(32),
            bytes_written: units(48),
            power_on_hours: u128_at(128),
            unsafe_shutdowns: u128_at(144),
            media_errors: u128_at(160),
            error_entries: u128_at(176),
            warning_minutes: u32_at(192),
            critical_minutes: u32_at(196),
            throttled: [u32_at(216), u32_at(220)],
            throttled_seconds: [u32_at(224), u32_at(228)],
        }
    }
}

/// Health of a disk, as far as it could be read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Health {
    /// Temperature in °C.
    pub temperature: Option<f64>,
    /// The SMART log of an NVMe disk, if it could be read.
    pub smart: Option<Smart>,
    /// Number of commands that ended with an error (SCSI, ATA).
    pub scsi_errors: Option<u64>,
}

/// Returns the temperature in °C from the first of these directories that contains a hwmon sensor.
pub(super) fn temperature<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Option<f64> {
    for directory in directories {
        for parent in [directory.to_path_buf(), directory.join("hwmon")] {
            let sensors = names(&parent).into_iter().filter(|name| name.starts_with("hwmon"));
            for sensor in sensors {
                if let Some(text) = text(&parent.join(sensor).join("temp1_input"))
                    && let Ok(milli) = text.parse::<i64>()
                {
                    return Some(milli as f64 / 1000.0);
                }
            }
        }
    }
    None
}

/// Reads `device/ioerr_cnt`, a hexadecimal number.
pub(super) fn scsi_errors(disk: &Path) -> Option<u64> {
    let path = disk.join("device/ioerr_cnt");
    let word = text(&path)?;
    match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => number(&path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smart_log_is_parsed() {
        let mut log = [0u8; SMART_BYTES];
        log[1..3].copy_from_slice(&310u16.to_le_bytes());
        log[3] = 100;
        log[4] = 10;
        log[5] = 7;
        log[48..64].copy_from_slice(&3u128.to_le_bytes());
        log[160] = 2;
        log[176] = 9;
        log[192] = 5;
        log[216] = 4;
        log[228] = 60;
        let smart = Smart::parse(&log);
        assert_eq!(smart.temperature, Some(37));
        assert_eq!((smart.spare, smart.spare_threshold, smart.percent_used), (100, 10, 7));
        assert_eq!(smart.bytes_written, 1_536_000);
        assert_eq!((smart.media_errors, smart.error_entries), (2, 9));
        assert_eq!(smart.warning_minutes, 5);
        assert_eq!((smart.throttled, smart.throttled_seconds), ([4, 0], [0, 60]));
        assert_eq!(Smart::parse(&[0; SMART_BYTES]).temperature, None);
    }
}
