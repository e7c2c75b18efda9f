//! The namespaces in which all cases run: only one directory can be written, and processes end with the first one.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A namespace, and the directory in it that can be written. Both end with this value.
#[derive(Debug)]
pub(super) struct Sandbox {
    /// Keeps the namespaces until the end of its standard input, also if this program is killed. The kernel then ends all
    /// processes in them.
    holder: Child,
    /// The directory that can be written.
    pub place: PathBuf,
}

impl Sandbox {
    /// Makes a temporary directory, and a namespace in which everything else is read-only.
    pub(super) fn new() -> Result<Self> {
        let place = std::env::temp_dir().join(format!("fiord-pairs-{}", std::process::id()));
        std::fs::create_dir(&place).with_context(|| place.display().to_string())?;
        let script = include_str!("../../../crates/fiord/tests/run/sandbox.sh");
        let holder = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"])
            .args(["/bin/sh", "-c", script, "sandbox"])
            .arg(&place)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .context("unshare(1) cannot be run")?;
        let mut sandbox = Sandbox { holder, place };
        let mut line = String::new();
        let out = sandbox.holder.stdout.take().context("no standard output")?;
        BufReader::new(out).read_line(&mut line)?;
        if line != "ready\n" {
            drop(sandbox.holder.stdin.take());
            let mut why = String::new();
            if let Some(mut errors) = sandbox.holder.stderr.take() {
                errors.read_to_string(&mut why)?;
            }
            bail!("no mount namespace: {}. To fix: run as root", why.trim());
        }
        Ok(sandbox)
    }

    /// Returns a command that runs in `directory` of the namespace.
    pub(super) fn command(&self, directory: &Path, program: &Path) -> Command {
        let mut command = Command::new("nsenter");
        let namespaces = format!("/proc/{}/ns", self.holder.id());
        command.arg(format!("--mount={namespaces}/mnt"));
        command.arg(format!("--pid={namespaces}/pid_for_children"));
        // The current directory belongs to the old namespace.
        command.args(["/bin/sh", "-c", "cd \"$0\" && exec \"$@\""]).arg(directory).arg(program);
        command
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
        let _ = std::fs::remove_dir_all(&self.place);
    }
}
