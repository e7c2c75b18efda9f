//! `fiord --server`, with a test as its client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use fiord_fabric::contract::{Happening, Loss};
use fiord_fabric::hub::{Endpoint, Hub};
use fiord_fabric::message::{FromHost, ToHost};
use fiord_types::HostIndex;

use crate::agent::Agents;
use crate::fiord::{Place, Ran, end, signal};

const HOST: HostIndex = HostIndex(0);
const SOON: Duration = Duration::from_secs(20);

/// A server in the directory of the test.
struct Server {
    /// `None` after [`Server::stop`].
    child: Option<Child>,
    endpoint: Endpoint,
}

impl Server {
    #[track_caller]
    fn start(place: &Place, options: &str) -> Server {
        let mut command = place.command(options);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("fiord: server listening on ");
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        let endpoint = match address.contains(',') {
            true => Endpoint::parse(&address).unwrap(),
            false => Endpoint::Unix(place.path(&address)),
        };
        Server { child: Some(child), endpoint }
    }

    fn connect(&self) -> Agents {
        Agents::connect(Hub::new().unwrap(), &self.endpoint)
    }

    /// Ends the server by SIGTERM.
    #[track_caller]
    fn stop(mut self) -> Ran {
        let child = self.child.take().unwrap();
        signal(&child, "TERM");
        end(child, SOON)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

#[test]
fn a_server_runs_the_jobs_of_one_client_after_the_other() {
    let place = Place::new();
    let server = Server::start(&place, "--server=127.0.0.1,0");
    let mut first = server.connect();
    first.run(&["--name=a", "--rw=write", "--size=64k", "--filename=x"]);
    assert_eq!(first.ended().status, Some(0));
    assert_eq!(std::fs::metadata(place.path("x")).unwrap().len(), 65536);
    let mut second = server.connect();
    let (_, FromHost::Busy { holder }) = second.message() else { panic!("not busy") };
    assert!(holder.starts_with("a test (127.0.0.1:"), "{holder}");
    assert!(matches!(second.next().1, Happening::Lost(Loss::Closed { .. })));
    first.say(HOST, &ToHost::Bye);
    assert!(matches!(first.next().1, Happening::Lost(_)));
    let mut third = server.connect();
    third.run(&["--name=a", "--ioengine=null", "--size=64k"]);
    assert_eq!(third.ended().status, Some(0));
    third.say(HOST, &ToHost::Bye);
    assert!(matches!(third.next().1, Happening::Lost(_)));
    let ran = server.stop();
    assert_eq!(ran.status, Some(0), "{ran:?}");
    assert!(ran.err.contains("fiord: server: refused a test (127.0.0.1:"), "{ran:?}");
}

#[test]
fn a_client_that_disappears_leaves_no_files_and_no_load() {
    let place = Place::new();
    let server = Server::start(&place, "--server=sock:s");
    let mut client = server.connect();
    let jobs =
        ["--name=a", "--rw=write", "--size=64k", "--filename=x", "--time_based", "--runtime=60"];
    client.run(&jobs);
    assert!(place.path("x").exists());
    drop(client);
    let since = Instant::now();
    while place.path("x").exists() {
        assert!(since.elapsed() < Duration::from_secs(20), "x still exists");
        std::thread::sleep(Duration::from_millis(10));
    }
    let mut next = server.connect();
    assert!(matches!(next.message(), (_, FromHost::Welcome(_))));
}

#[test]
fn jobs_stay_in_the_servers_directory_unless_its_policy_allows_more() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("other")).unwrap();
    let outside = format!("--filename={}", place.path("outside").display());
    place.write("policy", format!("directory = {}\n", place.path("other").display()));
    let server = Server::start(&place, "--server=sock:s --policy=policy");
    let refused = |arguments: &[&str]| {
        let mut client = server.connect();
        assert!(matches!(client.message(), (_, FromHost::Welcome(_))));
        client.order(HOST, arguments);
        match client.message() {
            (_, FromHost::Refused { text }) => text,
            other => panic!("{other:?}"),
        }
    };
    let text = refused(&["--name=a", "--rw=write", "--size=4k", &outside]);
    assert!(text.contains("the policy of this host does not allow the file"), "{text}");
    let text = refused(&[
        "--name=a",
        "--rw=write",
        "--size=4k",
        "--filename=other/x",
        "--exec_prerun=true",
    ]);
    assert!(text.contains("exec = yes"), "{text}");
    assert!(!place.path("outside").exists());
    let jobs = format!("--name=a --rw=write --size=4k {outside}");
    let ran = place.run(&format!("--client=sock:s --output-format=json {jobs}"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("the policy of this host does not allow the file"), "{ran:?}");
    assert!(ran.json()["fiord"]["findings"].is_null(), "{ran:?}");
    let mut client = server.connect();
    client.run(&["--name=a", "--rw=write", "--size=4k", "--filename=other/x"]);
    assert_eq!(client.ended().status, Some(0));
}

#[test]
fn other_machines_need_keys_or_a_decision() {
    let place = Place::new();
    let mut command = place.command("--server=0.0.0.0,0");
    let ran = Ran::from(command.env("XDG_CONFIG_HOME", place.path("none")).output().unwrap());
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("fiord keys create") && ran.err.contains("--insecure"), "{ran:?}");
    let server = Server::start(&place, "--server=,0 --insecure");
    let Endpoint::Tcp { port, version, .. } = server.endpoint.clone() else { panic!("no port") };
    let near = Endpoint::Tcp { host: "127.0.0.1".into(), port, version };
    let mut client = Agents::connect(Hub::new().unwrap(), &near);
    assert!(matches!(client.message(), (_, FromHost::Welcome(_))));
    client.say(HOST, &ToHost::Bye);
    assert!(matches!(client.next().1, Happening::Lost(_)));
    place.write("a.fio", "[a]\nioengine=null\nsize=1m\n");
    let ran = place.run(&format!("--client=127.0.0.1,{port} --insecure a.fio")).ok();
    assert!(ran.out.contains("were not protected (--insecure)"), "{ran:?}");
}

