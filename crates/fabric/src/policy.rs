//! What the operator of a host allows jobs of other hosts to do.
//!
//! The agent plans the jobs, lists everything that they would do to the host as [`Wish`]es, and asks [`HostPolicy::check`]
//! before it touches anything. An agent that was started over ssh has [`HostPolicy::unlimited`], because the user could
//! run any command there. A server has [`HostPolicy::server`] or the file that its operator wrote ([`HostPolicy::read`]).
//!
//! Paths are compared after symbolic links and `..` are resolved, and devices by their numbers. A policy protects
//! the host from its peers. It does not protect it from local users, who can replace a directory by a link between
//! the check and the run, or give a forbidden file a second name in an allowed directory.

mod path;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};

use path::{ResolvedPath, resolve};
pub use text::PolicyError;

/// What jobs of other hosts may do on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostPolicy {
    /// Nothing is checked.
    unlimited: bool,
    /// The file that the rules are from. `None`: the policy of a server without a file.
    file: Option<PathBuf>,
    /// Directories in which jobs may use files.
    directories: Vec<PathRule>,
    /// Devices that jobs may use: a path, or a path whose last part is a pattern with `*`.
    devices: Vec<PathRule>,
    /// Directories in which jobs may write logs. Jobs may also write logs where they may write files.
    log_directories: Vec<PathBuf>,
    /// No job writes to a target, whatever the rules say.
    read_only: bool,
    /// Jobs may run shell commands.
    exec: bool,
    /// Plug-ins that jobs may load: a path or `*`.
    libraries: Vec<String>,
    /// Environment variables of this host that jobs may use: a name or `*`.
    variables: Vec<String>,
    /// Jobs may open connections and listen for them.
    network: bool,
    /// Jobs may change settings of the machine.
    settings: bool,
}

/// A directory or device, and what jobs may do with it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PathRule {
    path: PathBuf,
    writes: bool,
}

/// Something that a job would do to the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The name of the job.
    pub job: String,
    /// The option that asks for it, for messages: `filename`.
    pub option: String,
    pub kind: WishKind,
}

/// What a job would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WishKind {
    /// Does I/O on a file, a directory or a device. Relative paths begin at the agent's working directory.
    Target {
        /// Path of the target on this host.
        path: PathBuf,
        /// The job writes, trims, creates, removes or resets it.
        writes: bool,
    },
    /// Reads a file that is not a target: a trace, a pattern, a verify state, a job file.
    Input(PathBuf),
    /// Writes a file that is not a target: a log, a verify state.
    Output(PathBuf),
    /// Runs a shell command (`exec_prerun`, `ioengine=exec`, a trigger).
    Command(String),
    /// Loads a plug-in (`ioengine=external:PATH`).
    Library(String),
    /// Uses the value of an environment variable of this host.
    Variable(String),
    /// Opens a connection or listens for one. The text says where, for messages.
    Network(String),
    /// Changes a setting of the machine: an I/O scheduler, a control group. The text says which, for messages.
    Setting(String),
}

/// A wish that the policy does not grant. `Display` is a message for the user of the job, with what to change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    pub wish: Wish,
    /// What is forbidden, and whose policy says so.
    why: String,
    /// The line of a policy file that would allow it. `None` if no line can.
    line: Option<String>,
    /// The operator's policy file.
    file: Option<PathBuf>,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Forbidden { wish: Wish { job, option, .. }, why, line, file } = self;
        write!(f, "job `{job}`, option {option}: {why}")?;
        match (line, file) {
            (None, _) => Ok(()),
            (Some(line), Some(file)) => write!(
                f,
                ". To fix: change the job, or let the operator of the host write `{line}` into {}",
                file.display()
            ),
            (Some(line), None) => write!(
                f,
                ". To fix: change the job, or let the operator of the host start the server with --policy=FILE, \
                 where FILE has the line `{line}`"
            ),
        }
    }
}

impl HostPolicy {
    /// Everything that the user of the agent may do.
    #[must_use]
    pub fn unlimited() -> HostPolicy {
        HostPolicy { unlimited: true, ..HostPolicy::empty(None) }
    }

