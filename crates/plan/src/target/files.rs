//! The files of a job, and the region of each that the job uses.

use std::path::{Path, PathBuf};

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{
    FILE_APPEND, FILENAME, FILESIZE, OFFSET, OFFSET_INCREMENT, OPENDIR, SIZE, SPACE_RESERVE,
};
use fiord_job::option::value::Amount;
use fiord_types::{Bytes, Dir};

use crate::machine::survey::Survey;
use crate::model::{BlockSize, EngineAccess, FileKind, FilePlan, Load, Mix, Step, Zones};
use crate::options::messages::Messages;
use crate::options::reading::Reading;
use crate::target::share::HostShare;
use crate::target::sizes::{self, Extent, MAX_FILE, NoRegion, Region, Wanted};
use crate::target::usage::Usage;
use crate::target::{file_zones, harm, names, paths};

/// Bytes of a file whose size nothing says (`--parse-only`).
const ASSUMED_SIZE: u64 = 1 << 40;

/// Plans the files of one instance with their regions. Empty files are skipped with a warning if
/// the job has others.
pub(crate) fn plan(
    job: Reading,
    paths: Vec<PathBuf>,
    instance: u32,
    (wanted, load): (&Wanted, &Load),
    usage: Usage,
    survey: &mut Survey,
    messages: &mut Messages,
) -> Vec<FilePlan> {
    let count = paths.len() as u64;
    let reserves = job.get(SPACE_RESERVE) > Bytes::ZERO;
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let Some((kind, extent)) = paths::kind_of(job, &path, usage, survey, messages) else {
            continue;
        };
        if usage.access.appends_only_regular(kind) {
            messages.push(append_ignored(job, &path));
        }
        if reserves && kind != FileKind::Regular {
            messages.push(no_space_to_watch(job, &path));
        }
        let direct = usage.access.direct;
        let its_zones = file_zones::of_file(job, &path, kind, (load, direct), survey, messages);
        if load.zoned.is_some() && its_zones.is_none() {
            return files;
        }
        let name = path.as_os_str().as_encoded_bytes();
        let wanted = filled(&path, extent, wanted, usage.mix, survey).in_zones(its_zones);
        match region_of(&wanted, (extent, count, instance, name), survey) {
            Ok(region) => {
                let region = names::region(region, usage.engine.access);
                let grows =
                    region.needed.is_some_and(|n| n > Bytes(extent.size_now().unwrap_or(0)));
                if let Some(error) = cannot_grow(job, &path, (kind, extent, region), usage) {
                    messages.push(error);
                    return files;
                }
                if harm::refuse(job, &path, (kind, grows, extent), usage, survey, messages) {
                    return files;
                }
                let whole = |part| with_last_block(job, (load, wanted.share), part, extent);
                let part = used(job, &path, region, (its_zones, usage, wanted.share), messages);
                let Some(region) = part.map(whole) else { return files };
                let extends =
                    harm::extends(&path, (kind, region.needed.map(|bytes| bytes.0)), usage, survey);
                note(job, &path, region, survey, messages);
                let mut file = file_plan(path, kind, extent, region, (its_zones, extends));
                if load.strided.is_some() && wanted.share.is_none() {
                    file.beyond = sizes::beyond(extent, region);
                }
                files.push(file);
            }
            Err(NoRegion::SizeUnknown) if count > 1 && extent == Extent::Growable(Some(0)) => {
                messages.push(job.warning(
                    OPENDIR,
                    format!("`{}` is empty: the job does not use it", path.display()),
                ));
            }
            Err(why) => {
                messages.push(no_region(job, &path, kind, extent, why));
                return files;
            }
        }
    }
    if files.is_empty() && messages.errors.is_empty() {
        messages.push(no_size(job, "all files are empty, and the job sets no size"));
    }
    files
}

/// The region of a file. With `--parse-only`, a file whose size nothing says is large enough.
fn region_of(
    wanted: &Wanted,
    (extent, files, instance, name): (Extent, u64, u32, &[u8]),
    survey: &Survey,
) -> Result<Region, NoRegion> {
    match wanted.region(extent, files, instance, name) {
        Err(NoRegion::SizeUnknown) if survey.assumes_sizes() => {
            let size = Some(Amount::Bytes(ASSUMED_SIZE.saturating_mul(files)));
            Wanted { size, ..*wanted }.region(extent, files, instance, name)
        }
        region => region,
    }
}

/// The region of a sequential job with one block size: with a `size` in bytes, a block that begins before its end is
/// transferred in full if the file holds it, as in fio.
fn with_last_block(
    job: Reading,
    (load, share): (&Load, Option<HostShare>),
    region: Region,
    extent: Extent,
) -> Region {
    let mut typed = load.mix.dirs().map(|dir| &load.blocks[dir]);
    let Some(BlockSize::Fixed(block)) = typed.next() else { return region };
    let alike = typed.all(|size| *size == BlockSize::Fixed(*block));
    let zones = load.zoned.is_some() || load.strided.is_some();
    let stated = matches!(job.get(SIZE), Some(Amount::Bytes(_))) && !job.is_set(FILESIZE);
    match alike && stated && !load.random && !zones && share.is_none() {
        true => {
            let skip = match load.step {
                Step::Skip(bytes) => u64::try_from(bytes).unwrap_or(0),
                _ => 0,
            };
            sizes::whole_blocks(region, extent, u64::from(*block), skip)
        }
        false => region,
    }
}

/// The part of a region that the job uses: whole zones, and the share of this host. `None`: a message says why there is
/// none.
fn used(
    job: Reading,
    path: &Path,
    region: Region,
    (zones, usage, share): (Option<Zones>, Usage, Option<HostShare>),
    messages: &mut Messages,
) -> Option<Region> {
    let region = file_zones::whole(job, path, region, zones, messages)?;
    match share {
        Some(share) => share.part(job, path, region, (zones, usage), messages),
        None => Some(region),
    }
}

