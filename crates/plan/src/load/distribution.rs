//! The distribution of random offsets and of I/Os over files: `random_distribution`, skewed
//! `file_service_type`, and `zonemode=strided`.

use fiord_job::number;
use fiord_job::option::handle::{WithSuffix, WordEnum};
use fiord_job::option::table::{
    FILE_SERVICE_TYPE, RANDOM_DISTRIBUTION, RANDOM_SEQUENCE_STRIDE, RandomDistribution, ZONEMODE,
    ZONERANGE, ZONESIZE, ZONESKIP, ZoneMode,
};
use fiord_job::option::value::{Amount, ValueError};
use fiord_types::{Bytes, PerDir, program};

use crate::model::{
    Distribution, FilePlan, Law, Load, Skew, Strided, ZoneShare, ZoneSize, ZoneSkip,
};
use crate::options::reading::Reading;

/// Maximum number of zones in one direction.
const MAX_ZONES: usize = 256;
/// Maximum length of a sequence of block numbers.
const MAX_STEPS: usize = 64;

/// Reads `random_distribution`.
pub(crate) fn of_offsets(job: Reading) -> Distribution {
    let WithSuffix { word, suffix } = job.get(RANDOM_DISTRIBUTION);
    let rest = suffix.as_deref();
    let parts = rest.unwrap_or_default();
    let read = match word {
        RandomDistribution::Random => Ok(Distribution::Even),
        RandomDistribution::Zipf | RandomDistribution::Pareto | RandomDistribution::Normal => {
            skew(word.word(), rest).map(Distribution::Skewed)
        }
        RandomDistribution::Zoned => zones(job, parts, false).map(Distribution::Zoned),
        RandomDistribution::ZonedAbs => zones(job, parts, true).map(Distribution::Zoned),
        RandomDistribution::Sequence => steps(parts).map(|blocks| Distribution::Sequence {
            blocks,
            stride: job.get(RANDOM_SEQUENCE_STRIDE),
        }),
    };
    read.unwrap_or_else(|ValueError { what, help, .. }| {
        job.report(job.error(RANDOM_DISTRIBUTION, what).help(help.unwrap_or_default()));
        Distribution::Even
    })
}

/// Reads the parameters of a skewed `file_service_type`. `None`: a message says what is wrong.
pub(crate) fn of_files(job: Reading, word: &str, rest: Option<&str>) -> Option<Skew> {
    match skew(word, rest) {
        Ok(skew) => Some(skew),
        Err(ValueError { what, help, .. }) => {
            let help = help.unwrap_or_default().replace("random_distribution", "file_service_type");
            job.report(job.error(FILE_SERVICE_TYPE, what).help(help));
            None
        }
    }
}

/// Parses a skewed distribution as `random_distribution` spells it, such as `zipf:1.2`; for tools.
///
/// # Errors
///
/// The text is not a skewed distribution; the error has a remedy.
pub fn skew_of(text: &str) -> Result<Skew, ValueError> {
    let (word, rest) = match text.split_once(':') {
        Some((word, rest)) => (word, Some(rest)),
        None => (text, None),
    };
    skew(word, rest)
}

fn wrong<T>(what: impl Into<String>, help: impl Into<String>) -> Result<T, ValueError> {
    Err(ValueError::new(what).with_help(help))
}

/// Parses `PARAMETER[:CENTRE]`. The default parameters are those of fio 3.42.
fn skew(word: &str, rest: Option<&str>) -> Result<Skew, ValueError> {
    let help = match word {
        "zipf" => "To fix: write `random_distribution=zipf:1.2`, or `zipf:1.2:0.25` with a centre",
        "pareto" => {
            "To fix: write `random_distribution=pareto:0.2`, or `pareto:0.2:0.25` with a centre"
        }
        _ => "To fix: write `random_distribution=normal:10`, or `normal:10:0.25` with a centre",
    };
    let mut numbers = Vec::new();
    for part in rest.iter().flat_map(|r| r.split(':')) {
        match number::float(part) {
            Ok(x) if x.is_finite() => numbers.push(x),
            _ => return wrong(format!("`{part}` after `{word}:` is not a number"), help),
        }
    }
    if numbers.len() > 2 {
        return wrong(format!("`{word}` takes a number and a centre, no more"), help);
    }
    let first = |default: f64| numbers.first().copied().unwrap_or(default);
    let law = match word {
        "zipf" => Law::Zipf { theta: zipf_theta(first(1.1), help)? },
        "pareto" => match first(0.2) {
            h if h > 0.0 && h < 1.0 => Law::Pareto { h },
            h => {
                return wrong(format!("pareto input out of range (0 < input < 1.0): {h}"), help);
            }
        },
        _ => match first(0.0) {
            // fio widens the bell by at most half of the range.
            deviation if (0.0..100.0).contains(&deviation) => {
                Law::Normal { widening: deviation.min(50.0) }
            }
            d => {
                let what = format!("normal deviation out of range (0 <= input < 100.0): {d}");
                return wrong(what, "To fix: write a percentage of the range, such as `normal:10`");
            }
        },
    };
    let centre = match numbers.get(1).copied() {
        // In fio, -1 means the default.
        None | Some(-1.0) => matches!(law, Law::Normal { .. }).then_some(0.5),
        Some(centre) if (0.0..=1.0).contains(&centre) => Some(centre),
        Some(centre) => {
            return wrong(
                format!("distribution center out of range (0 <= center <= 1.0): {centre}"),
                "To fix: write a centre from 0, the start of the range, to 1, its end",
            );
        }
    };
    Ok(Skew { law, centre })
}

