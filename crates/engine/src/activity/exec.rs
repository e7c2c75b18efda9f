//! `exec`: runs a program.
//!
//! The first cycle starts the program. Each later one waits for its end, for up to 100 ms as in fio. The
//! program and all of its descendants end with the job, and also if fiord is killed
//! (`fiord_sys::supervise`).

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use fiord_plan::ExecPlan;
use fiord_sys::file::FileGuard;
use fiord_sys::process::ProcessEnding;
use fiord_sys::supervise::{self, SupervisedProgram};

use super::CyclicWork;
use crate::{EndSignal, EngineConfig, EngineError};

/// Length of a cycle.
const CYCLE: Duration = Duration::from_millis(100);
/// How often a cycle checks whether the job must stop.
const LOOK: Duration = Duration::from_millis(10);

/// The program of one job.
#[derive(Debug)]
pub struct Program {
    plan: ExecPlan,
    /// The job ends with the program.
    ends_with_it: bool,
    end: EndSignal,
    state: State,
}

#[derive(Debug)]
enum State {
    NotStarted,
    Runs(SupervisedProgram),
    /// The program has ended. Descendants may run.
    Ended(SupervisedProgram),
    /// The program could not be started.
    Failed,
}

impl Program {
    fn start(&self) -> Result<SupervisedProgram, EngineError> {
        let output = match &self.plan.output {
            Some((out, err)) => Some((create(out)?, create(err)?)),
            None => None,
        };
        SupervisedProgram::start(&self.plan.program, &self.plan.arguments, output)
            .map_err(|error| self.cannot_run(&error))
    }

    fn cannot_run(&self, error: &fiord_sys::Error) -> EngineError {
        let program = &self.plan.program;
        let why = error.said.clone().unwrap_or_else(|| error.errno.to_string());
        let what = format!("ioengine=exec: cannot run `{program}`: {why}");
        let help = match program.contains('/') {
            true => "To fix: set `program` to an executable file",
            false => "To fix: set `program` to the path of an executable file, or extend PATH",
        };
        EngineError { errno: Some(error.errno), ..EngineError::plain(what) }.help(help)
    }

    /// The error of a program that failed.
    fn failed(&self, ending: ProcessEnding) -> EngineError {
        let program = &self.plan.program;
        let what = format!("the program `{program}` failed: {ending}");
        match &self.plan.output {
            Some((_, err)) => {
                EngineError::plain(what).help(format!("its messages are in {}", err.display()))
            }
            None => EngineError::plain(what),
        }
    }
}

/// Creates a file for output, or empties it.
fn create(path: &Path) -> Result<File, EngineError> {
    FileGuard::generated()
        .replace(path)
        .map_err(|error| EngineError::from_sys("std_redirect", &error.at(path)))
}

impl CyclicWork for Program {
    fn new(config: &EngineConfig) -> Result<Self, EngineError> {
        let plan = config.engine.program().ok_or_else(EngineError::other_engine)?;
        let program = Program {
            plan: plan.clone(),
            ends_with_it: config.run_time.is_none(),
            end: config.end.clone(),
            state: State::NotStarted,
        };
        // Before any job starts, so that a wrong name does not cost a run.
        supervise::find_program(&program.plan.program)
            .map_err(|error| program.cannot_run(&error))?;
        Ok(program)
    }

    fn cycle(&mut self) -> Result<(), EngineError> {
        if matches!(self.state, State::NotStarted) {
            self.state = State::Failed;
            self.state = State::Runs(self.start()?);
            return Ok(());
        }
        let looks = CYCLE.as_millis() / LOOK.as_millis();
        for _ in 0..looks {
            if self.end.is_stopped() {
                break;
            }
            let State::Runs(program) = &mut self.state else {
                std::thread::sleep(LOOK);
                continue;
            };
            let ending = program.ending(LOOK);
            let Some(ending) = ending.map_err(|error| self.cannot_run(&error))? else { continue };
            self.state = match std::mem::replace(&mut self.state, State::Failed) {
                State::Runs(program) => State::Ended(program),
                other => other,
            };
            if self.ends_with_it {
                self.end.finish();
            }
            return if ending.is_success() { Ok(()) } else { Err(self.failed(ending)) };
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), EngineError> {
        let (State::Runs(program) | State::Ended(program)) = &mut self.state else {
            return Ok(());
        };
        let grace = Duration::from_nanos(self.plan.grace.0);
        let ended = program.end(grace);
        ended.map(drop).map_err(|error| {
            EngineError::plain(format!("ioengine=exec: `{}`: {error}", self.plan.program))
        })
    }
}
