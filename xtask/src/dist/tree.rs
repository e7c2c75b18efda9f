//! The files of a package: their paths below `/`, permissions and contents.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::archive::gzip;

/// A file, a symbolic link, or a directory above them.
#[derive(Debug)]
pub(super) enum Entry {
    /// A directory, with the permissions 755.
    Folder,
    /// A symbolic link and its target.
    Link(String),
    /// A regular file.
    File {
        /// Permissions.
        mode: u32,
        /// Contents.
        data: Vec<u8>,
    },
}

/// The files of a package, sorted by path.
#[derive(Debug, Default)]
pub(super) struct Tree(BTreeMap<String, Entry>);

impl Tree {
    /// Adds a file. Paths begin without a slash.
    pub(super) fn add(&mut self, path: &str, mode: u32, data: Vec<u8>) {
        self.insert(path, Entry::File { mode, data });
    }

    /// Adds a symbolic link.
    pub(super) fn link(&mut self, path: &str, target: &str) {
        self.insert(path, Entry::Link(target.to_owned()));
    }

    fn insert(&mut self, path: &str, entry: Entry) {
        let mut folder = path;
        while let Some((above, _)) = folder.rsplit_once('/') {
            self.0.entry(above.to_owned()).or_insert(Entry::Folder);
            folder = above;
        }
        self.0.insert(path.to_owned(), entry);
    }

    /// Returns all entries; each directory comes before its contents.
    pub(super) fn with_folders(&self) -> impl Iterator<Item = (&String, &Entry)> {
        self.0.iter()
    }

    /// Returns the regular files.
    pub(super) fn files(&self) -> impl Iterator<Item = (&str, u32, &[u8])> {
        self.0.iter().filter_map(|(path, entry)| match entry {
            Entry::File { mode, data } => Some((path.as_str(), *mode, data.as_slice())),
            Entry::Folder | Entry::Link(_) => None,
        })
    }

    /// Writes all regular files below a directory.
    ///
    /// # Errors
    ///
    /// If a file cannot be written.
    pub(super) fn write(&self, below: &Path) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        for (path, mode, data) in self.files() {
            let path = below.join(path);
            let folder = path.parent().unwrap_or(below);
            fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
            fs::write(&path, data).with_context(|| format!("cannot write {}", path.display()))?;
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }
}

/// Directories that distributions name differently, and how man pages are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layout {
    /// Debian: completions of packages for zsh are in a `vendor` directory, documentation is compressed.
    Debian,
    /// Distributions with RPM: man pages are compressed.
    Rpm,
    /// The tarball, for `/usr/local`.
    Tarball,
}

/// Returns the files of the package `fiord`, with paths relative to the prefix (`/usr`, `/usr/local`).
///
/// # Errors
///
/// If a file of the repository cannot be read.
pub(super) fn fiord(root: &Path, binary: &[u8], third_party: &str, layout: Layout) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.add("bin/fiord", 0o755, binary.to_vec());
    tree.add("include/fiord-engine.h", 0o644, read(root, "include/fiord-engine.h")?);
    completions(&mut tree, root, layout)?;
    for page in man_pages(root)? {
        let text = read(root, &page)?;
        let name = page.rsplit('/').next().unwrap_or(&page);
        let section = name.rsplit('.').next().unwrap_or_default();
        let path = format!("share/man/man{section}/{name}");
        match layout {
            Layout::Debian | Layout::Rpm => tree.add(&format!("{path}.gz"), 0o644, gzip(&text)?),
            Layout::Tarball => tree.add(&path, 0o644, text),
        }
    }
    documentation(&mut tree, root, third_party, layout)?;
    Ok(tree)
}

