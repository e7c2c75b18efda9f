//! `spec`: the numbers of a data sheet, to compare with the measurement.

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::SPEC;
use fiord_job::option::value::ValueError;

use crate::model::{JobPlan, Pattern, Stated};
use crate::options::reading::Reading;

/// A warning if `spec` has numbers, but no job of the run has the workload of any of them: there
/// would be nothing to compare.
pub(crate) fn unused(jobs: &[Reading], plans: &[JobPlan]) -> Option<Diagnostic> {
    let states = |plan: &&JobPlan| !plan.reporting.spec.is_empty();
    let first = plans.iter().find(states)?;
    let measured =
        |plan: &JobPlan| plan.reporting.spec.iter().any(|stated| stated.pattern.fits(&plan.load));
    if plans.iter().any(measured) {
        return None;
    }
    let mut words: Vec<&str> = Vec::new();
    for stated in plans.iter().flat_map(|plan| &plan.reporting.spec) {
        if !words.contains(&stated.pattern.word()) {
            words.push(stated.pattern.word());
        }
    }
    let what = format!(
        "`spec` has numbers for {}, but no job of this run is of that kind: there is nothing to compare",
        words.join(", ")
    );
    let warning = jobs.get(first.identity.section)?.warning(SPEC, what);
    Some(warning.help("To fix: state the number for the job's own `rw`"))
}

/// Reads the numbers of `spec`.
pub(crate) fn stated(job: Reading) -> Vec<Stated> {
    let Some(text) = job.get(SPEC) else { return Vec::new() };
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        match parse(part) {
            Ok(stated) => all.push(stated),
            Err(wrong) => job.report(job.error(SPEC, wrong.what).help(
                "To fix: write the numbers of the data sheet, separated by commas: spec=randread=780k,read=7000MB/s; patterns \
                 are read, write, randread, randwrite, rw and randrw",
            )),
        }
    }
    all
}

/// `randread=780k`, `read=7000MB/s`, `write=6.5GiB/s`.
fn parse(text: &str) -> Result<Stated, ValueError> {
    let wrong = |what: String| move || ValueError::new(what);
    let number = text.split_once('=');
    let (word, number) = number.ok_or_else(wrong(format!("`{text}` has no number after `=`")))?;
    let (word, number) = (word.trim(), number.trim());
    let pattern = Pattern::ALL.into_iter().find(|pattern| pattern.word() == word);
    let pattern = pattern.ok_or_else(wrong(format!("`{word}` is not a pattern")))?;
    let (value, bytes) = figure(number).ok_or_else(wrong(format!("`{number}` is not a rate")))?;
    Ok(Stated { pattern, value, bytes })
}

/// Parses a number of I/Os or bytes per second; `true`: bytes. As in data sheets, `k`, `M` and `G`
/// are decimal, whatever `kb_base` is; `KiB`, `MiB` and `GiB` are binary.
fn figure(text: &str) -> Option<(f64, bool)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0)?;
    let unit = text[end..].trim().to_ascii_lowercase();
    let (unit, bytes) = match unit.strip_suffix("b/s").or_else(|| unit.strip_suffix("bps")) {
        Some(unit) => (unit, true),
        None => (unit.strip_suffix("iops").unwrap_or(&unit).trim(), false),
    };
    let scale = match (unit, bytes) {
        ("", _) => 1.0,
        ("k", _) => 1e3,
        ("m", _) => 1e6,
        ("g", _) => 1e9,
        ("ki", true) => 1024.0,
        ("mi", true) => 1024.0 * 1024.0,
        ("gi", true) => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((number * scale, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_numbers_as_data_sheets_write_them() {
        assert_eq!(figure("780k"), Some((780_000.0, false)));
        assert_eq!(figure("1.5M IOPS"), Some((1_500_000.0, false)));
        assert_eq!(figure("7000MB/s"), Some((7e9, true)));
        assert_eq!(figure("7 GB/s"), Some((7e9, true)));
        assert_eq!(figure("512MiB/s"), Some((536_870_912.0, true)));
        for bad in ["", "k", "0", "-1", "1x", "7000MB", "1..2", "5 KiIOPS"] {
            assert_eq!(figure(bad), None, "{bad}");
        }
        assert_eq!(parse("randread=780k").unwrap().pattern, Pattern::RandRead);
        assert!(parse("780k").unwrap_err().what.contains("no number"));
        assert!(parse("trim=1").unwrap_err().what.contains("`trim` is not a pattern"));
    }

    #[test]
    fn each_workload_fits_one_pattern() {
        let mut job = crate::JobPlan::plain(crate::EnginePlan::Null, 1 << 20);
        assert!(Pattern::Read.fits(&job.load) && !Pattern::RandRead.fits(&job.load));
        job.load.random = true;
        assert!(Pattern::RandRead.fits(&job.load) && !Pattern::Read.fits(&job.load));
        job.load.mix = crate::Mix::ReadWrite { read_percent: 70 };
        assert!(Pattern::RandMixed.fits(&job.load) && !Pattern::RandRead.fits(&job.load));
    }
}
