//! `fiord log` on small files.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Parser;
use serde_json::Value;

use super::*;
use crate::consent::{Answer, Scripted};

/// A directory that is removed at the end of the test.
struct Logs(PathBuf);

impl Logs {
    fn new(name: &str) -> Logs {
        let path = std::env::temp_dir().join(format!("fiord-log-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).expect("a directory for the test");
        Logs(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        fs::write(self.path(name), contents).expect("a file of the test");
        self.path(name)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a result")
    }
}

impl Drop for Logs {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    log: LogArgs,
}

/// The result, and what goes to standard error.
fn shown(args: &[&str]) -> Result<(String, String), ShowLogError> {
    let line = std::iter::once("log").chain(args.iter().copied());
    let args = Line::try_parse_from(line).expect("a command line").log;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut ask = Scripted::new(Answer::No);
    run(&args, &mut Session { out: &mut out, columns: None, err: &mut err, ask: &mut ask })?;
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Ok((text(out), text(err)))
}

fn json(args: &[&str]) -> Value {
    let all = [args, &["--format=json"]].concat();
    serde_json::from_str(&shown(&all).expect("a result").0).expect("JSON")
}

fn refusal(args: &[&str]) -> String {
    shown(args).expect_err("an error").to_string()
}

/// A log of reads with one I/O each millisecond, for two seconds. It stops for half a second.
fn latencies() -> String {
    let row = |ms: u64| {
        let latency = if ms % 100 == 99 { 5_000_000 } else { 80_000 + ms % 7 * 1000 };
        (!(1000..1500).contains(&ms)).then(|| format!("{ms}, {latency}, 0, 4096, 0\n"))
    };
    (0..2000).filter_map(row).collect()
}

/// A histogram log without coarseness: one window, and these counts by bin.
fn histogram(coarseness: u32, counts: &[(usize, u64)]) -> String {
    let mut bins = vec![0; 1856 >> coarseness];
    counts.iter().for_each(|(bin, count)| bins[*bin] = *count);
    let bins: Vec<String> = bins.iter().map(u64::to_string).collect();
    format!("500, 0, 4096, {0}\n1000, 0, 4096, {0}\n", bins.join(", "))
}

#[test]
fn the_summary_has_one_line_for_each_log_and_direction() {
    let logs = Logs::new("summary");
    let clat = logs.write("job_clat.1.log", latencies());
    let bw =
        logs.write("job_bw.1.log", "250, 4000, 0, 0, 0\n250, 8, 1, 0, 0\n500, 6000, 0, 0, 0\n");
    let empty = logs.write("job_slat.1.log", "");
    let (text, notes) = shown(&[&clat, &bw, &empty, "--percentiles=50,99.5"]).expect("a table");
    let lines: Vec<Vec<&str>> =
        text.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0].join(" "), "log kind direction rows from to rate mean 50 % 99.5 % max");
    assert_eq!(
        lines[1].join(" "),
        "job_clat.1.log clat read 1500 0.000 s 1.999 s - 132.2us 83.46us 5.01ms 5.00ms"
    );
    assert_eq!(
        lines[2].join(" "),
        "job_bw.1.log bw read 2 0.250 s 0.500 s 4.88MiB/s 4.88MiB/s 3.92MiB/s 5.84MiB/s 5.86MiB/s"
    );
    assert_eq!(lines[4].join(" "), "job_slat.1.log: no rows");
    assert_eq!(notes, "");
}

#[test]
fn windows_have_the_values_of_their_time() {
    let logs = Logs::new("windows");
    let clat = logs.write("job_clat.1.log", latencies());
    let found = json(&[&clat, "--window=500"]);
    let windows = found["timelines"][0]["windows"].as_array().expect("windows");
    assert_eq!(windows.len(), 4);
    let ios: Vec<u64> = windows.iter().map(|w| w["ios"].as_u64().unwrap_or(9)).collect();
    assert_eq!(ios, [500, 500, 0, 500], "a stall is visible");
    assert_eq!(windows[1]["max"], 5_000_000);
    assert_eq!(windows[2].get("mean"), None);
    let csv = shown(&[&clat, "--window=1000", "--format=csv"]).expect("CSV").0;
    assert!(csv.starts_with("kind,direction,from_ms,to_ms,ios,mean_ns,p50_ns,p95_ns,"), "{csv}");
    assert!(csv.contains("\nclat,read,0,1000,1000,132"), "{csv}");
    let table = shown(&[&clat, "--window=500", "--show=time"]).expect("a table").0;
    assert_eq!(table.lines().count(), 6);
    assert!(table.contains("1.000 s  1.500 s     0"), "{table}");
}

#[test]
fn rates_of_jobs_add_up_and_single_ios_are_counted() {
    let logs = Logs::new("rates");
    let one = logs.write("a_iops.1.log", "500, 100, 0, 0, 0\n1000, 300, 0, 0, 0\n");
    let two = logs.write("a_iops.2.log", "500, 10, 0, 0, 0\n1000, 30, 0, 0, 0\n");
    let rates = |found: &Value| -> Vec<f64> {
        let windows = found["timelines"][0]["windows"].as_array().expect("windows");
        windows.iter().map(|w| w["rate"].as_f64().unwrap_or(-1.0)).collect()
    };
    assert_eq!(rates(&json(&[&one, &two])), [110.0, 330.0]);
    let single: String = (0..2000).map(|ms| format!("{ms}, 1, 0, 4096, 0\n")).collect();
    let single = logs.write("b_iops.1.log", single);
    assert_eq!(rates(&json(&[&single, "--window=1000"])), [1000.0, 1000.0]);
    let bytes: String = (0..1000).map(|ms| format!("{ms}, 99999, 1, 1000, 0\n")).collect();
    let bytes = logs.write("b_bw.1.log", bytes);
    assert_eq!(rates(&json(&[&bytes, "--window=1000"])), [1_000_000.0]);
    // fio's windows are some milliseconds too long, and it leaves out empty ones.
    let drift = "251, 8, 1, 0, 0\n503, 8, 1, 0, 0\n755, 8, 1, 0, 0\n1755, 8, 1, 0, 0\n";
    let drift = logs.write("c_iops.1.log", drift);
    let found = json(&[&drift, "--window=500"]);
    let found: Vec<u64> = rates(&found).iter().map(|rate| rate.round() as u64).collect();
    assert_eq!(found, [8, 4, 0, 8]);
}

#[test]
fn histograms_have_exact_percentiles_and_other_coarseness_is_noted() {
    let logs = Logs::new("histograms");
    // Bin 1000 is 15 groups above 128 ns: 1.06 to 1.07 ms.
    let fine = logs.write("h_clat_hist.1.log", histogram(0, &[(100, 98), (1000, 2)]));
    let found = json(&[&fine, "--percentiles=50,99"]);
    let percentiles = &found["timelines"][0]["windows"][0]["percentiles"];
    assert_eq!((&percentiles["50"], &percentiles["99"]), (&100.into(), &1_712_128.into()));
    assert_eq!(found["logs"][0]["ios"], 200);
    let coarse = logs.write("h_clat_hist.2.log", histogram(3, &[(12, 100)]));
    let (text, _) = shown(&[&fine, &coarse]).expect("a table");
    let note =
        "note: histogram logs of coarseness 0 to 3 were merged: percentiles are as coarse as 3";
    assert!(text.contains(note), "{text}");
    let mixed = logs.write("m_clat_hist.1.log", histogram(3, &[]) + &histogram(2, &[]));
    let error = refusal(&[&mixed]);
    assert!(
        error.contains("line 3 ") && error.contains("different `log_hist_coarseness`"),
        "{error}"
    );
}

#[test]
fn an_invalid_line_stops_or_is_skipped_and_counted() {
    let logs = Logs::new("invalid");
    let text =
        latencies() + "2000, garbage, 0, 4096, 0\n2001, 5, 7, 4096, 0\n2002, 6, 0, 4096, 0\n";
    let clat = logs.write("job_clat.1.log", text);
    let error = refusal(&[&clat]);
    assert!(error.contains("line 1501 is not a row of a log: column 2 (`garbage`)"), "{error}");
    assert!(error.contains("To fix: correct the line, or pass --skip-invalid"), "{error}");
    let (_, notes) = shown(&[&clat, "--skip-invalid"]).expect("a table");
    assert!(notes.contains("invalid parts skipped: 2; the first: line 1501 "), "{notes}");
    let found = json(&[&clat, "--skip-invalid"]);
    assert_eq!(
        (&found["files"][0]["skipped"], &found["logs"][0]["rows"]),
        (&2.into(), &1501.into())
    );
}

#[test]
fn every_format_can_be_converted_to_every_other() {
    let logs = Logs::new("convert");
    let text = "0, 60, 0, 4096, 61440, 0x2002, 5\n1, 40, 1, 4096, 0, 0x2002, 9\n";
    let clat = logs.write("job x_clat.1.log", text);
    let hist = logs.write("job x_clat_hist.1.log", histogram(2, &[(3, 4)]));
    let (compact, out) = (logs.path("all.flog"), logs.path("out"));
    fs::create_dir(&out).expect("a directory");
    shown(&[&clat, &hist, "--convert=compact", "--output", &compact]).expect("a compact log");
    shown(&[&compact, "--convert=text", "--output", &out]).expect("text");
    assert_eq!(logs.read("out/job x_clat.1.log"), text);
    assert_eq!(logs.read("out/job x_clat_hist.1.log"), histogram(2, &[(3, 4)]));
    assert_eq!(shown(&[&clat, "--convert=text"]).expect("text").0, text);

    shown(&[&clat, "--convert=fz", "--output", &out]).expect("a compressed log");
    let fz = logs.path("out/job x_clat.1.log.fz");
    assert_eq!(shown(&[&fz, "--convert=text"]).expect("text").0, text);
    let mut inflated = Vec::new();
    inflate::inflate(Path::new(&fz), &mut inflated).expect("a compressed log");
    assert_eq!(inflated, text.as_bytes());

    let error = refusal(&[&hist, "--convert=fz", "--output", &out]);
    assert!(error.contains("cannot store histograms"), "{error}");
    let twice = refusal(&[&clat, &clat, "--convert=text", "--output", &out]);
    assert!(twice.starts_with("two of the logs would be written to "), "{twice}");
    let nowhere = refusal(&[&clat, "--convert=compact"]);
    assert!(nowhere.ends_with("To fix: pass --output=FILE"), "{nowhere}");
}

#[test]
fn truncated_files_are_shown_with_a_note() {
    let logs = Logs::new("truncated");
    let clat = logs.write("job_clat.1.log", latencies());
    let compact = logs.path("all.flog");
    shown(&[&clat, "--convert=compact", "--output", &compact]).expect("a compact log");
    let mut bytes = fs::read(&compact).expect("a compact log");
    // The start of another block.
    bytes.extend_from_within(8..40);
    let cut = logs.write("cut.flog", bytes);
    let (text, notes) = shown(&[&cut]).expect("a table");
    assert!(text.contains("  1500  "), "{text}");
    assert!(notes.ends_with("cut.flog: the log is truncated after row 1500\n"), "{notes}");
}

#[test]
fn wrong_files_are_refused_with_a_reason() {
    let logs = Logs::new("wrong");
    let missing = refusal(&[&logs.path("missing_bw.log")]);
    assert!(missing.contains("cannot open ") && missing.contains("No such file"), "{missing}");
    let unnamed = logs.write("data.txt", "1, 2, 0, 4096, 0\n");
    assert!(refusal(&[&unnamed]).contains("To fix: pass --kind="));
    assert!(shown(&[&unnamed, "--kind=lat"]).is_ok());
    let zeros = logs.write("zero_clat.1.log", [0; 100]);
    assert!(refusal(&[&zeros]).contains("line 1 is not a row of a log"));
    let mut stream = b"\x78\x9c".to_vec();
    stream.extend_from_slice(&[0xff; 64]);
    let fz = logs.write("bad_clat.1.log.fz", stream);
    assert!(refusal(&[&fz]).contains("the compressed data is damaged after row 0"));
    let long = logs.write("long_clat.1.log", "0, 5, 0, 4096, 0\n99999999, 5, 0, 4096, 0\n");
    let error = refusal(&[&long, "--window=1"]);
    assert!(
        error.contains("span 100000000 windows of 1 ms") && error.contains("--window="),
        "{error}"
    );
    let far =
        logs.write("far_clat.1.log", format!("0, 5, 0, 4096, 0\n{}, 5, 0, 4096, 0\n", u64::MAX));
    assert!(shown(&[&far, "--show=plot"]).is_ok(), "times at both ends");
    let bw = logs.write("job_bw.1.log", "5, 6, 0, 4096, 0\n");
    assert!(refusal(&[&bw, "--show=heatmap"]).contains("a heat map needs latencies"));
}

#[test]
fn pictures_show_stalls_and_slow_ios() {
    let logs = Logs::new("pictures");
    let clat = logs.write("job_clat.1.log", latencies());
    let plot = shown(&[&clat, "--show=plot", "--percentiles=50"]).expect("a picture").0;
    let lines: Vec<&str> = plot.lines().collect();
    assert_eq!(lines[0], "clat read: . 50 %   : max");
    assert_eq!(lines.len(), 17);
    let typical = lines.iter().find(|line| line.contains("....")).expect("a curve");
    assert!(typical.contains(".          "), "the stall is a gap: {plot}");
    let map = shown(&[&clat, "--show=heatmap"]).expect("a picture").0;
    assert!(map.contains('█') && map.contains('░'), "{map}");
}

#[test]
fn svg_documents_are_well_formed() {
    let logs = Logs::new("svg");
    let clat = logs.write("job_clat.1.log", latencies());
    let bw = logs.write("job_bw.1.log", "250, 4000, 0, 0, 0\n500, 6000, 0, 0, 0\n");
    for show in ["plot", "heatmap"] {
        let out = logs.path("picture.svg");
        let show = format!("--show={show}");
        shown(&[&clat, &bw, "--format=svg", &show, "--output", &out]).expect("a picture");
        let svg = logs.read("picture.svg");
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        for tag in ["svg", "g", "text"] {
            let (opened, closed) = (format!("<{tag} "), format!("</{tag}>"));
            assert_eq!(svg.matches(&opened).count(), svg.matches(&closed).count(), "{tag}");
        }
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
    }
}

#[test]
fn names_of_files_state_job_kind_and_thread() {
    let parts = |name| source::parts_of(name);
    use fiord_formats::log::LogKind::{Bandwidth, CompletionLatency, Histogram};
    assert_eq!(parts("job_clat.2.log"), ("job", Some(CompletionLatency), 2));
    assert_eq!(parts("a_b_clat_hist.1.log.fz"), ("a_b", Some(Histogram), 1));
    assert_eq!(parts("agg-read_bw.log"), ("agg-read", Some(Bandwidth), 0));
    assert_eq!(parts("data.txt"), ("data.txt", None, 0));
}
