//! `fiord --server`: runs the jobs of clients, one client after the other.
//!
//! | question | module |
//! |---|---|
//! | how does a server continue in the background (`--daemonize`) | [`daemon`] |

mod daemon;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fiord_app::agent::AgentNotice;
use fiord_app::protection::{ProtectionError, listening_endpoint, protect};
use fiord_fabric::hub::{BadEndpoint, Endpoint, Hub, ListenError};
use fiord_fabric::policy::{HostPolicy, PolicyError};
use fiord_job::command::GeneralOptions;
use fiord_sys::signal;
use fiord_types::program::message;

use self::daemon::{DaemonError, PidFile, SystemLog};
use crate::agent;
use crate::exit::Exit;
use crate::sink::report;

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
enum ServerError {
    #[error("--server: {0}")]
    Address(#[from] BadEndpoint),
    #[error("--server: {0}")]
    Listen(#[from] ListenError),
    #[error("--server: {0}")]
    Protection(#[from] ProtectionError),
    #[error("--policy: {0}")]
    Policy(#[from] PolicyError),
    #[error("--policy: cannot read {}: {source}", .path.display())]
    PolicyFile { path: PathBuf, source: io::Error },
    #[error("--daemonize: {0}")]
    Daemon(#[from] DaemonError),
    #[error("--server: cannot determine the working directory: {0}")]
    Directory(io::Error),
    #[error(
        "--server: clients may use all files below the working directory, and that is /. To fix: start the server in the \
         directory that clients may use, or write a policy (--policy=FILE)"
    )]
    WholeMachine,
    #[error("--server: {0}")]
    System(#[from] fiord_sys::Error),
}

/// Serves clients until a signal ends this process.
pub(crate) fn run(general: &GeneralOptions) -> Exit {
    let served = match &general.server.pid_file {
        Some(file) if !daemon::is_daemon() => daemon::start(Path::new(file)).map_err(Into::into),
        file => serve(general, file.as_deref()),
    };
    match served {
        Ok(()) => Exit::Success,
        Err(error) => {
            report(format_args!("{error}\n"));
            Exit::Failure
        }
    }
}

fn serve(general: &GeneralOptions, pid_file: Option<&str>) -> Result<(), ServerError> {
    let policy = policy(general)?;
    let address = general.server.address.as_deref().unwrap_or_default();
    let endpoint = listening_endpoint(Endpoint::parse(address)?, &general.hosts);
    let signals = signal::install()?;
    let mut hub = Hub::new()?;
    protect(&mut hub, &[&endpoint], &general.hosts)?;
    let endpoint = hub.listen(&endpoint)?;
    let pid_file = pid_file.map(|path| PidFile::write(Path::new(path))).transpose()?;
    let log = pid_file.as_ref().and_then(|_| SystemLog::open());
    // fio's words. A script can wait for this line.
    let _ = write!(
        io::stdout(),
        "{}",
        message(format_args!("server listening on {}\n", as_fio(&endpoint)))
    );
    let notify = &mut |notice: AgentNotice| match &log {
        Some(log) => log.write(&notice.to_string()),
        None => report(format_args!("server: {notice}\n")),
    };
    agent::run(hub, signals, true, policy, notify);
    Ok(())
}

fn policy(general: &GeneralOptions) -> Result<HostPolicy, ServerError> {
    let Some(path) = &general.server.policy else {
        let directory = std::env::current_dir().map_err(ServerError::Directory)?;
        // That of most services.
        if directory == Path::new("/") {
            return Err(ServerError::WholeMachine);
        }
        return Ok(HostPolicy::server(&directory));
    };
    let path = PathBuf::from(path);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok(HostPolicy::read(&text, &path)?),
        Err(source) => Err(ServerError::PolicyFile { path, source }),
    }
}

/// An endpoint as fio prints it: `127.0.0.1,8765`.
fn as_fio(endpoint: &Endpoint) -> String {
    match endpoint {
        Endpoint::Tcp { host, port, .. } if host.is_empty() => format!("0.0.0.0,{port}"),
        Endpoint::Tcp { host, port, .. } => format!("{host},{port}"),
        Endpoint::Unix(path) => path.display().to_string(),
    }
}
