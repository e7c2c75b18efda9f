//! The command line of `fiord verify`.

use std::path::{Path, PathBuf};

use fiord_types::Bytes;

use crate::amount;
use crate::runs::hosts::SshArgs;
use crate::session::CommandFormat;

/// Checks a drive or file after a power cut, a crash or a kill.
///
/// The run before it had `verify=fiord` and `verify_journal=FILE`. Everything that the target had acknowledged and
/// flushed must be there; what was written later may be there or not. The target is only read.
///
/// With `--hosts`, each host checks its targets with the journal that the run on many hosts has kept here for it
/// (`FILE.HOST`).
///
/// Exit status: 0 if nothing is missing or damaged, 250 if data is, 1 if the target could not be checked.
#[derive(Debug, Clone, clap::Args)]
pub struct VerifyArgs {
    /// The target of the run, or all of its targets in the order of the journal. Without it, the paths that the journal names.
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// The journal of the run. With `--hosts`, the value of its `verify_journal`: the journal of n1 is FILE.n1.
    #[arg(long, value_name = "FILE")]
    pub journal: PathBuf,
    /// The journal is the first SIZE bytes of standard input, and the check ends when standard input ends. `--journal` is
    /// only its name.
    #[arg(long, value_name = "SIZE", hide = true)]
    pub(super) journal_input: Option<u64>,
    /// The journal of a later run on the target. Blocks that it names may have changed, and are not checked. Can be
    /// repeated.
    #[arg(long, value_name = "FILE")]
    pub later: Vec<PathBuf>,
    /// Output format.
    #[arg(long, value_enum, default_value = "table")]
    pub format: CommandFormat,
    /// Write a list of all bad extents to this file, one line for each.
    #[arg(long, value_name = "FILE")]
    pub extents: Option<PathBuf>,
    /// Accept the target even if it has another name, or contains no data of the run.
    #[arg(long)]
    pub same_target: bool,
    /// The target guarantees to write aligned units of this size (`4k`) as a whole, even if it loses power. A unit
    /// that contains only a part of a write is then an error. The default is a sector.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub atomic_unit: Option<Bytes>,
    /// The hosts that check their targets.
    #[command(flatten)]
    pub hosts: SshArgs,
}

impl VerifyArgs {
    /// The arguments of the command on one of many hosts.
    pub(super) fn on_host(&self, journal: &Path, length: Bytes) -> Vec<String> {
        let mut words = vec!["verify".to_owned()];
        words.push(format!("--journal={}", journal.display()));
        words.push(format!("--journal-input={}", length.0));
        if self.format == CommandFormat::Json {
            words.push("--format=json".to_owned());
        }
        words.extend(self.same_target.then(|| "--same-target".to_owned()));
        words.extend(self.atomic_unit.map(|unit| format!("--atomic-unit={}", unit.0)));
        words.push("--".to_owned());
        words.extend(self.targets.iter().map(|path| path.display().to_string()));
        words
    }

    /// An option that has no meaning on many hosts.
    pub(super) fn only_here(&self) -> Option<&'static str> {
        match (self.later.is_empty(), &self.extents) {
            (false, _) => Some("--later"),
            (true, Some(_)) => Some("--extents"),
            (true, None) => None,
        }
    }
}

/// Maximum unit in bytes. The check reads units as a whole.
const MAX_UNIT: u64 = 1 << 20;

fn size(text: &str) -> Result<Bytes, AtomicUnitError> {
    match amount::parse(text) {
        Ok(size) if size.is_power_of_two() && (512..=MAX_UNIT).contains(&size) => Ok(Bytes(size)),
        _ => Err(AtomicUnitError),
    }
}

/// The value of `--atomic-unit` is not possible.
#[derive(Debug, thiserror::Error)]
#[error("it is not a power of two from 512 to 1m")]
struct AtomicUnitError;
