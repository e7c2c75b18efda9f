//! The command line of `fiord sweep`.

use std::path::PathBuf;

use clap::ValueEnum;

/// Runs a job at many settings and finds where more load stops to pay.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// A job file; or, after `--`, the options of a job: `-- --name=a --rw=randread --size=1g`.
    #[arg(required = true, value_name = "JOB")]
    pub job: Vec<String>,
    /// An option and its values by commas (by semicolons where a value has commas). Given more than
    /// once, every combination is run.
    #[arg(long, value_name = "OPTION=V1,V2,…")]
    pub set: Vec<String>,
    /// Climb one axis, and stop when throughput has grown by less than 5 % and latency by more.
    #[arg(long, value_enum, value_name = "WHEN")]
    pub until: Option<Until>,
    /// Then measure latency against load: at these shares of the highest rate found, from the moment
    /// at which each I/O was due. A step other than 10 % comes after a colon.
    #[arg(long, value_name = "LOW%..HIGH%[:STEP%]")]
    pub rate: Option<String>,
    /// Where the runs' JSON and the list of what is done are kept. Without it: the job's name with
    /// `.sweep`.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Forget what is done and run everything again.
    #[arg(long)]
    pub restart: bool,
    /// How the results are printed.
    #[arg(long, value_enum, default_value = "table")]
    pub format: Format,
    /// Show progress on standard error: `auto` does so on a terminal only.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub eta: Eta,
}

/// Whether progress is shown on standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Eta {
    /// If standard error is a terminal.
    Auto,
    /// Yes.
    Always,
    /// No.
    Never,
}

/// When a climb is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Until {
    /// More load brings latency and no throughput.
    Saturated,
}

/// How the results are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// One JSON document.
    Json,
    /// A line a point, with a heading.
    Csv,
}
