//! Commands through the kernel's ioctls (`linux/nvme_ioctl.h`), and Identify and log pages by them.

use std::os::fd::{AsFd, AsRawFd};

use super::Status;
use crate::Error;
use crate::survey::health::SMART_BYTES;

/// Bytes of every Identify data structure (Base 5.17).
pub const IDENTIFY_BYTES: usize = 4096;

/// What a controller returns to Identify.
pub type IdentifyData = [u8; IDENTIFY_BYTES];

/// `_IO('N', 0x40)`.
const NVME_IOCTL_ID: u32 = 0x4e40;

/// Which queue a command is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Queue {
    /// `NVME_IOCTL_ADMIN_CMD`: of the controller.
    Admin,
    /// `NVME_IOCTL_IO_CMD`: of the namespace.
    Io,
}

impl Queue {
    /// `_IOWR('N', 0x41 or 0x43, struct nvme_passthru_cmd)`: it reads and writes, and so is the same
    /// on every architecture.
    const fn request(self) -> (u32, &'static str) {
        match self {
            Queue::Admin => (0xc048_4e41, "ioctl NVME_IOCTL_ADMIN_CMD"),
            Queue::Io => (0xc048_4e43, "ioctl NVME_IOCTL_IO_CMD"),
        }
    }
}

/// Opcodes (Base, figure "Opcodes for Admin Commands").
const GET_LOG_PAGE: u8 = 0x02;
const IDENTIFY: u8 = 0x06;

/// What is to be identified: the CNS field and what goes with it (Base 5.17.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// CNS 00h: the namespace, as the NVM command set has it.
    Namespace,
    /// CNS 01h: the controller.
    Controller,
    /// CNS 03h: the list of the namespace's identifiers.
    Descriptors,
    /// CNS 05h: the namespace, as a command set (by its CSI) has it.
    NamespaceOf(u8),
    /// CNS 06h: the controller, as a command set has it.
    ControllerOf(u8),
}

impl Subject {
    /// CNS, CSI, and whether it is about one namespace.
    const fn fields(self) -> (u32, u8, bool) {
        match self {
            Subject::Namespace => (0x00, 0, true),
            Subject::Controller => (0x01, 0, false),
            Subject::Descriptors => (0x03, 0, true),
            Subject::NamespaceOf(csi) => (0x05, csi, true),
            Subject::ControllerOf(csi) => (0x06, csi, false),
        }
    }
}

/// Why an admin command did not work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// By the kernel.
    Kernel(Error),
    /// By the controller.
    Controller(Status),
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refused::Kernel(error) => error.fmt(f),
            Refused::Controller(status) => write!(f, "the controller refuses: {status}"),
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

/// The identifier of the namespace behind an open namespace node (`NVME_IOCTL_ID`).
///
/// # Errors
/// `ENOTTY` for what is no NVMe namespace.
pub fn namespace_id(node: impl AsFd) -> Result<u32, Error> {
    // SAFETY: the request takes no argument.
    let id = unsafe { libc::ioctl(node.as_fd().as_raw_fd(), NVME_IOCTL_ID as libc::Ioctl) };
    if id <= 0 { Err(Error::last("ioctl NVME_IOCTL_ID")) } else { Ok(id as u32) }
}

/// Sends Identify.
///
/// # Errors
/// `EACCES` without `CAP_SYS_ADMIN` before Linux 6.2; the controller's status where it does not know
/// the data structure.
pub fn identify(
    node: impl AsFd,
    nsid: u32,
    subject: Subject,
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

/// Reads the log page of commands supported and effects (05h, Base 5.16.1.6) of a command set, by
/// its CSI.
///
/// # Errors
/// As [`identify`]; the kernel lets only `CAP_SYS_ADMIN` read it.
pub fn effects(node: impl AsFd, csi: u8) -> Result<Box<IdentifyData>, Refused> {
    const COMMAND_EFFECTS: u32 = 0x05;
    let command = PassthruCmd {
        opcode: GET_LOG_PAGE,
        // Log page identifier, and how many dwords, counted from 0.
        cdw10: COMMAND_EFFECTS | (IDENTIFY_BYTES as u32 / 4 - 1) << 16,
        cdw14: u32::from(csi) << 24,
        ..Default::default()
    };
    receive(node, command)
}

/// Sends an admin command that brings `N` bytes.
fn receive<const N: usize>(node: impl AsFd, command: PassthruCmd) -> Result<Box<[u8; N]>, Refused> {
    let mut data = Box::new([0u8; N]);
    send(node, Queue::Admin, command, data.as_mut_slice())?;
    Ok(data)
}

/// Gives a command to the driver and waits for it. Its data, which it may bring or take, are these.
///
/// # Errors
/// The kernel does not send it, or the controller refuses it.
pub(crate) fn send(
    node: impl AsFd,
    queue: Queue,
    mut command: PassthruCmd,
    data: &mut [u8],
) -> Result<(), Refused> {
    if !data.is_empty() {
        command.addr = data.as_mut_ptr() as u64;
        command.data_len = data.len() as u32;
    }
    let fd = node.as_fd().as_raw_fd();
    let (request, name) = queue.request();
    // SAFETY: `command` is the structure of both requests, and `addr` is a buffer of `data_len`
    // bytes; both outlive the call.
    let ret = unsafe { libc::ioctl(fd, request as libc::Ioctl, std::ptr::from_mut(&mut command)) };
    match ret {
        0 => Ok(()),
        status @ 1.. => Err(Refused::Controller(Status(status as u16))),
        _ => Err(Refused::Kernel(Error::last(name))),
    }
}

/// Reads the SMART / Health Information log of the controller behind a node (Get Log Page, Base
/// 5.16.1.3).
///
/// # Errors
/// As [`identify`].
pub fn smart_log(node: impl AsFd) -> Result<Box<[u8; SMART_BYTES]>, Refused> {
    const SMART_LOG: u32 = 0x02;
    let command = PassthruCmd {
        opcode: GET_LOG_PAGE,
        // The controller as a whole, not one namespace.
        nsid: 0xffff_ffff,
        cdw10: SMART_LOG | (SMART_BYTES as u32 / 4 - 1) << 16,
        ..Default::default()
    };
    receive(node, command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_no_namespace() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(namespace_id(&file).unwrap_err().errno, libc::ENOTTY);
        let Refused::Kernel(error) = identify(&file, 1, Subject::Namespace).unwrap_err() else {
            panic!("a controller behind a file");
        };
        assert_eq!(error.errno, libc::ENOTTY);
    }

    #[test]
    fn subjects_as_in_the_base_specification() {
        assert_eq!(Subject::Namespace.fields(), (0, 0, true));
        assert_eq!(Subject::Controller.fields(), (1, 0, false));
        assert_eq!(Subject::Descriptors.fields(), (3, 0, true));
        assert_eq!(Subject::NamespaceOf(2).fields(), (5, 2, true));
        assert_eq!(Subject::ControllerOf(0).fields(), (6, 0, false));
    }
}
