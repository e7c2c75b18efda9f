//! Takes the messages of a run to the thread that owns the fabric.

use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use fiord_fabric::frame::MAX_BODY;
use fiord_fabric::message::{FromHost, encode};

/// The sender waits while more bytes than this wait.
const MAX_WAITING: usize = 8 << 20;

/// Messages to the coordinator. Clones share one queue.
#[derive(Clone)]
pub(super) struct Outbox {
    queue: Arc<Queue>,
    wake: Arc<dyn Fn() + Send + Sync>,
}

impl Debug for Outbox {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.queue.fmt(f)
    }
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Mutex<WaitingMessages>,
    taken: Condvar,
}

#[derive(Debug, Default)]
struct WaitingMessages {
    messages: VecDeque<Vec<u8>>,
    bytes: usize,
    /// The coordinator is gone: messages disappear.
    closed: bool,
}

impl WaitingMessages {
    fn push(&mut self, message: Vec<u8>) {
        if !self.closed {
            self.bytes += message.len();
            self.messages.push_back(message);
        }
    }
}

impl Outbox {
    pub(super) fn new(wake: Arc<dyn Fn() + Send + Sync>) -> Self {
        Outbox { queue: Arc::default(), wake }
    }

    fn lock(&self) -> MutexGuard<'_, WaitingMessages> {
        fiord_sys::interleaving::point();
        self.queue.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a message, and bytes that belong to it. Waits while the coordinator does not take the earlier ones. Returns
    /// false, and queues nothing, if the message is so long that it would end the connection.
    pub(super) fn send(&self, message: &FromHost, attached: &[u8]) -> bool {
        let bytes = encode(message, attached);
        if bytes.len() > MAX_BODY {
            return false;
        }
        let full = |waiting: &mut WaitingMessages| waiting.bytes > MAX_WAITING && !waiting.closed;
        let waited = self.queue.taken.wait_while(self.lock(), full);
        waited.unwrap_or_else(PoisonError::into_inner).push(bytes);
        (self.wake)();
        true
    }

    /// Queues the last message of a run. Never waits.
    pub(super) fn finish(&self, message: &FromHost) {
        self.lock().push(encode(message, &[]));
    }

    /// Takes the oldest message.
    pub(super) fn take(&self) -> Option<Vec<u8>> {
        let mut waiting = self.lock();
        let message = waiting.messages.pop_front()?;
        waiting.bytes -= message.len();
        self.queue.taken.notify_all();
        Some(message)
    }

    /// Lets all messages disappear from now on.
    pub(super) fn close(&self) {
        *self.lock() = WaitingMessages { closed: true, ..WaitingMessages::default() };
        self.queue.taken.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_would_end_the_connection_is_left_out() {
        let outbox = Outbox::new(Arc::new(|| {}));
        assert!(!outbox.send(&FromHost::Ready, &vec![0; MAX_BODY]));
        assert!(outbox.send(&FromHost::Ready, &[1]));
        assert_eq!(outbox.take(), Some(encode(&FromHost::Ready, &[1])));
        assert_eq!(outbox.take(), None);
    }
}
