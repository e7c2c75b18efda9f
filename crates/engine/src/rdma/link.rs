//! A connection: its queues, the memory that the peer may use, and the messages at its begin and end.

use std::ffi::{CStr, c_uint, c_void};
use std::os::fd::RawFd;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fiord_sys::net::SocketAddress;
use fiord_types::Errno;

use super::abi::{
    ACCESS_LOCAL, ACCESS_REMOTE, ALWAYS, CHANGES_MIN_RNR_TIMER, CmId, CompletionChannel, ConnParam,
    Context, MAX_READS, MemoryKeys, Piece, QueuePairAttributes, QueuePairChange, RELIABLE,
    RdmaFunctions, ReceiveRequest, SHORT_WAIT, SendRequest, WorkCompletion, event, status,
};
use super::manager::{ConnectionEvent, Manager, PATIENCE, resolve, wait_for};
use super::message::{GREETING, LEN, MAX_BUFFERS, PeerMessage, RemoteBuffer, Role, word};
use crate::{EndSignal, EngineError};

/// Completions with these identifiers are not those of ops, whose identifiers are slots.
pub(super) const MESSAGE_CAME: u64 = 1 << 32;
const MESSAGE_SENT: u64 = MESSAGE_CAME + 1;
pub(super) const FAREWELL_SENT: u64 = MESSAGE_CAME + 2;

/// How long the end of a stream may take to reach the peer.
const FAREWELL: Duration = Duration::from_secs(1);

/// Maximum time for a peer to say what it does.
const GREETING_TIMEOUT: Duration = Duration::from_secs(30);

/// The buffers of a job.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lent {
    pub base: *mut u8,
    pub stride: libc::size_t,
    pub count: c_uint,
    pub largest_block: c_uint,
}

/// A connection. What is null does not exist yet.
#[derive(Debug)]
pub(super) struct Link {
    functions: Rc<RdmaFunctions>,
    id: *mut CmId,
    domain: *mut c_void,
    completions: *mut CompletionChannel,
    cq: *mut c_void,
    buffers: *mut MemoryKeys,
    messages: *mut MemoryKeys,
    /// The last message of the peer, and that of this end.
    texts: Box<[[u8; LEN]; 2]>,
    connected: bool,
    pub role: Role,
    pub peer: Vec<RemoteBuffer>,
    pub peer_is_fiord: bool,
    /// This end has closed the connection, so the queues complete without I/O.
    pub closed: bool,
    /// The peer said that it is done.
    pub ended: bool,
    /// This end has said that it is done, or the peer would not understand it.
    pub leaving: bool,
    /// A message that says so is on its way, or has arrived.
    announced: bool,
}

impl Link {
    /// Connects to a peer. `None`: the job must stop.
    pub(super) fn connect(
        functions: &Rc<RdmaFunctions>,
        manager: &mut Manager,
        address: &str,
        own: Option<&str>,
        said: u32,
        lent: Lent,
        stop: &EndSignal,
    ) -> Result<Option<Link>, EngineError> {
        let Some(id) = manager.find(address, own)? else { return Ok(None) };
        let peer = SocketAddress::from(resolve(address)?);
        let mut link = Link::new(functions, id, Role::of(said, false));
        link.prepare(lent)?;
        let mut greeting = GREETING;
        let mut parameters = Self::parameters(&mut greeting);
        // SAFETY: the queues exist, and the parameters are readable during the call.
        if unsafe { (link.functions.rdma_connect)(id, &raw mut parameters) } != 0 {
            return Err(EngineError::call(
                &format!("connecting to {peer}"),
                "rdma_connect",
                Errno::last(),
            ));
        }
        let Some(event) = manager.expect(event::ESTABLISHED, &peer)? else { return Ok(None) };
        link.connected = true;
        link.peer_is_fiord = event.from_fiord;
        link.say(said, lent)?;
        let Some(message) = link.hear(manager, stop)? else { return Ok(None) };
        link.check_blocks(&message, lent)?;
        link.meet(message).map(Some)
    }

