//! `io_uring_cmd`: NVMe commands that the kernel passes through to a namespace.
//!
//! | question | module |
//! |---|---|
//! | how a command is encoded | `command` |
//! | which blocks a range of bytes is | `space` |
//! | where the ranges of a deallocation are | `deallocate` |
//! | how a large op is split into commands | `parts` |
//! | what follows a comparison that failed | `compare` |
//! | where the metadata of an op is | `metadata` |
//! | what protection information is | [`protection`] |
//! | what is registered, and the messages for what the kernel refuses | [`setup`](self) (`setup.rs`) |
//!
//! The rings are those of [`crate::io_uring`] with entries of twice the size. Only the thread that
//! created an engine may use it.

mod command;
mod compare;
mod deallocate;
mod metadata;
mod parts;
pub(crate) mod protection;
mod setup;
mod space;

use fiord_plan::WriteCommand;
use fiord_stat::engine::EngineReport;
use fiord_types::{Errno, FileIndex};

use crate::buffers::{Buffers, slots_of_buffers};
use crate::io_uring::abi::{Cqe32, Sqe128, URING_CMD_FIXED};
use crate::io_uring::driver::{CompletionMode, RingDriver};
use crate::io_uring::extras::RingExtras;
use crate::io_uring::registered::RingFiles;
use crate::io_uring::ring::Ring;
use crate::{
    Attachment, Completions, Engine, EngineError, FreeSlot, MachineClock, Op, OpKind, Outcome,
    Queued, Slot, TrimRange, Want,
};
use command::{Flags, NVME_URING_CMD_IO, NvmeCommand};
use compare::Comparisons;
use deallocate::RangeLists;
use metadata::{Blocks, Metadata};
use parts::Parts;
use space::NamespaceBlocks;

/// Bit of `user_data` that marks one command of an op that is split. Slot numbers have fewer bits;
/// the command's length is above.
const PART: u64 = 1 << 31;

/// The `io_uring_cmd` engine.
#[derive(Debug)]
pub struct IoUringCmd {
    ring: Ring<Sqe128<NvmeCommand>, Cqe32>,
    mode: CompletionMode,
    buffers: Buffers,
    files: RingFiles,
    /// The namespaces of the job's files, and those of the attached files.
    known: Vec<NamespaceBlocks>,
    spaces: Box<[NamespaceBlocks]>,
    flags: Flags,
    /// Fields that all submission entries have in common.
    common: Sqe128<NvmeCommand>,
    extras: RingExtras,
    /// A transfer needs more than these fields: something in `extras`, or a placement.
    has_optional_fields: bool,
    placements: Placements,
    /// Number of ops that are queued and not reaped.
    in_flight: u32,
    /// Number of commands that are queued and have not completed; at most `limit`.
    commands: u32,
    limit: u32,
    ranges: RangeLists,
    parts: Parts,
    /// `None` if no namespace has metadata.
    metadata: Option<Box<Metadata>>,
    /// `verify_mode=compare`.
    comparisons: Option<Box<Comparisons>>,
}

/// Placement of writes.
#[derive(Debug)]
struct Placements {
    /// Directive type of a write.
    directive: u8,
    /// Placement identifiers for [`crate::IoAttributes::placement`], per file.
    ids: Box<[Vec<u16>]>,
}

impl Placements {
    /// The placement identifier of a write; `None` if the write is not placed.
    fn of(&self, op: &Op) -> Option<u16> {
        let at = usize::from(op.attributes.placement).checked_sub(1)?;
        self.ids.get(op.file.get())?.get(at).copied()
    }
}

impl IoUringCmd {
    /// Submission entry of a command.
    #[inline(always)]
    fn entry(&self, slot: Slot, op: &Op, command: NvmeCommand) -> Sqe128<NvmeCommand> {
        let user_data = u64::from(op.len) << 32 | u64::from(slot);
        Sqe128 { fd: self.files.name(op.file), user_data, command, ..self.common }
    }

