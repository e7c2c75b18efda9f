//! The logs of a job: names and options.

use std::path::Path;

use fiord_formats::log::LogKind;
use fiord_types::Nanos;

use super::*;
use crate::machine::facts::FoundKind;
use crate::model::*;

#[test]
fn names_of_logs() {
    let path = |job: &JobPlan, kind| job.log.as_ref()?.path(kind).cloned();
    let is =
        |job: &JobPlan, kind, name: &str| path(job, kind).is_some_and(|p| p == Path::new(name));
    let machine = || Fake::empty().with("d", FoundKind::Directory, 0);
    for (line, kind, name) in [
        ("--write_bw_log=x", LogKind::Bandwidth, "x_bw.1.log"),
        ("--write_bw_log", LogKind::Bandwidth, "a_bw.1.log"),
        ("--write_iops_log=d/x --per_job_logs=0", LogKind::Iops, "d/x_iops.log"),
        ("--write_lat_log=x --log_store_compressed=1", LogKind::TotalLatency, "x_lat.1.log.fz"),
        ("--write_lat_log=x", LogKind::SubmissionLatency, "x_slat.1.log"),
        ("--write_lat_log=x", LogKind::CompletionLatency, "x_clat.1.log"),
        ("--write_iops_log=d/x --log_format=compact", LogKind::Iops, "d/x_iops.1.log.compact"),
        ("--write_hist_log --log_format=compact", LogKind::Histogram, "a_clat_hist.1.log.compact"),
        ("--write_hist_log=x --log_store_compressed=1", LogKind::Histogram, "x_clat_hist.1.log"),
    ] {
        let job = job(&machine(), &format!("--name=a --size=1m {line}"));
        assert!(is(&job, kind, name), "{line}: {:?}", job.log);
    }
}

#[test]
fn options_of_logs() {
    fn log(job: &JobPlan) -> &LogPlan {
        job.log.as_ref().unwrap()
    }
    type Holds = fn(&JobPlan) -> bool;
    let table: &[(&str, Holds)] = &[
        ("", |j| j.log.is_none()),
        ("--write_bw_log=x --log_avg_msec=0", |j| log(j).window.is_none()),
        ("--write_bw_log=x --log_avg_msec=200", |j| {
            log(j).window == Some(Nanos::from_millis(200))
                && log(j).bandwidth_window == Nanos::from_millis(200)
                && log(j).iops_window == Nanos::from_millis(200)
        }),
        // In fio 3.42, an option that is set wins over log_avg_msec, whichever is shorter.
        ("--write_bw_log=x --log_avg_msec=200 --bwavgtime=300 --iopsavgtime=100", |j| {
            log(j).bandwidth_window == Nanos::from_millis(300)
                && log(j).iops_window == Nanos::from_millis(100)
        }),
        ("--write_bw_log=x --log_alternate_epoch=1", |j| log(j).clock == Some(0)),
        ("--write_lat_log=x --gtod_reduce=1 --write_bw_log=x", |j| log(j).files.len() == 1),
        ("--write_lat_log=x --disable_slat=1", |j| log(j).files.len() == 2),
        ("--write_lat_log=x --log_avg_msec=5 --log_max_value=1", |j| {
            log(j).value == LogWindowValue::Max && !log(j).columns.both
        }),
        ("--write_lat_log=x --log_offset=1 --log_issue_time=1 --log_prio=1", |j| {
            let columns = log(j).columns;
            columns.offset && columns.issue_time && columns.priority
        }),
    ];
    for (line, holds) in table {
        let job = job(&Fake::empty(), &format!("--name=a --size=1m {line}"));
        assert!(holds(&job), "{line}: {:?}", job.log);
    }
}

#[test]
fn compact_logs_are_neither_shared_nor_compressed_again() {
    let compact = "--name=a --size=1m --write_bw_log=x --log_format=compact";
    for (options, what) in [
        ("--log_store_compressed=1", "two formats of the same file"),
        ("--per_job_logs=0", "cannot append to a compact log"),
    ] {
        let errors = run(&Fake::empty(), &format!("{compact} {options}")).unwrap_err();
        assert!(errors[0].what.contains(what), "{errors:?}");
    }
}

#[test]
fn jobs_that_share_a_log_write_rows_of_one_form() {
    let two = |options: &str| {
        let log = "--size=1m --ioengine=sim --write_bw_log=x --write_hist_log=x --log_hist_msec=9 --per_job_logs=0";
        run(&Fake::empty(), &format!("--name=a {log} --name=b {log} {options}"))
    };
    assert!(two("").is_ok());
    // A histogram has no such columns.
    assert!(two("--log_hist_msec=3").is_ok());
    for options in
        ["--log_offset=1", "--log_avg_msec=3", "--log_hist_coarseness=3", "--log_unix_epoch=1"]
    {
        let errors = two(options).unwrap_err();
        assert!(errors[0].what.contains("append rows of different forms"), "{options}: {errors:?}");
    }
    assert!(two("--log_offset=1 --per_job_logs=1").is_ok());
    let missing = error(&Fake::empty(), "--name=a --size=1m --write_bw_log=d/x");
    assert!(missing.contains("cannot use the directory `d`"), "{missing}");
    let wrong = run(&Fake::empty(), "--name=a --size=1m --write_bw_log=x --log_issue_time=1");
    let message = "log_issue_time option requires write_lat_log and log_offset options";
    assert!(wrong.unwrap_err()[0].what.contains(message));
}
