//! Draws jobs. The seed is the number of the case.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;

use crate::dice::Dice;
use crate::fiord::Place;

pub(crate) const KIB: u64 = 1024;
/// Size of the file of jobs on files.
pub(crate) const FILE: u64 = 1024 * KIB;

/// What the file holds after its first part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    Data,
    Hole,
    Zeros,
}

/// The file `f` of a case.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileLayout {
    /// Data reaches up to this offset.
    pub held: u64,
    pub rest: Rest,
}

/// A job section.
#[derive(Debug, Clone)]
pub(crate) struct DrawnSection {
    pub name: String,
    /// Options of the form `--name=value`.
    pub options: Vec<String>,
}

impl DrawnSection {
    /// The last value of an option.
    pub(crate) fn value(&self, option: &str) -> Option<&str> {
        let own = |text: &&String| text[2..].split('=').next() == Some(option);
        let text = self.options.iter().rev().find(own)?;
        Some(text.split_once('=').map_or("1", |(_, value)| value))
    }

    pub(crate) fn number(&self, option: &str) -> Option<f64> {
        self.value(option)?.parse().ok()
    }

    pub(crate) fn instances(&self) -> u64 {
        self.number("numjobs").unwrap_or(1.0) as u64
    }

    pub(crate) fn is_simulated(&self) -> bool {
        self.value("ioengine") == Some("sim")
    }
}

#[derive(Debug, Clone)]
pub(crate) struct DrawnCase {
    pub sections: Vec<DrawnSection>,
    pub file: Option<FileLayout>,
    /// Further files with their contents.
    pub files: Vec<(&'static str, String)>,
    /// Nothing is wrong with the jobs.
    pub sound: bool,
}

impl DrawnCase {
    fn new(line: &str) -> DrawnCase {
        let mut sections: Vec<DrawnSection> = Vec::new();
        for word in line.split_whitespace() {
            match (word.strip_prefix("--name="), sections.last_mut()) {
                (Some(name), _) => {
                    sections.push(DrawnSection { name: name.to_owned(), options: Vec::new() })
                }
                (None, Some(section)) => section.options.push(word.to_owned()),
                (None, None) => panic!("{line}: no job"),
            }
        }
        for section in &mut sections {
            let record = match section.is_simulated() {
                true => format!("--sim_record=rec-{}", section.name),
                false => format!("--write_iolog=log-{}", section.name),
            };
            section.options.push(record);
        }
        DrawnCase { sections, file: None, files: Vec::new(), sound: false }
    }

    fn on(mut self, file: FileLayout) -> DrawnCase {
        self.file = Some(file);
        self
    }

    pub(crate) fn line(&self) -> String {
        let one = |section: &DrawnSection| {
            format!("--name={} {}", section.name, section.options.join(" "))
        };
        self.sections.iter().map(one).collect::<Vec<_>>().join(" ")
    }

