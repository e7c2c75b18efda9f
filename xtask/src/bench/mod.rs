//! Side-by-side benchmarks: fiord, fio and the bare loop do the same work in turn, and the output is the
//! ratios of their results.
//!
//! Machines are noisy, so an absolute number means nothing and is not stored. Each round runs every contender
//! once, in order, pinned to the same CPU. The ratio is taken within a round, and the result is the median
//! over the rounds.
//!
//! | question | module |
//! |---|---|
//! | what is measured, compared and required | `rows.rs` (`row.rs`: the types) |
//! | which programs | `contender.rs` |
//! | on which files and devices | `place.rs` |
//! | how a result is measured | `measure.rs`, `watch.rs` |
//! | how the results are printed | `output.rs` |

pub(crate) mod contender;
mod measure;
mod output;
mod patience;
mod place;
mod row;
mod rows;
mod servers;
mod watch;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use crate::args::Args;
use crate::build::{self, Built};
use contender::Contender;
use measure::MeasureOptions;
use output::{Outcome, Ratios};
use patience::NotHere;
use place::Place;
use row::{Bound, Row, Than};

const HELP: &str = "\
cargo xtask bench [OPTION…]

  --rounds N        rounds of each row (5)
  --seconds S       measured time of one run, which may be a fraction (2)
  --fio PATH        the fio to compare with (fio from PATH)
  --plain-fio PATH  a fio that is not built for the native CPU, so that valgrind can run it
                    (/usr/bin/fio if it exists, otherwise the value of --fio)
  --t-io-uring PATH fio's t/io_uring (io_uring in the directory of --fio, if it exists)
  --fiord PATH      the fiord to measure (built in release mode)
  --against PATH    compare with this fiord only, such as one from before a change
  --bare PATH       the bare loop (built in release mode)
  --cpu N           the CPU to which everything is pinned (0); two jobs also use the next one
  --dir DIR         the directory for the files (a temporary directory; for names one in memory, /dev/shm)
  --row TEXT        run only rows whose name contains this; may be given more than once
  --per-cpu         compare I/Os per second of CPU time, for a machine that other programs use too
  --layout-mib N    size in MiB of the file that is laid out (4096)
  --json            print JSON instead of the table
  --smoke           run one very short round of each row, to show that every row works;
                    fiord is built as for tests
";

/// Command-line options.
struct Options {
    rounds: usize,
    fio: Option<PathBuf>,
    plain_fio: Option<PathBuf>,
    tool: Option<PathBuf>,
    fiord: Option<PathBuf>,
    against: Option<PathBuf>,
    bare: Option<PathBuf>,
    dir: Option<PathBuf>,
    rows: Vec<String>,
    json: bool,
    build: fn() -> Result<Built>,
    measure: MeasureOptions,
}

/// The comparison of every row with `--against`.
const OTHER_FIORD: &[(Than, Bound)] = &[(Than::OtherFiord, Bound::Any)];

/// The programs to measure.
struct Contenders {
    fiord: Contender,
    /// The only program to compare with (`--against`).
    other_fiord: Option<Contender>,
    fio: Contender,
    plain_fio: Contender,
    tool: Option<PathBuf>,
    bare: PathBuf,
}

impl Contenders {
    fn of(options: &Options) -> Result<Self> {
        let built = match (&options.fiord, &options.bare) {
            (Some(fiord), Some(bare)) => Built { fiord: fiord.clone(), bare_loop: bare.clone() },
            _ => (options.build)()?,
        };
        let fiord = options.fiord.clone().unwrap_or(built.fiord);
        if let Some(path) = &options.against {
            let other = Contender::new("fiord", path)?;
            let (fio, plain_fio, bare) = (other.clone(), other.clone(), PathBuf::new());
            return Ok(Contenders {
                fiord: Contender::new("fiord", &fiord)?,
                other_fiord: Some(other),
                fio,
                plain_fio,
                tool: None,
                bare,
            });
        }
        let bare = match &options.bare {
            Some(path) => path.canonicalize().with_context(|| path.display().to_string())?,
            None => built.bare_loop,
        };
        let fio = options.fio.clone().unwrap_or_else(|| "fio".into());
        let distributed = Path::new("/usr/bin/fio");
        let plain_fio = match &options.plain_fio {
            Some(path) => path.clone(),
            None if distributed.exists() => distributed.into(),
            None => fio.clone(),
        };
        let beside = || options.fio.as_ref().map(|fio| fio.with_file_name("io_uring"));
        let tool = options.tool.clone().or_else(beside).filter(|path| path.exists());
        let missing = "no fio to compare with. To fix: install fio (apt-get install fio), or name \
                       one with --fio";
        Ok(Contenders {
            fiord: Contender::new("fiord", &fiord)?,
            other_fiord: None,
            fio: Contender::new("fio", &fio).context(missing)?,
            plain_fio: Contender::new("fio", &plain_fio)?,
            tool: tool.map(|path| path.canonicalize()).transpose()?,
            bare,
        })
    }

