//! What jobs did, from the record of the simulated device (`sim_record`) or of the job (`write_iolog`).

use crate::findings::claims::draw::{DrawnCase, DrawnSection};
use crate::findings::claims::holds::size;
use crate::findings::claims::simulated::{DIRECTIONS, JobRecord};
use crate::fiord::Place;

/// An I/O. Times are in nanoseconds from the start of the job.
#[derive(Debug, Clone)]
pub(crate) struct RecordedIo {
    /// Index in [`DIRECTIONS`].
    pub dir: usize,
    /// `None`: the record does not name files.
    pub file: Option<String>,
    pub offset: u64,
    pub bytes: u64,
    /// When the job submitted it.
    pub issue: u64,
    /// When the job learned that it had completed, if the record says that.
    pub end: u64,
    /// Time from its submission to its end.
    pub latency: u64,
    /// The job had transferred the bytes of its `ramp_size` before this I/O ended.
    pub after_ramp: bool,
}

/// The record of a job, or of all instances of a section.
#[derive(Debug, Clone, Default)]
pub(crate) struct SectionRecord {
    pub ios: Vec<RecordedIo>,
}

impl SectionRecord {
    pub(crate) fn in_dir(&self, dir: usize) -> impl Iterator<Item = &RecordedIo> {
        self.ios.iter().filter(move |io| io.dir == dir)
    }

    /// How often each sector of a file was touched in a direction, up to `end`.
    pub(crate) fn touches(&self, dir: usize, file: &str, end: u64) -> Vec<u32> {
        let mut sectors = vec![0; end.div_ceil(SECTOR) as usize];
        let of_file = |io: &&RecordedIo| io.file.as_deref().is_none_or(|name| name == file);
        for io in self.in_dir(dir).filter(of_file) {
            let last = (io.offset + io.bytes).div_ceil(SECTOR).min(sectors.len() as u64);
            let first = (io.offset / SECTOR).min(last);
            sectors[first as usize..last as usize].iter_mut().for_each(|times| *times += 1);
        }
        sectors
    }

    /// The end of the last byte that was touched in a direction.
    pub(crate) fn reach(&self, dir: usize) -> u64 {
        self.in_dir(dir).map(|io| io.offset + io.bytes).max().unwrap_or(0)
    }
}

pub(crate) const SECTOR: u64 = 512;

/// Reads the records of a case that ran. One for each job if the jobs were simulated, otherwise one for each section.
pub(crate) fn of(place: &Place, case: &DrawnCase) -> Vec<Vec<SectionRecord>> {
    let mut number = 0;
    let mut one = |section: &DrawnSection| match section.is_simulated() {
        true => {
            let jobs = section.instances();
            let first = number + 1;
            number += jobs;
            (first..first + jobs).map(|number| simulated(place, section, number)).collect()
        }
        false => {
            number += section.instances();
            vec![of_log(place, &section.name)]
        }
    };
    case.sections.iter().map(&mut one).collect()
}

fn simulated(place: &Place, section: &DrawnSection, number: u64) -> SectionRecord {
    let path = place.path(&format!("rec-{}_sim.{number}.log", section.name));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let ios = JobRecord::of(&text).ios.into_iter().filter_map(|io| {
        Some(RecordedIo {
            dir: io.dir.filter(|_| io.is_done())?,
            file: None,
            offset: io.offset,
            bytes: io.bytes,
            issue: io.issue,
            end: io.end,
            latency: io.clat(),
            after_ramp: true,
        })
    });
    let mut ios: Vec<RecordedIo> = ios.collect();
    let ramp = section.value("ramp_size").map_or(0.0, size);
    ios.sort_by_key(|io| io.end);
    let mut moved = 0;
    for io in &mut ios {
        io.after_ramp = moved as f64 >= ramp;
        moved += io.bytes;
    }
    SectionRecord { ios }
}

fn of_log(place: &Place, name: &str) -> SectionRecord {
    let log = std::fs::read_to_string(place.path(&format!("log-{name}"))).unwrap_or_default();
    let one = |line: &str| {
        let fields: Vec<&str> = line.split(' ').collect();
        let [time, file, action, offset, length] = fields[..] else { return None };
        let number = |text: &str| text.parse::<u64>().unwrap();
        let issue = number(time) * 1000;
        Some(RecordedIo {
            dir: DIRECTIONS.iter().position(|name| *name == action)?,
            file: Some(file.to_owned()),
            offset: number(offset),
            bytes: number(length),
            issue,
            end: issue,
            latency: 0,
            after_ramp: true,
        })
    };
    SectionRecord { ios: log.lines().filter_map(one).collect() }
}
