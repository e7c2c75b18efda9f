//! Runs the fiord binary in a temporary directory.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::sandbox::Sandbox;

/// Where temporary directories are made. Sockets are in some of them, and their paths have at most 107 bytes.
fn parent() -> PathBuf {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if target.as_os_str().len() > 70 { std::env::temp_dir() } else { target.into() }
}

/// Whether a command needs `/sys`, which some containers do not have. Says so.
pub(crate) fn lacks_sys(line: &str) -> bool {
    let lacks =
        line.split_whitespace().any(|word| word == "devices") && !Path::new("/sys/block").exists();
    if lacks {
        eprintln!("not possible here: `{line}` needs /sys, which is not mounted");
    }
    lacks
}

/// A temporary directory, removed when it is dropped.
pub(crate) struct Place(PathBuf, Option<Sandbox>);

impl Place {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let n = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = parent().join(format!("run-{}-{n}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Place(path, None)
    }

    /// Creates a directory outside of which programs can write nothing, for jobs that are wrong, random or
    /// hostile. Each path in `scratch`, such as `/etc`, becomes an empty directory for them. Prints the
    /// reason and returns `None` if no sandbox is possible; the test must then be skipped.
    pub(crate) fn confined(scratch: &[&str]) -> Option<Self> {
        let mut place = Place::new();
        place.1 = Some(Sandbox::new(&place.0, scratch)?);
        Some(place)
    }

    /// Creates a directory whose programs see mounts that no other test sees. Prints the reason and returns `None` if
    /// that is not possible.
    pub(crate) fn with_own_mounts() -> Option<Self> {
        let mut place = Place::new();
        place.1 = Some(Sandbox::of_mounts()?);
        Some(place)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).unwrap();
    }

    /// Returns the sorted names of the directory's entries.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        self.program(env!("CARGO_BIN_EXE_fiord"), line)
    }

    pub(crate) fn program(&self, program: &str, line: &str) -> Command {
        let mut command = self.program_in(&self.0, program);
        command.args(line.split_whitespace()).stdin(Stdio::null());
        command
    }

    /// Returns a command for a program in the directory, confined if this place is.
    pub(crate) fn program_in(&self, directory: &Path, program: &str) -> Command {
        match &self.1 {
            Some(sandbox) => sandbox.command(directory, program),
            None => {
                let mut command = Command::new(program);
                command.current_dir(directory);
                command
            }
        }
    }

    /// Returns a command for a shell command line, confined if this place is.
    pub(crate) fn shell(&self, script: &str) -> Command {
        let mut command = self.program_in(&self.0, "bash");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    /// Runs a shell command line, confined if this place is.
    pub(crate) fn script(&self, script: &str) -> Ran {
        Ran::from(self.shell(script).output().unwrap())
    }

    /// Runs fiord to its end in a subdirectory.
    pub(crate) fn run_in(&self, directory: &str, line: &str) -> Ran {
        let mut command = self.program_in(&self.path(directory), env!("CARGO_BIN_EXE_fiord"));
        command.args(line.split_whitespace()).stdin(Stdio::null());
        Ran::from(command.output().unwrap())
    }

    /// Runs fiord to its end.
    pub(crate) fn run(&self, line: &str) -> Ran {
        Ran::from(self.command(line).output().unwrap())
    }

    /// Runs fio with these arguments. `None`, with a message: fio is not installed, or it was killed after 300 s, because it
    /// sometimes never ends a short job with `io_submit_mode=offload`.
    pub(crate) fn fio(&self, line: &str) -> Option<Ran> {
        /// The status of `timeout` for a program that it killed, and for one that does not exist.
        const NO_RUN: [i32; 2] = [128 + 9, 127];
        let mut limited = self.program("timeout", &format!("-s KILL 300 fio {line}"));
        let ran = limited.output().ok().map(Ran::from);
        let ran = ran.filter(|ran| ran.status.is_some_and(|status| !NO_RUN.contains(&status)));
        if ran.is_none() {
            println!("skipped: fio is not installed, or does not end");
        }
        ran
    }

    /// Starts fiord and captures its output.
    pub(crate) fn start(&self, line: &str) -> Child {
        self.command(line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The output of a run.
#[derive(Debug)]
pub(crate) struct Ran {
    pub status: Option<i32>,
    pub out: String,
    pub err: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Ran {
            status: output.status.code(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

impl Ran {
    /// Requires success, and therefore nothing on standard error.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        assert_eq!((self.status, self.err.as_str()), (Some(0), ""), "{self:?}");
        self
    }

    /// Requires success, and permits progress on standard error.
    #[track_caller]
    pub(crate) fn ok_with_progress(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:?}");
        self
    }

    /// Parses all of standard output as one document.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        // fio sometimes prints text before the document.
        let from = if self.out.starts_with('{') { 0 } else { self.out.find("\n{").unwrap_or(0) };
        match serde_json::from_str(&self.out[from..]) {
            Ok(value) => value,
            Err(e) => panic!("{e}: {self:?}"),
        }
    }
}

impl Ran {
    /// Parses standard output as a sequence of documents.
    #[track_caller]
    pub(crate) fn documents(&self) -> Vec<Value> {
        documents(&self.out)
    }
}

/// Parses a sequence of documents.
#[track_caller]
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let all = serde_json::Deserializer::from_str(text).into_iter();
    all.map(|document| document.unwrap_or_else(|e| panic!("{e}: {text}"))).collect()
}

/// Name of a job, its error, and bytes and I/Os read, written and trimmed.
pub(crate) type Work = (String, i64, [(u64, u64); 3]);

/// Returns what each job did.
pub(crate) fn work(document: &Value) -> Vec<Work> {
    let jobs = document["jobs"].as_array().unwrap();
    let one = |job: &Value| {
        let dirs = ["read", "write", "trim"].map(|dir| {
            let number = |key: &str| job[dir][key].as_u64().unwrap();
            (number("io_bytes"), number("total_ios"))
        });
        let name = job["jobname"].as_str().unwrap().to_owned();
        (name, job["error"].as_i64().unwrap(), dirs)
    };
    jobs.iter().map(one).collect()
}

/// Sends a signal.
pub(crate) fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").arg(format!("-{name}")).arg(child.id().to_string()).status();
    assert!(status.unwrap().success());
}

/// The signals that end a run. A program that was started under `nohup`, as these tests may be, ignores SIGHUP.
pub(crate) fn heard_signals() -> Vec<&'static str> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap().trim();
    let ignored = u64::from_str_radix(ignored, 16).unwrap();
    [("INT", 2), ("TERM", 15), ("HUP", 1)]
        .into_iter()
        .filter(|(_, number)| ignored & 1 << (number - 1) == 0)
        .map(|(name, _)| name)
        .collect()
}

