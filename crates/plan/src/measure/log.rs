//! The logs of a job: `write_bw_log`, `write_iops_log`, `write_lat_log`, `write_hist_log` and their options.

use std::path::PathBuf;

use fiord_formats::log::histogram::Coarseness;
use fiord_formats::log::{LogColumns, LogKind};
use fiord_job::option::table::{
    BWAVGTIME, CREATE_ONLY, DISABLE_CLAT, DISABLE_LAT, DISABLE_SLAT, EXEC_PRERUN, GTOD_REDUCE,
    IOPSAVGTIME, LOG_ALTERNATE_EPOCH, LOG_ALTERNATE_EPOCH_CLOCK_ID, LOG_AVG_MSEC,
    LOG_COMPRESSION_CPUS, LOG_EMPTY, LOG_FORMAT, LOG_HIST_COARSENESS, LOG_HIST_MSEC,
    LOG_ISSUE_TIME, LOG_OFFSET, LOG_PRIO, LOG_STORE_COMPRESSED, LOG_WINDOW_VALUE, LogFileFormat,
    NUMJOBS, PER_JOB_LOGS, WRITE_BW_LOG, WRITE_HIST_LOG, WRITE_IOPS_LOG, WRITE_LAT_LOG,
};
use fiord_job::spec::JobSpec;
use fiord_types::{Errno, JobIndex, Nanos};

use crate::machine::facts::{Facts, FoundKind};
use crate::model::{JobPlan, LogFilePlan, LogForm, LogPlan, LogWindowValue};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// Reads the logs of a job, with paths for the instance `index`. `None`: it has none.
pub(crate) fn log(job: Reading, index: JobIndex, facts: &dyn Facts) -> Option<LogPlan> {
    if job.get(LOG_ISSUE_TIME) && !(job.is_set(WRITE_LAT_LOG) && job.get(LOG_OFFSET)) {
        let what = "log_issue_time option requires write_lat_log and log_offset options";
        job.report(
            job.error(LOG_ISSUE_TIME, what)
                .help("To fix: set write_lat_log and log_offset=1, or leave log_issue_time out"),
        );
    }
    let form = form(job);
    let files = files(job, index, form);
    if files.is_empty() {
        return None;
    }
    // A command before a job may create the directory: its logs are opened after the command.
    if !job.is_set(EXEC_PRERUN) {
        files.iter().for_each(|file| check_directory(job, file, facts));
    }
    let average = job.get(LOG_AVG_MSEC);
    let window = (average > Nanos::ZERO).then_some(average);
    let own = |set: bool, time: Nanos| if set { time.max(Nanos::from_millis(1)) } else { average };
    let value = job.get(LOG_WINDOW_VALUE);
    let clock = job.get(LOG_ALTERNATE_EPOCH).then(|| {
        let id = job.get(LOG_ALTERNATE_EPOCH_CLOCK_ID).unwrap_or(0);
        i32::try_from(id).unwrap_or(i32::MAX)
    });
    Some(LogPlan {
        files,
        append: !job.get(PER_JOB_LOGS),
        form,
        columns: LogColumns {
            both: value == LogWindowValue::Both,
            offset: job.get(LOG_OFFSET),
            priority: job.get(LOG_PRIO),
            issue_time: job.get(LOG_ISSUE_TIME),
        },
        window,
        bandwidth_window: own(job.is_set(BWAVGTIME), job.get(BWAVGTIME)),
        iops_window: own(job.is_set(IOPSAVGTIME), job.get(IOPSAVGTIME)),
        value,
        histogram_window: Some(job.get(LOG_HIST_MSEC)).filter(|time| *time > Nanos::ZERO),
        coarseness: Coarseness::new(job.get(LOG_HIST_COARSENESS)).unwrap_or(Coarseness::MAX),
        empty_windows: job.get(LOG_EMPTY),
        clock,
        cpus: job.get(LOG_COMPRESSION_CPUS),
    })
}

/// How the rows of the logs become bytes.
fn form(job: Reading) -> LogForm {
    let compressed = job.get(LOG_STORE_COMPRESSED);
    if job.get(LOG_FORMAT) == LogFileFormat::Text {
        return if compressed { LogForm::Compressed } else { LogForm::Text };
    }
    if compressed {
        let what = "log_format=compact and log_store_compressed=1 are two formats of the same file";
        job.report(job.error(LOG_FORMAT, what).help("To fix: leave one of them out"));
    }
    if !job.get(PER_JOB_LOGS) {
        let what = "jobs cannot append to a compact log, so per_job_logs=0 needs log_format=text";
        let help = "To fix: set per_job_logs=1; `fiord log` merges the logs of all jobs";
        job.report(job.error(LOG_FORMAT, what).help(help));
    }
    LogForm::Compact
}

