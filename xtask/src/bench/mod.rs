//! Side-by-side benchmarks: fiord and fio do the same work in turn, and what is printed is a ratio.
//!
//! Machines are noisy, so an absolute figure means nothing and none is stored. Each round runs every
//! contender once, in order, pinned to the same CPU; the ratio is taken within the round, and the
//! median of the rounds is what counts.

mod measure;
mod rows;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use measure::{Contender, Work};
use rows::{ROWS, Row};

const HELP: &str = "\
cargo xtask bench [OPTION…]

  --rounds N     rounds of each row (5)
  --seconds S    measured time of one run, may be a fraction (2)
  --fio PATH     the fio to compare with (fio from PATH)
  --fiord PATH   the fiord to measure (built in release mode)
  --cpu N        the CPU that everything is pinned to (0)
  --dir DIR      where the files of the work lie (a temporary directory)
  --row TEXT     only rows whose name contains this
  --json         print JSON instead of the table
  --smoke        one very short round of each row: shows that every row runs
";

/// What was asked for.
struct Options {
    rounds: usize,
    seconds: f64,
    fio: Option<PathBuf>,
    fiord: Option<PathBuf>,
    cpu: u32,
    dir: Option<PathBuf>,
    row: String,
    json: bool,
}

/// The ratios of one row, one a round.
struct Outcome {
    row: &'static Row,
    ratios: Vec<f64>,
}

/// Runs the benchmark.
pub fn main(args: &[String]) -> Result<()> {
    if args.iter().any(|a| a == "--help" || a == "-h") {
        print!("{HELP}");
        return Ok(());
    }
    let options = parse(args)?;
    let fiord = match &options.fiord {
        Some(path) => path.clone(),
        None => measure::build_fiord()?,
    };
    let fiord = Contender::new("fiord", fiord)?;
    let fio = Contender::new("fio", options.fio.clone().unwrap_or_else(|| "fio".into())).context(
        "there is nothing to compare with: install fio (apt-get install fio) or name one with --fio",
    )?;
    if !options.json {
        println!("{} against {}, pinned to CPU {}", fiord.version, fio.version, options.cpu);
        println!("ratio of I/Os a second, fiord / fio: median (lowest to highest round)\n");
    }
    let work = Work::prepare(options.dir.clone(), options.cpu, options.seconds)?;
    let mut outcomes = Vec::new();
    for row in ROWS.iter().filter(|row| row.name.contains(&options.row)) {
        let outcome = run_row(row, &work, &fiord, &fio, options.rounds)
            .with_context(|| format!("row '{}'", row.name))?;
        if !options.json {
            println!("{}", line(&outcome));
        }
        outcomes.push(outcome);
    }
    if options.json {
        let rows: Vec<_> = outcomes
            .iter()
            .map(|o| json!({"row": o.row.name, "job": o.row.job, "ratios": o.ratios, "median": median(&o.ratios)}))
            .collect();
        let all = json!({"fiord": fiord.version, "fio": fio.version, "rows": rows});
        println!("{}", serde_json::to_string_pretty(&all)?);
    }
    Ok(())
}

fn run_row(
    row: &'static Row,
    work: &Work,
    fiord: &Contender,
    fio: &Contender,
    rounds: usize,
) -> Result<Outcome> {
    let mut ratios = Vec::with_capacity(rounds);
    for _ in 0..rounds {
        let ours = work.run(fiord, row)?;
        let theirs = work.run(fio, row)?;
        ratios.push(ours / theirs);
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(Outcome { row, ratios })
}

fn line(outcome: &Outcome) -> String {
    let low = outcome.ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let high = outcome.ratios.iter().copied().fold(0.0, f64::max);
    let middle = median(&outcome.ratios);
    format!("{:<48} {middle:>6.2}  ({low:.2} to {high:.2})", outcome.row.name)
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

fn parse(args: &[String]) -> Result<Options> {
    let mut options = Options {
        rounds: 5,
        seconds: 2.0,
        fio: None,
        fiord: None,
        cpu: 0,
        dir: None,
        row: String::new(),
        json: false,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().with_context(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--rounds" => options.rounds = value()?.parse().context("--rounds")?,
            "--seconds" => options.seconds = value()?.parse().context("--seconds")?,
            "--fio" => options.fio = Some(value()?.into()),
            "--fiord" => options.fiord = Some(value()?.into()),
            "--cpu" => options.cpu = value()?.parse().context("--cpu")?,
            "--dir" => options.dir = Some(value()?.into()),
            "--row" => options.row = value()?.clone(),
            "--json" => options.json = true,
            "--smoke" => (options.rounds, options.seconds) = (1, 0.2),
            other => bail!("no option is called {other}\n\n{HELP}"),
        }
    }
    if options.rounds == 0 {
        bail!("--rounds must be at least 1");
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }

    #[test]
    fn options_are_checked() {
        assert!(parse(&["--rounds".into()]).is_err());
        assert!(parse(&["--rounds".into(), "0".into()]).is_err());
        assert!(parse(&["--fast".into()]).is_err());
        assert!(parse(&["--smoke".into(), "--cpu".into(), "1".into()]).is_ok());
    }
}
