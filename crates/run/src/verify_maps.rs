//! The maps of targets that are verified. Jobs with the same target share a map.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fiord_load::LoadError;
use fiord_load::verify::WriteMap;
use fiord_plan::{FilePlan, Plan, Tracking};
use fiord_types::Bytes;

/// The maps of a run.
#[derive(Debug, Default)]
pub(crate) struct VerifyMaps {
    /// The end of the last region of a job, by path.
    ends: HashMap<PathBuf, Bytes>,
    /// Number of jobs that use a path of `ends`.
    users: HashMap<PathBuf, usize>,
    maps: Mutex<HashMap<PathBuf, Arc<WriteMap>>>,
}

impl VerifyMaps {
    /// The maps that the jobs of a plan need. They get memory when a job asks for them.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut ends: HashMap<PathBuf, Bytes> = HashMap::new();
        let mapped = plan.jobs.iter().filter(|job| {
            let verify = job.verify.as_ref();
            verify.is_some_and(|verify| matches!(verify.tracking, Tracking::Map { .. }))
        });
        for file in mapped.flat_map(|job| &job.target.files) {
            let end = ends.entry(file.path.clone()).or_default();
            *end = (*end).max(file.end());
        }
        let mut users: HashMap<PathBuf, usize> = HashMap::new();
        // Only of these: a run may have millions of files.
        let files = plan.jobs.iter().flat_map(|job| &job.target.files);
        for file in files.filter(|file| ends.contains_key(&file.path)) {
            *users.entry(file.path.clone()).or_default() += 1;
        }
        VerifyMaps { ends, users, maps: Mutex::default() }
    }

    /// Whether several jobs use a file with a map.
    pub(crate) fn is_shared(&self, file: &FilePlan) -> bool {
        self.users.get(&file.path).is_some_and(|users| *users > 1)
    }

    /// The map of a file.
    pub(crate) fn map(&self, file: &FilePlan, granule: Bytes) -> Result<Arc<WriteMap>, LoadError> {
        let mut maps = self.maps.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = maps.get(&file.path) {
            return Ok(Arc::clone(map));
        }
        let end = self.ends.get(&file.path).copied().unwrap_or_default().max(file.end());
        let map = Arc::new(WriteMap::new(end, granule)?);
        maps.insert(file.path.clone(), Arc::clone(&map));
        Ok(map)
    }
}
