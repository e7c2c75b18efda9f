//! Cuts and restores the power, and waits until the target is back.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use fiord_sys::file::FileGuard;
use fiord_sys::process::{self, CommandOutput, Kill};
use fiord_sys::signal::Signals;

use super::error::{Absence, PowercutError};
use super::settings::{CutMethod, PowercutSettings, TargetIdentity};
use crate::precondition::target;

/// Interval of looking for the target.
const LOOK: Duration = Duration::from_millis(100);
/// Maximum number of characters of a command's output in a message.
const MAX_OUTPUT: usize = 2000;

/// What the functions of this module need.
#[derive(Debug, Clone, Copy)]
pub(super) struct PowerSwitch<'a> {
    pub(super) settings: &'a PowercutSettings,
    pub(super) dir: &'a Path,
    pub(super) signals: &'static Signals,
    /// How the user continues after an error.
    pub(super) resume: &'a str,
}

impl PowerSwitch<'_> {
    /// Runs the command that cuts the power, if there is one.
    pub(super) fn cut(&self) -> Result<(), PowercutError> {
        match &self.settings.method {
            CutMethod::Command { cut, .. } => self.command("cut", cut),
            CutMethod::Kill | CutMethod::Manual => Ok(()),
        }
    }

    /// Runs the command that restores the power, if there is one.
    pub(super) fn restore(&self) -> Result<(), PowercutError> {
        match &self.settings.method {
            CutMethod::Command { restore, .. } => self.command("restore", restore),
            CutMethod::Kill | CutMethod::Manual => Ok(()),
        }
    }

    /// Runs a command of the user. A request to stop does not interrupt it, so that it leaves a defined state.
    fn command(&self, option: &'static str, command: &str) -> Result<(), PowercutError> {
        let log = self.dir.join(format!("{option}.output"));
        let output = FileGuard::generated().replace(&log)?;
        let (began, limit) = (Instant::now(), Duration::from_nanos(self.settings.wait.0));
        let mut late = || (began.elapsed() > limit).then_some(Kill::AtOnce);
        let ending = process::run_shell(command, CommandOutput::File(output), &mut late)?;
        if ending.is_success() {
            return Ok(());
        }
        let output = fs::read_to_string(&log).unwrap_or_default();
        Err(PowercutError::Command {
            option,
            command: command.to_owned(),
            ending,
            output: output.chars().take(MAX_OUTPUT).collect(),
            resume: self.resume.to_owned(),
        })
    }

    /// Waits until the target can be read. Returns `false` if the user asks to stop before.
    ///
    /// # Errors
    /// It has not returned in time.
    pub(super) fn wait_for_target(&self) -> Result<bool, PowercutError> {
        let (began, limit) = (Instant::now(), Duration::from_nanos(self.settings.wait.0));
        loop {
            let Err(why) = probe(&self.settings.target) else { return Ok(true) };
            if began.elapsed() > limit {
                return Err(PowercutError::NotBack {
                    path: self.settings.target.path.clone(),
                    limit: self.settings.wait,
                    why: Box::new(why),
                    resume: self.resume.to_owned(),
                });
            }
            if self.signals.stop_requested() {
                return Ok(false);
            }
            self.signals.wait(LOOK);
        }
    }
}

/// Checks that the target is here and can be read.
pub(super) fn probe(expected: &TargetIdentity) -> Result<(), Absence> {
    // This reads the start of a device, past the page cache.
    let found = target::all(std::slice::from_ref(&expected.path)).map_err(Absence::Unusable)?;
    let difference = expected.difference(&TargetIdentity::of(&found[0]));
    difference.map_or(Ok(()), |difference| Err(Absence::Another(difference)))
}

#[cfg(test)]
mod tests {
    use fiord_sys::signal;
    use fiord_types::{Bytes, Nanos};

    use super::super::settings::example;
    use super::super::tests::place;
    use super::*;

    fn switch<'a>(settings: &'a PowercutSettings, dir: &'a Path) -> PowerSwitch<'a> {
        PowerSwitch { settings, dir, signals: signal::install().unwrap(), resume: "continue" }
    }

    #[test]
    fn a_command_that_fails_is_reported_with_its_output() {
        let place = place("command");
        let settings = example(CutMethod::Command {
            cut: "echo the outlet does not answer; exit 7".into(),
            restore: "echo on >\"$FIORD_NONE\"restored".into(),
        });
        let error = switch(&settings, &place).cut().unwrap_err().to_string();
        assert!(error.starts_with("the command of --cut failed: exit status 7\n"), "{error}");
        assert!(error.contains("\nthe outlet does not answer\n"), "{error}");
        assert!(error.contains("To fix: run the command by hand, then continue"), "{error}");
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_command_has_a_time_limit() {
        let place = place("slow");
        let cut = CutMethod::Command { cut: "sleep 100".into(), restore: "true".into() };
        let mut settings = example(cut);
        settings.wait = Nanos::from_millis(20);
        let error = switch(&settings, &place).cut().unwrap_err().to_string();
        assert!(error.contains("killed by signal 9"), "{error}");
        fs::remove_dir_all(place).unwrap();
    }

    #[test]
    fn a_target_that_does_not_return_in_time_and_another_one_in_its_place() {
        let place = place("back");
        let path = place.join("t");
        let mut settings = example(CutMethod::Manual);
        settings.target.path = path.clone();
        settings.wait = Nanos::from_millis(20);
        let wait = |settings: &PowercutSettings| switch(settings, &place).wait_for_target();
        let error = wait(&settings).unwrap_err().to_string();
        assert!(error.contains("there is no file") && error.contains("then continue"), "{error}");
        fs::write(&path, vec![0; 4096]).unwrap();
        let error = wait(&settings).unwrap_err().to_string();
        assert!(error.contains("another device is in its place: it has 4096 bytes"), "{error}");
        settings.target.size = Bytes(4096);
        assert!(wait(&settings).unwrap());
        fs::remove_dir_all(place).unwrap();
    }
}
