//! The kernel's generic SCSI driver, version 3 (`scsi/sg.h`): `SG_IO` on block and character devices, and
//! the header that `/dev/sgN` accepts by `write(2)` and returns by `read(2)`.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::PathBuf;

use fiord_types::Errno;

use super::cdb::Cdb;
use super::sense::{self, Sense};
use crate::Error;
use crate::node::Device;
use crate::root::{Root, names};

/// `SG_IO`: sends a command and waits for it.
pub const SG_IO: libc::Ioctl = 0x2285;
const SG_GET_VERSION_NUM: libc::Ioctl = 0x2282;
/// Timeout of a command, in ms.
pub const TIMEOUT_MS: u32 = 60_000;
/// Size of the buffer for sense data (SPC-5: at most 252 bytes; the kernel keeps 96).
pub const SENSE_BYTES: usize = 96;

/// The command transfers no data.
pub const DXFER_NONE: i32 = -1;
/// The command transfers data to the device.
pub const DXFER_TO_DEV: i32 = -2;
/// The command transfers data from the device.
pub const DXFER_FROM_DEV: i32 = -3;
/// The driver uses the caller's memory directly if it is aligned and `/proc/scsi/sg/allow_dio` permits
/// it.
pub const FLAG_DIRECT_IO: u32 = 1;
/// The caller polls for completions (`SGV4_FLAG_HIPRI` of version 4 of the driver).
pub const FLAG_HIPRI: u32 = 0x800;

/// `struct sg_io_hdr` of `scsi/sg.h`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct Header {
    /// Always `'S'`.
    pub interface_id: i32,
    /// Direction of the transfer: one of `DXFER_*`.
    pub dxfer_direction: i32,
    /// Length of the command in bytes.
    pub cmd_len: u8,
    /// Size of the sense buffer in bytes.
    pub mx_sb_len: u8,
    /// 0: `dxferp` points to a buffer, not to a list of buffers.
    pub iovec_count: u16,
    /// Length of the data in bytes.
    pub dxfer_len: u32,
    /// Address of the data.
    pub dxferp: *mut libc::c_void,
    /// Address of the command.
    pub cmdp: *const u8,
    /// Address of the sense buffer.
    pub sbp: *mut u8,
    /// Timeout in ms.
    pub timeout: u32,
    /// Combination of `FLAG_*`.
    pub flags: u32,
    /// For the caller's use.
    pub pack_id: i32,
    /// For the caller's use.
    pub usr_ptr: *mut libc::c_void,
    /// SCSI status of the completed command.
    pub status: u8,
    /// SCSI status, shifted right by one bit (obsolete).
    pub masked_status: u8,
    /// Message status (obsolete).
    pub msg_status: u8,
    /// Number of bytes of sense data that the driver wrote.
    pub sb_len_wr: u8,
    /// Status from the host adapter.
    pub host_status: u16,
    pub driver_status: u16,
    /// Number of bytes that were not transferred.
    pub resid: i32,
    /// Duration of the command in ms.
    pub duration: u32,
    /// Bit 0 is set if anything went wrong.
    pub info: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Header>() == 88);

impl Header {
    /// Header of a command without data. The caller fills in the pointers.
    pub const EMPTY: Header = Header {
        interface_id: 'S' as i32,
        dxfer_direction: DXFER_NONE,
        cmd_len: 0,
        mx_sb_len: 0,
        iovec_count: 0,
        dxfer_len: 0,
        dxferp: std::ptr::null_mut(),
        cmdp: std::ptr::null(),
        sbp: std::ptr::null_mut(),
        timeout: TIMEOUT_MS,
        flags: 0,
        pack_id: 0,
        usr_ptr: std::ptr::null_mut(),
        status: 0,
        masked_status: 0,
        msg_status: 0,
        sb_len_wr: 0,
        host_status: 0,
        driver_status: 0,
        resid: 0,
        duration: 0,
        info: 0,
    };

