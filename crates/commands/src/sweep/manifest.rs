//! The manifest: a list of finished runs, stored next to their JSON.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fiord_sys::file::Guard;
use serde::{Deserialize, Serialize};

use crate::sweep::axis::Settings;
use crate::sweep::outcome::{self, Outcome};

/// File name of the list.
const NAME: &str = "sweep.json";
/// Version of the list's format.
const VERSION: u32 = 1;

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Settings of the run.
    pub settings: Settings,
    /// File name of the run's JSON in the directory.
    pub file: String,
    /// Arguments of the run.
    pub arguments: Vec<String>,
    /// Duration of the run in milliseconds.
    pub wall_ms: u64,
}

/// The contents of the list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// Version of the program that measured.
    pub program: String,
    /// Arguments of the job without the swept settings.
    pub job: Vec<String>,
    /// Finished runs in the order in which they ran.
    pub points: Vec<Done>,
}

/// A directory with the JSON of runs and their list.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// Contents of the list.
    pub manifest: Manifest,
}

impl Store {
    /// Opens or creates a directory. `job` is the job to sweep; `restart` discards the runs in the
    /// directory.
    ///
    /// # Errors
    /// The directory holds runs of another job, or cannot be read or created.
    pub fn open(dir: &Path, program: &str, job: &[String], restart: bool) -> Result<Self, String> {
        let fresh = || Manifest {
            version: VERSION,
            program: program.to_owned(),
            job: job.to_vec(),
            points: Vec::new(),
        };
        let path = dir.join(NAME);
        let manifest = match fs::read_to_string(&path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => fresh(),
            Err(e) => return Err(format!("{}: {e}\n", path.display())),
            Ok(_) if restart => fresh(),
            Ok(text) => {
                let found: Manifest = serde_json::from_str(&text).map_err(|e| {
                    let path = path.display();
                    format!("{path} is not the list of a sweep: {e}\nTo fix: use another --dir, or --restart\n")
                })?;
                differs(&found, dir, program, job)?;
                found
            }
        };
        Guard::generated().make_directories(dir).map_err(|e| format!("{e}\n"))?;
        let store = Store { dir: dir.to_owned(), manifest };
        store.write()?;
        Ok(store)
    }

    /// Returns the entry of a point if its run finished.
    pub fn find(&self, settings: &Settings) -> Option<(&Done, Outcome)> {
        let done = self.manifest.points.iter().find(|p| same(&p.settings, settings))?;
        let text = fs::read_to_string(self.dir.join(&done.file)).ok()?;
        Some((done, outcome::read(&text).ok()?))
    }

    /// Path of the JSON of an unfinished run.
    fn draft(&self) -> PathBuf {
        self.dir.join("unfinished.json")
    }

    /// Creates the file for the JSON of the next run, or truncates the file of an interrupted run.
    ///
    /// # Errors
    /// The file cannot be created, or belongs to another program.
    pub fn start_draft(&self) -> Result<PathBuf, String> {
        let path = self.draft();
        put(&path, "").map_err(|e| e + "\n")?;
        Ok(path)
    }

    /// Removes the JSON of an interrupted run.
    pub fn drop_draft(&self) {
        // If the file cannot be removed, the next run replaces it.
        let _ = Guard::generated().remove(&self.draft());
    }

    /// Records a finished point: renames the draft to its final name.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn keep(
        &mut self,
        settings: &Settings,
        arguments: Vec<String>,
        wall_ms: u64,
    ) -> Result<(), String> {
        let file = file_name(settings);
        let path = self.dir.join(&file);
        Guard::generated().rename(&self.draft(), &path).map_err(|e| format!("{e}\n"))?;
        self.manifest.points.retain(|p| !same(&p.settings, settings));
        self.manifest.points.push(Done { settings: settings.clone(), file, arguments, wall_ms });
        self.write()
    }

    /// Removes a point from the list, so that it runs again.
    ///
    /// # Errors
    /// The list cannot be written.
    pub fn forget(&mut self, settings: &Settings) -> Result<(), String> {
        let before = self.manifest.points.len();
        self.manifest.points.retain(|p| !same(&p.settings, settings));
        if self.manifest.points.len() < before { self.write() } else { Ok(()) }
    }

    /// Writes the list atomically.
    fn write(&self) -> Result<(), String> {
        let path = self.dir.join(NAME);
        let new = self.dir.join("sweep.json.new");
        let text = serde_json::to_string_pretty(&self.manifest).map_err(|e| e.to_string())?;
        put(&new, &(text + "\n")).map_err(|e| e + "\n")?;
        Guard::generated().rename(&new, &path).map_err(|e| format!("{e}\n"))
    }
}

/// Writes a file whose name fiord generates.
///
/// # Errors
/// The file cannot be created or written, or another file has its name. The message contains the
/// path.
pub fn put(path: &Path, text: &str) -> Result<(), String> {
    let mut file = Guard::generated().replace(path).map_err(|e| e.to_string())?;
    file.write_all(text.as_bytes()).map_err(|e| format!("{}: {e}", path.display()))
}

fn differs(found: &Manifest, dir: &Path, program: &str, job: &[String]) -> Result<(), String> {
    let dir = dir.display();
    let help = "To fix: use another --dir, or --restart to start over\n";
    if found.version != VERSION {
        return Err(format!(
            "{dir} has the format of another version of sweep ({})\n{help}",
            found.version
        ));
    }
    if found.program != program {
        let other = &found.program;
        return Err(format!("the points in {dir} were measured by {other}, not {program}\n{help}"));
    }
    if found.job == job {
        return Ok(());
    }
    let only = |a: &[String], b: &[String]| {
        let list: Vec<&str> = a.iter().filter(|x| !b.contains(x)).map(String::as_str).collect();
        if list.is_empty() { "nothing".to_owned() } else { list.join(" ") }
    };
    Err(format!(
        "the points in {dir} belong to another job: there {}, now {}\n{help}",
        only(&found.job, job),
        only(job, &found.job)
    ))
}

/// Whether `a` and `b` set the same options to the same values, in any order.
fn same(a: &Settings, b: &Settings) -> bool {
    a.len() == b.len() && a.iter().all(|x| b.contains(x))
}

/// Returns the file name of a point: its settings, plus a hash if a setting contains characters
/// that a file name cannot hold.
fn file_name(settings: &Settings) -> String {
    if settings.is_empty() {
        return "as-it-is.json".into();
    }
    let words = crate::sweep::axis::words(settings);
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

    fn settings(value: &str) -> Settings {
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
        let turned: Settings = settings("a").into_iter().rev().collect();
        assert!(same(&turned, &settings("a")) && !same(&turned, &settings("b")));
    }
}
