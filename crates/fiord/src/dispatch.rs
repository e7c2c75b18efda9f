//! Decides where the jobs of a command line run.

use fiord_job::command::hosts::hosts_command;

use crate::exit::Exit;
use crate::{hosts, invoke, ranks, sink};

/// Runs the program with the arguments, without the name of the program.
pub(crate) fn run(args: &[String]) -> Exit {
    match hosts_command(args) {
        Ok(None) => invoke::run(args),
        Ok(Some(command)) if command.is_ranks() => ranks::run(command),
        Ok(Some(command)) => hosts::run(&command),
        Err(errors) => sink::refuse(&errors),
    }
}
