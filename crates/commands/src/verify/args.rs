//! The command line of `fiord verify`.

use std::path::PathBuf;

use fiord_types::Bytes;

use crate::amount;
use crate::session::CommandFormat;

/// Checks a drive or file after a power cut, a crash or a kill.
///
/// The run before it had `verify=fiord` and `verify_journal=FILE`. Everything that the target had acknowledged and
/// flushed must be there; what was written later may be there or not. The target is only read.
///
/// Exit status: 0 if nothing is missing or damaged, 250 if data is, 1 if the target could not be checked.
#[derive(Debug, Clone, clap::Args)]
pub struct VerifyArgs {
    /// The target of the run, or all of its targets in the order of the journal. Without it, the paths that the journal names.
    #[arg(value_name = "TARGET")]
    pub targets: Vec<PathBuf>,
    /// The journal of the run.
    #[arg(long, value_name = "FILE")]
    pub journal: PathBuf,
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
    /// The target is that of the run, even if it has another name or contains nothing of the run.
    #[arg(long)]
    pub same_target: bool,
    /// The target promises to write aligned units of this size (`4k`) as a whole, even if it loses power. Writes of which
    /// a unit contains only a part are then errors. The default is a sector.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub atomic_unit: Option<Bytes>,
}

/// Largest unit in bytes. The check reads units as a whole.
const LARGEST_UNIT: u64 = 1 << 20;

fn size(text: &str) -> Result<Bytes, AtomicUnitError> {
    match amount::parse(text) {
        Ok(size) if size.is_power_of_two() && (512..=LARGEST_UNIT).contains(&size) => {
            Ok(Bytes(size))
        }
        _ => Err(AtomicUnitError),
    }
}

/// The value of `--atomic-unit` is not possible.
#[derive(Debug, thiserror::Error)]
#[error("it is not a power of two from 512 to 1m")]
struct AtomicUnitError;
