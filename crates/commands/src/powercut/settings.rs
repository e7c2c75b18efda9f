//! The settings of all rounds. The state file contains them, so that `--resume` needs no other argument.

use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use fiord_job::number;
use fiord_job::option::def::Unit;
use fiord_job::option::value::ValueError;
use fiord_load::rng::splitmix;
use fiord_types::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

use super::args::PowercutArgs;
use crate::precondition::target::FillTarget;

/// A target, as a later call recognises it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetIdentity {
    /// Path as typed, made absolute.
    pub path: PathBuf,
    pub size: Bytes,
    /// Whether it is a block device; otherwise it is a file.
    pub is_device: bool,
    /// World-wide name or serial number of a disk that has one.
    pub serial: Option<String>,
}

impl TargetIdentity {
    /// The identity of a target. Its path becomes absolute, because a later call may have another working directory.
    #[must_use]
    pub fn of(target: &FillTarget) -> Self {
        let id = target.disk.as_ref().map(|disk| &disk.identity);
        // The model of a loop device is the name of its file, and it has no serial number.
        let serial = id.and_then(|id| id.wwid.clone().or_else(|| id.serial.clone()));
        let path = std::path::absolute(&target.path).unwrap_or_else(|_| target.path.clone());
        let is_device =
            std::fs::metadata(&path).is_ok_and(|node| node.file_type().is_block_device());
        TargetIdentity { path, size: target.size, is_device, serial }
    }

    /// How another target at this path differs; `None` if it can be this one.
    #[must_use]
    pub fn difference(&self, other: &TargetIdentity) -> Option<DeviceDifference> {
        if self.size != other.size {
            return Some(DeviceDifference::Size { expected: self.size, found: other.size });
        }
        match (&self.serial, &other.serial) {
            (Some(expected), Some(found)) if expected != found => {
                Some(DeviceDifference::Serial { expected: expected.clone(), found: found.clone() })
            }
            _ => None,
        }
    }
}

/// How a device differs from the target of the rounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeviceDifference {
    /// The device has another size.
    #[error("it has {} bytes instead of {}", .found.0, .expected.0)]
    Size {
        /// Size of the target.
        expected: Bytes,
        /// Size of the device.
        found: Bytes,
    },
    /// The device has another serial number.
    #[error("its serial number is {found} instead of {expected}")]
    Serial {
        /// Serial number of the target.
        expected: String,
        /// Serial number of the device.
        found: String,
    },
}

/// How the power is cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CutMethod {
    /// Only the writer is killed.
    Kill,
    /// The user cuts the power of the target or of the machine.
    Manual,
    /// A command cuts it, and another restores it.
    Command {
        /// Cuts the power.
        cut: String,
        restore: String,
    },
}

/// The settings of all rounds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PowercutSettings {
    pub target: TargetIdentity,
    /// How the power is cut.
    pub method: CutMethod,
    /// Number of rounds.
    rounds: u32,
    /// Shortest and longest time from the first write to the cut.
    pub after: (Nanos, Nanos),
    /// How long the writer continues after the cut.
    pub linger: Nanos,
    /// Limit of a command, and of the return of the target.
    pub wait: Nanos,
    /// Rounds before the last one whose data is checked, too.
    #[serde(default)]
    earlier: u32,
    /// Seed of times and loads.
    seed: u64,
    /// Whether the first lost data ends the rounds.
    pub stop: bool,
    /// Arguments of the load, without those of a round; empty for the default load.
    pub load: Vec<String>,
}

