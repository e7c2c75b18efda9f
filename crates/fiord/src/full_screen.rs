//! `--live`: the full-screen view of a run in place of the live line.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fiord_app::Prepared;
use fiord_app::introduction::Introduction;
use fiord_job::command::GeneralOptions;
use fiord_live::controls::LiveControls;
use fiord_live::devices::DeviceProbe;
use fiord_live::look::LiveLook;
use fiord_live::model::{LiveFinding, LiveModel};
use fiord_live::screen::{LiveError, LiveScreen, find_terminal};
use fiord_plan::{FileKind, Plan};
use fiord_report::header;
use fiord_run::events::EventKind;
use fiord_run::{Interrupt, Interrupts};
use fiord_sys::terminal::is_terminal;
use fiord_types::HostIndex;

use crate::exit::Exit;
use crate::sink;

/// The descriptors of the terminal for the view: to draw on, and to read keys from.
pub(crate) type ViewTerminal = (OwnedFd, OwnedFd);

/// Finds the terminal for the view before anything happens. `None` without `--live`.
pub(crate) fn terminal(general: &GeneralOptions) -> Result<Option<ViewTerminal>, Exit> {
    if !general.live {
        return Ok(None);
    }
    if !general.debug.is_empty() && general.output.is_none() {
        sink::report(
            "--live: the lines of --debug would appear in the full-screen view\n  To fix: write them to a file with \
             --output=FILE, or leave one of the two options out\n",
        );
        return Err(Exit::Failure);
    }
    if general.export.series.as_deref() == Some("-") && is_terminal(std::io::stdout()) {
        sink::report(
            "--live: the rows of --series=- would appear in the full-screen view\n  To fix: write them to a file \
             (--series=FILE) or to a pipe, or leave one of the two options out\n",
        );
        return Err(Exit::Failure);
    }
    find_terminal().map(Some).map_err(|error| refused(&error))
}

/// Reports why there is no view.
pub(crate) fn refused(error: &LiveError) -> Exit {
    sink::report(format_args!("--live: {error}\n  {}\n", error.to_fix("leave --live out")));
    Exit::Failure
}

/// The view of a run on this machine.
pub(crate) struct ScreenView {
    screen: LiveScreen,
    probe: DeviceProbe,
}

impl ScreenView {
    /// Opens the view of a run that is about to start. `end` becomes true when the user wants the run to end.
    pub(crate) fn open(
        terminal: ViewTerminal,
        jobs: &Prepared<'_>,
        end: Arc<AtomicBool>,
    ) -> Result<Self, LiveError> {
        let mut model = LiveModel::of_jobs(fiord_job::version(), named_jobs(&jobs.introduction()));
        jobs.notes().findings().for_each(|finding| model.find(LiveFinding::from(finding)));
        let probe = DeviceProbe::of(targets(jobs.plan()));
        let controls = LiveControls::new(false);
        let look = LiveLook::from_environment();
        let screen = LiveScreen::open(terminal, model, controls, look, end)?;
        Ok(ScreenView { screen, probe })
    }

    /// Shows an event of the run.
    pub(crate) fn event(&mut self, event: EventKind) {
        let devices = matches!(event, EventKind::Progress(_)).then(|| self.probe.sample());
        self.screen.update(|model| {
            model.event(HostIndex(0), event);
            model.devices = devices.unwrap_or_else(|| std::mem::take(&mut model.devices));
        });
    }
}

/// The files and devices of a plan that have a path on this machine.
fn targets(plan: &Plan) -> impl Iterator<Item = &Path> {
    let real = |kind: FileKind| kind.is_file() || matches!(kind, FileKind::Block | FileKind::Char);
    let files = plan.jobs.iter().flat_map(|job| &job.target.files);
    files.filter(move |file| real(file.kind)).map(|file| file.path.as_path())
}

/// The name and the description of each job. Instances of one job get numbers.
pub(crate) fn named_jobs(introduction: &Introduction) -> Vec<(String, String)> {
    let mut seen = vec![0u32; introduction.jobs.len()];
    let one = |place: &usize| {
        let (job, style) = &introduction.jobs[*place];
        seen[*place] += 1;
        let name = match job.members {
            0 | 1 => job.name.clone(),
            _ => format!("{} ({})", job.name, seen[*place]),
        };
        let lines = header::job(job, *style) + &header::job_started(job);
        let about = lines.lines().next().unwrap_or_default();
        let about = about.strip_prefix(&format!("{}: ", job.name)).unwrap_or(about);
        (name, about.to_owned())
    };
    introduction.sections.iter().map(one).collect()
}

/// Interrupts, among them the key that ends the run.
pub(crate) struct WithEndWish<'a> {
    others: &'a mut dyn Interrupts,
    /// `None` without a view, or after the wish was passed on.
    wish: Option<Arc<AtomicBool>>,
}

impl<'a> WithEndWish<'a> {
    /// Adds the wish of a view to other interrupts.
    pub(crate) fn and(others: &'a mut dyn Interrupts, wish: Option<Arc<AtomicBool>>) -> Self {
        WithEndWish { others, wish }
    }
}

impl Interrupts for WithEndWish<'_> {
    fn next(&mut self) -> Option<Interrupt> {
        let others = self.others.next();
        if others.is_some() {
            return others;
        }
        let wished = self.wish.take_if(|wish| wish.load(Ordering::Acquire));
        wished.map(|_| Interrupt::Finish)
    }
}
