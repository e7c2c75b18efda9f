//! `--live` with many hosts: the full-screen view of all hosts and their jobs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use fiord_fabric::conductor::HostsEvent;
use fiord_fabric::outcome::HostStage;
use fiord_live::controls::LiveControls;
use fiord_live::look::LiveLook;
use fiord_live::model::{LiveFinding, LiveModel, LiveSeverity};
use fiord_live::screen::LiveScreen;
use fiord_run::events::EventKind;
use fiord_types::HostIndex;

use crate::full_screen::{ViewTerminal, refused};

/// The view of a run on many hosts.
pub(crate) struct HostsView {
    shown: ShownOrNot,
    /// The user wants the run to end.
    end: Arc<AtomicBool>,
}

enum ShownOrNot {
    /// The hosts are being reached, which can ask for passwords on the terminal.
    Not(Option<ViewTerminal>, Box<LiveModel>),
    Shown(LiveScreen),
}

impl HostsView {
    /// The view of a run on hosts with these names. It opens when all hosts have answered.
    pub(crate) fn new(terminal: ViewTerminal, names: Vec<String>) -> Self {
        let name = |name: String| if name.is_empty() { "localhost".to_owned() } else { name };
        let names = names.into_iter().map(name).collect();
        let model = LiveModel::of_hosts(fiord_job::version(), names);
        HostsView { shown: ShownOrNot::Not(Some(terminal), Box::new(model)), end: Arc::default() }
    }

    /// Becomes true when the user wants the run to end.
    pub(crate) fn end_wish(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.end)
    }

    /// Shows an event of the run as a whole.
    pub(crate) fn event(&mut self, event: &HostsEvent) {
        match event {
            HostsEvent::Stage(HostStage::Check) => self.open(),
            HostsEvent::Run { .. } => return,
            _ => {}
        }
        self.change(|model| show(model, event));
    }

    /// Shows an event of a host's run.
    pub(crate) fn run_event(&mut self, host: HostIndex, event: EventKind) {
        self.change(|model| model.event(host, event));
    }

    fn change(&mut self, change: impl FnOnce(&mut LiveModel)) {
        match &mut self.shown {
            ShownOrNot::Not(_, model) => change(model),
            ShownOrNot::Shown(screen) => screen.update(change),
        }
    }

    fn open(&mut self) {
        let ShownOrNot::Not(terminal, model) = &mut self.shown else { return };
        let Some(terminal) = terminal.take() else { return };
        let (controls, look) = (LiveControls::new(false), LiveLook::from_environment());
        let end = Arc::clone(&self.end);
        match LiveScreen::open(terminal, LiveModel::clone(model), controls, look, end) {
            Ok(screen) => self.shown = ShownOrNot::Shown(screen),
            // The hosts are ready, so the run continues without the view.
            Err(error) => {
                refused(&error);
            }
        }
    }
}

fn show(model: &mut LiveModel, event: &HostsEvent) {
    match event {
        HostsEvent::Stage(stage) => model.stage_of_hosts(words(*stage)),
        HostsEvent::Welcomed { host, .. } => model.state(*host, "connected"),
        HostsEvent::Checked { host, jobs } => {
            model.set_jobs(*host, jobs.names.clone());
            let prefix = model.prefix(*host);
            for finding in &jobs.findings {
                let mut finding = LiveFinding::from(finding);
                finding.what.insert_str(0, &prefix);
                model.find(finding);
            }
        }
        HostsEvent::Ready { host } => model.state(*host, "ready"),
        HostsEvent::Starting { .. } | HostsEvent::Run { .. } => {}
        HostsEvent::Ended { host, ended } => {
            let state = if ended.errors.is_empty() { "done" } else { "failed" };
            model.host_ended(*host, state);
        }
        HostsEvent::Idle { host, stage, idle, .. } => {
            let (name, idle) = (model.prefix(*host), idle.as_secs());
            model.find(LiveFinding {
                severity: LiveSeverity::Note,
                what: match stage {
                    HostStage::Run => format!(
                        "{name}its jobs have done no I/O for {idle} s, and another host has ended"
                    ),
                    stage => format!("{name}{}: no progress for {idle} s", words(*stage)),
                },
                more: vec!["To fix: press Ctrl-C to have the results now".to_owned()],
            });
        }
        HostsEvent::Overdue { host, longest, .. } => {
            let (name, longest) = (model.prefix(*host), longest.as_secs());
            model.find(LiveFinding {
                severity: LiveSeverity::Note,
                what: format!(
                    "{name}its jobs have not ended, and their run time is {longest} s at most"
                ),
                more: vec!["To fix: press Ctrl-C to have the results now".to_owned()],
            });
        }
        HostsEvent::Failed { host, failure } => {
            let prefix = model.prefix(*host);
            model.error(&format!("{prefix}{}: {}", failure.stage.words(), failure.why.trim()));
            model.host_ended(*host, "failed");
        }
        HostsEvent::Stopping { why, .. } => model.ending(&format!("ending: {why}")),
    }
}

fn words(stage: HostStage) -> &'static str {
    match stage {
        HostStage::Greet => "connecting",
        HostStage::Check => "checking the jobs",
        HostStage::LayOut => "laying out files",
        HostStage::CompareClocks => "comparing clocks",
        HostStage::Run => "running",
        HostStage::Collect | HostStage::CompareAgain | HostStage::Done => "collecting results",
    }
}
