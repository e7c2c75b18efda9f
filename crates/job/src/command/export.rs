//! The options that export what a run measures while it runs: `--series` and `--metrics`.

use fiord_types::Nanos;

use super::format::Format;
use super::time::interval;
use crate::diagnostic::Diagnostic;
use crate::option::value::ValueError;

/// Time between two samples if the user names none.
const DEFAULT_INTERVAL: Nanos = Nanos::from_secs(1);
/// Minimum time between two rows of a series. A row takes the job's worker some microseconds.
const MIN_INTERVAL: Nanos = Nanos::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SeriesFormat {
    /// Values separated by commas, with a first line that names the columns.
    Csv,
    /// One JSON object in each line.
    JsonLines,
    /// The line protocol of InfluxDB.
    Influx,
}

impl SeriesFormat {
    /// The format that the end of a file name stands for. `None` if it stands for none.
    #[must_use]
    pub fn of_path(path: &str) -> Option<SeriesFormat> {
        match path.rsplit_once('.')?.1.to_ascii_lowercase().as_str() {
            "csv" => Some(SeriesFormat::Csv),
            "jsonl" | "ndjson" => Some(SeriesFormat::JsonLines),
            "influx" | "lp" => Some(SeriesFormat::Influx),
            _ => None,
        }
    }
}

/// Where metrics go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricsTarget {
    /// To this file, which is replaced as a whole again and again.
    File(String),
    /// To those who ask for them over HTTP.
    Server {
        /// The address to listen on. `None`: the loopback address.
        host: Option<String>,
        port: u16,
    },
}

/// What a run exports.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ExportOptions {
    /// `--series`: a file, or `-` for standard output.
    pub series: Option<String>,
    /// `--series-format`. `None`: not set.
    pub format: Option<SeriesFormat>,
    /// `--series-interval`. `None`: not set.
    pub interval: Option<Nanos>,
    /// `--metrics`, which may be repeated.
    pub metrics: Vec<MetricsTarget>,
    /// `--metrics-linger`. `None`: not set.
    pub linger: Option<Nanos>,
}

impl ExportOptions {
    /// Whether the run exports anything.
    #[must_use]
    pub fn wants_any(&self) -> bool {
        self.series.is_some() || !self.metrics.is_empty()
    }

    /// Whether the series takes standard output.
    #[must_use]
    pub fn takes_standard_output(&self) -> bool {
        self.series.as_deref() == Some("-")
    }

    /// The format of the series: the one that the user named, else that of the file name.
    #[must_use]
    pub fn series_format(&self) -> SeriesFormat {
        let of_name = || SeriesFormat::of_path(self.series.as_deref()?);
        self.format.or_else(of_name).unwrap_or(SeriesFormat::Csv)
    }

    /// Time between two rows of the series.
    #[must_use]
    pub fn series_interval(&self) -> Nanos {
        self.interval.unwrap_or(DEFAULT_INTERVAL)
    }

    /// Time between two samples: that of the rows, or a whole part of it that is at most a second, for metrics.
    ///
    /// ```
    /// use fiord_job::command::{ExportOptions, MetricsTarget};
    /// use fiord_types::Nanos;
    ///
    /// let interval = Some(Nanos::from_millis(2500));
    /// let mut export = ExportOptions { series: Some("a.csv".into()), interval, ..ExportOptions::default() };
    /// assert_eq!(export.sample_interval(), Nanos::from_millis(2500));
    /// export.metrics.push(MetricsTarget::Server { host: None, port: 9300 });
    /// assert_eq!(export.sample_interval(), Nanos(833_333_333));
    /// ```
    #[must_use]
    pub fn sample_interval(&self) -> Nanos {
        let rows = self.series_interval();
        match (&self.series, self.metrics.is_empty()) {
            (None, _) => DEFAULT_INTERVAL,
            (Some(_), true) => rows,
            (Some(_), false) => Nanos(rows.0 / rows.0.div_ceil(DEFAULT_INTERVAL.0).max(1)),
        }
    }

    /// Applies an option of this group.
    pub(super) fn apply(&mut self, name: &str, value: &str) -> Result<(), ValueError> {
        match name {
            "series" => self.series = Some(value.to_string()),
            "series-format" => self.format = Some(format(value)?),
            "series-interval" => self.interval = Some(series_interval(value)?),
            "metrics" => self.metrics.push(metrics(value)?),
            "metrics-linger" => self.linger = Some(Nanos(interval(value)?)),
            _ => {}
        }
        Ok(())
    }

