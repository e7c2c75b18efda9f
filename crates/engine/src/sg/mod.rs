//! `sg`: SCSI commands through version 3 of the kernel's generic driver.
//!
//! On a character device (`/dev/sgN`) `write(2)` submits a command and `read(2)` takes its
//! completion, which allows many commands in flight. On a block device each command is an `SG_IO`
//! ioctl, which returns when the command is done.
//!
//! `libzbc` (`sync/libzbc.rs`) prepares its devices with `ready.rs`, too.

mod command;
pub(crate) mod ready;

use std::os::fd::{AsFd, OwnedFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use fiord_plan::{EnginePlan, SgPlan, SgWrite};
use fiord_sys::poll::{self, PollEntry, Readiness, Waited};
use fiord_sys::scsi::generic::{self, CommandData, Failure, Header, SENSE_BYTES};
use fiord_sys::scsi::{Capacity, cdb, unmap};
use fiord_types::{Errno, FileIndex};

use crate::buffers::{Buffers, slots_of_buffers};
use crate::{
    Attachment, Completions, Engine, EngineConfig, EngineError, FileKind, FreeSlot, MachineClock,
    Op, OpKind, Outcome, Queued, Slot, Time, Want,
};
use command::{CommandBuilder, DataPhase, Request};
use ready::{capacity, refused};

/// Maximum number of commands in flight on one open character device (`SG_MAX_QUEUE` of the kernel's
/// `drivers/scsi/sg.c`).
const ROOM: u32 = 16;
/// First version of the driver that supports polled completions.
const POLLING_VERSION: u32 = 40_030;

/// An attached device.
#[derive(Debug)]
struct Device {
    fd: Arc<OwnedFd>,
    raw: RawFd,
    capacity: Capacity,
    builder: CommandBuilder,
    /// Commands go by `write(2)` and `read(2)`, so they can queue.
    queues: bool,
    /// Number of commands that are queued and have not completed.
    in_flight: u32,
    /// What one UNMAP command may hold.
    unmap: unmap::UnmapLimits,
    /// The stream that the engine opened for this job and has to close.
    stream: Option<u16>,
}

/// Memory of a slot's command while it is in flight.
#[derive(Debug, Clone)]
struct SlotCommand {
    order: Option<Request>,
    header: Header,
    sense: [u8; SENSE_BYTES],
    file: FileIndex,
    /// Number of bytes to report for an op that succeeds; `None`: the number that the device
    /// reports.
    whole: Option<u32>,
    /// Parameter list of an UNMAP, and the sum of the blocks of its ranges.
    list: Vec<u8>,
    blocks: u32,
    /// The slot of the next trim in the same UNMAP.
    next: Option<Slot>,
    /// The driver has the command, or will get it with the next flush.
    in_flight: bool,
}

/// The `sg` engine.
#[derive(Debug)]
pub struct Sg {
    plan: SgPlan,
    buffers: Buffers,
    devices: Vec<Option<Device>>,
    places: Box<[SlotCommand]>,
    clock: MachineClock,
    /// Slots whose commands are queued and not submitted, in order. Of the trims of one command
    /// only the first is here.
    unsent: Vec<Slot>,
    /// Ops that the kernel refused at submission.
    refused: Vec<(FreeSlot, Outcome)>,
    /// The devices that `ppoll(2)` waits for.
    waiting: Vec<PollEntry>,
    /// Number of ops that are queued and have not completed.
    in_flight: u32,
}

// SAFETY: the pointers in the headers of `places` point into boxes and buffers that the value owns
// and that do not move with it.
unsafe impl Send for Sg {}

impl Sg {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = match config.engine {
            EnginePlan::Sg(plan) => plan,
            _ => SgPlan::default(),
        };
        let place = SlotCommand {
            order: None,
            header: Header::EMPTY,
            sense: [0; SENSE_BYTES],
            file: FileIndex(0),
            whole: None,
            list: Vec::new(),
            blocks: 0,
            next: None,
            in_flight: false,
        };
        Ok(Sg {
            plan,
            buffers: Buffers::new(config)?,
            devices: (0..config.files).map(|_| None).collect(),
            places: vec![place; config.slots as usize].into_boxed_slice(),
            clock: config.clock,
            unsent: Vec::with_capacity(config.slots as usize),
            refused: Vec::with_capacity(config.slots as usize),
            waiting: Vec::with_capacity(config.files as usize),
            in_flight: 0,
        })
    }

    fn device(&self, file: FileIndex) -> Option<&Device> {
        self.devices.get(file.get())?.as_ref()
    }

    /// Builds the command of a slot.
    ///
    /// # Errors
    ///
    /// The outcome of an op that cannot be a command on this device.
    fn prepare(&mut self, slot: &FreeSlot, op: &Op) -> Result<(), Outcome> {
        let device = self.device(op.file).ok_or(Outcome::err(Errno::EBADF))?;
        let order = device.builder.of(op, device.capacity).ok_or(Outcome::err(Errno::EINVAL))?;
        let moved = match order.data {
            DataPhase::In(bytes) | DataPhase::Out(bytes) => bytes,
            DataPhase::Nothing | DataPhase::Range(..) => 0,
        };
        let data = self.buffers.span(slot, op.at, moved).ok_or(Outcome::err(Errno::EINVAL))?;
        let flags = generic::FLAG_DIRECT_IO | if self.plan.hipri { generic::FLAG_HIPRI } else { 0 };
        let place = &mut self.places[slot.index() as usize];
        place.file = op.file;
        place.whole = match op.kind {
            OpKind::Read | OpKind::Write if moved == op.len => None,
            OpKind::Read | OpKind::Write => Some(op.len),
            _ => Some(0),
        };
        place.list.clear();
        let Request { cdb, data: moves } = place.order.insert(order);
        let (direction, bytes, pointer) = match moves {
            DataPhase::Nothing => (generic::DXFER_NONE, 0, std::ptr::null_mut()),
            DataPhase::In(bytes) => (generic::DXFER_FROM_DEV, *bytes, data),
            DataPhase::Out(bytes) => (generic::DXFER_TO_DEV, *bytes, data),
            DataPhase::Range(lba, blocks) => {
                place.blocks = *blocks;
                cdb::add_range(&mut place.list, *lba, *blocks);
                (generic::DXFER_TO_DEV, place.list.len() as u32, place.list.as_mut_ptr())
            }
        };
        place.next = None;
        place.header = Header {
            dxfer_direction: direction,
            cmd_len: cdb.as_bytes().len() as u8,
            mx_sb_len: SENSE_BYTES as u8,
            dxfer_len: bytes,
            dxferp: pointer.cast(),
            cmdp: cdb.as_bytes().as_ptr(),
            sbp: place.sense.as_mut_ptr(),
            flags,
            pack_id: slot.index() as i32,
            usr_ptr: std::ptr::without_provenance_mut(slot.index() as usize),
            ..Header::EMPTY
        };
        Ok(())
    }

    /// Issues the slot's command with `SG_IO` and waits for its completion.
    fn at_once(&mut self, slot: &FreeSlot, fd: RawFd) -> Outcome {
        let place = &mut self.places[slot.index() as usize];
        // SAFETY: the pointers in the header are to the slot's command, sense data and buffer,
        // which outlive the call and which nothing else uses while `self` is borrowed.
        let rc = unsafe { libc::ioctl(fd, generic::SG_IO, &raw mut place.header) };
        if rc < 0 {
            return Outcome::err(Errno::last());
        }
        outcome(place)
    }

    /// Takes one completion of a character device. Returns the number of ops that ended with it; 0
    /// if there is no completion.
    fn take(&mut self, file: usize, done: &mut Completions) -> Result<u32, EngineError> {
        let Some(Some(device)) = self.devices.get_mut(file) else { return Ok(0) };
        let mut header = Header::EMPTY;
        let size = size_of::<Header>();
        // SAFETY: `header` has room for the `size` bytes that are read.
        let ret = unsafe { libc::read(device.raw, (&raw mut header).cast(), size) };
        if ret < 0 {
            return match Errno::last() {
                Errno::EAGAIN | Errno::EINTR => Ok(0),
                errno => Err(EngineError::call("ioengine=sg", "read", errno)),
            };
        }
        let slot = header.usr_ptr.addr() as Slot;
        let Some(place) = self.places.get_mut(slot as usize).filter(|place| place.in_flight) else {
            return Err(EngineError::plain(
                "ioengine=sg: read: the driver returned a command that this job did not send",
            )
            .help("To fix: check that no other program uses the same open device"));
        };
        device.in_flight -= 1;
        place.header = header;
        let outcome = outcome(place);
        // SAFETY: the driver has returned the command, which was in flight.
        Ok(unsafe { self.ended(slot, |slot| done.push(slot, outcome)) })
    }

    /// Ends the command of a slot and all ops that it carries: passes each slot to `each`. Returns
    /// the number of ops.
    ///
    /// # Safety
    ///
    /// The command is in flight, and the kernel is done with it.
    unsafe fn ended(&mut self, first: Slot, mut each: impl FnMut(FreeSlot)) -> u32 {
        let (mut slot, mut count) = (Some(first), 0);
        while let Some(now) = slot {
            let place = &mut self.places[now as usize];
            slot = place.next.take();
            place.in_flight = false;
            // SAFETY: the caller vouches for the command, and no other command carries its ops.
            each(unsafe { self.buffers.end(now) });
            count += 1;
        }
        self.in_flight -= count;
        count
    }

    /// Adds the trim of this slot, whose command is built, to the UNMAP that was queued last.
    /// Returns `false` if the trim needs a command of its own.
    fn joins(&mut self, slot: Slot) -> bool {
        let Some(&first) = self.unsent.last() else { return false };
        let Some(Request { data: DataPhase::Range(lba, blocks), .. }) =
            self.places[slot as usize].order
        else {
            return false;
        };
        let file = self.places[slot as usize].file;
        let limits = self.device(file).map_or(unmap::UnmapLimits::MIN, |device| device.unmap);
        let place = &mut self.places[first as usize];
        let Some(Request { cdb, data: DataPhase::Range(..) }) = &mut place.order else {
            return false;
        };
        let ranges = (place.list.len() / 16) as u32;
        let sum = place.blocks.checked_add(blocks).filter(|sum| *sum <= limits.blocks);
        let (Some(sum), true) = (sum, place.file == file && ranges < limits.ranges) else {
            return false;
        };
        place.blocks = sum;
        cdb::add_range(&mut place.list, lba, blocks);
        *cdb = cdb::unmap(place.list.len() as u16);
        place.header.dxfer_len = place.list.len() as u32;
        place.header.dxferp = place.list.as_mut_ptr().cast();
        let next = place.next.replace(slot);
        self.places[slot as usize].next = next;
        true
    }

    /// Waits until a device has a completion. Returns `false` if the time is up or a signal
    /// arrived.
    fn wait(&mut self, timeout: Option<u64>) -> Result<bool, EngineError> {
        let waiting = self.devices.iter().flatten().filter(|d| d.in_flight > 0);
        let list = &mut self.waiting;
        list.clear();
        list.extend(waiting.map(|device| PollEntry::new(device.raw, Readiness::Readable)));
        let waited = poll::wait(list, timeout.map(Duration::from_nanos));
        let failed = |error| EngineError::from_sys("ioengine=sg", &error);
        Ok(waited.map_err(failed)? == Waited::Ready)
    }
}

