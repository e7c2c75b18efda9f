//! Coordinators that are silent, second, strange or out of space, and orders that the policy forbids or that hang.

use super::*;

#[test]
fn a_silent_coordinator_is_lost() {
    let scratch = Scratch::new("agent-silent");
    let patience = Nanos::from_millis(600);
    let agent = Agent::with_patience(false, HostPolicy::unlimited(), patience, |_, _| {});
    let mut peer = agent.peer();
    peer.checked(0, writers(&scratch.0));
    peer.start();
    let (end, _) = agent.end();
    assert_eq!(end, AgentEnd::Lost { why: "the coordinator sent nothing for 0.6 s".into() });
    assert_eq!(scratch.files(), [] as [PathBuf; 0]);
}

#[test]
fn an_agent_that_was_stopped_reads_what_has_arrived_before_it_judges() {
    const PATIENCE: Nanos = Nanos::from_secs(2);
    let scratch = Scratch::new("agent-stopped");
    let before_sending = |message: &[u8], queue: &Sender<Option<Arrival>>| {
        if matches!(decode::<FromHost>(message), Ok((FromHost::Checked(_), _))) {
            // The time is what is tested: the agent does nothing for longer than its patience.
            std::thread::sleep(Duration::from_nanos(PATIENCE.0 / 4 * 5));
            let what = Happening::Message(encode(&ToHost::Heartbeat, &[]));
            let at = Nanos(clock::monotonic());
            queue.send(Some(Arrival { from: HostIndex(0), at, what })).unwrap();
        }
    };
    let agent = Agent::with_patience(false, HostPolicy::unlimited(), PATIENCE, before_sending);
    let mut peer = agent.peer();
    peer.checked(0, writers(&scratch.0));
    peer.say(&ToHost::Bye);
    assert_eq!(agent.end().0, AgentEnd::Released);
}

#[test]
fn a_second_coordinator_is_told_who_holds_the_agent_and_the_next_one_gets_it() {
    let agent = Agent::start(true);
    let (mut first, mut second) = (agent.peer(), agent.peer());
    first.hello(0);
    assert!(matches!(first.message(), FromHost::Welcome(_)));
    second.hello(0);
    let FromHost::Busy { holder } = second.message() else { panic!("not busy") };
    assert_eq!(holder, "tester 0 (place 0)");
    assert!(matches!(second.next(), Happening::Lost(_)));
    first.say(&ToHost::Bye);
    assert!(matches!(first.next(), Happening::Lost(_)));
    let mut third = agent.peer();
    third.hello(0);
    assert!(matches!(third.message(), FromHost::Welcome(_)));
}

#[test]
fn a_peer_that_does_not_say_hello_is_refused() {
    let agent = Agent::start(true);
    let refused = |what: Happening| {
        let mut peer = agent.peer();
        peer.tell(what);
        match peer.next() {
            Happening::Lost(Loss::Refused { why }) => why,
            other => panic!("{other:?}"),
        }
    };
    let job = ToHost::Job(Box::new(order(&["--name=a", "--ioengine=null", "--size=4k"])));
    let why = refused(Happening::Message(encode(&job, &[])));
    assert_eq!(why, "the first message is not a hello");
    let why = refused(Happening::Message(b"x".to_vec()));
    assert_eq!(why, "the message has 1 bytes, too few for its content");
}

