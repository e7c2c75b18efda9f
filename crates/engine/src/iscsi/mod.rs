//! `libiscsi`: logical units of iSCSI targets, through libiscsi, which fiord loads at run time.
//!
//! Each file of a job is a logical unit with a session of its own. Reads and writes have no copies: the library sends from
//! the job's buffers and receives into them. The engine turns libiscsi's reconnections off, because the library would
//! send the commands of a lost session again.

mod abi;
mod session;

use std::ffi::{c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use fiord_plan::{EndpointError, EndpointFacts, IscsiPlan, iscsi_shown};
use fiord_sys::poll::{self, PollEntry, Readiness, Waited};
use fiord_sys::scsi::Sense;
use fiord_types::{Errno, FileIndex};

use self::abi::{IscsiContext, IscsiFunctions, ScsiTask, UNDERFLOW, UnmapRange, status};
use self::session::{IscsiSession, PURPOSE, ready, sense_of};
use crate::buffers::{Buffers, slots_of_buffers};
use crate::endpoint::{LOOK as LOOK_TIME, Requests};
use crate::inbox::{Inbox, LibraryText, finish};
use crate::{
    Attachment, Completions, EndSignal, Engine, EngineConfig, EngineError, FreeSlot, MachineClock,
    Op, OpKind, Outcome, Queued, Slot, Time, Want,
};

/// How long a wait lasts at most before the engine looks at the clock, ns.
const LOOK: u64 = LOOK_TIME.as_nanos() as u64;

/// The largest number of blocks of the commands with 10 bytes.
const MOST_BLOCKS: u64 = 0xffff;

/// The `libiscsi` engine.
#[derive(Debug)]
pub struct Libiscsi {
    plan: IscsiPlan,
    files: Vec<File>,
    addresses: Vec<PathBuf>,
    buffers: Buffers,
    requests: Requests,
    calls: Inbox<Call>,
    /// The file of each slot's command.
    on: Box<[u32]>,
    /// Writes are durable when they complete.
    durable: bool,
    clock: MachineClock,
    stop: EndSignal,
    /// The request whose answer did not come in time, which ended its session.
    overdue: Option<Slot>,
    /// The sessions ended because the job had to stop.
    gave_up: bool,
}

// SAFETY: the pointers are into memory that the value owns, which does not move with it.
unsafe impl Send for Libiscsi {}

/// A logical unit of the job.
#[derive(Debug, Default)]
struct File {
    session: Option<IscsiSession>,
    /// Why there is no session any more.
    lost: Option<String>,
    /// Those of the last session: tasks outlive it.
    functions: Option<Arc<IscsiFunctions>>,
    read_only: bool,
    /// Commands that are queued and not sent.
    unsent: u32,
}

/// The command of a slot, and its answer.
#[derive(Debug)]
struct Call {
    /// What a read fills. The library keeps its address.
    vector: libc::iovec,
    /// What a trim deallocates.
    range: UnmapRange,
    /// Bytes of the data; 0 for a command without data.
    bytes: u32,
    status: c_int,
    sense: Option<Sense>,
    /// Bytes that the target did not transfer.
    missing: u32,
    task: *mut ScsiTask,
}

fn no_call() -> Call {
    Call {
        vector: libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 },
        range: UnmapRange { block: 0, blocks: 0 },
        bytes: 0,
        status: 0,
        sense: None,
        missing: 0,
        task: std::ptr::null_mut(),
    }
}

/// Takes the answer to a command.
unsafe extern "C" fn completed(
    _context: *mut IscsiContext,
    code: c_int,
    data: *mut c_void,
    private: *mut c_void,
) {
    let take = |call: &mut Call| {
        call.status = code;
        (call.sense, call.missing) = (None, 0);
        if data.is_null() {
            return;
        }
        // SAFETY: the data of a command are its task.
        let task = unsafe { &*data.cast::<ScsiTask>() };
        if code == status::CHECK_CONDITION {
            call.sense = Some(sense_of(task));
        }
        if task.residual_status == UNDERFLOW {
            call.missing = u32::try_from(task.residual).unwrap_or(u32::MAX);
        }
    };
    // SAFETY: `private` is the record of a slot, which exists as long as the context, and which nothing else uses while the
    // library runs.
    unsafe { finish(private, take) };
}

