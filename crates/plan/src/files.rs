//! Which files a job works on, what they are, and which part of each is used.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::checks::{self, Access};
use crate::distribution;
use crate::facts::FoundKind;
use crate::filename::{Parts, below, made_up};
use crate::messages::Messages;
use crate::model::{
    Dir, FileKind, FilePlan, FileService, Layout, Load, LockFile, Mix, OpenPlan, Target, Zones,
};
use crate::nvme;
use crate::reading::Reading;
use crate::scsi;
use crate::sizes::{Extent, NoRegion, Region, Wanted};
use crate::survey::Survey;
use crate::zones;

/// More files than this in one job are refused: each costs memory and an entry in the plan.
const MOST_FILES: u64 = 16 << 20;

/// How a job's files are named; read once for all its instances.
#[derive(Debug, Clone)]
pub(crate) struct Naming {
    directories: Vec<PathBuf>,
    names: Vec<String>,
    found: Vec<PathBuf>,
    format: String,
    count: u64,
    job: String,
}

/// What the files of a job are used for, as far as naming and sizing them goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Usage {
    pub(crate) mix: Mix,
    /// The engine touches no file.
    pub(crate) is_virtual: bool,
    /// The engine sends commands to character devices.
    pub(crate) commands: bool,
    /// Those are SCSI commands.
    pub(crate) scsi: bool,
    /// The largest block.
    pub(crate) largest: u32,
    /// `filetype`, where it says what all files are.
    pub(crate) stated: Option<FoundKind>,
    pub(crate) access: Access,
    pub(crate) layout: Layout,
}

impl Naming {
    /// Reads the options and, for `opendir`, the directory.
    pub(crate) fn read(job: Reading, survey: &mut Survey, messages: &mut Messages) -> Self {
        let directories: Vec<PathBuf> =
            job.paths("directory").into_iter().map(PathBuf::from).collect();
        for directory in &directories {
            checks::directory(job, directory, survey, messages);
        }
        let mut names = job.paths("filename");
        let count = job.count("nrfiles").unwrap_or(1);
        if job.is_set("nrfiles") && !names.is_empty() && count < names.len() as u64 {
            messages.push(job.warning(
                "nrfiles",
                format!("only the first {count} of {} names in `filename` are used", names.len()),
            ));
            names.truncate(count.max(1) as usize);
        }
        if count == 0 || count > MOST_FILES {
            messages.push(
                job.error("nrfiles", format!("`nrfiles={count}` is no usable number of files"))
                    .help(format!("write a number from 1 to {MOST_FILES}")),
            );
        }
        Naming {
            found: opened(job, survey, messages),
            directories,
            names,
            format: job.text("filename_format").filter(|f| !f.is_empty()).unwrap_or_else(default),
            count: count.clamp(1, MOST_FILES),
            job: job.spec.name.clone(),
        }
    }

    /// The paths of one instance.
    pub(crate) fn paths(&self, instance: u32) -> Vec<PathBuf> {
        if !self.names.is_empty() || !self.found.is_empty() {
            let directory = self.directories.first().map(PathBuf::as_path);
            let named = self.names.iter().map(|n| below(directory, n));
            return named.chain(self.found.iter().cloned()).collect();
        }
        let turn = instance as usize % self.directories.len().max(1);
        let directory = self.directories.get(turn).map(PathBuf::as_path);
        (0..self.count)
            .map(|file| {
                let parts = Parts { job: &self.job, instance, file };
                below(directory, &made_up(&self.format, parts))
            })
            .collect()
    }
}

fn default() -> String {
    "$jobname.$jobnum.$filenum".into()
}

fn opened(job: Reading, survey: &Survey, messages: &mut Messages) -> Vec<PathBuf> {
    let Some(directory) = job.set_text("opendir") else { return Vec::new() };
    match survey.facts.list(Path::new(&directory)) {
        Ok(found) if found.is_empty() => {
            messages.push(
                job.error("opendir", format!("there is no file below `{directory}`")).help(
                    "name a directory with files in it, or use `directory=` to make new ones",
                ),
            );
            found
        }
        Ok(found) => found,
        Err(e) => {
            messages.push(job.error("opendir", format!("cannot list `{directory}`: {e}")));
            Vec::new()
        }
    }
}

