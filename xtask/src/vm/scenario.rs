//! The scenarios: `tests/vm/NAME.sh`.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::devices::Devices;
use super::header::{Header, scripts};

const KEYS: &[&str] = &["devices", "limit", "boot", "boots", "clock"];

/// The first command of a scenario. It ends the shell if the script runs outside of the virtual machine:
/// scenarios write to devices and change the system.
const ONLY_HERE: &str =
    ": \"${FIORD_MACHINE:?a scenario runs only in the machine of cargo xtask vm}\"";

#[derive(Debug, Clone)]
pub(super) struct Scenario {
    /// The name of its file.
    pub name: String,
    /// What it shows, in one line.
    pub title: String,
    /// The devices that are started for it and stopped after it.
    pub devices: Vec<String>,
    /// Time limit.
    pub limit: Duration,
    /// Whether it needs a machine for itself.
    pub own_boot: bool,
    /// Number of boots. All but the last end when the script cuts the power.
    pub boots: u32,
    /// The clock of the machine.
    pub clock: Clock,
    pub script: PathBuf,
}

/// The clock of a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clock {
    Host,
    /// Counts executed instructions, and follows the host's clock while all CPUs wait. Other load on the host
    /// hardly changes a measurement.
    Instructions,
}

impl Scenario {
    fn read(path: &Path, devices: &Devices) -> Result<Self> {
        let header = Header::read(path, KEYS)?;
        let text = std::fs::read_to_string(path)?;
        let first = text.lines().find(|line| !line.is_empty() && !line.starts_with('#'));
        ensure!(first == Some(ONLY_HERE), "the first command is not `{ONLY_HERE}`");
        let stem = path.file_stem().context("a scenario has a name")?.to_string_lossy();
        let limit = header.one("limit")?.context("the header does not say 'limit'")?;
        let limit = limit.strip_suffix('s').and_then(|seconds| seconds.parse().ok());
        let boots = header.one("boots")?.map(str::parse).transpose();
        let boots = boots.context("boots is a number")?.unwrap_or(1);
        ensure!(boots > 0, "a scenario needs a boot");
        let own_boot = match header.one("boot")? {
            None => boots > 1,
            Some("own") => true,
            Some(other) => bail!("boot is 'own' or not said, not '{other}'"),
        };
        let clock = match header.one("clock")? {
            None => Clock::Host,
            Some("instructions") => Clock::Instructions,
            Some(other) => bail!("clock is 'instructions' or not said, not '{other}'"),
        };
        let names = header.words("devices");
        devices.named_all(&names)?;
        Ok(Scenario {
            name: stem.into_owned(),
            title: header.title,
            devices: names,
            limit: Duration::from_secs(limit.context("limit is a number of seconds: '30s'")?),
            own_boot,
            boots,
            clock,
            script: path.to_owned(),
        })
    }
}

/// Returns how many of these scenarios share one boot, counted from the first.
pub(super) fn sharing(scenarios: &[&Scenario]) -> usize {
    let alike = |a: &Scenario, b: &Scenario| !a.own_boot && !b.own_boot && a.clock == b.clock;
    match scenarios {
        [] => 0,
        [first, rest @ ..] => 1 + rest.iter().take_while(|next| alike(first, next)).count(),
    }
}

/// Reads all scenarios of a directory. Those that can share a boot come first.
pub(super) fn read(folder: &Path, devices: &Devices) -> Result<Vec<Scenario>> {
    let read =
        |path: &PathBuf| Scenario::read(path, devices).with_context(|| path.display().to_string());
    let mut scenarios = scripts(folder)?.iter().map(read).collect::<Result<Vec<_>>>()?;
    scenarios.sort_by_key(|scenario| (scenario.own_boot, scenario.clock == Clock::Instructions));
    Ok(scenarios)
}

/// Returns the scenarios with these names; all if the list is empty.
pub(super) fn choose(scenarios: Vec<Scenario>, names: &[String]) -> Result<Vec<Scenario>> {
    for name in names {
        ensure!(
            scenarios.iter().any(|scenario| &scenario.name == name),
            "no scenario is called '{name}': cargo xtask vm --list names them"
        );
    }
    let wanted = |scenario: &Scenario| names.is_empty() || names.contains(&scenario.name);
    Ok(scenarios.into_iter().filter(wanted).collect())
}

/// Returns the text of `--list`.
pub(super) fn list(scenarios: &[Scenario], devices: &Devices) -> String {
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
    fn those_with_a_machine_of_their_own_share_none() {
        let of = |own_boot, clock| Scenario {
            name: String::new(),
            title: String::new(),
            devices: Vec::new(),
            limit: Duration::ZERO,
            own_boot,
            boots: 1,
            clock,
            script: PathBuf::new(),
        };
        let (plain, own) = (of(false, Clock::Host), of(true, Clock::Host));
        let counted = of(false, Clock::Instructions);
        assert_eq!(sharing(&[]), 0);
        assert_eq!(sharing(&[&plain, &plain, &own]), 2);
        assert_eq!(sharing(&[&own, &plain]), 1);
        assert_eq!(sharing(&[&plain, &counted]), 1);
    }

    #[test]
    fn a_scenario_does_nothing_outside_of_the_machine() {
        let ran = std::process::Command::new("sh")
            .args(["-c", &format!("{ONLY_HERE}\necho it goes on")])
            .env_remove("FIORD_MACHINE")
            .output()
            .unwrap();
        assert!(!ran.status.success() && ran.stdout.is_empty(), "{ran:?}");
    }

    #[test]
    fn every_committed_scenario_can_be_read_and_all_limits_leave_room() {
        let folder = crate::place::root().join("tests/vm");
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
