//! The conversation of an agent with its coordinator. This thread never waits for a run, so a busy machine delays neither
//! heartbeats nor answers to probes.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use fiord_fabric::contract::{Arrival, Fabric, Happening, Loss};
use fiord_fabric::message::{Ended, FromHost, Hello, JobOrder, ToHost, decode, encode};
use fiord_sys::{clock, signal};
use fiord_types::{Bytes, HostIndex, Nanos, program};

use super::facts::host_facts;
use super::orders::{OrderStage, Orders};
use super::outbox::Outbox;
use super::work::OrderTask;
use super::{AgentEnd, AgentNotice, AgentSettings};

/// How long a new peer may take to say who it is.
const GREETING: Nanos = Nanos::from_secs(10);
/// How long jobs without a coordinator may take to end before the agent abandons them.
const GRACE: Nanos = Nanos::from_millis(800);
/// How long an agent waits for an order that does not end after its coordinator has disconnected. Then an agent with
/// one coordinator ends, and an agent that listens abandons the check.
const ORPHAN_TIMEOUT: Nanos = Nanos::from_secs(5);
/// Maximum number of abandoned checks: each keeps a thread.
const MAX_ABANDONED: usize = 16;
/// Polling interval for signals of the process, and for peers that take messages slowly.
const LOOK: Nanos = Nanos::from_millis(50);
/// Backpressure: above this many queued bytes the agent holds run messages back, so that heartbeats pass.
const MAX_QUEUED: Bytes = Bytes::from_mib(4);
/// Maximum size of the verify states that an agent stores for jobs, in bytes.
const MAX_STATES: usize = 256 << 20;
/// The stack of the thread that runs the jobs, bytes: that of a main thread.
const STACK: usize = 8 << 20;

fn now() -> Nanos {
    Nanos(clock::monotonic())
}

/// The state of an agent.
pub(super) struct AgentLink<'a> {
    fabric: &'a mut dyn Fabric,
    settings: &'a AgentSettings,
    notify: &'a mut dyn FnMut(AgentNotice),
    /// The coordinator, if there is one.
    session: Option<Session>,
    /// Abandoned checks of jobs: they hang, and their coordinators have disconnected. A check only reads, and does
    /// nothing more if it continues.
    abandoned: Vec<JoinHandle<FromHost>>,
    /// Peers that have not said who they are.
    strangers: HashMap<HostIndex, Stranger>,
    next_heartbeat: Nanos,
    /// When the agent last looked for silent peers.
    watched: Nanos,
    /// The signal that ends this agent, and when it came.
    ending: Option<(i32, Nanos)>,
    /// How the last session of an agent with one coordinator ended.
    end: Option<AgentEnd>,
}

struct Stranger {
    since: Nanos,
    /// Address of the peer, for messages.
    place: String,
    /// The stranger wants this agent, whose last coordinator has disconnected but whose jobs have not all ended.
    hello: Option<Hello>,
}

/// The time with one coordinator.
struct Session {
    peer: HostIndex,
    /// Name and address of the coordinator, for messages.
    holder: String,
    /// Address of the coordinator, for the names of files (`unique_filename`). `None` if it has none.
    address: Option<IpAddr>,
    hello: Hello,
    heard: Nanos,
    /// The verify states for the next jobs, by their file names.
    states: HashMap<String, Vec<u8>>,
    /// The run of the latest order.
    run: Option<Running>,
    /// How often the coordinator wanted to stop.
    stops: u32,
    /// When and why it was lost.
    lost: Option<(Nanos, String)>,
    /// When it said goodbye.
    released: Option<Nanos>,
}

impl Session {
    /// When the coordinator was lost or said goodbye.
    fn gone_since(&self) -> Option<Nanos> {
        self.lost.as_ref().map(|(since, _)| *since).or(self.released)
    }

    /// Who the coordinator is, for the message that another one gets.
    fn described(&self) -> String {
        match (&self.run, self.gone_since()) {
            (Some(run), Some(_)) => {
                let hangs_in = run.orders.stage().words();
                format!(
                    "{} (it has disconnected, but its jobs have not ended: {hangs_in})",
                    self.holder
                )
            }
            _ => self.holder.clone(),
        }
    }
}