    /// What is wrong with the options together. `output`: the value of `--output`.
    pub(super) fn check(&self, output: Option<&str>, formats: &[Format]) -> Vec<Diagnostic> {
        let mut wrong = Vec::new();
        let mut refuse = |what: &str, help: &str| {
            wrong.push(Diagnostic::error(what, None).help(help));
        };
        for (option, is_set) in [
            ("--series-format", self.format.is_some()),
            ("--series-interval", self.interval.is_some()),
        ] {
            if is_set && self.series.is_none() {
                refuse(
                    &format!("{option} has no effect without --series"),
                    "To fix: add --series=FILE, or leave it out",
                );
            }
        }
        let serves = |target: &MetricsTarget| matches!(target, MetricsTarget::Server { .. });
        if self.linger.is_some() && !self.metrics.iter().any(serves) {
            refuse(
                "--metrics-linger has no effect without a server of metrics",
                "To fix: add --metrics=:PORT, or leave it out",
            );
        }
        let Some(series) = &self.series else { return wrong };
        if series == "-" && output.is_none() {
            let document = if formats == [Format::Normal] { "report" } else { "document" };
            refuse(
                &format!(
                    "standard output cannot have both the series and the {document} of the run"
                ),
                "To fix: write the results to a file with --output=FILE, or the series with --series=FILE",
            );
        }
        if series != "-" && self.format.is_none() && SeriesFormat::of_path(series).is_none() {
            refuse(
                &format!("the name `{series}` does not say in which format --series writes"),
                "To fix: end it in .csv, .jsonl or .influx, or add --series-format=csv, jsonl or influx",
            );
        }
        if output == Some(series.as_str()) && series != "-" {
            refuse(&format!("--series and --output both write {series}"), "To fix: name two files");
        }
        wrong
    }
}

fn format(text: &str) -> Result<SeriesFormat, ValueError> {
    match text {
        "csv" => Ok(SeriesFormat::Csv),
        "jsonl" => Ok(SeriesFormat::JsonLines),
        "influx" => Ok(SeriesFormat::Influx),
        other => Err(ValueError::new(format!("`{other}` is not csv, jsonl or influx"))),
    }
}

fn series_interval(text: &str) -> Result<Nanos, ValueError> {
    let time = Nanos(interval(text)?);
    if time < MIN_INTERVAL {
        return Err(ValueError::new("an interval of less than 10ms would disturb the jobs")
            .with_help(
                "To fix: write --series-interval=10ms or more; write_bw_log logs each I/O",
            ));
    }
    Ok(time)
}

/// A value that ends in a colon and digits, without a slash, is an address.
fn metrics(text: &str) -> Result<MetricsTarget, ValueError> {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    if let Some((host, port)) = text.rsplit_once(':').filter(|_| !text.contains('/')) {
        let port = match port.parse::<u16>() {
            Ok(port) if port > 0 => port,
            _ => {
                return Err(ValueError::new(format!("`{port}` is not a TCP port"))
                    .with_help("To fix: write --metrics=:PORT with a port from 1 to 65535"));
            }
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let host = (!host.is_empty()).then(|| host.to_string());
        return Ok(MetricsTarget::Server { host, port });
    }
    if is_number(text) {
        return Err(ValueError::new("a number alone is neither a file nor an address")
            .with_help(format!("To fix: write --metrics=:{text} to serve metrics on that port")));
    }
    match text.ends_with(".prom") {
        true => Ok(MetricsTarget::File(text.to_string())),
        false => Err(ValueError::new("the name of a file of metrics ends in .prom")
            .with_help(
                "To fix: write --metrics=FILE.prom, because the node exporter reads no other files, or --metrics=:PORT",
            )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_served_and_a_name_is_a_file() {
        let server = |host: Option<&str>, port| {
            Some(MetricsTarget::Server { host: host.map(String::from), port })
        };
        let file = |name: &str| Some(MetricsTarget::File(name.into()));
        for (text, expected) in [
            (":9300", server(None, 9300)),
            ("0.0.0.0:9300", server(Some("0.0.0.0"), 9300)),
            ("[::1]:9300", server(Some("::1"), 9300)),
            ("::1:9300", server(Some("::1"), 9300)),
            ("a.prom", file("a.prom")),
            ("./a:1.prom", file("./a:1.prom")),
            ("/run/a:9300", None),
            ("9300", None),
            (":0", None),
            (":99999", None),
            ("a.txt", None),
            ("a:b", None),
        ] {
            assert_eq!(metrics(text).ok(), expected, "{text}");
        }
    }

    #[test]
    fn the_name_of_the_file_decides_the_format() {
        let of = |path: &str| {
            ExportOptions { series: Some(path.into()), ..ExportOptions::default() }.series_format()
        };
        let formats = ["a.csv", "b.JSONL", "c.lp", "d.influx", "-"].map(of);
        use SeriesFormat::{Csv, Influx, JsonLines};
        assert_eq!(formats, [Csv, JsonLines, Influx, Influx, Csv]);
    }

    fn refused(line: &str) -> bool {
        let mut line: Vec<String> = line.split_whitespace().map(String::from).collect();
        line.extend(["--name=a", "--ioengine=null", "--size=1m", "--parse-only"].map(String::from));
        crate::invocation(&line, &mut crate::load::Memory::default()).is_err()
    }

    #[test]
    fn options_that_contradict_each_other_are_refused() {
        for line in [
            "--series=-",
            "--series=- --output-format=json",
            "--series=a.txt",
            "--series=a.csv --output=a.csv",
            "--series-format=csv",
            "--series-interval=2",
            "--series=a.csv --series-interval=1ms",
            "--metrics-linger=5 --metrics=a.prom",
            "--series=a.csv --series-format=xml",
            "--server --metrics=:9300",
        ] {
            assert!(refused(line), "{line}");
        }
        for line in [
            "--series=- --output=x",
            "--series=a.txt --series-format=csv --series-interval=100ms",
            "--metrics=a.prom --metrics=:9300 --metrics-linger=5",
        ] {
            assert!(!refused(line), "{line}");
        }
    }
}