impl Libiscsi {
    /// Creates the engine.
    ///
    /// # Errors
    ///
    /// The buffers cannot be allocated.
    pub fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.iscsi().ok_or_else(EngineError::other_engine)?;
        Ok(Libiscsi {
            plan: plan.clone(),
            files: (0..config.files).map(|_| File::default()).collect(),
            addresses: config.addresses.clone(),
            buffers: Buffers::new(config)?,
            requests: Requests::new(&without_secrets(config)),
            calls: Inbox::new(config.slots, no_call),
            on: vec![0; config.slots as usize].into_boxed_slice(),
            durable: config.durable,
            clock: config.clock,
            stop: config.end.clone(),
            overdue: None,
            gave_up: false,
        })
    }

    /// Passes a command to the library. On failure, returns its reason.
    fn start(&mut self, slot: Slot, op: &Op, data: *mut u8) -> Result<(), LibraryText> {
        let Some(session) = &self.files[op.file.get()].session else {
            return Err(LibraryText::default());
        };
        let block = session.unit.block.0;
        // SAFETY: the library does not have the command yet.
        let call = unsafe { self.calls.request(slot) };
        call.bytes = if matches!(op.kind, OpKind::Read | OpKind::Write) { op.len } else { 0 };
        call.vector = libc::iovec { iov_base: data.cast(), iov_len: op.len as usize };
        let blocks = (u64::from(op.len) / block) as u32;
        call.range = UnmapRange { block: op.offset / block, blocks };
        let places = (&raw mut call.vector, &raw mut call.range);
        let private = self.calls.begin(slot);
        // SAFETY: the record and the buffer outlive the command: they are freed after the session has ended.
        let task = unsafe { command(session, op, (data, self.durable), places, private) };
        if task.is_null() {
            self.calls.cancel(slot);
            return Err(LibraryText(session.error_text()));
        }
        // SAFETY: callbacks run only within calls that serve the connection.
        unsafe { self.calls.request(slot) }.task = task;
        Ok(())
    }

    /// The outcome of a command that is over.
    fn outcome(&mut self, slot: Slot) -> Outcome {
        // SAFETY: the command is over.
        let call = unsafe { self.calls.request(slot) };
        let (code, sense) = (call.status, call.sense);
        let moved = call.bytes.saturating_sub(call.missing);
        let file = self.on[slot as usize] as usize;
        if code >= status::CANCELLED {
            // The library found that the connection is lost.
            let why = self.files[file].session.as_ref().map(IscsiSession::error_text);
            self.lose(file, &why.unwrap_or_default());
        }
        let lost = &self.files[file].lost;
        let (errno, why) = match (code, sense, lost) {
            (status::GOOD, ..) => return Outcome::ok(moved),
            (_, Some(sense), _) => return Outcome::scsi(sense),
            _ if self.gave_up => return Outcome::ENDED,
            (_, _, Some(_)) if self.overdue == Some(slot) => return self.requests.time_out(slot),
            (_, _, Some(lost)) => (Errno::ECONNRESET, lost.clone()),
            (status::RESERVATION_CONFLICT, ..) => (
                Errno::EBUSY,
                "another initiator has reserved the logical unit. To fix: end its reservation"
                    .to_owned(),
            ),
            (status::BUSY | status::TASK_SET_FULL, ..) => (
                Errno::EBUSY,
                "the target has no room for more commands. To fix: use a smaller `iodepth`"
                    .to_owned(),
            ),
            _ => (Errno::EIO, format!("the target answered with status 0x{code:x}")),
        };
        self.requests.fail(slot, why);
        Outcome::err(errno)
    }

    /// Moves completions to `done`, up to `max`. Returns their number.
    fn deliver(&mut self, max: u32, done: &mut Completions) -> u32 {
        let mut count = 0;
        while count < max
            && let Some(slot) = self.calls.take()
        {
            self.requests.end(slot);
            let outcome = self.outcome(slot);
            self.free_task(slot);
            // SAFETY: the library has completed the command of the slot, and each command is taken once.
            done.push(unsafe { self.buffers.end(slot) }, outcome);
            count += 1;
        }
        count
    }

    /// Frees the library's part of a command that is over.
    fn free_task(&mut self, slot: Slot) {
        // SAFETY: the command is over.
        let call = unsafe { self.calls.request(slot) };
        let task = std::mem::replace(&mut call.task, std::ptr::null_mut());
        let functions = &self.files[self.on[slot as usize] as usize].functions;
        if let Some(functions) = functions.as_ref().filter(|_| !task.is_null()) {
            // SAFETY: nothing else frees the task.
            unsafe { (functions.scsi_free_scsi_task)(task) };
        }
    }

    /// Ends the session of a file. Its commands in flight complete with an error.
    fn lose(&mut self, file: usize, why: &str) {
        let entry = &mut self.files[file];
        if entry.session.is_none() {
            return;
        }
        entry.lost = Some(format!(
            "the session is over: {why}. fiord does not reconnect. To fix: check the target and its log"
        ));
        entry.unsent = 0;
        // Each command that the library has completes within the call, and none afterwards.
        entry.session = None;
        let slots: Vec<Slot> = self.requests.slots().collect();
        for slot in slots.into_iter().filter(|slot| self.on[*slot as usize] as usize == file) {
            self.calls.end(slot, |call| (call.status, call.sense) = (status::CANCELLED, None));
        }
    }

    /// Gives a session up whose request is overdue, or all if the job must stop and targets do not answer.
    fn look(&mut self, now: u64) {
        if let Some(slot) = self.requests.overdue(now) {
            self.overdue = Some(slot);
            let why = format!("the target did not answer {} in time", self.requests.name(slot));
            // This command completes first, because it tells what happened.
            self.calls.end(slot, |call| (call.status, call.sense) = (status::CANCELLED, None));
            self.lose(self.on[slot as usize] as usize, &why);
        } else if self.requests.must_give_up(self.stop.is_stopped(), now) {
            self.gave_up = true;
            for file in 0..self.files.len() {
                self.lose(file, "the job had to stop");
            }
        }
    }

    /// Waits for the connections for at most `timeout` ns, sends and receives. Returns whether a signal ended the wait.
    fn pump(&mut self, timeout: u64) -> bool {
        let mut entries = [PollEntry::new(-1, Readiness::Readable)];
        let mut many = Vec::new();
        let list: &mut [PollEntry] = match &self.files[..] {
            [File { session: Some(session), .. }] => {
                entries[0] = session.entry();
                &mut entries
            }
            files => {
                many.extend(files.iter().filter_map(|file| Some(file.session.as_ref()?.entry())));
                &mut many
            }
        };
        match poll::wait(list, Some(Duration::from_nanos(timeout))) {
            Ok(Waited::Ready) => {}
            Ok(Waited::TimedOut) => return false,
            Ok(Waited::Interrupted) | Err(_) => return true,
        }
        let mut ready_entries = list.iter().map(|entry| ready(*entry));
        let mut failed = Vec::new();
        for (index, file) in self.files.iter_mut().enumerate() {
            let Some(session) = &mut file.session else { continue };
            let events = ready_entries.next().unwrap_or(0);
            if events != 0
                && let Err(LibraryText(why)) = session.service(events)
            {
                failed.push((index, why));
            }
        }
        for (index, why) in failed {
            self.lose(index, &why);
        }
        false
    }

    /// Waits until the commands in flight are over, or the sessions are.
    fn drain(&mut self) {
        let mut done = Completions::with_capacity(self.requests.in_flight());
        while self.requests.in_flight() > 0 {
            self.pump(LOOK);
            self.look(self.clock.now());
            let _ = self.deliver(u32::MAX, &mut done);
        }
    }
}