/// A run on another thread.
struct Running {
    orders: Arc<Orders>,
    outbox: Outbox,
    /// The thread returns the last message of the run. `None`: that message is on its way.
    thread: Option<JoinHandle<FromHost>>,
    /// The jobs were refused, so that none ran.
    refused: bool,
}

impl Running {
    fn is_over(&self) -> bool {
        self.thread.is_none()
    }
}

impl<'a> AgentLink<'a> {
    pub(super) fn new(
        fabric: &'a mut dyn Fabric,
        settings: &'a AgentSettings,
        notify: &'a mut dyn FnMut(AgentNotice),
    ) -> Self {
        let mut strangers = HashMap::new();
        if !settings.listens {
            let stranger = Stranger { since: now(), place: "the coordinator".into(), hello: None };
            strangers.insert(HostIndex(0), stranger);
        }
        AgentLink {
            fabric,
            settings,
            notify,
            session: None,
            abandoned: Vec::new(),
            strangers,
            next_heartbeat: now(),
            watched: now(),
            ending: None,
            end: None,
        }
    }

    /// Serves coordinators until the agent ends.
    pub(super) fn serve(mut self, signal: &dyn Fn() -> Option<i32>) -> AgentEnd {
        loop {
            if let (Some(signal), None) = (signal(), self.ending) {
                self.end_for(signal);
            }
            self.reap();
            self.greet_waiting();
            self.forward();
            self.watch();
            if let Some(end) = self.over() {
                return end;
            }
            if let Some(arrival) = self.fabric.receive(self.due()) {
                self.arrived(arrival);
            }
        }
    }

    /// When this thread has something to do, at the latest.
    fn due(&self) -> Nanos {
        self.next_heartbeat.min(now().saturating_add(LOOK))
    }

    /// How the agent ends, if it does now.
    fn over(&self) -> Option<AgentEnd> {
        if let Some((signal, since)) = self.ending {
            let is_late = now().saturating_sub(since) > ORPHAN_TIMEOUT;
            return (self.session.is_none() || is_late).then_some(AgentEnd::Signalled(signal));
        }
        self.end.clone()
    }

    /// Ends the agent because of a signal. A run ends in an orderly way, and its results are sent.
    fn end_for(&mut self, signal: i32) {
        self.ending = Some((signal, now()));
        let Some(session) = &self.session else { return };
        match &session.run {
            Some(run) if !run.is_over() => run.orders.stop(1, Some(signal)),
            _ => {
                let peer = session.peer;
                self.fabric.refuse(peer, &format!("signal {signal} ended the agent"));
                self.session = None;
            }
        }
    }

    /// Sends what the run has to say, as fast as the coordinator takes it.
    fn forward(&mut self) {
        let Some(Session { peer, run: Some(run), lost: None, .. }) = &self.session else { return };
        while self.fabric.queued(*peer) < MAX_QUEUED {
            let Some(message) = run.outbox.take() else { return };
            self.fabric.send(*peer, message);
        }
    }

    /// Notices that the run has ended, and ends the session if that was all.
    fn reap(&mut self) {
        let Some(session) = &mut self.session else { return };
        if let Some(run) = &mut session.run
            && let Some(thread) = run.thread.take_if(|thread| thread.is_finished())
        {
            let last = thread.join().unwrap_or_else(|_| {
                // The panic's own message is on standard error.
                let errors = vec!["the run panicked: this is a bug, please report it".into()];
                FromHost::Ended(Box::new(Ended { status: Some(1), errors, ..Ended::default() }))
            });
            run.outbox.finish(&last);
            if let FromHost::Refused { text } = &last {
                run.refused = true;
                let (holder, why) = (session.holder.clone(), in_one_line(text));
                (self.notify)(AgentNotice::JobsRefused { holder, why });
            }
        }
        let Some(gone) = session.gone_since() else { return };
        if session.run.as_ref().is_none_or(Running::is_over) || self.abandon_check(gone) {
            self.release();
        }
    }

