//! The directory with the JSON of finished runs and their list, from which a later call resumes.

use std::fs;
use std::path::{Path, PathBuf};

use fiord_job::secret;
use fiord_sys::file::FileGuard;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::axis::PointSettings;
use crate::runs::outcome::{self, OutcomeError, PointOutcome};
use crate::state_file::{self, FileError};

/// File name of the list.
const NAME: &str = "sweep.json";
/// Whether a path has the name of the list of runs, which is beside their results.
pub(crate) fn is_list(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == NAME)
}

/// File in which suites keep their results, too.
const RESULTS: &str = "results.json";
/// Version of the list's format.
const VERSION: u32 = 1;

/// Why a directory cannot hold the runs.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file in it cannot be read or written.
    #[error(transparent)]
    File(#[from] FileError),
    /// The directory cannot be created, or a file in it cannot be renamed.
    #[error(transparent)]
    System(#[from] fiord_sys::Error),
    /// The list has other contents.
    #[error("{path} is not a list of runs: {source}\nTo fix: use another --dir, or --restart")]
    NotAList { path: PathBuf, source: serde_json::Error },
    /// The list has a format that this version cannot read.
    #[error("{dir} has the format of another version of sweep ({found})\n{}", OTHER_DIRECTORY)]
    OtherFormat {
        dir: PathBuf,
        /// Version of the format.
        found: u32,
    },
    /// Another version of the program measured, so that the results cannot be compared.
    #[error("the points in {dir} were measured by {found}, not {program}\n{}", OTHER_DIRECTORY)]
    OtherProgram {
        dir: PathBuf,
        /// The version that measured.
        found: String,
        /// This version.
        program: String,
    },
    /// The runs are those of another job.
    #[error(
        "the points in {dir} belong to another job: {}\n{}",
        difference(.there, .now),
        OTHER_DIRECTORY
    )]
    OtherJob {
        dir: PathBuf,
        /// Arguments that only the job of the directory has.
        there: String,
        /// Arguments that only the job of this call has.
        now: String,
    },
}

/// Says how two jobs differ. Without other arguments, their order differs.
fn difference(there: &str, now: &str) -> String {
    match (there, now) {
        ("", "") => "its options are in another order".to_owned(),
        ("", now) => format!("only this call has {now}"),
        (there, "") => format!("this call lacks {there}"),
        _ => format!("there {there}, now {now}"),
    }
}

const OTHER_DIRECTORY: &str = "To fix: use another --dir, or --restart to start over";

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FinishedRun {
    pub settings: PointSettings,
    /// File name of the run's JSON in the directory.
    pub file: String,
    /// Arguments of the run, without secrets.
    pub arguments: Vec<String>,
    /// Duration of the run in milliseconds.
    pub wall_ms: u64,
}

/// The contents of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Manifest {
    version: u32,
    /// Version of the program that measured.
    program: String,
    /// Arguments of the job without the swept settings and without secrets.
    job: Vec<String>,
    /// Finished runs in the order in which they ran.
    points: Vec<FinishedRun>,
    /// The results of all runs together, as the command printed them; `None` if it was killed before it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    results: Option<Value>,
}

/// A directory with the JSON of runs and their list.
#[derive(Debug)]
pub struct RunDirectory {
    dir: PathBuf,
    manifest: Manifest,
}

impl RunDirectory {
    /// Opens or creates a directory. `program` is the version that measures, `job` identifies the
    /// set of runs; `restart` discards the runs in the directory.
    ///
    /// # Errors
    /// The directory holds runs of another job, or cannot be read or created.
    pub fn open(
        dir: &Path,
        program: &str,
        job: &[String],
        restart: bool,
    ) -> Result<Self, StoreError> {
        let fresh = Manifest {
            version: VERSION,
            program: program.to_owned(),
            job: secret::in_arguments(job),
            points: Vec::new(),
            results: None,
        };
        let manifest = match state_file::read::<Manifest>(&dir.join(NAME)) {
            Ok(Some(found)) if !restart => {
                check(&found, dir, &fresh)?;
                found
            }
            Ok(_) => fresh,
            Err(FileError::Contents { .. }) if restart => fresh,
            Err(FileError::Contents { path, source }) => {
                return Err(StoreError::NotAList { path, source });
            }
            Err(e) => return Err(e.into()),
        };
        FileGuard::generated().make_directories(dir)?;
        let store = RunDirectory { dir: dir.to_owned(), manifest };
        store.write()?;
        Ok(store)
    }