    /// Returns the comparisons of a row.
    fn comparisons(&self, row: &Row) -> &'static [(Than, Bound)] {
        if self.other_fiord.is_some() { OTHER_FIORD } else { row.than }
    }

    /// Measures the program that a row compares fiord with.
    fn other(&self, row: &Row, than: &Than, place: &mut Place, how: MeasureOptions) -> Result<f64> {
        match than {
            Than::Fio | Than::OtherFiord => {
                measure::figure(&self.fio, row.what, row.job, place, how)
            }
            Than::PlainFio => measure::figure(&self.plain_fio, row.what, row.job, place, how),
            Than::Tool(settings) => measure::tool(self.tool.as_deref(), settings, place, how),
            Than::Itself(_, job) => measure::figure(&self.fiord, row.what, *job, place, how),
            Than::Bare(settings) => {
                measure::bare(&self.bare, settings, row.what, row.job, place, how)
            }
            Than::Dd => measure::dd(place, how),
        }
    }
}

/// Runs the benchmark.
pub(crate) fn main(args: &[String]) -> Result<()> {
    if args.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let options = parse(args)?;
    let contenders = Contenders::of(&options)?;
    if !options.json {
        let (fiord, fio) = (&contenders.fiord.version, &contenders.fio.version);
        println!("{fiord} compared with {fio}, pinned to CPU {}", options.measure.cpu);
        let rate = if options.measure.per_cpu { "CPU second" } else { "second" };
        println!("ratios of {} rounds; a rate is I/Os per {rate}\n", options.rounds);
        print!("{}", output::head());
    }
    let mut place = Place::prepare(options.dir.clone())?;
    let mut outcomes = Vec::new();
    for row in rows::all().filter(|row| wanted(row, &options.rows)) {
        let outcome = run_row(row, &contenders, &mut place, &options)
            .with_context(|| format!("row '{}'", row.name))?;
        if !options.json {
            print!("{}", output::lines(&outcome));
        }
        outcomes.push(outcome);
    }
    if options.json {
        let rows: Vec<_> = outcomes.iter().map(output::value).collect();
        let all = json!({
            "fiord": contenders.fiord.version,
            "fio": contenders.fio.version,
            "plain_fio": contenders.plain_fio.version,
            "per_cpu": options.measure.per_cpu,
            "rows": rows,
        });
        println!("{}", serde_json::to_string_pretty(&all)?);
    }
    Ok(())
}

fn wanted(row: &Row, texts: &[String]) -> bool {
    texts.is_empty() || texts.iter().any(|text| row.name.contains(text.as_str()))
}