    /// Abandons a check that has not ended some time after its coordinator disconnected. Returns whether it did.
    fn abandon_check(&mut self, gone: Nanos) -> bool {
        self.abandoned.retain(|thread| !thread.is_finished());
        let has_room = self.abandoned.len() < MAX_ABANDONED;
        let Some(Session { holder, run: Some(run), .. }) = &mut self.session else { return false };
        let hangs =
            now().saturating_sub(gone) > ORPHAN_TIMEOUT && run.orders.stage() == OrderStage::Check;
        if !hangs || !has_room || !self.settings.listens {
            return false;
        }
        let Some(thread) = run.thread.take() else { return false };
        self.abandoned.push(thread);
        (self.notify)(AgentNotice::Abandoned { holder: holder.clone() });
        true
    }

    /// Ends the session.
    fn release(&mut self) {
        let Some(session) = self.session.take() else { return };
        let end = match session.lost {
            Some((_, why)) => AgentEnd::Lost { why },
            None => {
                (self.notify)(AgentNotice::Released { holder: session.holder });
                AgentEnd::Released
            }
        };
        if !self.settings.listens {
            self.end = Some(end);
        }
    }

    /// Sends heartbeats, and notices peers that say nothing.
    fn watch(&mut self) {
        let now = now();
        let waited = now.saturating_sub(self.watched);
        self.watched = now;
        // This thread was busy or stopped, or its machine slept: messages may have arrived that it has not read.
        if let Some(session) = &mut self.session
            && waited > LOOK.saturating_mul(2)
        {
            session.heard = session.heard.saturating_add(waited);
        }
        if let Some(session) = &self.session
            && now >= self.next_heartbeat
        {
            let peer = session.peer;
            self.say(peer, &FromHost::Heartbeat);
        }
        if now >= self.next_heartbeat {
            self.next_heartbeat = now.saturating_add(Nanos(self.settings.patience.0 / 4));
        }
        self.watch_session(now);
        let silent = |(peer, stranger): (&HostIndex, &Stranger)| {
            let silent = stranger.hello.is_none() && now.saturating_sub(stranger.since) > GREETING;
            silent.then_some(*peer)
        };
        let silent: Vec<HostIndex> = self.strangers.iter().filter_map(silent).collect();
        for peer in silent {
            self.refuse(peer, "the coordinator did not say hello within 10 s");
        }
    }

    fn watch_session(&mut self, now: Nanos) {
        let Some(session) = &self.session else { return };
        let patience = self.settings.patience;
        match &session.lost {
            None if session.released.is_none() && now.saturating_sub(session.heard) > patience => {
                self.lose(&format!(
                    "the coordinator sent nothing for {} s",
                    patience.as_secs_f64()
                ));
            }
            lost => {
                let Some(gone) = session.gone_since() else { return };
                let waited = now.saturating_sub(gone);
                if let (Some(run), true) = (&session.run, waited > GRACE) {
                    run.orders.stop(2, None);
                }
                if waited > ORPHAN_TIMEOUT && !self.settings.listens {
                    self.end = Some(match lost {
                        Some((_, why)) => AgentEnd::Lost { why: why.clone() },
                        None => AgentEnd::Released,
                    });
                }
            }
        }
    }

    /// The coordinator is gone: its jobs end, and nothing is sent any more.
    fn lose(&mut self, why: &str) {
        let Some(session) = &mut self.session else { return };
        if session.gone_since().is_some() {
            return;
        }
        // A coordinator whose jobs were refused ends the connection, and there is nothing to stop or to remove.
        if session.run.as_ref().is_some_and(|run| run.refused) {
            return self.goodbye();
        }
        session.lost = Some((now(), why.to_owned()));
        if let Some(run) = &session.run {
            run.orders.lose();
            run.outbox.close();
        }
        let told = format!("the agent has stopped its jobs: {why}");
        self.fabric.refuse(session.peer, &told);
        (self.notify)(AgentNotice::Lost { holder: session.holder.clone(), why: why.to_owned() });
    }

