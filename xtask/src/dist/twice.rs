//! Shows that a release can be reproduced: a second build from a copy of the sources has the same bytes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

use super::options::Options;

/// Builds from a copy in another directory, with a target directory of its own, and compares the checksums.
///
/// # Errors
///
/// If the second build fails, or if a file differs. The copy stays for a look at the difference.
pub(super) fn compare(root: &Path, options: &Options, epoch: u64, first: &str) -> Result<()> {
    // Not below the checkout: cargo would also read the configuration there.
    let name = format!("fiord-dist-twice-in-a-longer-path-{}", std::process::id());
    let place = std::env::temp_dir().join(name);
    let copy = place.join("sources");
    copy_sources(root, &copy)?;
    let second = Options {
        out: place.join("out"),
        target: place.join("target"),
        rpm: options.rpm,
        twice: false,
    };
    let (second_sums, _) = super::artifacts(&copy, &second, epoch)?;
    let differing: Vec<&str> =
        first.lines().filter(|line| !second_sums.lines().any(|other| other == *line)).collect();
    if !differing.is_empty() || first.lines().count() != second_sums.lines().count() {
        bail!("the second build differs, see {}:\n{}", second.out.display(), differing.join("\n"));
    }
    fs::remove_dir_all(&place).with_context(|| format!("cannot remove {}", place.display()))?;
    println!("a second build in another directory has the same checksums");
    Ok(())
}

/// Copies all files that git tracks, as they are now.
fn copy_sources(root: &Path, copy: &Path) -> Result<()> {
    let output = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    let output = output.context("cannot run git")?;
    ensure!(output.status.success(), "git ls-files failed: --twice needs a git checkout");
    for name in String::from_utf8_lossy(&output.stdout).split('\0').filter(|name| !name.is_empty())
    {
        let (from, to) = (root.join(name), copy.join(name));
        let folder = to.parent().context("a file lies in a directory")?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        fs::copy(&from, &to).with_context(|| format!("cannot copy {name}"))?;
    }
    Ok(())
}
