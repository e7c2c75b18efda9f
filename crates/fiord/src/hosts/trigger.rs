//! The command of a trigger that runs at the coordinator (`--trigger`): when the verify states of all hosts are here.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use fiord_fabric::conductor::HostsEvent;
use fiord_job::command::{Format, GeneralOptions};
use fiord_sys::process::{self, CommandOutput, Kill};
use fiord_types::{Errno, HostIndex};

use crate::sink::report;

/// Runs the command of a trigger.
pub(super) struct LocalTrigger {
    command: Option<String>,
    /// The output of the command goes to standard error.
    to_standard_error: bool,
    fired: bool,
    /// Hosts whose jobs may write, or whose states may not be here yet.
    awaited: Vec<bool>,
    running: Option<JoinHandle<()>>,
    /// The command must end.
    stop: Arc<AtomicBool>,
}

impl LocalTrigger {
    /// The trigger of a run on `hosts` hosts.
    pub(super) fn new(general: &GeneralOptions, hosts: usize) -> Self {
        LocalTrigger {
            command: general.trigger.command.clone(),
            // A document for programs on standard output must stay well formed.
            to_standard_error: general.output.is_none() && general.formats != [Format::Normal],
            fired: false,
            awaited: vec![true; hosts],
            running: None,
            stop: Arc::default(),
        }
    }

    /// The trigger stops the jobs of all hosts.
    pub(super) fn fired(&mut self) {
        self.fired = true;
        self.run_if_due();
    }

    /// Notes what happens to a host. A host sends the event of its trigger when its states are at the coordinator.
    pub(super) fn event(&mut self, event: &HostsEvent) {
        match event {
            HostsEvent::Run { host, event } if event.pointer("/kind/triggered").is_some() => {
                self.done(*host);
            }
            HostsEvent::Ended { host, .. } | HostsEvent::Failed { host, .. } => self.done(*host),
            _ => {}
        }
    }

    fn done(&mut self, host: HostIndex) {
        if let Some(awaited) = self.awaited.get_mut(host.get()) {
            *awaited = false;
        }
        self.run_if_due();
    }

    fn run_if_due(&mut self) {
        if !self.fired || self.awaited.contains(&true) {
            return;
        }
        let Some(line) = self.command.take() else { return };
        let output = match self.to_standard_error {
            true => CommandOutput::StandardError,
            false => CommandOutput::Inherited,
        };
        let stop = Arc::clone(&self.stop);
        let body = move || {
            let mut kill = || stop.load(Ordering::Relaxed).then_some(Kill::AtOnce);
            match process::run_shell(&line, output, &mut kill) {
                Ok(ending) if ending.is_success() || stop.load(Ordering::Relaxed) => {}
                Ok(ending) => {
                    report(format_args!(
                        "the command of the trigger `{line}` ended with {ending}\n"
                    ));
                }
                Err(error) => {
                    report(format_args!(
                        "the command of the trigger `{line}` did not run: {error}\n"
                    ));
                }
            }
        };
        match std::thread::Builder::new().name("trigger".into()).spawn(body) {
            Ok(thread) => self.running = Some(thread),
            Err(error) => report(format_args!(
                "the command of the trigger did not run: cannot create a thread: {}. To fix: raise the limit on \
                 threads (ulimit -u, pids.max)\n",
                Errno::explain(&error)
            )),
        }
    }

    /// Waits for the command. `interrupted`: kills it instead.
    pub(super) fn end(self, interrupted: bool) {
        self.stop.store(interrupted, Ordering::Relaxed);
        if let Some(thread) = self.running {
            // The panic's own message is on standard error.
            let _ = thread.join();
        }
    }
}
