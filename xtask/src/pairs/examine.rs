//! Runs a case under both programs and finds the differences.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;

use super::case::Case;
use super::compare::{Difference, Speed, compare};
use super::desk::Desk;
use super::facts::{Fact, Facts, Storage, facts};
use super::program::{Ended, run};
use super::sandbox::Sandbox;
use super::space::Space;

/// The programs, and how they are run.
#[derive(Debug)]
pub(super) struct Bench {
    pub space: Space,
    pub sandbox: Sandbox,
    pub fiord: PathBuf,
    pub fio: Option<PathBuf>,
    /// Limit of time for one run.
    pub limit: Duration,
}

/// What was found about a case.
#[derive(Debug, Default)]
pub(super) struct Finding {
    /// No program ran the job.
    pub refused: bool,
    pub differences: Vec<Difference>,
}

/// Number of seeds with which a case runs whose first runs differ.
const SEEDS: usize = 3;

/// Facts that the output of `--debug` must not change.
const INDEPENDENT: [&str; 8] =
    ["status", "jobs", "ios", "bytes", "syncs", "error", "length", "contents"];

impl Bench {
    /// Runs a case under both programs, or under fiord alone. Repeats the runs with other seeds only if `matters`
    /// is true of their differences.
    pub(super) fn examine(
        &self,
        desk: &mut Desk,
        case: &Case,
        matters: impl Fn(&[Difference]) -> bool,
    ) -> Result<Finding> {
        let (ours, ended) = self.run(desk, case, &self.fiord, 1, true)?;
        let mut finding = Finding { differences: odd(&ours, &ended), refused: false };
        finding.differences.extend(unseen(&ours));
        let failed = ours.get("status") != Some(&Fact::Text("runs".into()));
        finding.differences.extend(self.without_debug(desk, case, &ours)?);
        let Some(fio) = &self.fio else {
            finding.refused = failed;
            return Ok(finding);
        };
        let (theirs, said) = self.run(desk, case, fio, 1, true)?;
        finding.differences.extend(unseen(&theirs));
        let again = |seed| {
            let ours = self.run(desk, case, &self.fiord, seed, true)?.0;
            Ok((ours, self.run(desk, case, fio, seed, true)?.0))
        };
        let mut differences = repeat((ours, theirs), self.speed(case), &matters, again)?;
        for difference in &mut differences {
            if difference.aspect == "status" {
                difference.ours.push_str(&first_line(&ended));
                difference.theirs.push_str(&first_line(&said));
            }
        }
        finding.refused = failed && differences.is_empty();
        finding.differences.extend(differences);
        Ok(finding)
    }

    /// Compares runs without `--debug`, which have other inner loops, with the run that was seen and with its
    /// repetitions.
    fn without_debug(&self, desk: &mut Desk, case: &Case, seen: &Facts) -> Result<Vec<Difference>> {
        let plain = self.run(desk, case, &self.fiord, 1, false)?.0;
        let again = |seed| {
            let plain = self.run(desk, case, &self.fiord, seed, false)?.0;
            let seen = self.run(desk, case, &self.fiord, seed, true)?.0;
            Ok((independent(&plain), independent(&seen)))
        };
        let first = (independent(&plain), independent(seen));
        let matters = |found: &[Difference]| !found.is_empty();
        let mut found = repeat(first, self.speed(case), matters, again)?;
        found.iter_mut().for_each(|difference| difference.aspect.insert_str(0, "debug."));
        Ok(found)
    }

    fn speed(&self, case: &Case) -> Speed {
        match (self.space.has_tag(case, "raced"), self.space.has_tag(case, "timed")) {
            (true, _) => Speed::Raced,
            (_, true) => Speed::Timed,
            _ => Speed::Exact,
        }
    }

