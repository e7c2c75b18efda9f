//! What a source and a content cost for each I/O: `cargo run --release -p fiord-load --example load-cost`.
//!
//! With `--once N KIND` one source hands out N I/Os and nothing is timed, for counting instructions
//! under `valgrind --tool=callgrind`.

use std::hint::black_box;
use std::time::Instant;

use fiord_load::{
    AnyContent, Content, Dir, Io, LoadError, Next, Source, SourceVisitor, with_source,
};
use fiord_plan::{BlockSize, Distribution, EnginePlan, JobPlan, Law, Mix, Skew};

/// Takes this many I/Os and returns nanoseconds for each.
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

/// Fills buffers of this many bytes and returns nanoseconds for each.
fn fill_cost(job: &JobPlan, bytes: usize) -> Result<f64, LoadError> {
    let mut content = AnyContent::of(job, 1)?;
    let mut buffers = vec![vec![0; bytes]; 32];
    buffers.iter_mut().for_each(|buffer| content.prepare(buffer));
    let n = (1 << 30) / bytes;
    let begin = Instant::now();
    for i in 0..n {
        let io = Io { dir: Dir::Write, file: 0, offset: i as u64, len: bytes as u32 };
        content.fill(black_box(&mut buffers[i % 32]), &io);
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
                _ => Law::Normal { deviation: 10.0 },
            };
            job.load.distribution = Distribution::Skewed(Skew { law, centre: Some(0.5) });
            job.load.no_map = true;
        }
        "mapped" => {
            job = JobPlan::plain(EnginePlan::Null, 16 << 30);
            job.load.random = true;
            job.load.blocks[0] = BlockSize::Split(vec![(4096, 60), (16384, 40)]);
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
    let contents = [
        ("zero", fiord_plan::Content::Zero),
        ("scramble", fiord_plan::Content::Scramble),
        ("refill", fiord_plan::Content::Refill),
    ];
    for (name, content) in contents {
        for size in [4096, 131_072] {
            let job =
                JobPlan { content: content.clone(), ..JobPlan::plain(EnginePlan::Null, 1 << 30) };
            println!("{name:10} {size:6} {:8.1} ns/write", fill_cost(&job, size)?);
        }
    }
    Ok(())
}
