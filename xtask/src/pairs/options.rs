//! The command line of `cargo xtask pairs`.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};

use crate::args::Args;

/// The text of `--help`.
pub(super) const HELP: &str = "\
cargo xtask pairs [OPTION…]

Runs jobs that together contain every pair of option values, under fiord and fio, and compares what
they do. Cases run in a mount namespace, which needs root. Results are in target/pairs, and
another run with the same programs and the same seed continues there.

  --fio PATH        the fio to compare with, 3.40 or newer (fio from PATH; without one, fiord's runs are
                    only compared with each other)
  --fiord PATH      the fiord to test (built as for tests)
  --seed N          decides how values are combined (1)
  --density N       number of values that a case combines (6)
  --triples N       number of triples of values in the sample (500)
  --cases N         run at most N cases that are not finished
  --only OPTION     run only cases with an option whose text begins with this, such as verify=md5, or with an
                    option of this subject of the model, such as zone; may be given more than once: cases have
                    them all
  --case 'OPTIONS'  run one case, and print all its differences, also known ones
  --workers N       cases that run side by side (4)
  --limit SECONDS   limit of time of one run (60)
  --list            print the cases
  --report          run nothing, and print what the finished cases say
  --smoke           run a fixed sample for at most a minute, and store nothing
";

/// What the command does.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// Runs the cases that are not finished.
    Run,
    /// Runs a sample.
    Smoke,
    /// Runs one case.
    Case(String),
    /// Prints the cases.
    List,
    /// Prints what finished cases say.
    Report,
}

/// The parsed command line.
#[derive(Debug)]
pub(super) struct Options {
    pub what: What,
    pub fio: Option<PathBuf>,
    pub fiord: Option<PathBuf>,
    pub seed: u64,
    pub density: usize,
    pub triples: usize,
    pub cases: usize,
    pub only: Vec<String>,
    pub workers: usize,
    pub limit: Duration,
}

/// Parses the command line; `None` if it asks for help.
pub(super) fn parse(args: &[String]) -> Result<Option<Options>> {
    let mut options = Options {
        what: What::Run,
        fio: None,
        fiord: None,
        seed: 1,
        density: 6,
        triples: 500,
        cases: usize::MAX,
        only: Vec::new(),
        workers: 4,
        limit: Duration::from_secs(60),
    };
    let mut args = Args::new(args);
    while let Some(option) = args.option() {
        match option {
            "--help" | "-h" => return Ok(None),
            "--fio" => options.fio = Some(args.value()?),
            "--fiord" => options.fiord = Some(args.value()?),
            "--seed" => options.seed = args.value()?,
            "--density" => options.density = args.value()?,
            "--triples" => options.triples = args.value()?,
            "--cases" => options.cases = args.value()?,
            "--only" => options.only.push(args.value()?),
            "--case" => options.what = What::Case(args.value()?),
            "--workers" => options.workers = args.value()?,
            "--limit" => options.limit = args.seconds()?,
            "--list" => options.what = What::List,
            "--report" => options.what = What::Report,
            "--smoke" => options.what = What::Smoke,
            _ => return Err(args.unknown(HELP)),
        }
    }
    ensure!(options.density >= 2, "--density must be at least 2");
    ensure!(options.workers >= 1, "--workers must be at least 1");
    Ok(Some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &[&str]) -> Result<Option<Options>> {
        parse(&line.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let options = of(&["--seed", "7", "--only", "rw=write", "--smoke"]).unwrap().unwrap();
        assert_eq!((options.seed, options.what), (7, What::Smoke));
        assert_eq!(options.only, ["rw=write"]);
    }

    #[test]
    fn mistakes_are_reported() {
        assert!(of(&["--seed"]).is_err());
        assert!(of(&["--density", "1"]).is_err());
        assert!(of(&["--fast"]).is_err());
        assert!(of(&["--help"]).unwrap().is_none());
    }
}