    /// Keeps the results of all runs together, a JSON document, until a run changes them.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn keep_results(&mut self, document: &str) -> Result<(), StoreError> {
        self.manifest.results = serde_json::from_str(document).ok();
        self.write()
    }

    /// Returns the entry of a point if its run finished.
    #[must_use]
    pub fn find(&self, settings: &PointSettings) -> Option<(&FinishedRun, PointOutcome)> {
        self.find_with(settings, outcome::read)
    }

    /// Like [`RunDirectory::find`], with a function that reads the JSON of the run.
    #[must_use]
    pub fn find_with<T>(
        &self,
        settings: &PointSettings,
        read: impl FnOnce(&str) -> Result<T, OutcomeError>,
    ) -> Option<(&FinishedRun, T)> {
        let done = self.manifest.points.iter().find(|p| same(&p.settings, settings))?;
        let text = fs::read_to_string(self.path(done)).ok()?;
        Some((done, read(&text).ok()?))
    }

    /// Path of the JSON of a finished run.
    #[must_use]
    pub fn path(&self, done: &FinishedRun) -> PathBuf {
        self.dir.join(&done.file)
    }

    /// Path of the JSON of an unfinished run.
    fn draft(&self) -> PathBuf {
        self.dir.join("unfinished.json")
    }

    /// Creates the file for the JSON of the next run, or truncates the file of an interrupted run.
    ///
    /// # Errors
    /// The file cannot be created, or belongs to another program.
    pub fn start_draft(&self) -> Result<PathBuf, StoreError> {
        let path = self.draft();
        state_file::write(&path, "")?;
        Ok(path)
    }

    /// Removes the JSON of an interrupted run.
    pub fn drop_draft(&self) {
        // If the file cannot be removed, the next run replaces it.
        let _ = FileGuard::generated().remove(&self.draft());
    }

    /// Records a finished run: renames the draft to its final name.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn keep(
        &mut self,
        settings: &PointSettings,
        arguments: Vec<String>,
        wall_ms: u64,
    ) -> Result<(), StoreError> {
        let file = file_name(settings);
        FileGuard::generated().rename(&self.draft(), &self.dir.join(&file))?;
        self.manifest.results = None;
        self.manifest.points.retain(|p| !same(&p.settings, settings));
        self.manifest.points.push(FinishedRun {
            settings: settings.clone(),
            file,
            arguments: secret::in_arguments(&arguments),
            wall_ms,
        });
        self.write()
    }

    /// Removes a point from the list, so that it runs again.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn forget(&mut self, settings: &PointSettings) -> Result<(), StoreError> {
        self.manifest.results = None;
        let before = self.manifest.points.len();
        self.manifest.points.retain(|p| !same(&p.settings, settings));
        if self.manifest.points.len() < before { self.write() } else { Ok(()) }
    }

    fn write(&self) -> Result<(), StoreError> {
        let path = self.dir.join(NAME);
        Ok(state_file::replace(FileGuard::generated(), &path, &self.manifest)?)
    }
}

/// What a directory contains.
#[derive(Debug)]
pub enum KeptResults {
    /// The results of all runs together: the JSON of a sweep or a suite.
    Document(String),
    /// Runs of a call that was killed before it wrote their results.
    Runs(Vec<(PointSettings, PointOutcome)>),
    /// Neither.
    Nothing,
}

