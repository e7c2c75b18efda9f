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

use crate::machine::endpoints::{EndpointError, EndpointFacts, Endpoints};
use crate::machine::facts::{Facts, Found};
use crate::model::EnginePlan;

/// Looks up each path once and remembers the result.
pub(crate) struct Survey<'a> {
    pub(crate) facts: &'a dyn Facts,
    endpoints: Option<&'a dyn Endpoints>,
    /// What the targets answered, and the engine that asked last: engines with other options may ask another server.
    answers: HashMap<PathBuf, (EnginePlan, Result<EndpointFacts, EndpointError>)>,
    /// One entry per path: a job may have a hundred thousand files.
    paths: HashMap<PathBuf, Known>,
    namespaces: HashMap<PathBuf, Result<Arc<nvme::NvmeDevice>, Refused>>,
    users: Users,
    /// The system directory that contains each directory.
    system: HashMap<PathBuf, Option<String>>,
}

/// What the planner knows about a path.
#[derive(Debug, Default)]
struct Known {
    seen: Option<Lookup>,
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
            answers: HashMap::new(),
            paths: HashMap::new(),
            namespaces: HashMap::new(),
            users: Users::default(),
            system: HashMap::new(),
        }
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
        let known = self.system.entry(directory.to_path_buf());
        known.or_insert_with(|| self.facts.system_directory(directory)).clone()
    }
    /// The entry of a path, created if it does not exist.
    fn known(&mut self, path: &Path) -> &mut Known {
        if !self.paths.contains_key(path) {
            self.paths.insert(path.to_path_buf(), Known::default());
        }
        self.paths.get_mut(path).expect("it is there now")
    }
    /// The file that exists at a path now.
    pub(crate) fn look(&mut self, path: &Path) -> Result<Found, LookupError> {
        let facts = self.facts;
        match self.known(path).seen.get_or_insert_with(|| Lookup::at(path, facts)) {
            Lookup::Found(found) => Ok(*found),
            Lookup::Missing => Err(LookupError::from(&Errno::ENOENT.into())),
            Lookup::Failed(error) => Err(LookupError::clone(error)),
        }
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
        self.paths.get(path)?.planned
    }
    /// Records that a job lays out a file to at least `size` bytes.
    pub(crate) fn plan(&mut self, path: &Path, size: u64) {
        let known = self.known(path);
        known.planned = known.planned.max(Some(size));
    }
}

impl Lookup {
    fn at(path: &Path, facts: &dyn Facts) -> Self {
        match facts.look(path) {
            Ok(found) => Lookup::Found(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Lookup::Missing,
            Err(error) => Lookup::Failed(Box::new(LookupError::from(&error))),
        }
    }
}

impl From<&io::Error> for LookupError {
    fn from(error: &io::Error) -> Self {
        LookupError { kind: error.kind(), text: Errno::explain(error) }
    }
}