/// Why the command line is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WrongSetting {
    /// A time cannot be parsed.
    #[error("--{option}: {cause}. To fix: write a time such as 2s or 500ms")]
    Time { option: &'static str, cause: ValueError },
    /// The range of `--after` is empty or reversed.
    #[error(
        "--after={0} is not a range of times. To fix: write --after=2..10 or --after=500ms..2s"
    )]
    Range(String),
    /// `--cut=COMMAND` without `--restore`.
    #[error(
        "--cut='{0}' needs a command that restores the power. To fix: --restore='COMMAND', or --restore=true if \
         nothing has to be done"
    )]
    NoRestore(String),
    /// `--restore` without a command that cuts.
    #[error(
        "--restore works only with --cut='COMMAND': --cut={0} needs no command to restore the power"
    )]
    NothingToRestore(&'static str),
}

impl PowercutSettings {
    /// Reads the command line. `load`: the arguments of the user's job, or nothing.
    ///
    /// # Errors
    /// A value is wrong.
    pub fn read(
        args: &PowercutArgs,
        target: TargetIdentity,
        load: Vec<String>,
        clock_seed: u64,
    ) -> Result<Self, WrongSetting> {
        Ok(PowercutSettings {
            target,
            method: method(args.cut.as_deref().unwrap_or("kill"), args.restore.as_deref())?,
            rounds: args.rounds(),
            after: range(&args.after)?,
            linger: time("linger", &args.linger)?,
            wait: time("wait", &args.wait)?,
            earlier: args.earlier(),
            seed: args.seed().unwrap_or(clock_seed),
            stop: args.stop,
            load,
        })
    }

    /// Number of rounds.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    /// Number of rounds before the last one whose data is checked, too.
    #[must_use]
    pub fn earlier(&self) -> u32 {
        self.earlier
    }

    /// Seed of times and loads.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The time from the first write to the cut in round `round`.
    #[must_use]
    pub fn cut_time(&self, round: u32) -> Nanos {
        let (low, high) = self.after;
        let width = high.saturating_sub(low).0.saturating_add(1);
        Nanos(low.0 + self.random(round) % width)
    }

    /// A random number for a round.
    #[must_use]
    pub fn random(&self, round: u32) -> u64 {
        let mut state = self.seed ^ (u64::from(round) << 32);
        splitmix(&mut state)
    }
}

/// Settings of three short rounds with a file of 1 MiB.
#[cfg(test)]
pub(super) fn example(method: CutMethod) -> PowercutSettings {
    PowercutSettings {
        target: TargetIdentity {
            path: "/t".into(),
            size: Bytes(1 << 20),
            is_device: false,
            serial: None,
        },
        method,
        rounds: 3,
        after: (Nanos::from_millis(10), Nanos::from_millis(20)),
        linger: Nanos::from_millis(1),
        wait: Nanos::from_secs(20),
        earlier: 2,
        seed: 7,
        stop: false,
        load: Vec::new(),
    }
}

fn method(cut: &str, restore: Option<&str>) -> Result<CutMethod, WrongSetting> {
    match (cut, restore) {
        ("kill", None) => Ok(CutMethod::Kill),
        ("manual", None) => Ok(CutMethod::Manual),
        ("kill", Some(_)) => Err(WrongSetting::NothingToRestore("kill")),
        ("manual", Some(_)) => Err(WrongSetting::NothingToRestore("manual")),
        (cut, None) => Err(WrongSetting::NoRestore(cut.into())),
        (cut, Some(restore)) => Ok(CutMethod::Command { cut: cut.into(), restore: restore.into() }),
    }
}

fn time(option: &'static str, text: &str) -> Result<Nanos, WrongSetting> {
    let read = number::nanos(text, Unit::Seconds);
    read.map(Nanos).map_err(|cause| WrongSetting::Time { option, cause })
}

fn range(text: &str) -> Result<(Nanos, Nanos), WrongSetting> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let (low, high) = (time("after", low)?, time("after", high)?);
    if low > high {
        return Err(WrongSetting::Range(text.into()));
    }
    Ok((low, high))
}

/// The directory of the rounds if the user names none: the name of the target with `.powercut`.
#[must_use]
pub fn usual_directory(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
    PathBuf::from(format!("{name}.powercut"))
}