impl Engine for Libiscsi {
    const ASYNC: bool = true;
    type Clock = MachineClock;

    fn clock(&self) -> MachineClock {
        self.clock
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        let index = file.get();
        let Some(address) = self.addresses.get(index).filter(|_| index < self.files.len()) else {
            return Err(EngineError::plain(format!("{PURPOSE}: file {file} has no address")));
        };
        let session = IscsiSession::open(&self.plan, address, self.clock, &self.stop)?;
        let end = target.offset.saturating_add(target.len).0;
        if end > session.unit.size.0 {
            let what = format!(
                "{PURPOSE}: `{}` has {} bytes, but the job uses it up to byte {end}",
                session.shown, session.unit.size.0
            );
            return Err(EngineError::plain(what).help("To fix: use a smaller `size` or `offset`"));
        }
        self.files[index] = File {
            functions: Some(session.functions.clone()),
            session: Some(session),
            lost: None,
            read_only: target.read_only,
            unsent: 0,
        };
        Ok(())
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        if let Some(entry) = self.files.get_mut(file.get())
            && let Some(mut session) = entry.session.take()
            && !self.stop.is_stopped()
        {
            session.log_out();
        }
        Ok(())
    }

    slots_of_buffers!();

    fn explain(&mut self, slot: &FreeSlot) -> Option<String> {
        self.requests.explain(slot)
    }

