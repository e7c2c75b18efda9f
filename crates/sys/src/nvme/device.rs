//! The NVMe namespace behind a generic character device, `/dev/ngXnY`.

use std::path::{Path, PathBuf};

use fiord_types::{Bytes, Errno};

use super::admin::{self, IdentifySubject, Refused};
use super::identify::{
    CommandLimits, CommandSet, Controller, IoCommands, Namespace, ZonedIdentify,
};
use crate::file::{self, InodeType, Open};
use crate::node::{nvme_block_sibling, nvme_generic_name_of};
use crate::{Error, block};

/// A namespace with its controller, from Identify and from the kernel's driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NvmeDevice {
    /// Namespace identifier (NSID).
    pub nsid: u32,
    /// I/O command set of the namespace.
    pub command_set: CommandSet,
    /// The controller of the namespace.
    pub controller: Controller,
    /// Format and size of the namespace.
    pub namespace: Namespace,
    /// I/O commands that the controller reports as supported; `None` if it does not report them.
    pub commands: Option<IoCommands>,
    /// Limits of commands that transfer no data.
    pub limits: CommandLimits,
    /// Zone sizes and limits, if the namespace is zoned.
    pub zoned: Option<ZonedIdentify>,
    /// Limits of the kernel's driver, if the namespace has a block device.
    pub driver: Option<DriverLimits>,
}

/// The limits of the kernel's driver on one command, from the queue of the namespace's block device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DriverLimits {
    /// `max_hw_sectors_kb`: MDTS with the controller's real page size, and the driver's limit.
    pub max_transfer: Bytes,
    /// `max_segments`: number of discontiguous memory segments.
    pub max_segments: u32,
    /// `io_poll`: whether some of its queues can be polled for completions.
    pub polls: bool,
}

/// Returns the generic character device of a namespace's block device (`/dev/ng0n1` for
/// `/dev/nvme0n1`), if there is one (Linux 5.13).
#[must_use]
pub fn generic_sibling(device: file::Device) -> Option<PathBuf> {
    let generic = nvme_generic_name_of(&block::name(device)?)?;
    let found = Path::new("/sys/class/nvme-generic").join(&generic).exists();
    found.then(|| Path::new("/dev").join(generic))
}

/// Reads the Identify data of a namespace and its controller.
///
/// # Errors
/// The node cannot be opened, is not an NVMe namespace, or the controller refuses Identify.
pub fn inspect(path: &Path) -> Result<NvmeDevice, Refused> {
    let node = file::facts(path).map_err(Refused::Kernel)?;
    if node.kind != InodeType::Char {
        return Err(Refused::Kernel(Error::new("identify", Errno::ENOTTY).at(path)));
    }
    let fd = Open::read_only().open(path).map_err(Refused::Kernel)?;
    let at = |error: Error| Refused::Kernel(error.at(path));
    let nsid = admin::namespace_id(&fd).map_err(at)?;
    let ask = |subject| admin::identify(&fd, nsid, subject);
    let controller = Controller::parse(&*ask(IdentifySubject::Controller)?);
    // Controllers before NVMe 1.3 have no descriptors; those before 2.0 have no command sets.
    let command_set = ask(IdentifySubject::Descriptors)
        .map_or(CommandSet::Nvm, |d| CommandSet::in_descriptors(&d));
    let mut namespace = Namespace::parse(&*ask(IdentifySubject::Namespace)?);
    if namespace.protection.is_some()
        && controller.extended_lba_formats
        && let Ok(formats) = ask(IdentifySubject::NamespaceOf(0))
    {
        namespace = namespace.with_guard(&formats);
    }
    let limits = ask(IdentifySubject::ControllerOf(0))
        .map_or(CommandLimits::default(), |d| CommandLimits::parse(&d));
    let zoned = match command_set {
        CommandSet::Zoned => {
            let zoned = ZonedIdentify::parse(
                &*ask(IdentifySubject::NamespaceOf(2))?,
                namespace.format_index,
            );
            Some(match ask(IdentifySubject::ControllerOf(2)) {
                Ok(data) => zoned.with_controller(&data),
                Err(_) => zoned,
            })
        }
        _ => None,
    };
    let csi = if command_set == CommandSet::Zoned { 2 } else { 0 };
    let log = controller.effects_log.then(|| admin::effects(&fd, csi).ok()).flatten();
    let commands = log.map(|data| IoCommands::parse(&data));
    let driver =
        node.node.and_then(nvme_block_sibling).and_then(|(_, number)| driver_limits(number));
    Ok(NvmeDevice { nsid, command_set, controller, namespace, commands, limits, zoned, driver })
}

fn driver_limits(device: file::Device) -> Option<DriverLimits> {
    Some(DriverLimits {
        max_transfer: Bytes(block::queue_number(device, "max_hw_sectors_kb")?.saturating_mul(1024)),
        max_segments: block::queue_number(device, "max_segments")?.try_into().ok()?,
        polls: block::queue_number(device, "io_poll") == Some(1),
    })
}

impl NvmeDevice {
    /// Whether the controller supports an optional I/O command: according to Identify (`identified`), or
    /// to its opcode in the Commands Supported and Effects log.
    #[must_use]
    pub fn has_command(&self, opcode: u8, identified: bool) -> bool {
        identified || self.commands.is_some_and(|commands| commands.has(opcode))
    }

    /// Returns the largest data transfer of one command, the lesser of MDTS and the driver's
    /// limit, with the name of that limit. `None` if neither sets one.
    #[must_use]
    pub fn max_transfer(&self) -> Option<(Bytes, &'static str)> {
        let controller = self.controller.max_transfer.map(|limit| (limit, "MDTS"));
        let driver = self.driver.map(|d| (d.max_transfer, "the driver's max_hw_sectors_kb"));
        // If both are equal, name the controller's limit.
        [controller, driver].into_iter().flatten().min_by_key(|(limit, _)| *limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_files_are_not_namespaces() {
        let Refused::Kernel(error) = inspect(Path::new("/dev/null")).unwrap_err() else {
            panic!("a controller behind /dev/null");
        };
        assert_eq!(error.errno, Errno::ENOTTY);
        inspect(Path::new("/proc/self/exe")).unwrap_err();
        assert_eq!(generic_sibling(file::Device { major: 1, minor: 3 }), None);
    }
}
