//! What fiord has beside fio's command line: `fiord options`.
//!
//! A first argument is a subcommand only when it is exactly the name of one and no file has that
//! name: `fiord options` runs the job file `options` where there is one.

use std::path::Path;

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::sink;

const NAMES: [&str; 1] = ["options"];

#[derive(Debug, Parser)]
#[command(name = "fiord")]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the options of job files.
    Options {
        /// Only those, and the value words and engines, that are known and not supported yet.
        #[arg(long)]
        unsupported: bool,
    },
}

/// Runs a subcommand; `None` when the arguments are none.
pub fn run(args: &[String]) -> Option<Exit> {
    let first = args.first()?;
    if !NAMES.contains(&first.as_str()) || Path::new(first).exists() {
        return None;
    }
    let line = std::iter::once("fiord").chain(args.iter().map(String::as_str));
    let text = match Line::try_parse_from(line) {
        Ok(Line { command: Command::Options { unsupported: true } }) => {
            fiord_job::unsupported::list()
        }
        Ok(Line { command: Command::Options { unsupported: false } }) => {
            fiord_job::command::help::options()
        }
        Err(error) if error.use_stderr() => {
            eprint!("{error}");
            return Some(Exit::Failure);
        }
        Err(help) => help.to_string(),
    };
    Some(sink::print(&text))
}
