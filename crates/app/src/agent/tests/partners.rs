//! An agent on a thread, and the coordinator that a test plays for it.

use super::*;

/// No test waits longer for anything.
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// The agent's end of queues in memory.
pub(super) struct MemoryFabric {
    arrivals: Receiver<Option<Arrival>>,
    peers: Arc<Mutex<Vec<Sender<Happening>>>>,
    /// Called on the agent's thread before it sends a message.
    before_sending: fn(&[u8], &Sender<Option<Arrival>>),
    own_queue: Sender<Option<Arrival>>,
}

impl MemoryFabric {
    pub(super) fn tell(&self, to: HostIndex, what: Happening) {
        let _ = self.peers.lock().unwrap()[to.get()].send(what);
    }
}

impl Fabric for MemoryFabric {
    fn size(&self) -> u32 {
        self.peers.lock().unwrap().len() as u32
    }
    fn send(&mut self, to: HostIndex, message: Vec<u8>) {
        (self.before_sending)(&message, &self.own_queue);
        self.tell(to, Happening::Message(message));
    }
    fn receive(&mut self, until: Nanos) -> Option<Arrival> {
        let left = until.saturating_sub(Nanos(clock::monotonic()));
        match self.arrivals.recv_timeout(Duration::from_nanos(left.0)) {
            Ok(arrival) => arrival,
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => panic!("the test has ended"),
        }
    }
    fn trust(&mut self, _: HostIndex) {}
    fn refuse(&mut self, peer: HostIndex, why: &str) {
        self.tell(peer, Happening::Lost(Loss::Refused { why: why.to_owned() }));
    }
    fn close(&mut self, peer: HostIndex) {
        self.tell(peer, Happening::Lost(Loss::Closed { said: String::new() }));
    }
}

/// An agent on a thread.
pub(super) struct Agent {
    arrivals: Sender<Option<Arrival>>,
    peers: Arc<Mutex<Vec<Sender<Happening>>>>,
    listens: bool,
    thread: Option<JoinHandle<(AgentEnd, Vec<AgentNotice>)>>,
}

pub(super) fn status(end: RunEnd) -> u8 {
    match end {
        RunEnd::Succeeded => 0,
        RunEnd::Failed(jobs) => jobs as u8,
        _ => 99,
    }
}

impl Agent {
    pub(super) fn start(listens: bool) -> Agent {
        Agent::with_policy(listens, HostPolicy::unlimited())
    }

    pub(super) fn with_policy(listens: bool, policy: HostPolicy) -> Agent {
        Agent::with_patience(listens, policy, Nanos(LIMIT.as_nanos() as u64), |_, _| {})
    }

    pub(super) fn with_patience(
        listens: bool,
        policy: HostPolicy,
        patience: Nanos,
        before_sending: fn(&[u8], &Sender<Option<Arrival>>),
    ) -> Agent {
        let (arrivals, inbox) = channel();
        let peers = Arc::new(Mutex::new(Vec::new()));
        let mut fabric = MemoryFabric {
            arrivals: inbox,
            peers: Arc::clone(&peers),
            before_sending,
            own_queue: arrivals.clone(),
        };
        let waker = arrivals.clone();
        let words = AgentWords {
            introduction: |jobs| format!("{} sections\n", jobs.jobs.len()),
            names: |jobs| {
                jobs.jobs.iter().map(|(job, _)| (job.name.clone(), String::new())).collect()
            },
            notes: |_| String::new(),
            status,
        };
        let wake = Arc::new(move || drop(waker.send(None)));
        let settings = AgentSettings { listens, policy, words, patience, wake };
        let body = move || {
            let mut notices = Vec::new();
            let end = serve(&mut fabric, &settings, &|| None, &mut |notice| notices.push(notice));
            (end, notices)
        };
        Agent { arrivals, peers, listens, thread: Some(std::thread::spawn(body)) }
    }

    /// A new coordinator.
    pub(super) fn peer(&self) -> Peer {
        let (sender, inbox) = channel();
        let mut peers = self.peers.lock().unwrap();
        let index = HostIndex::at(peers.len());
        peers.push(sender);
        let peer = Peer { index, agent: self.arrivals.clone(), inbox, events: Vec::new() };
        if self.listens {
            peer.tell(Happening::Joined { peer: format!("place {index}") });
        }
        peer
    }

    /// Waits until the agent ends by itself.
    pub(super) fn end(mut self) -> (AgentEnd, Vec<AgentNotice>) {
        let since = Instant::now();
        let thread = self.thread.take().unwrap();
        while !thread.is_finished() {
            assert!(since.elapsed() < LIMIT, "the agent does not end");
            std::thread::sleep(Duration::from_millis(1));
        }
        thread.join().unwrap()
    }
}

