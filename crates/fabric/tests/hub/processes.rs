//! Peers that are processes.

use std::time::{Duration, Instant};

use fiord_fabric::contract::{Fabric, Loss, MAX_QUEUE};
use fiord_fabric::frame::MAX_BODY;
use fiord_fabric::hub::Hub;
use fiord_types::HostIndex;

use crate::{after, loss, message};

fn shell(hub: &mut Hub, line: &str) -> HostIndex {
    hub.start(&["sh".into(), "-c".into(), line.into()])
}

/// The loss of a peer that was started by this line of shell.
fn loss_of(line: &str) -> String {
    let mut hub = Hub::new().unwrap();
    let peer = shell(&mut hub, line);
    let (from, loss) = loss(&mut hub);
    assert_eq!(from, peer);
    loss.to_string()
}

#[test]
fn a_process_gets_and_sends_messages() {
    let mut hub = Hub::new().unwrap();
    let peer = hub.start(&["cat".into()]);
    hub.trust(peer);
    let long = vec![7; MAX_BODY];
    for body in [&b"hello"[..], b"", &long] {
        hub.send(peer, body.to_vec());
        assert!(message(&mut hub) == (peer, body.to_vec()));
    }
    assert_eq!((hub.queued(peer).0, hub.size()), (0, 1));
    hub.close(peer);
    hub.send(peer, b"gone".to_vec());
    assert_eq!(hub.receive(after(Duration::from_millis(50))), None);
}

#[test]
fn a_process_that_fails_says_why() {
    let refused =
        loss_of("echo 'ssh: connect to host n01 port 22: Connection refused' >&2; exit 255");
    let wanted = "(exit status 255): ssh: connect to host n01 port 22: Connection refused. To fix: run the command by \
                  hand; it must not ask for anything";
    assert!(refused.ends_with(wanted), "{refused}");
    let absent = loss_of("fiord-that-is-not-installed agent");
    assert!(
        absent.contains("exit status 127") && absent.contains("install fiord on the host"),
        "{absent}"
    );
    let killed = loss_of("kill -9 $$");
    assert!(killed.contains("killed by signal 9"), "{killed}");
    let mut hub = Hub::new().unwrap();
    hub.start(&["/nonexistent/ssh".into()]);
    let text = loss(&mut hub).1.to_string();
    assert!(text.starts_with("cannot start `/nonexistent/ssh`: execve"), "{text}");
    hub.start(&[]);
    assert!(matches!(loss(&mut hub).1, Loss::NotReached { .. }));
}

#[test]
fn text_of_a_login_script_is_shown_and_not_answered() {
    // The shell at the other end would run an answer.
    let text = loss_of("echo Welcome to n01; cat >&2");
    assert!(text.starts_with("the peer printed `Welcome to n01` where fiord's protocol"), "{text}");
}

#[test]
fn a_killed_process_is_lost_at_once() {
    let mut hub = Hub::new().unwrap();
    let peer = shell(&mut hub, "echo $$ >&2; echo bye >&2; head -c 17; kill -9 $$");
    hub.send(peer, b"hello".to_vec());
    assert_eq!(message(&mut hub), (peer, b"hello".to_vec()));
    let wanted = Loss::Closed { said: "bye (killed by signal 9)".into() };
    assert_eq!(loss(&mut hub), (peer, wanted));
}

#[test]
fn a_stopped_process_stalls_and_does_not_block_the_others() {
    let mut hub = Hub::new().unwrap();
    let stopped = shell(&mut hub, "kill -STOP $$");
    let other = hub.start(&["cat".into()]);
    let begin = Instant::now();
    while hub.queued(stopped).0 <= (MAX_QUEUE + MAX_BODY) as u64 {
        hub.send(stopped, vec![0; MAX_BODY]);
    }
    hub.send(other, b"hello".to_vec());
    assert_eq!(message(&mut hub), (other, b"hello".to_vec()));
    assert_eq!(hub.receive(after(Duration::from_secs(1))), None);
    hub.send(stopped, vec![0]);
    let (from, loss) = loss(&mut hub);
    assert!(from == stopped && matches!(loss, Loss::Stalled { .. }), "{loss}");
    // It ignores the end of its input, and is killed.
    drop(hub);
    assert!(begin.elapsed() < Duration::from_secs(30));
}