/// Makes a key in a directory of the test. Returns its fingerprint.
fn key(place: &Place, directory: &str) -> String {
    let ran = place.run(&format!("keys --keys={directory} create")).ok();
    let mut words = ran.out.split_whitespace();
    words.find(|word| word.starts_with("SHA256:")).unwrap().to_owned()
}

#[test]
fn a_client_with_a_trusted_key_runs_jobs_and_one_with_another_key_does_not() {
    let place = Place::new();
    let (server_key, client_key, other_key) =
        (key(&place, "s"), key(&place, "c"), key(&place, "o"));
    place.run(&format!("keys --keys=s trust {client_key} client")).ok();
    for directory in ["c", "o"] {
        place.run(&format!("keys --keys={directory} trust {server_key} server")).ok();
    }
    let server = Server::start(&place, "--server=127.0.0.1,0 --keys=s");
    let port = server.endpoint.port().unwrap();
    place.write("a.fio", "[a]\nioengine=null\nsize=1m\n");
    let client = |keys: &str| {
        place.run(&format!("--client=127.0.0.1,{port} {keys} --output-format=json a.fio"))
    };
    let document = client("--keys=c").ok().json();
    assert_eq!(document["client_stats"][0]["read"]["io_bytes"], 1 << 20);
    assert_eq!(document["client_stats"][0]["port"], port);
    let ran = client("--keys=o");
    assert!(ran.status == Some(249) && ran.err.contains(&other_key), "{ran:?}");
    let ran = client("");
    assert!(ran.status == Some(249) && ran.err.contains("keys"), "{ran:?}");
    let ran = server.stop();
    assert!(ran.err.contains("client (127.0.0.1") || ran.err.contains("key of client"), "{ran:?}");
    assert!(ran.err.contains(&other_key), "{ran:?}");
}

