//! The general options and their values.

use fiord_types::Nanos;

use super::export::ExportOptions;
use super::format::{Format, formats};
use super::table::{Argument, CommandDef};
use super::time::{interval, time};
use crate::diagnostic::Diagnostic;
use crate::number;
use crate::option::def::Unit;
use crate::option::handle::WordEnum;
use crate::option::table::Verify;
use crate::option::value::{Bases, ValueError};
use crate::suggest;

/// When to show the live status line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Eta {
    /// Only on terminals.
    #[default]
    Auto,
    Always,
    Never,
}

/// What to do with findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Findings {
    /// Does not search for findings.
    Off,
    /// Reports findings.
    #[default]
    On,
    /// Reports findings, and exits with an error status if one of them is `invalid`.
    Fatal,
}

/// The categories of `--debug`.
pub const DEBUG: [&str; 20] = [
    "process",
    "file",
    "io",
    "mem",
    "blktrace",
    "verify",
    "random",
    "parse",
    "diskutil",
    "job",
    "mutex",
    "profile",
    "time",
    "net",
    "rate",
    "compress",
    "steadystate",
    "helperthread",
    "zbd",
    "sprandom",
];

/// Which CPUs `--idle-prof` reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdleProf {
    /// All together.
    System,
    /// All together, and each of them.
    PerCpu,
}

/// When a trigger ends the run, and the command that it runs then.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TriggerOptions {
    /// `--trigger-file`: the trigger fires when this file exists.
    pub file: Option<String>,
    /// `--trigger-timeout`: the trigger fires so long after the start of the jobs.
    pub timeout: Option<Nanos>,
    /// `--trigger`: the shell command that this machine runs.
    pub command: Option<String>,
    /// `--trigger-remote`: the shell command that each host runs.
    pub remote_command: Option<String>,
}

impl TriggerOptions {
    #[must_use]
    pub fn can_fire(&self) -> bool {
        self.file.is_some() || self.timeout.is_some()
    }
}

/// How the hosts of a run share their files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DataSharing {
    /// Each host uses files of its own.
    #[default]
    Private,
    /// All hosts use all files.
    Same,
    /// Each host uses its part of all files.
    Split,
}

/// What to do if a host is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LostHost {
    /// Ends the run on all hosts.
    #[default]
    Abort,
    /// Continues with the other hosts.
    Continue,
}

/// Options of a run on many hosts. [`super::hosts::hosts_command`] says which hosts these are.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HostsOptions {
    /// `--hosts-data`. `None`: not set.
    pub data: Option<DataSharing>,
    pub on_lost: LostHost,
    /// `--ssh`: the words of the command that reaches a host. Empty: not set.
    pub ssh: Vec<String>,
    /// `--remote-fiord`: the path of fiord on the hosts.
    pub remote_fiord: Option<String>,
    /// `--keys`: the directory of the keys. `None`: not set.
    pub keys: Option<String>,
    /// `--insecure`: connections to other machines need no keys.
    pub insecure: bool,
}

/// Options of a server, which runs the jobs of clients.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerOptions {
    /// `--server`: where it listens; empty if the user names no address. `None`: this process is not a server.
    pub address: Option<String>,
    /// `--daemonize`: it runs in the background, and this file has its process id.
    pub pid_file: Option<String>,
    /// `--policy`: the file that says what clients may do.
    pub policy: Option<String>,
}

/// The general options of the command line, which do not belong to a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneralOptions {
    /// `--output`: the file for results. Standard output if `None`.
    pub output: Option<String>,
    /// `--html`: the file for the page with the results. `None`: no page.
    pub html: Option<String>,
    /// `--output-format`, `--minimal` and `--append-terse`: the formats in the order of the command
    /// line, without repetitions. Never empty.
    pub formats: Vec<Format>,
    pub terse_version: u8,
    pub eta: Eta,
    /// `--eta-newline`, in nanoseconds.
    pub eta_newline: Option<u64>,
    /// `--eta-interval`, in nanoseconds.
    pub eta_interval: u64,
    pub live: bool,
    /// `--status-interval`, in nanoseconds.
    pub status_interval: Option<u64>,
    pub readonly: bool,
    pub no_exec: bool,
    pub max_jobs: Option<u32>,
    pub warnings_fatal: bool,
    pub findings: Findings,
    pub ceiling: bool,
    pub aux_path: Option<String>,
    /// `--idle-prof`, except `calibrate`.
    pub idle_prof: Option<IdleProf>,
    /// `--trigger-file`, `--trigger-timeout`, `--trigger` and `--trigger-remote`.
    pub trigger: TriggerOptions,
    /// `--hosts-data`, `--on-lost`, `--ssh`, `--remote-fiord`, `--keys` and `--insecure`.
    pub hosts: HostsOptions,
    /// `--server`, `--daemonize` and `--policy`.
    pub server: ServerOptions,
    /// `--bandwidth-log`: how the names of the logs begin. `None`: no such logs.
    pub bandwidth_log: Option<String>,
    /// `--series`, `--metrics` and the options that refine them.
    pub export: ExportOptions,
    /// `--debug`, without repetitions. `all` is expanded; `job:N` is kept as it is.
    pub debug: Vec<String>,
    pub sections: Vec<String>,
    pub parse_only: bool,
    pub merge_blktrace_only: bool,
    pub showcmd: bool,
}

