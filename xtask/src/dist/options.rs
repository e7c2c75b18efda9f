//! The command line of `cargo xtask dist`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

/// The text of `--help`.
pub(super) const HELP: &str = "\
cargo xtask dist [OPTION…]

Builds a release: the program, its debug information, packages for Debian and for RPM, a tarball,
the list of its crates (CycloneDX) and checksums. docs/packaging.md describes the files.

  --out DIR         directory for the files; must be new or empty (target/dist-VERSION)
  --target-dir DIR  directory for the build (target/dist-build)
  --no-rpm          build no RPM packages, which need rpmbuild
  --twice           build a second time from a copy of the sources in another directory, and fail
                    unless all files are equal

The environment variable SOURCE_DATE_EPOCH sets the time of all files; without it, they have the
time of the last commit. DEBFULLNAME and DEBEMAIL name the maintainer of the packages.
";

/// The parsed command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Options {
    /// Directory for the files of the release.
    pub out: PathBuf,
    /// Directory for cargo.
    pub target: PathBuf,
    /// Whether to build RPM packages.
    pub rpm: bool,
    /// Whether to build twice and compare.
    pub twice: bool,
}

/// Parses the command line; `None` if it asks for help.
///
/// # Errors
///
/// If an option is unknown or lacks its value, or if the directory for the files is not empty.
pub(super) fn parse(args: &[String], root: &Path) -> Result<Option<Options>> {
    let version = env!("CARGO_PKG_VERSION");
    let mut options = Options {
        out: root.join(format!("target/dist-{version}")),
        target: root.join("target/dist-build"),
        rpm: true,
        twice: false,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut path = || -> Result<PathBuf> {
            let value = args.next().with_context(|| format!("{arg} needs a directory"))?;
            std::path::absolute(value).with_context(|| format!("{arg} {value}"))
        };
        match arg.as_str() {
            "--out" => options.out = path()?,
            "--target-dir" => options.target = path()?,
            "--no-rpm" => options.rpm = false,
            "--twice" => options.twice = true,
            "--help" | "-h" => return Ok(None),
            other => bail!("unknown option '{other}'\n\n{HELP}"),
        }
    }
    let is_empty = options.out.read_dir().map_or(true, |mut entries| entries.next().is_none());
    ensure!(
        is_empty,
        "{} is not empty. To fix: remove it, or pass --out with another directory",
        options.out.display()
    );
    Ok(Some(options))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(args: &[&str]) -> Result<Option<Options>> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        parse(&args, Path::new("/nowhere"))
    }

    #[test]
    fn options_and_mistakes() {
        let options = of(&["--out", "/nowhere/a", "--no-rpm"]).unwrap().unwrap();
        assert_eq!(options.out, Path::new("/nowhere/a"));
        assert!(!options.rpm && !options.twice);
        assert_eq!(of(&["--help"]).unwrap(), None);
        assert!(of(&["--out"]).is_err());
        assert!(of(&["--output"]).is_err());
        assert!(of(&["--out", env!("CARGO_MANIFEST_DIR")]).is_err());
    }
}
