//! Device nodes: their numbers, and the names that pair the generic and the block device of an NVMe
//! namespace.

use crate::root::Root;

/// A device number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Device {
    /// Number of the driver.
    pub major: u32,
    /// Number of the device within the driver.
    pub minor: u32,
}

impl Device {
    /// Splits a `dev_t`.
    #[must_use]
    pub fn from_raw(raw: libc::dev_t) -> Device {
        Device { major: libc::major(raw), minor: libc::minor(raw) }
    }

    /// Parses `major:minor`, as sysfs and mountinfo write it.
    #[must_use]
    pub fn parse(text: &str) -> Option<Device> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Device { major: major.parse().ok()?, minor: minor.parse().ok()? })
    }
}

impl std::fmt::Display for Device {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

/// Returns the kernel's name of a namespace's generic character device (`ng0n1`); `None` for any other
/// character device.
#[must_use]
pub fn nvme_generic_name(device: Device) -> Option<String> {
    let path = std::fs::canonicalize(format!("/sys/dev/char/{device}")).ok()?;
    let name = path.file_name()?.to_str()?;
    is_nvme_generic(name).then(|| name.to_owned())
}

/// Returns the name of the block device of the same namespace as a generic device: `nvme0n1` for
/// `ng0n1`.
pub(crate) fn nvme_block_name(generic: &str) -> Option<String> {
    is_nvme_generic(generic).then(|| format!("nvme{}", &generic["ng".len()..]))
}

/// Returns the name of the generic device of the same namespace as a block device: `ng0n1` for
/// `nvme0n1`.
pub(crate) fn nvme_generic_name_of(block: &str) -> Option<String> {
    let generic = format!("ng{}", block.strip_prefix("nvme")?);
    is_nvme_generic(&generic).then_some(generic)
}

/// Whether a name has the form `ng<controller or subsystem>n<namespace>`.
fn is_nvme_generic(name: &str) -> bool {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let parts = name.strip_prefix("ng").and_then(|rest| rest.split_once('n'));
    parts.is_some_and(|(controller, namespace)| number(controller) && number(namespace))
}

/// Returns the name and number of the block device of the same namespace as a generic device. `None`
/// if there is none: the kernel creates no block device for some zoned namespaces.
#[must_use]
pub fn nvme_block_sibling(device: Device) -> Option<(String, Device)> {
    nvme_block_sibling_in(&Root::machine(), device)
}

/// Works as [`nvme_block_sibling`] on the machine below `root`.
pub(crate) fn nvme_block_sibling_in(root: &Root, device: Device) -> Option<(String, Device)> {
    let path = std::fs::canonicalize(root.path(format!("/sys/dev/char/{device}"))).ok()?;
    let name = nvme_block_name(path.file_name()?.to_str()?)?;
    let number = root.text(format!("/sys/class/block/{name}/dev"))?;
    Some((name, Device::parse(&number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_generic_devices_are_recognised() {
        assert!(is_nvme_generic("ng0n1") && is_nvme_generic("ng12n34"));
        for other in ["ng0", "ngn1", "ng0n", "nvme0n1", "ng0n1p1", "ng0c1n1", "null"] {
            assert!(!is_nvme_generic(other), "{other}");
            assert_eq!(nvme_block_name(other), None, "{other}");
        }
        assert_eq!(nvme_block_name("ng12n34").as_deref(), Some("nvme12n34"));
        assert_eq!(nvme_generic_name_of("nvme12n34").as_deref(), Some("ng12n34"));
        assert_eq!(nvme_generic_name_of("nvme0n1p1"), None);
        assert_eq!(nvme_generic_name_of("sda"), None);
    }
    #[test]
    fn other_devices_are_not_namespaces() {
        let null = Device { major: 1, minor: 3 };
        assert_eq!((nvme_generic_name(null), nvme_block_sibling(null)), (None, None));
    }
}
