//! The command line of `fiord powercut`.

use std::path::PathBuf;

use crate::session::{CommandFormat, ShowProgress};

/// Writes to a device, cuts its power, and checks that it kept all data that it had acknowledged and
/// flushed. Repeats this for several rounds.
#[derive(Debug, Clone, clap::Args)]
pub struct PowercutArgs {
    /// A block device or an existing file. All data on it will be lost.
    #[arg(value_name = "TARGET", required_unless_present = "resume")]
    pub target: Option<PathBuf>,
    /// The load: a job file, or the options of a job. Default: random writes of 4 KiB to
    /// 64 KiB at depths 1, 4 and 16, with flushes, in a random region of 16 GiB.
    #[arg(value_name = "JOB")]
    pub job: Vec<String>,
    /// How to cut the power: `kill` (end only the writer: this tests the software, not the device),
    /// `manual` (you cut it by hand, of the device or of the whole machine), or a shell command.
    #[arg(long, value_name = "HOW", required_unless_present = "resume")]
    pub cut: Option<String>,
    /// A shell command that restores the power after `--cut=COMMAND`.
    #[arg(long, value_name = "COMMAND")]
    pub restore: Option<String>,
    /// Number of rounds.
    #[arg(long, default_value = "10", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    rounds: u32,
    /// Time from the first write to the cut, drawn from this range: `2..10`, `500ms..2s`.
    #[arg(long, value_name = "LOW..HIGH", default_value = "2..10")]
    pub after: String,
    /// How long the writer continues after the command of `--cut` has ended, for power that fails late.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub linger: String,
    /// How long a command may take, and how long the target may take to return.
    #[arg(long, value_name = "TIME", default_value = "2m")]
    pub wait: String,
    /// After each cut, also check what this many earlier rounds have written, because a power failure can damage data
    /// that was safe before. fiord keeps the journals of these rounds.
    #[arg(long, value_name = "ROUNDS", default_value = "2", value_parser = clap::value_parser!(u32).range(0..=100))]
    earlier: u32,
    /// Seed of the times and of the load. Default: from the clock; the results name it.
    #[arg(long)]
    seed: Option<u64>,
    /// End after the first round that loses data, to keep what is on the device.
    #[arg(long)]
    pub stop: bool,
    /// Directory for the journals, the results and the state, on a disk other than that of the target.
    /// Default: the name of the target with `.powercut`.
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Check the round that a power cut or an interruption ended, and run the rounds that are left.
    /// FILE is `powercut.json` in the directory of the rounds.
    #[arg(long, value_name = "FILE", conflicts_with_all = [
        "job", "cut", "restore", "rounds", "after", "earlier", "linger", "wait", "seed", "stop", "dir", "restart",
    ])]
    pub resume: Option<PathBuf>,
    /// Start over in a directory with rounds of an earlier call.
    #[arg(long)]
    pub restart: bool,
    /// Do not ask for confirmation.
    #[arg(long)]
    pub yes: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "table")]
    pub format: CommandFormat,
    /// Show progress on standard error.
    #[arg(long, value_enum, value_name = "WHEN", default_value = "auto")]
    pub eta: ShowProgress,
}

impl PowercutArgs {
    /// Number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Number of rounds before the last one whose data is checked, too.
    #[must_use]
    pub fn earlier(&self) -> u32 {
        self.earlier
    }

    /// Seed of the times and of the load, if the user sets it.
    #[must_use]
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }
}