/// The error for a file that is too short for a job which must not or does not extend it. `None`: it is long enough, or it may
/// grow.
fn cannot_grow(
    job: Reading,
    path: &Path,
    (kind, extent, region): (FileKind, Extent, Region),
    usage: Usage,
) -> Option<Diagnostic> {
    let (now, needed) = (extent.size_now().unwrap_or(0), region.needed.unwrap_or(Bytes::ZERO));
    if !kind.is_file() || needed <= Bytes(now) {
        return None;
    }
    let name = path.display();
    let (what, help) = if usage.readonly {
        (
            format!(
                "`{name}` has {now} of the {needed} bytes that the job needs, and --readonly does not extend it"
            ),
            "To fix: use a smaller size, or lay the file out first: the same job with `create_only=1`, without --readonly",
        )
    } else if usage.layout.on_open && usage.mix == Mix::Read {
        (
            format!(
                "`{name}` has {now} of the {needed} bytes that the job reads, and `create_on_open` does not extend it"
            ),
            "To fix: use a smaller size, or leave out `create_on_open`",
        )
    } else {
        return None;
    };
    Some(job.error(SIZE, what).help(help))
}

/// Sets the size of a file that a job with `fill_device` only reads: as large as the file system
/// permits.
fn filled(path: &Path, extent: Extent, wanted: &Wanted, mix: Mix, survey: &Survey) -> Wanted {
    let mut wanted = *wanted;
    if wanted.fill
        && wanted.size.is_none()
        && wanted.filesize.is_none()
        && !mix.has(Dir::Write)
        && let Extent::Growable(now) = extent
        && let Some(free) = survey.facts.free_space(path)
    {
        let whole = now.unwrap_or(0).saturating_add(free).max(1);
        wanted.filesize = Some((whole, whole));
    }
    wanted
}

fn note(job: Reading, path: &Path, region: Region, survey: &mut Survey, messages: &mut Messages) {
    if let Some(size) = region.needed {
        survey.plan(path, size.0);
    }
    if let Some(asked) = region.asked {
        messages.push(job.adjusted(
            SIZE,
            format!(
                "`{}` has only {} bytes after offset {}, not the {asked} that `size` asks for; \
                 the job uses only those",
                path.display(),
                region.len,
                region.offset
            ),
        ));
    }
}

fn file_plan(
    path: PathBuf,
    kind: FileKind,
    extent: Extent,
    region: Region,
    (zones, extends): (Option<Zones>, u64),
) -> FilePlan {
    FilePlan {
        path,
        kind,
        offset: region.offset,
        len: region.len,
        beyond: Bytes::ZERO,
        size_now: extent.size_now().map(Bytes),
        size_needed: region.needed,
        extends: Bytes(extends),
        zones,
    }
}

fn no_region(
    job: Reading,
    path: &Path,
    kind: FileKind,
    extent: Extent,
    why: NoRegion,
) -> Diagnostic {
    let shown = path.display();
    match why {
        NoRegion::SizeUnknown if job.get(FILE_APPEND) && extent != Extent::Growable(None) => {
            no_size(
                job,
                format!(
                    "`file_append` writes after the end of `{shown}`, and the job sets no size"
                ),
            )
        }
        NoRegion::SizeUnknown => {
            let why = match (kind, extent) {
                (FileKind::Virtual, _) => "the engine has no files to take a size from".to_string(),
                (FileKind::Endpoint, _) if job.spec.engine().access == EngineAccess::Stream => {
                    "a stream has no size".to_string()
                }
                (FileKind::Endpoint, _) => format!("only the server knows the size of `{shown}`"),
                (FileKind::Char | FileKind::Pipe, _) => format!("`{shown}` has no size of its own"),
                (_, Extent::Growable(None)) => {
                    format!("`{shown}` does not exist, and the job sets no size")
                }
                _ => format!("`{shown}` is empty, and the job sets no size"),
            };
            no_size(job, why)
        }
        NoRegion::OffsetBehindEnd { end: 0, .. } => job
            .error(FILENAME, format!("`{shown}` has no capacity (0 bytes)"))
            .help("To fix: check that the medium is inserted and the device is set up"),
        NoRegion::OffsetBehindEnd { offset, end } => {
            let option = if job.is_set(OFFSET) { OFFSET } else { OFFSET_INCREMENT };
            job.error(option, format!("offset {offset} is at or past the end of `{shown}` ({end} bytes)"))
                .help("To fix: you need to specify valid offset=: one below the end, or a `size` that grows the file")
        }
        NoRegion::TooLarge => job
            .error(
                SIZE,
                format!("offset and size of `{shown}` add up to more than a file can hold"),
            )
            .help(format!(
                "To fix: use a smaller offset or size; the largest file ends at {} bytes",
                MAX_FILE
            )),
    }
}

fn no_size(job: Reading, why: impl std::fmt::Display) -> Diagnostic {
    job.error(SIZE, format!("you need to specify size=: {why}"))
        .help("To fix: set a size, for instance `size=1g`; a percentage needs a file that exists")
}

/// The warning for `file_append` on a device.
fn append_ignored(job: Reading, path: &Path) -> Diagnostic {
    job.no_effect(
        FILE_APPEND,
        format!("`{}` is not a regular file: `file_append` has no effect on it", path.display()),
    )
}

/// The warning for `space_reserve` on a file that is not on a file system.
fn no_space_to_watch(job: Reading, path: &Path) -> Diagnostic {
    job.no_effect(
        SPACE_RESERVE,
        format!("`{}` is not a regular file: `space_reserve` has no effect on it", path.display()),
    )
}