    /// The policy of a server without a policy file: files in the directory `working`, and nothing else.
    #[must_use]
    pub fn server(working: &Path) -> HostPolicy {
        let directories = vec![PathRule { path: working.to_owned(), writes: true }];
        HostPolicy { directories, ..HostPolicy::empty(None) }
    }

    /// The rules of a policy file. `file` is its name for messages. `docs/hosts-reference.md` describes the format.
    ///
    /// # Errors
    /// A line is not a rule.
    pub fn read(text: &str, file: &Path) -> Result<HostPolicy, PolicyError> {
        text::read(text, file)
    }

    /// Nothing is allowed.
    fn empty(file: Option<PathBuf>) -> HostPolicy {
        HostPolicy {
            unlimited: false,
            file,
            directories: Vec::new(),
            devices: Vec::new(),
            log_directories: Vec::new(),
            read_only: false,
            exec: false,
            libraries: Vec::new(),
            variables: Vec::new(),
            network: false,
            settings: false,
        }
    }

    /// Returns the wishes that the policy does not grant. It looks at the file system, and changes nothing.
    #[must_use]
    pub fn check(&self, wishes: &[Wish]) -> Vec<Forbidden> {
        if self.unlimited {
            return Vec::new();
        }
        let refused = |wish: &Wish| {
            let Refusal { why, line } = self.refuse(&wish.kind)?;
            Some(Forbidden { wish: wish.clone(), why, line, file: self.file.clone() })
        };
        wishes.iter().filter_map(refused).collect()
    }

    fn refuse(&self, wish: &WishKind) -> Option<Refusal> {
        match wish {
            WishKind::Target { path, writes } => self.refuse_path(path, *writes),
            WishKind::Input(path) => self.refuse_path(path, false),
            WishKind::Output(path) => self.refuse_output(path),
            WishKind::Command(command) => {
                refuse_unless(self.exec, || format!("command `{command}`"), "exec = yes")
            }
            WishKind::Network(what) => {
                refuse_unless(self.network, || what.clone(), "network = yes")
            }
            WishKind::Setting(what) => {
                refuse_unless(self.settings, || what.clone(), "settings = yes")
            }
            WishKind::Library(name) => {
                let granted = self.libraries.iter().any(|rule| is_library(rule, name));
                refuse_unless(granted, || format!("plug-in {name}"), &format!("library = {name}"))
            }
            WishKind::Variable(name) => {
                let granted = self.variables.iter().any(|rule| rule == "*" || rule == name);
                let what = || format!("environment variable {name}");
                refuse_unless(granted, what, &format!("variable = {name}"))
            }
        }
    }

    fn refuse_path(&self, path: &Path, writes: bool) -> Option<Refusal> {
        let resolved = match resolve(path) {
            Ok(resolved) => resolved,
            Err(error) => return Some(Refusal { why: error.to_string(), line: None }),
        };
        let judged = match resolved.block_device_behind() {
            Some(block) => self.node_to_judge(block, resolved),
            None => resolved,
        };
        self.refuse_resolved(path, &judged, writes)
    }

    /// Which of two nodes of the same storage the rules decide on: the block device, unless a rule names the generic
    /// character device only.
    fn node_to_judge(&self, block: ResolvedPath, generic: ResolvedPath) -> ResolvedPath {
        let is_named = |node: &ResolvedPath| {
            access(&self.devices, |rule| is_device(rule, node)) != Access::None
        };
        if !is_named(&block) && is_named(&generic) { generic } else { block }
    }

    /// `resolved`: the file or the device node that the rules decide on.
    fn refuse_resolved(
        &self,
        path: &Path,
        resolved: &ResolvedPath,
        writes: bool,
    ) -> Option<Refusal> {
        let (key, granted) = match resolved.device {
            Some(_) => ("device", access(&self.devices, |rule| is_device(rule, resolved))),
            None => ("directory", access(&self.directories, |rule| is_below(rule, resolved))),
        };
        let shown = shown(path, resolved);
        let place = if key == "device" { &resolved.path } else { parent(&resolved.path) };
        match granted {
            Access::Writes if writes && self.read_only => {
                let why = format!("{OWNER} forbids all writes, also to {shown}");
                Some(Refusal { why, line: Some("read-only = no".into()) })
            }
            Access::Writes => None,
            Access::Reads if !writes => None,
            Access::Reads => {
                let why = format!("{OWNER} forbids writes to {shown}");
                Some(Refusal { why, line: Some(format!("{key} = {}", place.display())) })
            }
            Access::None => {
                let why = format!("{OWNER} does not allow the {} {shown}", noun(resolved));
                let key = if writes { key.to_owned() } else { format!("read-only-{key}") };
                Some(Refusal { why, line: Some(format!("{key} = {}", place.display())) })
            }
        }
    }

