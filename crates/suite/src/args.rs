//! The command line of `fiord suite`.

use std::path::PathBuf;

use fiord_sweep::args::Eta;
use fiord_zones::args::Format;

/// Runs a suite: a set of runs on a device that answers one question. Without a name, lists them.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// Which suite.
    #[arg(value_name = "SUITE", requires = "device")]
    pub suite: Option<String>,
    /// The device. What is on it is lost.
    #[arg(value_name = "DEVICE")]
    pub device: Option<PathBuf>,
    /// Other values of an axis of the suite: `--set bs=4k,64k`. The list of suites names the axes.
    #[arg(long, value_name = "AXIS=V1,V2,…")]
    pub set: Vec<String>,
    /// How long each measured run takes, instead of what the suite says (`10s`, `500ms`, `1m`).
    #[arg(long, value_name = "TIME")]
    pub runtime: Option<String>,
    /// How long each one runs before it is measured.
    #[arg(long, value_name = "TIME")]
    pub ramp_time: Option<String>,
    /// Print the job files in their order and do nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Go on without asking: what is on the device may be lost.
    #[arg(long)]
    pub yes: bool,
    /// Refuse everything that changes a device; then only `--dry-run` is left.
    #[arg(long)]
    pub readonly: bool,
    /// Where job files, the runs' JSON and the list of what is done are kept. Without it: the
    /// suite's name and the device's.
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
