//! How many trims blocks survive (`block_error_percentiles`).

use std::io::{self, Write};

use fiord_stat::block_errors::{BlockErrors, BlockState};
use fiord_stat::report::JobReport;

/// Maximum number of percentiles in a line.
const PER_LINE: usize = 4;

/// Writes the section, or nothing if the job does not follow its blocks.
pub(super) fn write(job: &JobReport, out: &mut dyn Write) -> io::Result<()> {
    let Some(errors) = &job.block_errors else { return Ok(()) };
    writeln!(out, "  block lifetime percentiles :")?;
    let list = errors.percentiles(&job.percentile_list);
    let (decimals, lines) = (job.percentile_decimals as usize, list.chunks(PER_LINE).len());
    for (number, row) in list.chunks(PER_LINE).enumerate() {
        let one =
            |(p, trims): &(f64, u32)| format!("{p:w$.decimals$}th=[{trims:5}]", w = decimals + 3);
        let entries: Vec<String> = row.iter().map(one).collect();
        let more = if number + 1 < lines { "," } else { "" };
        writeln!(out, "   | {}{more}", entries.join(", "))?;
    }
    writeln!(out, "   |        states               : {}", states(errors))
}

fn states(errors: &BlockErrors) -> String {
    let one = |state: BlockState| format!("{}={}", state.name(), errors.count(state));
    BlockState::ALL.map(one).join(", ")
}