    /// Removes the files of earlier runs, and creates those of this one.
    pub(crate) fn prepare(&self, place: &Place) {
        for name in place.names() {
            let _ = std::fs::remove_file(place.path(&name));
        }
        for (name, text) in &self.files {
            place.write(name, text);
        }
        let Some(FileLayout { held, rest }) = self.file else { return };
        let mut open = OpenOptions::new();
        let file = open.write(true).create(true).truncate(true).open(place.path("f")).unwrap();
        file.set_len(FILE).unwrap();
        let data: Vec<u8> = (0..held).map(|n| (n % 251) as u8 + 1).collect();
        file.write_all_at(&data, 0).unwrap();
        if rest == Rest::Zeros {
            file.write_all_at(&vec![0; (FILE - held) as usize], held).unwrap();
        }
        file.sync_all().unwrap();
    }
}

/// Options of jobs on a simulated device that has enough channels.
const SIM: &str = "--ioengine=sim --sim_channels=16";

/// A sound job on a simulated device: it reaches its rates, and time ends it after its ramp.
pub(crate) fn sound(draw: &mut Dice) -> DrawnCase {
    let mut line = draw.line(&[
        &["--sim_latency=constant:2ms", "--sim_latency=lognormal:1ms:0.3"],
        &["--rw=read", "--rw=randread", "--rw=write", "--rw=randwrite", "--rw=randrw", "--rw=rw"],
        &["--bs=4k", "--bs=16k", "--bs=128k", "--bssplit=4k/50:16k/50", "--bsrange=4k-64k"],
        &["--iodepth=1", "--iodepth=4", "--iodepth=16"],
        &["--runtime=1", "--runtime=3"],
        &["", "--ramp_time=1", "--ramp_size=1m"],
        &["", "--rate_iops=200", "--rate_iops=100,150", "--thinktime=1ms"],
        &["", "--numjobs=3", "--numjobs=2 --group_reporting"],
        &["", "--random_distribution=zipf:1.2", "--norandommap", "--percentage_random=50"],
        &["", "--unified_rw_reporting=mixed", "--gtod_reduce=1"],
    ]);
    // A verify pass needs writes, and its job ends by size, which a ramp may not outlast.
    if line.contains("write ") && !line.contains("ramp") && draw.one_in(2) {
        line += " --verify=crc32c --io_size=1m --time_based=0";
    }
    let base = format!("--name=a {SIM} --size=1g --time_based");
    DrawnCase { sound: true, ..DrawnCase::new(&format!("{base} {line}")) }
}

/// Options of a job on the file `f`.
const ON_FILE: &str = "--filename=f --direct=1 --ioengine=psync --thread";

fn on_file(draw: &mut Dice, name: &str) -> String {
    let line = draw.line(&[
        &["--rw=read", "--rw=randread", "--rw=write", "--rw=randwrite", "--rw=rw", "--rw=randrw"],
        &["--bs=4k", "--bs=16k", "--bs=64k"],
        &["--size=256k", "--size=512k"],
        &["--offset=0", "--offset=256k", "--offset=512k"],
        &["", "", "--io_size=64k", "--io_size=128k", "--io_size=1m"],
        &["", "", "--number_ios=1", "--number_ios=5"],
        &["", "", "--norandommap", "--random_distribution=zipf:1.2"],
        &["", "--end_fsync=1", "--loops=2"],
        &["", "", "--numjobs=2", "--numjobs=3 --group_reporting"],
    ]);
    format!("--name={name} {ON_FILE} {line}")
}

/// One or two jobs on the file, whose end may hold no data.
pub(crate) fn files(draw: &mut Dice) -> DrawnCase {
    let rest = draw.of(&[Rest::Data, Rest::Hole, Rest::Zeros]);
    let held = match rest {
        Rest::Data => FILE,
        _ => (draw.below(12) + 2) * 64 * KIB,
    };
    let mut line = on_file(draw, "a");
    if draw.one_in(2) {
        let order = draw.of(&["", "", "", "--stonewall", "--wait_for=a"]);
        line = format!("{line} {} {order}", on_file(draw, "b"));
    }
    if draw.one_in(8) {
        line = format!("{line} {}", on_file(draw, "c"));
    }
    DrawnCase::new(&line).on(FileLayout { held, rest })
}

/// A reader of a file of which a large part holds no data.
fn holes(draw: &mut Dice) -> DrawnCase {
    let rest = draw.of(&[Rest::Hole, Rest::Zeros]);
    let held = draw.below(9) * 64 * KIB;
    let line = draw.line(&[
        &["--rw=read", "--rw=read", "--rw=randread"],
        &["--bs=4k", "--bs=16k", "--bs=64k"],
        &["--size=1m", "--size=512k", "--size=512k --offset=512k", "--size=1m --io_size=512k"],
        &["", "", "--numjobs=2 --group_reporting", "--norandommap"],
    ]);
    DrawnCase::new(&format!("--name=a {ON_FILE} {line}")).on(FileLayout { held, rest })
}

/// Jobs that touch the same bytes at the same time.
fn overlaps(draw: &mut Dice) -> DrawnCase {
    let rw = draw.of(&["--rw=read", "--rw=write"]);
    let bs = draw.of(&["--bs=4k", "--bs=16k"]);
    let section = |draw: &mut Dice, name: &str| {
        let line = draw.line(&[
            &["--size=256k", "--size=512k"],
            &["--offset=0", "--offset=0", "--offset=128k"],
            &["", "--numjobs=2", "--numjobs=3 --offset_increment=64k", "--io_size=128k"],
        ]);
        format!("--name={name} {ON_FILE} {rw} {bs} {line}")
    };
    let mut line = section(draw, "a");
    for name in ["b", "c"].into_iter().take(draw.below(3) as usize) {
        line = format!("{line} {}", section(draw, name));
    }
    DrawnCase::new(&line).on(FileLayout { held: FILE, rest: Rest::Data })
}

/// Jobs that the page cache serves, or that leave their data in it.
fn buffered(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &[
            "--rw=write",
            "--rw=randwrite",
            "--rw=read --loops=3",
            "--rw=randread --loops=3",
            "--rw=randrw",
        ],
        &["--bs=4k", "--bs=16k", "--bs=1k"],
        &["--ioengine=psync", "--ioengine=io_uring --iodepth=4", "--ioengine=mmap"],
        &["", "--numjobs=2"],
    ]);
    let held = FileLayout { held: FILE, rest: Rest::Data };
    DrawnCase::new(&format!("--name=a --filename=f --size=512k --thread {line}")).on(held)
}

