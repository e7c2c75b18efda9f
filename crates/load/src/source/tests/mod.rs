//! Tests of whole sources, which are driven like a worker drives them.

mod again;
mod mixed;
mod one_each;
mod promises;
mod sprandom;
mod spread;
mod strided;
mod totals;

use fiord_plan::*;
use fiord_types::{Bytes, Dir, PerDir};

use super::{SourceVisitor, with_source};
use crate::{Next, Source};

/// A job from options in the words of a job file, as far as they concern the load.
fn job(words: &str) -> JobPlan {
    let mut job = JobPlan::plain(EnginePlan::Null, 0);
    let (mut size, mut files, mut io_size, mut open) = (0, 1, None, None);
    for word in words.split_whitespace() {
        let (name, value) = word.split_once('=').unwrap_or((word, "1"));
        match name {
            "size" => size = bytes(value),
            "io_size" => io_size = Some(bytes(value)),
            "nrfiles" => files = value.parse().unwrap(),
            "openfiles" => open = Some(value.parse().unwrap()),
            "file_size" => job.target.files[0].size_now = Some(Bytes(bytes(value))),
            "offset" => job.target.files[0].offset = Bytes(bytes(value)),
            "number_ios" => job.end.ios = Some(value.parse().unwrap()),
            "loops" => job.end.loops = value.parse().unwrap(),
            "file_service_type" => job.target.service = service(value),
            _ => load_word(&mut job.load, name, value),
        }
    }
    let each = size / files;
    let file = FilePlan { len: Bytes(each), ..job.target.files[0].clone() };
    job.target.files = vec![file; files as usize];
    job.target.open_files = open.unwrap_or(files as u32);
    job.end.bytes = Bytes(io_size.unwrap_or(each * files));
    job.end.sized = io_size.is_some();
    if let Some(plan) = job.load.sprandom {
        let block = job.load.blocks[Dir::Write].min();
        job.end.bytes = Bytes(files * plan.writes(each, block) * u64::from(block));
    }
    job
}

fn bytes(text: &str) -> u64 {
    let (number, unit) = match text.as_bytes()[text.len() - 1] {
        b'k' => (&text[..text.len() - 1], 1 << 10),
        b'm' => (&text[..text.len() - 1], 1 << 20),
        b'g' => (&text[..text.len() - 1], 1 << 30),
        b't' => (&text[..text.len() - 1], 1 << 40),
        _ => (text, 1),
    };
    number.parse::<u64>().unwrap() * unit
}

fn service(text: &str) -> FileService {
    let (word, number) = text.split_once(':').unwrap_or((text, "1"));
    match word {
        "random" => FileService::Random(number.parse().unwrap()),
        "roundrobin" => FileService::RoundRobin(number.parse().unwrap()),
        "sequential" => FileService::Sequential,
        _ => FileService::Skewed(skew_of(text).unwrap()),
    }
}

fn load_word(load: &mut Load, name: &str, value: &str) {
    let number = || value.parse::<u32>().unwrap();
    match name {
        "rw" => rw(load, value),
        "bs" => {
            let sizes = value.split(',').map(|v| BlockSize::Fixed(bytes(v) as u32));
            blocks(load, sizes.collect());
        }
        "bsrange" => {
            let (min, max) = value.split_once('-').unwrap();
            let range = BlockSize::Range { min: bytes(min) as u32, max: bytes(max) as u32 };
            blocks(load, vec![range]);
        }
        "bssplit" => {
            let share = |part: &str| {
                let (size, share) = part.split_once('/').unwrap();
                (bytes(size) as u32, share.parse().unwrap())
            };
            let list = |list: &str| BlockSize::Split(list.split(':').map(share).collect());
            blocks(load, value.split(',').map(list).collect());
        }
        "bs_unaligned" => load.unaligned = true,
        "ba" => (load.align, load.no_map) = (PerDir::all(bytes(value)), true),
        "norandommap" => load.no_map = true,
        "percentage_random" => load.random_percent = PerDir::all(number() as u8),
        "rw_sequencer" => load.sequencer = Sequencer::Identical,
        "rwmixread" => load.mix = Mix::ReadWrite { read_percent: number() as u8 },
        "fsync" => load.fsync = number(),
        "fdatasync" => load.fdatasync = number(),
        "sync_file_range" => {
            load.sync_file_range = Some((value.split_once(':').unwrap().1.parse().unwrap(), 2));
        }
        "random_distribution" => {
            load.distribution = distribution(value);
            load.no_map = true;
        }
        "strided" => {
            let parts: Vec<u64> = value.split(':').map(bytes).collect();
            let skip = ZoneSkip::Bytes(Bytes(parts[2]));
            load.strided =
                Some(Strided { transfer: Bytes(parts[0]), range: Bytes(parts[1]), skip });
        }
        "sprandom" => {
            let (regions, spare) = value.split_once(':').unwrap();
            let (regions, spare) = (regions.parse().unwrap(), spare.parse().unwrap());
            load.sprandom = Some(SpRandom { regions, spare, late: false });
        }
        "random_generator" => load.generator = Generator::Lfsr,
        "randrepeat" => load.repeat = number() == 1,
        "seed" => load.seed = number().into(),
        _ => panic!("{name}"),
    }
}

