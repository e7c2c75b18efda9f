//! Placement hints for writes: `dataplacement`, `fdp`, `plids`, `plid_select`, `dp_scheme`.

use std::path::Path;

use fiord_job::number;
use fiord_job::option::def::{OptionDef, Unit};
use fiord_job::option::handle::WordEnum;
use fiord_job::option::table::{
    DATAPLACEMENT, DIRECT, DP_SCHEME, DataPlacement, FDP, FILENAME, PLID_SELECT, PLIDS, PlidSelect,
};
use fiord_job::option::value::ValueError;
use fiord_types::{Dir, Errno};

use crate::machine::survey::Survey;
use crate::model::{
    EnginePlan, FileKind, FilePlan, Load, Placement, PlacementKind, PlacementSelect, SchemeRange,
    WritePlacement,
};
use crate::options::reading::Reading;

/// Maximum number of identifiers in `plids`; more than NVMe has in a list.
const MAX_IDENTIFIERS: usize = 4096;

/// The placement options of a job. The device determines the identifiers of FDP, so they are not
/// known before its files are.
#[derive(Debug, Clone)]
pub(crate) struct PlacementOptions {
    by: PlacementKind,
    /// `plids`: indices for FDP, stream numbers for streams. Empty: all identifiers.
    listed: Vec<u16>,
    order: Order,
    /// The engine is `io_uring`: the identifiers are write streams of the kernel.
    by_kernel: bool,
}

#[derive(Debug, Clone)]
enum Order {
    RoundRobin,
    Random,
    /// Start, end, and index or stream number.
    Scheme(Vec<(u64, u64, u16)>),
}

impl PlacementOptions {
    /// Reads the options. `None`: the job sets none, or a message says what is wrong.
    pub(crate) fn read(
        job: Reading,
        load: &Load,
        engine: &EnginePlan,
        survey: &Survey,
    ) -> Option<Self> {
        let (by, named) = kind(job)?;
        if !load.mix.has(Dir::Write) {
            return None;
        }
        engine_has_it(job, by, named, engine)?;
        let listed = match job.get(PLIDS) {
            None => Vec::new(),
            Some(text) => match list(&text) {
                Ok(listed) => listed,
                Err(wrong) => {
                    job.report(job.error(PLIDS, format!("`{text}`: {}", wrong.what)).help(
                        "To fix: write numbers and ranges separated by commas: `plids=0,2-4`",
                    ));
                    return None;
                }
            },
        };
        let order = match job.get(PLID_SELECT) {
            PlidSelect::Random => Order::Random,
            PlidSelect::Scheme => Order::Scheme(scheme(job, survey)?),
            PlidSelect::RoundRobin => Order::RoundRobin,
        };
        if by == PlacementKind::Streams && listed.is_empty() && !matches!(order, Order::Scheme(_)) {
            job.report(
                job.error(named, "streams need a list of stream numbers")
                    .help("To fix: add `plids=1-4`, the streams that the device has"),
            );
            return None;
        }
        let by_kernel = engine.def().placement == WritePlacement::KernelStreams;
        if by_kernel && !job.get(DIRECT) {
            job.report(
                job.error(named, "write streams need direct I/O").help("To fix: add `direct=1`"),
            );
            return None;
        }
        Some(PlacementOptions { by, listed, order, by_kernel })
    }

    /// The placement of writes to `files`. `None`: a message says what is wrong.
    pub(crate) fn of(
        &self,
        job: Reading,
        files: &[FilePlan],
        survey: &Survey,
    ) -> Option<Placement> {
        let mut ids = Vec::with_capacity(files.len());
        for file in files {
            ids.push(match self.by {
                PlacementKind::Fdp => self.handles(job, &file.path, survey)?,
                PlacementKind::Streams => {
                    let ids = self.streams();
                    if self.by_kernel {
                        kernel_has(job, file, &ids, survey)?;
                    }
                    ids
                }
            });
        }
        let select = match &self.order {
            Order::RoundRobin => PlacementSelect::RoundRobin,
            Order::Random => PlacementSelect::Random,
            Order::Scheme(lines) => PlacementSelect::Scheme(self.ranges(lines)),
        };
        Some(Placement { by: self.by, ids, select })
    }