    fn run(
        &self,
        desk: &mut Desk,
        case: &Case,
        program: &std::path::Path,
        seed: usize,
        debug: bool,
    ) -> Result<(Facts, Ended)> {
        let mut args = vec![format!("--randseed={seed}")];
        if debug {
            args.push("--debug=io".to_owned());
        }
        args.extend(self.space.args(case));
        desk.prepare(&args)?;
        let ended = run(&self.sandbox, &desk.directory, program, &args, self.limit)?;
        let has = |tag| self.space.has_tag(case, tag);
        let storage = Storage { writes: has("writes") && !has("nodata"), device: has("disk") };
        Ok((facts(&ended, &desk.directory, storage)?, ended))
    }
}

/// Compares two runs and, while their differences matter, also runs with other seeds.
fn repeat(
    first: (Facts, Facts),
    speed: Speed,
    matters: impl Fn(&[Difference]) -> bool,
    mut again: impl FnMut(usize) -> Result<(Facts, Facts)>,
) -> Result<Vec<Difference>> {
    let (mut ours, mut theirs) = (vec![first.0], vec![first.1]);
    let mut differences = compare(&ours, &theirs, speed);
    for seed in 2..=SEEDS {
        if !matters(&differences) {
            break;
        }
        let next = again(seed)?;
        ours.push(next.0);
        theirs.push(next.1);
        differences = compare(&ours, &theirs, speed);
    }
    Ok(differences)
}

/// The facts that the output of `--debug` must not change.
fn independent(facts: &Facts) -> Facts {
    let kept = |(name, _): &(&String, &Fact)| {
        INDEPENDENT.contains(&name.split('.').next().unwrap_or_default())
    };
    facts.iter().filter(kept).map(|(name, fact)| (name.clone(), fact.clone())).collect()
}

/// What is wrong with a run of fiord, whatever fio does.
fn odd(facts: &Facts, ended: &Ended) -> Vec<Difference> {
    let mut found = Vec::new();
    let mut odd = |aspect: &str, ours: String, theirs: &str| {
        found.push(Difference { aspect: aspect.to_owned(), ours, theirs: theirs.to_owned() });
    };
    if ended.status == Some(0) && !ended.err.is_empty() {
        odd("stderr", first_line(ended), "nothing, because the run succeeds");
    }
    if ended.killed || ended.status.is_none_or(|status| status == 101) {
        odd("ends", format!("{:?}{}", ended.status, first_line(ended)), "a status");
    }
    let of = |name: &str| match facts.get(name) {
        Some(Fact::Count(value)) => *value,
        _ => 0.0,
    };
    // A bandwidth and a count cannot both be right if one of them has no I/O.
    for direction in ["read", "write", "trim"] {
        let (ios, bytes) = (of(&format!("ios.{direction}")), of(&format!("bytes.{direction}")));
        if (ios == 0.0) != (bytes == 0.0) {
            odd(
                &format!("total.{direction}"),
                format!("{ios} I/Os, {bytes} bytes"),
                "both or none",
            );
        }
    }
    found
}

/// A run that succeeds without a document, or whose I/Os are not in its trace. Without this, two programs whose output is lost
/// would be equal.
fn unseen(facts: &Facts) -> Option<Difference> {
    let runs = facts.get("status") == Some(&Fact::Text("runs".into()));
    let works = facts.get("ios.total").is_none_or(|total| *total != Fact::Count(0.0));
    let traced = facts.keys().any(|name| name.starts_with("traced."));
    (runs && works && !traced).then(|| Difference {
        aspect: "output".to_owned(),
        ours: "no document or no trace".to_owned(),
        theirs: "both".to_owned(),
    })
}

/// The first line that tells why a program failed.
fn first_line(ended: &Ended) -> String {
    let lines = ended.err.lines().chain(ended.out.lines());
    let mut told = lines.filter(|line| !line.trim().is_empty() && !line.starts_with("io "));
    let first = told.find(|line| !line.contains("set debug option") && *line != "{");
    match (ended.status, first) {
        (Some(0), _) if ended.err.is_empty() => String::new(),
        (_, Some(line)) => format!(": {}", line.trim()),
        (_, None) => String::new(),
    }
}