fn completions(tree: &mut Tree, root: &Path, layout: Layout) -> Result<()> {
    let (zsh, fish) = match layout {
        Layout::Debian => ("zsh/vendor-completions", "fish/vendor_completions.d"),
        Layout::Rpm | Layout::Tarball => ("zsh/site-functions", "fish/vendor_completions.d"),
    };
    for (from, to) in [
        ("fiord.bash", "bash-completion/completions/fiord".to_owned()),
        ("_fiord", format!("{zsh}/_fiord")),
        ("fiord.fish", format!("{fish}/fiord.fish")),
    ] {
        let text = read(root, &format!("docs/completions/{from}"))?;
        tree.add(&format!("share/{to}"), 0o644, text);
    }
    Ok(())
}

/// Documentation keeps its place relative to `README.md`, so that the links between the pages work.
fn documentation(tree: &mut Tree, root: &Path, third_party: &str, layout: Layout) -> Result<()> {
    let place = "share/doc/fiord";
    let mut pages = vec!["README.md".to_owned()];
    pages.extend(below(root, "docs", &["md", "png", "svg"])?);
    pages.extend(below(root, "examples", &[])?);
    for page in &pages {
        tree.add(&format!("{place}/{page}"), 0o644, read(root, page)?);
    }
    let changes = read(root, "CHANGELOG.md")?;
    match layout {
        Layout::Debian => {
            tree.add(&format!("{place}/changelog.gz"), 0o644, gzip(&changes)?);
            tree.add(&format!("{place}/THIRD-PARTY.txt.gz"), 0o644, gzip(third_party.as_bytes())?);
        }
        Layout::Rpm | Layout::Tarball => {
            tree.add(&format!("{place}/CHANGELOG.md"), 0o644, changes);
            tree.add(&format!("{place}/THIRD-PARTY.txt"), 0o644, third_party.into());
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                tree.add(&format!("{place}/{licence}"), 0o644, read(root, licence)?);
            }
        }
    }
    Ok(())
}

/// Returns all manual pages in `docs` and its directories.
pub(super) fn man_pages(root: &Path) -> Result<Vec<String>> {
    let pages = below(root, "docs", &["1", "5"])?;
    ensure!(!pages.is_empty(), "docs has no man page. To fix: run `cargo xtask docs`");
    Ok(pages)
}

/// Returns the files below a directory of the repository that end in one of the extensions (all without any).
fn below(root: &Path, folder: &str, extensions: &[&str]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    let path = root.join(folder);
    for entry in fs::read_dir(&path).with_context(|| format!("cannot read {}", path.display()))? {
        let entry = entry?;
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            found.extend(below(root, &name, extensions)?);
        } else if extensions.is_empty()
            || extensions.iter().any(|e| name.ends_with(&format!(".{e}")))
        {
            found.push(name);
        }
    }
    found.sort();
    Ok(found)
}

fn read(root: &Path, name: &str) -> Result<Vec<u8>> {
    fs::read(root.join(name)).with_context(|| format!("cannot read {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_has_the_program_its_manual_and_completions() {
        let root = crate::place::root();
        for (layout, gz, zsh) in [
            (Layout::Debian, ".gz", "share/zsh/vendor-completions/_fiord"),
            (Layout::Rpm, ".gz", "share/zsh/site-functions/_fiord"),
            (Layout::Tarball, "", "share/zsh/site-functions/_fiord"),
        ] {
            let program = format!("share/man/man1/fiord.1{gz}");
            let job_file = format!("share/man/man5/fiord-job.5{gz}");
            let tree = fiord(&root, b"program", "notices", layout).unwrap();
            let paths: Vec<&str> = tree.files().map(|file| file.0).collect();
            let example = "share/doc/fiord/examples/quick.fio";
            for wanted in ["bin/fiord", &program, &job_file, zsh, example] {
                assert!(paths.contains(&wanted), "{wanted}: {paths:?}");
            }
            assert_eq!(tree.files().next().unwrap(), ("bin/fiord", 0o755, &b"program"[..]));
        }
    }

    #[test]
    fn directories_come_first() {
        let mut tree = Tree::default();
        tree.add("a/b/c", 0o600, vec![]);
        let paths: Vec<_> = tree.with_folders().map(|entry| entry.0.as_str()).collect();
        assert_eq!(paths, ["a", "a/b", "a/b/c"]);
    }
}
