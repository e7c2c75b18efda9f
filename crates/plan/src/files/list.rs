//! The files of a job, and the region of each that the job uses.

use std::path::{Path, PathBuf};

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::table::{
    FILE_APPEND, FILENAME, FILESIZE, OFFSET, OFFSET_INCREMENT, OPENDIR, SIZE, SPACE_RESERVE,
};
use fiord_job::option::value::Amount;
use fiord_types::{Bytes, Dir};

use crate::files::instance::JobInstance;
use crate::files::region::{Extent, MAX_FILE, Region};
use crate::files::sizes::{NoRegion, Wanted};
use crate::files::usage::Candidate;
use crate::files::{harm, names, paths, zones};
use crate::machine::survey::Survey;
use crate::model::{BlockSize, EngineAccess, FileKind, FilePlan, Mix, Step, Zones};
use crate::options::reading::Reading;

/// Bytes of a file whose size nothing says (`--parse-only`).
const ASSUMED_SIZE: u64 = 1 << 40;

/// The rest of the files cannot be planned. A message says why.
struct Refused;

/// Plans the files of an instance with their regions. Empty files are skipped with a warning if the
/// job has others.
pub(crate) fn plan(
    instance: JobInstance,
    paths: Vec<PathBuf>,
    survey: &mut Survey,
) -> Vec<FilePlan> {
    let count = paths.len() as u64;
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        match instance.file(path, count, survey) {
            Ok(file) => files.extend(file),
            Err(Refused) => return files,
        }
    }
    let job = instance.job;
    if files.is_empty() && job.messages.error_count() == 0 {
        job.report(no_size(job, "all files are empty, and the job sets no size"));
    }
    files
}

impl JobInstance<'_> {
    /// Plans one of `count` files. `None`: the instance does not use the file, and a message says why.
    fn file(
        &self,
        path: PathBuf,
        count: u64,
        survey: &mut Survey,
    ) -> Result<Option<FilePlan>, Refused> {
        let JobInstance { job, load, usage, .. } = *self;
        let candidate = self.candidate(&path);
        let Some((kind, extent)) = paths::kind_of(candidate, survey) else {
            return Ok(None);
        };
        without_effect(candidate, kind);
        let zones = zones::of_file(candidate, kind, load, survey);
        if load.zoned.is_some() && zones.is_none() {
            return Err(Refused);
        }
        let wanted = filled(candidate, extent, self.wanted, survey).in_zones(zones);
        let region = match self.region(&path, &wanted, extent, count, survey) {
            Ok(region) => names::region(region, usage.engine.access),
            Err(NoRegion::SizeUnknown) if count > 1 && extent == Extent::Growable(Some(0)) => {
                let what = format!("`{}` is empty: the job does not use it", path.display());
                job.report(job.warning(OPENDIR, what));
                return Ok(None);
            }
            Err(why) => {
                job.report(no_region(job, &path, kind, extent, why));
                return Err(Refused);
            }
        };
        let grows = region.needed.is_some_and(|n| n > Bytes(extent.size_now().unwrap_or(0)));
        if let Some(error) = cannot_grow(candidate, kind, extent, region) {
            job.report(error);
            return Err(Refused);
        }
        if harm::refuse(candidate, kind, extent, grows, survey) {
            return Err(Refused);
        }
        let region = self.used(&path, region, zones).ok_or(Refused)?;
        let region = self.with_last_block(region, extent);
        let extends = harm::extends(candidate, kind, region.needed, survey);
        note(candidate, region, survey);
        let strides = load.strided.is_some() && wanted.share.is_none();
        Ok(Some(FilePlan {
            path,
            kind,
            offset: region.offset,
            len: region.len,
            beyond: if strides { region.beyond(extent) } else { Bytes::ZERO },
            size_now: extent.size_now().map(Bytes),
            size_needed: region.needed,
            extends: Bytes(extends),
            zones,
        }))
    }

    /// The region of a file. With `--parse-only`, a file whose size nothing says is large enough.
    fn region(
        &self,
        path: &Path,
        wanted: &Wanted,
        extent: Extent,
        files: u64,
        survey: &Survey,
    ) -> Result<Region, NoRegion> {
        let name = path.as_os_str().as_encoded_bytes();
        match wanted.region(extent, files, self.number, name) {
            Err(NoRegion::SizeUnknown) if survey.assumes_sizes() => {
                let size = Some(Amount::Bytes(ASSUMED_SIZE.saturating_mul(files)));
                Wanted { size, ..*wanted }.region(extent, files, self.number, name)
            }
            region => region,
        }
    }

    /// The region of a sequential job with one block size: with a `size` in bytes, a block that begins before its end
    /// is transferred in full if the file holds it, as in fio.
    fn with_last_block(&self, region: Region, extent: Extent) -> Region {
        let JobInstance { job, load, wanted, .. } = self;
        let mut typed = load.mix.dirs().map(|dir| &load.blocks[dir]);
        let Some(BlockSize::Fixed(block)) = typed.next() else { return region };
        let alike = typed.all(|size| *size == BlockSize::Fixed(*block));
        let zones = load.zoned.is_some() || load.strided.is_some();
        let stated = matches!(job.get(SIZE), Some(Amount::Bytes(_))) && !job.is_set(FILESIZE);
        match alike && stated && !load.random && !zones && wanted.share.is_none() {
            true => {
                let skip = match load.step {
                    Step::Skip(bytes) => u64::try_from(bytes).unwrap_or(0),
                    _ => 0,
                };
                region.with_last_block(extent, u64::from(*block), skip)
            }
            false => region,
        }
    }

    /// The part of a region that the job uses: whole zones, and the share of this host. `None`: a message says why
    /// there is none.
    fn used(&self, path: &Path, region: Region, zones: Option<Zones>) -> Option<Region> {
        let candidate = self.candidate(path);
        let region = zones::whole(candidate, region, zones)?;
        match self.wanted.share {
            Some(share) => share.part(candidate, region, zones),
            None => Some(region),
        }
    }
}

/// Warns of options that have no effect on a file of this kind.
fn without_effect(candidate: Candidate, kind: FileKind) {
    let Candidate { job, path, usage } = candidate;
    if usage.access.appends_only_regular(kind) {
        job.report(append_ignored(job, path));
    }
    if job.get(SPACE_RESERVE) > Bytes::ZERO && kind != FileKind::Regular {
        job.report(no_space_to_watch(job, path));
    }
}

/// The error for a file that is too short for a job which must not or does not extend it. `None`: it is long enough, or it may
/// grow.
fn cannot_grow(
    candidate: Candidate,
    kind: FileKind,
    extent: Extent,
    region: Region,
) -> Option<Diagnostic> {
    let Candidate { job, path, usage } = candidate;
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
fn filled(candidate: Candidate, extent: Extent, wanted: &Wanted, survey: &Survey) -> Wanted {
    let mut wanted = *wanted;
    if wanted.fill
        && wanted.size.is_none()
        && wanted.filesize.is_none()
        && !candidate.usage.mix.has(Dir::Write)
        && let Extent::Growable(now) = extent
        && let Some(free) = survey.facts.free_space(candidate.path)
    {
        let whole = now.unwrap_or(0).saturating_add(free).max(1);
        wanted.filesize = Some((whole, whole));
    }
    wanted
}

fn note(candidate: Candidate, region: Region, survey: &mut Survey) {
    let Candidate { job, path, .. } = candidate;
    if let Some(size) = region.needed {
        survey.plan(path, size.0);
    }
    if let Some(asked) = region.asked {
        job.report(job.adjusted(
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
