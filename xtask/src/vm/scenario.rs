//! The scenarios: `tests/vm/NAME.sh`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::devices::Devices;
use super::header::Header;

const KEYS: &[&str] = &["devices", "limit", "boot"];

/// One scenario.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name, the file's.
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// The devices that are started for it and stopped after it.
    pub devices: Vec<String>,
    /// How long it may take.
    pub limit: Duration,
    /// Whether it has the machine to itself.
    pub own_boot: bool,
    /// Its script.
    pub script: PathBuf,
}

impl Scenario {
    fn read(path: &Path, devices: &Devices) -> Result<Self> {
        let header = Header::read(path, KEYS)?;
        let stem = path.file_stem().context("a scenario has a name")?.to_string_lossy();
        let limit = header.one("limit")?.context("the header does not say 'limit'")?;
        let limit = limit.strip_suffix('s').and_then(|seconds| seconds.parse().ok());
        let own_boot = match header.one("boot")? {
            None => false,
            Some("own") => true,
            Some(other) => bail!("boot is 'own' or not said, not '{other}'"),
        };
        let names = header.words("devices");
        devices.named_all(&names)?;
        Ok(Scenario {
            name: stem.into_owned(),
            title: header.title,
            devices: names,
            limit: Duration::from_secs(limit.context("limit is a number of seconds: '30s'")?),
            own_boot,
            script: path.to_owned(),
        })
    }
}

/// The scripts of a directory, by name.
pub fn scripts(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "sh") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Reads every scenario of a directory.
pub fn read(folder: &Path, devices: &Devices) -> Result<Vec<Scenario>> {
    let read =
        |path: &PathBuf| Scenario::read(path, devices).with_context(|| path.display().to_string());
    scripts(folder)?.iter().map(read).collect()
}

/// The scenarios of these names; all when there are none.
pub fn choose(scenarios: Vec<Scenario>, names: &[String]) -> Result<Vec<Scenario>> {
    for name in names {
        ensure!(
            scenarios.iter().any(|scenario| &scenario.name == name),
            "no scenario is called '{name}': cargo xtask vm --list names them"
        );
    }
    let wanted = |scenario: &Scenario| names.is_empty() || names.contains(&scenario.name);
    Ok(scenarios.into_iter().filter(wanted).collect())
}

/// What `--list` prints.
pub fn list(scenarios: &[Scenario], devices: &Devices) -> String {
    let mut text = String::from("scenarios\n");
    for scenario in scenarios {
        let _ = writeln!(text, "  {:<24} {}", scenario.name, scenario.title);
    }
    text.push_str("\ndevices, under /dev/fiord\n");
    for device in devices.all() {
        let _ = writeln!(text, "  {:<24} {}", device.gives.join(" "), device.title);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_scenario_can_be_read_and_all_limits_leave_room() {
        let folder = crate::vm::root().join("tests/vm");
        let devices = Devices::read(&folder.join("devices")).unwrap();
        let scenarios = read(&folder, &devices).unwrap();
        assert!(!scenarios.is_empty());
        for scenario in &scenarios {
            assert!(scenario.limit <= Duration::from_secs(180), "{}", scenario.name);
        }
        let text = list(&scenarios, &devices);
        assert!(text.contains("zns zns-ng"));
        assert!(choose(scenarios, &["no such".into()]).is_err());
    }
}
