//! One round: write, cut, restore, check.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fiord_formats::integrity::journal::JOURNAL_UNIT;
use fiord_job::load::Loader;
use fiord_sys::file::FileGuard;
use fiord_sys::signal::Signals;
use fiord_types::Nanos;

use super::error::PowercutError;
use super::load;
use super::power::{self, PowerSwitch};
use super::result::{CheckReport, CutKind, RoundResult};
use super::settings::CutMethod;
use super::state::{self, RoundPhase, RoundsState};
use super::writer::ChildRun;
use crate::amount::clock;

/// How long a killed process may take to end before the power is restored, because its I/O hangs.
const KILL: Duration = Duration::from_secs(10);
/// Exit status of `fiord verify` if data is lost or corrupt.
const LOST: i32 = 250;

/// Runs rounds.
pub(super) struct RoundRunner<'a> {
    pub(super) program: &'a Path,
    pub(super) state: &'a mut RoundsState,
    pub(super) signals: &'static Signals,
    pub(super) progress: &'a mut dyn std::io::Write,
    /// Shows what the user must do.
    pub(super) prompt: &'a mut dyn std::io::Write,
    /// `fiord powercut --resume=…`.
    pub(super) resume: String,
}

/// How the writes of a round ended.
enum WritesEnd {
    /// The power was cut.
    Cut,
    /// The user asked to stop.
    Stopped,
}

/// How a check ended.
enum CheckEnd {
    /// With a result.
    Report(CheckReport),
    /// The target has vanished again.
    Vanished,
    /// The user asked to stop.
    Stopped,
}

