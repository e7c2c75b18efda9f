//! `fiord compare`: is one setting faster than another, and how certain is that.
//!
//! | question | module |
//! |---|---|
//! | which files does an argument name, and what do they contain | `files` |
//! | how is a comparison computed and printed | [`fiord_compare`] |

mod files;

use std::io::Write;
use std::path::PathBuf;

use clap::ValueEnum;
use fiord_compare::condition::BadCondition;
use fiord_compare::metric::UnknownMetric;
use fiord_compare::{
    CompareError, CompareMetric, CompareSettings, Comparison, ConditionState, FailCondition, json,
    markdown, page, text,
};
use fiord_sys::file::FileGuard;
use fiord_types::{Errno, plain};

use crate::session::{CannotPrint, CommandEnd, Session};
use files::SideError;

/// Compares results of runs: is one side better than the first one, worse, or can nothing be said.
///
/// Each argument is one side: a file, a directory with the files of several runs, a list of files separated by commas, or a
/// quoted pattern ('a-*.json'). The first side is the one that the others are compared with.
#[derive(Debug, Clone, clap::Args)]
pub struct CompareArgs {
    /// JSON or terse output of fiord or of fio 3, or a page of `fiord report`: a file, a directory with several runs of one side, a list separated by
    /// commas, or a quoted pattern. A single directory has one directory for each side; those of `fiord run` are compared
    /// in the order in which it was given the job files.
    #[arg(required = true, value_name = "SIDE")]
    pub sides: Vec<String>,
    /// The files of the second side; the arguments before it are those of the first: `compare a1 a2 --vs b1 b2`.
    #[arg(long, value_name = "FILES", num_args = 1..)]
    pub vs: Vec<String>,
    /// Differences up to this one do not matter, such as 2%.
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    pub noise: f64,
    /// What to compare: iops, bw, mean, or percentiles such as p99.9.
    #[arg(long, value_name = "LIST", default_value = "iops,mean,p99")]
    pub metrics: String,
    /// Return status 248 if this change against the first side is certain: 'p99>+5%' or 'iops<-3%'; 247 if it was
    /// measured, but can be chance. The test is one-sided: changes in the other direction do not count. Can be given more
    /// than once.
    #[arg(long, value_name = "CONDITION")]
    pub fail_if: Vec<String>,
    /// How much runs are assumed to vary (standard deviation) if each side has only one run. Without this option, 5% is
    /// assumed of results with time windows; other results, such as JSON of fio, get no verdict.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub run_variation: Option<f64>,
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    pub format: CompareFormat,
    /// Write the comparison to this file.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Output format of `fiord compare`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For people.
    Text,
    /// One JSON document.
    Json,
    /// A table for comments and issues.
    Markdown,
    /// A page for a browser.
    Html,
}

/// Why results were not compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareFailure {
    /// A side cannot be read.
    #[error(transparent)]
    Side(#[from] SideError),
    /// There is nothing to compare with.
    #[error(
        "there is only one side: {0}\nTo fix: name two or more, such as `fiord compare a.json b.json`"
    )]
    OneSide(String),
    /// More sides than letters.
    #[error(
        "there are {0} sides; at most 26 are compared. To fix: quote a pattern that means one side, or \
         separate the sides with --vs"
    )]
    ManySides(usize),
    /// `--metrics` names something else.
    #[error(transparent)]
    Metric(#[from] UnknownMetric),
    /// `--fail-if` is not a condition.
    #[error(transparent)]
    Condition(#[from] BadCondition),
    /// The sides cannot be compared.
    #[error(transparent)]
    Comparison(#[from] CompareError),
    /// The file of `--output` cannot be created.
    #[error("--output: {0}")]
    Create(#[source] fiord_sys::Error),
    /// The file of `--output` cannot be written.
    #[error("--output: {}: {}", .0.display(), Errno::explain(.1))]
    Write(PathBuf, #[source] std::io::Error),
    /// The comparison cannot be printed.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

/// A text that is not a share.
#[derive(Debug, thiserror::Error)]
#[error("it is not a number of per cent from 0 to below 1000, such as 2%")]
struct NotAPercentage;

/// Parses `2%` or `2` as the share 0.02.
fn percent(text: &str) -> Result<f64, NotAPercentage> {
    let number = text.trim().trim_end_matches('%').trim_end();
    let percent = number.parse::<f64>().map_err(|_| NotAPercentage)?;
    if (0.0..1000.0).contains(&percent) { Ok(percent / 100.0) } else { Err(NotAPercentage) }
}

/// Compares sides and prints the comparison.
///
/// # Errors
/// A side cannot be read, the sides have nothing in common, or the comparison cannot be written.
pub fn run(args: &CompareArgs, session: &mut Session) -> Result<CommandEnd, CompareFailure> {
    let metrics = args.metrics.split(',').map(str::trim).filter(|word| !word.is_empty());
    let conditions = args.fail_if.iter().map(|text| FailCondition::parse(text));
    let settings = CompareSettings {
        noise: args.noise,
        run_variation: args.run_variation,
        metrics: metrics.map(CompareMetric::parse).collect::<Result<_, _>>()?,
        conditions: conditions.collect::<Result<_, _>>()?,
    };
    let sides = files::sides(&args.sides, &args.vs)?;
    match sides.as_slice() {
        [only] => return Err(CompareFailure::OneSide(only.name.clone())),
        sides if sides.len() > 26 => return Err(CompareFailure::ManySides(sides.len())),
        _ => {}
    }
    let comparison = fiord_compare::compare(sides, settings)?;
    let text = match args.format {
        CompareFormat::Text => {
            let columns = if args.output.is_none() { session.columns } else { None };
            plain(&text::text_within(&comparison, columns)).into_owned()
        }
        CompareFormat::Json => json::json(&comparison),
        CompareFormat::Markdown => plain(&markdown::markdown(&comparison)).into_owned(),
        CompareFormat::Html => page::page(&comparison),
    };
    match &args.output {
        None => session.print_document(&text)?,
        Some(path) => {
            let mut file = FileGuard::typed().replace(path).map_err(CompareFailure::Create)?;
            file.write_all(text.as_bytes())
                .map_err(|error| CompareFailure::Write(path.clone(), error))?;
        }
    }
    Ok(end(&comparison))
}

fn end(comparison: &Comparison) -> CommandEnd {
    let worst = comparison.conditions.iter().map(|result| result.state).max();
    match worst {
        Some(ConditionState::Holds) => CommandEnd::ConditionHolds,
        Some(ConditionState::Unproven) => CommandEnd::ConditionUnproven,
        Some(ConditionState::No) | None => CommandEnd::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        let share = |text| percent(text).ok();
        assert_eq!(share("2%"), Some(0.02));
        assert_eq!((share("0.5 %"), share("3")), (Some(0.005), Some(0.03)));
        assert_eq!(
            (share("-1%"), share("x"), share("nan"), share("1000")),
            (None, None, None, None)
        );
    }
}
