//! A mount namespace in which only the test's directory is writable.
//!
//! A test once overwrote `/etc/passwd` of its machine. Every test that runs wrong, random or hostile jobs
//! runs them here; see [`crate::fiord::Place::confined`].

use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::fiord::Place;

/// The namespace. A process keeps it until the test ends.
pub(crate) struct Sandbox(Child);

impl Sandbox {
    /// Creates a namespace in which only `place` and the paths in `scratch`, which become empty, are
    /// writable. Prints the reason and returns `None` if that is not permitted.
    pub(crate) fn new(place: &Path, scratch: &[&str]) -> Option<Self> {
        let place = [OsStr::new("sandbox"), place.as_os_str()];
        Sandbox::held_by(
            include_str!("sandbox.sh"),
            place.into_iter().chain(scratch.iter().map(OsStr::new)),
        )
    }

    /// Creates a namespace in which everything can be written, and whose mounts no other test sees. A mount in the
    /// common namespace is part of the copies that other tests make of it, and keeps its file system alive in them.
    pub(crate) fn of_mounts() -> Option<Self> {
        Sandbox::held_by("echo ready; exec cat", [])
    }

    /// Starts a script in a new mount namespace. The script prints `ready` and ends with its standard input.
    fn held_by<'a>(script: &str, args: impl IntoIterator<Item = &'a OsStr>) -> Option<Self> {
        let mut holder = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "/bin/sh", "-c", script])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| println!("skipped: a mount namespace needs unshare(1): {error}"))
            .ok()?;
        let mut line = String::new();
        BufReader::new(holder.stdout.take()?).read_line(&mut line).unwrap();
        let sandbox = Sandbox(holder);
        if line == "ready\n" { Some(sandbox) } else { sandbox.refused() }
    }

    fn refused(mut self) -> Option<Self> {
        drop(self.0.stdin.take());
        let mut why = String::new();
        if let Some(mut errors) = self.0.stderr.take() {
            errors.read_to_string(&mut why).unwrap();
        }
        println!("skipped: only root can make a mount namespace: {}", why.trim());
        None
    }

    /// Returns a command that runs in `directory` of the namespace.
    pub(crate) fn command(&self, directory: &Path, program: &str) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--mount=/proc/{}/ns/mnt", self.0.id()));
        // The current directory belongs to the old namespace.
        command.args(["/bin/sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(directory).arg(program);
        command
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // The process waits for the end of its standard input.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

#[test]
fn nothing_outside_of_it_can_be_written() {
    let outside = Place::new();
    outside.write("mine", "as it was");
    let Some(place) = Place::confined(&["/etc"]) else { return };
    let mine = outside.path("mine").display().to_string();
    let new = outside.path("new").display().to_string();
    for path in [&*mine, &new, "/fiord-test", "/usr/fiord-test", "/tmp/fiord-test", "/dev/shm/f"] {
        let wrote = place.script(&format!("echo changed >{path}"));
        assert_ne!(wrote.status, Some(0), "{path} can be written");
    }
    for line in [
        &*format!("rm {mine}"),
        &format!("mv {mine} {new}"),
        "echo 1 >/proc/sys/vm/drop_caches",
        "echo 1 >/sys/kernel/profiling",
        "find /dev -type b | grep .",
    ] {
        assert_ne!(place.script(line).status, Some(0), "{line}");
    }
    assert_eq!(place.script("echo here >f && echo there >/etc/passwd && ls /etc").out, "passwd\n");
    assert_eq!(place.names(), ["f"]);
    assert!(std::fs::read_to_string("/etc/passwd").is_ok_and(|text| text != "there\n"));
    assert_eq!(std::fs::read_to_string(outside.path("mine")).unwrap(), "as it was");
    assert_eq!(outside.names(), ["mine"]);
}