    /// Accepts the connection of a peer. `None`: the job must stop.
    pub(super) fn accept(
        functions: &Rc<RdmaFunctions>,
        manager: &mut Manager,
        lent: Lent,
        stop: &EndSignal,
    ) -> Result<Option<Link>, EngineError> {
        let Some(ConnectionEvent { id, from_fiord, .. }) = manager.await_request()? else {
            return Ok(None);
        };
        let mut link = Link::new(functions, id, Role::Lends);
        link.peer_is_fiord = from_fiord;
        link.prepare(lent)?;
        let mut greeting = GREETING;
        let mut parameters = Self::parameters(&mut greeting);
        // SAFETY: the queues exist, and the parameters are readable during the call.
        if unsafe { (link.functions.rdma_accept)(id, &raw mut parameters) } != 0 {
            return Err(EngineError::call("accepting a connection", "rdma_accept", Errno::last()));
        }
        if manager.expect(event::ESTABLISHED, &"a peer that connects")?.is_none() {
            return Ok(None);
        }
        link.connected = true;
        let Some(message) = link.hear(manager, stop)? else { return Ok(None) };
        link.role = Role::of(message.word, true);
        if let Err(error) = link.check_blocks(&message, lent) {
            // The peer can report the sizes only if it knows that of this end.
            if link.say(word::WAITED, lent).is_ok() {
                link.wait_until_sent(MESSAGE_SENT);
            }
            return Err(error);
        }
        let mut link = link.meet(message)?;
        link.say(word::WAITED, lent)?;
        Ok(Some(link))
    }

    fn new(functions: &Rc<RdmaFunctions>, id: *mut CmId, role: Role) -> Link {
        Link {
            functions: functions.clone(),
            id,
            domain: std::ptr::null_mut(),
            completions: std::ptr::null_mut(),
            cq: std::ptr::null_mut(),
            buffers: std::ptr::null_mut(),
            messages: std::ptr::null_mut(),
            texts: Box::new([[0; LEN]; 2]),
            connected: false,
            role,
            peer: Vec::new(),
            peer_is_fiord: false,
            closed: false,
            ended: false,
            leaving: false,
            announced: false,
        }
    }

    fn parameters(greeting: &mut [u8; GREETING.len()]) -> ConnParam {
        ConnParam {
            private_data: greeting.as_ptr(),
            private_data_len: GREETING.len() as u8,
            responder_resources: MAX_READS,
            initiator_depth: MAX_READS,
            flow_control: 1,
            retry_count: ALWAYS,
            rnr_retry_count: ALWAYS,
            srq: 0,
            qp_num: 0,
        }
    }

    /// The functions of the device.
    fn device(&self) -> &Context {
        // SAFETY: the identifier is bound to a device, whose context lives as long as it.
        unsafe { &*(*self.id).verbs }
    }

    /// Creates the queues and registers the memory.
    fn prepare(&mut self, lent: Lent) -> Result<(), EngineError> {
        let fail = |call| Err(EngineError::call("ioengine=rdma", call, Errno::last()));
        // SAFETY: the identifier is valid.
        let device = unsafe { (*self.id).verbs };
        if device.is_null() {
            return Err(EngineError::plain("ioengine=rdma: the connection has no device"));
        }
        let depth = lent.count + 2;
        // SAFETY: the device is open, and what one call creates is passed to the next ones.
        unsafe {
            self.domain = (self.functions.ibv_alloc_pd)(device);
            if self.domain.is_null() {
                return fail("ibv_alloc_pd");
            }
            self.completions = (self.functions.ibv_create_comp_channel)(device);
            if self.completions.is_null() {
                return fail("ibv_create_comp_channel");
            }
            let (entries, none) = (2 * depth as i32, std::ptr::null_mut());
            self.cq = (self.functions.ibv_create_cq)(device, entries, none, self.completions, 0);
            if self.cq.is_null() {
                return fail("ibv_create_cq");
            }
        }
        let mut attributes = QueuePairAttributes {
            context: std::ptr::null_mut(),
            send_cq: self.cq,
            recv_cq: self.cq,
            srq: std::ptr::null_mut(),
            max_send_wr: depth,
            max_recv_wr: depth,
            max_send_sge: 1,
            max_recv_sge: 1,
            max_inline_data: 0,
            kind: RELIABLE,
            signal_all: 0,
        };
        // SAFETY: the identifier, the domain and the queue are valid, and the attributes are writable.
        let made =
            unsafe { (self.functions.rdma_create_qp)(self.id, self.domain, &raw mut attributes) };
        if made != 0 {
            return Err(EngineError::call("iodepth", "rdma_create_qp", Errno::last())
                .help("To fix: use a smaller `iodepth`; the device has short queues"));
        }
        let len = (lent.stride * lent.count as usize).max(1);
        self.buffers = self.register(lent.base, len, ACCESS_REMOTE)?;
        let texts = self.texts.as_mut_ptr().cast::<u8>();
        self.messages = self.register(texts, 2 * LEN, ACCESS_LOCAL)?;
        self.expect_message()
    }

