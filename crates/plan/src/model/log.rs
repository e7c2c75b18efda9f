//! The logs of a job.

use std::path::PathBuf;

use fiord_formats::log::histogram::Coarseness;
use fiord_formats::log::{LogColumns, LogKind};
use fiord_types::Nanos;

use super::LogWindowValue;

/// The log files of a job (`write_bw_log`, `write_iops_log`, `write_lat_log`, `write_hist_log`) and what is in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPlan {
    /// The files. At most one for each kind.
    pub files: Vec<LogFilePlan>,
    /// `per_job_logs=0`: the rows are appended to the files, which other jobs may share.
    pub append: bool,
    /// `log_format` and `log_store_compressed`: how rows become bytes.
    pub form: LogForm,
    /// The columns of all files but histograms.
    pub columns: LogColumns,
    /// `log_avg_msec`: a row is a window of this length. `None`: a row is an I/O.
    pub window: Option<Nanos>,
    /// Length of the windows of bandwidth: `bwavgtime` if the job sets it, otherwise `log_avg_msec`.
    pub bandwidth_window: Nanos,
    /// Length of the windows of IOPS: `iopsavgtime` if the job sets it, otherwise `log_avg_msec`.
    pub iops_window: Nanos,
    /// `log_window_value`: the value of a window.
    pub value: LogWindowValue,
    /// `log_hist_msec`: time between two histograms. `None`: the histogram log stays empty, as in fio.
    pub histogram_window: Option<Nanos>,
    /// `log_hist_coarseness`: how many times the number of bins is halved.
    pub coarseness: Coarseness,
    /// `log_empty`: windows without an I/O have rows.
    pub empty_windows: bool,
    /// `log_alternate_epoch`: the clock (`clock_gettime(2)`) whose time rows have. `None`: time since the job's start.
    pub clock: Option<i32>,
    /// `log_compression_cpus`: the CPUs of the thread that writes logs.
    pub cpus: Option<Vec<u32>>,
}

/// How the rows of a job's logs become bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogForm {
    /// fio's text.
    Text,
    /// zlib streams, as fio's. Histograms are text.
    Compressed,
    /// fiord's compact format ([`fiord_formats::log::compact`]).
    Compact,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilePlan {
    /// What it contains.
    pub kind: LogKind,
    /// The name that the job states for the log, or the job's name. The path begins with it.
    pub name: String,
    pub path: PathBuf,
}

impl LogPlan {
    /// The path of the log of a kind.
    #[must_use]
    pub fn path(&self, kind: LogKind) -> Option<&PathBuf> {
        self.files.iter().find(|file| file.kind == kind).map(|file| &file.path)
    }

    /// Whether some log has a row for each I/O.
    #[must_use]
    pub fn has_single_ios(&self) -> bool {
        self.window.is_none() && self.files.iter().any(|file| file.kind != LogKind::Histogram)
    }

    /// Whether windows have the largest latencies of their I/Os.
    #[must_use]
    pub fn has_maxima(&self) -> bool {
        let mut kinds = self.files.iter().map(|file| file.kind);
        let latencies = kinds.any(|kind| kind.is_latency() && kind != LogKind::Histogram);
        latencies && self.window.is_some() && self.value != LogWindowValue::Avg
    }

    /// Whether single I/Os matter: they have rows, or windows have maxima.
    #[must_use]
    pub fn follows_ios(&self) -> bool {
        self.has_single_ios() || self.has_maxima()
    }
}
