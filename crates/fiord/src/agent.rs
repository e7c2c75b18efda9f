//! `fiord agent --stdio`, which the coordinator of a run on many hosts starts on each host, and the agent of a server.

use std::sync::Arc;

use fiord_app::agent::{AgentEnd, AgentNotice, AgentSettings, AgentWords, PATIENCE, serve};
use fiord_app::introduction::Introduction;
use fiord_fabric::contract::Fabric;
use fiord_fabric::hub::{Hub, Waker};
use fiord_fabric::policy::HostPolicy;
use fiord_report::header;
use fiord_sys::signal::{self, Signals};

use crate::exit::Exit;
use crate::findings;
use crate::full_screen::named_jobs;
use crate::sink::complain;

/// Whether the arguments start an agent. Jobs have no option `--stdio`, so a job file named `agent` stays usable.
pub(crate) fn is_meant(args: &[String]) -> bool {
    matches!(args, [first, second] if first == "agent" && second == "--stdio")
}

/// Serves the coordinator on standard input and output. The user of this process may do anything that the user may, so no
/// policy is needed.
pub(crate) fn stdio() -> Exit {
    let started = signal::install().and_then(|signals| Ok((signals, Hub::stdio()?)));
    let (signals, hub) = match started {
        Ok(started) => started,
        Err(error) => {
            complain(&format!("fiord agent: {error}\n"));
            return Exit::Failure;
        }
    };
    run(hub, signals, false, HostPolicy::unlimited(), &mut complain_of_losses)
}

/// Prints what a coordinator shows as the last line of a lost agent.
pub(crate) fn complain_of_losses(notice: AgentNotice) {
    if let AgentNotice::Lost { .. } | AgentNotice::Refused { .. } | AgentNotice::Dismissed { .. } =
        &notice
    {
        complain(&format!("fiord agent: {notice}\n"));
    }
}

/// Serves coordinators until the end of the agent. `listens`: one after the other.
pub(crate) fn run(
    mut hub: Hub,
    signals: &'static Signals,
    listens: bool,
    policy: HostPolicy,
    notify: &mut dyn FnMut(AgentNotice),
) -> Exit {
    hub.watch_signals(signals);
    let waker = hub.waker();
    run_over(&mut hub, waker, signals, listens, policy, notify)
}

/// Serves coordinators over any fabric, which watches the signals and returns from `receive` when the waker is used.
pub(crate) fn run_over(
    fabric: &mut dyn Fabric,
    waker: Waker,
    signals: &'static Signals,
    listens: bool,
    policy: HostPolicy,
    notify: &mut dyn FnMut(AgentNotice),
) -> Exit {
    let wake = Arc::new(move || waker.wake());
    let words = AgentWords {
        introduction,
        names: named_jobs,
        notes: |found| findings::rendered(found, false),
        status: |end| Exit::from(end).status(),
    };
    let settings = AgentSettings { listens, policy, words, patience: PATIENCE, wake };
    match serve(fabric, &settings, &|| signals.stop_signal(), notify) {
        AgentEnd::Released => Exit::Success,
        AgentEnd::Lost { .. } => Exit::Failure,
        AgentEnd::Signalled(_) => Exit::Signalled,
    }
}

/// The lines that introduce jobs, which the coordinator prints.
fn introduction(jobs: &Introduction) -> String {
    let mut text: String = jobs.jobs.iter().map(|(job, style)| header::job(job, *style)).collect();
    text.push_str(&header::starting(jobs.threads, jobs.processes));
    text
}
