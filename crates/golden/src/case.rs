//! The reference cases of `compat/golden/`.

use std::path::{Path, PathBuf};

/// One case: a command and what it printed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Its folder's name.
    pub name: String,
    /// The arguments after the program's name.
    pub args: Vec<String>,
    /// The exit status.
    pub exit: i32,
    /// Its folder.
    pub folder: PathBuf,
}

impl Case {
    /// What was printed in a format (`normal`, `json`, `json+`, `terse3` …), where it is kept.
    pub fn output(&self, format: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.join(format)).ok()
    }
}

/// All cases below a folder, by name.
///
/// # Errors
/// When the folder or a case in it cannot be read.
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

/// The reference cases of this workspace.
///
/// # Panics
/// When they are missing.
pub fn workspace() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../compat/golden");
    all(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
}
