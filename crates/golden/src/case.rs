//! The reference cases of `compat/golden/`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::difference::Difference;

/// Output formats that a case records.
pub const FORMATS: [&str; 6] = ["normal", "json", "json+", "terse3", "terse4", "terse5"];

/// A reference case: a command and its recorded output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    pub name: String,
    /// Arguments without the name of the program.
    pub args: Vec<String>,
    /// Exit status.
    pub exit: i32,
    pub folder: PathBuf,
}

impl Case {
    /// Returns the recorded output in a format (`normal`, `json`, `json+`, `terse3` …), if any. A
    /// document comes without the lines that fio prints before it when a `cpuio` job starts.
    #[must_use]
    pub fn output(&self, format: &str) -> Option<String> {
        let text = std::fs::read_to_string(self.folder.join(format)).ok()?;
        if format == "normal" {
            return Some(text);
        }
        let starts = |line: &&str| line.contains("): ioengine=");
        let before: usize = text.split_inclusive('\n').take_while(starts).map(str::len).sum();
        Some(text[before..].to_owned())
    }
    /// Returns the command for another program with an output format (`normal`, `json`, `json+`,
    /// `terse3` …). Run it in an empty folder. `None` for cases that need their job file.
    #[must_use]
    pub fn command(&self, program: &Path, format: &str) -> Option<Command> {
        if self.args.iter().any(|a| a == "JOBFILE") {
            return None;
        }
        let mut command = Command::new(program);
        // These options come first: after `--name` they would belong to that job.
        match format.strip_prefix("terse") {
            Some(version) => {
                command.arg("--output-format=terse").arg(format!("--terse-version={version}"))
            }
            None => command.arg(format!("--output-format={format}")),
        };
        command.args(&self.args);
        Some(command)
    }
    /// Compares the output of a program in a format with the case. If the reference is not a document
    /// (it is empty or has text before the document), every output passes.
    ///
    /// # Errors
    /// The first difference.
    pub fn check(&self, format: &str, printed: &str) -> Result<(), Difference> {
        let different = |difference| Difference::Case {
            case: self.name.clone(),
            format: format.into(),
            difference: Box::new(difference),
        };
        let Some(reference) = self.output(format) else {
            return Err(different(Difference::NoReference));
        };
        let outcome = match format {
            "normal" => crate::normal::shape(&reference, printed),
            "json" | "json+" if !reference.starts_with('{') => Ok(()),
            "json" | "json+" => crate::json::shape(&reference, printed),
            _ => crate::terse::shape(&reference, printed),
        };
        outcome.map_err(different)
    }
}

/// Returns all cases in a folder, sorted by name.
///
/// # Errors
/// The folder or a case in it cannot be read.
pub fn all(folder: &Path) -> std::io::Result<Vec<Case>> {
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let folder = entry?.path();
        let command = std::fs::read_to_string(folder.join("cmd"))?;
        let exit = std::fs::read_to_string(folder.join("exit"))?;
        let exit = exit.trim().parse().map_err(std::io::Error::other)?;
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let args = command.split_whitespace().skip(1).map(String::from).collect();
        cases.push(Case { name, args, exit, folder });
    }
    cases.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(cases)
}

/// Returns the reference cases of this workspace.
///
/// # Panics
/// Panics if the cases are missing.
#[must_use]
pub fn workspace() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../compat/golden");
    all(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
}