/// Jobs whose depth has no effect.
fn shallow(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &[
            "--ioengine=psync",
            "--ioengine=sync",
            "--ioengine=libaio --direct=0",
            "--ioengine=posixaio",
        ],
        &["--iodepth=4", "--iodepth=16"],
        &["--rw=randread", "--rw=read", "--rw=randwrite --end_fsync=1"],
        &["--bs=4k", "--bs=16k"],
    ]);
    let held = FileLayout { held: FILE, rest: Rest::Data };
    DrawnCase::new(&format!("--name=a --filename=f --size=1m --direct=1 --thread {line}")).on(held)
}

/// Rates that the device does not reach, and stalls that the latencies hide.
fn rates(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &["--sim_latency=constant:1ms", "--sim_latency=constant:300us --sim_stall=400ms:300ms"],
        &["--rw=randread", "--rw=write", "--rw=randrw", "--rw=rw --rwmixread=80"],
        &[
            "--rate_iops=800",
            "--rate_iops=2000",
            "--rate_iops=5000,200",
            "--rate=4m",
            "--rate_iops=,300",
        ],
        &["--iodepth=1", "--iodepth=2", "--iodepth=8"],
        &["--runtime=2", "--runtime=4"],
        &["", "", "--numjobs=2 --group_reporting", "--numjobs=2"],
        &["", "", "--unified_rw_reporting=mixed", "--rate_process=poisson"],
    ]);
    DrawnCase::new(&format!(
        "--name=a --ioengine=sim --sim_channels=1 --size=1g --time_based {line}"
    ))
}

/// Jobs that are too short for their percentiles, or that end within their ramp.
fn short(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &[
            "--sim_latency=constant:1ms",
            "--sim_latency=exponential:2ms",
            "--sim_latency=constant:100us",
        ],
        &["--rw=randread", "--rw=write", "--rw=randrw", "--rw=randrw --rwmixread=95", "--rw=trim"],
        &[
            "--size=1m",
            "--size=1g --number_ios=50",
            "--size=1g --number_ios=600",
            "--size=1g --runtime=200ms",
            "--size=1g --time_based --runtime=300ms",
            "--size=64k --number_ios=700 --time_based",
        ],
        &["--bs=4k", "--bs=16k"],
        &["--iodepth=1", "--iodepth=4"],
        &["", "", "--ramp_time=1", "--ramp_time=20ms", "--ramp_size=64m"],
        &["", "", "--numjobs=3", "--numjobs=2 --group_reporting"],
        &["", "", "--percentile_list=50:99.9", "--verify=crc32c", "--loops=2"],
    ]);
    DrawnCase::new(&format!("--name=a {SIM} {line}"))
}

/// A device that stalls near the end, so that the result is not steady.
fn unsteady(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &["--sim_stall=8s:600ms", "--sim_stall=7s:1s,9s:500ms", "--sim_stall=6s:2s"],
        &["--rw=randread", "--rw=write", "--rw=randrw"],
        &["--iodepth=1", "--iodepth=2"],
        &["", "--ramp_time=1"],
    ]);
    let base =
        "--name=a --ioengine=sim --size=1g --sim_latency=constant:2ms --time_based --runtime=10";
    DrawnCase::new(&format!("{base} {line}"))
}

/// Verification that finds damaged data, or nothing.
fn damaged(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &[
            "--sim_lost_rate=5",
            "--sim_torn_rate=5",
            "--sim_faults=bit_flip:rate=4",
            "--sim_faults=misdirected_write:rate=3",
        ],
        &["--rw=write", "--rw=randwrite"],
        &["--bs=4k", "--bs=16k"],
        &[
            "--verify=crc32c",
            "--verify=fiord",
            "--verify=md5",
            "--verify=fiord --verify_backlog=16",
        ],
        &["--iodepth=1", "--iodepth=8"],
        &[
            "",
            "",
            "",
            "--name=b --ioengine=sim --rw=randread --norandommap --size=256k --verify=md5",
        ],
    ]);
    DrawnCase::new(&format!("--name=a {SIM} --size=1m --continue_on_error=verify {line}"))
}

