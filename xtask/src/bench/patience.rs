//! Runs a program, but does not wait for one that hangs.

use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

/// Why a figure cannot be measured on this machine. This is not a failure.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotHere(pub String);

/// Runs a command to its end, and kills it after `limit`. For fiord, that is an error. For any other program, the row has no
/// figure and says why: fio 3.33 sometimes never ends a short job with `io_submit_mode=offload`.
pub(super) fn output(name: &str, mut command: Command, limit: Duration) -> Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().with_context(|| format!("{name} cannot be run"))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).context("no process")?;
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(child.wait_with_output()));
    match ended.recv_timeout(limit) {
        Ok(output) => output.with_context(|| format!("{name} cannot be run")),
        Err(_) => {
            let _ = kill_process(pid, Signal::KILL);
            let _ = ended.recv_timeout(Duration::from_secs(10));
            let why = format!("{name} did not end within {} s, and was killed", limit.as_secs());
            match name {
                "fiord" => bail!("{why}: {command:?}"),
                _ => Err(anyhow!(NotHere(why))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(name: &str, script: &str, limit: Duration) -> Result<Output> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        output(name, command, limit)
    }

    #[test]
    fn a_program_that_hangs_is_killed() {
        let brief = Duration::from_millis(50);
        let fio = ran("fio", "exec sleep 600", brief).unwrap_err();
        assert!(fio.downcast_ref::<NotHere>().is_some_and(|why| why.0.contains("did not end")));
        let fiord = ran("fiord", "exec sleep 600", brief).unwrap_err();
        assert!(fiord.downcast_ref::<NotHere>().is_none(), "{fiord}");
        let quick = ran("fio", "echo 1", Duration::from_secs(60)).unwrap();
        assert_eq!(quick.stdout, b"1\n");
    }
}
