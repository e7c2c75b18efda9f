//! The loader and the shared libraries of a program.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};

/// Returns the loader that a dynamic ELF file names in its `PT_INTERP` segment; `None` for a static file or a
/// script. Format: ELF-64 specification, program header.
pub(super) fn interpreter(path: &Path) -> Result<Option<PathBuf>> {
    const PT_INTERP: u32 = 3;
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if bytes.get(..5) != Some(b"\x7fELF\x02") {
        return Ok(None);
    }
    let number = |at: usize, len: usize| -> Option<usize> {
        let field = bytes.get(at..at + len)?;
        let value = field.iter().rev().fold(0_u64, |value, &byte| (value << 8) | u64::from(byte));
        usize::try_from(value).ok()
    };
    let read = || -> Option<Option<PathBuf>> {
        let (table, size, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
        for header in (0..count).map(|i| table + i * size) {
            if number(header, 4)? == PT_INTERP as usize {
                let (offset, len) = (number(header + 8, 8)?, number(header + 32, 8)?);
                let name = bytes.get(offset..offset + len.checked_sub(1)?)?;
                return Some(Some(PathBuf::from(String::from_utf8_lossy(name).into_owned())));
            }
        }
        Some(None)
    };
    read().with_context(|| format!("{} is not a complete ELF file", path.display()))
}

/// Whether a file is a shared library or a program that the loader can place anywhere (`ET_DYN`).
pub(super) fn is_shared(path: &Path) -> Result<bool> {
    let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(bytes.starts_with(b"\x7fELF") && bytes.get(16..18) == Some(&[3, 0]))
}

/// Returns the shared libraries of a program or library, including its loader, as `ldd` finds them.
pub(super) fn libraries(path: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("ldd").arg(path).output().context("ldd cannot be run")?;
    ensure!(output.status.success(), "ldd {} failed", path.display());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut found = BTreeSet::new();
    for line in text.lines() {
        if line.contains("not found") {
            bail!("{} needs a library that is not here: {}", path.display(), line.trim());
        }
        let file = line.split_whitespace().find(|word| word.starts_with('/'));
        found.extend(file.map(PathBuf::from));
    }
    Ok(found.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dynamic_program_names_its_loader_and_a_script_none() {
        let itself = std::env::current_exe().unwrap();
        let loader = interpreter(&itself).unwrap();
        if cfg!(all(target_env = "gnu", not(target_feature = "crt-static"))) {
            assert!(loader.unwrap().to_string_lossy().contains("ld-linux"));
            assert!(!libraries(&itself).unwrap().is_empty());
        }
        let script = crate::place::root().join("Cargo.toml");
        assert_eq!((interpreter(&script).unwrap(), is_shared(&script).unwrap()), (None, false));
    }
}
