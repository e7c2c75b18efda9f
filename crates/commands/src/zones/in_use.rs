//! Checks whether a device is in use and must not be changed.

use std::path::Path;

use fiord_sys::in_use;

/// Describes what uses a device; `None` if nothing does. Mounted file systems, swap space, and
/// every holder with exclusive access (device mapper, RAID, another program with `O_EXCL`) count as
/// use.
///
/// # Errors
/// The use of the device cannot be determined.
pub fn by_whom(path: &Path) -> Result<Option<String>, String> {
    let found = in_use::user(path)
        .map_err(|e| format!("cannot determine whether {} is in use: {e}", path.display()))?;
    Ok(found.map(|user| user.to_string()))
}

/// Refuses a device for which [`by_whom`] finds a user. Call it again right before each change:
/// another program can mount the device while the user answers a question.
///
/// # Errors
/// The device is in use, or its use cannot be determined.
pub fn nobody(path: &Path) -> Result<(), String> {
    match by_whom(path)? {
        None => Ok(()),
        Some(who) => Err(format!(
            "{} is in use: {who}; no option permits a change of its zones",
            path.display()
        )),
    }
}