impl Default for GeneralOptions {
    fn default() -> Self {
        GeneralOptions {
            output: None,
            html: None,
            formats: vec![Format::Normal],
            terse_version: 3,
            eta: Eta::Auto,
            eta_newline: None,
            eta_interval: 1_000_000_000,
            live: false,
            status_interval: None,
            readonly: false,
            no_exec: false,
            max_jobs: None,
            warnings_fatal: false,
            findings: Findings::On,
            ceiling: false,
            aux_path: None,
            idle_prof: None,
            trigger: TriggerOptions::default(),
            hosts: HostsOptions::default(),
            server: ServerOptions::default(),
            bandwidth_log: None,
            export: ExportOptions::default(),
            debug: Vec::new(),
            sections: Vec::new(),
            parse_only: false,
            merge_blktrace_only: false,
            showcmd: false,
        }
    }
}

impl GeneralOptions {
    /// Applies a supported general option that only changes these values.
    ///
    /// # Errors
    /// The value is missing or invalid.
    pub fn apply(&mut self, def: &CommandDef, text: Option<&str>) -> Result<(), ValueError> {
        let value = text.unwrap_or_default();
        if let (Argument::Required(what), "") = (def.argument, value.trim()) {
            return Err(ValueError::new("the value is missing")
                .with_help(format!("To fix: write --{}={what}", def.name)));
        }
        match def.name {
            "output" => self.output = Some(value.to_string()),
            "html" => self.html = Some(page_file(value)?),
            "output-format" => self.formats = formats(value)?,
            "minimal" => self.formats = vec![Format::Terse],
            "append-terse" if !self.formats.contains(&Format::Terse) => {
                self.formats.push(Format::Terse);
            }
            "terse-version" => self.terse_version = terse_version(value)?,
            "eta" => self.eta = eta(value)?,
            "eta-newline" => self.eta_newline = Some(interval(value)?),
            "eta-interval" => self.eta_interval = eta_interval(value)?,
            "live" => self.live = true,
            "status-interval" => self.status_interval = Some(interval(value)?),
            "readonly" => self.readonly = true,
            "no-exec" => self.no_exec = true,
            "max-jobs" => self.max_jobs = Some(count(value)?),
            "warnings-fatal" => self.warnings_fatal = true,
            "findings" => self.findings = findings(value)?,
            "ceiling" => self.ceiling = true,
            "aux-path" => self.aux_path = Some(value.to_string()),
            "idle-prof" => self.idle_prof = Some(idle_prof(value)?),
            "trigger-file" => self.trigger.file = Some(value.to_string()),
            // As in fio, 0 means no limit.
            "trigger-timeout" => {
                self.trigger.timeout = Some(Nanos(time(value)?)).filter(|t| *t > Nanos::ZERO)
            }
            "trigger-remote" => self.trigger.remote_command = Some(value.to_string()),
            "trigger" => self.trigger.command = Some(value.to_string()),
            "bandwidth-log" => {
                let name = if value.is_empty() { "agg" } else { value };
                self.bandwidth_log = Some(name.to_string());
            }
            "latency-log" => {
                return Err(ValueError::new(
                    "--latency-log is deprecated, and does nothing in fio",
                )
                .with_help("To fix: set write_lat_log in the jobs"));
            }
            "debug" => debug(value, &mut self.debug)?,
            "section" => self.sections.push(value.to_string()),
            "parse-only" => self.parse_only = true,
            "merge-blktrace-only" => self.merge_blktrace_only = true,
            "showcmd" => self.showcmd = true,
            "hosts-data" => self.hosts.data = Some(sharing(value)?),
            "on-lost" => self.hosts.on_lost = on_lost(value)?,
            "ssh" => self.hosts.ssh = value.split_whitespace().map(String::from).collect(),
            "remote-fiord" => self.hosts.remote_fiord = Some(value.to_string()),
            "keys" => self.hosts.keys = Some(value.to_string()),
            "insecure" => self.hosts.insecure = true,
            "server" => self.server.address = Some(value.to_string()),
            "daemonize" => self.server.pid_file = Some(value.to_string()),
            "policy" => self.server.policy = Some(value.to_string()),
            name @ ("series" | "series-format" | "series-interval" | "metrics"
            | "metrics-linger") => {
                self.export.apply(name, value)?;
            }
            "alloc-size" => drop(number::bytes(value, &Bases::default())?),
            _ => {}
        }
        Ok(())
    }
}

/// The file of `--html`. Standard output belongs to the other formats.
fn page_file(text: &str) -> Result<String, ValueError> {
    match text {
        "-" => Err(ValueError::new("the page cannot go to standard output")
            .with_help("To fix: write --html=FILE")),
        file => Ok(file.to_string()),
    }
}

