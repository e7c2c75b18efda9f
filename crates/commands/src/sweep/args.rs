//! The command line of `fiord sweep`.

use std::path::PathBuf;

use clap::ValueEnum;

use crate::runs::hosts::HostsArgs;
use crate::session::ShowProgress;

/// Runs a job at many settings and finds the knee, beyond which more load adds latency but no
/// throughput.
#[derive(Debug, Clone, clap::Args)]
pub struct SweepArgs {
    /// A job file, or the options of a job: `--name=a --rw=randread --size=1g`. Options that the sweep has too, such
    /// as --rate, belong to the job only after `--`.
    #[arg(required = true, value_name = "JOB")]
    pub job: Vec<String>,
    /// An option and its values, separated by commas (or by semicolons if a value contains commas).
    /// If given more than once, the sweep runs every combination.
    #[arg(long, value_name = "OPTION=V1,V2,…")]
    pub set: Vec<String>,
    /// Run each point this many times, in rounds over all points. The knee then has a confidence interval that covers
    /// the variation between runs. Five runs are a good number.
    #[arg(long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Increase the load along one axis. Stop when a step certainly gains less than 5 % throughput and
    /// latency grows by more.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub until: Option<Until>,
    /// Afterwards, measure latency at these percentages of the highest rate found, from the
    /// intended start time of each I/O. The default step is 10 %.
    #[arg(long, value_name = "LOW%..HIGH%[:STEP%]")]
    pub rate: Option<String>,
    /// Directory for the JSON of each run and the list of finished runs. Default: the job's name
    /// with `.sweep`.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Start over instead of resuming an interrupted sweep.
    #[arg(long)]
    pub restart: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "table")]
    pub format: SweepFormat,
    /// Show progress on standard error.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub eta: ShowProgress,
    /// The hosts on which each point is measured.
    #[command(flatten)]
    pub hosts: HostsArgs,
}

impl SweepArgs {
    /// How often each point is run.
    #[must_use]
    pub fn repeat(&self) -> u32 {
        self.repeat
    }
}

/// When to stop increasing the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// More load adds latency but no throughput.
    Saturated,
}

/// Output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SweepFormat {
    /// A table for people.
    Table,
    /// One JSON document.
    Json,
    /// One line for each point, with a header.
    Csv,
}
