//! What fiord measures, logs and reports.

use crate::option::declare::*;

words! {
    /// The words of `log_window_value`.
    pub enum LogWindowValue {
        Avg = new("avg", "the mean"),
        Max = new("max", "the maximum"),
        Both = new("both", "both"),
        _ = alias("0", "avg"),
        _ = alias("1", "max"),
    }
}

words! {
    /// The words of `log_format`.
    pub enum LogFileFormat {
        Text = new("text", "fio's text format, in files with the extension `.log`"),
        Compact = new(
            "compact",
            "fiord's binary format, in files with the extension `.log.compact`"
        ),
    }
}

options! {
    Category::Results;

    /// Reports the jobs of a group as one. A group ends at the next `stonewall` or `new_group`.
    pub const GROUP_REPORTING: Opt<bool> = option("group_reporting", SWITCH, "group_reporting");

    /// Also reports the bandwidth of the job's group per processor core on which fiord may run. The
    /// hardware threads of a core count as one core.
    pub const CORE_BANDWIDTH: Opt<bool> = option("core_bandwidth", BOOL, "core_bandwidth=1")
        .default("0")
        .since("fiord");

    /// Judges the job by slices of its run. Each limit is a latency and, after a colon, a
    /// percentage of I/Os: in each slice, less than this percentage may take longer. Several limits
    /// are separated by commas. The report has a table of the percentages and says whether all
    /// slices met the limits.
    pub const LATENCY_LIMITS: Opt<Option<String>> =
        option("latency_limits", TEXT, "latency_limits=1ms:5,8ms:1,64ms:0.1").since("fiord");

    /// The length of the slices for `latency_limits`. A bare number is in seconds.
    pub const LATENCY_SLICE: Opt<Nanos> = option("latency_slice", SECONDS, "latency_slice=10m")
        .default("1h")
        .under("latency_limits")
        .since("fiord");

    /// The name under which the report shows the result of `latency_limits`. fiord judges jobs of a
    /// group together if they have the same name, slices and limits.
    pub const LATENCY_TEST: Opt<String> = option("latency_test", TEXT, "latency_test=readers")
        .default("latency")
        .under("latency_limits")
        .since("fiord");

    /// The device's data sheet values, separated by commas. Each one is a pattern (`read`, `write`,
    /// `randread`, `randwrite`, `rw`, `randrw`) with its IOPS or bytes per second. The report shows
    /// the result of a job with this pattern as a percentage of the value, and adds up jobs that
    /// run in parallel on the same target. `k`, `M` and `G` are decimal, as in data sheets;
    /// `KiB/s`, `MiB/s` and `GiB/s` are binary.
    pub const SPEC: Opt<Option<String>> = option("spec", TEXT, "spec=randread=780k,read=7000MB/s")
        .since("fiord");

    /// Starts a new reporting group with this job.
    pub const NEW_GROUP: Opt<bool> = option("new_group", SWITCH, "new_group");

    /// Whether the report includes the job.
    pub const STATS: Opt<bool> = option("stats", BOOL, "stats=0").default("1");

    /// Gives each worker its own log files: their names contain its number. With 0, they do not, and workers with
    /// logs of the same name append to the same files. Rows of earlier runs stay in them.
    pub const PER_JOB_LOGS: Opt<bool> = option("per_job_logs", BOOL, "per_job_logs=0")
        .default("1");

    /// Logs bandwidth over time to `NAME_bw.N.log`, in KiB/s for windows and in units of 1000 bytes per second for
    /// single I/Os. Without a name, the job's name is used. The directory of a log must exist.
    pub const WRITE_BW_LOG: Opt<Option<String>> = option("write_bw_log", TEXT, "write_bw_log=run1")
        .bare("");

    /// Logs submission, completion and total latency over time to `NAME_slat.N.log`,
    /// `NAME_clat.N.log` and `NAME_lat.N.log`.
    pub const WRITE_LAT_LOG: Opt<Option<String>> =
        option("write_lat_log", TEXT, "write_lat_log=run1").bare("");

    /// Logs IOPS over time to `NAME_iops.N.log`.
    pub const WRITE_IOPS_LOG: Opt<Option<String>> =
        option("write_iops_log", TEXT, "write_iops_log=run1").bare("");

    /// Logs a histogram of completion latency to `NAME_clat_hist.N.log` every `log_hist_msec`.
    pub const WRITE_HIST_LOG: Opt<Option<String>> =
        option("write_hist_log", TEXT, "write_hist_log=run1").bare("");

    /// The window over which bandwidth samples are averaged, also in a log with windows. A bare number is in
    /// milliseconds. Without this option, a job that logs its bandwidth has the windows of
    /// `log_avg_msec`, in the log and in the report.
    pub const BWAVGTIME: Opt<Nanos> = option("bwavgtime", MILLIS, "bwavgtime=1000")
        .default("500")
        .under("write_bw_log");

    /// The window over which IOPS samples are averaged, also in a log with windows. A bare number is in
    /// milliseconds. Without this option, a job that logs its IOPS has the windows of
    /// `log_avg_msec`, in the log and in the report.
    pub const IOPSAVGTIME: Opt<Nanos> = option("iopsavgtime", MILLIS, "iopsavgtime=1000")
        .default("500")
        .under("write_iops_log");

    /// How many log entries fio allocates memory for at the start.
    pub const LOG_ENTRIES: Opt<u32> =
        option("log_entries", int(1024, 1_048_576), "log_entries=65536")
            .default("1024")
            .accepted("the memory of a log does not depend on it");

    /// Logs one entry per window of this length, instead of one per I/O. A bare number is in
    /// milliseconds. Windows follow each other from the job's start, and an I/O belongs to the window in which it
    /// completes.
    pub const LOG_AVG_MSEC: Opt<Nanos> = option("log_avg_msec", MILLIS, "log_avg_msec=1000")
        .default("0");

    /// The interval between two histograms in `write_hist_log`. A bare number is in milliseconds; 0
    /// turns histograms off.
    pub const LOG_HIST_MSEC: Opt<Nanos> = option("log_hist_msec", MILLIS, "log_hist_msec=1000")
        .default("0");

    /// How many times fiord halves the number of bins of a histogram.
    pub const LOG_HIST_COARSENESS: Opt<u8> =
        option("log_hist_coarseness", int(0, 6), "log_hist_coarseness=2").default("0");

    /// Which latency is logged for a window of `log_avg_msec`.
    pub const LOG_WINDOW_VALUE: Opt<LogWindowValue> =
        option("log_window_value", one_of(), "log_window_value=both")
            .alias(&["log_max_value"])
            .default("avg")

            .since("3.42");

    /// Adds the offset of the I/O to each log entry.
    pub const LOG_OFFSET: Opt<bool> = option("log_offset", BOOL, "log_offset=1")
        .default("0");

    /// Logs the priority class and level of the I/O, instead of only whether it had the highest
    /// class.
    pub const LOG_PRIO: Opt<bool> = option("log_prio", BOOL, "log_prio=1")
        .default("0");

    /// Adds the issue time of the I/O to the rows of `slat` and `clat` logs, in nanoseconds since the job's start. In
    /// other logs it is 0. Needs `write_lat_log` and `log_offset=1`.
    pub const LOG_ISSUE_TIME: Opt<bool> = option("log_issue_time", BOOL, "log_issue_time=1")
        .default("0")
        .since("3.42");

    /// Compresses a log in memory during the run, each time it has grown by this much.
    pub const LOG_COMPRESSION: Opt<Option<Bytes>> =
        option("log_compression", bytes(1024, 536_870_912), "log_compression=64m")
            .accepted("logs are written as rows occur, so there are none in memory to compress");

    /// The CPUs of the thread that compresses and writes logs.
    pub const LOG_COMPRESSION_CPUS: Opt<Option<Vec<u32>>> = option(
        "log_compression_cpus",
        custom("CPU numbers and ranges", &Reader(read::cpu_set)),
        "log_compression_cpus=0",
    )
    .under("log_compression");

    /// Keeps logs compressed on disk, in files with the extension `.fz`. `--inflate-log` prints them.
    pub const LOG_STORE_COMPRESSED: Opt<bool> =
        option("log_store_compressed", BOOL, "log_store_compressed=1");

    /// The format of the job's logs. Compact logs take less than 10 bytes per row, and their blocks have checksums.
    /// `fiord log` shows them and converts them to text.
    pub const LOG_FORMAT: Opt<LogFileFormat> = option("log_format", one_of(), "log_format=compact")
        .default("text")
        .since("fiord");

    /// Whether windows of `log_avg_msec` and `log_hist_msec` without an I/O have a row, with the value 0. fio leaves
    /// them out, which hides stalls.
    pub const LOG_EMPTY: Opt<bool> = option("log_empty", BOOL, "log_empty=1")
        .default("0")
        .since("fiord");

    /// Uses the time of a clock for log entries, instead of the time since the start.
    pub const LOG_ALTERNATE_EPOCH: Opt<bool> =
        option("log_alternate_epoch", BOOL, "log_alternate_epoch=1")
            .alias(&["log_unix_epoch"]);

    /// The number of the clock for `log_alternate_epoch`, as in `clock_gettime(2)`. 0 is the
    /// real-time clock.
    pub const LOG_ALTERNATE_EPOCH_CLOCK_ID: Opt<Option<u32>> =
        option("log_alternate_epoch_clock_id", COUNT, "log_alternate_epoch_clock_id=1");

    /// Counts the trims of each block before its first error, and reports percentiles of these
    /// numbers and how many blocks are in which state. The job has one file, and continues after
    /// errors (`continue_on_error`, `ignore_error`).
    pub const BLOCK_ERROR_PERCENTILES: Opt<bool> =
        option("block_error_percentiles", BOOL, "block_error_percentiles=1").default("0");

    /// Reports the activity of the disks under the files during the run.
    pub const DISK_UTIL: Opt<bool> = option("disk_util", BOOL, "disk_util=0").default("1");

    /// Samples how fiord's own threads spend their time: data generation, submission, waiting,
    /// completion. The sampling costs less than one per cent of the time. With 0, the report has no
    /// such line, and findings that need it are not reported.
    pub const GENERATOR_SHARES: Opt<bool> = option("generator_shares", BOOL, "generator_shares=0")
        .default("1")
        .since("fiord");

    /// Reports percentiles of completion latency.
    pub const CLAT_PERCENTILES: Opt<bool> = option("clat_percentiles", BOOL, "clat_percentiles=0")
        .default("1");

    /// Reports percentiles of total latency, from submission to completion.
    pub const LAT_PERCENTILES: Opt<bool> = option("lat_percentiles", BOOL, "lat_percentiles=1")
        .default("0");

    /// Reports percentiles of submission latency, which synchronous engines do not have.
    pub const SLAT_PERCENTILES: Opt<bool> = option("slat_percentiles", BOOL, "slat_percentiles=1")
        .default("0");

    /// Which percentiles are reported: up to 20 numbers above 0 and up to 100, separated by colons.
    pub const PERCENTILE_LIST: Opt<Vec<f64>> =
        option("percentile_list", floats(0.0, 100.0, 20), "percentile_list=50:99:99.9")
            .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99");

    /// The number of digits of bandwidth and IOPS in normal output.
    pub const SIGNIFICANT_FIGURES: Opt<u8> =
        option("significant_figures", int(1, 10), "significant_figures=6").default("4");

    /// Does not measure total latency, which saves a little time per I/O.
    pub const DISABLE_LAT: Opt<bool> = option("disable_lat", BOOL, "disable_lat=1")
        .default("0")
        .under("gtod_reduce");

    /// Does not measure completion latency.
    pub const DISABLE_CLAT: Opt<bool> = option("disable_clat", BOOL, "disable_clat=1")
        .default("0")
        .under("gtod_reduce");

    /// Does not measure submission latency.
    pub const DISABLE_SLAT: Opt<bool> = option("disable_slat", BOOL, "disable_slat=1")
        .default("0")
        .under("gtod_reduce");

    /// Does not sample bandwidth and IOPS during the run.
    pub const DISABLE_BW_MEASUREMENT: Opt<bool> =
        option("disable_bw_measurement", BOOL, "disable_bw_measurement=1")
            .alias(&["disable_bw"])
            .default("0")
            .under("gtod_reduce");
}