/// Waits until a run handles signals and has done some work.
#[track_caller]
pub(crate) fn under_way(child: &Child) {
    const SIGUSR1: u64 = 1 << (10 - 1);
    let caught = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"))?.trim().to_owned();
        u64::from_str_radix(&mask, 16).ok()
    };
    let from = Instant::now();
    while caught().is_none_or(|mask| mask & SIGUSR1 == 0) {
        assert!(from.elapsed() < Duration::from_secs(20), "no signal handlers");
        std::thread::sleep(Duration::from_millis(2));
    }
    some_work(child.id());
}

/// A moment in which nothing should happen.
pub(crate) fn a_moment() {
    std::thread::sleep(Duration::from_millis(400));
}

/// Waits until a thread of a process has slept many times, as one that polls does.
pub(crate) fn one_polls(process: u32) {
    until("a thread polls", || threads(process).any(|thread| sleeps(&thread) >= Some(500)));
}

/// The directories of the threads of a process in `/proc`.
fn threads(process: u32) -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten();
    entries.flatten().map(|thread| thread.path())
}

/// How often a thread has slept.
fn sleeps(thread: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(thread.join("status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"))?;
    line.trim().parse().ok()
}

/// CPU time of a process or thread in ticks of 10 ms; `None`: it has ended.
fn ticks(task: &Path) -> Option<u64> {
    let text = std::fs::read_to_string(task.join("stat")).ok()?;
    let fields: Vec<&str> = text.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field)?.parse::<u64>().ok();
    (fields.first() != Some(&"Z")).then_some(ticks(11)? + ticks(12)?)
}

/// Waits until a process has had time to do some work, and has used it: on a busy machine a time says nothing.
pub(crate) fn some_work(process: u32) {
    let (from, before) = (Instant::now(), on_cpu(process));
    let least = Duration::from_millis(400);
    let patience = Duration::from_secs(3);
    while from.elapsed() < least || from.elapsed() < patience && on_cpu(process) == before {
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until a process that does not sleep has used the CPU for some ticks.
pub(crate) fn more_ios(process: u32) {
    let before = on_cpu(process);
    until("more I/Os", || on_cpu(process) > before.map(|ticks| ticks + 2));
}

/// CPU time of a process in ticks.
fn on_cpu(process: u32) -> Option<u64> {
    ticks(Path::new(&format!("/proc/{process}")))
}

/// Waits until a job of a run that is under way has done some I/Os: a thread of it has computed for a tick, or slept often.
pub(crate) fn some_ios(child: &Child) {
    under_way(child);
    let main = PathBuf::from(format!("/proc/{0}/task/{0}", child.id()));
    until("an I/O", || {
        let mut jobs = threads(child.id()).filter(|thread| *thread != main);
        jobs.any(|thread| ticks(&thread) > Some(0) || sleeps(&thread) > Some(30))
    });
}

/// Waits until a condition holds. Panics after two minutes.
#[track_caller]
pub(crate) fn until(what: &str, mut has_happened: impl FnMut() -> bool) {
    let patience = Instant::now() + Duration::from_secs(120);
    while !has_happened() {
        assert!(Instant::now() < patience, "did not happen: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Waits for the end, with a time limit.
#[track_caller]
pub(crate) fn end(mut child: Child, at_most: Duration) -> Ran {
    // A long report fills a pipe without a reader, and the process would wait for the test.
    let reader = |pipe: Option<Box<dyn Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let _ = pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
            bytes
        })
    };
    let stdout = reader(child.stdout.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let stderr = reader(child.stderr.take().map(|pipe| Box::new(pipe) as Box<dyn Read + Send>));
    let from = Instant::now();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if from.elapsed() > at_most => {
                let _ = child.kill();
                let _ = child.wait();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
    let Some(status) = status else {
        let stderr = String::from_utf8_lossy(&stderr);
        panic!("it did not end; it wrote {} bytes; {stderr}", stdout.len());
    };
    Ran::from(Output { status, stdout, stderr })
}