/// Reads the results in a directory of a sweep or a suite.
///
/// # Errors
/// A file in it cannot be read.
pub fn results(dir: &Path) -> Result<KeptResults, StoreError> {
    let manifest = match state_file::read::<Manifest>(&dir.join(NAME)) {
        Ok(Some(manifest)) => manifest,
        Ok(None) => return Ok(KeptResults::Nothing),
        Err(FileError::Contents { path, source }) => {
            return Err(StoreError::NotAList { path, source });
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(results) = &manifest.results {
        return Ok(KeptResults::Document(format!("{results:#}\n")));
    }
    // Suites of earlier versions keep them only there.
    let path = dir.join(RESULTS);
    if path.exists() {
        return Ok(KeptResults::Document(state_file::read_text(&path)?));
    }
    let store = RunDirectory { dir: dir.to_owned(), manifest };
    let all = store.manifest.points.iter().map(|point| &point.settings);
    let known = |settings: &PointSettings| Some((settings.clone(), store.find(settings)?.1));
    Ok(KeptResults::Runs(all.filter_map(known).collect()))
}

/// Checks that the runs of a directory can stand in one table with those of this call.
fn check(found: &Manifest, dir: &Path, now: &Manifest) -> Result<(), StoreError> {
    let dir = dir.to_owned();
    if found.version != now.version {
        return Err(StoreError::OtherFormat { dir, found: found.version });
    }
    if found.program != now.program {
        let (found, program) = (found.program.clone(), now.program.clone());
        return Err(StoreError::OtherProgram { dir, found, program });
    }
    if found.job == now.job {
        return Ok(());
    }
    // An argument can be there several times: a job file and the command line can set the same option.
    let only = |a: &[String], b: &[String]| {
        let mut rest: Vec<&String> = b.iter().collect();
        let mut list: Vec<&str> = Vec::new();
        for argument in a {
            match rest.iter().position(|other| *other == argument) {
                Some(at) => drop(rest.remove(at)),
                None => list.push(argument),
            }
        }
        list.join(" ")
    };
    let (there, now) = (only(&found.job, &now.job), only(&now.job, &found.job));
    Err(StoreError::OtherJob { dir, there, now })
}

/// Whether `a` and `b` set the same options to the same values, in any order.
fn same(a: &PointSettings, b: &PointSettings) -> bool {
    a.len() == b.len() && a.iter().all(|x| b.contains(x))
}

/// Returns the file name of a point: its settings, plus a hash if a setting contains characters
/// that a file name cannot hold.
fn file_name(settings: &PointSettings) -> String {
    if settings.is_empty() {
        return "as-it-is.json".into();
    }
    let words = crate::axis::words(settings);
    let plain = |c: char| match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '=' | '.' | '-' | '_' => c,
        ' ' => ',',
        _ => '_',
    };
    let name: String = words.chars().map(plain).take(150).collect();
    let exact = words.chars().all(|c| c == ' ' || plain(c) == c) && words.len() <= 150;
    if exact {
        return format!("{name}.json");
    }
    // FNV-1a hash with 32 bits.
    let hash =
        words.bytes().fold(0x811c_9dc5u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    format!("{name}-{hash:08x}.json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(value: &str) -> PointSettings {
        vec![("filename".into(), value.into()), ("bs".into(), "4k".into())]
    }

    #[test]
    fn points_have_files_of_their_own() {
        assert_eq!(file_name(&settings("a")), "filename=a,bs=4k.json");
        let (slash, colon) = (file_name(&settings("/a")), file_name(&settings(":a")));
        assert!(slash.starts_with("filename=_a,bs=4k-") && slash != colon, "{slash} {colon}");
        assert!(file_name(&settings(&"x/".repeat(200))).len() < 200);
    }

    #[test]
    fn the_order_of_axes_makes_no_other_point() {
        let turned: PointSettings = settings("a").into_iter().rev().collect();
        assert!(same(&turned, &settings("a")) && !same(&turned, &settings("b")));
    }
}
