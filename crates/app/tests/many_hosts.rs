//! A coordinator and agents in one process: the conductor, the agents, the hub and Unix sockets work together.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use fiord_app::RunEnd;
use fiord_app::agent::{AgentEnd, AgentSettings, AgentWords, PATIENCE, serve};
use fiord_fabric::conductor::{HostOrder, HostsEvent, KeptPart, RunOrder};
use fiord_fabric::drive::{HostsOutside, LogPart, drive};
use fiord_fabric::hub::{Endpoint, Hub};
use fiord_fabric::message::JobOrder;
use fiord_fabric::outcome::{HostStage, HostsOutcome};
use fiord_fabric::policy::HostPolicy;
use fiord_sys::clock;
use fiord_types::{Dir, Nanos};

/// A directory that disappears with the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("fiord-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Directory(path)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Agents on threads, which end with this value.
struct Agents {
    endpoints: Vec<Endpoint>,
    threads: Vec<JoinHandle<AgentEnd>>,
    end: Arc<AtomicBool>,
}

impl Agents {
    fn start(count: usize, directory: &Path) -> Agents {
        let end = Arc::new(AtomicBool::new(false));
        let mut agents = Agents { endpoints: Vec::new(), threads: Vec::new(), end };
        for number in 0..count {
            let mut hub = Hub::new().unwrap();
            let socket = Endpoint::Unix(directory.join(format!("agent{number}")));
            agents.endpoints.push(hub.listen(&socket).unwrap());
            let end = Arc::clone(&agents.end);
            let waker = hub.waker();
            let words = AgentWords {
                introduction: |_| String::new(),
                names: |_| Vec::new(),
                notes: |_| String::new(),
                status: |end| u8::from(end != RunEnd::Succeeded),
            };
            let settings = AgentSettings {
                listens: true,
                policy: HostPolicy::unlimited(),
                words,
                patience: PATIENCE,
                wake: Arc::new(move || waker.wake()),
            };
            let signal = move || end.load(Ordering::Acquire).then_some(15);
            agents
                .threads
                .push(std::thread::spawn(move || serve(&mut hub, &settings, &signal, &mut |_| {})));
        }
        agents
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Release);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// Interrupts the run at a time, and again 10 s later, so that no test hangs.
struct Limit {
    signals: Vec<u64>,
    stages: Vec<HostStage>,
}

impl Limit {
    fn after(seconds: u64) -> Self {
        let at = |seconds| clock::monotonic() + seconds * 1_000_000_000;
        Limit { signals: vec![at(seconds), at(seconds + 10)], stages: Vec::new() }
    }
}

impl HostsOutside for Limit {
    fn interrupt(&mut self) -> Option<i32> {
        let due = self.signals.first().is_some_and(|at| clock::monotonic() >= *at);
        due.then(|| self.signals.remove(0)).map(|_| 2)
    }
    fn event(&mut self, event: HostsEvent) {
        if let HostsEvent::Stage(stage) = event {
            self.stages.push(stage);
        }
    }
    fn log(&mut self, part: LogPart<'_>) {
        panic!("these jobs have no such log: {part:?}");
    }
    fn keep(&mut self, part: KeptPart) {
        panic!("these jobs have no such file: {part:?}");
    }
}

/// Runs a job on agents.
fn run(agents: &Agents, arguments: &[&str], outside: &mut Limit) -> HostsOutcome {
    let mut hub = Hub::new().unwrap();
    let arguments: Vec<String> = arguments.iter().map(|argument| argument.to_string()).collect();
    let job = JobOrder { arguments, ..JobOrder::default() };
    let host = |endpoint: &Endpoint| {
        hub.connect(endpoint);
        HostOrder { name: endpoint.to_string(), job: job.clone(), ..HostOrder::default() }
    };
    let hosts = agents.endpoints.iter().map(host).collect();
    let order = RunOrder { hosts, holder: "the test".to_owned(), ..RunOrder::default() };
    drive(&mut hub, &order, outside)
}

#[test]
fn agents_start_at_one_time_and_send_their_results() {
    let directory = Directory::new("start");
    let agents = Agents::start(16, &directory.0);
    let mut outside = Limit::after(60);
    let arguments = ["--name=job", "--ioengine=null", "--size=1M", "--bs=4k", "--number_ios=100"];
    let outcome = run(&agents, &arguments, &mut outside);
    let start = outcome.start.unwrap_or_else(|| panic!("the jobs started: {outcome:?}"));
    let mut late = Nanos::ZERO;
    for host in &outcome.hosts {
        assert_eq!((&host.failure, host.data.len()), (&None, 1), "{}", host.name);
        assert_eq!(host.data[0].recorder.dirs[Dir::Read].ios, 100);
        assert_eq!(host.ended.as_ref().and_then(|ended| ended.status), Some(0));
        assert!(host.facts.is_some() && host.checked.is_some() && host.report.is_some());
        assert!(host.finished.is_some_and(|finished| finished >= host.started[0]));
        let error = host.clock.expect("the clocks were compared");
        // All threads have one clock, so a converted time is wrong by the error only.
        let earliest = start.saturating_sub(error.bound);
        assert!(host.started[0] >= earliest, "{:?} {start:?} {error:?}", host.started[0]);
        late = late.max(host.started[0].saturating_sub(start));
        println!(
            "{}: {:?} after the start, {error:?}",
            host.name,
            host.started[0].saturating_sub(start)
        );
    }
    assert_eq!(outside.stages.last(), Some(&HostStage::Done));
    println!("started within {late:?}");
}

#[test]
fn an_interrupt_ends_the_jobs_of_all_agents() {
    let directory = Directory::new("interrupt");
    let agents = Agents::start(3, &directory.0);
    let mut outside = Limit::after(2);
    let arguments = ["--name=job", "--ioengine=null", "--size=1M", "--time_based", "--runtime=600"];
    let before = clock::monotonic();
    let outcome = run(&agents, &arguments, &mut outside);
    let took = (clock::monotonic() - before) / 1_000_000_000;
    assert_eq!(outcome.signal, Some(2));
    for host in &outcome.hosts {
        assert_eq!((&host.failure, host.data.len()), (&None, 1), "{}", host.name);
        assert!(host.data[0].recorder.dirs[Dir::Read].ios > 0);
    }
    assert!(took < 9, "{took} s");
}

#[test]
fn an_invalid_job_is_refused_by_all_agents() {
    let directory = Directory::new("refused");
    let agents = Agents::start(2, &directory.0);
    let outcome = run(&agents, &["--name=job", "--rw=sideways"], &mut Limit::after(30));
    for host in &outcome.hosts {
        let failure = host.failure.as_ref().expect("the job is invalid");
        assert_eq!(failure.stage, HostStage::Check);
        assert!(failure.why.contains("sideways"), "{}", failure.why);
    }
}