fn terse_version(text: &str) -> Result<u8, ValueError> {
    match text.trim().trim_start_matches('0') {
        "2" => Ok(2),
        "3" => Ok(3),
        "4" => Ok(4),
        "5" => Ok(5),
        other => Err(ValueError::new(format!("invalid version `{other}` of the terse format"))
            .with_help("versions are 2, 3, 4 and 5")),
    }
}

fn eta(text: &str) -> Result<Eta, ValueError> {
    match text {
        "always" => Ok(Eta::Always),
        "never" => Ok(Eta::Never),
        "auto" => Ok(Eta::Auto),
        other => Err(ValueError::new(format!("`{other}` is not always, never or auto"))),
    }
}

fn findings(text: &str) -> Result<Findings, ValueError> {
    match text {
        "off" => Ok(Findings::Off),
        "on" => Ok(Findings::On),
        "fatal" => Ok(Findings::Fatal),
        other => Err(ValueError::new(format!("`{other}` is not off, on or fatal"))),
    }
}

fn sharing(text: &str) -> Result<DataSharing, ValueError> {
    match text {
        "private" => Ok(DataSharing::Private),
        "same" => Ok(DataSharing::Same),
        "split" => Ok(DataSharing::Split),
        other => Err(ValueError::new(format!("`{other}` is not private, same or split"))),
    }
}

fn on_lost(text: &str) -> Result<LostHost, ValueError> {
    match text {
        "abort" => Ok(LostHost::Abort),
        "continue" => Ok(LostHost::Continue),
        other => Err(ValueError::new(format!("`{other}` is not abort or continue"))),
    }
}

fn idle_prof(text: &str) -> Result<IdleProf, ValueError> {
    match text {
        "system" => Ok(IdleProf::System),
        "percpu" => Ok(IdleProf::PerCpu),
        other => Err(ValueError::new(format!("`{other}` is not system, percpu or calibrate"))),
    }
}

fn eta_interval(text: &str) -> Result<u64, ValueError> {
    let ns = time(text)?;
    if ns < 250_000_000 {
        return Err(ValueError::new("an interval of less than 250ms would flood the terminal")
            .with_help("To fix: write --eta-interval=250ms or more"));
    }
    Ok(ns)
}

fn count(text: &str) -> Result<u32, ValueError> {
    let v = number::integer(text, Unit::Count, &Bases::default())?;
    u32::try_from(v).ok().filter(|n| *n > 0).ok_or_else(|| {
        ValueError::new(format!("invalid number of jobs `{}`", text.trim()))
            .with_help("To fix: write 1 or more")
    })
}

/// Adds categories to those of earlier `--debug` options.
fn debug(text: &str, list: &mut Vec<String>) -> Result<(), ValueError> {
    let mut at = 0;
    // fio ignores a comma at the end.
    for part in text.strip_suffix(',').unwrap_or(text).split(',') {
        let (name, rest) = part.split_once(':').unwrap_or((part, ""));
        let known = match name {
            "job" => rest.parse::<usize>().is_ok(),
            _ => DEBUG.contains(&name) && rest.is_empty(),
        };
        let mut add = |name: &str| {
            if !list.iter().any(|l| l == name) {
                list.push(name.to_string());
            }
        };
        if part == "all" {
            DEBUG.iter().for_each(|name| add(name));
        } else if known {
            add(part);
        } else if part == "job" {
            return Err(ValueError::new("`job` needs a job number")
                .at(at, at + part.len())
                .with_help("To fix: write `job:0` to print only the lines of the first job"));
        } else {
            let near = suggest::nearest(name, DEBUG.into_iter());
            let near = near.map(|n| format!("did you mean `{n}`? ")).unwrap_or_default();
            return Err(ValueError::new(format!("invalid category `{part}` for --debug"))
                .at(at, at + part.len())
                .with_help(format!("{near}categories are all, {}", DEBUG.join(", "))));
        }
        at += part.len() + 1;
    }
    Ok(())
}

/// The methods of `verify` that compute a checksum, in the order of fio's `--crctest`.
pub const CHECKSUMS: [Verify; 14] = [
    Verify::Md5,
    Verify::Crc64,
    Verify::Crc32,
    Verify::Crc32c,
    Verify::Crc16,
    Verify::Crc7,
    Verify::Sha1,
    Verify::Sha256,
    Verify::Sha512,
    Verify::Xxhash,
    Verify::Sha3224,
    Verify::Sha3256,
    Verify::Sha3384,
    Verify::Sha3512,
];

/// Reads the list of checksums of `--crctest`. Without a list, it means all of them.
pub(super) fn checksums(list: Option<&str>) -> Result<Vec<Verify>, Diagnostic> {
    let Some(list) = list.filter(|list| !list.is_empty()) else { return Ok(CHECKSUMS.to_vec()) };
    let find = |name: &str| CHECKSUMS.into_iter().find(|method| method.word() == name);
    let read = |name: &str| {
        find(name).ok_or_else(|| {
            let names = CHECKSUMS.map(Verify::word).join(", ");
            Diagnostic::error(format!("unknown checksum `{name}` in --crctest"), None)
                .help(format!("To fix: choose from {names}"))
        })
    };
    list.split(',').map(str::trim).map(read).collect()
}
