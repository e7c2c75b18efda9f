//! The command line of `fiord trace`.

use std::path::PathBuf;

use fiord_types::Nanos;

use crate::session::CommandFormat;

/// Summarizes a trace of I/Os, and writes a job that approximates it.
///
/// The format is detected from the contents: I/O logs of fio and fiord (`write_iolog`), blktrace files, output of biosnoop,
/// CSV traces of MSR Cambridge, Alibaba, Tencent and CloudPhysics, and vscsi traces; also compressed with gzip. Memory does
/// not depend on the length of the trace.
#[derive(Debug, Clone, clap::Args)]
pub struct TraceArgs {
    /// The trace; `-` is standard input. `NAME.blktrace.0`, or NAME alone, stands for the files of all CPUs.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Output format.
    #[arg(long, value_enum, default_value = "table")]
    pub format: CommandFormat,
    /// Write the job file that approximates the trace best, and show how much its I/Os differ.
    #[arg(long, value_name = "FILE")]
    pub job: Option<PathBuf>,
    /// Skip and count invalid lines. By default, the first one is an error.
    #[arg(long)]
    pub skip_invalid: bool,
    /// Longest time between two I/Os in seconds. A longer gap is an error, because it usually means a wrong unit.
    #[arg(long, value_name = "SECONDS", default_value = "86400", value_parser = seconds)]
    pub longest_gap: Nanos,
}

fn seconds(text: &str) -> Result<Nanos, std::num::ParseIntError> {
    text.parse().map(Nanos::from_secs)
}