    /// The placement identifiers of a device at the indices that the job lists.
    fn handles(&self, job: Reading, device: &Path, survey: &Survey) -> Option<Vec<u16>> {
        let shown = device.display();
        let all = match survey.facts.placement_ids(device) {
            Ok(all) if !all.is_empty() => all,
            Ok(_) => {
                job.report(
                    job.error(FILENAME, format!("`{shown}` has no placement handles"))
                        .help("To fix: enable flexible data placement for its endurance group"),
                );
                return None;
            }
            Err(why) => {
                job.report(
                    job.error(
                        FILENAME,
                        format!("cannot read the placement handles of `{shown}`: {why}"),
                    )
                    .help("To fix: name a namespace of an NVMe drive that has FDP enabled"),
                );
                return None;
            }
        };
        let wanted: Vec<u16> = match &self.order {
            Order::Scheme(lines) => lines.iter().map(|line| line.2).collect(),
            _ => self.listed.clone(),
        };
        if let Some(index) = wanted.iter().find(|i| usize::from(**i) >= all.len()) {
            let option = match self.order {
                Order::Scheme(_) => DP_SCHEME.def(),
                _ => PLIDS.def(),
            };
            job.report(
                job.error(option, format!("`{shown}` has no placement handle of index {index}"))
                    .help(format!(
                        "To fix: write indices from 0 to {1}; the device has {0} handles",
                        all.len(),
                        all.len() - 1
                    )),
            );
            return None;
        }
        Some(match (&self.order, wanted.is_empty()) {
            (Order::Scheme(_), _) | (_, true) => all,
            _ => wanted.iter().map(|i| all[usize::from(*i)]).collect(),
        })
    }

    /// The stream numbers: those of `plids`, otherwise those of the scheme in order of first use.
    fn streams(&self) -> Vec<u16> {
        let Order::Scheme(lines) = &self.order else { return self.listed.clone() };
        let mut seen = Vec::new();
        for line in lines {
            if !seen.contains(&line.2) {
                seen.push(line.2);
            }
        }
        seen
    }

    /// Converts the identifiers of a scheme to positions in the list of identifiers.
    fn ranges(&self, lines: &[(u64, u64, u16)]) -> Vec<SchemeRange> {
        let streams = self.streams();
        let position = |id: u16| match self.by {
            PlacementKind::Fdp => id + 1,
            PlacementKind::Streams => {
                streams.iter().position(|s| *s == id).map_or(0, |p| p as u16 + 1)
            }
        };
        let range = |&(start, end, id)| SchemeRange { start, end, placement: position(id) };
        lines.iter().map(range).collect()
    }
}

/// The placement feature that the job uses, and the option that selects it.
fn kind(job: Reading) -> Option<(PlacementKind, &'static OptionDef)> {
    let feature = job.get(DATAPLACEMENT);
    if job.get(FDP) && job.is_set(DATAPLACEMENT) && feature != DataPlacement::Fdp {
        let word = feature.word();
        let what = format!("`fdp=1` and `dataplacement={word}` contradict each other");
        job.report(job.error(FDP, what).help("To fix: leave one of them out"));
        return None;
    }
    match feature {
        DataPlacement::Fdp => Some((PlacementKind::Fdp, DATAPLACEMENT.def())),
        DataPlacement::Streams => Some((PlacementKind::Streams, DATAPLACEMENT.def())),
        DataPlacement::None if job.get(FDP) => Some((PlacementKind::Fdp, FDP.def())),
        DataPlacement::None => None,
    }
}

/// Checks that the engine supports the feature. `None`: it does not, and a message says so.
fn engine_has_it(
    job: Reading,
    by: PlacementKind,
    named: &'static OptionDef,
    engine: &EnginePlan,
) -> Option<()> {
    let has = match engine.def().placement {
        WritePlacement::Commands => true,
        WritePlacement::KernelStreams => by == PlacementKind::Streams,
        WritePlacement::None => false,
    };
    if !has {
        let words = match by {
            PlacementKind::Fdp => "placement handles",
            PlacementKind::Streams => "streams",
        };
        job.report(job.error(named, format!("this engine does not support {words}")).help(
            "To fix: use `ioengine=io_uring_cmd` on an NVMe generic device such as /dev/ng0n1",
        ));
    }
    has.then_some(())
}

