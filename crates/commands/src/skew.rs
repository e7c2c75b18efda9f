//! `fiord skew`: shows how a random distribution spreads the I/O over the data.

use std::fmt::Write as _;

use fiord_job::load::MachineLoader;
use fiord_load::skew::Curve;
use fiord_plan::JobPlan;
use fiord_stat::units;
use fiord_types::Dir;
use serde_json::{Value, json};

use crate::rejected::{self, Rejected};
use crate::session::{CannotPrint, CommandEnd, Session};

/// Percentages of the data for which the table shows the share of the I/O.
const DATA: [f64; 12] = [0.01, 0.1, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0, 70.0, 90.0, 100.0];
/// Percentages of the I/O for which the table shows the share of the data.
const IO: [f64; 4] = [50.0, 80.0, 90.0, 99.0];
/// Width and height of the plot in characters.
const WIDTH: usize = 60;
const HEIGHT: usize = 15;

/// Command line of `fiord skew`.
#[derive(Debug, clap::Args)]
pub struct SkewArgs {
    /// Job file with random jobs; alternatively, give --distribution.
    #[arg(required_unless_present = "distribution", conflicts_with = "distribution")]
    file: Option<String>,
    /// Distribution in the syntax of random_distribution.
    #[arg(long)]
    distribution: Option<String>,
    /// Size of the data.
    #[arg(long, default_value = "1t", conflicts_with = "file")]
    size: String,
    /// Block size.
    #[arg(long, default_value = "4k", conflicts_with = "file")]
    bs: String,
    /// Output format.
    #[arg(long, default_value = "normal", value_parser = ["normal", "json"])]
    format: String,
}

/// Why the distribution cannot be shown.
#[derive(Debug, thiserror::Error)]
pub enum SkewError {
    /// The job or the distribution is wrong.
    #[error(transparent)]
    Rejected(#[from] Rejected),
    /// All jobs are sequential.
    #[error("the file has no random job, so all data gets the same I/O")]
    NoRandomJob,
    /// The report cannot be written.
    #[error(transparent)]
    Print(#[from] CannotPrint),
}

/// Prints the report.
///
/// # Errors
/// The job is wrong, or none of them is random.
pub fn run(args: &SkewArgs, session: &mut Session) -> Result<CommandEnd, SkewError> {
    session.print(&args.report()?)?;
    Ok(CommandEnd::Done)
}

impl SkewArgs {
    fn report(&self) -> Result<String, SkewError> {
        let jobs = self.jobs()?;
        let mut all = Vec::new();
        for job in jobs.iter().filter(|job| job.load.random && job.identity.instance == 0) {
            all.extend(job.load.mix.dirs().filter_map(|dir| Shown::new(job, dir)));
        }
        if all.is_empty() {
            return Err(SkewError::NoRandomJob);
        }
        if self.format == "json" {
            let list: Vec<Value> = all.iter().map(Shown::json).collect();
            return Ok(format!("{:#}\n", json!({ "skew": list })));
        }
        Ok(all.iter().map(Shown::text).collect::<Vec<_>>().join("\n"))
    }

    /// Returns the jobs of the file, or the job that the options describe.
    fn jobs(&self) -> Result<Vec<JobPlan>, Rejected> {
        let args = match (&self.file, &self.distribution) {
            (Some(file), _) => vec![file.clone()],
            (None, distribution) => vec![
                "--name=skew".into(),
                "--ioengine=null".into(),
                "--rw=randread".into(),
                "--filename=data".into(),
                format!("--size={}", self.size),
                format!("--bs={}", self.bs),
                format!("--random_distribution={}", distribution.as_deref().unwrap_or("random")),
            ],
        };
        Ok(rejected::plan(&rejected::parse(&args, &mut MachineLoader)?)?.jobs)
    }
}

/// The distribution of one job in one direction.
struct Shown {
    job: String,
    dir: Dir,
    bytes: u64,
    block: u64,
    curve: Curve,
}

impl Shown {
    fn new(job: &JobPlan, dir: Dir) -> Option<Self> {
        let file = job.target.files.first()?;
        Some(Shown {
            job: job.identity.name.clone(),
            dir,
            bytes: file.len.0,
            block: job.load.align[dir],
            curve: Curve::new(&job.load, file, dir),
        })
    }

    fn direction(&self) -> &'static str {
        match self.dir {
            Dir::Read => "read",
            Dir::Write => "write",
            Dir::Trim => "trim",
        }
    }

    fn json(&self) -> Value {
        let data: Vec<Value> = DATA
            .iter()
            .map(
                |d| json!({ "data_percent": d, "io_percent": self.curve.io_of(d / 100.0) * 100.0 }),
            )
            .collect();
        let io: Vec<Value> = IO
            .iter()
            .map(|io| {
                let data = self.curve.data_of(io / 100.0);
                let bytes = (data * self.bytes as f64).round() as u64;
                json!({ "io_percent": io, "data_percent": data * 100.0, "data_bytes": bytes })
            })
            .collect();
        json!({
            "job": self.job,
            "direction": self.direction(),
            "bytes": self.bytes,
            "block_bytes": self.block,
            "hottest_data": data,
            "hottest_io": io,
        })
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{}: {} of {} in blocks of {}\n\n  hottest data                   gets of the I/O\n",
            self.job,
            self.direction(),
            size(self.bytes as f64),
            size(self.block as f64)
        );
        for data in DATA {
            let share = data / 100.0;
            let bytes = size(share * self.bytes as f64);
            let io = self.curve.io_of(share) * 100.0;
            let _ = writeln!(text, "  {data:>7.2} %  {bytes:>12}       {io:>7.2} %");
        }
        text.push_str("\n  share of the I/O               goes to this much data\n");
        for io in IO {
            let data = self.curve.data_of(io / 100.0);
            let bytes = size(data * self.bytes as f64);
            let _ = writeln!(text, "  {io:>7.2} %  {bytes:>12}       {:>9.4} %", data * 100.0);
        }
        text.push_str(&self.plot());
        text
    }

    /// Plots the share of the I/O over the share of the data.
    fn plot(&self) -> String {
        let mut text = String::from("\n  I/O\n");
        let heights: Vec<f64> = (1..=WIDTH)
            .map(|column| self.curve.io_of(column as f64 / WIDTH as f64) * HEIGHT as f64)
            .collect();
        for row in (0..HEIGHT).rev() {
            let label = match row {
                r if r + 1 == HEIGHT => "100 %",
                r if r == HEIGHT / 2 => " 50 %",
                _ => "     ",
            };
            let line: String = heights
                .iter()
                .map(|h| match h - row as f64 {
                    over if over >= 0.75 => '█',
                    over if over >= 0.25 => '▄',
                    _ => ' ',
                })
                .collect();
            let _ = writeln!(text, "  {label} |{}", line.trim_end());
        }
        let _ = writeln!(text, "        +{}", "-".repeat(WIDTH));
        let _ = writeln!(text, "         0 %{:>1$} % hottest data", 100, WIDTH - 5);
        text
    }
}

/// Formats bytes with a binary unit.
fn size(bytes: f64) -> String {
    let scaled = units::BINARY.of(bytes);
    scaled.text(if scaled.index == 0 || scaled.is_whole() { 0 } else { 2 })
}
