//! `--series` and `--metrics`, and whether Prometheus, the node exporter, promtool and InfluxDB understand them. Tests that
//! need one of these programs print that it is missing and pass.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fiord::{Place, signal};
use crate::{hosts, ports};

/// The longest time for anything that another program does.
const PATIENCE: Duration = Duration::from_secs(60);
/// A job that completes 10,000 I/Os in each second of a virtual clock, which takes a moment.
const SIM: &str = "--name=job --ioengine=sim --rw=randread --size=1g --time_based --output=o.txt";

/// The body of the answer to a request; `None` if there is no answer.
fn http(port: u16, method: &str, target: &str, headers: &str, body: &str) -> Option<Vec<u8>> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).ok()?;
    connection.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
    let length = body.len();
    let request = format!(
        "{method} {target} HTTP/1.0\r\nHost: localhost\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
    );
    connection.write_all(request.as_bytes()).ok()?;
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).ok()?;
    let end = answer.windows(4).position(|end| end == b"\r\n\r\n")?;
    Some(answer.split_off(end + 4))
}

fn get(port: u16, target: &str) -> Option<String> {
    http(port, "GET", target, "", "").map(|body| String::from_utf8_lossy(&body).into_owned())
}

/// Repeats a question until it has an answer.
#[track_caller]
fn wait_for<T>(what: &str, mut question: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = question() {
            return answer;
        }
        assert!(Instant::now() < until, "{what} takes more than {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A program that runs until it is dropped.
struct Program(Child);

impl Program {
    /// Starts a program in the directory of a place. `None`, and a message, if it is not installed.
    fn start(place: &Place, name: &str, arguments: &[String]) -> Option<Program> {
        let mut command = Command::new(name);
        command.args(arguments).current_dir(place.path("")).stdin(Stdio::null());
        match command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() {
            Ok(child) => Some(Program(child)),
            Err(error) => {
                eprintln!("skipped: {name} cannot be started: {error}");
                None
            }
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn rows(place: &Place, name: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(place.path(name)).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    let rows = text.lines().map(|line| line.split(',').map(String::from).collect());
    rows.collect()
}

#[test]
fn the_series_has_latencies_if_a_job_measures_only_total_ones() {
    let place = Place::new();
    for engine in ["psync", "libaio --iodepth=4", "sim", "posixaio --rate=50m"] {
        let job = format!(
            "--name=j --ioengine={engine} --rw=write --size=64k --time_based --runtime=1500ms"
        );
        place
            .run(&format!("{job} --disable_clat=1 --disable_slat=1 --output=o.txt --series=a.csv"))
            .ok();
        let rows = rows(&place, "a.csv");
        let column = |of: &str| rows[0].iter().position(|name| name == of).unwrap();
        let (ios, mean, max) = (column("ios"), column("lat_mean_ns"), column("lat_max_ns"));
        // The last row, too, and those of an engine without loops of its own.
        for row in rows[1..].iter().filter(|row| row[ios] != "0") {
            let number = |at: usize| row[at].parse::<f64>().unwrap_or(0.0);
            assert!(number(mean) > 0.0 && number(max) > 0.0, "{engine}: {row:?}");
        }
        assert!(rows.len() > 1);
    }
}

#[test]
fn a_series_has_a_row_for_each_interval_of_a_virtual_clock() {
    let place = Place::new();
    place.run(&format!("{SIM} --runtime=5 --series=a.csv")).ok();
    let rows = rows(&place, "a.csv");
    let column = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    let of = |name: &str| rows[1..].iter().map(|row| row[column(name)].clone()).collect::<Vec<_>>();
    assert_eq!(of("elapsed_s"), ["1", "2", "3", "4", "5"]);
    assert_eq!((of("ios"), of("job")), (vec!["10000".to_owned(); 5], vec!["job".to_owned(); 5]));
    place.run(&format!("{SIM} --runtime=5 --series=a.jsonl --series-interval=500ms")).ok();
    let text = std::fs::read_to_string(place.path("a.jsonl")).unwrap();
    let ios = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()["ios"].clone());
    assert_eq!(ios.collect::<Vec<_>>(), vec![Value::from(5000); 10]);
}

/// `fiord series` makes the same rows from the report; only the name of the host is not in it.
#[test]
fn a_finished_run_has_the_rows_of_its_series() {
    let place = Place::new();
    place.run(&format!("{SIM} --runtime=5 --output-format=json --series=a.csv")).ok();
    let out = place.run("series o.txt").ok().out;
    place.run("series o.txt -o b.csv").ok();
    assert_eq!(std::fs::read_to_string(place.path("b.csv")).unwrap(), out);
    let (live, later) = (rows(&place, "a.csv"), rows(&place, "b.csv"));
    assert_eq!((later.len(), &later[0]), (6, &live[0]));
    for (live, later) in live.iter().zip(&later) {
        assert_eq!((&live[1..3], &live[4..]), (&later[1..3], &later[4..]));
    }
    let lines = place.run("series o.txt --format=jsonl --interval=500").ok().out;
    assert_eq!(lines.lines().count(), 10);
    place.write("fio.json", r#"{"fio version": "fio-3.42", "jobs": [{"jobname": "a"}]}"#);
    for (line, expected) in
        [("series fio.json", "has no samples"), ("series no-such", "cannot read")]
    {
        let ran = place.run(line);
        assert!(ran.status == Some(1) && ran.err.contains(expected), "{ran:?}");
    }
}

/// The rows add up to the report.
#[test]
fn rows_of_a_real_clock_lose_no_io() {
    let place = Place::new();
    let line = "--ioengine=psync --rw=randrw --size=1m --filename=f --time_based --runtime=1 \
                --rate_iops=2000 --name=a --name=b --series=a.csv --series-interval=100ms --output-format=json";
    let report = place.run(line).ok().json();
    let rows = rows(&place, "a.csv");
    let column = |name: &str| rows[0].iter().position(|column| column == name).unwrap();
    for (job, name) in ["a", "b"].into_iter().enumerate() {
        for dir in ["read", "write"] {
            let own = rows[1..].iter().filter(|row| row[column("job")] == name);
            let own = own.filter(|row| row[column("direction")] == dir);
            let ios = own.map(|row| row[column("ios")].parse::<u64>().unwrap());
            let expected = report["jobs"][job][dir]["total_ios"].as_u64().unwrap();
            assert_eq!(ios.sum::<u64>(), expected, "{name} {dir}");
        }
    }
}

#[test]
fn a_killed_run_leaves_whole_rows() {
    let place = Place::new();
    let mut child = place.start(
        "--name=a --ioengine=null --rw=read --size=1g --time_based --runtime=60 --series=a.csv \
         --series-interval=20ms --output=o.txt",
    );
    let lines = || std::fs::read_to_string(place.path("a.csv")).ok().map(|t| t.lines().count());
    wait_for("the third row", || lines().filter(|lines| *lines > 3));
    signal(&child, "KILL");
    child.wait().unwrap();
    let rows = rows(&place, "a.csv");
    assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
}

#[test]
fn a_reader_that_goes_away_does_not_stop_the_run() {
    let place = Place::new();
    let line = format!("{SIM} --runtime=100 --series=-");
    let fiord = env!("CARGO_BIN_EXE_fiord");
    let ran = place.script(&format!("{fiord} {line} | head -1; echo ${{PIPESTATUS[0]}}"));
    assert!(ran.out.starts_with("time,elapsed_s,") && ran.out.ends_with("\n141\n"), "{ran:?}");
    assert!(
        std::fs::read_to_string(place.path("o.txt")).unwrap().contains("run=100000-100000msec")
    );
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let place = Place::new();
    let job = "--name=a --ioengine=null --size=1m";
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    for (options, expected) in [
        (format!("--metrics=:{port}"), "choose another port"),
        ("--metrics=missing/a.prom".into(), "create the directory"),
        ("--series=missing/a.csv".into(), "create the directory"),
        ("--series=/dev/full --series-format=csv".into(), "free space"),
    ] {
        let ran = place.run(&format!("{job} {options}"));
        assert_eq!(ran.status, Some(1), "{ran:?}");
        assert!(ran.err.contains(&format!("To fix: {expected}")), "{ran:?}");
    }
    let ran = place.run(&format!("{job} --series=- --output-format=json"));
    assert_eq!((ran.status, ran.out.as_str()), (Some(1), ""), "{ran:?}");
}

#[test]
fn promtool_accepts_the_file_of_metrics() {
    let place = Place::new();
    place.run(&format!("{SIM} --runtime=1 --metrics=a.prom")).ok();
    assert_eq!(place.names(), ["a.prom", "o.txt"]);
    let text = std::fs::read_to_string(place.path("a.prom")).unwrap();
    assert!(text.contains("direction=\"read\"} 10000\n") && text.ends_with("# EOF\n"), "{text}");
    assert!(text.contains("phase=\"ended\"} 1\n"), "{text}");
    let file = std::fs::File::open(place.path("a.prom")).unwrap();
    match Command::new("promtool").args(["check", "metrics"]).stdin(file).output() {
        Ok(checked) => {
            assert!(checked.status.success() && checked.stderr.is_empty(), "{checked:?}")
        }
        Err(error) => eprintln!("skipped: promtool cannot be started: {error}"),
    }
}

#[test]
fn the_node_exporter_reads_the_file_of_metrics() {
    let place = Place::new();
    place.run(&format!("{SIM} --runtime=1 --metrics=a.prom")).ok();
    let port = ports::free(1);
    let arguments = [
        "--collector.disable-defaults".to_owned(),
        "--collector.textfile".into(),
        format!("--collector.textfile.directory={}", place.path("").display()),
        format!("--web.listen-address=127.0.0.1:{port}"),
    ];
    let Some(_exporter) = Program::start(&place, "prometheus-node-exporter", &arguments) else {
        return;
    };
    let text = wait_for("the node exporter", || get(port, "/metrics").filter(|t| !t.is_empty()));
    assert!(text.contains("node_textfile_scrape_error 0\n"), "{text}");
    assert!(text.contains("fiord_ios_total{direction=\"read\""), "{text}");
    assert!(text.contains("# TYPE fiord_latency_seconds histogram\n"), "{text}");
}

/// The result of a query of Prometheus, if it has one.
fn prometheus(port: u16, query: &str) -> Option<f64> {
    let escaped: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let answer: Value =
        serde_json::from_str(&get(port, &format!("/api/v1/query?query={escaped}"))?).ok()?;
    answer["data"]["result"][0]["value"][1].as_str()?.parse().ok()
}

/// Rates and percentiles that Prometheus computes, from native histograms and from classic ones.
#[test]
fn prometheus_scrapes_a_run() {
    for native in [false, true] {
        let place = Place::new();
        let (own, web) = (ports::free(1), ports::free(1));
        place.write(
            "prometheus.yml",
            format!(
                "global: {{scrape_interval: 500ms}}\nscrape_configs:\n- job_name: fiord\n  static_configs:\n  \
                 - targets: ['127.0.0.1:{own}']\n"
            ),
        );
        let mut arguments = vec![
            "--config.file=prometheus.yml".to_owned(),
            "--storage.tsdb.path=data".into(),
            format!("--web.listen-address=127.0.0.1:{web}"),
        ];
        if native {
            arguments.push("--enable-feature=native-histograms".into());
        }
        let Some(_prometheus) = Program::start(&place, "prometheus", &arguments) else { return };
        // 1000 I/Os per second with a latency of nearly nothing.
        let run = place.start(&format!(
            "--name=job --ioengine=psync --rw=randread --size=1m --filename=f --rate_iops=1000 --time_based --runtime=60 \
             --metrics=:{own} --output=o.txt"
        ));
        let mut run = Program(run);
        let rate = wait_for("a rate", || {
            prometheus(web, "rate(fiord_ios_total{job_name=\"job\"}[10s])").filter(|r| *r > 500.0)
        });
        assert!(rate < 1500.0, "{rate}");
        let of = |name: &str| {
            format!("histogram_quantile(0.5, rate({name}{{direction=\"read\"}}[10s]))")
        };
        let (native_median, classic_median) =
            (of("fiord_latency_seconds"), of("fiord_latency_seconds_bucket"));
        let wanted = if native { &native_median } else { &classic_median };
        let median = wait_for("a percentile", || prometheus(web, wanted).filter(|p| *p > 0.0));
        assert!(median < 1.0, "{median}");
        if native {
            assert_eq!(prometheus(web, &classic_median), None);
        }
        assert_eq!(prometheus(web, "fiord_run_phase{phase=\"running\"}"), Some(1.0));
        signal(&run.0, "INT");
        run.0.wait().unwrap();
    }
}

/// The final metrics are served until a client has fetched them.
#[test]
fn the_final_metrics_linger() {
    let place = Place::new();
    let port = ports::free(1);
    let mut child =
        place.start(&format!(
        "--name=job --ioengine=psync --iodepth=8 --rw=read --size=1m --filename=f --output=o.txt --metrics=:{port} \
         --metrics-linger=60"
    ));
    let last = wait_for("the end of the run", || {
        let text = get(port, "/metrics")?;
        let mut phases = text.lines().filter(|line| line.starts_with("fiord_run_phase{"));
        phases.any(|line| line.contains("\"ended\"} 1")).then_some(text)
    });
    assert!(last.contains("id=\"depth-ignored\""), "{last}");
    // The answer before could be a moment older than the end.
    let _ = get(port, "/metrics");
    let status = wait_for("the end", || child.try_wait().unwrap());
    assert_eq!(status.code(), Some(0));
}

#[test]
fn influxdb_takes_a_series() {
    let place = Place::new();
    place.run(&format!("{SIM} --runtime=5 --series=a.lp")).ok();
    let (web, rpc) = (ports::free(1), ports::free(1));
    place.write(
        "influxdb.conf",
        format!(
            "reporting-disabled = true\nbind-address = \"127.0.0.1:{rpc}\"\n[meta]\ndir = \"meta\"\n[data]\ndir = \"data\"\n\
             wal-dir = \"wal\"\n[http]\nbind-address = \"127.0.0.1:{web}\"\n"
        ),
    );
    let arguments = ["-config".to_owned(), "influxdb.conf".into()];
    let Some(_influxd) = Program::start(&place, "influxd", &arguments) else { return };
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    wait_for("InfluxDB", || http(web, "POST", "/query", form, "q=CREATE+DATABASE+d"));
    let lines = std::fs::read_to_string(place.path("a.lp")).unwrap();
    let refused = http(web, "POST", "/write?db=d&precision=ns", "", &lines).unwrap();
    assert!(refused.is_empty(), "{}", String::from_utf8_lossy(&refused));
    let query = "/query?db=d&q=SELECT+SUM(ios),MAX(lat_p99_ns)+FROM+fiord+WHERE+job='job'+AND+direction='read'";
    let answer: Value = serde_json::from_str(&get(web, query).unwrap()).unwrap();
    let values = &answer["results"][0]["series"][0]["values"][0];
    assert_eq!(values[1], 50_000, "{answer}");
    assert!(values[2].as_u64().unwrap() > 0, "{answer}");
}

/// A run on two hosts has the rows and the metrics of both.
#[test]
fn hosts_export_to_the_coordinator() {
    let place = hosts::place();
    place.write(
        "job.fio",
        "[job]\nioengine=null\nrw=read\nsize=1g\ntime_based=1\nruntime=2\nrate_iops=1000\n",
    );
    let options = hosts::options(&place, "a,b");
    let export = "--series=a.csv --series-interval=500ms --metrics=a.prom --output=o.txt";
    let ran = place.run(&format!("{options} job.fio {export}"));
    assert_eq!(ran.status, Some(0), "{ran:?}");
    let rows = rows(&place, "a.csv");
    let host = rows[0].iter().position(|column| column == "host").unwrap();
    let metrics = std::fs::read_to_string(place.path("a.prom")).unwrap();
    for name in ["a", "b"] {
        assert!(rows.iter().filter(|row| row[host] == name).count() >= 4, "{rows:?}");
        assert!(metrics.contains(&format!("fiord_ios_total{{host=\"{name}\"")), "{metrics}");
    }
}