/// The files of one instance with their regions. Files in which no I/O is possible are left out
/// with a warning, as long as others remain.
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
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let Some((kind, extent)) = kind_of(job, &path, usage, survey, messages) else { continue };
        if usage.access.appends_only_regular(kind) {
            messages.push(checks::append_ignored(job, &path));
        }
        if job.count("space_reserve") > Some(0) && kind != FileKind::Regular {
            messages.push(checks::no_space_to_watch(job, &path));
        }
        let direct = usage.access.direct;
        let its_zones = zones::of_file(job, &path, kind, (load, direct), survey, messages);
        if load.zoned.is_some() && its_zones.is_none() {
            return files;
        }
        let name = path.as_os_str().as_encoded_bytes();
        let wanted = filled(&path, extent, wanted, usage.mix, survey).in_zones(its_zones);
        match wanted.region(extent, count, instance, name) {
            Ok(region) => {
                let Some(region) = zones::whole(job, &path, region, its_zones, messages) else {
                    return files;
                };
                note(job, &path, region, survey, messages);
                files.push(file_plan(path, kind, extent, region, its_zones));
            }
            Err(NoRegion::SizeUnknown) if count > 1 && extent == Extent::Growable(Some(0)) => {
                messages.push(
                    job.warning(
                        "opendir",
                        format!("`{}` is empty and is left out", path.display()),
                    ),
                );
            }
            Err(why) => {
                messages.push(no_region(job, &path, kind, extent, why));
                return files;
            }
        }
    }
    if files.is_empty() && messages.errors.is_empty() {
        messages
            .push(no_size(job, "all files are empty, and nothing says how large they are to be"));
    }
    files
}

