//! Exports a run while it runs (`--series`, `--metrics`). The thread that receives the events of the run writes rows and
//! files, so the jobs never wait for a disk or a reader.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use fiord_export::file::{MetricsFile, MetricsFileError};
use fiord_export::http::server::MetricsServer;
use fiord_export::metrics::MetricsState;
use fiord_export::series::output::{SeriesError, SeriesOutput};
use fiord_export::series::{SeriesRecorder, header, line};
use fiord_job::command::{ExportOptions, GeneralOptions, MetricsTarget, SeriesFormat};
use fiord_run::events::{Event, EventKind};
use fiord_stat::finding::Finding;
use fiord_stat::snapshot::RunSnapshot;
use fiord_types::{HostIndex, Nanos};

use crate::exit::Exit;
use crate::sink::report;

/// Time between two replacements of a file of metrics. Collectors read it every 15 seconds or less often.
const FILE_INTERVAL: Duration = Duration::from_secs(5);

/// What a run exports.
pub(crate) struct Exports {
    series: Option<SeriesWriter>,
    metrics: Arc<Mutex<MetricsState>>,
    files: Vec<MetricsFile>,
    /// When the files are replaced next.
    next_files: Instant,
    servers: Vec<MetricsServer>,
    linger: Nanos,
    /// When the run of each host began, since 1970 (UTC).
    began: Vec<Option<Nanos>>,
    /// The first error of a file of metrics.
    failed: Option<MetricsFileError>,
}

/// The series of a run.
struct SeriesWriter {
    output: SeriesOutput,
    format: SeriesFormat,
    hosts: Vec<SeriesRecorder>,
}

impl Exports {
    /// Opens what a run on these hosts exports. `None`: nothing.
    ///
    /// # Errors
    /// A file or a port cannot be used; a message was printed. No job has started.
    pub(crate) fn open(general: &GeneralOptions, hosts: &[String]) -> Result<Option<Self>, Exit> {
        let options = &general.export;
        if !options.wants_any() {
            return Ok(None);
        }
        let hosts = distinct(hosts);
        let failed = |error: &dyn std::fmt::Display| {
            report(format_args!("{error}\n"));
            Exit::Failure
        };
        let series = SeriesWriter::open(options, &hosts).map_err(|error| failed(&error))?;
        let state = MetricsState::new(fiord_job::version(), hosts.iter().cloned());
        let mut exports = Exports {
            series,
            metrics: Arc::new(Mutex::new(state)),
            files: Vec::new(),
            next_files: Instant::now(),
            servers: Vec::new(),
            linger: options.linger.unwrap_or_default(),
            began: vec![None; hosts.len()],
            failed: None,
        };
        for target in &options.metrics {
            match target {
                MetricsTarget::File(path) => exports.files.push(MetricsFile::new(Path::new(path))),
                MetricsTarget::Server { host, port } => {
                    let metrics = Arc::clone(&exports.metrics);
                    let server = MetricsServer::start(host.as_deref(), *port, metrics);
                    exports.servers.push(server.map_err(|error| failed(&error))?);
                }
            }
        }
        exports.write_files();
        match &exports.failed {
            Some(error) => Err(failed(error)),
            None => Ok(Some(exports)),
        }
    }

    fn state(&self) -> MutexGuard<'_, MetricsState> {
        self.metrics.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The jobs of all hosts begin at this time, since 1970 (UTC).
    pub(crate) fn begin(&mut self, time: Nanos) {
        self.began.iter_mut().for_each(|began| *began = Some(time));
    }

    /// An event of the run of a host.
    pub(crate) fn event(&mut self, host: HostIndex, event: Event) {
        match event.kind {
            EventKind::Snapshot(snapshot) => self.snapshot(host, event.unix_time, *snapshot),
            EventKind::BadBlock { job, .. } => self.state().bad_block(host, &job),
            EventKind::Warning { .. } => self.state().warning(host),
            _ => {}
        }
    }

    fn snapshot(&mut self, host: HostIndex, now: Nanos, snapshot: RunSnapshot) {
        let Some(began) = self.began.get_mut(host.get()) else { return };
        let began = *began.get_or_insert(now.saturating_sub(snapshot.elapsed));
        if let Some(series) = &mut self.series {
            series.rows(host, began, &snapshot);
        }
        self.state().snapshot(host, began, snapshot);
        if Instant::now() >= self.next_files {
            self.write_files();
        }
    }

    /// The findings about a host.
    pub(crate) fn findings<'a>(
        &self,
        host: HostIndex,
        findings: impl IntoIterator<Item = &'a Finding>,
    ) {
        self.state().findings(host, findings.into_iter().cloned().collect());
    }

    /// The findings about all hosts together.
    pub(crate) fn findings_of_all(&self, findings: &[Finding]) {
        self.state().findings_of_all(findings.to_vec());
    }

    fn write_files(&mut self) {
        self.next_files = Instant::now() + FILE_INTERVAL;
        let state = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        for file in &self.files {
            if let Err(error) = file.write(&state) {
                self.failed.get_or_insert(error);
            }
        }
    }

    /// Exports the final state. Serves it until it was fetched, or until `stopped`, if the user wants that. Returns `exit`,
    /// or another status if something is lost.
    pub(crate) fn end(mut self, exit: Exit, stopped: &dyn Fn() -> bool) -> Exit {
        self.state().ended();
        self.write_files();
        let mut is_lost = false;
        let mut reader_gone = false;
        let mut lose = |error: &dyn std::fmt::Display| {
            report(format_args!("{error}\n"));
            is_lost = true;
        };
        if let Some(error) = &self.failed {
            lose(error);
        }
        match self.series.map_or(Ok(()), |series| series.output.end()) {
            Ok(()) => {}
            Err(SeriesError::ReaderGone) => reader_gone = true,
            Err(error) => lose(&error),
        }
        for server in &self.servers {
            server.finish(self.linger, stopped);
        }
        match exit {
            Exit::Success if is_lost => Exit::Failure,
            Exit::Success if reader_gone => Exit::ReaderGone,
            other => other,
        }
    }
}

impl SeriesWriter {
    fn open(options: &ExportOptions, hosts: &[String]) -> Result<Option<Self>, SeriesError> {
        let Some(path) = &options.series else { return Ok(None) };
        let (format, interval) = (options.series_format(), options.series_interval());
        let mut output = SeriesOutput::open(path)?;
        output.put(&header(format));
        let hosts = hosts.iter().map(|host| SeriesRecorder::new(host, interval)).collect();
        Ok(Some(SeriesWriter { output, format, hosts }))
    }

    fn rows(&mut self, host: HostIndex, began: Nanos, snapshot: &RunSnapshot) {
        let Some(recorder) = self.hosts.get_mut(host.get()) else { return };
        let rows = recorder.rows(began, snapshot);
        let lines: String = rows.iter().map(|row| line(self.format, row)).collect();
        self.output.put(&lines);
    }
}

/// The names of hosts, such that no two are equal: several servers on one host have the same name.
fn distinct(hosts: &[String]) -> Vec<String> {
    let name =
        |(at, name): (usize, &String)| match hosts.iter().filter(|other| *other == name).count() {
            1 => name.clone(),
            _ => format!("{name}#{at}"),
        };
    hosts.iter().enumerate().map(name).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn hosts_with_one_name_are_told_apart() {
        let hosts = ["a", "b", "a"].map(String::from);
        assert_eq!(super::distinct(&hosts), ["a#0", "b", "a#2"]);
    }
}