/// Another program at the address of a host is an error before the run, not a lost host.
#[test]
fn a_server_of_fio_is_refused_with_status_1() {
    let place = Place::new();
    // The first bytes of fio 3.42's server: the head of its answer to a client.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(
                b"\x79\0\x0a\0\0\0\0\0\xb0\xf7\xd3\xd6\xf6\x55\0\0\x70\0\0\0\xe6\x45\x5f\xec",
            );
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    place.write("a.fio", "[a]\nioengine=null\nsize=1m\n");
    for options in ["", "--on-lost=continue"] {
        let ran = place.run(&format!("--client=127.0.0.1,{port} a.fio {options}"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(
            ran.err.contains("fio cannot talk to it. To fix: use fiord on both sides"),
            "{ran:?}"
        );
    }
}

/// A client of fio prints what this server says, and ends with an error.
#[test]
fn a_client_of_fio_reads_why_it_is_refused() {
    let place = Place::new();
    let server = Server::start(&place, "--server=127.0.0.1,0");
    let port = server.endpoint.port().unwrap();
    place.write("a.fio", "[a]\nioengine=null\nsize=1m\nrw=read\n");
    let Some(ran) = place.fio(&format!("--client=127.0.0.1,{port} a.fio")) else { return };
    assert_ne!(ran.status, Some(0), "{ran:?}");
    let all = format!("{}{}", ran.out, ran.err);
    assert!(all.contains("fiord: this is fiord") && !all.contains("bad crc"), "{ran:?}");
    drop(server);
}

#[test]
fn clients_run_their_job_files_and_those_of_the_server() {
    let place = Place::new();
    let server = Server::start(&place, "--server=127.0.0.1,0");
    let port = server.endpoint.port().unwrap();
    place.write("near.fio", "[a]\nioengine=null\nsize=1m\n[b]\nioengine=null\nsize=1m\n");
    place.write("far.fio", "[far]\nioengine=null\nsize=2m\n");
    let line = format!("--client=127.0.0.1,{port} near.fio");
    let ran = place.run(&line).ok();
    assert!(ran.out.contains("All clients: (groupid=0, jobs=2)"), "{ran:?}");
    let line = format!("--client=127.0.0.1,{port} --remote-config=far.fio --output-format=json");
    let document = place.run(&line).ok().json();
    assert_eq!(document["client_stats"][0]["jobname"], "far");
    let line = format!("--client=127.0.0.1,{port} --remote-config=/etc/passwd");
    let ran = place.run(&line);
    assert!(ran.status != Some(0) && ran.err.contains("the policy of this host"), "{ran:?}");
}

#[test]
fn a_server_goes_on_in_the_background() {
    let place = Place::new();
    let ran = place.run("--server=sock:s --daemonize=pid").ok();
    assert_eq!(ran.out, "fiord: server listening on s\n");
    let pid = std::fs::read_to_string(place.path("pid")).unwrap().trim().to_owned();
    let kill = |signal: &str| std::process::Command::new("kill").args([signal, &pid]).status();
    let ran = place.run("--server=sock:t --daemonize=pid");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains(&format!("a server with process id {pid} is running")), "{ran:?}");
    let endpoint = Endpoint::Unix(place.path("s"));
    let mut client = Agents::connect(Hub::new().unwrap(), &endpoint);
    client.run(&["--name=a", "--ioengine=null", "--size=64k"]);
    assert_eq!(client.ended().status, Some(0));
    client.say(HOST, &ToHost::Bye);
    assert!(kill("-TERM").unwrap().success());
    let since = Instant::now();
    while place.path("pid").exists() {
        assert!(since.elapsed() < SOON || !kill("-KILL").unwrap().success(), "pid still exists");
        std::thread::sleep(Duration::from_millis(10));
    }
    let ran = place.run("--server=nowhere.invalid --daemonize=pid");
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains("nowhere.invalid"), "{ran:?}");
}

#[test]
fn arguments_of_a_client_cannot_fire_a_trigger_here() {
    let place = Place::new();
    place.write("mine", "x");
    let server = Server::start(&place, "--server=sock:s");
    let mut client = server.connect();
    let jobs = "--trigger-timeout=1 --trigger-file=mine --trigger=touch<hacked --trigger-remote=touch<hacked --name=a \
                --ioengine=null --size=1g --rate_iops=1000 --time_based --runtime=3";
    let jobs: Vec<String> = jobs.split(' ').map(|word| word.replace('<', " ")).collect();
    client.run(&jobs.iter().map(String::as_str).collect::<Vec<_>>());
    let ended = client.ended();
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(place.path("mine").exists() && !place.path("hacked").exists());
}

#[test]
fn files_that_may_only_be_read_are_neither_created_nor_removed() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("ro/dir")).unwrap();
    place.write("ro/keep", vec![1; 65536]);
    let ro = place.path("ro").display().to_string();
    place.write("policy", format!("read-only-directory = {ro}\nread-only = yes\n"));
    let _server = Server::start(&place, "--server=sock:s --policy=policy");
    for (rest, name) in [
        ("--ioengine=filedelete", "keep"),
        ("--ioengine=dirdelete", "dir"),
        ("--ioengine=filecreate", "made"),
        ("--ioengine=dircreate", "made"),
        ("--unlink_each_loop=1 --loops=2", "keep"),
        ("--unlink=1", "keep"),
        ("--ioengine=falloc", "keep"),
    ] {
        let job = format!(
            "--name=a --rw=read --bs=4k --filesize=4k --size=4k --filename={ro}/{name} {rest}"
        );
        let ran = place.run(&format!("--client=sock:s {job}"));
        assert_eq!(ran.status, Some(1), "{rest}: {ran:?}");
        assert!(ran.err.contains("forbids writes to"), "{rest}: {ran:?}");
    }
    let left = std::fs::read(place.path("ro/keep")).unwrap();
    assert!(
        left.len() == 65536 && place.path("ro/dir").exists() && !place.path("ro/made").exists()
    );
    let read = format!("--client=sock:s --name=a --rw=read --size=4k --filename={ro}/keep");
    assert_eq!(place.run(&read).status, Some(0));
}

#[test]
fn a_server_without_a_policy_does_not_offer_the_whole_machine() {
    let place = Place::new();
    let mut command = place.program_in(std::path::Path::new("/"), env!("CARGO_BIN_EXE_fiord"));
    let ran = Ran::from(command.arg("--server=127.0.0.1,0").output().unwrap());
    assert!(ran.status == Some(1) && ran.err.contains("--policy=FILE"), "{ran:?}");
}

