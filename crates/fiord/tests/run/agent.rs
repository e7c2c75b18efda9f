//! `fiord agent --stdio`, with a test as its coordinator.

use std::num::NonZeroU32;
use std::time::{Duration, Instant};

use fiord_fabric::contract::{Arrival, Fabric, Happening, Loss};
use fiord_fabric::hub::{Endpoint, Hub};
use fiord_fabric::message::{Ended, FromHost, Hello, JobOrder, ToHost, decode, encode};
use fiord_sys::clock;
use fiord_types::{HostIndex, Nanos};

use crate::fiord::Place;

/// No test waits longer for anything.
const LIMIT: Duration = Duration::from_secs(30);

/// Agents, and the messages to them.
pub(crate) struct Agents {
    pub(crate) hub: Hub,
}

impl Agents {
    /// Starts an agent in the directory of the test, and greets it.
    fn start(place: &Place, count: u32) -> Agents {
        let mut agents = Agents { hub: Hub::new().unwrap() };
        let directory = place.path("").display().to_string();
        let line =
            format!("cd '{directory}' && exec '{}' agent --stdio", env!("CARGO_BIN_EXE_fiord"));
        let command = ["sh", "-c", &line].map(String::from);
        for rank in 0..count {
            let host = agents.hub.start(&command);
            agents.greet(host, rank, count);
        }
        agents
    }

    /// Connects to a server, and greets it.
    pub(crate) fn connect(mut hub: Hub, server: &Endpoint) -> Agents {
        let host = hub.connect(server);
        let mut agents = Agents { hub };
        agents.greet(host, 0, 1);
        agents
    }

    fn greet(&mut self, host: HostIndex, rank: u32, ranks: u32) {
        self.say(
            host,
            &ToHost::Hello(Hello {
                version: "test".into(),
                holder: "a test".into(),
                host: format!("host{rank}"),
                rank: HostIndex(rank),
                ranks: NonZeroU32::new(ranks).unwrap(),
            }),
        );
        self.hub.trust(host);
    }

    pub(crate) fn say(&mut self, host: HostIndex, message: &ToHost) {
        self.hub.send(host, encode(message, &[]));
    }

    pub(crate) fn order(&mut self, host: HostIndex, arguments: &[&str]) {
        let arguments = arguments.iter().map(|&argument| argument.to_owned()).collect();
        let order = JobOrder { arguments, ..JobOrder::default() };
        self.say(host, &ToHost::Job(Box::new(order)));
    }

    /// The next arrival that is neither a heartbeat nor an event.
    #[track_caller]
    pub(crate) fn next(&mut self) -> (HostIndex, Happening) {
        let since = Instant::now();
        while since.elapsed() < LIMIT {
            let until = Nanos(clock::monotonic()).saturating_add(Nanos::from_millis(500));
            let Some(Arrival { from, what, .. }) = self.hub.receive(until) else {
                (0..self.hub.size()).for_each(|host| self.say(HostIndex(host), &ToHost::Heartbeat));
                continue;
            };
            let Happening::Message(bytes) = &what else { return (from, what) };
            match decode::<FromHost>(bytes).unwrap().0 {
                FromHost::Heartbeat | FromHost::Event(_) => {}
                _ => return (from, what),
            }
        }
        panic!("nothing arrives");
    }

    /// The next message.
    #[track_caller]
    pub(crate) fn message(&mut self) -> (HostIndex, FromHost) {
        match self.next() {
            (host, Happening::Message(bytes)) => (host, decode(&bytes).unwrap().0),
            other => panic!("{other:?}"),
        }
    }

    /// Waits for the end of a run.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> Ended {
        loop {
            match self.message().1 {
                FromHost::Ended(ended) => return *ended,
                FromHost::Result { .. } | FromHost::Report(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Lets all agents check and start these jobs. Returns the start time.
    #[track_caller]
    pub(crate) fn run(&mut self, arguments: &[&str]) -> Nanos {
        let hosts: Vec<HostIndex> = (0..self.hub.size()).map(HostIndex).collect();
        for _ in &hosts {
            assert!(matches!(self.message(), (_, FromHost::Welcome(_))));
        }
        hosts.iter().for_each(|host| self.order(*host, arguments));
        for _ in &hosts {
            assert!(matches!(self.message(), (_, FromHost::Checked(_))));
        }
        hosts.iter().for_each(|host| self.say(*host, &ToHost::LayOut));
        for _ in &hosts {
            assert!(matches!(self.message(), (_, FromHost::Ready)));
        }
        let at = Nanos(clock::monotonic()).saturating_add(Nanos::from_millis(200));
        hosts.iter().for_each(|host| self.say(*host, &ToHost::Start { at }));
        at
    }
}

/// Waits until a file does not exist.
#[track_caller]
fn wait_until_gone(place: &Place, name: &str, limit: Duration) {
    let since = Instant::now();
    while place.path(name).exists() {
        assert!(since.elapsed() < limit, "{name} still exists");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn agents_start_their_jobs_at_one_time_and_report() {
    let place = Place::new();
    let mut agents = Agents::start(&place, 4);
    let at = agents.run(&["--name=a", "--rw=write", "--size=64k", "--filename=f.$rank"]);
    let mut ended = Vec::new();
    while ended.len() < 4 {
        match agents.message() {
            (_, FromHost::Ended(end)) => ended.push(end),
            (_, FromHost::Result { .. } | FromHost::Report(_)) => {}
            other => panic!("{other:?}"),
        }
    }
    for end in &ended {
        assert_eq!((end.status, &end.errors[..]), (Some(0), &[][..]), "{end:?}");
        assert!(end.started.iter().flatten().all(|started| *started >= at), "{at:?} {end:?}");
    }
    for rank in 0..4 {
        let length = std::fs::metadata(place.path(&format!("f.{rank}"))).unwrap().len();
        assert_eq!(length, 65536);
        agents.say(HostIndex(rank), &ToHost::Bye);
    }
    for _ in 0..4 {
        assert!(matches!(agents.next().1, Happening::Lost(Loss::Closed { .. })));
    }
}

#[test]
fn an_agent_whose_connection_ends_removes_its_files_and_ends() {
    let place = Place::new();
    let mut agents = Agents::start(&place, 1);
    let writer =
        ["--name=a", "--rw=write", "--size=64k", "--filename=f", "--time_based", "--runtime=60"];
    agents.run(&writer);
    assert!(place.path("f").exists());
    drop(agents);
    wait_until_gone(&place, "f", Duration::from_secs(5));
}

#[test]
fn what_a_command_prints_does_not_disturb_the_messages() {
    let place = Place::new();
    let mut agents = Agents::start(&place, 1);
    assert!(matches!(agents.message(), (_, FromHost::Welcome(_))));
    let jobs = ["--name=a", "--ioengine=exec", "--program=/bin/echo", "--arguments=hello"];
    agents.order(HostIndex(0), &jobs);
    assert!(matches!(agents.message(), (_, FromHost::Checked(_))));
    agents.say(HostIndex(0), &ToHost::LayOut);
    assert!(matches!(agents.message(), (_, FromHost::Ready)));
    agents.say(HostIndex(0), &ToHost::Start { at: Nanos::ZERO });
    let ended = agents.ended();
    assert_eq!(ended.status, Some(0), "{ended:?}");
}

#[test]
fn a_job_file_can_be_named_agent() {
    let place = Place::new();
    place.write("agent", "[a]\nioengine=null\nsize=4k\n");
    place.run("agent").ok();
    // Without a coordinator, the agent explains itself and ends.
    let ran = place.run("agent --stdio");
    assert_eq!(ran.status, Some(1), "{ran:?}");
}