/// Contents that storage can make smaller.
fn compressible(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &[
            "--zero_buffers=1",
            "--buffer_pattern=0xdeadbeef",
            "--scramble_buffers=0",
            "--verify=crc32c --verify_pattern=0x55",
            "--verify=pattern --verify_pattern=0x55",
        ],
        &["--rw=write", "--rw=randwrite", "--rw=randrw"],
        &["--bs=4k", "--bs=16k"],
    ]);
    let held = FileLayout { held: FILE, rest: Rest::Data };
    DrawnCase::new(&format!("--name=a {ON_FILE} --size=1m {line}")).on(held)
}

/// Options that mean something other than they seem to, or that have no effect.
fn options(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &["--rw=read", "--rw=randwrite", "--rw=randrw", "--rw=rw --rwmixread=30 --rate_iops=400"],
        &["--size=8MiB", "--size=8m", "--size=8m --io_size=4MiB", "--size=8m --bs=4KiB"],
        &[
            "--end_fsync=1",
            "--trim_backlog=8",
            "--verify_fatal=1",
            "--flow=-2",
            "--time_based=30 --runtime=1",
            "--ba=512",
            "--rwmixread=80",
            "--write_barrier=8",
            "--random_generator=lfsr --norandommap",
            "--iodepth_low=2",
            "--percentage_random=30",
            "--random_distribution=zipf:1.1",
        ],
    ]);
    DrawnCase::new(&format!("--name=a {SIM} {line}"))
}

/// Zones that hold no data, or of which too few may be open.
fn zones(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &[
            "--rw=read",
            "--rw=randread",
            "--rw=randread --read_beyond_wp=1",
            "--rw=write",
            "--rw=randwrite",
        ],
        &["--size=4m", "--size=3m", "--size=3584k"],
        &["", "--numjobs=4 --max_open_zones=2", "--offset=1m"],
    ]);
    DrawnCase::new(&format!("--name=a {SIM} --zonemode=zbd --zonesize=1m --bs=64k {line}"))
}

/// A replay on a device that is slower than the recorded one.
fn replay(draw: &mut Dice) -> DrawnCase {
    let (count, step) = (40 + draw.below(200), 100 * (1 + draw.below(8)));
    let mut log = "fio version 3 iolog\n0 x add\n0 x open\n".to_owned();
    for n in 0..count {
        log += &format!("{} x {} {} 4096\n", n * step, draw.of(&["read", "write"]), n * 4096);
    }
    log += &format!("{} x close\n", count * step);
    let line = draw.line(&[
        &[
            "--sim_latency=constant:50us",
            "--sim_latency=constant:3ms",
            "--sim_latency=exponential:5ms",
        ],
        &["--iodepth=1", "--iodepth=4"],
    ]);
    let case = DrawnCase::new(&format!("--name=a {SIM} --read_iolog=trace --size=4m {line}"));
    DrawnCase { files: vec![("trace", log)], ..case }
}

/// Calls about names and space, which move no data.
fn names(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &["--ioengine=filecreate", "--ioengine=filestat", "--ioengine=filedelete"],
        &["--nrfiles=20", "--nrfiles=300"],
        &["", "--loops=2", "--loops=3 --unlink_each_loop=1"],
    ]);
    DrawnCase::new(&format!("--name=a --filesize=4k --bs=4k --thread {line}"))
}

/// Jobs that reserve space.
fn space(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[&["--size=512k", "--size=1m"], &["--bs=4k", "--bs=64k"]]);
    let held = FileLayout { held: FILE, rest: Rest::Data };
    DrawnCase::new(&format!(
        "--name=a --filename=f --ioengine=falloc --rw=randwrite --thread {line}"
    ))
    .on(held)
}

/// A reader that makes a file longer.
fn longer(draw: &mut Dice) -> DrawnCase {
    let line = draw.line(&[
        &["--rw=read", "--rw=randread"],
        &["--size=2m", "--size=1536k"],
        &["--bs=4k", "--bs=64k"],
    ]);
    let held = FileLayout { held: FILE, rest: Rest::Data };
    DrawnCase::new(&format!("--name=a {ON_FILE} {line}")).on(held)
}

/// A family of jobs, of which most have a hazard.
pub(crate) type Family = (&'static str, fn(&mut Dice) -> DrawnCase);

pub(crate) const FAMILIES: [Family; 17] = [
    ("files", files),
    ("holes", holes),
    ("overlaps", overlaps),
    ("buffered", buffered),
    ("shallow", shallow),
    ("rates", rates),
    ("short", short),
    ("unsteady", unsteady),
    ("damaged", damaged),
    ("compressible", compressible),
    ("options", options),
    ("zones", zones),
    ("replay", replay),
    ("names", names),
    ("space", space),
    ("longer", longer),
    ("sound", sound),
];