    /// Makes memory usable for the device.
    fn register(
        &self,
        base: *mut u8,
        len: usize,
        access: i32,
    ) -> Result<*mut MemoryKeys, EngineError> {
        // SAFETY: the domain is valid, and the memory outlives the registration: the link is dropped before it.
        let keys = unsafe { (self.functions.ibv_reg_mr)(self.domain, base.cast(), len, access) };
        if !keys.is_null() {
            return Ok(keys);
        }
        let error = EngineError::call("I/O buffers", "ibv_reg_mr", Errno::last());
        Err(error.help("To fix: raise the limit of locked memory (`ulimit -l`), or use a smaller `iodepth` or `bs`"))
    }

    /// The key of the buffers for this end.
    pub(super) fn key(&self) -> u32 {
        // SAFETY: the memory is registered.
        unsafe { (*self.buffers).local }
    }

    /// Posts requests that send, write or read, in a list. Returns the first one that was not accepted.
    ///
    /// # Safety
    ///
    /// The list is valid, and the memory of each request is not used until it has completed.
    pub(super) unsafe fn post(&self, first: *mut SendRequest) -> Result<(), (Errno, u64)> {
        let mut bad = first;
        // SAFETY: the caller vouches for the list.
        unsafe {
            match (self.device().post_send)((*self.id).qp, first, &raw mut bad) {
                0 => Ok(()),
                code => Err((Errno::from_raw(code.abs()), (*bad).id)),
            }
        }
    }

    /// Posts requests that receive, in a list. Returns the first one that was not accepted.
    ///
    /// # Safety
    ///
    /// The list is valid, and the memory of each request is not used until it has completed.
    pub(super) unsafe fn post_receive(
        &self,
        first: *mut ReceiveRequest,
    ) -> Result<(), (Errno, u64)> {
        let mut bad = first;
        // SAFETY: the caller vouches for the list.
        unsafe {
            match (self.device().post_recv)((*self.id).qp, first, &raw mut bad) {
                0 => Ok(()),
                code => Err((Errno::from_raw(code.abs()), (*bad).id)),
            }
        }
    }

    /// Takes completions. Returns their number.
    pub(super) fn poll(&self, into: &mut [WorkCompletion]) -> Result<usize, EngineError> {
        // SAFETY: the queue is valid, and there is room for this number of completions.
        let ret = unsafe { (self.device().poll_cq)(self.cq, into.len() as i32, into.as_mut_ptr()) };
        usize::try_from(ret).map_err(|_| {
            EngineError::call("ioengine=rdma", "ibv_poll_cq", Errno::from_raw(ret.abs()))
        })
    }

    /// Lets the next completion make the descriptor of the link readable.
    pub(super) fn arm(&self) -> Result<(), EngineError> {
        // SAFETY: the queue is valid.
        match unsafe { (self.device().req_notify_cq)(self.cq, 0) } {
            0 => Ok(()),
            code => Err(EngineError::call(
                "ioengine=rdma",
                "ibv_req_notify_cq",
                Errno::from_raw(code.abs()),
            )),
        }
    }

    /// The descriptor that is readable when there is a completion.
    pub(super) fn fd(&self) -> RawFd {
        // SAFETY: the channel is open.
        unsafe { (*self.completions).fd }
    }

    /// Takes the event that made the descriptor readable.
    pub(super) fn take_event(&self) {
        if !wait_for(&[self.fd()], Duration::ZERO).unwrap_or(false) {
            return;
        }
        let (mut cq, mut context) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the channel is open and readable, so the call does not wait.
        unsafe {
            let get = self.functions.ibv_get_cq_event;
            if get(self.completions, &raw mut cq, &raw mut context) == 0 {
                (self.functions.ibv_ack_cq_events)(cq, 1);
            }
        }
    }