    /// Returns the bytes transferred by a completed command. `sense` is the buffer that received its
    /// sense data.
    ///
    /// # Errors
    /// The error that the device, the host adapter or the driver reported.
    pub fn outcome(&self, sense: &[u8]) -> Result<u32, Failure> {
        let moved = self.dxfer_len.saturating_sub(self.resid.max(0) as u32);
        // SG_INFO_CHECK.
        if self.info & 1 == 0 {
            return Ok(moved);
        }
        let length = sense.len().min(usize::from(self.sb_len_wr));
        match Sense::parse(&sense[..length]) {
            Some(sense) if sense.key == sense::key::RECOVERED_ERROR => Ok(moved),
            Some(sense) if sense.key != 0 => Err(Failure::Device(sense)),
            _ if self.status != 0 => Err(Failure::Status(self.status)),
            _ if self.host_status != 0 => Err(Failure::Host(self.host_status)),
            // DRIVER_SENSE alone only means that there is sense data.
            _ if self.driver_status & 0xf7 != 0 => Err(Failure::Driver(self.driver_status)),
            _ => Ok(moved),
        }
    }
}

/// Why a command failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// The kernel did not send the command; this is the errno.
    Kernel(Errno),
    /// The device refused the command with this sense data.
    Device(Sense),
    /// The device returned this status without sense data.
    Status(u8),
    /// The host adapter could not deliver the command; this is its status.
    Host(u16),
    /// The driver gave up; this is its status.
    Driver(u16),
    /// The device returned invalid data.
    InvalidAnswer,
}

impl Failure {
    /// Returns the errno that corresponds to the failure.
    #[must_use]
    pub const fn errno(self) -> Errno {
        match self {
            Failure::Kernel(errno) => errno,
            // Status BUSY, TASK SET FULL; DID_NO_CONNECT, DID_BUS_BUSY, DID_TIME_OUT, DID_REQUEUE.
            Failure::Status(0x08 | 0x28) | Failure::Host(0x02 | 0x0d) => Errno::EBUSY,
            Failure::Host(0x01) => Errno::ENODEV,
            Failure::Host(0x03) => Errno::ETIMEDOUT,
            Failure::Status(0x18) => Errno::EBADE,
            _ => Errno::EIO,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Failure::Kernel(errno) => write!(f, "{errno}"),
            Failure::Device(sense) => write!(f, "{sense}"),
            Failure::Status(0x08) => write!(f, "the device is busy"),
            Failure::Status(0x18) => write!(f, "another host has reserved the device"),
            Failure::Status(0x28) => write!(f, "the device's queue is full"),
            Failure::Status(status) => write!(f, "the device returned status {status:02X}h"),
            Failure::Host(0x01) => write!(f, "the device cannot be reached"),
            Failure::Host(0x03) => write!(f, "the command took longer than {TIMEOUT_MS} ms"),
            Failure::Host(code) => write!(f, "the host adapter gave up (code {code:02X}h)"),
            Failure::Driver(code) => write!(f, "the driver gave up (code {code:02X}h)"),
            Failure::InvalidAnswer => write!(f, "the device returned invalid data"),
        }
    }
}

impl std::error::Error for Failure {}

/// The data buffer of a command.
#[derive(Debug)]
pub enum CommandData<'a> {
    /// No data.
    None,
    /// Buffer for data from the device.
    In(&'a mut [u8]),
    /// Data for the device.
    Out(&'a [u8]),
}

impl CommandData<'_> {
    /// Borrows the buffer for another attempt at the same command.
    pub fn again(&mut self) -> CommandData<'_> {
        match self {
            CommandData::None => CommandData::None,
            CommandData::In(bytes) => CommandData::In(bytes),
            CommandData::Out(bytes) => CommandData::Out(bytes),
        }
    }
}

/// Sends a command with `SG_IO` and waits for it. Returns the number of bytes transferred.
///
/// # Errors
/// See [`Failure`]. A file that is not a SCSI device fails with `ENOTTY` or `EINVAL`.
pub fn execute(fd: BorrowedFd<'_>, cdb: &Cdb, data: CommandData<'_>) -> Result<u32, Failure> {
    let mut sense = [0u8; SENSE_BYTES];
    let (direction, pointer, length) = match data {
        CommandData::None => (DXFER_NONE, std::ptr::null_mut(), 0),
        CommandData::In(bytes) => (DXFER_FROM_DEV, bytes.as_mut_ptr(), bytes.len()),
        CommandData::Out(bytes) => (DXFER_TO_DEV, bytes.as_ptr().cast_mut(), bytes.len()),
    };
    let mut header = Header {
        dxfer_direction: direction,
        cmd_len: cdb.as_bytes().len() as u8,
        mx_sb_len: SENSE_BYTES as u8,
        dxfer_len: length as u32,
        dxferp: pointer.cast(),
        cmdp: cdb.as_bytes().as_ptr(),
        sbp: sense.as_mut_ptr(),
        flags: FLAG_DIRECT_IO,
        ..Header::EMPTY
    };
    // SAFETY: command, sense and data outlive the call; the device writes at most `dxfer_len` bytes to
    // memory that is borrowed mutably, and only reads memory that is borrowed otherwise.
    let rc = unsafe { libc::ioctl(fd.as_raw_fd(), SG_IO, &raw mut header) };
    if rc < 0 {
        return Err(Failure::Kernel(Error::last("ioctl SG_IO").errno));
    }
    header.outcome(&sense)
}

