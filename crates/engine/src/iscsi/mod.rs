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

use fiord_plan::{EndpointError, EndpointFacts, IscsiPlan};
use fiord_sys::poll::{self, PollEntry, Readiness, Waited};
use fiord_sys::scsi::Sense;
use fiord_types::{Errno, FileIndex};

use self::abi::{IscsiContext, IscsiFunctions, ScsiTask, UNDERFLOW, UnmapRange, status};
use self::session::{IscsiSession, PURPOSE, sense_of};
use crate::error::about_the_library;
use crate::polled::connection::ready;
use crate::polled::inbox::{Inbox, LibraryText, finish};
use crate::polled::{CallResult, LostSession, PolledClient};
use crate::{
    Attachment, EndSignal, EngineConfig, EngineError, MachineClock, Op, OpKind, Outcome, Slot,
};

/// Maximum number of blocks of the commands with 10 bytes.
const MAX_BLOCKS: u64 = 0xffff;

/// The commands of a job to its logical units, each of which has a session of its own.
#[derive(Debug)]
pub struct IscsiClient {
    plan: IscsiPlan,
    units: Vec<Unit>,
    addresses: Vec<PathBuf>,
    /// Writes are durable when they complete.
    durable: bool,
    clock: MachineClock,
    stop: EndSignal,
}

// SAFETY: the pointers are into memory of the library, which moves with the value.
unsafe impl Send for IscsiClient {}

/// A logical unit of the job.
#[derive(Debug, Default)]
struct Unit {
    session: Option<IscsiSession>,
    /// Functions of the last session, whose tasks outlive it.
    functions: Option<Arc<IscsiFunctions>>,
    /// The offset after the last byte that the job uses, in bytes.
    end: u64,
    read_only: bool,
    /// Commands that are queued and not sent.
    unsent: u32,
}