/// A coordinator.
pub(super) struct Peer {
    index: HostIndex,
    agent: Sender<Option<Arrival>>,
    inbox: Receiver<Happening>,
    /// The events that arrived between other messages.
    pub events: Vec<Event>,
}

impl Peer {
    pub(super) fn tell(&self, what: Happening) {
        let at = Nanos(clock::monotonic());
        // An agent that has ended takes nothing any more.
        let _ = self.agent.send(Some(Arrival { from: self.index, at, what }));
    }

    pub(super) fn say(&self, message: &ToHost) {
        self.tell(Happening::Message(encode(message, &[])));
    }

    pub(super) fn hello(&self, rank: u32) {
        self.say(&ToHost::Hello(Hello {
            version: "test".into(),
            holder: format!("tester {}", self.index),
            host: format!("host{rank}"),
            rank: HostIndex(rank),
            ranks: NonZeroU32::new(4).unwrap(),
        }));
    }

    pub(super) fn order(&self, order: JobOrder) {
        self.say(&ToHost::Job(Box::new(order)));
    }

    /// The next arrival, without heartbeats and events. Sends heartbeats meanwhile.
    pub(super) fn next(&mut self) -> Happening {
        let since = Instant::now();
        // A busy machine needs long for many messages.
        self.say(&ToHost::Heartbeat);
        loop {
            let what = match self.inbox.recv_timeout(Duration::from_millis(100)) {
                Ok(what) => what,
                Err(_) => {
                    assert!(since.elapsed() < LIMIT, "nothing arrives");
                    self.say(&ToHost::Heartbeat);
                    continue;
                }
            };
            match &what {
                Happening::Message(bytes) => match decode::<FromHost>(bytes).unwrap().0 {
                    FromHost::Heartbeat => {}
                    FromHost::Event(event) => {
                        self.events.push(serde_json::from_value(event).unwrap())
                    }
                    _ => return what,
                },
                _ => return what,
            }
        }
    }

    /// The next message.
    pub(super) fn message(&mut self) -> FromHost {
        match self.next() {
            Happening::Message(bytes) => decode(&bytes).unwrap().0,
            other => panic!("{other:?}"),
        }
    }

    /// Greets the agent and sends it jobs, which are valid.
    pub(super) fn checked(&mut self, rank: u32, order: JobOrder) -> HostJobs {
        self.hello(rank);
        assert!(matches!(self.message(), FromHost::Welcome(_)));
        self.order(order);
        match self.message() {
            FromHost::Checked(jobs) => *jobs,
            other => panic!("{other:?}"),
        }
    }

    /// Lets the agent lay out files, and start soon. Returns the start time.
    pub(super) fn start(&mut self) -> Nanos {
        self.say(&ToHost::LayOut);
        assert_eq!(self.message(), FromHost::Ready);
        let at = Nanos(clock::monotonic()).saturating_add(Nanos::from_millis(20));
        self.say(&ToHost::Start { at });
        at
    }

    /// Waits for progress events that report I/O.
    pub(super) fn wait_for_io(&mut self) {
        self.wait_for_progress(|progress| progress.iops.values().any(|rate| *rate > 0));
    }

    /// Waits for a progress event.
    pub(super) fn wait_for_progress(&mut self, wanted: fn(&Progress) -> bool) {
        let since = Instant::now();
        let is_wanted = |event: &Event| match &event.kind {
            EventKind::Progress(progress) => wanted(progress),
            _ => false,
        };
        while !self.events.iter().any(is_wanted) {
            assert!(since.elapsed() < LIMIT, "no such progress");
            self.say(&ToHost::Probe { sent: Nanos::ZERO });
            assert!(matches!(self.message(), FromHost::Answer { .. }));
        }
    }

    /// Everything until the end of the run.
    pub(super) fn results(&mut self) -> (Vec<JobData>, Ended) {
        let mut jobs = Vec::new();
        loop {
            match self.message() {
                FromHost::Result { job, data } => {
                    assert_eq!(job, JobIndex::at(jobs.len()));
                    jobs.push(*data);
                }
                FromHost::Report(report) => assert_eq!(report.jobs.len(), jobs.len()),
                FromHost::Ended(ended) => return (jobs, *ended),
                other => panic!("{other:?}"),
            }
        }
    }
}

pub(super) fn order(arguments: &[&str]) -> JobOrder {
    JobOrder {
        arguments: arguments.iter().map(|&argument| argument.to_owned()).collect(),
        ..JobOrder::default()
    }
}

/// A directory of one test, which is removed at its end.
pub(super) struct Scratch(pub PathBuf);

impl Scratch {
    pub(super) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!("fiord-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
    pub(super) fn files(&self) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
