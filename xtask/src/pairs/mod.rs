//! Pairs of options: jobs that together contain every pair of option values, under fiord and fio.
//!
//! fio is the specification of what a combination of options means. A difference is in a table with its
//! reason, or is printed as the smallest case that shows it.
//!
//! | question | module |
//! |---|---|
//! | how is the command line parsed | `options.rs` |
//! | which options and values, and which combinations make no sense | `model.rs` |
//! | what is a case | `case.rs` |
//! | which cases are there, and what are their command lines | `space.rs` |
//! | which cases does a pattern match | `pattern.rs` |
//! | which cases contain all pairs | `cover.rs`, `random.rs` |
//! | where does a case run | `sandbox.rs`, `desk.rs` |
//! | how is a program run | `program.rs` |
//! | what does a run show | `facts.rs`, `trace.rs` |
//! | when do two runs differ | `compare.rs` |
//! | what is found about one case | `examine.rs` |
//! | which differences have a reason | `known.rs` |
//! | how does a case become smaller | `minimise.rs` |
//! | how do many cases run | `session.rs` |
//! | where are results kept | `store.rs` |
//! | what is printed | `report.rs` |

mod case;
mod compare;
mod cover;
mod desk;
mod examine;
mod facts;
mod known;
mod minimise;
mod model;
mod options;
mod pattern;
mod program;
mod random;
mod report;
mod sandbox;
mod session;
mod space;
mod store;
mod trace;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

use case::Case;
use cover::{Cover, Wanted, cover};
use desk::Desk;
use examine::Bench;
use known::KnownTable;
use options::{Options, What};
use sandbox::Sandbox;
use session::Session;
use space::Space;
use store::Store;

use crate::bench::contender::Contender;
use crate::build;

/// The oldest fio to compare with.
const OLDEST: (u32, u32) = (3, 40);

/// Time after which a smoke run begins no case.
const SMOKE: Duration = Duration::from_secs(45);

/// Runs `cargo xtask pairs`.
pub(crate) fn main(args: &[String]) -> Result<ExitCode> {
    let options = match options::parse(args)? {
        Some(options) => options,
        None => {
            print!("{}", options::HELP);
            return Ok(ExitCode::SUCCESS);
        }
    };
    let space = Space::new(model::PARAMS, model::RULES);
    let wanted = Wanted { seed: options.seed, density: options.density, triples: options.triples };
    let mut cover = cover(&space, wanted);
    choose(&space, &mut cover, &options.only);
    if options.what == What::List {
        cover.cases.iter().for_each(|case| println!("{}", space.text(case)));
        return Ok(ExitCode::SUCCESS);
    }
    let fiord = match &options.fiord {
        Some(path) => path.canonicalize().with_context(|| path.display().to_string())?,
        None => build::as_tests_do()?.fiord,
    };
    let fio = fio(options.fio.as_deref())?;
    let sandbox = match Sandbox::new() {
        Err(error) if options.what == What::Smoke => {
            println!("skipped: {error:#}");
            return Ok(ExitCode::SUCCESS);
        }
        sandbox => sandbox?,
    };
    let known = KnownTable::new(&space);
    let version = fio.as_ref().map(|(_, version)| version.clone());
    let fio = fio.map(|(path, _)| path);
    let bench = Bench { space, sandbox, fiord, fio, limit: options.limit };
    match &options.what {
        What::Case(text) => one(&bench, &known, text),
        _ => many(&bench, &known, &cover, &options, version.as_deref()),
    }
}

/// Keeps the cases that have all options or subjects of `--only`.
fn choose(space: &Space, cover: &mut Cover, only: &[String]) {
    let has = |case: &Case, wanted: &String| {
        case.choices().any(|choice| {
            let mut words = space.value(choice).words.split_whitespace();
            space.name(choice) == wanted || words.any(|word| word.starts_with(wanted.as_str()))
        })
    };
    cover.cases.retain(|case| only.iter().all(|wanted| has(case, wanted)));
}

/// Returns the fio to compare with, and its version. Prints why there is none.
fn fio(named: Option<&Path>) -> Result<Option<(PathBuf, String)>> {
    let found = match named {
        Some(path) => Contender::new("fio", path)?,
        None => match Contender::new("fio", Path::new("fio")) {
            Ok(found) => found,
            Err(error) => {
                println!("without fio: {error:#}");
                return Ok(None);
            }
        },
    };
    let number = |text: &str| text.parse::<u32>().ok();
    let mut numbers = found.version.trim_start_matches("fio-").split(['.', '-']).map(number);
    let (major, minor) = (numbers.next().flatten(), numbers.next().flatten());
    if major.zip(minor).is_none_or(|version| version < OLDEST) {
        println!("without fio: {} is older than {}.{}", found.version, OLDEST.0, OLDEST.1);
        return Ok(None);
    }
    Ok(Some((found.program, found.version)))
}

/// Runs one case, and prints everything that is found.
fn one(bench: &Bench, known: &KnownTable, text: &str) -> Result<ExitCode> {
    let case = bench.space.parse(text);
    let case =
        case.with_context(|| format!("'{text}' has a word that is in no value of the model"))?;
    println!("{}", bench.space.args(&case).join(" "));
    if let Some((rule, why)) = bench.space.broken(&case) {
        println!("A rule excludes this case ({rule}): {why}");
    }
    let mut desk = Desk::new(&bench.sandbox.place, 0)?;
    let found = bench.examine(&mut desk, &case, |found| !found.is_empty())?;
    if found.refused {
        println!("No program ran the job.");
    }
    for difference in &found.differences {
        let mark = if known.find(&case, difference).is_some() { "known" } else { "     " };
        println!("{mark} {}", report::line(difference));
    }
    Ok(if found.differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the cases that are not finished, and prints a report.
fn many(
    bench: &Bench,
    known: &KnownTable,
    cover: &Cover,
    options: &Options,
    version: Option<&str>,
) -> Result<ExitCode> {
    let smoke = options.what == What::Smoke;
    let store = match smoke {
        true => None,
        false => Some(Store::open(&bench.fiord, version, options.seed)?),
    };
    if let Some(store) = &store {
        println!("results: {}", store.path.display());
    }
    let mut session = Session {
        bench,
        known,
        store: Mutex::new(None),
        records: Mutex::new(Vec::new()),
        deadline: smoke.then(|| Instant::now() + SMOKE),
    };
    let mut records = Vec::new();
    let mut left = Vec::new();
    for case in &cover.cases {
        let done = store.as_ref().and_then(|store| store.done.get(&bench.space.text(case)));
        match done {
            Some(record) if session.is_current(record) => records.push(record.clone()),
            _ => left.push(case.clone()),
        }
    }
    left.truncate(if options.what == What::Report { 0 } else { options.cases });
    session.records = Mutex::new(records);
    session.store = Mutex::new(store);
    session.run(&left, options.workers)?;
    let records = session.records.lock().map_err(|_| anyhow!("a worker panicked"))?.clone();
    let (text, classes) = report::report(&session, cover, &records);
    print!("{text}");
    Ok(if classes == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
