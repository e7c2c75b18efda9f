//! What the planner knows about paths: the file that exists now, and the size that an earlier job
//! of the same run gives it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_sys::in_use::{Users, WriteObstacle};
use fiord_sys::nvme;
use fiord_sys::nvme::admin::Refused;
use fiord_types::Errno;
use foldhash::fast::FixedState;

use crate::machine::facts::{Facts, Found};
use crate::model::{EndpointError, EndpointFacts, Endpoints, EnginePlan};

/// Looks up each path once and remembers the result.
pub(crate) struct Survey<'a> {
    pub(crate) facts: &'a dyn Facts,
    endpoints: Option<&'a dyn Endpoints>,
    /// Files whose size nothing says are taken to be large enough (`--parse-only`).
    assumes_sizes: bool,
    /// What the targets answered, and the engine that asked last: engines with other options may ask another server.
    answers: HashMap<PathBuf, (EnginePlan, Result<EndpointFacts, EndpointError>)>,
    /// One entry per path: a job may have a hundred thousand files. The hash of the standard library resists keys that were
    /// chosen to collide, which is slower, and which the names of a user's own files do not need.
    paths: HashMap<PathBuf, Known, FixedState>,
    namespaces: HashMap<PathBuf, Result<Arc<nvme::NvmeDevice>, Refused>>,
    users: Users,
    /// The current directory.
    here: Option<PathBuf>,
    /// The system directory that contains each directory.
    system: HashMap<PathBuf, Option<String>, FixedState>,
}

/// What the planner knows about a path.
#[derive(Debug, Default)]
struct Known {
    /// What is there, and whether the path is a symbolic link.
    seen: Option<(Lookup, bool)>,
    /// Size in bytes of the regular file after the layout of the jobs so far.
    planned: Option<u64>,
}

/// The result of looking up a path.
#[derive(Debug)]
enum Lookup {
    Found(Found),
    Missing,
    Failed(Box<LookupError>),
}

