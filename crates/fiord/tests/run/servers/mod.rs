//! Engines that connect to servers with storage, on real servers: `body` has the tests that all engines share, and each
//! engine has a module that starts its servers.

mod body;
mod ceph;
mod gluster;
mod http;
mod iscsi;
mod missing_libraries;
mod nbd;
mod nfs;
mod relay;
mod swift;

use std::fs::File;
use std::io::{Read, Seek};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use self::relay::Relay;
use crate::fiord::Place;

/// A server. It ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Server(Child);

impl Server {
    /// Starts a server, and waits until it answers. `None`, with a message: the program is not installed.
    #[track_caller]
    pub(crate) fn start(command: &mut Command, answers: impl Fn() -> bool) -> Option<Self> {
        let name = command.get_program().to_string_lossy().into_owned();
        let printed = unnamed_file();
        let output = || Stdio::from(printed.try_clone().unwrap());
        let started = command.stdin(Stdio::null()).stdout(output()).stderr(output()).spawn();
        let Ok(child) = started else {
            eprintln!("skipped: {name} is not installed");
            return None;
        };
        let mut server = Server(child);
        let until = Instant::now() + Duration::from_secs(60);
        while !answers() {
            if let Some(status) = server.0.try_wait().unwrap() {
                let mut text = Vec::new();
                (&printed).rewind().and_then(|()| (&printed).read_to_end(&mut text)).unwrap();
                let text = String::from_utf8_lossy(&text);
                panic!("{name} ended: {status}: {command:?}\n{text}");
            }
            assert!(Instant::now() < until, "{name} does not answer");
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(server)
    }

    /// Kills the server, and waits until it has ended.
    pub(crate) fn kill(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Creates a file without a name. The kernel frees it when it is closed.
fn unnamed_file() -> File {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("fiord-tests-server-{}-{number}", std::process::id());
    let path = std::env::temp_dir().join(name);
    let file = File::options().read(true).append(true).create_new(true).open(&path).unwrap();
    std::fs::remove_file(path).unwrap();
    file
}

/// A server process that does not answer until this value is dropped.
pub(crate) struct Frozen(u32);

impl Frozen {
    pub(crate) fn new(process: u32) -> Self {
        let status = Command::new("kill").args(["-STOP", &process.to_string()]).status();
        assert!(status.is_ok_and(|status| status.success()), "process {process}");
        Frozen(process)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        let _ = Command::new("kill").args(["-CONT", &self.0.to_string()]).status();
    }
}

/// The values of variables that `cargo xtask servers` sets. `None`, with a message: it does not run this test.
pub(crate) fn external<const N: usize>(names: [&str; N], servers: &str) -> Option<[String; N]> {
    let values = names.map(|name| std::env::var(name).ok());
    if values.iter().any(Option::is_none) {
        eprintln!(
            "skipped: `cargo xtask servers --only {servers}` starts the servers and runs this test"
        );
        return None;
    }
    Some(values.map(Option::unwrap_or_default))
}

/// Whether fio is installed and has an engine. Packages of fio lack some of them. Prints that, if not.
pub(crate) fn fio_has(place: &Place, engine: &str) -> bool {
    let listed =
        place.fio("--enghelp").is_some_and(|ran| ran.out.lines().any(|line| line.trim() == engine));
    if !listed {
        eprintln!("not possible here: no fio with ioengine={engine}");
    }
    listed
}

/// Whether fio verifies a file that fiord wrote. fio 3.33 expects a checksum in the headers of blocks that later versions
/// do not write. Prints that, if not.
pub(crate) fn fio_verifies(place: &Place) -> bool {
    let job = "--name=h --filename=headers --bs=4k --size=4k --verify=crc32c";
    place.run(&format!("{job} --rw=write --do_verify=0")).ok();
    let verifies = place.fio(&format!("{job} --rw=read")).is_some_and(|ran| ran.status == Some(0));
    if !verifies {
        eprintln!("not possible here: this fio has headers of another form");
    }
    verifies
}

/// A port that nothing listens on, and that no other test gets.
pub(crate) fn free_port() -> u16 {
    crate::ports::free(1)
}

/// Whether something listens on a port of the loopback interface.
pub(crate) fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// A server with one target, for the tests that all engines share.
pub(crate) trait Service: Sized {
    /// Whether a request without an answer fails after `endpoint_timeout`.
    const HAS_TIMEOUT: bool = true;

    /// The `endpoint_timeout` of a server that stops, and the time after which requests are given up at the earliest, s.
    const PATIENCE: (u64, u64) = (2, 2);

    /// Options of a job whose reads all reach the server.
    const UNCACHED: &str = "";

    /// Loads that fio does correctly with this engine.
    const LOADS_OF_FIO: &[&str] = &[
        "--rw=write",
        "--rw=read",
        "--rw=randwrite --iodepth=4 --verify=crc32c",
        "--rw=randread --iodepth=4 --io_size=64k",
    ];

    /// Starts the server, with its files below the place. The target has [`body::SIZE`] bytes, or grows. `None`, with a
    /// message: the server is not installed.
    fn start(place: &Place) -> Option<Self>;

    /// The options of a job on the target: `ioengine` and what names the target.
    fn job(&self) -> String;

    /// The options of a job whose server does not exist.
    fn nowhere(&self) -> String;

    /// The first bytes of the target, read with another client. Jobs wrote them in blocks of `block` bytes. `None`, with a
    /// message: the client is not installed.
    fn contents(&self, place: &Place, block: usize, len: usize) -> Option<Vec<u8>>;

    /// The process that serves the target.
    fn server(&mut self) -> &mut Server {
        unreachable!("all tests use one server")
    }

    /// Stops the server of a job that is under way. The server keeps its connections and does not answer.
    fn freeze(&mut self, _job: &Child) -> Frozen {
        Frozen::new(self.server().0.id())
    }
}

/// A server that jobs can reach through a relay, which cuts their connections.
pub(crate) trait Relayed: Service {
    /// Whether a job that continues after errors ends if it cannot connect again.
    const ENDS_WITHOUT_SERVER: bool = true;

    /// A relay to the server, and the options of a job that connects through it.
    fn relayed(&self) -> (Relay, String);
}