    fn queue(&mut self, slot: FreeSlot, op: &Op) -> Queued {
        let moves_data = matches!(op.kind, OpKind::Read | OpKind::Write);
        let index = slot.index();
        let Some(data) = self.buffers.span(&slot, op.at, if moves_data { op.len } else { 0 })
        else {
            return Queued::Done(slot, Outcome::err(Errno::EINVAL));
        };
        let Some(file) = self.files.get(op.file.get()) else {
            return Queued::Done(slot, Outcome::err(Errno::EBADF));
        };
        let refused = match (&file.session, &file.lost) {
            (None, Some(lost)) => Some((Errno::ENOTCONN, Some(lost.clone()))),
            (None, None) => Some((Errno::EBADF, None)),
            (Some(_), _) if file.read_only && matches!(op.kind, OpKind::Write | OpKind::Trim) => {
                Some((Errno::EBADF, None))
            }
            (Some(session), _) if op.kind == OpKind::Trim && !session.unit.unmaps => Some((
                Errno::EOPNOTSUPP,
                Some(
                    "the logical unit deallocates no blocks (LBPME is 0). To fix: use one that is thinly provisioned"
                        .to_owned(),
                ),
            )),
            (Some(session), _) if !is_aligned(op, session.unit.block.0) => Some((
                Errno::EINVAL,
                Some(format!(
                    "the logical unit has blocks of {0} bytes. To fix: use a multiple of {0} for `bs` and offsets",
                    session.unit.block.0
                )),
            )),
            _ => None,
        };
        let refused = refused.or_else(|| {
            let failed = self.start(index, op, data).err();
            failed.map(|LibraryText(reason)| (Errno::EIO, Some(reason)))
        });
        if let Some((errno, why)) = refused {
            if let Some(why) = why {
                self.requests.fail(index, why);
            }
            return Queued::Done(slot, Outcome::err(errno));
        }
        self.on[index as usize] = op.file.0;
        self.files[op.file.get()].unsent += 1;
        let slot = self.buffers.begin(slot);
        self.requests.begin(slot, op, self.clock.now());
        Queued::Pending
    }

    fn flush(&mut self) -> Result<u32, EngineError> {
        let mut sent = 0;
        for index in 0..self.files.len() {
            let file = &mut self.files[index];
            let Some(session) = file.session.as_mut().filter(|_| file.unsent > 0) else { continue };
            sent += std::mem::take(&mut file.unsent);
            if let Err(LibraryText(why)) = session.send() {
                self.lose(index, &why);
            }
        }
        Ok(sent)
    }