/// Why the lookup of a path failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LookupError {
    /// The kind of error. `NotFound` is common: the file does not exist yet.
    pub(crate) kind: io::ErrorKind,
    /// The system's description of the error.
    pub(crate) text: String,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(facts: &'a dyn Facts, endpoints: Option<&'a dyn Endpoints>) -> Self {
        Survey {
            facts,
            endpoints,
            assumes_sizes: false,
            answers: HashMap::new(),
            paths: HashMap::default(),
            namespaces: HashMap::new(),
            users: Users::default(),
            here: std::env::current_dir().ok(),
            system: HashMap::default(),
        }
    }
    /// Takes files whose size nothing says to be large enough, if `assumes` is true.
    pub(crate) fn assuming_sizes(self, assumes: bool) -> Self {
        Survey { assumes_sizes: assumes, ..self }
    }
    /// Whether files whose size nothing says are taken to be large enough.
    pub(crate) fn assumes_sizes(&self) -> bool {
        self.assumes_sizes
    }
    /// Who uses the device at a path. See [`Facts::user`].
    pub(crate) fn user(&self, path: &Path) -> Result<Option<WriteObstacle>, fiord_sys::Error> {
        self.facts.user(path, &self.users)
    }
    /// The system directory in which a file lies or would be created.
    pub(crate) fn system_directory(&mut self, path: &Path, is_link: bool) -> Option<String> {
        if is_link {
            return self.facts.system_directory(path);
        }
        // Without a link, the directory of the file decides, and one lookup per directory is
        // enough.
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        if let Some(known) = self.system.get(directory) {
            return known.clone();
        }
        let found = self.facts.system_directory(directory);
        self.system.insert(directory.to_path_buf(), found.clone());
        found
    }
    /// Makes room for this many more paths.
    pub(crate) fn expect(&mut self, paths: usize) {
        self.paths.reserve(paths);
    }
    /// The file that exists at a path now.
    pub(crate) fn look(&mut self, path: &Path) -> Result<Found, LookupError> {
        let facts = self.facts;
        let (lookup, _) = match self.paths.get_mut(path) {
            Some(known) => known.seen.get_or_insert_with(|| Lookup::at(path, facts)),
            None => {
                let known = Known { seen: Some(Lookup::at(path, facts)), planned: None };
                let known = self.paths.entry(path.to_path_buf()).or_insert(known);
                known.seen.as_mut().expect("it has just been looked up")
            }
        };
        match lookup {
            Lookup::Found(found) => Ok(*found),
            Lookup::Missing => Err(LookupError::missing()),
            Lookup::Failed(error) => Err(LookupError::clone(error)),
        }
    }
    /// Whether the path itself is a symbolic link.
    pub(crate) fn is_link(&self, path: &Path) -> bool {
        let seen = self.paths.get(path).and_then(|known| known.seen.as_ref());
        seen.map_or_else(|| self.facts.is_link(path), |(_, is_link)| *is_link)
    }
    /// Asks the target at an address for its properties, once for all jobs in a row that have this engine and options.
    pub(crate) fn ask(&mut self, engine: &EnginePlan, address: &Path) -> Result<(), EndpointError> {
        let Some(endpoints) = self.endpoints else { return Ok(()) };
        if let Some((_, answer)) = self.answers.get(address).filter(|(asked, _)| asked == engine) {
            return answer.clone().map(drop);
        }
        let answer = endpoints.ask(engine, address).transpose();
        let failed = answer.as_ref().and_then(|answer| answer.as_ref().err().cloned());
        match answer {
            Some(answer) => {
                self.answers.insert(address.to_path_buf(), (engine.clone(), answer));
            }
            None => {
                self.answers.remove(address);
            }
        }
        failed.map_or(Ok(()), Err)
    }
    /// What the target at an address last answered. `None`: it was not asked, or did not answer.
    pub(crate) fn endpoint(&self, address: &Path) -> Option<EndpointFacts> {
        self.answers.get(address)?.1.as_ref().ok().copied()
    }
    /// The properties of the NVMe namespace behind a path and of its controller; the error says why
    /// they are unknown.
    pub(crate) fn namespace(&mut self, path: &Path) -> Result<Arc<nvme::NvmeDevice>, Refused> {
        let known = self.namespaces.entry(path.to_path_buf());
        known.or_insert_with(|| self.facts.namespace(path).map(Arc::new)).clone()
    }
    /// Size in bytes that a regular file has after the layout of the jobs so far. `None`: no job
    /// lays it out.
    pub(crate) fn planned(&self, path: &Path) -> Option<u64> {
        self.paths.get(shortened(path, self.here.as_deref()))?.planned
    }
    /// Records that a job lays out a file to at least `size` bytes.
    pub(crate) fn plan(&mut self, path: &Path, size: u64) {
        let here = self.here.take();
        self.plan_shortened(shortened(path, here.as_deref()), size);
        self.here = here;
    }
    fn plan_shortened(&mut self, path: &Path, size: u64) {
        if !self.paths.contains_key(path) {
            self.paths.insert(path.to_path_buf(), Known::default());
        }
        let known = self.paths.get_mut(path).expect("it is there now");
        known.planned = known.planned.max(Some(size));
    }
}

/// One spelling of a path for `f`, `./f` and the absolute path of `f`. `here`: the current directory.
fn shortened<'p>(path: &'p Path, here: Option<&Path>) -> &'p Path {
    let path = path.strip_prefix(".").unwrap_or(path);
    match here {
        Some(here) if path.is_absolute() => path.strip_prefix(here).unwrap_or(path),
        _ => path,
    }
}

impl Lookup {
    /// Also returns whether the path is a symbolic link.
    fn at(path: &Path, facts: &dyn Facts) -> (Self, bool) {
        let (found, is_link) = facts.look_at_link(path);
        let lookup = match found {
            Ok(found) => Lookup::Found(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Lookup::Missing,
            Err(error) => Lookup::Failed(Box::new(LookupError::from(&error))),
        };
        (lookup, is_link)
    }
}

impl LookupError {
    /// The error for a path at which nothing is.
    fn missing() -> Self {
        LookupError { kind: io::ErrorKind::NotFound, text: Errno::ENOENT.to_string() }
    }
}

impl From<&io::Error> for LookupError {
    fn from(error: &io::Error) -> Self {
        LookupError { kind: error.kind(), text: Errno::explain(error) }
    }
}