/// Returns the version of the driver behind a character device: 30536 for 3.5.36.
///
/// # Errors
/// Errors of `SG_GET_VERSION_NUM`, such as `ENOTTY`, if the file is not a SCSI generic device.
pub fn version(fd: impl AsFd) -> crate::Result<u32> {
    let mut version: libc::c_int = 0;
    // SAFETY: the request writes one int.
    let rc = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), SG_GET_VERSION_NUM, &raw mut version) };
    crate::error::check("ioctl SG_GET_VERSION_NUM", rc)?;
    Ok(version.max(0) as u32)
}

/// Returns the kernel's name of a SCSI generic character device (`sg0`); `None` for any other device.
#[must_use]
pub fn name(device: Device) -> Option<String> {
    let path = std::fs::canonicalize(format!("/sys/dev/char/{device}")).ok()?;
    let class = std::fs::canonicalize(path.join("subsystem")).ok()?;
    let name = path.file_name()?.to_str()?;
    (class.file_name()? == "scsi_generic").then(|| name.to_owned())
}

/// Returns the name and number of the block device of the logical unit behind a SCSI generic or block
/// SCSI generic (bsg) character device. `None` if the unit is not a disk.
#[must_use]
pub fn block_sibling(device: Device) -> Option<(String, Device)> {
    block_sibling_in(&Root::machine(), device)
}

/// Works as [`block_sibling`] on the machine below `root`.
pub(crate) fn block_sibling_in(root: &Root, device: Device) -> Option<(String, Device)> {
    let path = std::fs::canonicalize(root.path(format!("/sys/dev/char/{device}"))).ok()?;
    let class = std::fs::canonicalize(path.join("subsystem")).ok()?;
    if !["scsi_generic", "bsg"].iter().any(|known| class.file_name() == Some(known.as_ref())) {
        return None;
    }
    let beside: PathBuf = path.join("device/block");
    let name = std::fs::read_dir(beside).ok()?.next()?.ok()?.file_name().into_string().ok()?;
    let number = root.text(format!("/sys/class/block/{name}/dev"))?;
    Some((name, Device::parse(&number)?))
}

/// How a block device handles SCSI commands that are sent to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addressee {
    /// The device is a whole logical unit, and commands apply to it.
    Unit,
    /// The device is a partition; commands apply to the whole logical unit.
    Partition,
    /// The device is built on these devices (device mapper, md, bcache). Its driver passes root's commands
    /// unchanged to one of them, where the addresses refer to other data.
    BuiltOn(Vec<String>),
    /// The device is not a SCSI device.
    Other,
}

/// Returns how a block device handles SCSI commands that are sent to it.
#[must_use]
pub fn addressee(device: Device) -> Addressee {
    addressee_in(&Root::machine(), device)
}