/// The outcome of a slot's command.
fn outcome(place: &SlotCommand) -> Outcome {
    match place.header.outcome(&place.sense) {
        Ok(moved) => Outcome::ok(place.whole.unwrap_or(moved)),
        Err(Failure::Device(sense)) => Outcome::scsi(sense),
        Err(failure) => Outcome::err(failure.errno()),
    }
}

impl Engine for Sg {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        let Some(fd) = target.fd.clone() else {
            return Err(EngineError::plain("ioengine=sg needs a SCSI device"));
        };
        let queues = target.kind == FileKind::Char;
        let capacity = capacity("ioengine=sg", &fd)?;
        if queues {
            prepare_char(&fd, self.plan.hipri)?;
        } else if self.plan.hipri {
            return Err(EngineError::plain(
                "hipri=1: the kernel does not poll for SG_IO on a block device",
            )
            .help("To fix: name its generic device, /dev/sgN, or leave out hipri=1"));
        }
        let (stream, opened) = stream(&fd, self.plan.write, target.read_only)?;
        let device = Device {
            raw: std::os::fd::AsRawFd::as_raw_fd(&fd),
            capacity,
            builder: CommandBuilder::new(&self.plan, stream),
            queues,
            in_flight: 0,
            unmap: if queues { self.unmap_limits(&fd) } else { unmap::UnmapLimits::MIN },
            fd,
            stream: opened,
        };
        let Some(place) = self.devices.get_mut(file.get()) else {
            return Err(EngineError::plain(format!(
                "cannot attach file {file}: it is beyond the number of files of the job"
            )));
        };
        *place = Some(device);
        Ok(())
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        let Some(device) = self.devices.get_mut(file.get()).and_then(Option::take) else {
            return Ok(());
        };
        let Some(stream) = device.stream else { return Ok(()) };
        let mut answer = [0; 8];
        generic::execute(
            device.fd.as_fd(),
            &cdb::close_stream(stream),
            CommandData::In(&mut answer),
        )
        .map(drop)
        .map_err(|failure| refused("ioengine=sg", "STREAM CONTROL (close)", failure))
    }

    slots_of_buffers!();

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let Some(device) = self.device(op.file) else {
            return Queued::Done(slot, Outcome::err(Errno::EBADF));
        };
        let (fd, queues) = (device.raw, device.queues);
        let is_sync = !matches!(op.kind, OpKind::Read | OpKind::Write | OpKind::Trim);
        let full = device.in_flight >= ROOM;
        if queues && (full && op.kind != OpKind::Trim || is_sync && !self.unsent.is_empty()) {
            return Queued::Full(slot);
        }
        if let Err(outcome) = self.prepare(&slot, op) {
            return Queued::Done(slot, outcome);
        }
        if !queues || is_sync {
            let outcome = self.at_once(&slot, fd);
            return Queued::Done(slot, outcome);
        }
        if self.joins(slot.index()) {
            self.in_flight += 1;
            self.buffers.begin(slot);
            return Queued::Pending;
        }
        if full {
            return Queued::Full(slot);
        }
        if let Some(Some(device)) = self.devices.get_mut(op.file.get()) {
            device.in_flight += 1;
        }
        self.in_flight += 1;
        let slot = self.buffers.begin(slot);
        self.places[slot as usize].in_flight = true;
        self.unsent.push(slot);
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        let mut sent = 0;
        for i in 0..self.unsent.len() {
            let slot = self.unsent[i];
            let place = &self.places[slot as usize];
            let Some(Some(device)) = self.devices.get_mut(place.file.get()) else { continue };
            let header: *const Header = &raw const place.header;
            // SAFETY: the header and the memory that it points to stay in place until the
            // completion has been taken, because the slot is in flight.
            let ret = unsafe { libc::write(device.raw, header.cast(), size_of::<Header>()) };
            if ret >= 0 {
                sent += (place.list.len() as u32 / 16).max(1);
                continue;
            }
            device.in_flight -= 1;
            let outcome = Outcome::err(Errno::last());
            let mut refused = std::mem::take(&mut self.refused);
            // SAFETY: the slot was queued, and the kernel did not take its command.
            unsafe { self.ended(slot, |slot| refused.push((slot, outcome))) };
            self.refused = refused;
        }
        self.unsent.clear();
        Ok(sent)
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.flush()?;
        let end = want.timeout.map(|ns| self.clock.now().saturating_add(ns));
        let mut taken = 0;
        while taken < want.max
            && let Some((slot, outcome)) = self.refused.pop()
        {
            done.push(slot, outcome);
            taken += 1;
        }
        loop {
            for file in 0..self.devices.len() {
                while taken < want.max && self.has_in_flight(file) {
                    match self.take(file, done)? {
                        0 => break,
                        // A command completes with all of its trims, even if they are more than
                        // `max`.
                        ended => taken += ended,
                    }
                }
            }
            if taken >= want.min.min(want.max) || self.in_flight == 0 {
                return Ok(());
            }
            if !self.wait(end.map(|end| end.saturating_sub(self.clock.now())))? {
                return Ok(());
            }
        }
    }

    /// Waits for the commands in flight, then closes the streams that are open.
    fn close(&mut self) -> Result<(), EngineError> {
        let slots = self.places.len() as u32;
        let mut done = Completions::with_capacity(slots);
        while self.in_flight > 0 {
            done.clear();
            if let Err(error) = self.reap(Want { min: 1, max: slots, timeout: None }, &mut done) {
                self.in_flight = 0;
                // The headers of commands in flight point to their lists and sense data in the
                // places.
                std::mem::forget(std::mem::take(&mut self.places));
                self.buffers.leak();
                return Err(EngineError::leaked(
                    "ioengine=sg",
                    "read",
                    error.errno.unwrap_or(Errno::EIO),
                ));
            }
        }
        // The device closes a stream that is left open when it loses power.
        (0..self.devices.len() as u32).try_for_each(|file| self.detach(FileIndex(file)))
    }
}

