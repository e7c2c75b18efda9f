//! Tests of what reports and the exit status say about failed I/Os.

use serde_json::Value;

use crate::fiord::Place;

const READ: &str = "--ioengine=sim --size=1m --bs=4k --rw=read --output-format=json";

/// `error`, `total_err` and `first_error` of each job; -1 stands for a missing key.
fn errors(document: &Value) -> Vec<[i64; 3]> {
    let number = |job: &Value, key: &str| job[key].as_i64().unwrap_or(-1);
    let jobs = document["jobs"].as_array().unwrap();
    jobs.iter().map(|job| ["error", "total_err", "first_error"].map(|k| number(job, k))).collect()
}

/// fio 3.42 reports the same numbers for these errors.
#[test]
fn the_error_of_a_job_is_the_first_one_unless_another_ends_it() {
    let place = Place::new();
    for (options, status, expected) in [
        // The job survives its errors: the status is 0.
        ("--continue_on_error=all --sim_errors=EIO@8k-16k", 0, vec![[5, 2, 5]]),
        ("--continue_on_error=read --sim_errors=EILSEQ#7,EIO@64k", 0, vec![[84, 2, 84]]),
        ("--continue_on_error=read --rw=randrw --sim_errors=EIO#300", 0, vec![[0, 0, 0]]),
        // Errors of the other direction, and errors that no job survives, end the job.
        ("--continue_on_error=write --sim_errors=EIO@64k", 1, vec![[5, 0, 0]]),
        ("--continue_on_error=all --sim_errors=EIO@8k,ENOSPC@64k", 1, vec![[28, 2, 5]]),
        ("--sim_errors=EIO@64k", 1, vec![[5, -1, -1]]),
        ("--continue_on_error=all", 0, vec![[0, 0, 0]]),
        // A list replaces the errors of the medium, and the option that comes last decides.
        ("--ignore_error=ENOSPC --sim_errors=ENOSPC@8k-16k", 0, vec![[28, 2, 28]]),
        ("--ignore_error=28:0x5 --sim_errors=ENOSPC@8k,EIO@64k", 0, vec![[28, 2, 28]]),
        ("--ignore_error=,ENOSPC --sim_errors=ENOSPC@8k", 1, vec![[28, 0, 0]]),
        ("--ignore_error=ENOSPC --sim_errors=EIO@8k", 1, vec![[5, 1, 5]]),
        ("--continue_on_error=all --ignore_error=ENOSPC --sim_errors=EIO@8k", 1, vec![[5, 1, 5]]),
        ("--continue_on_error=read --ignore_error=,EIO --sim_errors=EIO@8k", 0, vec![[5, 1, 5]]),
        ("--ignore_error=EIO --continue_on_error=write --sim_errors=EIO@8k", 1, vec![[5, 0, 0]]),
        ("--ignore_error=EIO --continue_on_error=none --sim_errors=EIO@8k", 1, vec![[5, -1, -1]]),
        ("--ignore_error=:, --sim_errors=EIO@8k", 1, vec![[5, -1, -1]]),
        // Entries with several jobs.
        ("--continue_on_error=all --sim_errors=EIO@8k --numjobs=2", 0, vec![[5, 1, 5]; 2]),
        (
            "--continue_on_error=all --sim_errors=EIO@8k --numjobs=2 --group_reporting",
            0,
            vec![[5, 2, 5]],
        ),
    ] {
        let ran = place.run(&format!("{READ} --name=a {options}"));
        assert_eq!(ran.status, Some(status), "{options}: {ran:?}");
        assert_eq!(errors(&ran.json()), expected, "{options}");
        assert_eq!(ran.err.is_empty(), status == 0, "{options}: {}", ran.err);
    }
}

#[test]
fn error_dump_prints_each_survived_error() {
    let place = Place::new();
    let line = format!("{READ} --name=a --filename=f --ignore_error=EIO --sim_errors=EIO@8k-16k");
    assert_eq!(place.run(&format!("{line} --error_dump=0")).ok().err, "");
    let ran = place.run(&format!("{line} --error_dump=1"));
    let said = "fiord: io_u error on file f: Input/output error: read offset=8192, buflen=4096\n\
                fiord: io_u error on file f: Input/output error: read offset=12288, buflen=4096\n";
    assert_eq!((ran.status, &*ran.err), (Some(0), said));
    let many = line.replace("8k-16k", "0-1m").replace("--bs=4k", "--bs=512");
    let ran = place.run(&format!("{many} --error_dump=1"));
    let end = "; further errors of this job are counted and not listed\n";
    assert!(ran.err.lines().count() == 1000 && ran.err.ends_with(end), "{}", ran.err);
    assert_eq!(errors(&ran.json()), [[5, 2048, 5]]);
}