    fn reap(&mut self, want: Want, done: &mut Completions) -> Result<(), EngineError> {
        self.flush()?;
        let max = want.max.min(self.requests.in_flight());
        let min = want.min.min(max);
        let mut taken = self.deliver(max, done);
        let mut now = self.clock.now();
        let end = want.timeout.map(|ns| now.saturating_add(ns));
        loop {
            if taken >= max || (taken >= min && min > 0) {
                return Ok(());
            }
            let left = end.map_or(u64::MAX, |end| end.saturating_sub(now));
            let interrupted = self.pump(if min == 0 { 0 } else { left.min(LOOK) });
            taken += self.deliver(max - taken, done);
            if taken >= min || interrupted {
                return Ok(());
            }
            now = self.clock.now();
            self.look(now);
            if left == 0 && self.calls.ready() == 0 {
                return Ok(());
            }
        }
    }

    fn close(&mut self) -> Result<(), EngineError> {
        self.drain();
        for file in 0..self.files.len() {
            self.detach(FileIndex(file as u32))?;
        }
        Ok(())
    }
}

impl Drop for Libiscsi {
    /// Ends the sessions before the memory is freed that the library uses.
    fn drop(&mut self) {
        self.files.clear();
    }
}

/// Queues a command. Returns its task, or null.
///
/// # Safety
///
/// The buffer, the vector, the range and what `private` points to outlive the command.
unsafe fn command(
    session: &IscsiSession,
    op: &Op,
    (data, durable): (*mut u8, bool),
    (vector, range): (*mut libc::iovec, *mut UnmapRange),
    private: *mut c_void,
) -> *mut ScsiTask {
    let (f, context, unit) = (&session.functions, session.context, session.unit);
    let (lun, size, len, done) = (unit.lun, unit.block.0 as c_int, op.len, completed);
    let (block, blocks) = (op.offset / unit.block.0, u64::from(op.len) / unit.block.0);
    let short = block + blocks <= u64::from(u32::MAX) && blocks <= MOST_BLOCKS;
    let fua = c_int::from(durable);
    // SAFETY: the context is valid, and the caller vouches for the rest.
    unsafe {
        match (op.kind, short) {
            (OpKind::Read, true) => (f.iscsi_read10_iov_task)(
                context,
                lun,
                block as u32,
                len,
                size,
                0,
                0,
                0,
                0,
                0,
                done,
                private,
                vector,
                1,
            ),
            (OpKind::Read, false) => (f.iscsi_read16_iov_task)(
                context, lun, block, len, size, 0, 0, 0, 0, 0, done, private, vector, 1,
            ),
            (OpKind::Write, true) => (f.iscsi_write10_task)(
                context,
                lun,
                block as u32,
                data,
                len,
                size,
                0,
                0,
                fua,
                0,
                0,
                done,
                private,
            ),
            (OpKind::Write, false) => (f.iscsi_write16_task)(
                context, lun, block, data, len, size, 0, 0, fua, 0, 0, done, private,
            ),
            (OpKind::Trim, _) => (f.iscsi_unmap_task)(context, lun, 0, 0, range, 1, done, private),
            // The whole cache.
            _ => (f.iscsi_synchronizecache10_task)(context, lun, 0, 0, 0, 0, done, private),
        }
    }
}

/// A configuration whose addresses messages may show.
fn without_secrets(config: &EngineConfig) -> EngineConfig {
    let addresses = config.addresses.iter().map(|address| iscsi_shown(address).into()).collect();
    EngineConfig { addresses, ..config.clone() }
}

/// Whether the offset and the length of an op are multiples of the block size.
fn is_aligned(op: &Op, block: u64) -> bool {
    op.offset.is_multiple_of(block) && u64::from(op.len).is_multiple_of(block)
}

/// Asks a target about a logical unit, and logs out.
pub(crate) fn ask(plan: &IscsiPlan, address: &Path) -> Result<EndpointFacts, EndpointError> {
    let mut session =
        IscsiSession::open(plan, address, MachineClock::best(), &EndSignal::default())?;
    let unit = session.unit;
    session.log_out();
    Ok(EndpointFacts {
        block: unit.block,
        read_only: unit.read_only,
        ..EndpointFacts::fixed(unit.size)
    })
}