    /// The name of a status of a completion.
    pub(super) fn name_of(&self, status: u32) -> String {
        // SAFETY: the function returns a constant string, or null.
        let name = unsafe { (self.functions.ibv_wc_status_str)(status) };
        if name.is_null() {
            return "unknown status".to_owned();
        }
        // SAFETY: the string ends with 0.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// Closes the connection: the device is done with the memory, and all requests complete.
    pub(super) fn disconnect(&mut self) {
        if !std::mem::replace(&mut self.closed, true) {
            // SAFETY: the identifier is valid.
            unsafe { (self.functions.rdma_disconnect)(self.id) };
        }
    }

    /// Destroys the queues. The device is then done with all requests, which do not complete.
    pub(super) fn destroy_queues(&mut self) {
        // SAFETY: the identifier is valid, and the function returns when the device no longer uses the queues.
        unsafe {
            if !(*self.id).qp.is_null() {
                (self.functions.rdma_destroy_qp)(self.id);
                (*self.id).qp = std::ptr::null_mut();
            }
        }
    }

    /// Whether the queues exist.
    pub(super) fn has_queues(&self) -> bool {
        // SAFETY: the identifier is valid.
        unsafe { !(*self.id).qp.is_null() }
    }

    /// Provides the memory for a message of the peer.
    fn expect_message(&mut self) -> Result<(), EngineError> {
        let mut piece = self.piece(0);
        let mut request = ReceiveRequest {
            id: MESSAGE_CAME,
            next: std::ptr::null_mut(),
            pieces: &raw mut piece,
            count: 1,
        };
        // SAFETY: the memory is registered, and is read only after the message has come.
        unsafe { self.post_receive(&raw mut request) }
            .map_err(|(errno, _)| EngineError::call("ioengine=rdma", "ibv_post_recv", errno))
    }

    /// One of the messages as memory.
    fn piece(&self, index: usize) -> Piece {
        // SAFETY: the memory is registered.
        let key = unsafe { (*self.messages).local };
        Piece {
            address: self.texts[index].as_ptr().expose_provenance() as u64,
            len: LEN as u32,
            key,
        }
    }

    /// Tells the peer what this end does and where its buffers are.
    fn say(&mut self, said: u32, lent: Lent) -> Result<(), EngineError> {
        let base = lent.base.expose_provenance() as u64;
        let count = u64::from(lent.count).min(MAX_BUFFERS as u64);
        // SAFETY: the memory is registered.
        let keys = unsafe { &*self.buffers };
        let place = (base, lent.stride as u64, count);
        PeerMessage::own(said, lent.largest_block, place, keys)
            .write(lent.largest_block, &mut self.texts[1]);
        self.send_message(MESSAGE_SENT, LEN)
            .map_err(|errno| EngineError::call("ioengine=rdma", "ibv_post_send", errno))
    }

    /// Sends the first `len` bytes of the message of this end.
    fn send_message(&mut self, id: u64, len: usize) -> Result<(), Errno> {
        let mut piece = self.piece(1);
        let mut request = SendRequest {
            id,
            pieces: &raw mut piece,
            count: i32::from(len > 0),
            ..SendRequest::EMPTY
        };
        // SAFETY: the memory is registered, and is not written until the message was sent.
        unsafe { self.post(&raw mut request) }.map_err(|(errno, _)| errno)
    }

    /// Waits for the first message of the peer. `None`: the job must stop.
    fn hear(
        &mut self,
        manager: &Manager,
        stop: &EndSignal,
    ) -> Result<Option<PeerMessage>, EngineError> {
        let began = Instant::now();
        loop {
            if let Some(message) = self.heard()? {
                return Ok(Some(message));
            }
            if stop.is_stopped() {
                return Ok(None);
            }
            if manager.next_event().is_some_and(|event| event.kind != event::ESTABLISHED) {
                // The peer may have said something before it left.
                let last = self.heard()?;
                return last.map(Some).ok_or_else(|| wrong_peer("closed the connection"));
            }
            if began.elapsed() > GREETING_TIMEOUT {
                return Err(wrong_peer("is connected and does not answer"));
            }
            wait_for(&[manager.fd()], PATIENCE / 10)?;
        }
    }

    /// The first message of the peer, if it has come.
    fn heard(&mut self) -> Result<Option<PeerMessage>, EngineError> {
        let mut done = [WorkCompletion::default()];
        while self.poll(&mut done)? > 0 {
            let [WorkCompletion { id, status: code, bytes, .. }] = done;
            if code != status::SUCCESS {
                let why = format!("closed the connection ({})", self.name_of(code));
                return Err(wrong_peer(&why));
            }
            if id == MESSAGE_CAME {
                let known = (bytes as usize == LEN).then(|| PeerMessage::parse(&self.texts[0]));
                let message = known.flatten();
                return message.map(Some).ok_or_else(|| wrong_peer("sent an unknown message"));
            }
        }
        Ok(None)
    }

    /// Checks that each block fits into a buffer of the end that gets it.
    fn check_blocks(&self, message: &PeerMessage, lent: Lent) -> Result<(), EngineError> {
        let (own, other) = (lent.largest_block, message.largest_block);
        let what = match self.role {
            Role::Accesses { .. } | Role::Sends if other < own => format!(
                "ioengine=rdma: a block of this end ({own} bytes) does not fit into a buffer of the peer ({other} \
                 bytes)"
            ),
            Role::Lends | Role::Receives if own < other => format!(
                "ioengine=rdma: a block of the peer ({other} bytes) does not fit into a buffer of this end ({own} \
                 bytes)"
            ),
            _ => return Ok(()),
        };
        Err(EngineError::plain(what).help("To fix: use one `bs` on both ends"))
    }

    /// Takes over what the peer said first.
    fn meet(mut self, message: PeerMessage) -> Result<Link, EngineError> {
        self.peer = message.buffers;
        self.shorten_waits();
        if self.role != Role::Receives {
            // The peer may announce that it is done. To an end that receives, it does so in the place of a block.
            self.expect_message()?;
        }
        Ok(self)
    }

    /// Lets a peer that sends more messages than there are buffers try again soon. The default of librdmacm stops
    /// it for 655 ms. A device that refuses the change is only slower.
    fn shorten_waits(&self) {
        let mut change = QueuePairChange::wait_for_buffers(SHORT_WAIT);
        // SAFETY: the queues exist, and the structure is writable.
        unsafe {
            let modify = self.functions.ibv_modify_qp;
            modify((*self.id).qp, &raw mut change, CHANGES_MIN_RNR_TIMER);
        }
    }

    /// Tells the peer that this end is done. Returns whether a message goes to it, which completes as
    /// [`FAREWELL_SENT`]; false if the peer would not understand it, or if it was sent before. `received`: the number of messages
    /// that this end has received from the peer, modulo 2^32.
    pub(super) fn say_farewell(&mut self, received: u32) -> bool {
        if std::mem::replace(&mut self.leaving, true) {
            return false;
        }
        let len = match self.role {
            Role::Accesses { .. } => LEN,
            _ if !self.peer_is_fiord => return false,
            Role::Sends => 0,
            Role::Lends | Role::Receives => LEN,
        };
        if self.role == Role::Receives {
            PeerMessage::write_received(received, &mut self.texts[1]);
        }
        self.announced = self.send_message(FAREWELL_SENT, len).is_ok();
        self.announced
    }

    /// The number of messages that the peer has received, according to its farewell.
    pub(super) fn farewell_count(&self) -> u32 {
        PeerMessage::received(&self.texts[0])
    }

    /// Tells the peer that this end is done, and waits until it knows.
    fn farewell(&mut self, received: u32) {
        self.say_farewell(received);
        if self.announced {
            self.wait_until_sent(FAREWELL_SENT);
        }
    }

    /// Waits until a message has reached the peer, or cannot reach it.
    fn wait_until_sent(&self, id: u64) {
        let began = Instant::now();
        let mut done = [WorkCompletion::default(); 8];
        while began.elapsed() < FAREWELL {
            let Ok(count) = self.poll(&mut done) else { return };
            if done[..count].iter().any(|c| c.id == id || c.status != status::SUCCESS) {
                return;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Ends the connection. Returns whether the device is done with the memory. `received`: as for [`Link::say_farewell`].
    pub(super) fn close(&mut self, received: u32) -> bool {
        if self.id.is_null() {
            return true;
        }
        if self.connected && !self.closed && !self.ended && self.has_queues() {
            self.farewell(received);
        }
        if self.connected {
            self.disconnect();
        }
        self.destroy_queues();
        let mut done = true;
        // SAFETY: each thing exists or is null, nothing uses it any longer, and this is its last use.
        unsafe {
            for keys in [self.buffers, self.messages] {
                done &= keys.is_null() || (self.functions.ibv_dereg_mr)(keys) == 0;
            }
            if !self.cq.is_null() {
                (self.functions.ibv_destroy_cq)(self.cq);
            }
            if !self.completions.is_null() {
                (self.functions.ibv_destroy_comp_channel)(self.completions);
            }
            if !self.domain.is_null() {
                (self.functions.ibv_dealloc_pd)(self.domain);
            }
            (self.functions.rdma_destroy_id)(self.id);
        }
        self.id = std::ptr::null_mut();
        if !done {
            std::mem::forget(std::mem::replace(&mut self.texts, Box::new([[0; LEN]; 2])));
        }
        done
    }
}

/// The error for a peer that does not speak the protocol of the engine.
fn wrong_peer(why: &str) -> EngineError {
    EngineError::plain(format!("ioengine=rdma: the peer {why}")).help(
        "To fix: check whether its program failed; it must be fiord or fio with `ioengine=rdma`",
    )
}

impl Drop for Link {
    fn drop(&mut self) {
        // The engine calls `close` if it has ops, to learn whether the memory is free.
        self.close(0);
    }
}