impl Sg {
    /// What one UNMAP of this job may hold.
    fn unmap_limits(&self, fd: &OwnedFd) -> unmap::UnmapLimits {
        match self.plan.trims {
            0 | 1 => unmap::UnmapLimits::MIN,
            trims => {
                let limits = unmap::limits(fd);
                unmap::UnmapLimits { ranges: limits.ranges.min(trims), ..limits }
            }
        }
    }

    fn has_in_flight(&self, file: usize) -> bool {
        self.devices.get(file).and_then(Option::as_ref).is_some_and(|d| d.in_flight > 0)
    }
}

impl Drop for Sg {
    /// Waits for the commands in flight, because the kernel must be done with the buffers before
    /// they are freed.
    fn drop(&mut self) {
        // A caller that wants to know of a failure has called `close`.
        let _ = self.close();
    }
}

/// Makes `read(2)` on a character device return at once when there is no completion, and checks
/// that the driver supports `hipri`.
fn prepare_char(fd: &OwnedFd, hipri: bool) -> Result<(), EngineError> {
    let version =
        generic::version(fd).map_err(|error| EngineError::from_sys("ioengine=sg", &error))?;
    if hipri && version < POLLING_VERSION {
        return Err(EngineError::plain(format!(
            "hipri=1: version {}.{}.{} of the kernel's sg driver has no polled completions",
            version / 10_000,
            version / 100 % 100,
            version % 100
        ))
        .help("To fix: leave out hipri=1"));
    }
    poll::set_blocking(fd, false).map_err(|error| EngineError::from_sys("ioengine=sg", &error))
}

/// The stream of the job's writes (0: none), and that stream again if this function opened it. It
/// opens no stream for a job that writes nothing, because that changes the device.
fn stream(
    fd: &OwnedFd,
    write: SgWrite,
    read_only: bool,
) -> Result<(u16, Option<u16>), EngineError> {
    match write {
        SgWrite::Stream(0) if read_only => return Ok((0, None)),
        SgWrite::Stream(0) => {}
        SgWrite::Stream(stream) => return Ok((stream, None)),
        _ => return Ok((0, None)),
    }
    let mut answer = [0; 8];
    generic::execute(fd.as_fd(), &cdb::open_stream(), CommandData::In(&mut answer))
        .map_err(|failure| refused("ioengine=sg", "STREAM CONTROL (open)", failure))?;
    let stream = u16::from_be_bytes([answer[4], answer[5]]);
    Ok((stream, Some(stream)))
}

#[cfg(test)]
mod tests;
