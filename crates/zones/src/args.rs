//! The command line of `fiord zones`.

use std::path::PathBuf;

use clap::ValueEnum;
use fiord_sys::zone::Action;

/// The whole device, where an action is given without a range.
const ALL: &str = "all";

/// Shows a device's zones, or changes their state.
///
/// RANGE is in zones, counted from 0: `3`, `0-15` (both included), `8+4` (four from 8 on), `all`; or
/// in bytes with a unit: `1g` (the zone that begins there), `0-1g`, `1g+512m`.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// A zoned block device, or an NVMe generic character device (`/dev/ng0n1`).
    #[arg(value_name = "DEVICE")]
    pub device: PathBuf,
    /// Show these zones only.
    #[arg(long, value_name = "RANGE", conflicts_with = "action")]
    pub range: Option<String>,
    /// Show a line for each zone; neighbours that are alike share one otherwise.
    #[arg(long, conflicts_with = "action")]
    pub each: bool,
    /// How the zones are printed.
    #[arg(long, value_enum, default_value = "table", conflicts_with = "action")]
    pub format: Format,
    /// What is to be done to zones.
    #[command(flatten)]
    pub action: ActionArgs,
    /// Do it without asking.
    #[arg(long, requires = "action")]
    pub yes: bool,
    /// Refuse everything that changes the device.
    #[arg(long)]
    pub readonly: bool,
}

/// What is to be done to zones; without a range to all of them.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "action", multiple = false)]
pub struct ActionArgs {
    /// Reset zones: what they hold is lost, and they can be written from their start.
    #[arg(long, value_name = "RANGE", num_args = 0..=1, default_missing_value = ALL)]
    pub reset: Option<String>,
    /// Finish zones: they become full, and what is not written yet cannot be until they are reset.
    #[arg(long, value_name = "RANGE", num_args = 0..=1, default_missing_value = ALL)]
    pub finish: Option<String>,
    /// Open zones explicitly.
    #[arg(long, value_name = "RANGE", num_args = 1)]
    pub open: Option<String>,
    /// Close open zones.
    #[arg(long, value_name = "RANGE", num_args = 0..=1, default_missing_value = ALL)]
    pub close: Option<String>,
}

impl ActionArgs {
    /// The action and its range as typed.
    pub fn asked(&self) -> Option<(Action, &str)> {
        let all = [
            (Action::Reset, &self.reset),
            (Action::Finish, &self.finish),
            (Action::Open, &self.open),
            (Action::Close, &self.close),
        ];
        all.into_iter().find_map(|(action, range)| Some((action, range.as_deref()?)))
    }
}

/// How what is found is printed; of suites of zoned devices as well.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Table,
    /// One JSON document.
    Json,
}