/// With `fill_device` a file that is only read is first made as large as the file system has room.
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
        survey.plan(path, size);
    }
    if let Some(asked) = region.asked {
        messages.push(job.warning(
            "size",
            format!(
                "`{}` has only {} bytes behind offset {}, not the {asked} that `size` asks for; \
                 those are used",
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
    zones: Option<Zones>,
) -> FilePlan {
    let size_now = match extent {
        Extent::Growable(now) => now,
        Extent::Fixed(size) => Some(size),
        Extent::Endless => None,
    };
    FilePlan {
        path,
        kind,
        offset: region.offset,
        len: region.len,
        size_now,
        size_needed: region.needed,
        zones,
    }
}

/// What a path is, and how its size behaves. `None`: a message says why it cannot be used.
fn kind_of(
    job: Reading,
    path: &Path,
    usage: Usage,
    survey: &mut Survey,
    messages: &mut Messages,
) -> Option<(FileKind, Extent)> {
    if usage.is_virtual {
        return Some((FileKind::Virtual, Extent::Endless));
    }
    if path == Path::new("-") {
        checks::pipe(job, path, messages);
        return None;
    }
    let found = match survey.look(path) {
        Ok(found) => found,
        Err(e)
            if e.kind == ErrorKind::NotFound
                && usage.stated.is_none_or(is_regular)
                && !usage.commands =>
        {
            let planned = survey.planned(path);
            if planned.is_none() {
                checks::may_create(job, path, messages)?;
                checks::readable_when_made(job, path, usage.mix, &usage.layout, messages);
            }
            return Some((FileKind::Regular, Extent::Growable(planned)));
        }
        Err(e) => {
            messages.push(checks::cannot_look(job, path, &e));
            return None;
        }
    };
    checks::found(job, path, found, usage, survey, messages)?;
    if usage.scsi {
        let (kind, bytes) = scsi::device(job, path, found, usage, survey, messages)?;
        return Some((kind, Extent::Fixed(bytes)));
    }
    nvme::suits(job, path, found, usage.commands, survey, messages)?;
    if usage.commands {
        let device = nvme::device(job, path, survey, messages)?;
        return Some((FileKind::Char, Extent::Fixed(nvme::bytes(job, &device))));
    }
    match found.kind {
        FoundKind::Regular => {
            let now = found.size.max(survey.planned(path).unwrap_or(0));
            Some((FileKind::Regular, Extent::Growable(Some(now))))
        }
        FoundKind::Block => Some((FileKind::Block, Extent::Fixed(found.size))),
        FoundKind::Char if found.size > 0 => Some((FileKind::Char, Extent::Fixed(found.size))),
        FoundKind::Char => Some((FileKind::Char, Extent::Endless)),
        FoundKind::Pipe => {
            checks::pipe(job, path, messages);
            None
        }
        FoundKind::Directory => None,
    }
}

fn is_regular(kind: FoundKind) -> bool {
    kind == FoundKind::Regular
}

fn no_region(
    job: Reading,
    path: &Path,
    kind: FileKind,
    extent: Extent,
    why: NoRegion,
) -> fiord_job::diagnostic::Diagnostic {
    let shown = path.display();
    match why {
        NoRegion::SizeUnknown if job.flag("file_append") && extent != Extent::Growable(None) => {
            no_size(
                job,
                format!(
                    "`file_append` writes behind the end of `{shown}`, and nothing says how much"
                ),
            )
        }
        NoRegion::SizeUnknown => {
            let why = match (kind, extent) {
                (FileKind::Virtual, _) => "the engine has no files to take a size from".to_string(),
                (FileKind::Char | FileKind::Pipe, _) => format!("`{shown}` has no size of its own"),
                (_, Extent::Growable(None)) => {
                    format!("`{shown}` is not there, and nothing says how large it is to be")
                }
                _ => format!("`{shown}` is empty, and nothing says how large it is to be"),
            };
            no_size(job, why)
        }
        NoRegion::OffsetBehindEnd { end: 0, .. } => job
            .error("filename", format!("`{shown}` has no capacity (0 bytes)"))
            .help("is the medium inserted, the device set up?"),
        NoRegion::OffsetBehindEnd { offset, end } => {
            let option = if job.is_set("offset") { "offset" } else { "offset_increment" };
            job.error(option, format!("offset {offset} lies at or behind the end of `{shown}` ({end} bytes)"))
                .help("you need to specify valid offset=: one below the end, or a `size` to grow the file")
        }
        NoRegion::TooLarge => job
            .error(
                "size",
                format!("offset and size of `{shown}` add up to more than a file can hold"),
            )
            .help(format!("the largest file ends at {} bytes", crate::sizes::LARGEST_FILE)),
    }
}

fn no_size(job: Reading, why: impl std::fmt::Display) -> fiord_job::diagnostic::Diagnostic {
    job.error("size", format!("you need to specify size=: {why}"))
        .help("say how much, for instance `size=1g`; a percentage needs a file that is there")
}

/// Everything about the target but its files, which depend on the instance.
pub(crate) fn target(
    job: Reading,
    open: OpenPlan,
    layout: Layout,
    messages: &mut Messages,
) -> Target {
    Target {
        files: Vec::new(),
        open_files: 1,
        service: service(job, messages),
        open,
        layout,
        lock: lock(job),
        unlink: job.flag("unlink"),
        unlink_each_loop: job.flag("unlink_each_loop"),
        scheduler: job.set_text("ioscheduler"),
    }
}

/// `file_service_type`.
fn service(job: Reading, messages: &mut Messages) -> FileService {
    let (word, suffix) = job.word("file_service_type").unwrap_or(("roundrobin", None));
    if matches!(word, "zipf" | "pareto" | "normal") {
        return distribution::of_files(job, word, suffix.as_deref(), messages)
            .map_or(FileService::RoundRobin(1), FileService::Skewed);
    }
    let each = match suffix.as_deref().map(|s| s.trim().parse::<u32>()) {
        None => 1,
        Some(Ok(n)) if n > 0 => n,
        Some(_) => {
            messages.push(
                job.error(
                    "file_service_type",
                    "the number of I/Os to each file is not a number from 1",
                )
                .help(format!("write `file_service_type={word}:8`")),
            );
            1
        }
    };
    match word {
        "random" => FileService::Random(each),
        "sequential" => FileService::Sequential,
        _ => FileService::RoundRobin(each),
    }
}

/// `openfiles`: at least 1, at most all; 0 and unset are all.
pub(crate) fn open_files(job: Reading, files: usize) -> u32 {
    let all = u32::try_from(files).unwrap_or(u32::MAX).max(1);
    match job.set_count32("openfiles") {
        None | Some(0) => all,
        Some(n) => n.min(all),
    }
}

/// `lockfile`.
fn lock(job: Reading) -> LockFile {
    match job.plain_word("lockfile") {
        "exclusive" => LockFile::Exclusive,
        "readwrite" => LockFile::ReadWrite,
        _ => LockFile::None,
    }
}

/// `filetype`.
pub(crate) fn stated(job: Reading) -> Option<FoundKind> {
    match job.plain_word("filetype") {
        "file" => Some(FoundKind::Regular),
        "block" => Some(FoundKind::Block),
        "char" => Some(FoundKind::Char),
        _ => None,
    }
}
