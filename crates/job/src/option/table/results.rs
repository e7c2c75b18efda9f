//! What is measured, logged and reported.

use crate::option::def::{Category, Kind, OptionDef, Unit, Word, options_of};
use crate::option::read;

options_of!(Category::Results);

pub(super) const OPTIONS: &[OptionDef] = &[
    option(
        "group_reporting",
        Kind::Switch,
        "Reports the jobs of a group as one. A group lasts to the next `stonewall` or `new_group`.",
        "group_reporting",
    ),
    option(
        "core_bandwidth",
        Kind::Bool,
        "Reports the bandwidth of the job's group also divided by the processor cores that fiord may \
         run on. The hardware threads of a core count as one.",
        "core_bandwidth=1",
    )
    .default("0")
    .since("fiord"),
    option(
        "latency_limits",
        Kind::Text,
        "Judges the job by slices of its run: a time and, after a colon, the per cent of the I/Os of \
         each slice that must be more than those that take longer; several by commas. The report has a \
         table of the shares and says whether every slice kept to them.",
        "latency_limits=1ms:5,8ms:1,64ms:0.1",
    )
    .since("fiord"),
    option(
        "latency_slice",
        Kind::SECONDS,
        "How long a slice is that `latency_limits` judges. A bare number is in seconds.",
        "latency_slice=10m",
    )
    .default("1h")
    .under("latency_limits")
    .since("fiord"),
    option(
        "latency_test",
        Kind::Text,
        "The name under which the report says what `latency_limits` came to. Jobs of a group that have \
         the same name, slices and limits are judged together.",
        "latency_test=readers",
    )
    .default("latency")
    .under("latency_limits")
    .since("fiord"),
    option(
        "spec",
        Kind::Text,
        "What the maker of the device states, by commas: a pattern (`read`, `write`, `randread`, \
         `randwrite`, `rw`, `randrw`) and its I/Os or bytes a second. A job with that pattern is \
         reported beside it in per cent; jobs that run side by side on the same target are added up. \
         `k`, `M` and `G` are thousands, as in data sheets; `KiB/s`, `MiB/s` and `GiB/s` are binary.",
        "spec=randread=780k,read=7000MB/s",
    )
    .since("fiord"),
    option(
        "new_group",
        Kind::Switch,
        "Opens a new reporting group with this job.",
        "new_group",
    ),
    option(
        "stats",
        Kind::Bool,
        "Whether the job appears in the report.",
        "stats=0",
    )
    .default("1"),
    option(
        "per_job_logs",
        Kind::Bool,
        "Gives each worker its own log files. With 0 those of jobs with the same name are appended to \
         one another.",
        "per_job_logs=0",
    )
    .default("1")
    .later(),
    option(
        "write_bw_log",
        Kind::Text,
        "Logs bandwidth over time to `NAME_bw.N.log`; the job's name stands in when none is given.",
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
        "Logs I/Os a second over time to `NAME_iops.N.log`.",
        "write_iops_log=run1",
    )
    .bare("")
    .later(),
    option(
        "write_hist_log",
        Kind::Text,
        "Logs histograms of completion latency to `NAME_clat_hist.N.log`, one each `log_hist_msec`.",
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
        "How many log entries there is room for at the start.",
        "log_entries=65536",
    )
    .default("1024")
    .accepted("it has no effect on what a log holds"),
    option(
        "log_avg_msec",
        Kind::MILLIS,
        "Logs one entry for each window of this length in place of one for each I/O. A bare number is \
         in milliseconds.",
        "log_avg_msec=1000",
    )
    .default("0")
    .later(),
    option(
        "log_hist_msec",
        Kind::MILLIS,
        "How often a histogram goes into `write_hist_log`. A bare number is in milliseconds, and 0 \
         switches it off.",
        "log_hist_msec=1000",
    )
    .default("0")
    .later(),
    option(
        "log_hist_coarseness",
        Kind::int(0, 6),
        "Halves the number of a histogram's bins this many times.",
        "log_hist_coarseness=2",
    )
    .default("0")
    .later(),
    option(
        "log_window_value",
        Kind::words(&[
            Word::later("avg", "the mean"),
            Word::later("max", "the largest"),
            Word::later("both", "the two of them"),
            Word { means: Some("avg"), ..Word::later("0", "") },
            Word { means: Some("max"), ..Word::later("1", "") },
        ]),
        "Which latency of a window of `log_avg_msec` is logged.",
        "log_window_value=both",
    )
    .alias(&["log_max_value"])
    .default("avg")
    .later()
    .since("3.42"),
    option(
        "log_offset",
        Kind::Bool,
        "Adds the I/O's offset to each log entry.",
        "log_offset=1",
    )
    .default("0")
    .later(),
    option(
        "log_prio",
        Kind::Bool,
        "Logs the I/O's priority class and level, in place of whether it had the highest class.",
        "log_prio=1",
    )
    .default("0")
    .later(),
    option(
        "log_issue_time",
        Kind::Bool,
        "Adds the moment at which the I/O was issued to each log entry.",
        "log_issue_time=1",
    )
    .default("0")
    .since("3.42")
    .later(),
    option(
        "log_compression",
        Kind::Int { min: 1024, max: 536_870_912, unit: Unit::Bytes },
        "Compresses a log in memory, during the run, whenever it has grown by this much.",
        "log_compression=64m",
    )
    .later(),
    option(
        "log_compression_cpus",
        Kind::Custom { name: "CPU numbers and ranges", read: read::cpu_set },
        "The CPUs on which logs are compressed.",
        "log_compression_cpus=0",
    )
    .under("log_compression")
    .later(),
    option(
        "log_store_compressed",
        Kind::Bool,
        "Leaves logs compressed on disk, in files that end in `.fz`.",
        "log_store_compressed=1",
    )
    .later(),
    option(
        "log_alternate_epoch",
        Kind::Bool,
        "Stamps log entries with the time of a clock in place of the time since the start.",
        "log_alternate_epoch=1",
    )
    .alias(&["log_unix_epoch"])
    .later(),
    option(
        "log_alternate_epoch_clock_id",
        Kind::COUNT,
        "The number of that clock, as in `clock_gettime(2)`. 0 is the real-time clock.",
        "log_alternate_epoch_clock_id=1",
    )
    .later(),
    option(
        "block_error_percentiles",
        Kind::Bool,
        "Counts how many trims each block has seen before its first error, and what that error was.",
        "block_error_percentiles=1",
    )
    .default("0")
    .later(),
    option(
        "disk_util",
        Kind::Bool,
        "Reports what the disks under the files have done meanwhile.",
        "disk_util=0",
    )
    .default("1"),
    option(
        "generator_shares",
        Kind::Bool,
        "Samples what the time of the generator's own threads goes to: contents, submission, \
         waiting, completion. The samples cost less than a hundredth of the time; without them the \
         report has no such line, and findings that need it are silent.",
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
        "Which percentiles are reported: up to 20 numbers above 0 and up to 100, by colons.",
        "percentile_list=50:99:99.9",
    )
    .default("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99"),
    option(
        "significant_figures",
        Kind::int(1, 10),
        "How many digits bandwidth and IOPS have in normal output.",
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
    option(
        "disable_clat",
        Kind::Bool,
        "Does not measure completion latency.",
        "disable_clat=1",
    )
    .default("0")
    .under("gtod_reduce"),
    option(
        "disable_slat",
        Kind::Bool,
        "Does not measure submission latency.",
        "disable_slat=1",
    )
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
