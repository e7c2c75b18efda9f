//! The rules about options of logs.

use fiord_formats::log::LogKind;
use fiord_job::option::table::{
    LOG_ALTERNATE_EPOCH, LOG_ALTERNATE_EPOCH_CLOCK_ID, LOG_AVG_MSEC, LOG_COMPRESSION_CPUS,
    LOG_EMPTY, LOG_FORMAT, LOG_HIST_COARSENESS, LOG_HIST_MSEC, LOG_OFFSET, LOG_PRIO,
    LOG_STORE_COMPRESSED, LOG_WINDOW_VALUE, PER_JOB_LOGS, WRITE_HIST_LOG,
};

use super::rules::{Reports, Rule};
use crate::model::JobPlan;

/// Whether a job has a log of a kind.
fn has(plan: &JobPlan, kind: LogKind) -> bool {
    plan.log.as_ref().is_some_and(|log| log.path(kind).is_some())
}

/// Whether a job has a log with other rows than histograms.
fn has_rows(plan: &JobPlan) -> bool {
    LogKind::ALL.into_iter().any(|kind| kind != LogKind::Histogram && has(plan, kind))
}

pub(crate) const LOG_RULES: &[Rule] = &[
    Rule {
        options: &[
            LOG_AVG_MSEC.def(),
            LOG_OFFSET.def(),
            LOG_PRIO.def(),
            LOG_WINDOW_VALUE.def(),
            LOG_STORE_COMPRESSED.def(),
        ],
        reports: Reports::EachChanged,
        unused: |_, plan| !has_rows(plan),
        what: "`{option}` has no effect without `write_bw_log`, `write_iops_log` or `write_lat_log`",
        help: "",
        example: "--log_avg_msec=100",
    },
    Rule {
        options: &[LOG_WINDOW_VALUE.def()],
        reports: Reports::EachChanged,
        unused: |job, plan| has_rows(plan) && job.get(LOG_AVG_MSEC).0 == 0,
        what: "`{option}` has no effect on a log of single I/Os",
        help: "To fix: set `log_avg_msec`, or leave it out",
        example: "--write_lat_log=x --log_window_value=max",
    },
    Rule {
        options: &[LOG_HIST_MSEC.def(), LOG_HIST_COARSENESS.def()],
        reports: Reports::EachChanged,
        unused: |_, plan| !has(plan, LogKind::Histogram),
        what: "`{option}` has no effect without `write_hist_log`",
        help: "",
        example: "--write_lat_log=x --log_hist_msec=100",
    },
    Rule {
        options: &[WRITE_HIST_LOG.def()],
        reports: Reports::EachSet,
        unused: |job, _| job.get(LOG_HIST_MSEC).0 == 0,
        what: "the log of `{option}` stays empty without `log_hist_msec`",
        help: "To fix: set `log_hist_msec=1000`",
        example: "--write_hist_log=x",
    },
    Rule {
        options: &[LOG_EMPTY.def()],
        reports: Reports::EachChanged,
        unused: |job, plan| {
            let windows = has_rows(plan) && job.get(LOG_AVG_MSEC).0 > 0;
            !(windows || has(plan, LogKind::Histogram) && job.get(LOG_HIST_MSEC).0 > 0)
        },
        what: "`{option}` has no effect without logs of windows",
        help: "To fix: set `log_avg_msec` or `log_hist_msec` and a log, or leave it out",
        example: "--write_lat_log=x --log_empty=1",
    },
    Rule {
        options: &[
            LOG_ALTERNATE_EPOCH.def(),
            LOG_ALTERNATE_EPOCH_CLOCK_ID.def(),
            LOG_COMPRESSION_CPUS.def(),
            LOG_FORMAT.def(),
            PER_JOB_LOGS.def(),
        ],
        reports: Reports::EachSet,
        unused: |_, plan| plan.log.is_none(),
        what: "`{option}` has no effect on a job without logs",
        help: "",
        example: "--per_job_logs=0",
    },
    Rule {
        options: &[LOG_ALTERNATE_EPOCH_CLOCK_ID.def()],
        reports: Reports::EachSet,
        unused: |job, _| !job.get(LOG_ALTERNATE_EPOCH),
        what: "`{option}` has no effect without `log_alternate_epoch=1`",
        help: "",
        example: "--write_lat_log=x --log_alternate_epoch_clock_id=1",
    },
];