/// The command of a slot, and its answer.
#[derive(Debug)]
pub struct IscsiCall {
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

fn no_call() -> IscsiCall {
    IscsiCall {
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
    let take = |call: &mut IscsiCall| {
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

impl IscsiClient {
    /// Logs in to the logical unit of a file, and checks that it is as large as the job needs.
    fn open(&self, file: FileIndex, end: u64) -> Result<IscsiSession, EngineError> {
        let Some(address) =
            self.addresses.get(file.get()).filter(|_| file.get() < self.units.len())
        else {
            return Err(EngineError::plain(format!("{PURPOSE}: file {file} has no address")));
        };
        let session = IscsiSession::open(&self.plan, address, self.clock, &self.stop)?;
        if end > session.unit.size.0 {
            let what = format!(
                "{PURPOSE}: `{}` has {} bytes, but the job uses it up to byte {end}",
                session.shown, session.unit.size.0
            );
            return Err(EngineError::plain(what).help("To fix: use a smaller `size` or `offset`"));
        }
        Ok(session)
    }
}

impl PolledClient for IscsiClient {
    type Call = IscsiCall;
    const OTHER_END: &'static str = "target";

    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.iscsi().ok_or_else(EngineError::other_engine)?;
        Ok(IscsiClient {
            plan: plan.clone(),
            units: (0..config.files).map(|_| Unit::default()).collect(),
            addresses: config.addresses.clone(),
            durable: config.durable,
            clock: config.clock,
            stop: config.end.clone(),
        })
    }

    fn no_call() -> IscsiCall {
        no_call()
    }

    fn give_up(call: &mut IscsiCall) {
        (call.status, call.sense) = (status::CANCELLED, None);
    }

    fn files(&self) -> u32 {
        self.units.len() as u32
    }

    fn sessions(&self) -> usize {
        self.units.len()
    }

    fn session_of(file: FileIndex) -> usize {
        file.get()
    }

    fn attach(&mut self, file: FileIndex, target: &Attachment) -> Result<(), EngineError> {
        let end = target.offset.saturating_add(target.len).0;
        let session = self.open(file, end)?;
        self.units[file.get()] = Unit {
            functions: Some(session.functions.clone()),
            session: Some(session),
            end,
            read_only: target.read_only,
            unsent: 0,
        };
        Ok(())
    }

    fn detach(&mut self, file: FileIndex) -> Result<(), EngineError> {
        if let Some(unit) = self.units.get_mut(file.get())
            && let Some(mut session) = unit.session.take()
            && !self.stop.is_stopped()
        {
            session.log_out();
        }
        Ok(())
    }

    fn restore(&mut self, session: usize) -> Result<(), EngineError> {
        let opened = self.open(FileIndex(session as u32), self.units[session].end)?;
        let unit = &mut self.units[session];
        unit.functions = Some(opened.functions.clone());
        unit.session = Some(opened);
        Ok(())
    }

    fn end_session(&mut self, session: usize) {
        if let Some(unit) = self.units.get_mut(session) {
            (unit.session, unit.unsent) = (None, 0);
        }
    }

    fn refusal(&self, op: &Op) -> Option<(Errno, Option<String>)> {
        let Some(unit) = self.units.get(op.file.get()).filter(|unit| unit.functions.is_some())
        else {
            return Some((Errno::EBADF, None));
        };
        if unit.read_only && matches!(op.kind, OpKind::Write | OpKind::Trim) {
            return Some((Errno::EBADF, None));
        }
        let known = unit.session.as_ref()?.unit;
        if op.kind == OpKind::Trim && !known.unmaps {
            let why = "the logical unit cannot deallocate blocks (LBPME is 0). To fix: use one that is thinly \
                       provisioned";
            return Some((Errno::EOPNOTSUPP, Some(why.to_owned())));
        }
        if !is_aligned(op, known.block.0) {
            let why = format!(
                "the logical unit has blocks of {0} bytes. To fix: use a multiple of {0} for `bs` and offsets",
                known.block.0
            );
            return Some((Errno::EINVAL, Some(why)));
        }
        None
    }

    unsafe fn start(
        &mut self,
        slot: Slot,
        op: &Op,
        data: *mut u8,
        calls: &Inbox<IscsiCall>,
    ) -> Result<(), LibraryText> {
        let Some(unit) = self.units.get_mut(op.file.get()) else {
            return Err(LibraryText::default());
        };
        let Some(session) = &unit.session else { return Err(LibraryText::default()) };
        let block = session.unit.block.0;
        // SAFETY: the library does not have the command yet.
        let call = unsafe { calls.request(slot) };
        call.bytes = if op.kind.moves_data() { op.len } else { 0 };
        call.vector = libc::iovec { iov_base: data.cast(), iov_len: op.len as usize };
        let blocks = (u64::from(op.len) / block) as u32;
        call.range = UnmapRange { block: op.offset / block, blocks };
        let places = (&raw mut call.vector, &raw mut call.range);
        let private = calls.begin(slot);
        // SAFETY: the caller vouches for the record and the buffer.
        let task = unsafe { command(session, op, (data, self.durable), places, private) };
        if task.is_null() {
            calls.cancel(slot);
            return Err(LibraryText(session.error_text()));
        }
        // SAFETY: callbacks run only within calls that serve the connection.
        unsafe { calls.request(slot) }.task = task;
        unit.unsent += 1;
        Ok(())
    }

    fn result(&mut self, op: &Op, call: &mut IscsiCall) -> CallResult {
        let unit = &self.units[op.file.get()];
        let task = std::mem::replace(&mut call.task, std::ptr::null_mut());
        if let Some(functions) = unit.functions.as_ref().filter(|_| !task.is_null()) {
            // SAFETY: the command is over, and nothing else frees the task.
            unsafe { (functions.scsi_free_scsi_task)(task) };
        }
        let (errno, why) = match (call.status, call.sense) {
            (status::GOOD, _) => {
                let moved = call.bytes.saturating_sub(call.missing);
                return CallResult::Answered(Outcome::ok(moved));
            }
            (_, Some(sense)) => return CallResult::Answered(Outcome::scsi(sense)),
            (status::CANCELLED.., None) => {
                // The library found that the connection is lost, unless the engine did.
                let why = unit.session.as_ref().map(IscsiSession::error_text);
                return CallResult::SessionLost(why.unwrap_or_default());
            }
            (status::RESERVATION_CONFLICT, _) => (
                Errno::EBUSY,
                "another initiator has reserved the logical unit. To fix: end its reservation"
                    .to_owned(),
            ),
            (status::BUSY | status::TASK_SET_FULL, _) => (
                Errno::EBUSY,
                "the target has no room for more commands. To fix: use a smaller `iodepth`"
                    .to_owned(),
            ),
            (code, _) => (Errno::EIO, format!("the target answered with status 0x{code:x}")),
        };
        CallResult::Failed(errno, why)
    }

    fn send(&mut self, lost: &mut Vec<LostSession>) {
        for (index, unit) in self.units.iter_mut().enumerate() {
            let Some(session) = unit.session.as_mut().filter(|_| unit.unsent > 0) else { continue };
            unit.unsent = 0;
            if let Err(LibraryText(why)) = session.send() {
                lost.push(LostSession::new(index, why));
            }
        }
    }

    fn pump(&mut self, timeout: u64, lost: &mut Vec<LostSession>) -> bool {
        let mut entries = [PollEntry::new(-1, Readiness::Readable)];
        let mut many = Vec::new();
        let list: &mut [PollEntry] = match &self.units[..] {
            [Unit { session: Some(session), .. }] => {
                entries[0] = session.entry();
                &mut entries
            }
            units => {
                many.extend(units.iter().filter_map(|unit| Some(unit.session.as_ref()?.entry())));
                &mut many
            }
        };
        match poll::wait(list, Some(Duration::from_nanos(timeout))) {
            Ok(Waited::Ready) => {}
            Ok(Waited::TimedOut) => return false,
            Ok(Waited::Interrupted) | Err(_) => return true,
        }
        let mut ready_entries = list.iter().map(|entry| ready(*entry));
        for (index, unit) in self.units.iter_mut().enumerate() {
            let Some(session) = &mut unit.session else { continue };
            let events = ready_entries.next().unwrap_or(0);
            if events != 0
                && let Err(LibraryText(why)) = session.service(events)
            {
                lost.push(LostSession::new(index, why));
            }
        }
        false
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
    let short = block + blocks <= u64::from(u32::MAX) && blocks <= MAX_BLOCKS;
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

/// Whether the offset and the length of an op are multiples of the block size.
fn is_aligned(op: &Op, block: u64) -> bool {
    op.offset.is_multiple_of(block) && u64::from(op.len).is_multiple_of(block)
}

/// Asks a target about a logical unit, and logs out.
pub(crate) fn ask(plan: &IscsiPlan, address: &Path) -> Result<EndpointFacts, EndpointError> {
    IscsiFunctions::load().map_err(about_the_library)?;
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