fn distribution(text: &str) -> Distribution {
    let (word, rest) = text.split_once(':').unwrap();
    let zone = |part: &str| {
        let (share, size) = part.split_once('/').unwrap();
        let size = match word {
            "zoned" => ZoneSize::Percent(size.parse().unwrap()),
            _ => ZoneSize::Bytes(Bytes(bytes(size))),
        };
        ZoneShare { share: share.parse().unwrap(), size }
    };
    match word {
        "zoned" | "zoned_abs" => {
            let lists: Vec<&str> = rest.split(',').collect();
            let list = |i: usize| lists.get(i).unwrap_or(&lists[lists.len() - 1]);
            Distribution::Zoned(PerDir::from_fn(|dir| {
                list(dir as usize).split(':').map(zone).collect()
            }))
        }
        "sequence" | "strides" => Distribution::Sequence {
            blocks: rest.split(',').map(|n| n.parse().unwrap()).collect(),
            stride: word == "strides",
        },
        _ => Distribution::Skewed(skew_of(text).unwrap()),
    }
}

fn blocks(load: &mut Load, sizes: Vec<BlockSize>) {
    let of = |dir: Dir| sizes.get(dir as usize).unwrap_or(&sizes[sizes.len() - 1]).clone();
    load.blocks = PerDir::from_fn(of);
    load.align = PerDir::from_fn(|dir| of(dir).min().into());
}

fn rw(load: &mut Load, value: &str) {
    let (word, step) = value.split_once(':').map_or((value, None), |(w, s)| (w, Some(s)));
    load.random = word.starts_with("rand");
    load.mix = match word.trim_start_matches("rand") {
        "read" => Mix::Read,
        "write" => Mix::Write,
        "trim" => Mix::Trim,
        "rw" => Mix::ReadWrite { read_percent: 50 },
        "trimwrite" => Mix::TrimWrite,
        _ => panic!("{word}"),
    };
    load.step = match step {
        None => Step::None,
        Some(n) if load.random => Step::EveryNth(n.parse().unwrap()),
        Some(n) => Step::Skip(match n.strip_prefix('-') {
            Some(n) => -(bytes(n) as i64),
            None => bytes(n) as i64,
        }),
    };
}

/// Drives a source like a worker does, over all loops, and records its answers.
struct Drive {
    loops: u64,
    most: usize,
}

impl SourceVisitor for Drive {
    type Out = Vec<Next>;

    fn visit<S: Source>(self, mut source: S) -> Vec<Next> {
        let (mut said, mut left, mut drawn) = (Vec::new(), self.loops, false);
        while said.len() < self.most {
            let next = source.next();
            said.push(next);
            drawn |= matches!(next, Next::Io(_));
            if next == Next::End {
                assert_eq!(source.next(), Next::End, "an end is an end");
                left -= 1;
                if left == 0 || !drawn {
                    break;
                }
                drawn = false;
                source.restart();
            }
        }
        said
    }
}

/// All answers of the source of a job, at most `most`.
fn said(job: &JobPlan, most: usize) -> Vec<Next> {
    with_source(job, Drive { loops: job.end.loops, most }).unwrap()
}

/// The I/Os among the answers.
fn ios(job: &JobPlan) -> Vec<crate::Io> {
    let ios = |next| match next {
        Next::Io(io) => Some(io),
        _ => None,
    };
    said(job, 1 << 20).into_iter().filter_map(ios).collect()
}