impl RoundRunner<'_> {
    /// Runs a round from its start. Returns `None` if the user asked to stop.
    pub(super) fn run(
        &mut self,
        round: u32,
        loader: &mut dyn Loader,
    ) -> Result<Option<RoundResult>, PowercutError> {
        match self.write_and_cut(round, loader)? {
            WritesEnd::Cut => self.check(round),
            WritesEnd::Stopped => {
                self.drop_round(round)?;
                Ok(None)
            }
        }
    }

    /// Restores the power, waits for the target and checks it: what is left of a round after the cut. Returns `None`
    /// if the user asked to stop; a later call can repeat it.
    pub(super) fn check(&mut self, round: u32) -> Result<Option<RoundResult>, PowercutError> {
        let RoundPhase::Cut { kind, after } = *self.state.phase() else { return Ok(None) };
        let _ = write!(self.progress, "checking … ");
        let _ = self.progress.flush();
        let report = loop {
            if !self.switch().wait_for_target()? {
                return Ok(None);
            }
            match self.check_all(round)? {
                CheckEnd::Report(report) => break report,
                CheckEnd::Stopped => return Ok(None),
                CheckEnd::Vanished => {}
            }
        };
        let result = RoundResult::new(round, kind, after, report);
        let verdict = result.verdict;
        let _ = writeln!(self.progress, "{}", verdict.word());
        self.state.finish(result.clone())?;
        if !verdict.is_broken() {
            self.remove(round, &["extents", "writer", "written", "errors"]);
            // The journal is large. It stays while later rounds check what it names.
            let last = (round + 1).saturating_sub(self.state.settings().earlier());
            self.forget_journals(last);
        }
        Ok(Some(result))
    }

    /// Removes the journals of the rounds before `end` that nothing has to be examined in.
    fn forget_journals(&self, end: u32) {
        let passed = self.state.rounds().iter().filter(|result| !result.verdict.is_broken());
        for result in passed.filter(|result| result.number() < end) {
            self.remove(result.number(), &["journal"]);
        }
    }

    /// The rounds before this one whose data can be checked: a journal of each round since must be there, and none may
    /// have been found damaged before.
    fn earlier_rounds(&self, round: u32) -> Vec<u32> {
        let results = self.state.rounds();
        let broken = results.iter().rev().find(|result| result.verdict.is_broken());
        let first = broken.map_or(1, |result| result.number() + 1);
        let first = first.max(round.saturating_sub(self.state.settings().earlier()));
        let mut rounds: Vec<u32> = (first..round)
            .rev()
            .take_while(|round| has_begun(&self.file(*round, "journal")))
            .collect();
        rounds.reverse();
        rounds
    }

    /// Writes until the power is cut, and restores it.
    fn write_and_cut(
        &mut self,
        round: u32,
        loader: &mut dyn Loader,
    ) -> Result<WritesEnd, PowercutError> {
        let journal = self.file(round, "journal");
        if has_begun(&journal) {
            // A round that was interrupted is repeated. What it has overwritten is not known after that.
            self.forget_journals(round);
        }
        FileGuard::generated().remove(&journal)?;
        let load = load::arguments(self.state.settings(), round, &journal, loader)?;
        let arguments = [vec!["--eta=never".to_owned()], load].concat();
        let (out, err) = (self.file(round, "written"), self.file(round, "writer"));
        let mut writer = ChildRun::start(self.program, &arguments, &out, &err)?;
        self.state.enter(RoundPhase::Writing { boot: state::boot(), writer: writer.id() })?;
        let _ = write!(self.progress, "writing … ");
        let _ = self.progress.flush();
        let end = match self.until_cut(round, &mut writer, &journal) {
            Ok(Some(after)) => self.cut(&mut writer, after),
            Ok(None) => Ok(WritesEnd::Stopped),
            Err(error) => {
                self.state.enter(RoundPhase::Between)?;
                Err(error)
            }
        };
        if !matches!(end, Ok(WritesEnd::Cut)) {
            writer.kill(KILL)?;
        }
        end
    }

    /// Waits for the first write and then for the time of the cut. Returns the time since the first write; `None` if
    /// the user asked to stop.
    fn until_cut(
        &mut self,
        round: u32,
        writer: &mut ChildRun,
        journal: &Path,
    ) -> Result<Option<Nanos>, PowercutError> {
        let settings = self.state.settings();
        let (began, limit) = (Instant::now(), duration(settings.wait));
        while !has_begun(journal) {
            if self.ended_early(writer, Duration::from_millis(2))? {
                return Ok(None);
            }
            if began.elapsed() > limit {
                let command = writer.command.clone();
                return Err(PowercutError::NothingWritten(settings.wait, command));
            }
        }
        let began = Instant::now();
        let by_hand = settings.method == CutMethod::Manual;
        if by_hand {
            let path = settings.target.path.display();
            // A writer that continues after the power has returned could flush on a drive that has lost its cache.
            let _ = writeln!(
                self.prompt,
                "round {round}: cut the power of {path} now, and do not restore it yet. Or cut the power of this \
                 machine; after its restart, {}.",
                self.resume
            );
            // Without power, the writes fail, and the writer ends.
            let status = writer.wait(self.signals, Duration::MAX)?;
            if status.is_none() || self.stops_soon() {
                return Ok(None);
            }
            let limit = clock(settings.wait);
            let _ = writeln!(
                self.prompt,
                "The writes to {path} have failed. If its power is off, restore it now, within {limit}."
            );
        } else if self.ended_early(writer, duration(settings.cut_time(round)))? {
            return Ok(None);
        }
        Ok(Some(Nanos(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX))))
    }

    /// Waits while the writer runs. Returns `true` if the user asks to stop, and an error if the writer ends.
    fn ended_early(&self, writer: &mut ChildRun, at_most: Duration) -> Result<bool, PowercutError> {
        match writer.wait(self.signals, at_most)? {
            Some(status) if !self.stops_soon() => {
                let (command, errors) = (writer.command.clone(), writer.errors());
                Err(PowercutError::WriterEnded { status, command, errors })
            }
            _ => Ok(self.signals.stop_requested()),
        }
    }

    /// Whether the user asks to stop. Ctrl-C reaches all processes of the terminal, and the child may end first.
    fn stops_soon(&self) -> bool {
        self.signals.stop_requested() || {
            self.signals.wait(Duration::from_millis(100));
            self.signals.stop_requested()
        }
    }

    /// Cuts the power, ends the writer, and restores the power.
    fn cut(&mut self, writer: &mut ChildRun, after: Nanos) -> Result<WritesEnd, PowercutError> {
        let kind = match self.state.settings().method {
            CutMethod::Kill => CutKind::Kill,
            CutMethod::Manual => CutKind::Manual,
            CutMethod::Command { .. } => CutKind::Command,
        };
        // Before the cut, because the command may switch off this machine.
        self.state.enter(RoundPhase::Cut { kind, after: Some(after) })?;
        let cut = self.switch().cut();
        if kind == CutKind::Command && cut.is_ok() {
            writer.wait(self.signals, duration(self.state.settings().linger))?;
        }
        let mut ended = writer.kill(KILL)?;
        // The power is restored after every other end, too.
        let restored = self.switch().restore();
        if let Err(error) = cut {
            self.state.enter(RoundPhase::Between)?;
            return Err(error);
        }
        restored?;
        let limit = duration(self.state.settings().wait);
        ended = ended || writer.kill(limit)?;
        if !ended {
            return Err(PowercutError::WriterHangs {
                pid: writer.id(),
                resume: self.resume.clone(),
            });
        }
        let _ = write!(self.progress, "cut after {:.1} s … ", after.as_secs_f64());
        Ok(WritesEnd::Cut)
    }

    /// Finishes a round that an earlier call has left: restores the power, and checks. `kind`: what ended the writes, if
    /// the earlier call has not saved it. Returns `None` if the user asked to stop.
    pub(super) fn finish(
        &mut self,
        round: u32,
        kind: Option<CutKind>,
    ) -> Result<Option<()>, PowercutError> {
        if let Some(kind) = kind {
            let begun = has_begun(&self.file(round, "journal"));
            // The round ended before the first write: it is repeated.
            let repeat = RoundPhase::Between;
            self.state.enter(if begun { RoundPhase::Cut { kind, after: None } } else { repeat })?;
        }
        self.switch().restore()?;
        match self.state.phase() {
            RoundPhase::Cut { .. } => Ok(self.check(round)?.map(drop)),
            _ => Ok(Some(())),
        }
    }

    /// Checks what this round has written, and what is left of the rounds before.
    fn check_all(&self, round: u32) -> Result<CheckEnd, PowercutError> {
        let mut report = match self.check_once(round, round)? {
            CheckEnd::Report(report) => report,
            end => return Ok(end),
        };
        for earlier in self.earlier_rounds(round) {
            match self.check_once(round, earlier)? {
                CheckEnd::Report(of_earlier) => {
                    if !of_earlier.is_broken() {
                        let of = format!("of-{earlier:04}");
                        self.remove(
                            round,
                            &["json", "extents", "errors"].map(|one| format!("{of}.{one}")),
                        );
                    }
                    report.add_earlier(of_earlier);
                }
                end => return Ok(end),
            }
        }
        Ok(CheckEnd::Report(report))
    }

    /// Checks in a round what is left of an earlier one, or of this round (`of`).
    fn check_once(&self, round: u32, of: u32) -> Result<CheckEnd, PowercutError> {
        let target = &self.state.settings().target;
        let name = |name: &str| match of == round {
            true => self.file(round, name),
            false => self.file(round, &format!("of-{of:04}.{name}")),
        };
        let journal = |round| self.file(round, "journal").display().to_string();
        let mut arguments = vec!["verify".to_owned(), format!("--journal={}", journal(of))];
        arguments.extend((of + 1..=round).map(|later| format!("--later={}", journal(later))));
        arguments.extend([
            "--format=json".into(),
            "--same-target".into(),
            format!("--extents={}", name("extents").display()),
            "--".into(),
            target.path.display().to_string(),
        ]);
        let (out, err) = (name("json"), name("errors"));
        let mut check = ChildRun::start(self.program, &arguments, &out, &err)?;
        let status = check.wait(self.signals, Duration::MAX)?;
        let Some(status) = status.filter(|_| !self.signals.stop_requested()) else {
            check.kill(KILL)?;
            return Ok(CheckEnd::Stopped);
        };
        let vanished = || power::probe(target).is_err();
        if !matches!(status.code(), Some(0 | LOST)) {
            if vanished() {
                return Ok(CheckEnd::Vanished);
            }
            let (command, errors) = (check.command.clone(), check.errors());
            return Err(PowercutError::NotChecked { round, status, command, errors });
        }
        let text = fs::read_to_string(&out).map_err(PowercutError::at(&out))?;
        let report: CheckReport = serde_json::from_str(&text)
            .map_err(|source| PowercutError::Report { path: out.clone(), source })?;
        // A read error of a target that has vanished again says nothing about the data.
        match report.has_read_errors() && vanished() {
            true => Ok(CheckEnd::Vanished),
            false => Ok(CheckEnd::Report(report)),
        }
    }

    /// Forgets a round that the user interrupted before the cut.
    fn drop_round(&mut self, round: u32) -> Result<(), PowercutError> {
        let _ = writeln!(self.progress, "stopped");
        self.state.enter(RoundPhase::Between)?;
        if has_begun(&self.file(round, "journal")) {
            // What it has overwritten is not known without its journal.
            self.forget_journals(round);
        }
        self.remove(round, &["journal", "written", "writer"]);
        Ok(())
    }

    fn remove(&self, round: u32, names: &[impl AsRef<str>]) {
        for name in names {
            // A later round of another call replaces a file that cannot be removed.
            let _ = FileGuard::generated().remove(&self.file(round, name.as_ref()));
        }
    }

    /// Path of a file of a round.
    fn file(&self, round: u32, name: &str) -> PathBuf {
        self.state.dir().join(format!("round-{round:04}.{name}"))
    }

    fn switch(&self) -> PowerSwitch<'_> {
        PowerSwitch {
            settings: self.state.settings(),
            dir: self.state.dir(),
            signals: self.signals,
            resume: &self.resume,
        }
    }
}

/// Whether the journal announces a write.
fn has_begun(journal: &Path) -> bool {
    fs::metadata(journal).is_ok_and(|file| file.len() > JOURNAL_UNIT as u64)
}

fn duration(time: Nanos) -> Duration {
    Duration::from_nanos(time.0)
}