fn zipf_theta(theta: f64, help: &str) -> Result<f64, ValueError> {
    if theta == 1.0 {
        return wrong(
            "zipf theta must be different than 1.0",
            "To fix: use 0.999 or 1.001, which give nearly the same shares",
        );
    }
    if theta < 0.0 {
        return wrong(format!("zipf theta is negative: {theta}"), help);
    }
    Ok(theta)
}

/// Parses `60/10:40/90`, or up to three such lists separated by commas. Missing lists repeat the
/// last one, as in `bssplit`.
fn zones(job: Reading, text: &str, absolute: bool) -> Result<PerDir<Vec<ZoneShare>>, ValueError> {
    let lists: Vec<&str> = text.split(',').collect();
    if lists.len() > 3 {
        return wrong(
            ValueError::list_too_long("lists of zones", 3).what,
            "To fix: give one list, or three separated by commas: read, write, trim",
        );
    }
    let mut all: PerDir<Vec<ZoneShare>> = PerDir::default();
    for (i, (_, zones)) in all.iter_mut().enumerate() {
        let list = lists.get(i).or(lists.last()).map_or("", |l| l.trim());
        if !list.is_empty() {
            *zones = zone_list(job, list, absolute)?;
        }
    }
    if all.values().all(Vec::is_empty) {
        return wrong(
            "the zones are missing",
            "To fix: write shares of the I/O and of the range in per cent: `zoned:60/10:40/90`",
        );
    }
    Ok(all)
}

fn zone_list(job: Reading, text: &str, absolute: bool) -> Result<Vec<ZoneShare>, ValueError> {
    let entries: Vec<&str> = text.split(':').collect();
    if entries.len() > MAX_ZONES {
        let what = format!("there are {} zones, and at most {MAX_ZONES} fit", entries.len());
        return wrong(what, "To fix: join neighbouring zones");
    }
    let mut zones = Vec::with_capacity(entries.len());
    for entry in entries {
        zones.push(zone(job, entry, absolute)?);
    }
    let shares: u32 = zones.iter().map(|z| u32::from(z.0)).sum();
    if shares != 100 {
        return wrong(
            format!(
                "access percentage don't add up to 100 for zoned random distribution (got={shares})"
            ),
            format!("To fix: make the numbers before `/` in `{text}` add up to 100"),
        );
    }
    sizes_of(&zones, text)
}

/// Fills in missing sizes: zones without a size share the rest of 100 per cent evenly.
fn sizes_of(zones: &[(u8, Option<ZoneSize>)], text: &str) -> Result<Vec<ZoneShare>, ValueError> {
    let percent = |size: &Option<ZoneSize>| match size {
        Some(ZoneSize::Percent(p)) => *p,
        _ => 0.0,
    };
    let given: f64 = zones.iter().map(|z| percent(&z.1)).sum();
    if given > 100.0 + 1e-9 {
        return wrong(
            format!("zone_split percentages add to more than 100% ({given})"),
            format!("To fix: make the numbers after `/` in `{text}` add up to at most 100"),
        );
    }
    let open = zones.iter().filter(|z| z.1.is_none()).count();
    let rest = (100.0 - given).max(0.0) / open.max(1) as f64;
    let size = |size: Option<ZoneSize>| size.unwrap_or(ZoneSize::Percent(rest));
    Ok(zones.iter().map(|z| ZoneShare { share: z.0, size: size(z.1) }).collect())
}

fn zone(job: Reading, text: &str, absolute: bool) -> Result<(u8, Option<ZoneSize>), ValueError> {
    let (share, size) = text.split_once('/').unwrap_or((text, ""));
    let help = match absolute {
        true => "To fix: write per cent of the I/O and a size: `zoned_abs:60/20g:40/100g`",
        false => "To fix: write per cent of the I/O and of the range: `zoned:60/10:40/90`",
    };
    let Some(share) = share.trim().parse::<u8>().ok().filter(|s| *s <= 100) else {
        return wrong(format!("`{share}` in `{text}` is not a share from 0 to 100"), help);
    };
    let size = size.trim();
    let no_size = || wrong(format!("`{size}` in `{text}` is not the size of a zone"), help);
    let size = match (absolute, size) {
        (true, "") => return wrong(format!("the zone `{text}` has no size"), help),
        (false, "") => None,
        (true, size) => match number::bytes(size, &job.spec.bases) {
            Ok(bytes) => Some(ZoneSize::Bytes(Bytes(bytes))),
            Err(_) => return no_size(),
        },
        (false, size) => match number::float(size.trim_end_matches('%')) {
            Ok(p) if (0.0..=100.0).contains(&p) => Some(ZoneSize::Percent(p)),
            _ => return no_size(),
        },
    };
    Ok((share, size))
}

