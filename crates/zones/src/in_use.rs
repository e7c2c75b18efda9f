//! Why a device must be left alone.

use std::path::{Path, PathBuf};

use fiord_sys::file::{self, Kind};
use fiord_sys::{block, mount};

/// The block device that a path names, or that an NVMe generic device stands beside: its number and
/// its node.
///
/// # Errors
/// The path cannot be looked at.
pub fn block_device(path: &Path) -> Result<Option<(file::Device, PathBuf)>, String> {
    let facts = file::facts(path).map_err(|e| e.to_string())?;
    let node = match (facts.kind, facts.node) {
        (Kind::Block, Some(node)) => return Ok(Some((node, path.to_owned()))),
        (Kind::Char, Some(node)) => node,
        _ => return Ok(None),
    };
    Ok(block::beside_generic(node).map(|(name, node)| (node, Path::new("/dev").join(name))))
}

/// What uses a device, in words; `None`: nothing does. A mounted file system, swap, and every holder
/// that the kernel keeps for itself (device mapper, RAID, another program with `O_EXCL`) count.
///
/// # Errors
/// It cannot be told.
pub fn by_whom(path: &Path) -> Result<Option<String>, String> {
    let Some((node, block)) = block_device(path)? else { return Ok(None) };
    if let Some(found) = mount::uses(node).map_err(|e| e.to_string())?.first() {
        return Ok(Some(found.to_string()));
    }
    match mount::is_claimed(&block) {
        Ok(false) => Ok(None),
        Ok(true) => {
            Ok(Some(format!("{} is held by the kernel or another program", block.display())))
        }
        // A generic device whose block device has no node: nobody can hold what nobody can open.
        Err(error) if block != path && error.errno == ENOENT => Ok(None),
        Err(error) => Err(error.to_string()),
    }
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

/// `errno(3)`.
const ENOENT: i32 = 2;
