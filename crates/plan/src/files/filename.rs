//! The names of a job's files: given by the user, found in a directory, or generated.

use std::path::{Path, PathBuf};

use fiord_job::option::table::{
    DIRECTORY, FILENAME, FILENAME_FORMAT, NRFILES, OPENDIR, UNIQUE_FILENAME,
};

use crate::files::paths;
use crate::machine::survey::Survey;
use crate::options::reading::Reading;

/// Maximum number of files in one job: each needs memory and an entry in the plan.
const MAX_FILES: u64 = 16 << 20;

/// The naming options of a job, read once for all its instances.
#[derive(Debug, Clone)]
pub(crate) struct Naming {
    directories: Vec<PathBuf>,
    names: Vec<String>,
    found: Vec<PathBuf>,
    format: String,
    count: u64,
    job: String,
    /// The address of the client that sent the job; empty if there is none.
    client: String,
    /// `client` begins the names of files below `directories`.
    unique: bool,
    /// An option of the engine names the target.
    named_by_engine: bool,
}

impl Naming {
    /// Reads the options and, for `opendir`, the directory.
    pub(crate) fn read(job: Reading, client: Option<&str>, survey: &mut Survey) -> Self {
        let directories: Vec<PathBuf> = {
            let names = job.get(DIRECTORY).unwrap_or_default();
            names.into_iter().map(PathBuf::from).collect()
        };
        for directory in &directories {
            paths::directory(job, directory, survey);
        }
        let names = named(job);
        let count = u64::from(job.get(NRFILES));
        if count == 0 || count > MAX_FILES {
            job.report(
                job.error(NRFILES, format!("`nrfiles={count}` is not a valid number of files"))
                    .help(format!("To fix: write a number from 1 to {MAX_FILES}")),
            );
        }
        Naming {
            found: opened(job, survey),
            directories,
            names,
            format: Some(job.get(FILENAME_FORMAT))
                .filter(|f| !f.is_empty())
                .unwrap_or_else(default),
            count: count.clamp(1, MAX_FILES),
            job: job.spec.section.clone(),
            client: client.unwrap_or_default().to_owned(),
            unique: client.is_some() && job.get(UNIQUE_FILENAME),
            named_by_engine: job.spec.engine().names_target(),
        }
    }

    pub(crate) fn is_generated(&self) -> bool {
        !self.named_by_engine && self.names.is_empty() && self.found.is_empty()
    }

    /// The paths of the files of one instance.
    pub(crate) fn paths(&self, instance: u32) -> Vec<PathBuf> {
        if !self.is_generated() {
            let directory = self.directories.first().map(PathBuf::as_path);
            let named = self.names.iter().map(|name| self.below(directory, name));
            return named.chain(self.found.iter().cloned()).collect();
        }
        let turn = instance as usize % self.directories.len().max(1);
        let directory = self.directories.get(turn).map(PathBuf::as_path);
        let mut name = String::new();
        (0..self.count)
            .map(|file| {
                let parts = Parts { job: &self.job, instance, file, client: &self.client };
                generate(&self.format, parts, &mut name);
                self.below(directory, &name)
            })
            .collect()
    }

    /// Joins a directory and a name. As in fio, jobs of several clients do not share a name there.
    fn below(&self, directory: Option<&Path>, name: &str) -> PathBuf {
        match directory {
            Some(_) if self.unique && !name.starts_with('/') => {
                below(directory, &format!("{}.{name}", self.client))
            }
            _ => below(directory, name),
        }
    }
}

/// The names of `filename`. As in fio, each setting adds to the earlier ones, even to those of
/// `[global]`, and a later `nrfiles` limits their number.
fn named(job: Reading) -> Vec<String> {
    let (mut names, mut count, mut times) = (Vec::new(), 0u64, 0);
    for setting in &job.spec.settings {
        if let Some(Some(more)) = setting.get(FILENAME) {
            if names.is_empty() {
                count = 0;
            }
            times += 1;
            count = count.saturating_add(more.len() as u64);
            names.extend(more);
        } else if let Some(number) = setting.get(NRFILES) {
            count = number.into();
        }
    }
    if times > 1 {
        let what = format!(
            "`filename` is given {times} times, and each one adds files: the job uses {}",
            names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", ")
        );
        job.report(job.adjusted(FILENAME, what).help("To fix: name all files in one place"));
    }
    if !names.is_empty() && count < names.len() as u64 {
        job.report(job.adjusted(
            NRFILES,
            format!("only the first {count} of {} names in `filename` are used", names.len()),
        ));
        names.truncate(count.max(1) as usize);
    }
    names
}

fn default() -> String {
    "$jobname.$jobnum.$filenum".into()
}

fn opened(job: Reading, survey: &Survey) -> Vec<PathBuf> {
    let Some(directory) = job.get(OPENDIR) else { return Vec::new() };
    match survey.facts.list(Path::new(&directory)) {
        Ok(found) if found.is_empty() => {
            job.report(job.error(OPENDIR, format!("there are no files below `{directory}`")).help(
                "To fix: name a directory with files in it, or use `directory=` to make new ones",
            ));
            found
        }
        Ok(found) => found,
        Err(e) => {
            job.report(job.error(OPENDIR, format!("cannot list `{directory}`: {e}")));
            Vec::new()
        }
    }
}

/// The variable parts of a generated name.
#[derive(Debug, Clone, Copy)]
struct Parts<'a> {
    /// `$jobname`.
    job: &'a str,
    /// `$jobnum`: index of the instance in its section, from 0.
    instance: u32,
    /// `$filenum`: index of the file in the instance, from 0.
    file: u64,
    /// `$clientuid`: the address of the client that sent the job; empty if there is none.
    client: &'a str,
}

/// Writes a `filename_format` to `out`, with the values of `$jobname`, `$jobnum`, `$filenum` and `$clientuid`. Other text stays
/// as it is, even after a `$`.
fn generate(format: &str, parts: Parts, out: &mut String) {
    out.clear();
    let mut rest = format;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let len = if rest.starts_with("$jobname") {
            out.push_str(parts.job);
            "$jobname".len()
        } else if rest.starts_with("$jobnum") {
            out.push_str(&parts.instance.to_string());
            "$jobnum".len()
        } else if rest.starts_with("$filenum") {
            out.push_str(&parts.file.to_string());
            "$filenum".len()
        } else if rest.starts_with("$clientuid") {
            out.push_str(parts.client);
            "$clientuid".len()
        } else {
            out.push('$');
            1
        };
        rest = &rest[len..];
    }
    out.push_str(rest);
}

/// Joins a directory and a name. An absolute name stays as it is.
pub(crate) fn below(directory: Option<&Path>, name: &str) -> PathBuf {
    let Some(directory) = directory else { return PathBuf::from(name) };
    // With room for both: a job may have a hundred thousand files.
    let mut path = PathBuf::with_capacity(directory.as_os_str().len() + 1 + name.len());
    path.push(directory);
    path.push(name);
    path
}
