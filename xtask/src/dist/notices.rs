//! The licences of the crates in the program, which binary packages must contain.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::dependencies::Dependency;

/// Returns the names, licences and licence texts of all crates that do not come from this repository. A text that
/// several crates share appears once.
///
/// # Errors
///
/// If the sources of a crate cannot be read.
pub(super) fn third_party(dependencies: &[Dependency]) -> Result<String> {
    let mut out = String::from(
        "Libraries in the program fiord\n\nThe program contains these crates and scripts. The texts of their licences follow.\n\n",
    );
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for dependency in dependencies.iter().filter(|dependency| dependency.is_foreign()) {
        let key = dependency.key();
        let _ = writeln!(out, "{key}: {}", dependency.licence);
        for text in licence_texts(&dependency.folder)? {
            texts.entry(text).or_default().push(key.clone());
        }
    }
    let mut texts: Vec<(String, Vec<String>)> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (text, crates) in texts {
        let _ = write!(out, "\n{}\n{}\n\n{text}\n", "-".repeat(80), crates.join(", "));
    }
    Ok(out)
}

/// Returns the contents of the files at the top of a crate whose names say that they are licences or notices.
fn licence_texts(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    let entries = fs::read_dir(folder);
    for entry in entries.with_context(|| format!("cannot read {}", folder.display()))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().to_uppercase();
        let is_licence = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE", "COPYRIGHT"]
            .iter()
            .any(|start| name.starts_with(start));
        if is_licence && entry.file_type()?.is_file() {
            names.push(entry.path());
        }
    }
    names.sort();
    let read = |path: &std::path::PathBuf| -> Result<String> {
        let bytes = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(String::from_utf8_lossy(&bytes).replace('\r', "").trim().to_owned())
    };
    names.iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn crates_of_others_are_named_with_their_licence() {
        let found = crate::dist::dependencies::of_fiord(&crate::place::root()).unwrap();
        let text = super::third_party(&found).unwrap();
        assert!(text.contains("\nserde_json@"), "{text}");
        assert!(text.contains("\nuPlot@") && text.contains("Leon Sorokin"), "{text}");
        assert!(text.contains("Permission is hereby granted"), "{text}");
        assert!(!text.contains("fiord-engine@"), "{text}");
    }
}