    fn arrived(&mut self, arrival: Arrival) {
        let Arrival { from, at, what } = arrival;
        let holds = self.session.as_ref().is_some_and(|session| session.peer == from);
        match what {
            Happening::Joined { peer } => {
                self.strangers.insert(from, Stranger { since: at, place: peer, hello: None });
            }
            Happening::Lost(loss) if holds => self.lose(&loss.to_string()),
            Happening::Lost(loss) => {
                if let Some(stranger) = self.strangers.remove(&from) {
                    let (peer, why) = (stranger.place, loss.to_string());
                    self.gone(match loss {
                        Loss::Refused { .. } => AgentNotice::Dismissed { peer, why },
                        _ => AgentNotice::Refused { peer, why },
                    });
                }
            }
            Happening::Message(bytes) => match decode::<ToHost>(&bytes) {
                Ok((message, attached)) if holds => self.answer(at, message, attached),
                Ok((ToHost::Hello(hello), _)) => {
                    if let Some(stranger) = self.strangers.get_mut(&from) {
                        stranger.hello = Some(hello);
                    }
                    self.greet_waiting();
                }
                Ok((ToHost::Heartbeat | ToHost::Probe { .. }, _)) if self.waits(from) => {}
                Ok(_) => self.refuse(from, "the first message is not a hello"),
                Err(error) if holds => self.lose(&error.to_string()),
                Err(error) => self.refuse(from, &error.to_string()),
            },
        }
    }

    /// A peer has ended the connection before it said who it is, or was refused.
    fn gone(&mut self, notice: AgentNotice) {
        if !self.settings.listens
            && let AgentNotice::Refused { why, .. } | AgentNotice::Dismissed { why, .. } = &notice
        {
            self.end = Some(AgentEnd::Lost { why: why.clone() });
        }
        (self.notify)(notice);
    }

    /// Whether a peer waits for the end of another coordinator's jobs.
    fn waits(&self, peer: HostIndex) -> bool {
        self.strangers.get(&peer).is_some_and(|stranger| stranger.hello.is_some())
    }

    /// Refuses a peer that is not using this agent.
    fn refuse(&mut self, peer: HostIndex, why: &str) {
        let Some(stranger) = self.strangers.remove(&peer) else { return };
        self.fabric.refuse(peer, why);
        self.gone(AgentNotice::Refused { peer: stranger.place, why: why.to_owned() });
    }

    /// Greets the peers that wait for the end of another coordinator's jobs.
    fn greet_waiting(&mut self) {
        let waits = |session: &Session| {
            session.gone_since().is_some_and(|since| now().saturating_sub(since) < ORPHAN_TIMEOUT)
        };
        if self.session.as_ref().is_some_and(waits) {
            return;
        }
        let waiting: Vec<HostIndex> = self.strangers.keys().copied().collect();
        for peer in waiting {
            let hello = self.strangers.get_mut(&peer).and_then(|stranger| stranger.hello.take());
            hello.into_iter().for_each(|hello| self.greet(peer, hello));
        }
    }

    fn greet(&mut self, from: HostIndex, hello: Hello) {
        let Some(stranger) = self.strangers.remove(&from) else { return };
        let holder = format!("{} ({})", hello.holder, stranger.place);
        if let Some(session) = &self.session {
            let holder_now = session.described();
            let why = format!("{holder_now} is using this agent");
            let busy = FromHost::Busy { holder: holder_now };
            self.say(from, &busy);
            self.fabric.close(from);
            return (self.notify)(AgentNotice::Refused { peer: holder, why });
        }
        if let Some((signal, _)) = self.ending {
            return self.fabric.refuse(from, &format!("signal {signal} ended the agent"));
        }
        self.fabric.trust(from);
        self.say(from, &FromHost::Welcome(Box::new(host_facts())));
        (self.notify)(AgentNotice::Held { holder: holder.clone() });
        self.session = Some(Session {
            peer: from,
            holder,
            address: address_in(&stranger.place),
            hello,
            heard: now(),
            states: HashMap::new(),
            run: None,
            stops: 0,
            lost: None,
            released: None,
        });
    }

