//! Connecting by means of a library whose call waits for the server and cannot be interrupted.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use fiord_types::{Errno, Nanos};

use crate::endpoint::{LOOK, shown};
use crate::{EndSignal, EngineError};

/// Lets `open` run on a thread of its own, so that a job that must stop does not wait for a cluster that does not answer.
/// `None`: the job must stop.
///
/// # Errors
///
/// `open` fails, or takes much longer than the timeout.
pub(crate) fn patiently<T: Send + 'static, E: From<EngineError> + Send + 'static>(
    engine: &'static str,
    timeout: Nanos,
    end: &EndSignal,
    open: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<Option<T>, E> {
    let (sender, answer) = mpsc::sync_channel(1);
    let spawned = thread::Builder::new().name(format!("{engine} connect")).spawn(move || {
        // A job that does not wait any longer drops its end, and with it what was opened.
        let _ = sender.send(open());
    });
    spawned.map_err(|error| EngineError {
        what: format!("ioengine={engine}: cannot start a thread: {error}"),
        help: None,
        errno: error.raw_os_error().map(Errno::from_raw),
    })?;
    // Several steps wait for the cluster, one after the other.
    let limit = Instant::now() + Duration::from_nanos(timeout.0).saturating_mul(3);
    loop {
        match answer.recv_timeout(LOOK) {
            Ok(opened) => return opened.map(Some),
            Err(RecvTimeoutError::Timeout) if end.is_stopped() => return Ok(None),
            Err(RecvTimeoutError::Timeout) if Instant::now() < limit => {}
            Err(_) => {
                let what = format!(
                    "ioengine={engine}: the server did not answer within {}",
                    shown(Nanos(timeout.0.saturating_mul(3)))
                );
                let error = EngineError { what, help: None, errno: Some(Errno::ETIMEDOUT) };
                let help =
                    "To fix: check the server and the network, or set a longer `endpoint_timeout`";
                return Err(error.help(help).into());
            }
        }
    }
}
