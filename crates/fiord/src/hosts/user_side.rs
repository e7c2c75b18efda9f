//! What surrounds the thread that talks to the hosts: signals, requests of the user, and the threads that print and write.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};

use fiord_app::signals::FromSignals;
use fiord_fabric::conductor::{HostsEvent, HostsRequest, KeptPart};
use fiord_fabric::drive::{HostsOutside, LogPart};
use fiord_fabric::hub::Waker;
use fiord_fabric::message::KeepNumber;
use fiord_job::command::GeneralOptions;
use fiord_run::{Interrupt, Interrupts};
use fiord_sys::clock;
use fiord_sys::file::{self, FileGuard};
use fiord_types::{Bytes, HostIndex, Nanos};

/// What the thread that talks to the hosts hands over.
pub(super) enum HandedOver {
    Event(HostsEvent),
    /// The trigger stops the jobs of all hosts.
    Fired,
    /// A message for the user.
    Complaint(String),
    Log {
        host: HostIndex,
        name: String,
        number: KeepNumber,
        offset: Bytes,
        bytes: Vec<u8>,
        last: bool,
    },
}

/// What became of parts of files that hosts wait for.
#[derive(Clone)]
pub(super) struct Answers {
    waiting: Arc<Mutex<VecDeque<HostsRequest>>>,
    waker: Waker,
}

impl Answers {
    /// No answers. `waker` makes the thread that talks to the hosts look for them.
    pub(super) fn waking(waker: Waker) -> Self {
        Answers { waiting: Arc::default(), waker }
    }

    /// Adds the answer to a part of a file or to a log.
    pub(super) fn add(&self, host: HostIndex, number: KeepNumber, failed: Option<String>) {
        let answer = HostsRequest::Kept { host, number, failed };
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push_back(answer);
        self.waker.wake();
    }

    fn take(&self) -> Option<HostsRequest> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

/// The side of the user: what a run on hosts asks and tells it.
pub(super) struct UserSide {
    signals: FromSignals,
    sender: Sender<HandedOver>,
    /// Time between two reports of the run so far (`--status-interval`).
    interval: Option<Nanos>,
    /// When the next of these reports is due. `None`: the jobs have not started.
    next_status: Option<Nanos>,
    /// A signal asks for a report.
    wants_status: bool,
    /// To the thread that writes files for which hosts wait.
    parts: Sender<KeptPart>,
    answers: Answers,
    trigger: HostsTrigger,
    /// Becomes true when the user of the full-screen view wants the run to end. `None` without a view, or after the wish
    /// was passed on.
    finish: Option<Arc<AtomicBool>>,
}

/// When the trigger fires.
struct HostsTrigger {
    file: Option<PathBuf>,
    timeout: Option<Nanos>,
    /// The time of the timeout. `None`: it does not come.
    deadline: Option<Nanos>,
    /// The jobs have started, and the trigger has not fired.
    armed: bool,
}

impl HostsTrigger {
    /// Whether the trigger fires now, and a message if its file cannot be removed.
    fn fires(&mut self, now: Nanos) -> Option<Option<String>> {
        if !self.armed {
            return None;
        }
        let found = self.file.as_ref().filter(|path| file::exists(path).unwrap_or(false));
        let due = self.deadline.is_some_and(|deadline| deadline <= now);
        if found.is_none() && !due {
            return None;
        }
        self.armed = false;
        let removed = found.map(|path| FileGuard::typed().remove(path));
        let failed = |error: fiord_sys::Error| {
            format!(
                "the trigger file could not be removed: {error}. To fix: remove it before the next run, or that run \
                 ends at once\n"
            )
        };
        Some(removed.and_then(Result::err).map(failed))
    }
}

impl UserSide {
    /// The side of a user with the options of this process. Returns the receiver of what they hand over, too.
    pub(super) fn new(
        signals: FromSignals,
        general: &GeneralOptions,
        parts: Sender<KeptPart>,
        answers: Answers,
        finish: Option<Arc<AtomicBool>>,
    ) -> (Self, Receiver<HandedOver>) {
        let (sender, receiver) = mpsc::channel();
        let new = UserSide {
            signals,
            sender,
            interval: general.status_interval.map(Nanos),
            next_status: None,
            wants_status: false,
            parts,
            answers,
            finish,
            trigger: HostsTrigger {
                file: general.trigger.file.as_ref().map(PathBuf::from),
                timeout: general.trigger.timeout,
                deadline: None,
                armed: false,
            },
        };
        (new, receiver)
    }

    fn show(&self, shown: HandedOver) {
        // The receiver lives until this sender is dropped.
        let _ = self.sender.send(shown);
    }
}

impl HostsOutside for UserSide {
    fn interrupt(&mut self) -> Option<i32> {
        match self.signals.next() {
            Some(Interrupt::End(signal)) => Some(signal),
            Some(Interrupt::Status) => {
                self.wants_status = true;
                None
            }
            // Signals only ask for the two above.
            Some(Interrupt::Finish | Interrupt::Trigger) | None => None,
        }
    }

    fn request(&mut self) -> Option<HostsRequest> {
        if let Some(answer) = self.answers.take() {
            return Some(answer);
        }
        let now = Nanos(clock::monotonic());
        if let Some(complaint) = self.trigger.fires(now) {
            complaint.into_iter().for_each(|complaint| self.show(HandedOver::Complaint(complaint)));
            self.show(HandedOver::Fired);
            return Some(HostsRequest::Trigger);
        }
        if self.finish.take_if(|wish| wish.load(Ordering::Acquire)).is_some() {
            return Some(HostsRequest::Finish);
        }
        let is_due = self.next_status.is_some_and(|due| due <= now);
        if is_due {
            self.next_status = self.interval.map(|interval| now.saturating_add(interval));
        }
        let wanted = std::mem::take(&mut self.wants_status) || is_due;
        wanted.then_some(HostsRequest::Status)
    }

    fn event(&mut self, event: HostsEvent) {
        if let HostsEvent::Starting { at } = &event {
            self.next_status = self.interval.map(|interval| at.saturating_add(interval));
            self.trigger.deadline = self.trigger.timeout.map(|time| at.saturating_add(time));
            self.trigger.armed = true;
        }
        self.show(HandedOver::Event(event));
    }

    fn log(&mut self, part: LogPart<'_>) {
        let LogPart { host, name, number, offset, bytes, last } = part;
        let (name, bytes) = (name.to_owned(), bytes.to_vec());
        self.show(HandedOver::Log { host, name, number, offset, bytes, last });
    }

    fn keep(&mut self, part: KeptPart) {
        // The thread that writes lives until this sender is dropped.
        let _ = self.parts.send(part);
    }
}
