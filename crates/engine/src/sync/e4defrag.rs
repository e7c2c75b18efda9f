//! `e4defrag`: each write exchanges blocks of the file with blocks of a donor file on ext4 (`EXT4_IOC_MOVE_EXT`).
//!
//! The kernel copies the data into the donor's blocks and then gives these blocks to the file. The contents of the file
//! stay the same; the donor gets the file's old blocks.

use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::{Path, PathBuf};

use fiord_plan::EnginePlan;
use fiord_plan::model::E4defragPlan;
use fiord_sys::file::{self, Device, FileGuard, Open, Preallocate};
use fiord_types::{Bytes, Errno, FileIndex};

use super::File;
use super::operation::{Operation, OperationEngine};
use crate::error::raw_result;
use crate::{Attachment, EngineConfig, EngineError, FileKind, Op, OpKind, Outcome};

/// `ioengine=e4defrag`.
pub type E4defrag = OperationEngine<MoveExtents>;

/// `EXT4_IOC_MOVE_EXT` (`_IOWR('f', 15, struct move_extent)`).
const EXT4_IOC_MOVE_EXT: libc::Ioctl = 0xc028_660f_u32 as libc::Ioctl;
/// `EXT4_SUPER_MAGIC`, which ext2 and ext3 have too.
const EXT4_MAGIC: i64 = 0xef53;

/// `struct move_extent` of `fs/ext4/ext4.h`. Positions and lengths are in blocks of the file system.
#[derive(Debug, Default)]
#[repr(C)]
struct MoveExtent {
    reserved: u32,
    donor: u32,
    start: u64,
    donor_start: u64,
    len: u64,
    moved: u64,
}

/// The ioctl `EXT4_IOC_MOVE_EXT`, and the donor file.
#[derive(Debug)]
pub struct MoveExtents {
    path: PathBuf,
    /// The donor; `None` before the first file is attached.
    donor: Option<OwnedFd>,
    /// `inplace=1`: allocate the donor's blocks before each exchange, and free them after it.
    inplace: bool,
    /// Size of a block of the file system, bytes.
    block: u64,
}

impl Operation for MoveExtents {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = match &config.engine {
            EnginePlan::E4defrag(plan) => plan.clone(),
            _ => E4defragPlan::default(),
        };
        Ok(MoveExtents { path: plan.donor, donor: None, inplace: plan.inplace, block: 4096 })
    }

    fn attached(
        &mut self,
        _file: FileIndex,
        target: Option<&Attachment>,
    ) -> Result<(), EngineError> {
        let Some((target, fd)) = target.and_then(|t| Some((t, t.fd.as_ref()?))) else {
            return Ok(());
        };
        self.block = ext4_block(target, fd.as_raw_fd())?;
        let donor = match &self.donor {
            Some(donor) => donor,
            None => self.donor.insert(open_donor(&self.path)?),
        };
        if device(fd)? != device(donor)? {
            return Err(EngineError::plain(format!(
                "the donor file {} is on another file system than the target",
                self.path.display()
            ))
            .help("To fix: name a file on the target's file system with donorname"));
        }
        if !self.inplace {
            allocate(donor, 0, target.offset.0 + target.len.0)
                .map_err(|errno| EngineError::call("donorname", "fallocate", errno))?;
        }
        Ok(())
    }

    fn issue(&mut self, file: File, op: &Op) -> Outcome {
        match op.kind {
            OpKind::Write => self.exchange(file.fd, op).unwrap_or_else(Outcome::err),
            _ => Outcome::err(Errno::EINVAL),
        }
    }
}

impl MoveExtents {
    /// Exchanges the blocks of the op's range.
    fn exchange(&self, fd: RawFd, op: &Op) -> Result<Outcome, Errno> {
        let donor = self.donor.as_ref().ok_or(Errno::EBADF)?;
        let len = u64::from(op.len);
        if self.inplace {
            allocate(donor, op.offset, len)?;
        }
        let start = op.offset / self.block;
        let blocks = (op.offset + len).div_ceil(self.block) - start;
        let mut extent = MoveExtent {
            donor: donor.as_raw_fd() as u32,
            start,
            donor_start: start,
            len: blocks,
            ..MoveExtent::default()
        };
        // SAFETY: the ioctl reads and writes the structure.
        let ret = unsafe { libc::ioctl(fd, EXT4_IOC_MOVE_EXT, &raw mut extent) };
        let ret = raw_result(i64::from(ret));
        if self.inplace {
            file::truncate(donor, Bytes::ZERO).map_err(|error| error.errno)?;
        }
        match ret {
            0 => Ok(Outcome::ok((extent.moved * self.block).min(len) as u32)),
            errno => Err(Errno::from_result(errno)),
        }
    }
}

/// Size of a block of the ext4 file system that holds the file, in bytes.
///
/// # Errors
///
/// The file is on another file system, or not a regular file.
fn ext4_block(target: &Attachment, fd: RawFd) -> Result<u64, EngineError> {
    let other = || {
        EngineError {
            errno: Some(Errno::EOPNOTSUPP),
            ..EngineError::plain("ioengine=e4defrag: the target is not a file on ext4")
        }
        .help("To fix: use a file on an ext4 file system")
    };
    if target.kind != FileKind::Regular {
        return Err(other());
    }
    let mut facts = std::mem::MaybeUninit::<libc::statfs>::zeroed();
    // SAFETY: the call fills the structure, which may be all zeros.
    let facts = unsafe {
        if libc::fstatfs(fd, facts.as_mut_ptr()) != 0 {
            return Err(EngineError::call("ioengine=e4defrag", "fstatfs", Errno::last()));
        }
        facts.assume_init()
    };
    if facts.f_type as i64 == EXT4_MAGIC { Ok(facts.f_bsize as u64) } else { Err(other()) }
}

/// Opens or creates the donor.
///
/// # Errors
///
/// The donor cannot be opened, or has contents that another program wrote.
fn open_donor(path: &Path) -> Result<OwnedFd, EngineError> {
    let failed = |error| EngineError::from_sys("donorname", &error);
    let how = Open::write_only().create(true).mode(0o644);
    let donor = FileGuard::target().open(how, path).map_err(failed)?;
    let size = file::facts_of(&donor.fd).map_err(failed)?.size;
    if !donor.created && size > Bytes::ZERO && !file::is_created_by_fiord(path) {
        let what = format!(
            "the donor file {} has contents that fiord did not write and that the job would destroy",
            path.display()
        );
        let help = "To fix: remove it, or name another file with donorname";
        return Err(
            EngineError { errno: Some(Errno::EEXIST), ..EngineError::plain(what) }.help(help)
        );
    }
    Ok(donor.fd)
}

/// The device that holds a file.
fn device(fd: &OwnedFd) -> Result<Device, EngineError> {
    let facts = file::facts_of(fd);
    facts.map(|facts| facts.device).map_err(|error| EngineError::from_sys("donorname", &error))
}

/// Allocates blocks of the donor.
fn allocate(donor: &OwnedFd, offset: u64, len: u64) -> Result<(), Errno> {
    let done = file::allocate(donor, Preallocate::Native, Bytes(offset), Bytes(len));
    done.map(drop).map_err(|error| error.errno)
}
