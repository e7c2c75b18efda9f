//! `fiord live`: replays a finished run on the whole screen.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fiord_html::result::{NamedResult, PageResult};
use fiord_live::controls::LiveControls;
use fiord_live::look::LiveLook;
use fiord_live::replay::player::ReplayPlayer;
use fiord_live::replay::{ReplayRun, ReplayView};
use fiord_live::screen::{LiveError, LiveScreen, find_terminal};
use fiord_run::{Interrupt, Interrupts};
use fiord_sys::clock;
use fiord_types::Nanos;

use crate::report::{self, ReportError};
use crate::session::CommandEnd;

/// How often signals are checked.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);

/// Command line of `fiord live`.
#[derive(Debug, clap::Args)]
pub struct LiveArgs {
    /// The result of a run of fiord: JSON, or a page of `--html`. `-`: standard input.
    result: PathBuf,
    /// Seconds of the run per second at first, 0.125 to 65536. Default: 1; more for a run of over a minute.
    #[arg(long, value_name = "N", value_parser = speed)]
    speed: Option<f64>,
    /// The number of the result, from 1, if the page contains several.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    run: Option<u64>,
}

/// The value of `--speed` is not a speed.
#[derive(Debug, thiserror::Error)]
#[error("it must be a number from 0.125 to 65536")]
struct BadSpeed;

fn speed(text: &str) -> Result<f64, BadSpeed> {
    let speed = text.parse().ok().filter(|speed| (0.125..=65536.0).contains(speed));
    speed.ok_or(BadSpeed)
}

/// Why there is no replay.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The result cannot be read.
    #[error(transparent)]
    Result(#[from] ReportError),
    /// The file contains several results, or not as many.
    #[error("{path} contains {count} results:{names}\n  To fix: choose one of them with --run=N")]
    WhichRun {
        /// The file.
        path: PathBuf,
        /// How many results it contains.
        count: usize,
        /// Numbers and names of the results.
        names: String,
    },
    /// The result is not that of one run.
    #[error(
        "{path} is the result of a {what}: it has tables, but no samples over time\n  To fix: name the result of one run, or \
         show the tables with `fiord report {path} -o FILE.html`"
    )]
    Tables {
        /// The file.
        path: PathBuf,
        /// `sweep`, `suite` or `precondition`.
        what: &'static str,
    },
    /// The result has no samples.
    #[error(
        "{0} has no samples over time: the JSON and the HTML pages of fiord contain them, but not those of fio, and not text \
         or terse output\n  To fix: run the job with `fiord --output-format=json --output=FILE` or `--html=FILE`, and name \
         that file"
    )]
    NoSamples(PathBuf),
    /// There is no terminal for the view.
    #[error("{error}\n  {}", .error.to_fix(&format!("print the samples with `fiord series {}`", .path.display())))]
    View {
        /// Why.
        error: LiveError,
        /// The file.
        path: PathBuf,
    },
}

/// Replays the run until the user ends it.
///
/// # Errors
/// The result cannot be read or has no samples, or there is no terminal for the view.
pub fn run(args: &LiveArgs, interrupts: &mut dyn Interrupts) -> Result<CommandEnd, ReplayError> {
    let run = args.replayed()?;
    let view = |error: LiveError| ReplayError::View { error, path: args.result.clone() };
    let terminal = find_terminal().map_err(view)?;
    let (mut replay, mut model) = ReplayView::new(run);
    let mut player = ReplayPlayer::new(replay.lengths(), args.speed);
    model.stage = player.words();
    let controls = LiveControls::new(true);
    let (look, end) = (LiveLook::from_environment(), Arc::new(AtomicBool::new(false)));
    let screen = LiveScreen::open(terminal, model, controls, look, Arc::clone(&end));
    let screen = screen.map_err(view)?;
    let mut now = clock::monotonic();
    loop {
        if matches!(interrupts.next(), Some(Interrupt::End(_))) {
            return Ok(CommandEnd::Stopped);
        }
        if end.load(Ordering::Acquire) {
            return Ok(CommandEnd::Done);
        }
        let change = player.next_change().map_or(SIGNAL_CHECK, |left| Duration::from_nanos(left.0));
        let wishes = screen.wait_wishes(change.min(SIGNAL_CHECK));
        let before = std::mem::replace(&mut now, clock::monotonic());
        let moved = player.advance(Nanos(now.saturating_sub(before)));
        let asked = !wishes.is_empty();
        wishes.into_iter().for_each(|wish| player.wish(wish));
        if moved || asked {
            screen.show_replay(player.is_paused(), |model| {
                replay.show(player.position(), model);
                model.stage = player.words();
            });
        }
    }
}

impl LiveArgs {
    /// The run that the arguments name.
    fn replayed(&self) -> Result<ReplayRun, ReplayError> {
        let path = || self.result.clone();
        let results = report::read(&self.result)?;
        let title = |result: &NamedResult| match result.name.as_str() {
            "" => "standard input".to_owned(),
            name => name.to_owned(),
        };
        let number = match self.run {
            Some(number) => usize::try_from(number).unwrap_or(usize::MAX) - 1,
            None if results.len() > 1 => usize::MAX,
            None => 0,
        };
        let Some(chosen) = results.get(number) else {
            let line = |(index, result)| format!("\n  {}: {}", index + 1, title(result));
            let names = results.iter().enumerate().map(line).collect();
            return Err(ReplayError::WhichRun { path: path(), count: results.len(), names });
        };
        let run = match &chosen.content {
            PageResult::Run(report) => ReplayRun::of_report(title(chosen), report),
            PageResult::Hosts(report) => ReplayRun::of_hosts(title(chosen), report),
            PageResult::Sweep(_) => {
                return Err(ReplayError::Tables { path: path(), what: "sweep" });
            }
            PageResult::Suite(_) => {
                return Err(ReplayError::Tables { path: path(), what: "suite" });
            }
            PageResult::Precondition(_) => {
                return Err(ReplayError::Tables { path: path(), what: "precondition" });
            }
        };
        run.ok_or_else(|| ReplayError::NoSamples(path()))
    }
}