    /// Submission entry of a command that transfers the slot's data.
    #[inline(always)]
    fn transfer(&mut self, slot: Slot, op: &Op, data: *mut u8) -> Sqe128<NvmeCommand> {
        let space = self.space(op.file);
        let mut command = match op.kind {
            OpKind::Read => NvmeCommand::read(space, op.offset, op.len, &self.flags),
            _ => NvmeCommand::write(space, op.attributes.command, op.offset, op.len, &self.flags),
        };
        command.addr = data as u64;
        command.data_len = op.len;
        if self.metadata.is_some() {
            self.set_metadata(slot, op, &mut command);
        }
        let mut sqe = self.entry(slot, op, command);
        if self.has_optional_fields {
            self.set_optional_fields(slot, op, &mut sqe);
        }
        sqe
    }

    /// Sets metadata and protection information of a command.
    #[inline(never)]
    fn set_metadata(&mut self, slot: Slot, op: &Op, command: &mut NvmeCommand) {
        let space = *self.space(op.file);
        let Some(metadata) = &mut self.metadata else { return };
        let (first, count) = space.blocks(op.offset, op.len);
        let blocks = Blocks { first, count, before: space.blocks(op.at.into(), 0).0 as u32 };
        if command.data_len > 0 {
            if op.kind == OpKind::Write && op.attributes.command == WriteCommand::Append {
                let zone = Blocks { first: space.zone_start(first), ..blocks };
                metadata.mark_append(op.file, zone, command);
            } else {
                metadata.mark(op.file, blocks, command);
            }
            metadata.point(slot, op.file, blocks, command);
        } else {
            metadata.mark_without_data(op.attributes.command, op.file, blocks, command);
        }
    }

    /// Prepares the metadata of an op that transfers data, before its first command: generates the
    /// protection information of a write, and notes a read to be checked.
    #[inline(never)]
    fn prepare_metadata(&mut self, slot: &mut FreeSlot, op: &Op) {
        let (first, _) = self.space(op.file).blocks(op.offset, op.len);
        let Some(metadata) = &mut self.metadata else { return };
        if op.kind == OpKind::Read {
            metadata.expect(slot.index(), op.file, first);
        } else {
            let index = slot.index();
            let data = &mut self.buffers.slice(slot)[op.at as usize..][..op.len as usize];
            metadata.seal(index, op.file, first, data);
        }
    }

    /// Sets the fields that only some options need.
    #[inline(never)]
    fn set_optional_fields(&mut self, slot: Slot, op: &Op, sqe: &mut Sqe128<NvmeCommand>) {
        if op.kind == OpKind::Write
            && let Some(id) = self.placements.of(op)
        {
            sqe.command.place(self.placements.directive, id);
        }
        self.extras.vector(slot, &mut sqe.command.addr, &mut sqe.command.data_len);
        sqe.buf_index = self.extras.buffer_index(slot);
        sqe.flags |= self.extras.force_async();
        if let Some(comparisons) = &mut self.comparisons
            && op.kind == OpKind::Read
            && op.attributes.command == WriteCommand::Compare
        {
            comparisons.begin(slot, sqe);
        }
    }

    #[inline(always)]
    fn space(&self, file: FileIndex) -> &NamespaceBlocks {
        self.spaces.get(file.get()).unwrap_or(&NamespaceBlocks::NONE)
    }

    /// Submission entry of an op without data; `None` if NVMe has no such command.
    #[inline(never)]
    fn without_data(&mut self, slot: Slot, op: &Op) -> Option<Sqe128<NvmeCommand>> {
        let space = *self.space(op.file);
        let command = match op.kind {
            OpKind::Write => {
                NvmeCommand::write(&space, op.attributes.command, op.offset, op.len, &self.flags)
            }
            OpKind::Trim => self.ranges.command(slot, &space, op),
            OpKind::Fsync | OpKind::Fdatasync => NvmeCommand::flush(&space),
            OpKind::Read | OpKind::SyncFileRange(_) => return None,
        };
        let mut command = command;
        if self.metadata.is_some()
            && matches!(op.attributes.command, WriteCommand::Zeroes | WriteCommand::Verify)
        {
            self.set_metadata(slot, op, &mut command);
        }
        let mut sqe = self.entry(slot, op, command);
        sqe.cmd_op = NVME_URING_CMD_IO;
        sqe.uring_cmd_flags &= !URING_CMD_FIXED;
        if op.kind != OpKind::Write {
            // The op transfers no bytes when it succeeds.
            sqe.user_data = u64::from(slot);
        }
        sqe.flags |= self.extras.force_async();
        Some(sqe)
    }

