//! Why a device must be left alone.

use std::path::Path;

use fiord_sys::in_use;

/// What uses a device, in words; `None`: nothing does. A mounted file system, swap, and every holder
/// that the kernel keeps for itself (device mapper, RAID, another program with `O_EXCL`) count.
///
/// # Errors
/// It cannot be told.
pub fn by_whom(path: &Path) -> Result<Option<String>, String> {
    let found = in_use::user(path)
        .map_err(|e| format!("it cannot be told whether {} is in use: {e}", path.display()))?;
    Ok(found.map(|user| user.to_string()))
}

/// Asks [`by_whom`]; to be repeated right before a change, as a question may wait for its answer, and
/// somebody mounts the device meanwhile.
///
/// # Errors
/// The device is in use, or it cannot be told.
pub fn nobody(path: &Path) -> Result<(), String> {
    match by_whom(path)? {
        None => Ok(()),
        Some(who) => Err(format!(
            "{} is in use: {who}; its zones are left alone whatever is asked for",
            path.display()
        )),
    }
}
