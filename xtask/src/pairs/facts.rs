//! What one run of one program shows: named facts, which can be compared.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

use anyhow::Result;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::Value;

use super::program::Ended;
use super::trace::{Profile, queued};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Fact {
    Text(String),
    /// A number of things, which is exact unless chance decides it.
    Count(f64),
    /// A time in milliseconds.
    Time(f64),
    /// A part of a whole, from 0 to 1.
    Share(f64),
    /// The deciles of a distribution, and the number of its samples.
    Shape([f64; 9], usize),
    /// Names.
    Set(BTreeSet<String>),
}

/// Facts by name: `SUBJECT.DETAIL`.
pub(super) type Facts = BTreeMap<String, Fact>;

/// Names of directions in JSON and in facts.
const DIRECTIONS: [&str; 3] = ["read", "write", "trim"];

/// Largest part of a file that is examined, in bytes.
const EXAMINED: u64 = 2 << 20;

/// Size of the blocks of contents, in bytes.
const BLOCK: usize = 4096;

/// What a job does with data.
#[derive(Debug, Clone, Copy)]
pub(super) struct Storage {
    /// The job stores data.
    pub writes: bool,
    /// The job uses the device.
    pub device: bool,
}

/// Collects the facts of a run whose files are in `directory`.
pub(super) fn facts(ended: &Ended, directory: &Path, storage: Storage) -> Result<Facts> {
    let mut facts = Facts::new();
    let status = match ended.status {
        _ if ended.killed => "killed at the limit".to_owned(),
        Some(0) => "runs".to_owned(),
        Some(101) => "panics".to_owned(),
        Some(_) => "fails".to_owned(),
        None => "ended by a signal".to_owned(),
    };
    let runs = status == "runs";
    facts.insert("status".into(), Fact::Text(status));
    if !runs {
        return Ok(facts);
    }
    let (document, text) = split(&ended.out);
    if let Some(document) = document {
        of_document(&document, &mut facts);
    }
    of_text(&text, &mut facts);
    let ios = queued(ended.out.lines());
    for (number, name) in DIRECTIONS.iter().enumerate() {
        if let Some(profile) = Profile::new(&ios, number) {
            of_profile(name, &profile, &mut facts);
        }
    }
    of_files(directory, storage, &mut facts)?;
    Ok(facts)
}

/// Separates the JSON document from lines of text. Lines of `--debug` are left out.
fn split(out: &str) -> (Option<Value>, Vec<&str>) {
    let (mut json, mut text, mut within) = (String::new(), Vec::new(), false);
    for line in out.lines() {
        within |= line == "{";
        if line.starts_with("io ") || line.contains("set debug option") {
            continue;
        }
        if within {
            json.push_str(line);
            json.push('\n');
        } else {
            text.push(line);
        }
        within &= line != "}";
    }
    (serde_json::from_str(&json).ok(), text)
}

fn of_document(document: &Value, facts: &mut Facts) {
    let none = Vec::new();
    let jobs = document["jobs"].as_array().unwrap_or(&none);
    let mut count = |name: String, value: f64| {
        facts.insert(name, Fact::Count(value));
    };
    let sum = |pointer: &str| -> f64 {
        jobs.iter().filter_map(|job| job.pointer(pointer)?.as_f64()).sum()
    };
    count("jobs".into(), jobs.len() as f64);
    let mut total = 0.0;
    for name in DIRECTIONS.into_iter().chain(["mixed"]) {
        let ios = sum(&format!("/{name}/total_ios"));
        total += if name == "mixed" && jobs.iter().any(|job| job["read"].is_object()) {
            0.0
        } else {
            ios
        };
        count(format!("ios.{name}"), ios);
        count(format!("bytes.{name}"), sum(&format!("/{name}/io_bytes")));
        count(format!("short.{name}"), sum(&format!("/{name}/short_ios")));
    }
    count("ios.total".into(), total);
    count("syncs".into(), sum("/sync/total_ios"));
    for (number, job) in jobs.iter().enumerate() {
        let ios: f64 = DIRECTIONS.iter().filter_map(|name| job[name]["total_ios"].as_f64()).sum();
        count(format!("job.{number}"), ios);
        count(format!("error.{number}"), job["error"].as_f64().unwrap_or_default());
    }
    let depth = sum("/iodepth_level/1") / 100.0 / jobs.len().max(1) as f64;
    facts.insert("depth.1".into(), Fact::Share(depth));
    let time = jobs.iter().filter_map(|job| job["job_runtime"].as_f64()).fold(0.0, f64::max);
    facts.insert("time".into(), Fact::Time(time));
    let mut keys = BTreeSet::new();
    jobs.iter().for_each(|job| paths(job, "", &mut keys));
    facts.insert("keys".into(), Fact::Set(keys));
}

/// Collects the paths of keys. Numbers in keys, such as percentiles and depths, stand for all numbers.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    let Value::Object(object) = value else {
        found.insert(path.to_owned());
        return;
    };
    for (key, value) in object {
        if ["fiord", "job options"].contains(&key.as_str()) {
            continue;
        }
        let number = key.starts_with(|c: char| c.is_ascii_digit() || c == '>');
        paths(value, &format!("{path}/{}", if number { "N" } else { key }), found);
    }
}