    /// Queues an op that is longer than a command may be, split into several commands.
    #[cold]
    fn queue_parts(&mut self, slot: FreeSlot, op: &Op, data: *mut u8) -> Queued {
        let most = self.space(op.file).most_data;
        let count = op.len.div_ceil(most);
        if count > self.limit {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        }
        if self.commands + count > self.limit {
            return Queued::Full(slot);
        }
        let slot = self.began(slot, count);
        self.parts.begin(slot, count);
        for part in 0..count {
            let at = part * most;
            let len = most.min(op.len - at);
            let part = Op { offset: op.offset + u64::from(at), len, at: op.at + at, ..*op };
            let mut sqe = self.transfer(slot, &part, data.wrapping_add(at as usize));
            sqe.user_data |= PART;
            // SAFETY: as in `queue`, and there is room for all parts.
            unsafe { self.ring.push(sqe) };
        }
        Queued::Pending
    }

    /// Leaks all memory that a command in flight may point to: data, metadata, range lists and
    /// vectors. The device would read or overwrite whatever reused the memory.
    fn leak(&mut self) {
        self.buffers.leak();
        self.ranges.leak();
        std::mem::forget(self.metadata.take());
        self.extras.leak();
    }

    /// Takes up to `max` completions. Returns the number of ops that ended with them; `None` if
    /// there were no completions.
    #[inline(always)]
    fn take_once(&mut self, max: u32, done: &mut Completions) -> Option<u32> {
        let (buffers, parts) = (&mut self.buffers, &mut self.parts);
        let (metadata, comparisons) = (&mut self.metadata, &mut self.comparisons);
        let (mut ended, mut again) = (0, 0);
        let commands = self.ring.take(max, |cqe| {
            let slot = (cqe.user_data & (PART - 1)) as u32;
            let mut outcome = outcome_of(&cqe);
            if cqe.res > 0
                && let Some(comparisons) = comparisons
                && comparisons.reads_again(slot, cqe.res)
            {
                again += 1;
                return;
            }
            if cqe.user_data & PART != 0 {
                match parts.end(slot, outcome) {
                    Some(whole) => outcome = whole,
                    None => return,
                }
            }
            // SAFETY: the kernel returns each command once, when it is done with the buffer, with the
            // slot that `queue` put into it, and this is the only or the last command of the op.
            let mut free = unsafe { buffers.end(slot) };
            if let Some(metadata) = metadata
                && let Some(read) = metadata.expected(slot)
                && let Ok(bytes) = outcome.get()
                && !metadata.is_right(slot, read, &buffers.slice(&mut free)[..bytes as usize])
            {
                outcome = Outcome::err(Errno::EILSEQ);
            }
            done.push(free, outcome);
            ended += 1;
        });
        self.commands -= commands;
        if again > 0 {
            self.read_again();
        }
        (commands > 0).then_some(ended)
    }

    /// Queues the reads that follow comparisons that failed.
    #[cold]
    fn read_again(&mut self) {
        let Some(comparisons) = &mut self.comparisons else { return };
        while let Some(read) = comparisons.next_read() {
            self.commands += 1;
            // SAFETY: the entry refers to the memory of a slot whose op has not ended: `take_once` has returned no
            // token for it. There is room, because its comparison has completed.
            unsafe { self.ring.push(read) };
        }
    }

    /// Takes the token of a slot whose op consists of this many commands. Returns the slot's index.
    #[inline(always)]
    fn began(&mut self, slot: FreeSlot, commands: u32) -> Slot {
        let slot = self.buffers.begin(slot);
        self.in_flight += 1;
        self.commands += commands;
        slot
    }
}

/// The outcome of a command. A result above 0 is a status of the controller.
#[inline(always)]
fn outcome_of(cqe: &Cqe32) -> Outcome {
    match cqe.res {
        0 => Outcome::ok((cqe.user_data >> 32) as u32),
        status @ 1.. => Outcome::nvme(status as u16),
        errno => Outcome::from_raw(errno.into()),
    }
}

