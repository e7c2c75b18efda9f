//! What is known about paths while a plan is made: what stands there now, and what an earlier job
//! of the same run will have made of it.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_sys::in_use::Users;
use fiord_sys::nvme;

use crate::facts::{Facts, Found};

/// Looks at each path once.
pub(crate) struct Survey<'a> {
    pub(crate) facts: &'a dyn Facts,
    seen: HashMap<PathBuf, Result<Found, (io::ErrorKind, String)>>,
    planned: HashMap<PathBuf, u64>,
    namespaces: HashMap<PathBuf, Result<Arc<nvme::Device>, String>>,
    users: Users,
    /// By directory.
    system: HashMap<PathBuf, Option<String>>,
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
            seen: HashMap::new(),
            planned: HashMap::new(),
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
    /// What stands at a path now.
    pub(crate) fn look(&mut self, path: &Path) -> Result<Found, Unseen> {
        if !self.seen.contains_key(path) {
            let found = self.facts.look(path).map_err(|e| (e.kind(), e.to_string()));
            self.seen.insert(path.to_path_buf(), found);
        }
        match &self.seen[path] {
            Ok(found) => Ok(*found),
            Err((kind, text)) => Err(Unseen { kind: *kind, text: text.clone() }),
        }
    }
    /// What the NVMe namespace behind a path and its controller say.
    pub(crate) fn namespace(&mut self, path: &Path) -> Result<Arc<nvme::Device>, String> {
        let known = self.namespaces.entry(path.to_path_buf());
        known.or_insert_with(|| self.facts.namespace(path).map(Arc::new)).clone()
    }
    /// The size that a regular file will have when the layout of the jobs so far is done.
    pub(crate) fn planned(&self, path: &Path) -> Option<u64> {
        self.planned.get(path).copied()
    }
    /// Notes that a job lays a file out to at least this size.
    pub(crate) fn plan(&mut self, path: &Path, size: u64) {
        let now = self.planned.entry(path.to_path_buf()).or_default();
        *now = size.max(*now);
    }
}
