//! Policy files: one `KEY = VALUE` in each line.

use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{HostPolicy, PathRule};

/// Why a policy file cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{}, line {line}: {why}", .file.display())]
pub struct PolicyError {
    file: PathBuf,
    line: usize,
    why: RuleError,
}

/// Why a line is not a rule.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
enum RuleError {
    #[error("a rule is written KEY = VALUE")]
    NoRule,
    #[error("unknown key `{0}`; the keys are {list}", list = KEYS.join(", "))]
    Key(String),
    #[error("`{0}` is not an absolute path")]
    Relative(String),
    #[error("`{0}`: only the last part of a path can contain `*`")]
    Pattern(String),
    #[error("`{0}` needs a value")]
    Empty(String),
    #[error("the value of `{0}` must be `yes` or `no`")]
    Switch(String),
}

const KEYS: [&str; 11] = [
    "directory",
    "read-only-directory",
    "device",
    "read-only-device",
    "log-directory",
    "library",
    "variable",
    "read-only",
    "exec",
    "network",
    "settings",
];

pub(super) fn read(text: &str, file: &Path) -> Result<HostPolicy, PolicyError> {
    let mut policy = HostPolicy::empty(Some(file.to_owned()));
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if !line.is_empty() && !line.starts_with('#') {
            let error = |why| PolicyError { file: file.to_owned(), line: number + 1, why };
            apply(&mut policy, line).map_err(error)?;
        }
    }
    Ok(policy)
}

fn apply(policy: &mut HostPolicy, line: &str) -> Result<(), RuleError> {
    let (key, value) = line.split_once('=').ok_or(RuleError::NoRule)?;
    let (key, value) = (key.trim(), value.trim());
    let rule = |writes| path(value).map(|path| PathRule { path, writes });
    match key {
        "directory" => policy.directories.push(rule(true)?),
        "read-only-directory" => policy.directories.push(rule(false)?),
        "device" => policy.devices.push(rule(true)?),
        "read-only-device" => policy.devices.push(rule(false)?),
        "log-directory" => policy.log_directories.push(path(value)?),
        "library" => policy.libraries.push(word(key, value)?),
        "variable" => policy.variables.push(word(key, value)?),
        "read-only" => policy.read_only = switch(key, value)?,
        "exec" => policy.exec = switch(key, value)?,
        "network" => policy.network = switch(key, value)?,
        "settings" => policy.settings = switch(key, value)?,
        _ => return Err(RuleError::Key(key.into())),
    }
    Ok(())
}

fn path(value: &str) -> Result<PathBuf, RuleError> {
    let path = PathBuf::from(value);
    let directories = path.parent().unwrap_or(&path);
    if !path.is_absolute() {
        return Err(RuleError::Relative(value.into()));
    }
    if directories.to_string_lossy().contains('*') {
        return Err(RuleError::Pattern(value.into()));
    }
    Ok(path)
}

fn word(key: &str, value: &str) -> Result<String, RuleError> {
    if value.is_empty() { Err(RuleError::Empty(key.into())) } else { Ok(value.to_owned()) }
}

fn switch(key: &str, value: &str) -> Result<bool, RuleError> {
    match value {
        "yes" => Ok(true),
        "no" => Ok(false),
        _ => Err(RuleError::Switch(key.into())),
    }
}
