//! Cost per I/O of each source and each content: `cargo run --release -p fiord-load --example load-cost`.
//!
//! `--contents` measures only the contents. `--once N KIND` draws N I/Os from one source without timing
//! them, to count instructions under `valgrind --tool=callgrind`.

use std::hint::black_box;
use std::time::Instant;

use fiord_load::{
    AnyContent, Content, Io, IoAttributes, LoadError, Next, Source, SourceVisitor, with_source,
};
use fiord_plan::{BlockSize, Distribution, EnginePlan, JobPlan, Law, Mix, Skew};
use fiord_types::{Bytes, Dir, FileIndex};

/// Number of buffers: few, like those of an engine at a low queue depth.
const BUFFERS: usize = 2;

/// Draws this many I/Os and returns nanoseconds per I/O.
struct Take(u64);

impl SourceVisitor for Take {
    type Out = f64;

    fn visit<S: Source>(self, mut source: S) -> f64 {
        let begin = Instant::now();
        for _ in 0..self.0 {
            if black_box(source.next()) == Next::End {
                source.restart();
            }
        }
        begin.elapsed().as_nanos() as f64 / self.0 as f64
    }
}

/// Fills buffers of this many bytes and returns nanoseconds per buffer.
fn fill_cost(job: &JobPlan, bytes: usize) -> Result<f64, LoadError> {
    let mut content = AnyContent::of(job, 1)?;
    let mut buffers = vec![vec![0; bytes]; BUFFERS];
    buffers.iter_mut().for_each(|buffer| content.prepare(buffer));
    let n = (1 << 30) / bytes;
    let begin = Instant::now();
    for i in 0..n {
        let offset = (i * bytes) as u64;
        let io = Io {
            dir: Dir::Write,
            file: FileIndex(0),
            offset,
            len: bytes as u32,
            attributes: IoAttributes::PLAIN,
        };
        content.fill(black_box(&mut buffers[i % BUFFERS]), &io);
    }
    Ok(begin.elapsed().as_nanos() as f64 / n as f64)
}

fn job(kind: &str) -> Option<JobPlan> {
    // Just above a power of two of blocks: the worst case of the permutation.
    let size = if kind == "permuted-worst" { 4097 << 20 } else { 3_840_755_982_336 };
    let mut job = JobPlan::plain(EnginePlan::Null, size);
    job.load.random = kind != "sequential";
    match kind {
        "sequential" | "permuted" | "permuted-worst" => {}
        "uniform" => job.load.no_map = true,
        "mix" => job.load.mix = Mix::ReadWrite { read_percent: 70 },
        "zipf" | "pareto" | "normal" => {
            let law = match kind {
                "zipf" => Law::Zipf { theta: 1.2 },
                "pareto" => Law::Pareto { h: 0.2 },
                _ => Law::Normal { widening: 10.0 },
            };
            job.load.distribution = Distribution::Skewed(Skew { law, centre: Some(0.5) });
            job.load.no_map = true;
        }
        "mapped" => {
            job = JobPlan::plain(EnginePlan::Null, 16 << 30);
            job.load.random = true;
            job.load.blocks[Dir::Read] = BlockSize::Split(vec![(4096, 60), (16384, 40)]);
        }
        "files" => {
            job.target.files = vec![job.target.files[0].clone(); 1000];
            job.target.open_files = 1000;
        }
        _ => return None,
    }
    Some(job)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().collect();
    if let [_, once, n, kind] = &args[..]
        && once == "--once"
    {
        let job = job(kind).ok_or("no such kind of source")?;
        with_source(&job, Take(n.parse()?))?;
        return Ok(());
    }
    if args.get(1).is_some_and(|arg| arg == "--contents") {
        return contents();
    }
    let kinds = [
        "sequential",
        "permuted",
        "permuted-worst",
        "uniform",
        "mix",
        "zipf",
        "pareto",
        "normal",
        "mapped",
        "files",
    ];
    for kind in kinds {
        let job = job(kind).ok_or("no such kind of source")?;
        println!("{kind:16} {:8.2} ns/IO", with_source(&job, Take(20_000_000))?);
    }
    contents()
}

/// Nanoseconds to set this many bytes, in turn in as many buffers as `fill_cost` uses.
fn memset_cost(bytes: usize) -> f64 {
    let mut buffers = vec![vec![0u8; bytes]; BUFFERS];
    let n = (1 << 30) / bytes;
    let begin = Instant::now();
    for i in 0..n {
        black_box(&mut buffers[i % BUFFERS]).fill(i as u8);
    }
    begin.elapsed().as_nanos() as f64 / n as f64
}

/// Prints the cost of every content for some block sizes, in nanoseconds and relative to `memset`:
/// the median of seven rounds in which the contents take turns.
fn contents() -> Result<(), Box<dyn std::error::Error>> {
    use fiord_plan::{Compress, ContentPlan as Kind, Dedupe, Shape};
    let compress = Compress { percent: 50, chunk: Bytes(512), pattern: vec![] };
    let dedupe = Dedupe { percent: 50, working_set: None, global: false, blocks: 1 << 20 };
    let shaped = |compress: Option<&Compress>, dedupe: Option<&Dedupe>| {
        Kind::Shaped(Shape { compress: compress.cloned(), dedupe: dedupe.cloned() })
    };
    let kinds = [
        ("zero", Kind::Zero),
        ("scramble", Kind::Scramble),
        ("refill", Kind::Refill),
        ("compress 50 %", shaped(Some(&compress), None)),
        ("dedupe 50 %", shaped(None, Some(&dedupe))),
        ("both", shaped(Some(&compress), Some(&dedupe))),
    ];
    for size in [512, 4096, 65536, 131_072, 1 << 20] {
        let mut rounds: Vec<(f64, Vec<f64>)> = Vec::new();
        for _ in 0..7 {
            let memset = memset_cost(size);
            let mut costs = Vec::new();
            for (_, content) in &kinds {
                let content = content.clone();
                let job = JobPlan { content, ..JobPlan::plain(EnginePlan::Null, 1 << 30) };
                costs.push(fill_cost(&job, size)?);
            }
            rounds.push((memset, costs));
        }
        println!("{:16} {size:8} {:10.1} ns/write", "memset", median(rounds.iter().map(|r| r.0)));
        for (i, (name, _)) in kinds.iter().enumerate() {
            let cost = median(rounds.iter().map(|r| r.1[i]));
            let ratio = median(rounds.iter().map(|r| r.1[i] / r.0));
            let speed = size as f64 / cost * 1e9 / f64::from(1 << 30);
            println!(
                "{name:16} {size:8} {cost:10.1} ns/write {speed:8.1} GiB/s {ratio:6.2} x memset"
            );
        }
    }
    Ok(())
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
