//! NVMe commands through the kernel's ioctls (`linux/nvme_ioctl.h`): Identify and log pages.

use std::os::fd::{AsFd, AsRawFd};

use super::Status;
use crate::Error;

/// Size in bytes of every Identify data structure (Base 5.17).
pub const IDENTIFY_BYTES: usize = 4096;

/// Size of the SMART log in bytes.
pub const SMART_BYTES: usize = 512;

/// Data that a controller returns to Identify.
pub type IdentifyData = [u8; IDENTIFY_BYTES];

/// `_IO('N', 0x40)` of `linux/nvme_ioctl.h`.
const NVME_IOCTL_ID: u32 = 0x4e40;

/// The queue that a command goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CommandQueue {
    /// The controller's admin queue (`NVME_IOCTL_ADMIN_CMD`).
    Admin,
    /// An I/O queue of the namespace (`NVME_IOCTL_IO_CMD`).
    Io,
}

impl CommandQueue {
    /// Returns the ioctl request `_IOWR('N', 0x41 or 0x43, struct nvme_passthru_cmd)` and its name.
    /// `_IOWR` requests have one number on every architecture.
    const fn request(self) -> (u32, &'static str) {
        match self {
            CommandQueue::Admin => (0xc048_4e41, "ioctl NVME_IOCTL_ADMIN_CMD"),
            CommandQueue::Io => (0xc048_4e43, "ioctl NVME_IOCTL_IO_CMD"),
        }
    }
}

/// Opcodes (Base, figure "Opcodes for Admin Commands").
const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;

/// What Identify describes: the CNS field with its parameters (Base 5.17.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdentifySubject {
    /// CNS 00h: the namespace, in the format of the NVM command set.
    Namespace,
    /// CNS 01h: the controller.
    Controller,
    /// CNS 03h: the list of namespace identification descriptors.
    Descriptors,
    /// CNS 05h: the namespace, in the format of the command set with this CSI.
    NamespaceOf(u8),
    /// CNS 06h: the controller, in the format of the command set with this CSI.
    ControllerOf(u8),
}

impl IdentifySubject {
    /// Returns CNS, CSI, and whether the command names a namespace.
    const fn fields(self) -> (u32, u8, bool) {
        match self {
            IdentifySubject::Namespace => (0x00, 0, true),
            IdentifySubject::Controller => (0x01, 0, false),
            IdentifySubject::Descriptors => (0x03, 0, true),
            IdentifySubject::NamespaceOf(csi) => (0x05, csi, true),
            IdentifySubject::ControllerOf(csi) => (0x06, csi, false),
        }
    }
}

/// Why a command failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// The kernel did not send it.
    Kernel(Error),
    /// The controller returned an error status.
    Controller(Status),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Kernel(error) => error.fmt(f),
            Refused::Controller(status) => {
                write!(f, "the controller refused the command: {status}")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// `struct nvme_passthru_cmd` of `linux/nvme_ioctl.h`.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct PassthruCmd {
    pub(crate) opcode: u8,
    pub(crate) flags: u8,
    pub(crate) rsvd1: u16,
    pub(crate) nsid: u32,
    pub(crate) cdw2: u32,
    pub(crate) cdw3: u32,
    pub(crate) metadata: u64,
    pub(crate) addr: u64,
    pub(crate) metadata_len: u32,
    pub(crate) data_len: u32,
    pub(crate) cdw10: u32,
    pub(crate) cdw11: u32,
    pub(crate) cdw12: u32,
    pub(crate) cdw13: u32,
    pub(crate) cdw14: u32,
    pub(crate) cdw15: u32,
    pub(crate) timeout_ms: u32,
    pub(crate) result: u32,
}

const _: () = assert!(size_of::<PassthruCmd>() == 72);

/// Returns the identifier of the namespace behind an open namespace node (`NVME_IOCTL_ID`).
///
/// # Errors
/// `ENOTTY` if the file is not an NVMe namespace.
pub fn namespace_id(node: impl AsFd) -> Result<u32, Error> {
    // SAFETY: the request takes no argument.
    let id = unsafe { libc::ioctl(node.as_fd().as_raw_fd(), libc::Ioctl::from(NVME_IOCTL_ID)) };
    if id <= 0 { Err(Error::last("ioctl NVME_IOCTL_ID")) } else { Ok(id as u32) }
}

