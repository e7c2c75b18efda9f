//! The command line of `fiord zones`.

use std::path::PathBuf;

use fiord_sys::zone::ZoneAction;

use crate::session::CommandFormat;

/// The range of an action that is given without one: the whole device.
const ALL: &str = "all";

/// Shows the zones of a device, or changes their state.
///
/// RANGE is in zones, counted from 0: `3`, `0-15` (inclusive), `8+4` (four zones from zone 8),
/// `all`; or in bytes with a unit: `1g` (the zone that starts at 1 GiB), `0-1g`, `1g+512m`.
#[derive(Debug, Clone, clap::Args)]
pub struct ZonesArgs {
    /// A zoned block device, or an NVMe generic character device (`/dev/ng0n1`).
    #[arg(value_name = "DEVICE")]
    pub device: PathBuf,
    /// Show only these zones.
    #[arg(long, value_name = "RANGE", conflicts_with = "action")]
    pub range: Option<String>,
    /// Show one line for each zone, instead of one line for adjacent zones with the same state.
    #[arg(long, conflicts_with = "action")]
    pub each: bool,
    /// Output format.
    #[arg(long, value_enum, default_value = "table", conflicts_with = "action")]
    pub format: CommandFormat,
    /// Action on zones.
    #[command(flatten)]
    pub action: ActionArgs,
    /// Do not ask for confirmation.
    #[arg(long, requires = "action")]
    pub yes: bool,
    /// Refuse every action that changes the device.
    #[arg(long)]
    pub readonly: bool,
}

/// Action on zones. Without a range, it applies to all zones.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(id = "action", multiple = false)]
pub struct ActionArgs {
    /// Reset zones: their data is lost, and they can be written again from the start.
    #[arg(long, value_name = "RANGE", num_args = 0..=1, default_missing_value = ALL)]
    pub reset: Option<String>,
    /// Finish zones: they become full and cannot be written until they are reset.
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
    /// The requested action and its range as typed.
    #[must_use]
    pub fn asked(&self) -> Option<(ZoneAction, &str)> {
        let all = [
            (ZoneAction::Reset, &self.reset),
            (ZoneAction::Finish, &self.finish),
            (ZoneAction::Open, &self.open),
            (ZoneAction::Close, &self.close),
        ];
        all.into_iter().find_map(|(action, range)| Some((action, range.as_deref()?)))
    }
}