/// Heads of lines of the normal output, and numbers of fields of the terse output.
fn of_text(lines: &[&str], facts: &mut Facts) {
    let mut heads = BTreeSet::new();
    let mut fields = BTreeSet::new();
    for line in lines {
        let semicolons = line.matches(';').count();
        if semicolons > 20 {
            fields.insert((semicolons + 1).to_string());
        } else if line.starts_with([' ', '\t']) {
            let head = line.trim().split([':', '=', '|']).next().unwrap_or_default();
            let head = head.split(['(', '[']).next().unwrap_or_default().trim();
            heads.insert(head.chars().filter(|c| !c.is_ascii_digit()).collect());
        }
    }
    if !fields.is_empty() {
        facts.insert("terse.fields".into(), Fact::Set(fields));
    }
    if !heads.is_empty() {
        facts.insert("text.heads".into(), Fact::Set(heads));
    }
}

fn of_profile(name: &str, profile: &Profile, facts: &mut Facts) {
    let mut put = |subject: &str, fact: Fact| {
        facts.insert(format!("{subject}.{name}"), fact);
    };
    put("traced", Fact::Count(profile.ios as f64));
    put("covered", Fact::Count(profile.covered as f64));
    put("begin", Fact::Count(profile.begin as f64));
    put("end", Fact::Count(profile.end as f64));
    put("files", Fact::Count(profile.files as f64));
    put("smallest", Fact::Count(profile.smallest as f64));
    put("largest", Fact::Count(profile.largest as f64));
    put("alignment", Fact::Count(profile.alignment as f64));
    put("sequential", Fact::Share(profile.sequential));
    put("switches", Fact::Share(profile.switches));
    if profile.ios >= 40 {
        put("sizes", Fact::Set(profile.sizes.iter().map(u64::to_string).collect()));
        put("hot", Fact::Share(profile.hot));
        put("deciles", Fact::Shape(profile.deciles, profile.ios));
    }
}

/// Names and lengths of files, contents of data, and rows of logs.
fn of_files(directory: &Path, storage: Storage, facts: &mut Facts) -> Result<()> {
    let mut names = BTreeSet::new();
    let mut data = Vec::new();
    let mut paths: Vec<_> = fs::read_dir(directory)?.collect::<std::io::Result<Vec<_>>>()?;
    paths.sort_by_key(fs::DirEntry::file_name);
    for entry in paths {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".log") {
            of_log(&name, &fs::read_to_string(entry.path())?, facts);
        } else if !name.ends_with(".state") {
            let mut part = Vec::new();
            fs::File::open(entry.path())?.take(EXAMINED).read_to_end(&mut part)?;
            if name != "disk" {
                let length = entry.metadata()?.len() as f64;
                facts.insert(format!("length.{name}"), Fact::Count(length));
                data.extend(part);
            } else if storage.device {
                data.extend(part);
            }
        }
        names.insert(name);
    }
    names.remove("disk");
    facts.insert("names".into(), Fact::Set(names));
    if storage.writes && !data.is_empty() {
        of_contents(&data, facts)?;
    }
    Ok(())
}

fn of_contents(data: &[u8], facts: &mut Facts) -> Result<()> {
    let mut compressed = 0;
    for block in data.chunks(BLOCK) {
        // Blocks compress alone: contents of fiord do not repeat from block to block, and those of fio do.
        let mut encoder = ZlibEncoder::new(std::io::sink(), Compression::fast());
        encoder.write_all(block)?;
        encoder.try_finish()?;
        compressed += encoder.total_out();
    }
    let ratio = compressed as f64 / data.len() as f64;
    facts.insert("contents.zlib".into(), Fact::Share(ratio.min(1.0)));
    let (mut seen, mut twice, mut zero) = (HashSet::new(), 0.0, 0.0);
    for block in data.chunks(BLOCK) {
        if block.iter().all(|byte| *byte == 0) {
            zero += 1.0;
        } else if !seen.insert(block) {
            twice += 1.0;
        }
    }
    let blocks = data.len().div_ceil(BLOCK) as f64;
    facts.insert("contents.duplicates".into(), Fact::Share(twice / blocks));
    facts.insert("contents.zeros".into(), Fact::Share(zero / blocks));
    Ok(())
}

/// Rows, columns and directions of a log, or the actions of a trace.
fn of_log(name: &str, text: &str, facts: &mut Facts) {
    let mut put = |subject: &str, fact: Fact| {
        facts.insert(format!("{subject}.{name}"), fact);
    };
    // Only lines of I/Os have five words: files may be opened once or more.
    let trace = text.starts_with("fio version");
    let rows = text.lines().filter(|line| !trace || line.split(' ').count() > 4).count();
    put("rows", Fact::Count(rows as f64));
    if trace {
        let action = |line: &str| line.split(' ').nth(2).map(str::to_owned);
        put("actions", Fact::Set(text.lines().skip(1).filter_map(action).collect()));
        return;
    }
    put("columns", Fact::Set(text.lines().map(|l| l.split(',').count().to_string()).collect()));
    let direction = if name.contains("hist") { 1 } else { 2 };
    let field = |line: &str| line.split(',').nth(direction).map(|f| f.trim().to_owned());
    if !name.contains("both") {
        put("directions", Fact::Set(text.lines().filter_map(field).collect()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_between_lines_of_text() {
        let out = "fio: set debug option io\nhello\nio       7 x\n{\n  \"jobs\" : [\nio       7 y\n]\n}\n  lat (usec): 1\n";
        let (document, text) = split(out);
        assert!(document.is_some_and(|document| document["jobs"].is_array()));
        assert_eq!(text, ["hello", "  lat (usec): 1"]);
    }

    #[test]
    fn contents_are_described() {
        let mut facts = Facts::new();
        let mut data = vec![0; BLOCK];
        data.extend(vec![7; 3 * BLOCK]);
        of_contents(&data, &mut facts).unwrap();
        assert_eq!(facts["contents.zeros"], Fact::Share(0.25));
        assert_eq!(facts["contents.duplicates"], Fact::Share(0.5));
    }
}
