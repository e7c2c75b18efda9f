//! Requests to servers: when each began, which of them got no answer in time, and how messages name them.

use std::time::Duration;

use fiord_types::{Errno, Nanos};

use crate::{EngineConfig, FreeSlot, Op, OpKind, Outcome, Slot};

/// How long an engine that waits for a server sleeps at most before it looks at the clock and whether the job must stop.
pub(crate) const LOOK: Duration = Duration::from_millis(100);

/// How long an engine waits for answers after the user has ended the run, ns.
pub(crate) const GRACE: u64 = 1_000_000_000;

/// The requests of a job, by the slots of their ops.
#[derive(Debug)]
pub(crate) struct Requests {
    list: Box<[Request]>,
    timeout: Nanos,
    in_flight: u32,
    /// When the engine first noticed that the user has ended the run, ns.
    interrupted: Option<u64>,
}

/// A request, or the one that last used the slot.
#[derive(Debug, Default, Clone)]
struct Request {
    /// When it began, ns. `None`: none is in flight.
    began: Option<u64>,
    op: Option<Op>,
    /// Why the last request failed, if the engine knows more than an errno.
    failure: Option<String>,
}

impl Requests {
    /// No requests. The timeout is that of the job.
    pub(crate) fn new(config: &EngineConfig) -> Self {
        let timeout = config.engine.endpoint().map_or(Nanos(u64::MAX), |plan| plan.timeout);
        Requests {
            list: vec![Request::default(); config.slots as usize].into_boxed_slice(),
            timeout,
            in_flight: 0,
            interrupted: None,
        }
    }

    /// The timeout of the job.
    pub(crate) fn timeout(&self) -> Nanos {
        self.timeout
    }

    /// The number of requests in flight.
    #[inline(always)]
    pub(crate) fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// A request was made for an op at the time `now`, in ns of the engine's clock.
    #[inline]
    pub(crate) fn begin(&mut self, slot: Slot, op: &Op, now: u64) {
        let request = &mut self.list[slot as usize];
        (request.began, request.op) = (Some(now), Some(*op));
        request.failure = None;
        self.in_flight += 1;
    }

    /// The request of a slot is made again at the time `at`, and has the whole timeout from then on.
    pub(crate) fn begin_again(&mut self, slot: Slot, at: u64) {
        if let Some(request) = self.list.get_mut(slot as usize)
            && request.began.is_some()
        {
            request.began = Some(at);
        }
    }

    /// A request has been answered or given up. Returns whether it was in flight.
    #[inline]
    pub(crate) fn end(&mut self, slot: Slot) -> bool {
        let found = self.list.get_mut(slot as usize).and_then(|request| request.began.take());
        self.in_flight -= u32::from(found.is_some());
        found.is_some()
    }

    /// How long a request in flight has waited at the time `now`.
    pub(crate) fn waited(&self, slot: Slot, now: u64) -> Nanos {
        let began = self.list.get(slot as usize).and_then(|request| request.began);
        Nanos(now.saturating_sub(began.unwrap_or(now)))
    }

    /// The op of a request in flight.
    #[inline]
    pub(crate) fn op(&self, slot: Slot) -> Option<&Op> {
        let request = self.list.get(slot as usize)?;
        request.op.as_ref().filter(|_| request.began.is_some())
    }

