//! Results of finished cases, in `target/pairs`, so that an interrupted run continues.
//!
//! A file belongs to one fiord, one fio and one seed. Each line is a JSON object with a case and what was found.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::compare::Difference;
use crate::place::root;

/// The result of a case.
#[derive(Debug, Clone, Default)]
pub(super) struct Record {
    pub case: String,
    /// No program ran the job.
    pub refused: bool,
    pub differences: Vec<Difference>,
    /// The smallest case with an unknown difference, and its differences.
    pub minimal: Option<(String, Vec<Difference>)>,
}

/// The file of results.
#[derive(Debug)]
pub(super) struct Store {
    file: File,
    pub path: PathBuf,
    pub done: HashMap<String, Record>,
}

impl Store {
    /// Opens the file that belongs to the programs and the seed.
    pub(super) fn open(fiord: &Path, fio: Option<&str>, seed: u64) -> Result<Self> {
        let about = fs::metadata(fiord).with_context(|| fiord.display().to_string())?;
        let changed = about.modified()?.duration_since(UNIX_EPOCH)?.as_nanos();
        let key = format!("{} {changed} {fio:?} {seed}", about.len());
        let key = Sha256::digest(key.as_bytes());
        let name: String = key.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let directory = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(target) => PathBuf::from(target).join("pairs"),
            None => root().join("target/pairs"),
        };
        fs::create_dir_all(&directory)?;
        Store::at(directory.join(format!("{name}.jsonl")))
    }

    fn at(path: PathBuf) -> Result<Self> {
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The last line may be cut off.
        let records = text.lines().filter_map(|line| read(&serde_json::from_str(line).ok()?));
        let done = records.map(|record| (record.case.clone(), record)).collect();
        let file = File::options().create(true).append(true).open(&path)?;
        if !text.is_empty() && !text.ends_with('\n') {
            writeln!(&file)?;
        }
        Ok(Store { file, path, done })
    }

    /// Keeps a record. A later record of a case replaces the earlier one.
    pub(super) fn add(&mut self, record: Record) -> Result<()> {
        let minimal = record.minimal.as_ref().map(
            |(case, differences)| json!({ "case": case, "differences": written(differences) }),
        );
        let line = json!({
            "case": record.case,
            "refused": record.refused,
            "differences": written(&record.differences),
            "minimal": minimal,
        });
        writeln!(self.file, "{line}")?;
        self.done.insert(record.case.clone(), record);
        Ok(())
    }
}

fn written(differences: &[Difference]) -> Vec<Value> {
    let one = |d: &Difference| json!([d.aspect, d.ours, d.theirs]);
    differences.iter().map(one).collect()
}

fn read(line: &Value) -> Option<Record> {
    let minimal = &line["minimal"];
    let minimal = match minimal["case"].as_str() {
        Some(case) => Some((case.to_owned(), differences(&minimal["differences"])?)),
        None => None,
    };
    Some(Record {
        case: line["case"].as_str()?.to_owned(),
        refused: line["refused"].as_bool()?,
        differences: differences(&line["differences"])?,
        minimal,
    })
}

fn differences(list: &Value) -> Option<Vec<Difference>> {
    let one = |value: &Value| {
        let text = |i: usize| Some(value[i].as_str()?.to_owned());
        Some(Difference { aspect: text(0)?, ours: text(1)?, theirs: text(2)? })
    };
    list.as_array()?.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_read_back_and_a_cut_line_is_ignored() {
        let name = format!("fiord-pairs-store-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let difference =
            Difference { aspect: "ios.read".into(), ours: "1".into(), theirs: "2".into() };
        let record = Record {
            case: "rw=write".into(),
            refused: false,
            differences: vec![difference.clone()],
            minimal: Some(("".into(), vec![difference.clone()])),
        };
        Store::at(path.clone()).unwrap().add(record).unwrap();
        let mut text = fs::read_to_string(&path).unwrap();
        text.push_str("{\"case\":\"rw=r");
        fs::write(&path, text).unwrap();
        let mut store = Store::at(path.clone()).unwrap();
        store.add(Record { case: "bs=8k".into(), ..Record::default() }).unwrap();
        let store = Store::at(path.clone()).unwrap();
        fs::remove_file(path).unwrap();
        assert_eq!(store.done.len(), 2);
        assert_eq!(store.done["rw=write"].differences, std::slice::from_ref(&difference));
        assert_eq!(store.done["rw=write"].minimal, Some((String::new(), vec![difference])));
    }
}