/// Sends Identify and returns the data structure.
///
/// # Errors
/// `EACCES` without `CAP_SYS_ADMIN` before Linux 6.2; the controller's status if it does not support
/// the data structure.
pub fn identify(
    node: impl AsFd,
    nsid: u32,
    subject: IdentifySubject,
) -> Result<Box<IdentifyData>, Refused> {
    let (cns, csi, of_namespace) = subject.fields();
    let command = PassthruCmd {
        opcode: IDENTIFY,
        nsid: if of_namespace { nsid } else { 0 },
        cdw10: cns,
        cdw11: u32::from(csi) << 24,
        ..Default::default()
    };
    receive(node, command)
}

/// Reads the Commands Supported and Effects log page (05h, Base 5.16.1.6) for the command set with this
/// CSI.
///
/// # Errors
/// `EACCES` without `CAP_SYS_ADMIN`; otherwise those of [`identify`].
pub fn effects(node: impl AsFd, csi: u8) -> Result<Box<IdentifyData>, Refused> {
    const COMMAND_EFFECTS: u32 = 0x05;
    let command = PassthruCmd {
        opcode: GET_LOG_PAGE,
        // Log page identifier, and the number of dwords minus one.
        cdw10: COMMAND_EFFECTS | (IDENTIFY_BYTES as u32 / 4 - 1) << 16,
        cdw14: u32::from(csi) << 24,
        ..Default::default()
    };
    receive(node, command)
}

/// Sends an admin command that returns `N` bytes.
fn receive<const N: usize>(node: impl AsFd, command: PassthruCmd) -> Result<Box<[u8; N]>, Refused> {
    let mut data = Box::new([0u8; N]);
    send(node, CommandQueue::Admin, command, data.as_mut_slice())?;
    Ok(data)
}

/// Passes a command to the driver and waits for it. `data` is the buffer that the command reads or
/// writes.
///
/// # Errors
/// The kernel does not send the command, or the controller returns an error status.
pub(crate) fn send(
    node: impl AsFd,
    queue: CommandQueue,
    mut command: PassthruCmd,
    data: &mut [u8],
) -> Result<(), Refused> {
    if !data.is_empty() {
        command.addr = data.as_mut_ptr() as u64;
        command.data_len = data.len() as u32;
    }
    let fd = node.as_fd().as_raw_fd();
    let (request, name) = queue.request();
    // SAFETY: `command` is the structure that both requests expect, and `addr` points to `data_len`
    // bytes; both outlive the call.
    let ret =
        unsafe { libc::ioctl(fd, libc::Ioctl::from(request), std::ptr::from_mut(&mut command)) };
    match ret {
        0 => Ok(()),
        status @ 1.. => Err(Refused::Controller(Status(status as u16))),
        _ => Err(Refused::Kernel(Error::last(name))),
    }
}

/// Reads the SMART / Health Information log page of the controller behind a node (Get Log Page, Base
/// 5.16.1.3).
///
/// # Errors
/// Errors of [`identify`].
pub fn smart_log(node: impl AsFd) -> Result<Box<[u8; SMART_BYTES]>, Refused> {
    const SMART_LOG: u32 = 0x02;
    let command = PassthruCmd {
        opcode: GET_LOG_PAGE,
        // This value means the controller as a whole instead of one namespace.
        nsid: 0xffff_ffff,
        cdw10: SMART_LOG | (SMART_BYTES as u32 / 4 - 1) << 16,
        ..Default::default()
    };
    receive(node, command)
}

#[cfg(test)]
mod tests {
    use fiord_types::Errno;

    use super::*;

    #[test]
    fn a_regular_file_has_no_namespace() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(namespace_id(&file).unwrap_err().errno, Errno::ENOTTY);
        let Refused::Kernel(error) = identify(&file, 1, IdentifySubject::Namespace).unwrap_err()
        else {
            panic!("a controller behind a file");
        };
        assert_eq!(error.errno, Errno::ENOTTY);
    }

    #[test]
    fn subjects_have_the_cns_of_the_base_specification() {
        assert_eq!(IdentifySubject::Namespace.fields(), (0, 0, true));
        assert_eq!(IdentifySubject::Controller.fields(), (1, 0, false));
        assert_eq!(IdentifySubject::Descriptors.fields(), (3, 0, true));
        assert_eq!(IdentifySubject::NamespaceOf(2).fields(), (5, 2, true));
        assert_eq!(IdentifySubject::ControllerOf(0).fields(), (6, 0, false));
    }
}