fn run_row(
    row: &'static Row,
    contenders: &Contenders,
    place: &mut Place,
    options: &Options,
) -> Result<Outcome> {
    let mut outcome = Outcome {
        row,
        figures: Vec::new(),
        missing: None,
        ratios: contenders
            .comparisons(row)
            .iter()
            .map(|(than, bound)| Ratios {
                than: than.name(),
                bound: *bound,
                rounds: Vec::new(),
                missing: None,
            })
            .collect(),
    };
    for _ in 0..options.rounds {
        let ours = measure::figure(&contenders.fiord, row.what, row.job, place, options.measure);
        let ours = match or_reason(ours)? {
            Ok(ours) => ours,
            Err(NotHere(why)) => {
                outcome.missing = Some(why);
                return Ok(outcome);
            }
        };
        outcome.figures.push(ours);
        for ((than, _), ratios) in contenders.comparisons(row).iter().zip(&mut outcome.ratios) {
            match or_reason(contenders.other(row, than, place, options.measure))? {
                Ok(theirs) => ratios.rounds.push(ours / theirs),
                Err(NotHere(why)) => ratios.missing = Some(why),
            }
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(outcome)
}

/// Separates measurements that this machine cannot make from failures.
fn or_reason(result: Result<f64>) -> Result<Result<f64, NotHere>> {
    match result {
        Ok(figure) => Ok(Ok(figure)),
        Err(e) => e.downcast::<NotHere>().map(Err),
    }
}

fn parse(args: &[String]) -> Result<Options> {
    let how = MeasureOptions {
        cpu: 0,
        seconds: 2.0,
        layout: 4 << 30,
        files: 100_000,
        names: 40_000,
        limit: Duration::from_secs(600),
        per_cpu: false,
    };
    let mut options = Options {
        rounds: 5,
        fio: None,
        plain_fio: None,
        tool: None,
        fiord: None,
        against: None,
        bare: None,
        dir: None,
        rows: Vec::new(),
        json: false,
        build: build::release,
        measure: how,
    };
    let mut args = Args::new(args);
    while let Some(option) = args.option() {
        match option {
            "--rounds" => options.rounds = args.value()?,
            "--seconds" => options.measure.seconds = args.value()?,
            "--fio" => options.fio = Some(args.value()?),
            "--plain-fio" => options.plain_fio = Some(args.value()?),
            "--t-io-uring" => options.tool = Some(args.value()?),
            "--fiord" => options.fiord = Some(args.value()?),
            "--against" => options.against = Some(args.value()?),
            "--bare" => options.bare = Some(args.value()?),
            "--cpu" => options.measure.cpu = args.value()?,
            "--dir" => options.dir = Some(args.value()?),
            "--row" => options.rows.push(args.value()?),
            "--per-cpu" => options.measure.per_cpu = true,
            "--layout-mib" => {
                let mib: u64 = args.value()?;
                options.measure.layout = mib.max(1) << 20;
            }
            "--json" => options.json = true,
            "--smoke" => {
                (options.rounds, options.build) = (1, build::as_tests_do);
                (options.measure.seconds, options.measure.layout) = (0.1, 16 << 20);
                (options.measure.files, options.measure.names) = (200, 2000);
                options.measure.limit = Duration::from_secs(120);
            }
            _ => return Err(args.unknown(HELP)),
        }
    }
    if options.rounds == 0 {
        bail!("--rounds must be at least 1");
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use fiord_job::option::def::Support;
    use fiord_job::option::engine::EngineDef;
    use fiord_job::option::table;

    use fiord_job::option::engine::SupportedDirections;

    use super::*;

    #[test]
    fn options_are_checked() {
        assert!(parse(&["--rounds".into()]).is_err());
        assert!(parse(&["--rounds".into(), "0".into()]).is_err());
        assert!(parse(&["--fast".into()]).is_err());
        assert!(parse(&["--smoke".into(), "--cpu".into(), "1".into()]).is_ok());
    }

    #[test]
    fn row_names_are_unique() {
        for (i, row) in rows::all().enumerate() {
            assert!(rows::all().take(i).all(|other| other.name != row.name), "{}", row.name);
            assert!(!row.than.is_empty(), "{}", row.name);
        }
    }

    #[test]
    fn every_engine_that_needs_no_special_device_has_a_row() {
        let supported =
            |engine: &&EngineDef| engine.support == Support::Built && engine.runs_as.is_empty();
        let anywhere = |engine: &&EngineDef| {
            !engine.access.needs_device() && !engine.virtual_time && engine.runs_as.is_empty()
        };
        // A program, a library and a file system with extents are not the same everywhere. A stream may need a device, and a
        // vendor's library a cluster.
        let special = |engine: &&EngineDef| {
            engine.runs_programs
                || engine.directions == SupportedDirections::Writes
                || engine.access.is_remote() && !engine.needs.is_empty()
        };
        let engines = table::engines().iter().filter(supported).filter(anywhere);
        for engine in engines.filter(|engine| !special(engine)) {
            let option = format!("--ioengine={}", engine.name);
            assert!(rows::all().any(|row| row.job.has(&option)), "{option}");
        }
    }
}