    /// The slots of all requests in flight.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        let slots = self.list.iter().zip(0..);
        slots.filter(|(request, _)| request.began.is_some()).map(|(_, slot)| slot)
    }

    /// The oldest request that has waited for the whole timeout at the time `now`.
    pub(crate) fn overdue(&self, now: u64) -> Option<Slot> {
        let began =
            self.list.iter().zip(0..).filter_map(|(request, slot)| Some((request.began?, slot)));
        let (began, slot) = began.min()?;
        (now.saturating_sub(began) >= self.timeout.0).then_some(slot)
    }

    /// Whether the engine must give up its requests, because the user ended the run at least [`GRACE`] ago. After any other
    /// stop, such as the end of the run time, each request has its whole timeout: an unanswered one is an error.
    pub(crate) fn must_give_up(&mut self, is_interrupted: bool, now: u64) -> bool {
        is_interrupted && now.saturating_sub(*self.interrupted.get_or_insert(now)) >= GRACE
    }

    /// Remembers that the request of a slot got no answer within the timeout of the job. Returns its outcome.
    pub(crate) fn time_out(&mut self, slot: Slot) -> Outcome {
        self.time_out_after(slot, self.timeout)
    }

    /// Remembers that the request of a slot got no answer until a library gave it up. Returns its outcome.
    pub(crate) fn time_out_after(&mut self, slot: Slot, waited: Nanos) -> Outcome {
        let tenths = Nanos(waited.0 / 100_000_000 * 100_000_000);
        let what = format!(
            "no answer to {} within {}. To fix: check the server and the network, or set a longer `endpoint_timeout`",
            self.name(slot),
            shown(if waited < self.timeout { tenths } else { self.timeout })
        );
        self.fail(slot, what);
        Outcome::err(Errno::ETIMEDOUT)
    }

    /// Remembers why the engine makes no request for an op.
    pub(crate) fn refuse(&mut self, slot: Slot, op: &Op, why: &str) {
        if let Some(request) = self.list.get_mut(slot as usize) {
            (request.op, request.failure) = (Some(*op), Some(why.to_owned()));
        }
    }

    /// Remembers why the last request of a slot failed.
    pub(crate) fn fail(&mut self, slot: Slot, why: String) {
        if let Some(request) = self.list.get_mut(slot as usize) {
            request.failure = Some(why);
        }
    }

    /// Why the last request of a slot failed. For [`crate::Engine::explain`]: the worker's message names the target.
    pub(crate) fn explain(&self, slot: &FreeSlot) -> Option<String> {
        self.list.get(slot.index() as usize)?.failure.clone()
    }

    /// How messages name the last request of a slot: its kind, length and offset.
    pub(crate) fn name(&self, slot: Slot) -> String {
        let op = self.list.get(slot as usize).and_then(|request| request.op);
        op.map_or_else(|| "the request".to_owned(), |op| name(&op))
    }
}

/// How messages name an op.
fn name(op: &Op) -> String {
    let verb = match op.kind {
        OpKind::Read => "read",
        OpKind::Write => "write",
        OpKind::Trim => "trim",
        OpKind::Fsync | OpKind::Fdatasync | OpKind::SyncFileRange(_) => {
            return "the flush".to_owned();
        }
    };
    format!("the {verb} of {} bytes at offset {}", op.len, op.offset)
}

/// A timeout, in seconds.
pub(crate) fn shown(time: Nanos) -> String {
    format!("{} s", time.0 as f64 / 1e9)
}

#[cfg(test)]
mod tests {
    use fiord_plan::{EnginePlan, IoAttributes};
    use fiord_types::FileIndex;

    use super::*;

    fn requests() -> Requests {
        let config = EngineConfig::plain(EnginePlan::Null, 4, 4096);
        Requests { timeout: Nanos(1000), ..Requests::new(&config) }
    }

    fn op(offset: u64) -> Op {
        let attributes = IoAttributes::PLAIN;
        Op { kind: OpKind::Read, file: FileIndex(0), offset, len: 4096, at: 0, attributes }
    }

    #[test]
    fn the_oldest_request_is_overdue_first() {
        let mut requests = requests();
        for (slot, at) in [(2, 100), (0, 50), (1, 70)] {
            requests.begin(slot, &op(u64::from(slot) * 4096), at);
        }
        assert_eq!((requests.in_flight(), requests.overdue(1049)), (3, None));
        assert_eq!(requests.overdue(1100), Some(0));
        assert!(requests.end(0) && !requests.end(0));
        assert_eq!(requests.overdue(1100), Some(1));
        assert_eq!(requests.slots().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_request_without_an_answer_is_named() {
        let mut requests = requests();
        requests.begin(3, &op(8192), 0);
        requests.end(3);
        assert_eq!(requests.time_out(3), Outcome::err(Errno::ETIMEDOUT));
        let config = EngineConfig::plain(EnginePlan::Null, 4, 4096);
        let slots = crate::Buffers::new(&config).unwrap().take_slots();
        let text = requests.explain(&slots[3]).unwrap();
        assert!(text.starts_with("no answer to the read of 4096 bytes at offset 8192"), "{text}");
        assert!(text.contains("within 0.000001 s. To fix: "), "{text}");
        assert_eq!(requests.explain(&slots[0]), None);
    }

    #[test]
    fn an_interrupted_job_gives_up_after_a_moment() {
        let mut requests = requests();
        assert!(!requests.must_give_up(false, 5) && !requests.must_give_up(true, 10));
        assert!(!requests.must_give_up(true, GRACE) && requests.must_give_up(true, GRACE + 10));
    }
}