#[test]
fn a_server_refuses_what_its_policy_forbids_and_touches_nothing() {
    let scratch = Scratch::new("agent-policy");
    let allowed = scratch.0.join("allowed");
    std::fs::create_dir(&allowed).unwrap();
    let trace = scratch.0.join("trace");
    std::fs::write(&trace, "fio version 2 iolog\nsecret add\n").unwrap();
    let agent = Agent::with_policy(true, HostPolicy::server(&allowed));
    let mut peer = agent.peer();
    peer.hello(0);
    assert!(matches!(peer.message(), FromHost::Welcome(_)));
    let inside = format!("--filename={}", allowed.join("a").display());
    let outside = format!("--filename={}", scratch.0.join("allowed/../b").display());
    let log = format!("--write_bw_log={}", scratch.0.join("log").display());
    let library = format!("--ioengine=external:{}", trace.display());
    let trace = format!("--read_iolog={}", trace.display());
    let opendir = format!("--opendir={}", scratch.0.display());
    let aux_path = format!("--aux-path={}", scratch.0.display());
    let forbidden = [
        vec![&*outside],
        vec!["--filename=/dev/null"],
        vec![&inside, &log],
        vec![&inside, "--exec_prerun=touch /tmp/x"],
        vec![&inside, &library],
        vec![&inside, "--ioscheduler=none"],
        vec![&inside, "--uid=0"],
        vec![&inside, &trace],
        vec![&opendir],
        vec![&inside, "--mem=mmap:/tmp/fiord-agent-memory"],
        vec![&inside, "--verify=md5", "--rw=write", "--verify_dump=1", &aux_path],
        vec!["--ioengine=net", "--listen", "--port=1", "--rw=read"],
        vec!["--ioengine=exec", "--program=true"],
    ];
    for more in forbidden {
        let mut order = order(&["--name=a", "--size=4k"]);
        order.arguments.extend(more.iter().map(|argument| argument.to_string()));
        let shown = format!("{:?}", order.arguments);
        peer.order(order);
        let FromHost::Refused { text } = peer.message() else { panic!("{shown} is allowed") };
        assert!(text.starts_with("fiord: job `a`, option ") && text.contains("To fix: "), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
    let own = order(&["--remote-config=/etc/passwd"]);
    peer.order(own);
    let FromHost::Refused { text } = peer.message() else { panic!("the file is read") };
    assert!(text.contains("the policy of this host") && !text.contains("root:"), "{text}");
    std::fs::write(allowed.join("own.fio"), "[a]\nioengine=null\nsize=4k\ndescription=${PATH}\n")
        .unwrap();
    let own = format!("--remote-config={}", allowed.join("own.fio").display());
    peer.order(order(&[&own]));
    let FromHost::Refused { text } = peer.message() else { panic!("the variable is read") };
    assert!(text.contains("variable = PATH") && !text.contains("/bin"), "{text}");
    assert_eq!(scratch.files().len(), 2);
    for more in [vec![&*inside, "--rw=write"], vec!["--ioengine=null"], vec!["--ioengine=sim"]] {
        let mut order = order(&["--name=a", "--size=4k"]);
        order.arguments.extend(more.iter().map(|argument| argument.to_string()));
        peer.order(order);
        assert!(matches!(peer.message(), FromHost::Checked(_)), "{more:?}");
        peer.start();
        assert_eq!(peer.results().1.status, Some(0));
    }
}

#[test]
fn a_check_that_hangs_is_abandoned_by_an_agent_that_listens() {
    let scratch = Scratch::new("agent-fifo");
    let pipe = scratch.0.join("trace");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let trace = format!("--read_iolog={}", pipe.display());
    let job = ["--name=a", "--rw=read", "--size=4k", trace.as_str()];
    let agent = Agent::start(true);
    let mut first = agent.peer();
    first.hello(0);
    assert!(matches!(first.message(), FromHost::Welcome(_)));
    first.order(order(&job));
    first.tell(Happening::Lost(Loss::Closed { said: String::new() }));
    // The next coordinator need not wait for the pipe.
    let mut second = agent.peer();
    let nothing = ["--name=a", "--ioengine=null", "--size=4k"];
    second.checked(0, order(&nothing));
    second.start();
    assert_eq!(second.results().1.status, Some(0));
    second.say(&ToHost::Bye);
    // The check continues, and does nothing more. If it noticed the loss before it opened the pipe, the pipe has no reader: opening
    // it for reading, too, does not wait for a reader.
    drop(std::fs::OpenOptions::new().read(true).write(true).open(&pipe).unwrap());
}

#[test]
fn a_log_that_the_coordinator_cannot_write_stays_on_the_host() {
    let scratch = Scratch::new("agent-kept-log");
    let log = format!("--write_bw_log={}", scratch.0.join("x").display());
    let agent = Agent::start(false);
    let mut peer = agent.peer();
    let order = order(&["--name=a", "--ioengine=null", "--size=1m", "--bs=4k", &log]);
    peer.checked(0, JobOrder { fetch_logs: true, ..order });
    peer.start();
    let ended = loop {
        match peer.message() {
            FromHost::Log { number, last: true, .. } => {
                peer.say(&ToHost::Kept { number, failed: Some("the disk is full".into()) });
            }
            FromHost::Ended(ended) => break *ended,
            _ => {}
        }
    };
    let [copy] = &scratch.files()[..] else { panic!("{:?}", scratch.files()) };
    assert!(std::fs::read_to_string(copy).unwrap().lines().count() > 100);
    let [error] = &ended.errors[..] else { panic!("{ended:?}") };
    assert!(error.contains("x_bw.1.log: the disk is full. To fix: copy it"), "{error}");
    assert!(error.contains(&copy.display().to_string()), "{error}");
    // The user sees it while the results arrive.
    let is_told =
        |event: &Event| matches!(&event.kind, EventKind::SurvivedError { what } if what == error);
    assert!(peer.events.iter().any(is_told), "{:?}", peer.events);
}