/// Checks that the kernel has these write streams for a file. `None`: it does not, and a message
/// says so.
fn kernel_has(job: Reading, file: &FilePlan, ids: &[u16], survey: &Survey) -> Option<()> {
    let shown = file.path.display();
    let (what, help) = match survey.facts.write_streams(&file.path) {
        _ if file.kind != FileKind::Block => (
            format!("`{shown}` is not a block device: only block devices have write streams"),
            "To fix: name a block device".to_string(),
        ),
        None => (
            format!("this kernel does not support write streams, so `{shown}` has none"),
            "To fix: use Linux 6.16 or later, or `ioengine=io_uring_cmd`".into(),
        ),
        Some(0) => (
            format!("`{shown}` has no write streams"),
            "To fix: use a device whose sysfs file queue/max_write_streams is not 0".into(),
        ),
        Some(most) => match ids.iter().find(|id| **id == 0 || u32::from(**id) > most) {
            None => return Some(()),
            Some(id) => (
                format!("`{shown}` has no write stream {id}"),
                format!("To fix: write numbers from 1 to {most}"),
            ),
        },
    };
    job.report(job.error(DATAPLACEMENT, what).help(help));
    None
}

/// Parses a list of numbers and ranges, such as `0,2-4`.
fn list(text: &str) -> Result<Vec<u16>, ValueError> {
    let mut all = Vec::new();
    for part in text.split([',', ':']).map(str::trim) {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let text = text.trim();
            text.parse::<u16>()
                .map_err(|_| ValueError::new(format!("`{text}` is not a number from 0 to 65535")))
        };
        let (low, high) = (number(low)?, number(high)?);
        if low > high {
            return Err(ValueError::new(format!("the range `{part}` ends before it begins")));
        }
        all.extend(low..=high);
        if all.len() > MAX_IDENTIFIERS {
            return Err(ValueError::list_too_long("identifiers", MAX_IDENTIFIERS));
        }
    }
    Ok(all)
}

/// Reads the lines of the `dp_scheme` file. `None`: a message says what is wrong.
fn scheme(job: Reading, survey: &Survey) -> Option<Vec<(u64, u64, u16)>> {
    let Some(path) = job.get(DP_SCHEME) else {
        job.report(job.error(PLID_SELECT, "`plid_select=scheme` needs a scheme").help(
            "To fix: add `dp_scheme=FILE`, with a line `START, END, IDENTIFIER` for each range",
        ));
        return None;
    };
    let text = match survey.facts.text(Path::new(&path)) {
        Ok(text) => text,
        Err(e) => {
            let why = Errno::explain(&e);
            job.report(job.error(DP_SCHEME, format!("cannot read `{path}`: {why}")));
            return None;
        }
    };
    let mut lines = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, l)| !l.trim().is_empty()) {
        match range(line, job) {
            Ok(range) => lines.push(range),
            Err(wrong) => {
                job.report(
                    job.error(DP_SCHEME, format!("line {} of `{path}`: {}", i + 1, wrong.what))
                        .help("To fix: write start offset, end offset and identifier, separated by commas: `0, 1073741824, 2`"),
                );
                return None;
            }
        }
    }
    if lines.is_empty() {
        job.report(job.error(DP_SCHEME, format!("`{path}` has no lines")));
        return None;
    }
    Some(lines)
}

fn range(line: &str, job: Reading) -> Result<(u64, u64, u16), ValueError> {
    let parts: Vec<&str> = line.split(',').map(str::trim).collect();
    let [start, end, id] = parts[..] else {
        return Err(ValueError::new(format!("`{}` does not have three parts", line.trim())));
    };
    let offset = |text: &str| {
        let value = number::integer(text, Unit::Bytes, &job.spec.bases)?;
        u64::try_from(value).map_err(|_| ValueError::new(format!("`{text}` is not an offset")))
    };
    let (start, end) = (offset(start)?, offset(end)?);
    if start >= end {
        return Err(ValueError::new(format!("the range from {start} to {end} is empty")));
    }
    let id = id.parse::<u16>().ok().filter(|id| *id < u16::MAX);
    let no_id = || ValueError::new("the identifier is not a number from 0 to 65534");
    Ok((start, end, id.ok_or_else(no_id)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_lists_of_identifiers() {
        assert_eq!(list("0,2-4, 7"), Ok(vec![0, 2, 3, 4, 7]));
        for wrong in ["", "x", "4-2", "1,,2", "70000", "0-65535", "-1"] {
            assert!(list(wrong).is_err(), "{wrong}");
        }
    }
}
