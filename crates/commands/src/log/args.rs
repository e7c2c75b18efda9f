//! The command line of `fiord log`.

use std::path::PathBuf;

use clap::ValueEnum;
use fiord_formats::log::LogKind;

/// Shows, converts and plots logs of bandwidth, IOPS and latencies.
///
/// FILE is a log in fio's text format, a histogram log, a compressed log (`.fz`) or a compact log of fiord; `-` is
/// standard input. The format is detected from the contents. Logs of the same kind are merged over time.
#[derive(Debug, Clone, clap::Args)]
pub struct LogArgs {
    /// Logs.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// What to show. With `--format=svg`, everything but `heatmap` shows plots.
    #[arg(long, value_enum, default_value = "summary")]
    pub show: LogView,
    /// Output format. CSV and JSON contain the values over time.
    #[arg(long, value_enum, default_value = "table")]
    pub format: LogFormat,
    /// Length of the windows over time in milliseconds. By default, there are at most 512 windows.
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..))]
    pub window: Option<u64>,
    /// Percentiles of latencies.
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "50,95,99,99.9", value_parser = percentage)]
    pub percentiles: Vec<f64>,
    /// What the values are, if the names of the files do not say it (`_bw`, `_iops`, `_lat`, `_slat`, `_clat`).
    #[arg(long, value_parser = kind)]
    pub kind: Option<LogKind>,
    /// Skip and count invalid lines and damaged blocks, instead of stopping at the first one.
    #[arg(long)]
    pub skip_invalid: bool,
    /// Convert the logs to this format.
    #[arg(long, value_enum, conflicts_with_all = ["show", "format", "window"])]
    pub convert: Option<LogTarget>,
    /// File for the result; with --convert=text and --convert=fz, the directory for the logs.
    #[arg(long, value_name = "PATH")]
    pub output: Option<PathBuf>,
}

/// What `fiord log` shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogView {
    /// One line for each log and direction.
    Summary,
    /// Percentiles or rates of each window.
    Time,
    /// A picture of percentiles or rates over time.
    Plot,
    /// How many I/Os have which latency, over time.
    Heatmap,
}

/// Output format of `fiord log`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text for people.
    Table,
    /// Comma-separated values: one line for each window.
    Csv,
    /// One JSON document.
    Json,
    /// A picture.
    Svg,
}

/// Formats of logs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LogTarget {
    /// fio's text format.
    Text,
    /// fio's compressed format.
    Fz,
    /// fiord's compact format: one file for all logs.
    Compact,
}

/// A text is not an accepted value.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogArgument {
    #[error("a percentile is a number above 0 and at most 100")]
    Percentile,
    #[error("a kind is one of bw, iops, lat, slat, clat, clat_hist")]
    Kind,
}

fn percentage(text: &str) -> Result<f64, LogArgument> {
    let number = text.trim().parse().ok();
    number.filter(|p| *p > 0.0 && *p <= 100.0).ok_or(LogArgument::Percentile)
}

fn kind(text: &str) -> Result<LogKind, LogArgument> {
    LogKind::from_name(text).ok_or(LogArgument::Kind)
}