fn addressee_in(root: &Root, device: Device) -> Addressee {
    let Ok(path) = std::fs::canonicalize(root.path(format!("/sys/dev/block/{device}"))) else {
        return Addressee::Other;
    };
    if path.join("partition").exists() {
        return Addressee::Partition;
    }
    let unit = path.join("device");
    let subsystem = std::fs::canonicalize(unit.join("subsystem")).ok();
    let is_scsi = subsystem.is_some_and(|path| path.file_name() == Some("scsi".as_ref()));
    if is_scsi || unit.join("scsi_generic").exists() {
        return Addressee::Unit;
    }
    match names(&path.join("slaves")) {
        below if below.is_empty() => Addressee::Other,
        below => Addressee::BuiltOn(below),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survey::fixture::Machine;

    #[test]
    fn commands_to_a_mapped_volume_would_apply_to_the_disk_below() {
        let tree = Machine::new();
        let unit = "/sys/devices/pci0000:00/host0/target0:0:0/0:0:0:0";
        let disk = tree.disk(&format!("{unit}/block/sdb"), (8, 16), 1 << 30);
        tree.write(&format!("{unit}/scsi_generic/sg1/dev"), "21:1");
        tree.link(&format!("{disk}/device"), unit);
        tree.link("/sys/dev/block/8:16", &disk);
        let part = tree.partition(&disk, 1, (8, 17), (1 << 20, 1 << 20));
        tree.link("/sys/dev/block/8:17", &part);
        // A logical unit without a node of the generic driver.
        let lonely = "/sys/devices/pci0000:00/host0/target0:0:1/0:0:1:0";
        let other = tree.disk(&format!("{lonely}/block/sdc"), (8, 32), 1 << 30);
        tree.write("/sys/bus/scsi/uevent", "");
        tree.link(&format!("{lonely}/subsystem"), "/sys/bus/scsi");
        tree.link(&format!("{other}/device"), lonely);
        tree.link("/sys/dev/block/8:32", &other);
        for (name, minor) in [("dm-0", 0), ("bcache0", 1)] {
            let built = tree.disk(&format!("/sys/devices/virtual/block/{name}"), (252, minor), 1);
            tree.link(&format!("{built}/slaves/sdb"), &disk);
            tree.link(&format!("/sys/dev/block/252:{minor}"), &built);
        }
        let nvme = tree.nvme(None, "0000:01:00.0", 0, ("8.0", 4), ("8.0", 4));
        tree.link("/sys/dev/block/259:0", &nvme);
        let root = tree.root();
        let of = |major, minor| addressee_in(&root, Device { major, minor });
        assert_eq!(of(8, 16), Addressee::Unit);
        assert_eq!(of(8, 17), Addressee::Partition);
        assert_eq!(of(8, 32), Addressee::Unit);
        assert_eq!(of(252, 0), Addressee::BuiltOn(vec!["sdb".into()]));
        assert_eq!(of(252, 1), Addressee::BuiltOn(vec!["sdb".into()]));
        assert_eq!(of(259, 0), Addressee::Other);
        assert_eq!(of(9, 9), Addressee::Other);
    }

    #[test]
    fn the_outcome_follows_from_the_header() {
        let done = Header { dxfer_len: 4096, ..Header::EMPTY };
        assert_eq!(done.outcome(&[]), Ok(4096));
        let short = Header { resid: 512, ..done };
        assert_eq!(short.outcome(&[]), Ok(3584));
        let refused = Header { info: 1, status: 2, driver_status: 8, sb_len_wr: 8, ..done };
        let sense = [0x72, 0x05, 0x20, 0x00, 0, 0, 0, 0];
        let expected = Sense { key: 5, asc: 0x20, ascq: 0 };
        assert_eq!(refused.outcome(&sense), Err(Failure::Device(expected)));
        let recovered = [0x72, 0x01, 0x17, 0x01, 0, 0, 0, 0];
        assert_eq!(refused.outcome(&recovered), Ok(4096));
        let busy = Header { info: 1, status: 8, ..done };
        assert_eq!(busy.outcome(&[]), Err(Failure::Status(8)));
        assert_eq!(Failure::Status(8).errno(), Errno::EBUSY);
        let lost = Header { info: 1, host_status: 1, ..done };
        assert_eq!(lost.outcome(&[]).unwrap_err().to_string(), "the device cannot be reached");
    }

    #[test]
    fn other_devices_are_not_taken_for_scsi_devices() {
        let null = Device { major: 1, minor: 3 };
        assert_eq!((name(null), block_sibling(null)), (None, None));
        let fd = crate::file::Open::read_only().open("/dev/null".as_ref()).unwrap();
        assert!(version(&fd).is_err());
        let mut byte = [0];
        let cdb = crate::scsi::cdb::read_capacity_10();
        let failed = execute(fd.as_fd(), &cdb, CommandData::In(&mut byte)).unwrap_err();
        assert!(matches!(failed, Failure::Kernel(Errno::ENOTTY | Errno::EINVAL)), "{failed}");
    }
}