/// Bad data are an error of verification, `EILSEQ`.
#[test]
fn ignore_error_applies_to_bad_data() {
    let place = Place::new();
    let job = "--name=a --filename=f --size=64k --bs=4k --verify=crc32c --output-format=json";
    place.run(&format!("{job} --rw=write")).ok();
    let mut bytes = std::fs::read(place.path("f")).unwrap();
    bytes[5000] ^= 1;
    place.write("f", bytes);
    for (list, status) in [(",,EILSEQ", 0), (",,84", 0), ("EILSEQ", 1), (",,EIO", 1)] {
        let ran = place.run(&format!("{job} --rw=read --ignore_error={list}"));
        assert_eq!(ran.status, Some(status), "{list}: {ran:?}");
        assert_eq!(ran.json()["jobs"][0]["error"], 84, "{list}");
    }
    let ran = place.run(&format!("{job} --rw=read --ignore_error=EIO,ESPC"));
    assert!(ran.err.contains("unknown error `ESPC`"), "{}", ran.err);
}

#[test]
fn survived_errors_are_in_text_and_terse_lines() {
    let place = Place::new();
    let line = "--ioengine=sim --size=1m --rw=read --name=a --continue_on_error=all --filename=f \
                --sim_errors=EIO@8k-16k";
    let text = place.run(line).ok().out;
    let site = "err= 5 (file:f, func=read, error=Input/output error): pid=";
    assert!(text.contains(site), "{text}");
    assert!(text.contains("errors    : total=2, first_error=5/<Input/output error>"), "{text}");
    let terse = place.run(&format!("{line} --minimal")).ok().out;
    assert!(terse.contains(";a;0;5;") && terse.ends_with(";2;5\n"), "{terse}");
    let failed = place.run(&line.replace("EIO", "ENOSPC"));
    let site = "err=28 (file:f, func=read, error=No space left on device): pid=";
    assert_eq!(failed.status, Some(1));
    assert!(failed.out.contains(site), "{}", failed.out);
}

/// As in fio, such a job has not failed: it ends no other job, and fiord checks its numbers.
#[test]
fn a_survived_error_is_no_failure() {
    let place = Place::new();
    let line = format!(
        "{READ} --name=a --continue_on_error=all --sim_errors=EIO@8k --exitall_on_error \
         --name=b --rw=read --size=1m --bs=4k --ioengine=null --time_based --runtime=300ms"
    );
    let document = place.run(&line).ok().json();
    assert_eq!(document["jobs"][0]["error"], 5);
    assert!(document["jobs"][1]["read"]["runtime"].as_u64().unwrap() > 200);
    // `iops` counts completed I/Os, `total_ios` issued ones.
    let read = &document["jobs"][0]["read"];
    let done = read["iops"].as_f64().unwrap() * read["runtime"].as_f64().unwrap() / 1000.0;
    assert_eq!((read["total_ios"].as_u64(), done.round()), (Some(256), 255.0));
}

#[test]
fn reports_of_a_running_job_have_its_errors() {
    let place = Place::new();
    // A second of virtual time, which takes only a moment.
    let ran = place.run(&format!(
        "{READ} --name=a --continue_on_error=all --sim_errors=EIO@4k --sim_latency=constant:1us --time_based \
         --runtime=1 --status-interval=50ms"
    ));
    let documents = ran.ok().documents();
    assert!(documents.len() > 1);
    // On a busy machine, the first report may come before the first I/O.
    let begun = |document: &&Value| document["jobs"][0]["read"]["total_ios"].as_u64() > Some(1);
    let reports: Vec<_> = documents.iter().filter(begun).map(|d| errors(d)[0]).collect();
    assert!(reports.iter().all(|[error, total, _]| *error == 5 && *total > 0), "{reports:?}");
    assert!(reports.is_sorted(), "{reports:?}");
}
