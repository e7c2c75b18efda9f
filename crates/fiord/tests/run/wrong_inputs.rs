//! Tests of hundreds of wrong inputs: exit status 1, a message on standard error, on standard output nothing or a
//! document of jobs that have failed, and no new file.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::fiord::{Place, Ran};

#[path = "../../../job/tests/wrong/inputs.rs"]
#[allow(dead_code)]
mod inputs;

/// A place whose directory `work` must stay empty; the job files are next to it.
struct Desk(Place);

impl Desk {
    /// Creates the place in a sandbox: a job that fiord wrongly accepts must not damage this machine.
    fn new() -> Option<Self> {
        let place = Place::confined(&[])?;
        std::fs::create_dir(place.path("work")).unwrap();
        Some(Desk(place))
    }

    fn command(&self, args: &[&str]) -> Command {
        let work = self.0.path("work");
        let mut command = self.0.program_in(&work, env!("CARGO_BIN_EXE_fiord"));
        command.args(args).env_clear().stdin(Stdio::null());
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::from(self.command(args).output().unwrap())
    }

    /// Runs a job file with an output format that must print a document or nothing.
    fn job(&self, text: &[u8]) -> Ran {
        self.0.write("job.fio", text);
        self.run(&["../job.fio", "--output-format=json"])
    }

    /// Returns what is wrong with the refusal of an input.
    fn fault(&self, input: &str, ran: &Ran) -> Option<String> {
        let made = std::fs::read_dir(self.0.path("work")).unwrap().count();
        let fault = if ran.status != Some(1) {
            "its status is not 1"
        } else if !ran.err.starts_with("fiord: ") || ran.err.contains("panicked") {
            "there is no message"
        } else if !ran.out.is_empty() && !is_failed(ran) {
            "something else is on standard output"
        } else if made > 0 {
            "something was made"
        } else {
            return None;
        };
        Some(format!("{input:?}: {fault}: {ran:?}"))
    }
}

/// Whether a document says that the jobs did nothing, and that one of them failed.
fn is_failed(ran: &Ran) -> bool {
    let document = ran.json();
    let jobs = document["jobs"].as_array().unwrap();
    let idle = |job: &Value| ["read", "write", "trim"].iter().all(|dir| job[dir]["total_ios"] == 0);
    jobs.iter().all(idle) && jobs.iter().any(|job| job["error"] != 0)
}

#[track_caller]
fn none(faults: impl Iterator<Item = String>) {
    let faults: Vec<String> = faults.collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn wrong_options() {
    let Some(desk) = Desk::new() else { return };
    none(inputs::OPTIONS.iter().filter_map(|(option, _)| {
        let ran = desk.job(format!("[job]\nrw=write\nsize=1m\n{option}\n").as_bytes());
        desk.fault(option, &ran)
    }));
}

#[test]
fn wrong_files() {
    let Some(desk) = Desk::new() else { return };
    none(inputs::FILES.iter().filter_map(|(file, _)| {
        let ran = desk.job(file.as_bytes());
        desk.fault(file, &ran)
    }));
}

#[test]
fn wrong_command_lines() {
    let Some(desk) = Desk::new() else { return };
    let lines = inputs::COMMANDS.iter().map(|(args, _)| args).chain(inputs::PLACELESS);
    none(lines.filter_map(|args| desk.fault(&args.join(" "), &desk.run(args))));
}

/// Errors that only the planner can detect, and errors that depend on existing files.
#[test]
fn jobs_that_cannot_be() {
    const JOBS: &[&str] = &[
        "rw=read",
        "size=1m\nbs=4k-",
        "size=1m\nbs=2m",
        "size=0",
        "size=1m\nfilename=/",
        "size=1m\nfilename=../work",
        "size=1m\nfilename=a:../work:b\nrw=write",
        "size=1m\nfilename=/dev/null/x\nallow_file_create=0",
        "size=1m\ndirectory=/nonexistent\nrw=write\nallow_file_create=0",
        "size=1m\nopendir=/nonexistent",
        "size=1m\nopendir=/dev/null",
        "size=1m\nrw=write\nverify=md5\nverify_offset=4090",
        "size=1m\nrw=write\nioengine=rados",
        "size=1m\nrw=write\nioengine=external:/nonexistent.so",
        "size=1m\nwait_for=nobody",
        "size=1m\nrw=trim\nfilename=../job.fio",
        "size=1m\ncpus_allowed=9999",
        "size=1m\nnuma_cpu_nodes=77",
        "size=1m\nread_iolog=nofile",
        "size=1m\nrw=randrw\nbssplit=4k/60:8k/60",
        "size=1m\nrw=randread\nbs=0",
        "size=1m\nrw=read\nbuffer_pattern='nofile'\nrw=write",
    ];
    let Some(desk) = Desk::new() else { return };
    none(JOBS.iter().filter_map(|job| {
        let ran = desk.job(format!("[job]\n{job}\n").as_bytes());
        desk.fault(job, &ran)
    }));
}

#[test]
fn job_files_that_are_none() {
    let Some(desk) = Desk::new() else { return };
    let place = &desk.0;
    std::fs::create_dir(place.path("d")).unwrap();
    place.write("one.fio", "include two.fio\n");
    place.write("two.fio", "include one.fio\n");
    place.write("binary.fio", (0..100_000u32).map(|i| ((i * 7919) >> 3) as u8).collect::<Vec<_>>());
    place.write("zeroes.fio", vec![0u8; 1 << 20]);
    place.write("brackets.fio", "[".repeat(1 << 20));
    place.write("deep.fio", format!("[a]\nsize={}1{}\n", "(".repeat(50_000), ")".repeat(50_000)));
    place.write("long.fio", format!("[a]\nsize={}\n", "9".repeat(1 << 20)));
    place.write("bom16.fio", b"\xff\xfe[\0a\0]\0\n\0");
    place.write("latin.fio", b"[a]\nsize=1m\nrw=write\nfilename=caf\xe9\n");
    let mut names = vec![
        "../d",
        ".",
        "..",
        "/",
        "../none.fio",
        "../job.fio/x",
        "../one.fio",
        "../binary.fio",
        "../zeroes.fio",
        "../brackets.fio",
        "../deep.fio",
        "../long.fio",
        "../bom16.fio",
        "../latin.fio",
        "/dev/zero",
        "/dev/null",
        "/proc/self/mem",
    ];
    // Root can read every file.
    use std::os::unix::fs::PermissionsExt;
    place.write("secret.fio", "[a]\nsize=1m\n");
    let secret = place.path("secret.fio");
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::read(&secret).is_err() {
        names.push("../secret.fio");
    }
    none(names.iter().filter_map(|name| desk.fault(name, &desk.run(&[name]))));
}

#[test]
fn standard_input_that_is_no_job_file() {
    let Some(desk) = Desk::new() else { return };
    let texts = [b"".as_slice(), b"\n\n", b"; only a comment\n", b"\0\0", b"[a]\nrw=x\n", b"\xff"];
    none(texts.iter().filter_map(|text| {
        let mut command = desk.command(&["-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        // fiord may exit before it has read all of its input.
        let _ = child.stdin.take().unwrap().write_all(text);
        desk.fault(&format!("{text:?}"), &Ran::from(child.wait_with_output().unwrap()))
    }));
}
