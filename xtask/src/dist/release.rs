//! What all artifacts of a release have in common.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::binary::Binary;

/// One line about fiord, for the descriptions of packages.
pub(super) const ABOUT: &str = "storage benchmark that runs the job files of fio";

/// The program, its version, and the time that all files have.
#[derive(Debug)]
pub(super) struct Release {
    /// Version of the workspace.
    pub version: String,
    /// Seconds since 1970, as time of all files: the variable `SOURCE_DATE_EPOCH`, or the time of the last commit.
    pub epoch: u64,
    /// Name and address for the packages.
    pub maintainer: String,
    pub binary: Binary,
}

impl Release {
    /// Returns the version of Debian packages: upstream version and revision.
    pub(super) fn debian_version(&self) -> String {
        format!("{}-1", self.version)
    }

    /// Formats the release's time in UTC like `date +FORMAT`.
    ///
    /// # Errors
    ///
    /// If `date` fails.
    pub(super) fn time(&self, format: &str) -> Result<String> {
        let mut date = Command::new("date");
        date.args(["--utc", &format!("--date=@{}", self.epoch), format]).env("LC_ALL", "C");
        let output = date.output().context("cannot run date")?;
        ensure!(output.status.success(), "date failed: {}", output.status);
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

/// Returns who is named as maintainer: the variables of Debian's tools, `DEBFULLNAME` and `DEBEMAIL`, or a name
/// without an address that receives mail.
pub(super) fn maintainer() -> String {
    let variable = |name: &str, default: &str| {
        std::env::var(name).ok().filter(|value| !value.is_empty()).unwrap_or(default.to_owned())
    };
    let name = variable("DEBFULLNAME", "The fiord authors");
    format!("{name} <{}>", variable("DEBEMAIL", "fiord@packages.invalid"))
}

/// Returns the time of the release in seconds since 1970.
///
/// # Errors
///
/// If neither the environment nor git knows it.
pub(super) fn epoch(root: &Path) -> Result<u64> {
    let text = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text,
        Err(_) => {
            let mut git = Command::new("git");
            git.args(["log", "-1", "--format=%ct"]).current_dir(root);
            let output = git.output().context("cannot run git")?;
            let to_fix =
                "git does not know the time of the last commit. To fix: set SOURCE_DATE_EPOCH";
            ensure!(output.status.success(), to_fix);
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
    };
    text.trim().parse().with_context(|| format!("SOURCE_DATE_EPOCH: invalid number {text:?}"))
}
