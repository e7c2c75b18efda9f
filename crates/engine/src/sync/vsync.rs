//! `vsync`: `readv(2)` and `writev(2)`. The engine gathers I/Os of one direction that are adjacent
//! in one file, and carries them out with one call. An I/O that is not adjacent has to wait until
//! that call was made ([`Queued::Full`]).

use std::collections::VecDeque;

use fiord_types::{Errno, FileIndex};

use super::sync::Position;
use crate::buffers::{Buffers, slots_of_buffers};
use crate::error::raw_result;
use crate::files::AttachedFiles;
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FreeSlot, MachineClock, Op, OpKind,
    Outcome, Queued, Want, dataless,
};

/// `IOV_MAX` of Linux (`UIO_MAXIOV`).
const MAX_VECTORS: usize = 1024;

/// The `vsync` engine. With one slot it carries out every I/O at once.
#[derive(Debug)]
pub struct Vsync {
    buffers: Buffers,
    files: AttachedFiles,
    clock: MachineClock,
    slots: u32,
    positions: Vec<Position>,
    /// Direction and file of the gathered I/Os.
    kind: OpKind,
    file: FileIndex,
    /// Start and end of the gathered I/Os in the file.
    start: u64,
    end: u64,
    gathered: Vec<FreeSlot>,
    vectors: Vec<libc::iovec>,
    /// Completions that wait to be reaped.
    ended: VecDeque<(FreeSlot, Outcome)>,
}

// SAFETY: the pointers in `vectors` point into `buffers`, which moves with them.
unsafe impl Send for Vsync {}

impl Vsync {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let slots = config.slots as usize;
        Ok(Vsync {
            buffers: Buffers::new(config)?,
            files: AttachedFiles::new(config.files),
            clock: config.clock,
            slots: config.slots,
            positions: vec![Position::Unknown; config.files as usize],
            kind: OpKind::Read,
            file: FileIndex(0),
            start: 0,
            end: 0,
            gathered: Vec::with_capacity(slots.min(MAX_VECTORS)),
            vectors: Vec::with_capacity(slots.min(MAX_VECTORS)),
            ended: VecDeque::with_capacity(slots),
        })
    }

    fn is_neighbour(&self, op: &Op) -> bool {
        op.kind == self.kind
            && op.file == self.file
            && op.offset == self.end
            && self.gathered.len() < MAX_VECTORS
    }

    /// Carries out the gathered I/Os. After a short transfer it calls again for the rest, until a
    /// call transfers nothing or fails.
    fn carry_out(&mut self) {
        let mut gathered = std::mem::take(&mut self.gathered);
        let (mut ended, mut into) = (0, 0);
        let mut last = Outcome::ok(0);
        let mut slots = gathered.drain(..);
        while ended < self.vectors.len() {
            let offset = self.start;
            let mut left = match self.call(ended, offset) {
                Ok(0) => break,
                Err(errno) => {
                    last = Outcome::err(errno);
                    break;
                }
                Ok(bytes) => bytes,
            };
            self.start += left as u64;
            while ended < self.vectors.len() && left >= self.vectors[ended].iov_len {
                left -= self.vectors[ended].iov_len;
                let len = (self.vectors[ended].iov_len + into) as u32;
                into = 0;
                self.ended.extend(slots.next().map(|slot| (slot, Outcome::ok(len))));
                ended += 1;
            }
            if left > 0 {
                let vector = &mut self.vectors[ended];
                vector.iov_base = vector.iov_base.wrapping_byte_add(left);
                vector.iov_len -= left;
                into += left;
            }
        }
        // The rest was not carried out, except for some bytes of the first.
        let first = if into > 0 { Outcome::ok(into as u32) } else { last };
        self.ended.extend(slots.next().map(|slot| (slot, first)));
        self.ended.extend(slots.map(|slot| (slot, last)));
        self.gathered = gathered;
        self.vectors.clear();
    }

    /// Issues one system call for the vectors from `first` on. Returns the number of bytes, or the
    /// errno.
    fn call(&mut self, first: usize, offset: u64) -> Result<usize, Errno> {
        let fd = self.files.fd(self.file);
        let mut unknown = Position::Unknown;
        let position = self.positions.get_mut(self.file.get()).unwrap_or(&mut unknown);
        if !position.seek(fd, offset) {
            return Err(Errno::last());
        }
        let rest = &self.vectors[first..];
        let count = rest.len() as i32;
        let ret = if self.kind == OpKind::Read {
            // SAFETY: the vectors describe parts of buffers of slots that are in flight.
            unsafe { libc::readv(fd, rest.as_ptr(), count) }
        } else {
            // SAFETY: the vectors describe parts of buffers of slots that are in flight.
            unsafe { libc::writev(fd, rest.as_ptr(), count) }
        } as i64;
        position.moved(offset, ret);
        let ret = raw_result(ret);
        if ret >= 0 { Ok(ret as usize) } else { Err(Errno::from_result(ret)) }
    }

    fn gather(&mut self, slot: FreeSlot, op: &Op, data: *mut u8) {
        if self.gathered.is_empty() {
            self.kind = op.kind;
            self.file = op.file;
            self.start = op.offset;
        }
        self.end = op.offset + u64::from(op.len);
        self.gathered.push(slot);
        self.vectors.push(libc::iovec { iov_base: data.cast(), iov_len: op.len as usize });
    }
}

impl Engine for Vsync {
    const ASYNC: bool = true;
    const SOMETIMES_AT_ONCE: bool = true;
    type Clock = MachineClock;

    fn completes_at_once(&self) -> bool {
        self.slots == 1
    }

    fn moves_position(&self) -> bool {
        true
    }

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        self.files.attach(file, target)?;
        self.positions[file] = Position::of(Some(target));
        Ok(())
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        self.files.detach(file);
        if let Some(position) = self.positions.get_mut(file.get()) {
            *position = Position::Unknown;
        }
        Ok(())
    }

    slots_of_buffers!();

    #[inline]
    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        if !matches!(op.kind, OpKind::Read | OpKind::Write) {
            if !self.gathered.is_empty() {
                return Queued::Full(slot);
            }
            return Queued::Done(slot, dataless::on(&self.files, *op));
        }
        let Some(data) = self.buffers.span(&slot, op.at, op.len) else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        if !self.gathered.is_empty() && !self.is_neighbour(op) {
            return Queued::Full(slot);
        }
        self.gather(slot, op, data);
        if self.slots == 1 {
            self.carry_out();
            if let Some((slot, outcome)) = self.ended.pop_back() {
                return Queued::Done(slot, outcome);
            }
        }
        Queued::Pending
    }

    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        let count = self.gathered.len() as u32;
        self.carry_out();
        Ok(count)
    }

    #[inline]
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.flush()?;
        let count = self.ended.len().min(want.max as usize);
        self.ended.drain(..count).for_each(|(slot, outcome)| done.push(slot, outcome));
        Ok(())
    }
}
