//! The command line of `fiord suite`.

use std::path::PathBuf;

use crate::session::{CommandFormat, ShowProgress};

/// Runs a suite: a set of runs on a device that answers one question. Without a name, lists them.
#[derive(Debug, Clone, clap::Args)]
pub struct SuiteArgs {
    /// Name of the suite.
    #[arg(value_name = "SUITE", requires = "device")]
    pub suite: Option<String>,
    /// The device. The suite destroys all data on it.
    #[arg(value_name = "DEVICE")]
    pub device: Option<PathBuf>,
    /// Options that are added to every job of the suite, such as `--ioengine=libaio`. They have the form `--option=value`.
    #[arg(value_name = "JOB OPTION")]
    pub job: Vec<String>,
    /// Replace the values of an axis: `--set bs=4k,64k`. `fiord suite` lists the axes.
    #[arg(long, value_name = "AXIS=V1,V2,…")]
    pub set: Vec<String>,
    /// Duration of each measured run (`10s`, `500ms`, `1m`). Default: set by the suite.
    #[arg(long, value_name = "TIME")]
    pub runtime: Option<String>,
    /// Duration before the measurement of each run begins. Default: set by the suite.
    #[arg(long, value_name = "TIME")]
    pub ramp_time: Option<String>,
    /// Print the job files in the order in which they would run; run nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask for confirmation: destroy the data on the device.
    #[arg(long)]
    pub yes: bool,
    /// Refuse to change the device; permits only `--dry-run`.
    #[arg(long)]
    pub readonly: bool,
    /// Directory for job files, the JSON of each run and the list of finished runs. Default: named
    /// after the suite and the device.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Start over instead of resuming an interrupted suite.
    #[arg(long)]
    pub restart: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "table")]
    pub format: CommandFormat,
    /// Show progress on standard error.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub eta: ShowProgress,
}