#[test]
fn an_abandoned_process_is_not_waited_for() {
    let mut hub = Hub::new().unwrap();
    // It does not read its input, and ends by itself.
    let peer = hub.start(&["sleep".into(), "12".into()]);
    assert_eq!(hub.receive(after(Duration::from_millis(50))), None);
    hub.abandon(peer);
    let begin = Instant::now();
    drop(hub);
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
}

#[test]
fn at_most_64_processes_start_at_once() {
    let mut hub = Hub::new().unwrap();
    let directory = std::env::temp_dir().join(format!("fiord-hub-{}", std::process::id()));
    std::fs::create_dir(&directory).unwrap();
    let mark = format!("touch {}/$$; exec cat", directory.display());
    let peers: Vec<_> = (0..100).map(|_| shell(&mut hub, &mark)).collect();
    let count = || std::fs::read_dir(&directory).unwrap().count();
    while count() < 64 {
        assert_eq!(hub.receive(after(Duration::from_millis(10))), None);
    }
    assert_eq!(hub.receive(after(Duration::from_millis(200))), None);
    assert_eq!(count(), 64);
    // A process that has spoken has started. A message to one that waits is kept.
    for peer in &peers {
        hub.send(*peer, peer.0.to_le_bytes().to_vec());
    }
    let mut heard: Vec<_> = peers.iter().map(|_| message(&mut hub)).collect();
    heard.sort();
    assert!(
        heard
            .iter()
            .zip(&peers)
            .all(|((from, body), peer)| { from == peer && body[..] == peer.0.to_le_bytes() })
    );
    drop(hub);
    std::fs::remove_dir_all(directory).unwrap();
}

/// The name of the test that is an agent on standard input and output.
const AGENT: &str = "processes::an_agent_on_standard_input_and_output";

#[test]
fn an_agent_on_standard_input_and_output() {
    if std::env::var_os("FIORD_HUB_AGENT").is_some() {
        return echo();
    }
    let mut hub = Hub::new().unwrap();
    let program = std::env::current_exe().unwrap();
    // The output of the test harness does not belong into the stream.
    let line = format!(
        "FIORD_HUB_AGENT=1 exec {} --exact {AGENT} --nocapture 3>&1 1>/dev/null",
        program.display()
    );
    let agent = shell(&mut hub, &line);
    hub.trust(agent);
    for body in [&b"hello"[..], &vec![1; 60_000], b"end"] {
        hub.send(agent, body.to_vec());
        assert!(message(&mut hub) == (agent, body.to_vec()));
    }
    let (_, loss) = loss(&mut hub);
    assert_eq!(loss, Loss::Refused { why: "this is the end".into() });
}

/// Sends every message back.
fn echo() {
    let stream = std::fs::File::options().write(true).open("/proc/self/fd/3").unwrap();
    rustix::stdio::dup2_stdout(&stream).unwrap();
    drop(stream);
    let mut hub = Hub::stdio().unwrap();
    println!("this is not a message");
    loop {
        let (coordinator, body) = message(&mut hub);
        let is_last = body == b"end";
        hub.send(coordinator, body);
        if is_last {
            hub.refuse(coordinator, "this is the end");
            return;
        }
    }
}

#[test]
fn four_hundred_processes_do_not_need_a_larger_limit_on_files() {
    use std::process::Command;
    // A soft limit of 1024 open files is usual; each process needs three.
    const CHILD: &str = "FIORD_HUB_FEW_FILES";
    if std::env::var_os(CHILD).is_none() {
        let test = "processes::four_hundred_processes_do_not_need_a_larger_limit_on_files";
        let program = std::env::current_exe().unwrap();
        let line = format!("ulimit -S -n 1024; exec {} --exact {test}", program.display());
        let status = Command::new("sh").args(["-c", &line]).env(CHILD, "1").status().unwrap();
        assert!(status.success());
        return;
    }
    let mut hub = Hub::new().unwrap();
    for _ in 0..400 {
        let peer = hub.start(&["cat".into()]);
        hub.send(peer, peer.0.to_le_bytes().to_vec());
    }
    for _ in 0..400 {
        let (from, body) = message(&mut hub);
        assert_eq!(body, from.0.to_le_bytes());
    }
}
