use std::path::Path;

use fiord_job::load::MachineLoader;
use fiord_types::Nanos;

use super::args::TraceArgs;
use super::run;
use crate::consent::{Answer, Scripted};
use crate::rejected;
use crate::session::{CommandFormat, Session};

fn trace(file: &Path, format: CommandFormat, job: Option<&Path>) -> Result<String, String> {
    let args = TraceArgs {
        file: file.into(),
        format,
        job: job.map(Into::into),
        skip_invalid: false,
        longest_gap: Nanos::from_secs(86_400),
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut ask = Scripted::new(Answer::No);
    let mut session = Session { out: &mut out, columns: None, err: &mut err, ask: &mut ask };
    match run(&args, &mut session) {
        Ok(_) => Ok(String::from_utf8(out).unwrap()),
        Err(error) => Err(error.to_string()),
    }
}

fn directory(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("fiord-trace-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

/// An I/O log: 3 of 4 I/Os are random reads of 4 KiB of 8 MiB, the others sequential writes of 16 KiB.
fn log(random: impl Fn(u64) -> u64) -> String {
    let mut log = String::from("fio version 3 iolog\n0 /dev/sdb add\n0 /dev/sdb open\n");
    let (mut state, mut written) = (1u64, 0);
    for n in 0..8_000u64 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let time = 100 + n * 50;
        if n % 4 == 3 {
            log += &format!("{time} /dev/sdb write {written} 16384\n");
            written = (written + 16384) % (8 << 20);
        } else {
            log += &format!("{time} /dev/sdb read {} 4096\n", random(state >> 11) % 2048 * 4096);
        }
    }
    log
}

#[test]
fn a_trace_is_summarized_and_approximated() {
    let directory = directory("job");
    let (file, job) = (directory.join("a.log"), directory.join("a.fio"));
    std::fs::write(&file, log(|n| n)).unwrap();
    let text = trace(&file, CommandFormat::Json, Some(&job)).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["format"], "iolog");
    assert_eq!(json["ios"], 8_000);
    assert_eq!(json["kinds"]["read"]["ios"], 6_000);
    assert!(json["kinds"]["write"]["sequential_percent"].as_f64().unwrap() > 99.0);
    let set = json["working_set"]["bytes"].as_f64().unwrap() / f64::from(8 << 20);
    assert_eq!(set, 1.0);
    let job_text = std::fs::read_to_string(&job).unwrap();
    for option in [
        "rw=randrw",
        "rwmixread=75",
        "percentage_random=100,0\n",
        "bs=4096,16384\n",
        "rate_iops=15000,5000\n",
    ] {
        assert!(job_text.contains(option), "{option}: {job_text}");
    }
    // No device of the trace is in the job.
    assert!(!job_text.contains("/dev/"), "{job_text}");
    for difference in json["jobs"][0]["differences"].as_array().unwrap() {
        assert!(difference["percent"].as_f64().unwrap() < 8.0, "{difference}\n{job_text}");
    }
    let args = [job.to_str().unwrap().to_string()];
    let parsed = rejected::parse(&args, &mut MachineLoader).unwrap();
    assert!(rejected::check_supported(&parsed).is_ok());

    let table = trace(&file, CommandFormat::Table, None).unwrap();
    for part in [
        "8000 I/Os in 399.9ms on 1 target",
        "75.0 %",
        "sizes, write: 16 KiB 100.0 %",
        "alignment: 4 KiB",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn a_skewed_trace_gets_a_skewed_job() {
    let directory = directory("skew");
    let (file, job) = (directory.join("a.log"), directory.join("a.fio"));
    // A power of a uniform number: small numbers are frequent.
    let skewed = |n: u64| {
        let uniform = (n % (1 << 40)) as f64 / (1u64 << 40) as f64;
        (uniform.powi(6) * 2048.0) as u64
    };
    std::fs::write(&file, log(skewed)).unwrap();
    trace(&file, CommandFormat::Table, Some(&job)).unwrap();
    let job_text = std::fs::read_to_string(&job).unwrap();
    assert!(job_text.contains("random_distribution=zipf:"), "{job_text}");
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
fn wrong_input_is_explained() {
    let directory = directory("wrong");
    let file = directory.join("a.log");
    std::fs::write(&file, "fio version 3 iolog\n0 /a add\n5 /a jump 0 1\n").unwrap();
    let error = trace(&file, CommandFormat::Table, None).unwrap_err();
    assert!(error.ends_with(
        "a.log: line 3 of the trace is invalid: unknown action: \"5 /a jump 0 1\". To fix: correct the line, or pass --skip-invalid"
    ), "{error}");
    let error = trace(&directory.join("none"), CommandFormat::Table, None).unwrap_err();
    assert!(error.contains("none: "), "{error}");
    std::fs::write(&file, "fio version 3 iolog\n0 /a add\n").unwrap();
    let error = trace(&file, CommandFormat::Table, Some(&directory.join("j"))).unwrap_err();
    assert!(error.contains("no read, write or trim"), "{error}");
    assert!(trace(&file, CommandFormat::Table, None).unwrap().contains("0 I/Os"));
    assert!(trace(&file, CommandFormat::Json, None).is_ok());
    // A device is not overwritten with a job.
    std::fs::write(&file, "fio version 3 iolog\n0 /a add\n5 /a read 0 512\n").unwrap();
    let error = trace(&file, CommandFormat::Table, Some(Path::new("/dev/null"))).unwrap_err();
    assert!(error.contains("regular file"), "{error}");
    std::fs::remove_dir_all(directory).unwrap();
}