    /// A log may be written to a log directory, and to all directories in which jobs may write files.
    fn refuse_output(&self, path: &Path) -> Option<Refusal> {
        let resolved = match resolve(path) {
            Ok(resolved) => resolved,
            Err(error) => return Some(Refusal { why: error.to_string(), line: None }),
        };
        let may_write = !self.read_only
            && access(&self.directories, |rule| is_below(rule, &resolved)) == Access::Writes;
        let is_log = self.log_directories.iter().any(|rule| is_below(rule, &resolved));
        if resolved.device.is_none() && (may_write || is_log) {
            return None;
        }
        let why = format!("{OWNER} does not allow the log {}", shown(path, &resolved));
        let line = format!("log-directory = {}", parent(&resolved.path).display());
        Some(Refusal { why, line: resolved.device.is_none().then_some(line) })
    }
}

const OWNER: &str = "the policy of this host";

struct Refusal {
    why: String,
    line: Option<String>,
}

/// What the rules allow at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Access {
    None,
    Reads,
    Writes,
}

/// Returns the highest access that one of the rules allows.
fn access(rules: &[PathRule], applies: impl Fn(&Path) -> bool) -> Access {
    let granted = |rule: &PathRule| if rule.writes { Access::Writes } else { Access::Reads };
    let applying = rules.iter().filter(|rule| applies(&rule.path));
    applying.map(granted).max().unwrap_or(Access::None)
}

fn refuse_unless(granted: bool, what: impl Fn() -> String, line: &str) -> Option<Refusal> {
    let refusal = || Refusal {
        why: format!("{OWNER} does not allow the {}", what()),
        line: Some(line.into()),
    };
    (!granted).then(refusal)
}

/// Whether the path is the directory `rule` or in it.
fn is_below(rule: &Path, resolved: &ResolvedPath) -> bool {
    resolve(rule).is_ok_and(|rule| resolved.path.starts_with(rule.path))
}

/// Whether the path is the device that the rule names, under any name.
fn is_device(rule: &Path, resolved: &ResolvedPath) -> bool {
    let pattern = rule.file_name().and_then(|name| name.to_str()).filter(|name| name.contains('*'));
    let Some(pattern) = pattern else {
        return resolve(rule).is_ok_and(|rule| rule.device == resolved.device);
    };
    let name = resolved.path.file_name().and_then(|name| name.to_str());
    let directory = resolve(parent(rule));
    directory.is_ok_and(|directory| directory.path == parent(&resolved.path))
        && name.is_some_and(|name| matches(pattern, name))
}

/// Whether `name` is the pattern with text in place of each `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((begin, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(name) = name.strip_prefix(begin) else { return false };
    let mut ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
    ends.any(|at| matches(rest, &name[at..]))
}

/// Whether the rule names the plug-in. A plug-in without a directory is searched by the system's rules and never equals a
/// path.
fn is_library(rule: &str, name: &str) -> bool {
    let path = |text: &str| resolve(Path::new(text)).ok().filter(|_| text.contains('/'));
    rule == "*" || rule == name || path(rule).is_some_and(|rule| path(name).as_ref() == Some(&rule))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn noun(resolved: &ResolvedPath) -> &'static str {
    if resolved.device.is_some() { "device" } else { "file" }
}

/// A path as the job has it and, if that is another, what it is.
fn shown(path: &Path, resolved: &ResolvedPath) -> String {
    if path == resolved.path {
        return path.display().to_string();
    }
    format!("{} (which is {})", path.display(), resolved.path.display())
}

#[cfg(test)]
mod tests;