fn steps(text: &str) -> Result<Vec<u64>, ValueError> {
    let help =
        "To fix: write block numbers separated by commas: `random_distribution=sequence:2,0,1`";
    if text.trim().is_empty() {
        return wrong("the block numbers of the sequence are missing", help);
    }
    let mut blocks = Vec::new();
    for part in text.split(',') {
        match part.trim().parse() {
            Ok(block) => blocks.push(block),
            Err(_) => {
                return wrong(format!("`{part}` in the sequence is not a block number"), help);
            }
        }
    }
    if blocks.len() > MAX_STEPS {
        let what = format!(
            "sequence distribution supports up to {MAX_STEPS} elements (got {})",
            blocks.len()
        );
        return wrong(what, "To fix: use a shorter one, or replay an I/O log (`read_iolog`)");
    }
    Ok(blocks)
}

/// Reads the sizes of `zonemode=strided`. `None`: another mode, or a message says what is wrong.
pub(crate) fn strided(job: Reading) -> Option<Strided> {
    let transfer = job.get(ZONESIZE);
    match job.get(ZONEMODE) {
        ZoneMode::Strided => {}
        ZoneMode::Zbd => return None,
        ZoneMode::None if transfer > Bytes::ZERO => {
            job.report(
                job.error(
                    ZONESIZE,
                    program::message(
                        "--zonemode=none and --zonesize are not compatible: zones have a size only with a zone mode",
                    ),
                )
                .help("To fix: add `zonemode=strided` or `zonemode=zbd`, or leave out `zonesize`"),
            );
            return None;
        }
        ZoneMode::None => return None,
    }
    if transfer == Bytes::ZERO {
        job.report(
            job.error(
                ZONEMODE,
                program::message("--zonesize must be specified when using --zonemode=strided"),
            )
            .help("To fix: write how many bytes to transfer in a zone: `zonesize=64m`"),
        );
        return None;
    }
    let range = Some(job.get(ZONERANGE)).filter(|r| *r > Bytes::ZERO).unwrap_or(transfer);
    let skip = match job.get(ZONESKIP) {
        Amount::Bytes(bytes) => ZoneSkip::Bytes(Bytes(bytes)),
        Amount::Percent(percent) => ZoneSkip::Percent(percent),
        Amount::Zones(zones) => ZoneSkip::Bytes(transfer.saturating_mul(zones)),
    };
    Some(Strided { transfer, range, skip })
}

/// Refuses distributions and strides that do not fit the files.
pub(crate) fn fits(job: Reading, load: &Load, files: &[FilePlan]) {
    let dirs = || load.mix.dirs();
    if !load.random {
        return;
    }
    let largest = dirs().map(|d| load.align[d].max(1)).max().unwrap_or(1);
    let block = dirs().map(|d| u64::from(load.blocks[d].min())).max().unwrap_or(1);
    if let Some(zones) = load.strided
        && zones.range < Bytes(block)
    {
        job.report(
            job.error(
                ZONERANGE,
                format!("a zone of {} bytes holds no block of {block} for random I/O", zones.range),
            )
            .help(format!("To fix: make `zonerange` (`zonesize` without it) at least {block}")),
        );
    }
    let Some(shortest) = files.iter().min_by_key(|f| f.len) else { return };
    match &load.distribution {
        Distribution::Sequence { blocks, .. } => {
            let range = load.strided.map_or(Bytes::MAX, |zones| zones.range);
            let held = shortest.len.min(range) / Bytes(largest);
            let Some(beyond) = blocks.iter().find(|b| **b >= held) else { return };
            job.report(
                job.error(
                    RANDOM_DISTRIBUTION,
                    format!(
                        "sequence access block {beyond} is out of bounds (max {held}) for file {}",
                        shortest.path.display()
                    ),
                )
                .help(format!("To fix: use block numbers from 0 to {}", held.saturating_sub(1))),
            );
        }
        Distribution::Zoned(lists) => {
            let size = |zone: &ZoneShare| match zone.size {
                ZoneSize::Bytes(bytes) => bytes,
                ZoneSize::Percent(_) => Bytes::ZERO,
            };
            let sum = |list: &Vec<ZoneShare>| {
                list.iter().map(size).fold(Bytes::ZERO, Bytes::saturating_add)
            };
            let most = dirs().map(|d| sum(&lists[d])).max().unwrap_or_default();
            if most > shortest.len {
                job.report(
                    job.error(
                        RANDOM_DISTRIBUTION,
                        format!(
                            "zoned_abs sizes exceed file size: {most} bytes, and {} has {}",
                            shortest.path.display(),
                            shortest.len
                        ),
                    )
                    .help("To fix: make the zones smaller or the file larger, or use `zoned`"),
                );
            }
        }
        Distribution::Even | Distribution::Skewed(_) => {}
    }
}