#[test]
fn the_options_of_a_server_need_a_server_without_jobs() {
    let place = Place::new();
    let ran = place.run("--daemonize=pid --name=a --ioengine=null --size=4k");
    assert!(
        ran.status == Some(1) && ran.err.contains("--daemonize is an option of servers"),
        "{ran:?}"
    );
    let ran = place.run("--server --name=a --ioengine=null --size=4k");
    assert!(ran.status == Some(1) && ran.err.contains("it runs the jobs of clients"), "{ran:?}");
}

#[test]
fn hostile_peers_are_refused_and_logged_and_the_server_goes_on() {
    let place = Place::new();
    let server = Server::start(&place, "--server=127.0.0.1,0");
    let port = server.endpoint.port().unwrap();
    let answer = |bytes: &[u8]| {
        let mut peer = TcpStream::connect(("127.0.0.1", port)).unwrap();
        peer.set_read_timeout(Some(SOON)).unwrap();
        peer.write_all(bytes).unwrap();
        let mut answer = Vec::new();
        // The server may reset the connection after its answer.
        let _ = peer.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    };
    let frame = |version: u16, length: u32| {
        let mut frame = b"FIRD".to_vec();
        frame.extend_from_slice(&version.to_le_bytes());
        frame.extend_from_slice(&1_u16.to_le_bytes());
        frame.extend_from_slice(&length.to_le_bytes());
        frame
    };
    assert!(answer(&frame(1, u32::MAX)).contains("a frame of 4294967295 bytes"));
    assert!(answer(&frame(9, 4)).contains("version 9"));
    assert!(answer(b"GET / HTTP/1.1\r\n\r\n").contains("HTTP"));
    let mut no_hello = frame(1, 15);
    no_hello.extend_from_slice(&11_u32.to_le_bytes());
    no_hello.extend_from_slice(b"\"heartbeat\"");
    assert!(answer(&no_hello).contains("the first message is not a hello"));
    let mut client = server.connect();
    client.run(&["--name=a", "--ioengine=null", "--size=64k"]);
    assert_eq!(client.ended().status, Some(0));
    drop(client);
    let ran = server.stop();
    let refused = ran.err.lines().filter(|line| line.contains("refused 127.0.0.1:")).count();
    assert_eq!(refused, 4, "{ran:?}");
}

#[test]
fn refused_jobs_are_logged_as_refused() {
    let place = Place::new();
    let server = Server::start(&place, "--server=127.0.0.1,0");
    let port = server.endpoint.port().unwrap();
    let line = format!(
        "--client=127.0.0.1,{port} --name=a --rw=write --size=4k --filename=/var/tmp/fiord-no"
    );
    let ran = place.run(&line);
    assert_eq!(ran.status, Some(1), "{ran:?}");
    let ran = server.stop();
    let refused = ran.err.lines().find(|line| line.contains("refused the jobs of "));
    let refused = refused.unwrap_or_else(|| panic!("{ran:?}"));
    assert!(refused.contains("the policy of this host does not allow the file"), "{ran:?}");
    assert!(
        !ran.err.contains("are removed") && !ran.err.contains(": fiord: the policy"),
        "{ran:?}"
    );
}

#[test]
fn servers_with_one_name_have_no_logs_that_overwrite_each_other() {
    let place = Place::new();
    let one = Server::start(&place, "--server=127.0.0.1,0");
    let two = Server::start(&place, "--server=127.0.0.1,0");
    let ports = [&one, &two].map(|server| server.endpoint.port().unwrap());
    place.write("l.fio", "[a]\nioengine=null\nrw=read\nsize=64k\nwrite_iops_log=x\n");
    let line = |name: &str| {
        format!("--client=127.0.0.1,{} l.fio --client={name},{} l.fio", ports[0], ports[1])
    };
    let ran = place.run(&line("127.0.0.1"));
    assert_eq!(ran.status, Some(1), "{ran:?}");
    assert!(ran.err.contains(&format!("(number 2, port {})", ports[1])), "{ran:?}");
    assert!(ran.err.contains("such as localhost and 127.0.0.1"), "{ran:?}");
    place.run(&line("localhost")).ok();
    assert!(place.path("x_iops.1.log.127.0.0.1").exists());
    assert!(place.path("x_iops.1.log.localhost").exists());

    place.write("c.fio", "[a]\nrw=read\nsize=64k\nfilename=made\ncreate_only=1\n");
    place.run(&format!("--client=127.0.0.1,{} c.fio", ports[0])).ok();
    assert_eq!(std::fs::metadata(place.path("made")).unwrap().len(), 65536);
}