    /// Answers the coordinator.
    fn answer(&mut self, at: Nanos, message: ToHost, attached: &[u8]) {
        let Some(session) = &mut self.session else { return };
        session.heard = session.heard.max(at);
        let peer = session.peer;
        let orders = session.run.as_ref().map(|run| &run.orders);
        match message {
            ToHost::Probe { sent } => {
                self.say(peer, &FromHost::Answer { sent, received: at, answered: now() });
            }
            ToHost::Job(order) => self.start(*order),
            ToHost::LayOut => orders.into_iter().for_each(|orders| orders.lay_out()),
            ToHost::Start { at } => orders.into_iter().for_each(|orders| orders.start(at)),
            ToHost::Finish => orders.into_iter().for_each(|orders| orders.finish()),
            ToHost::Status => orders.into_iter().for_each(|orders| orders.report()),
            ToHost::Trigger => orders.into_iter().for_each(|orders| orders.trigger()),
            ToHost::State { name } => self.store(name, attached),
            ToHost::Kept { number, failed } => {
                orders.into_iter().for_each(|orders| orders.kept(number, failed.clone()));
            }
            ToHost::Stop { signal, .. } => {
                session.stops += 1;
                orders.into_iter().for_each(|orders| orders.stop(session.stops, signal));
            }
            ToHost::Heartbeat => {}
            ToHost::Hello(_) => self.lose("the coordinator said hello twice"),
            ToHost::Bye => self.goodbye(),
        }
    }

    /// Stores a verify state until the jobs arrive that load it.
    fn store(&mut self, name: String, state: &[u8]) {
        let Some(session) = &mut self.session else { return };
        let stored: usize = session.states.values().map(Vec::len).sum();
        if stored + state.len() > MAX_STATES {
            return self.lose("the coordinator sent more verify states than jobs can load");
        }
        session.states.insert(name, state.to_vec());
    }

    /// The coordinator is done with this agent. A run that continues is useless.
    fn goodbye(&mut self) {
        self.forward();
        let Some(session) = &mut self.session else { return };
        session.released.get_or_insert(now());
        self.fabric.close(session.peer);
        if let Some(run) = &session.run {
            run.outbox.close();
            run.orders.part();
            run.orders.stop(1, None);
        }
    }

    /// Starts the run of an order on another thread.
    fn start(&mut self, order: JobOrder) {
        let Some(session) = &mut self.session else { return };
        if session.run.as_ref().is_some_and(|run| !run.is_over()) {
            return self.lose("the coordinator sent jobs while others run");
        }
        let holder = session.holder.clone();
        (self.notify)(AgentNotice::Jobs { holder, arguments: order.arguments.join(" ") });
        let orders = Arc::new(Orders::default());
        let outbox = Outbox::new(Arc::clone(&self.settings.wake));
        orders.stop(session.stops, None);
        let task = OrderTask {
            order,
            hello: session.hello.clone(),
            states: std::mem::take(&mut session.states),
            orders: Arc::clone(&orders),
            outbox: outbox.clone(),
            client: session.address,
            words: self.settings.words,
            policy: self.settings.policy.clone(),
        };
        let wake = Arc::clone(&self.settings.wake);
        let body = move || {
            // The thread of the link should receive signals. If blocking fails, it notices them a moment later.
            let _ = signal::block_in_this_thread();
            let last = task.run();
            wake();
            last
        };
        let thread = std::thread::Builder::new().name("run".into()).stack_size(STACK).spawn(body);
        if let Err(error) = &thread {
            let why = "cannot create the thread of the run. To fix: raise the limit on threads (ulimit -u, pids.max)";
            let text = program::message(format_args!("{why}: {error}\n"));
            outbox.finish(&FromHost::Refused { text });
        }
        session.run = Some(Running { orders, outbox, thread: thread.ok(), refused: false });
    }

    /// Sends a message now.
    fn say(&mut self, to: HostIndex, message: &FromHost) {
        self.fabric.send(to, encode(message, &[]));
    }
}

/// Messages about jobs for a line of the log: what is wrong and how to fix it, without the part of the job that is marked.
fn in_one_line(text: &str) -> String {
    let name = program::message("");
    let said = |line: &str| {
        let line = line.strip_prefix(&name).or_else(|| line.trim_start().strip_prefix("= "));
        line.map(|line| line.trim().to_owned())
    };
    text.lines().filter_map(said).collect::<Vec<_>>().join(". ")
}

/// The address in the description of a peer: `10.0.0.7:41234 (key of build-server)`. `None` for a Unix socket.
fn address_in(place: &str) -> Option<IpAddr> {
    let socket = place.split_whitespace().next()?;
    socket.parse::<SocketAddr>().ok().map(|socket| socket.ip().to_canonical())
}
