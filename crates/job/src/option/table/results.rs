//! What fiord measures, logs and reports.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::Results);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "group_reporting",
        Kind::Switch,
        "Reports the jobs of a group as one. A group ends at the next `stonewall` or `new_group`.",
        "group_reporting",
    ),
    option(
        "core_bandwidth",
        Kind::Bool,
        "Also reports the bandwidth of the job's group per processor core on which fiord may run. \
         The hardware threads of a core count as one core.",
        "core_bandwidth=1",
    )
    .default("0")
    .since("fiord"),
    option(
        "latency_limits",
        Kind::Text,
        "Judges the job by slices of its run. Each limit is a latency and, after a colon, a \
         percentage of I/Os: in each slice, less than this percentage may take longer. Several \
         limits are separated by commas. The report has a table of the percentages and says \
         whether all slices met the limits.",
        "latency_limits=1ms:5,8ms:1,64ms:0.1",
    )
    .since("fiord"),
    option(
        "latency_slice",
        Kind::SECONDS,
        "The length of the slices for `latency_limits`. A bare number is in seconds.",
        "latency_slice=10m",
    )
    .default("1h")
    .under("latency_limits")
    .since("fiord"),
    option(
        "latency_test",
        Kind::Text,
        "The name under which the report shows the result of `latency_limits`. fiord judges jobs \
         of a group together if they have the same name, slices and limits.",
        "latency_test=readers",
    )
    .default("latency")
    .under("latency_limits")
    .since("fiord"),
    option(
        "spec",
        Kind::Text,
        "The device's data sheet values, separated by commas. Each one is a pattern (`read`, \
         `write`, `randread`, `randwrite`, `rw`, `randrw`) with its IOPS or bytes per second. The \
         report shows the result of a job with this pattern as a percentage of the value, and \
         adds up jobs that run in parallel on the same target. `k`, `M` and `G` are decimal, as \
         in data sheets; `KiB/s`, `MiB/s` and `GiB/s` are binary.",
        "spec=randread=780k,read=7000MB/s",
    )
    .since("fiord"),
    option("new_group", Kind::Switch, "Starts a new reporting group with this job.", "new_group"),
    option("stats", Kind::Bool, "Whether the report includes the job.", "stats=0").default("1"),
    option(
        "per_job_logs",
        Kind::Bool,
        "Gives each worker its own log files. With 0, jobs with the same name append to the same \
         files.",
        "per_job_logs=0",
    )
    .default("1")
    .later(),
    option(
        "write_bw_log",
        Kind::Text,
        "Logs bandwidth over time to `NAME_bw.N.log`. Without a name, the job's name is used.",
        "write_bw_log=run1",
    )
    .bare("")
    .later(),
    option(
        "write_lat_log",
        Kind::Text,
        "Logs submission, completion and total latency over time to `NAME_slat.N.log`, \
         `NAME_clat.N.log` and `NAME_lat.N.log`.",
        "write_lat_log=run1",
    )
    .bare("")
    .later(),
    option(
        "write_iops_log",
        Kind::Text,
        "Logs IOPS over time to `NAME_iops.N.log`.",
        "write_iops_log=run1",
    )
    .bare("")
    .later(),
    option(
        "write_hist_log",
        Kind::Text,
        "Logs a histogram of completion latency to `NAME_clat_hist.N.log` every `log_hist_msec`.",
        "write_hist_log=run1",
    )
    .bare("")
    .later(),
    option(
        "bwavgtime",
        Kind::MILLIS,
        "The window over which bandwidth samples are averaged. A bare number is in milliseconds.",
        "bwavgtime=1000",
    )
    .default("500")
    .under("write_bw_log"),
    option(
        "iopsavgtime",
        Kind::MILLIS,
        "The window over which IOPS samples are averaged. A bare number is in milliseconds.",
        "iopsavgtime=1000",
    )
    .default("500")
    .under("write_iops_log"),
    option(
        "log_entries",
        Kind::int(1024, 1_048_576),
        "How many log entries fiord allocates memory for at the start.",
        "log_entries=65536",
    )
    .default("1024")
    .accepted("it has no effect on what a log holds"),
    option(
        "log_avg_msec",
        Kind::MILLIS,
        "Logs one entry per window of this length, instead of one per I/O. A bare number is in \
         milliseconds.",
        "log_avg_msec=1000",
    )
    .default("0")
    .later(),
    option(
        "log_hist_msec",
        Kind::MILLIS,
        "The interval between two histograms in `write_hist_log`. A bare number is in \
         milliseconds; 0 turns histograms off.",
        "log_hist_msec=1000",
    )
    .default("0")
    .later(),
    option(
        "log_hist_coarseness",
        Kind::int(0, 6),
        "How many times fiord halves the number of bins of a histogram.",
        "log_hist_coarseness=2",
    )
    .default("0")
    .later(),
    option(
        "log_window_value",
        Kind::words(&[
            Word::later("avg", "the mean"),
            Word::later("max", "the maximum"),
            Word::later("both", "both"),
            Word { means: Some("avg"), ..Word::later("0", "") },
            Word { means: Some("max"), ..Word::later("1", "") },
        ]),
        "Which latency is logged for a window of `log_avg_msec`.",
        "log_window_value=both",
    )
    .alias(&["log_max_value"])
    .default("avg")
    .later()
    .since("3.42"),
    option(
        "log_offset",
        Kind::Bool,
        "Adds the offset of the I/O to each log entry.",
        "log_offset=1",
    )
    .default("0")
    .later(),
    option(
        "log_prio",
        Kind::Bool,
        "Logs the priority class and level of the I/O, instead of only whether it had the highest \
         class.",
        "log_prio=1",
    )
    .default("0")
    .later(),
    option(
        "log_issue_time",
        Kind::Bool,
        "Adds the issue time of the I/O to each log entry.",
        "log_issue_time=1",
    )
    .default("0")
    .since("3.42")
    .later(),
    option(
        "log_compression",
        Kind::Int { min: 1024, max: 536_870_912, unit: Unit::Bytes },
        "Compresses a log in memory during the run, each time it has grown by this much.",
        "log_compression=64m",
    )
    .later(),
    option(
        "log_compression_cpus",
        Kind::Custom { name: "CPU numbers and ranges", read: read::cpu_set },
        "The CPUs on which fiord compresses logs.",
        "log_compression_cpus=0",
    )
    .under("log_compression")
    .later(),
    option(
        "log_store_compressed",
        Kind::Bool,
        "Keeps logs compressed on disk, in files with the extension `.fz`.",
        "log_store_compressed=1",
    )
    .later(),
    option(
        "log_alternate_epoch",
        Kind::Bool,
        "Uses the time of a clock for log entries, instead of the time since the start.",
        "log_alternate_epoch=1",
    )
    .alias(&["log_unix_epoch"])
    .later(),
    option(
        "log_alternate_epoch_clock_id",
        Kind::COUNT,
        "The number of the clock for `log_alternate_epoch`, as in `clock_gettime(2)`. 0 is the \
         real-time clock.",
        "log_alternate_epoch_clock_id=1",
    )
    .later(),
    option(
        "block_error_percentiles",
        Kind::Bool,
        "Counts the trims of each block before its first error, and records that error.",
        "block_error_percentiles=1",
    )
    .default("0")
    .later(),
    option(
        "disk_util",
        Kind::Bool,
        "Reports the activity of the disks under the files during the run.",
        "disk_util=0",
    )
    .default("1"),
    option(
        "generator_shares",
        Kind::Bool,
        "Samples how fiord's own threads spend their time: data generation, submission, waiting, \
         completion. The sampling costs less than one per cent of the time. With 0, the report \
         has no such line, and findings that need it are not reported.",
        "generator_shares=0",
    )
    .default("1")
    .since("fiord"),
    option(
        "clat_percentiles",
        Kind::Bool,
        "Reports percentiles of completion latency.",
        "clat_percentiles=0",
    )
    .default("1"),
    option(
        "lat_percentiles",
        Kind::Bool,
        "Reports percentiles of total latency, from submission to completion.",
        "lat_percentiles=1",
    )
    .default("0"),
    option(
        "slat_percentiles",
        Kind::Bool,
        "Reports percentiles of submission latency, which synchronous engines do not have.",
        "slat_percentiles=1",
    )
    .default("0"),
    option(
        "percentile_list",
        Kind::Floats { min: 0.0, max: 100.0, max_len: 20 },
        "Which percentiles are reported: up to 20 numbers above 0 and up to 100, separated by \
         colons.",
        "percentile_list=50:99:99.9",
    )
    .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99"),
    option(
        "significant_figures",
        Kind::int(1, 10),
        "The number of digits of bandwidth and IOPS in normal output.",
        "significant_figures=6",
    )
    .default("4"),
    option(
        "disable_lat",
        Kind::Bool,
        "Does not measure total latency, which saves a little time per I/O.",
        "disable_lat=1",
    )
    .default("0")
    .under("gtod_reduce"),
    option("disable_clat", Kind::Bool, "Does not measure completion latency.", "disable_clat=1")
        .default("0")
        .under("gtod_reduce"),
    option("disable_slat", Kind::Bool, "Does not measure submission latency.", "disable_slat=1")
        .default("0")
        .under("gtod_reduce"),
    option(
        "disable_bw_measurement",
        Kind::Bool,
        "Does not sample bandwidth and IOPS during the run.",
        "disable_bw_measurement=1",
    )
    .alias(&["disable_bw"])
    .default("0")
    .under("gtod_reduce"),
];