/// A log that a run writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExpectedLog {
    pub path: PathBuf,
    /// Every run without errors writes it. Otherwise, a run may end before the log exists: a command of the job precedes
    /// it (`exec_prerun`), or the job only lays out files.
    pub is_certain: bool,
}

/// The logs that jobs write, in the order of the jobs. Nothing is checked. A coordinator expects these files from a host.
#[must_use]
pub fn expected_logs(jobs: &[JobSpec]) -> Vec<ExpectedLog> {
    let messages = Messages::default();
    let mut logs = Vec::new();
    let mut next = JobIndex(0);
    for spec in jobs {
        let job = Reading::new(spec, &messages);
        let form = form(job);
        let is_certain = !job.is_set(EXEC_PRERUN) && !job.get(CREATE_ONLY);
        for _ in 0..job.get(NUMJOBS) {
            let files = files(job, next, form).into_iter();
            logs.extend(files.map(|file| ExpectedLog { path: file.path, is_certain }));
            next = JobIndex(next.0.saturating_add(1));
        }
    }
    logs
}

/// The log files of a job. As in fio, there is no file for a latency that the job does not measure.
fn files(job: Reading, index: JobIndex, form: LogForm) -> Vec<LogFilePlan> {
    let measures = |off| !job.get(GTOD_REDUCE) && !job.get(off);
    let kinds = [
        (WRITE_BW_LOG, LogKind::Bandwidth, true),
        (WRITE_IOPS_LOG, LogKind::Iops, true),
        (WRITE_LAT_LOG, LogKind::TotalLatency, measures(DISABLE_LAT)),
        (WRITE_LAT_LOG, LogKind::SubmissionLatency, measures(DISABLE_SLAT)),
        (WRITE_LAT_LOG, LogKind::CompletionLatency, measures(DISABLE_CLAT)),
        (WRITE_HIST_LOG, LogKind::Histogram, true),
    ];
    let number = match job.get(PER_JOB_LOGS) {
        true => format!(".{}", index.get() + 1),
        false => String::new(),
    };
    let wanted = kinds.into_iter().filter(|(.., measured)| *measured);
    wanted
        .filter_map(|(option, kind, _)| {
            let given = job.get(option)?;
            let prefix = if given.is_empty() { &job.spec.name } else { &given };
            let extension = match form {
                LogForm::Compact => ".log.compact",
                // fio's compressed histograms contain memory addresses instead of the numbers of I/Os.
                LogForm::Compressed if kind != LogKind::Histogram => ".log.fz",
                LogForm::Compressed | LogForm::Text => ".log",
            };
            let path = PathBuf::from(format!("{prefix}_{}{number}{extension}", kind.name()));
            Some(LogFilePlan { kind, name: prefix.clone(), path })
        })
        .collect()
}

/// Checks that the directory of a log exists.
fn check_directory(job: Reading, file: &LogFilePlan, facts: &dyn Facts) {
    let Some(directory) = file.path.parent().filter(|path| !path.as_os_str().is_empty()) else {
        return;
    };
    let why = match facts.look(directory) {
        Ok(found) if found.kind == FoundKind::Directory => return,
        Ok(_) => format!("`{}` is not a directory", directory.display()),
        Err(error) => {
            let why = Errno::explain(&error);
            format!("cannot use the directory `{}`: {why}", directory.display())
        }
    };
    let option = match file.kind {
        LogKind::Bandwidth => WRITE_BW_LOG,
        LogKind::Iops => WRITE_IOPS_LOG,
        LogKind::Histogram => WRITE_HIST_LOG,
        _ => WRITE_LAT_LOG,
    };
    job.report(
        job.error(option, why)
            .help("To fix: create the directory, or use another name for the log"),
    );
}

/// Refuses logs that two jobs write in different ways: the file would contain rows of two forms.
pub(crate) fn refuse_mixed(jobs: &[Reading], plans: &[JobPlan]) {
    let mut seen: Vec<(&LogFilePlan, &LogPlan, &JobPlan)> = Vec::new();
    for plan in plans {
        let Some(log) = &plan.log else { continue };
        for file in &log.files {
            let Some((_, other, first)) = seen.iter().find(|(known, ..)| known.path == file.path)
            else {
                seen.push((file, log, plan));
                continue;
            };
            let form = |log: &LogPlan| {
                let windows = match file.kind {
                    LogKind::Histogram => None,
                    _ => Some((log.columns, log.window)),
                };
                let bins = (file.kind == LogKind::Histogram).then_some(log.coarseness);
                (windows, bins, log.form, log.clock)
            };
            if form(log) == form(other) {
                continue;
            }
            let job = jobs[plan.identity.section];
            let path = file.path.display();
            let what = format!(
                "jobs `{}` and `{}` append rows of different forms to the log {path}",
                first.identity.name, plan.identity.name
            );
            job.report(job.error(PER_JOB_LOGS, what).help(
                "To fix: set per_job_logs=1, give the logs different names, or use the same log_* options in both jobs",
            ));
        }
    }
}
