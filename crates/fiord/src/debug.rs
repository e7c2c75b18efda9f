//! `--debug`: writes a line for each event to the destination of the results.
//!
//! | category | lines |
//! |---|---|
//! | `parse` | `handle_option=NAME, ptr=VALUE` for each option, limits of `steadystate` |
//! | `random` | the seed of each job |
//! | `file` | files added and laid out |
//! | `process` | jobs that start and end |
//! | `io`, `mem` | each I/O, the buffers: written by the job itself ([`fiord_run::debug`]) |
//! | `verify`, `rate`, `zbd` | how the job verifies, its rates, the zones of its files |
//! | `job:N` | restricts the others to job N, from 0 |
//!
//! The other categories of fio have no lines, because they are about parts that fiord does not have. A line says so.

mod plan;

use std::sync::Mutex;

use fiord_job::command::{DEBUG, Invocation};
use fiord_job::spec::{JobSpec, Setting};
use fiord_plan::Plan;
use fiord_run::debug::DebugOutput;
use fiord_run::events::EventKind;
use fiord_types::JobIndex;
use fiord_types::program::message;

use crate::sink::Sink;

/// Categories about parts that fiord does not have.
const WITHOUT_LINES: [&str; 10] = [
    "blktrace",
    "diskutil",
    "mutex",
    "profile",
    "time",
    "net",
    "compress",
    "steadystate",
    "helperthread",
    "sprandom",
];

/// The requested categories and their destination.
#[derive(Debug, Clone)]
pub(crate) struct Debug {
    output: DebugOutput,
    pid: u32,
}

impl Debug {
    /// Starts `--debug` and prints the requested categories. Returns `None` if no category is
    /// requested.
    pub(crate) fn begin(categories: &[String], sink: Sink) -> Option<Self> {
        if categories.is_empty() {
            return None;
        }
        let job =
            categories.iter().find_map(|c| c.strip_prefix("job:")?.parse().ok().map(JobIndex));
        let sink = Mutex::new(sink);
        let write = move |text: &str| {
            let mut sink = sink.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            sink.put(text.as_bytes());
        };
        let output = DebugOutput::new(categories, job, write);
        let all = DEBUG.iter().all(|name| output.has(name));
        if all {
            output.raw(&message("set all debug options\n"));
        }
        for category in categories {
            match category.strip_prefix("job:") {
                Some(number) => output.raw(&message(format_args!("set debug jobno {number}\n"))),
                None if all => {}
                None => output.raw(&message(format_args!("set debug option {category}\n"))),
            }
            if !all && WITHOUT_LINES.contains(&category.as_str()) {
                output.raw(&message(format_args!(
                    "{category} is about a part that fiord does not have: it prints nothing\n"
                )));
            }
        }
        Some(Debug { output, pid: std::process::id() })
    }

    /// Returns the output for the threads of the jobs.
    pub(crate) fn output(&self) -> DebugOutput {
        self.output.clone()
    }

    /// Prints the parsed options and the plan.
    pub(crate) fn read(&self, invocation: &Invocation, plan: &Plan) {
        self.parsed(invocation);
        self.plan(plan);
    }

    /// Prints the options of all jobs as typed.
    fn parsed(&self, invocation: &Invocation) {
        if !self.output.has("parse") {
            return;
        }
        if invocation.jobs.is_empty() {
            invocation.globals.iter().for_each(|setting| self.option(setting));
        }
        let options =
            |spec: &JobSpec| spec.settings.iter().for_each(|setting| self.option(setting));
        invocation.jobs.iter().for_each(options);
    }

    fn option(&self, setting: &Setting) {
        let text = setting.shown_text();
        let text = text.as_deref();
        let (name, value) = (setting.def.name, text.unwrap_or("(null)"));
        let say = |what: String| self.output.line("parse", self.pid, what);
        say(format!("handle_option={name}, ptr={value}"));
        if name == "steadystate"
            && let Some(what) = text.and_then(steady_limit)
        {
            say(what);
        }
    }

    /// Prints the jobs, file names and seeds of a plan.
    fn plan(&self, plan: &Plan) {
        for job in &plan.jobs {
            let index = job.identity.index;
            if self.output.wants("random", index) {
                // One number seeds all generators of a job.
                self.output.line("random", self.pid, "FIO_RAND_NR_OFFS=1");
                let seed = job.load.seed;
                self.output.line("random", self.pid, format_args!("rand_seeds[0]={seed}"));
            }
            if self.output.wants("file", index) {
                for file in &job.target.files {
                    let name = file.path.display();
                    self.output.line("file", self.pid, format_args!("add file {name}"));
                }
            }
            for (category, lines) in [
                ("verify", plan::verification(job)),
                ("rate", plan::rates(job)),
                ("zbd", plan::zones(job)),
            ] {
                for line in lines.iter().filter(|_| self.output.wants(category, index)) {
                    self.output.line(category, self.pid, line);
                }
            }
        }
    }

    /// Prints an event of the run.
    pub(crate) fn event(&self, event: &EventKind) {
        let state = |index: usize, pid: u32, from: &str, to: &str| {
            if self.output.wants("process", JobIndex(index)) {
                let what = format!("pid={pid}: runstate {from} -> {to}");
                self.output.line("process", self.pid, what);
            }
        };
        match event {
            EventKind::JobStarted { index, pid } => {
                if self.output.wants("process", JobIndex(*index)) {
                    self.output.line("process", *pid, format_args!("jobs pid={pid} started"));
                }
                state(*index, *pid, "INITIALIZED", "RUNNING");
            }
            EventKind::JobEnded { index, pid, .. } => state(*index, *pid, "RUNNING", "EXITED"),
            EventKind::LayingOut { job, files, bytes } if self.output.has("file") => {
                let what = format!("{job}: lays out {files} files, {bytes} bytes");
                self.output.line("file", self.pid, what);
            }
            _ => {}
        }
    }
}

/// Formats the limit of `steadystate=MEASURE:LIMIT` as fio does; `None` without a limit.
fn steady_limit(text: &str) -> Option<String> {
    let (measure, limit) = text.split_once(':')?;
    let limit = limit.trim();
    if limit.ends_with('%') {
        let percent: f64 = limit.trim_end_matches('%').trim().parse().ok()?;
        return Some(format!("set steady state threshold to {percent:.6}%"));
    }
    let number: f64 = limit.parse().ok()?;
    Some(match measure.split('_').next()? {
        "iops" => format!("set steady state IOPS threshold to {number:.6}"),
        "bw" => format!("set steady state BW threshold to {number:.0}"),
        "lat" => format!("set steady state latency threshold to {number:.0} nsec"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::steady_limit;

    /// The lines match those of fio 3.42.
    #[test]
    fn limits_of_steadystate() {
        for (text, said) in [
            ("iops:10", "set steady state IOPS threshold to 10.000000"),
            ("iops:10%", "set steady state threshold to 10.000000%"),
            ("iops:.1%", "set steady state threshold to 0.100000%"),
            ("bw_slope:0.5%", "set steady state threshold to 0.500000%"),
            ("bw:12", "set steady state BW threshold to 12"),
            ("lat:10", "set steady state latency threshold to 10 nsec"),
        ] {
            assert_eq!(steady_limit(text).as_deref(), Some(said));
        }
        assert_eq!((steady_limit("pts"), steady_limit("iops:x")), (None, None));
    }
}
