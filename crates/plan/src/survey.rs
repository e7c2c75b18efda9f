//! What is known about paths while a plan is made: what stands there now, and what an earlier job
//! of the same run will have made of it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_sys::in_use::Users;
use fiord_sys::nvme;

use crate::facts::{Facts, Found};

const ENOENT: i32 = 2;

/// Looks at each path once.
pub(crate) struct Survey<'a> {
    pub(crate) facts: &'a dyn Facts,
    /// One entry a path: a job may have a hundred thousand files.
    paths: HashMap<PathBuf, Known>,
    namespaces: HashMap<PathBuf, Result<Arc<nvme::Device>, String>>,
    users: Users,
    /// By directory.
    system: HashMap<PathBuf, Option<String>>,
}

/// What is known about a path.
#[derive(Debug, Default)]
struct Known {
    seen: Option<Seen>,
    /// The size that its regular file will have when the layout of the jobs so far is done.
    planned: Option<u64>,
}

/// What stood at a path.
#[derive(Debug)]
enum Seen {
    Found(Found),
    Missing,
    Unseen(Box<Unseen>),
}

/// Why a path cannot be looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unseen {
    /// The kind of error; `NotFound` is the ordinary case.
    pub(crate) kind: io::ErrorKind,
    /// The system's words for it.
    pub(crate) text: String,
}

impl<'a> Survey<'a> {
    pub(crate) fn new(facts: &'a dyn Facts) -> Self {
        Survey {
            facts,
            paths: HashMap::new(),
            namespaces: HashMap::new(),
            users: Users::default(),
            system: HashMap::new(),
        }
    }
    /// Who uses what stands at a path.
    pub(crate) fn user(&self, path: &Path) -> Result<Option<String>, String> {
        self.facts.user(path, &self.users)
    }
    /// The system directory in which a file lies or would be created.
    pub(crate) fn system_directory(&mut self, path: &Path, is_link: bool) -> Option<String> {
        if is_link {
            return self.facts.system_directory(path);
        }
        // Without a link it lies where its directory does, which is asked of once.
        let directory = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let known = self.system.entry(directory.to_path_buf());
        known.or_insert_with(|| self.facts.system_directory(directory)).clone()
    }
    /// What is known about a path, to be added to.
    fn known(&mut self, path: &Path) -> &mut Known {
        if !self.paths.contains_key(path) {
            self.paths.insert(path.to_path_buf(), Known::default());
        }
        self.paths.get_mut(path).expect("it is there now")
    }
    /// What stands at a path now.
    pub(crate) fn look(&mut self, path: &Path) -> Result<Found, Unseen> {
        let facts = self.facts;
        match self.known(path).seen.get_or_insert_with(|| Seen::at(path, facts)) {
            Seen::Found(found) => Ok(*found),
            Seen::Missing => Err(Unseen::from(&io::Error::from_raw_os_error(ENOENT))),
            Seen::Unseen(unseen) => Err(Unseen::clone(unseen)),
        }
    }
    /// What the NVMe namespace behind a path and its controller say.
    pub(crate) fn namespace(&mut self, path: &Path) -> Result<Arc<nvme::Device>, String> {
        let known = self.namespaces.entry(path.to_path_buf());
        known.or_insert_with(|| self.facts.namespace(path).map(Arc::new)).clone()
    }
    /// The size that a regular file will have when the layout of the jobs so far is done.
    pub(crate) fn planned(&self, path: &Path) -> Option<u64> {
        self.paths.get(path)?.planned
    }
    /// Notes that a job lays a file out to at least this size.
    pub(crate) fn plan(&mut self, path: &Path, size: u64) {
        let known = self.known(path);
        known.planned = known.planned.max(Some(size));
    }
}

impl Seen {
    fn at(path: &Path, facts: &dyn Facts) -> Self {
        match facts.look(path) {
            Ok(found) => Seen::Found(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Seen::Missing,
            Err(error) => Seen::Unseen(Box::new(Unseen::from(&error))),
        }
    }
}

impl From<&io::Error> for Unseen {
    fn from(error: &io::Error) -> Self {
        Unseen { kind: error.kind(), text: error.to_string() }
    }
}