impl RingDriver for IoUringCmd {
    type Sqe = Sqe128<NvmeCommand>;
    type Cqe = Cqe32;

    #[inline(always)]
    fn ring(&mut self) -> &mut Ring<Sqe128<NvmeCommand>, Cqe32> {
        &mut self.ring
    }

    #[inline(always)]
    fn mode(&self) -> &CompletionMode {
        &self.mode
    }

    #[inline(always)]
    fn in_flight(&self) -> u32 {
        self.in_flight
    }

    #[inline(always)]
    fn take(&mut self, max: u32, done: &mut Completions) -> u32 {
        let mut ended = 0;
        // An op has one completion per command, so a round may end fewer ops than it takes
        // completions.
        while ended < max {
            let Some(now) = self.take_once(max - ended, done) else { break };
            ended += now;
        }
        self.in_flight -= ended;
        ended
    }
}

impl Engine for IoUringCmd {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.mode.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        let known = self.known.get(file.get()).copied();
        let known = known.ok_or_else(|| {
            EngineError::plain(format!("file {file} is not a namespace of the plan"))
        })?;
        if let Some(space) = self.spaces.get_mut(file.get()) {
            *space = known;
        }
        self.files.attach(&self.ring, file, target)
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        if let Some(space) = self.spaces.get_mut(file.get()) {
            *space = NamespaceBlocks::NONE;
        }
        self.files.detach(&self.ring, file)
    }

    fn report(&self, _path: &dyn Fn(FileIndex) -> String) -> EngineReport {
        EngineReport { ring: self.ring.counts(), ..EngineReport::default() }
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.metadata.as_mut()?.mismatch(slot.index()).map(|wrong| setup::mismatch_text(&wrong))
    }

    fn ranges(&mut self, slot: &FreeSlot, ranges: &[TrimRange]) {
        self.ranges.set_ranges(slot.index(), ranges);
    }

    #[inline(always)]
    fn queue(&mut self, mut slot: FreeSlot, op: &Op) -> Queued {
        if self.commands >= self.limit {
            return Queued::Full(slot);
        }
        let moves = match op.kind {
            OpKind::Read => true,
            OpKind::Write => op.attributes.command.has_data(),
            _ => false,
        };
        let sqe = if moves {
            let Some(data) = self.buffers.span(&slot, op.at, op.len) else {
                return Queued::Done(slot, Outcome::err(Errno::EINVAL));
            };
            if self.metadata.is_some() {
                self.prepare_metadata(&mut slot, op);
            }
            if op.len > self.space(op.file).most_data {
                return self.queue_parts(slot, op, data);
            }
            let slot = self.began(slot, 1);
            self.transfer(slot, op, data)
        } else {
            // The range list of a trim belongs to the slot as well.
            if !self.buffers.owns(&slot) {
                return Queued::Done(slot, Outcome::err(Errno::EINVAL));
            }
            let Some(sqe) = self.without_data(slot.index(), op) else {
                return Queued::Done(slot, Outcome::err(Errno::EOPNOTSUPP));
            };
            self.began(slot, 1);
            sqe
        };
        // SAFETY: the entry refers to the buffer, the vector, the metadata and the range list of a slot
        // that is now in flight and whose token `take` returns when the op has completed. A drop with
        // ops in flight waits for them or leaks the memory.
        unsafe { self.ring.push(sqe) };
        Queued::Pending
    }

    #[inline]
    fn flush(&mut self) -> Result<u32, EngineError> {
        self.ring.send().map_err(setup::enter_error)
    }

    #[inline]
    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.submit_and_reap(want, done).map_err(setup::enter_error)
    }

    /// Waits for the commands in flight, then releases the registered files.
    fn close(&mut self) -> Result<(), EngineError> {
        self.in_flight = 0;
        self.ring.drain(std::mem::take(&mut self.commands)).map_err(|errno| {
            self.leak();
            EngineError::leaked("ioengine=io_uring_cmd", "io_uring_enter", errno)
        })?;
        self.files.release(&self.ring);
        Ok(())
    }
}

impl Drop for IoUringCmd {
    /// Waits for the commands in flight: the kernel must be done with the buffers before they are
    /// freed.
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests;
