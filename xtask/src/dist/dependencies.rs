//! The crates that the program contains, from `cargo metadata` and `Cargo.lock`, and the script in its pages.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// A crate of the program, or another library in it.
#[derive(Clone, Debug)]
pub(super) struct Dependency {
    /// Name on crates.io, or in the workspace.
    pub name: String,
    pub version: String,
    /// SPDX expression.
    pub licence: String,
    /// Directory of its sources.
    pub folder: PathBuf,
    /// Package URL of a library from a registry; `None` for a crate of this repository.
    pub purl: Option<String>,
    /// SHA-256 of the downloaded crate.
    pub checksum: Option<String>,
    /// Keys of the crates that it uses.
    pub uses: Vec<String>,
}

impl Dependency {
    /// Name and version, which identify the crate.
    pub(super) fn key(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// Whether other authors wrote it.
    pub(super) fn is_foreign(&self) -> bool {
        self.purl.is_some()
    }
}

/// Returns the crates that are linked into `fiord` on this machine's platform, sorted by name and version.
/// Dependencies of tests and of build scripts are not among them.
///
/// # Errors
///
/// If cargo fails or its output lacks a field.
pub(super) fn of_fiord(root: &Path) -> Result<Vec<Dependency>> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    cargo.args(["metadata", "--format-version=1", "--locked", "--filter-platform", &platform]);
    let output = cargo.current_dir(root).output().context("cannot run cargo")?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "cargo metadata failed: {errors}");
    let metadata = serde_json::from_slice(&output.stdout).context("output of cargo metadata")?;
    let lock = fs::read_to_string(root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let mut found = linked(&metadata, &checksums(&lock))?;
    let script = charts(root)?;
    if let Some(html) = found.iter_mut().find(|dependency| dependency.name == "fiord-html") {
        html.uses.push(script.key());
    }
    found.push(script);
    Ok(found)
}

/// Returns the script that the HTML pages contain. The first line of its `README.md` is its name and version.
fn charts(root: &Path) -> Result<Dependency> {
    let folder = root.join("crates/html/assets/uplot");
    let text =
        fs::read_to_string(folder.join("README.md")).context("cannot read uPlot's README")?;
    let first = text.lines().next().and_then(|line| line.strip_prefix("# uPlot "));
    let version = first.context("uPlot's README does not begin with its name and version")?;
    Ok(Dependency {
        name: "uPlot".to_owned(),
        version: version.to_owned(),
        licence: "MIT".to_owned(),
        folder,
        purl: Some(format!("pkg:npm/uplot@{version}")),
        checksum: None,
        uses: Vec::new(),
    })
}

/// Follows the normal dependencies of `fiord`.
fn linked(metadata: &Value, checksums: &BTreeMap<String, String>) -> Result<Vec<Dependency>> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let id = |value: &Value, field: &str| value[field].as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> = list(&metadata["packages"])
        .into_iter()
        .map(|package| (id(&package, "id"), package))
        .collect();
    let nodes: BTreeMap<String, Value> = list(&metadata["resolve"]["nodes"])
        .into_iter()
        .map(|node| (id(&node, "id"), node))
        .collect();
    let first = packages.iter().find(|(_, package)| package["name"] == "fiord");
    let mut open = vec![first.context("the workspace has no package fiord")?.0.clone()];
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    while let Some(next) = open.pop() {
        if !seen.insert(next.clone()) {
            continue;
        }
        let node = nodes.get(&next).with_context(|| format!("cargo does not resolve {next}"))?;
        let is_normal =
            |uses: &Value| list(&uses["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let used: Vec<String> = list(&node["deps"])
            .iter()
            .filter(|uses| is_normal(uses))
            .map(|uses| id(uses, "pkg"))
            .collect();
        let key = |id: &String| {
            let package = packages.get(id);
            let text = |field: &str| package.and_then(|p| p[field].as_str()).unwrap_or_default();
            format!("{}@{}", text("name"), text("version"))
        };
        let package = packages.get(&next).with_context(|| format!("cargo does not list {next}"))?;
        let manifest = PathBuf::from(id(package, "manifest_path"));
        found.push(Dependency {
            name: id(package, "name"),
            version: id(package, "version"),
            licence: package["license"].as_str().unwrap_or_default().replace('/', " OR "),
            folder: manifest.parent().unwrap_or(Path::new("/")).to_path_buf(),
            purl: checksums.get(&key(&next)).map(|_| format!("pkg:cargo/{}", key(&next))),
            checksum: checksums.get(&key(&next)).cloned(),
            uses: used.iter().map(key).collect(),
        });
        open.extend(used);
    }
    found.sort_by_key(Dependency::key);
    Ok(found)
}

/// Reads the checksums from the text of `Cargo.lock`, by name and version.
fn checksums(lock: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let value =
                package.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = \""));
            value.map(|value| value.trim_end_matches('"'))
        };
        if let (Some(name), Some(version), Some(sum)) =
            (field("name"), field("version"), field("checksum"))
        {
            found.insert(format!("{name}@{version}"), sum.to_owned());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_contains_its_crates_and_no_crates_of_tests() {
        let found = of_fiord(&crate::place::root()).unwrap();
        let names: Vec<&str> = found.iter().map(|dependency| dependency.name.as_str()).collect();
        for wanted in ["fiord", "fiord-engine", "serde_json", "clap", "uPlot"] {
            assert!(names.contains(&wanted), "{wanted}: {names:?}");
        }
        for unwanted in ["xtask", "proptest", "insta", "fiord-golden"] {
            assert!(!names.contains(&unwanted), "{unwanted}: {names:?}");
        }
        let serde = found.iter().find(|dependency| dependency.name == "serde_json").unwrap();
        assert_eq!(serde.checksum.as_ref().map(String::len), Some(64));
    }

    /// Whether an SPDX expression offers a choice in which all licences are allowed.
    fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
        expression.split(" AND ").all(|part| {
            let part = part.trim_matches(['(', ')']);
            part.split(" OR ").any(|licence| allowed.contains(&licence))
        })
    }

    #[test]
    fn deny_toml_allows_the_licences_of_all_crates() {
        let root = crate::place::root();
        let text = fs::read_to_string(root.join("deny.toml")).unwrap();
        let list = text.split_once("allow = [").unwrap().1.split_once(']').unwrap().0;
        let allowed: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
        assert!(is_allowed("(GPL-3.0 OR MIT) AND ISC", &allowed), "{allowed:?}");
        assert!(!is_allowed("GPL-3.0", &allowed) && !is_allowed("", &allowed));
        for dependency in of_fiord(&root).unwrap() {
            let licence = &dependency.licence;
            assert!(is_allowed(licence, &allowed), "{}: {licence}", dependency.key());
        }
    }
}
