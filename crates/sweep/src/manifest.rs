//! What is done already: a list beside the runs' JSON.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use fiord_sys::file::Guard;
use serde::{Deserialize, Serialize};

use crate::axis::Settings;
use crate::outcome::{self, Outcome};

/// The list's name in its directory.
const NAME: &str = "sweep.json";
/// The version of its layout.
const VERSION: u32 = 1;

/// One point that is done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// At which settings.
    pub settings: Settings,
    /// The run's JSON, in the same directory.
    pub file: String,
    /// The arguments that made it.
    pub arguments: Vec<String>,
    /// How long it took, ms.
    pub wall_ms: u64,
}

/// The list.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    version: u32,
    /// Who measured.
    pub program: String,
    /// The job without its settings.
    pub job: Vec<String>,
    /// What is done, in the order in which it was.
    pub points: Vec<Done>,
}

/// A directory of runs with its list.
#[derive(Debug)]
pub struct Store {
    dir: PathBuf,
    /// What it says.
    pub manifest: Manifest,
}

impl Store {
    /// Opens a directory, or makes it. `job` is what is to be swept now; `restart` forgets what is
    /// there.
    ///
    /// # Errors
    /// It holds the points of another job, or cannot be read or made.
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
                    format!("{path} is no list of a sweep: {e}\nuse another --dir, or --restart\n")
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

    /// What is known of a point, where it was run to its end.
    pub fn find(&self, settings: &Settings) -> Option<(&Done, Outcome)> {
        let done = self.manifest.points.iter().find(|p| same(&p.settings, settings))?;
        let text = fs::read_to_string(self.dir.join(&done.file)).ok()?;
        Some((done, outcome::read(&text).ok()?))
    }

    /// Where the JSON of a run goes while it is not known whether it will come to its end.
    fn draft(&self) -> PathBuf {
        self.dir.join("unfinished.json")
    }

    /// Creates the file for the JSON of the next run, or empties the one that an interrupted run left.
    ///
    /// # Errors
    /// It cannot be created, or is not ours.
    pub fn start_draft(&self) -> Result<PathBuf, String> {
        let path = self.draft();
        put(&path, "").map_err(|e| e + "\n")?;
        Ok(path)
    }

    /// Removes it: the run did not come to its end.
    pub fn drop_draft(&self) {
        // It is replaced by the next run if it stays.
        let _ = Guard::generated().remove(&self.draft());
    }

    /// Keeps a point: the draft becomes its JSON.
    ///
    /// # Errors
    /// It cannot be written.
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

    /// Forgets a point: it is to be run again.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn forget(&mut self, settings: &Settings) -> Result<(), String> {
        let before = self.manifest.points.len();
        self.manifest.points.retain(|p| !same(&p.settings, settings));
        if self.manifest.points.len() < before { self.write() } else { Ok(()) }
    }

    /// Writes the list: wholly or not at all.
    fn write(&self) -> Result<(), String> {
        let path = self.dir.join(NAME);
        let new = self.dir.join("sweep.json.new");
        let text = serde_json::to_string_pretty(&self.manifest).map_err(|e| e.to_string())?;
        put(&new, &(text + "\n")).map_err(|e| e + "\n")?;
        Guard::generated().rename(&new, &path).map_err(|e| format!("{e}\n"))
    }
}

/// Writes a file whose name fiord made up.
///
/// # Errors
/// It cannot be created or written, or another file is in its place; the path is in the text.
pub fn put(path: &Path, text: &str) -> Result<(), String> {
    let mut file = Guard::generated().replace(path).map_err(|e| e.to_string())?;
    file.write_all(text.as_bytes()).map_err(|e| format!("{}: {e}", path.display()))
}

fn differs(found: &Manifest, dir: &Path, program: &str, job: &[String]) -> Result<(), String> {
    let dir = dir.display();
    let help = "use another --dir for it, or --restart to forget what is done\n";
    if found.version != VERSION {
        return Err(format!("{dir} is of another version of sweep ({})\n{help}", found.version));
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
        "the points in {dir} are of another job: there {}, now {}\n{help}",
        only(&found.job, job),
        only(job, &found.job)
    ))
}

/// The same options with the same values, in any order.
fn same(a: &Settings, b: &Settings) -> bool {
    a.len() == b.len() && a.iter().all(|x| b.contains(x))
}

/// A file's name for a point: its settings, and a number that tells those apart that only differ in
/// what no file name can hold.
fn file_name(settings: &Settings) -> String {
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
    // FNV-1a, 32 bits.
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
