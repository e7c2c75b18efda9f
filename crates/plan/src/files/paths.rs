//! The kind of file at a path, and whether a job may use it: permissions, mounts, block sizes.

use std::io::ErrorKind;
use std::path::Path;

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::{
    ALLOW_FILE_CREATE, BS, CREATE_ON_OPEN, DIRECTORY, FILENAME, FILETYPE, RW, TRIM_PERCENTAGE,
    target_option,
};
use fiord_types::Dir;

use crate::files::region::Extent;
use crate::files::usage::{Candidate, TargetRule};
use crate::load::zones;
use crate::machine::facts::{Found, FoundKind, Passthrough};
use crate::machine::survey::{LookupError, Survey};
use crate::model::{FileKind, Layout, Mix};
use crate::options::reading::Reading;

/// The kind of the file at a path, and its size. `None`: the job cannot use it, and a message says
/// why.
pub(crate) fn kind_of(candidate: Candidate, survey: &mut Survey) -> Option<(FileKind, Extent)> {
    let Candidate { job, path, usage } = candidate;
    let opened = match usage.target {
        TargetRule::Unopened(rule) => return rule(candidate, survey),
        TargetRule::Opened(rule) => rule,
    };
    if path == Path::new("-") {
        pipe(job, path);
        return None;
    }
    let found = match survey.look(path) {
        Ok(found) => found,
        Err(e) if e.kind == ErrorKind::NotFound => {
            return missing(candidate, &e, survey);
        }
        Err(e) => {
            job.report(cannot_look(job, path, &e));
            return None;
        }
    };
    may_use(candidate, found, survey)?;
    opened(candidate, found, survey)
}

/// The kind and size that a missing file will have. `None`: a message says why the job cannot create it.
fn missing(
    candidate: Candidate,
    error: &LookupError,
    survey: &mut Survey,
) -> Option<(FileKind, Extent)> {
    let Candidate { job, path, usage } = candidate;
    let for_devices = is_for_devices(path, survey);
    let planned = survey.planned(path);
    // A file that an earlier job makes is a regular file.
    if planned.is_some() && usage.trims_need_device() && !zones::wanted(job) {
        job.report(no_trims(candidate));
        return None;
    }
    if usage.engine.names_target() && !for_devices {
        if planned.is_none() {
            job.report(no_target(job, path));
        }
        return planned.map(|size| (FileKind::Regular, Extent::Fixed(size)));
    }
    if usage.stated.is_some_and(|kind| !is_regular(kind)) || usage.engine.access.needs_device() {
        job.report(match for_devices {
            true => no_device(job, path),
            false => cannot_look(job, path, error),
        });
        return None;
    }
    if planned.is_none() {
        if !usage.access.mounted_write && for_devices {
            job.report(no_device(job, path));
            return None;
        }
        may_create(candidate)?;
        readable_when_made(job, path, usage.mix, &usage.layout);
    }
    Some((FileKind::Regular, Extent::Growable(planned)))
}

/// The option that names the file of a job.
pub(crate) fn naming(job: Reading) -> &'static OptionDef {
    match target_option(job.spec.engine()) {
        Some(option) => option,
        None if job.is_set(FILENAME) => FILENAME.def(),
        None => DIRECTORY.def(),
    }
}

/// The error for a missing file that the job does not create.
fn no_target(job: Reading, path: &Path) -> Diagnostic {
    let (shown, engine) = (path.display(), job.spec.engine().name);
    let what = format!("`{shown}` does not exist, and `ioengine={engine}` does not create files");
    job.error(naming(job), what)
        .help(format!("To fix: check the path, or create the file: truncate -s 1G {shown}"))
}

/// The kind and the extent of an existing file or device that is read and written, for all engines without a rule of their
/// own.
pub(crate) fn plain(
    candidate: Candidate,
    found: Found,
    survey: &mut Survey,
) -> Option<(FileKind, Extent)> {
    let Candidate { job, path, usage } = candidate;
    reads_and_writes(candidate, found, survey)?;
    match found.kind {
        FoundKind::Regular => {
            let now = found.size.max(survey.planned(path).unwrap_or(0));
            let extent = match usage.engine.names_target() {
                true => Extent::Fixed(now),
                false => Extent::Growable(Some(now)),
            };
            Some((FileKind::Regular, extent))
        }
        FoundKind::Block => Some((FileKind::Block, Extent::Fixed(found.size))),
        FoundKind::Char if found.size > 0 => Some((FileKind::Char, Extent::Fixed(found.size))),
        FoundKind::Char => Some((FileKind::Char, Extent::Endless)),
        FoundKind::Pipe => {
            pipe(job, path);
            None
        }
        FoundKind::Directory => None,
    }
}

/// Refuses a device that takes only commands. `None`: it does, and a message says so.
fn reads_and_writes(candidate: Candidate, found: Found, survey: &Survey) -> Option<()> {
    let Candidate { job, path, .. } = candidate;
    let shown = path.display();
    let takes = match found.kind {
        FoundKind::Char => survey.facts.passthrough(path),
        _ => None,
    };
    let (what, help) = match takes {
        None => return Some(()),
        Some(Passthrough::Scsi) => (
            format!("`{shown}` is a SCSI generic device: it takes commands, not reads and writes"),
            "To fix: use `ioengine=sg`, or name the disk's block device".to_owned(),
        ),
        Some(Passthrough::Nvme) => {
            let block = survey.facts.block_sibling(path);
            let other = block.map_or(String::new(), |block| {
                format!(", or the block device: `filename={}`", block.display())
            });
            (
                format!(
                    "`{shown}` is the generic character device of an NVMe namespace: it takes \
                     commands, not reads and writes"
                ),
                format!("To fix: use `ioengine=io_uring_cmd`{other}"),
            )
        }
    };
    job.report(job.error(FILENAME, what).help(help));
    None
}

fn is_regular(kind: FoundKind) -> bool {
    kind == FoundKind::Regular
}

/// Checks that `directory` is an existing directory.
pub(crate) fn directory(job: Reading, path: &Path, survey: &mut Survey) {
    let why = match survey.look(path) {
        Ok(found) if found.kind == FoundKind::Directory => return,
        Ok(_) => "it is a file".to_string(),
        Err(e) => e.text,
    };
    job.report(
        job.error(DIRECTORY, format!("{} is not a directory: {why}", path.display()))
            .help(format!("To fix: create it: mkdir -p {}", path.display())),
    );
}

/// Checks that the job may create a missing file: not with `--readonly`, trims or
/// `allow_file_create=0`. `None`: a message says why not.
pub(super) fn may_create(candidate: Candidate) -> Option<()> {
    let Candidate { job, path, usage } = candidate;
    if usage.readonly {
        let option = naming(job);
        let what =
            format!("`{}` does not exist, and --readonly does not create it", path.display());
        job.report(job.error(option, what).help(
            "To fix: create the file first: the same job with `create_only=1`, without --readonly",
        ));
        return None;
    }
    if usage.trims_need_device() && !zones::wanted(job) {
        job.report(no_trims(candidate));
        return None;
    }
    if !job.get(ALLOW_FILE_CREATE) {
        job.report(
            job.error(
                ALLOW_FILE_CREATE,
                format!(
                    "`{}` does not exist: file creation disallowed by allow_file_create=0",
                    path.display()
                ),
            )
            .help("To fix: create the file first, or leave out `allow_file_create=0`"),
        );
        return None;
    }
    Some(())
}

/// Refuses a job that only reads a file which it creates empty when it opens it.
fn readable_when_made(job: Reading, path: &Path, mix: Mix, layout: &Layout) {
    if layout.on_open && matches!(mix, Mix::Read) {
        job.report(
            job.error(
                CREATE_ON_OPEN,
                format!(
                    "`{}` does not exist, and with `create_on_open` it is still empty when the job reads it",
                    path.display()
                ),
            )
            .help("To fix: leave out `create_on_open`, or create the file first"),
        );
    }
}

/// Whether a file that does not exist would lie in /dev, so that the user means a device.
pub(super) fn is_for_devices(path: &Path, survey: &mut Survey) -> bool {
    let is_link = survey.is_link(path);
    survey.system_directory(path, is_link).as_deref() == Some("/dev")
}

/// The error for a device that does not exist.
pub(super) fn no_device(job: Reading, path: &Path) -> Diagnostic {
    let shown = path.display();
    let option = naming(job);
    job.error(
        option,
        format!("there is no device `{shown}`, and fiord does not create regular files in /dev"),
    )
    .help("To fix: check the name of the device (`lsblk` lists them)")
}

/// The error for a path whose lookup failed.
pub(super) fn cannot_look(job: Reading, path: &Path, error: &LookupError) -> Diagnostic {
    let option = naming(job);
    job.error(option, format!("cannot use `{}`: {}", path.display(), error.text))
        .help("To fix: check the path, each directory on the way to it and their permissions")
}

/// Refuses pipes and sockets, which have no offsets.
fn pipe(job: Reading, path: &Path) {
    job.report(
        job.error(
            FILENAME,
            format!("`{}` is a pipe or socket: it has no size and no offsets", path.display()),
        )
        .help("To fix: name a regular file or a device"),
    );
}

/// Checks that the job may use an existing file: its kind, permissions, mounts and block size.
/// `None`: a message says why not.
fn may_use(candidate: Candidate, found: Found, survey: &Survey) -> Option<()> {
    let Candidate { job, path, usage } = candidate;
    let shown = path.display();
    if found.kind == FoundKind::Directory {
        job.report(job.error(FILENAME, format!("`{shown}` is a directory")).help(format!(
            "To fix: use `directory={shown}` to put files in it, `opendir={shown}` to use those in it"
        )));
        return None;
    }
    if let Some(stated) = usage.stated.filter(|s| *s != found.kind) {
        job.report(job.error(
            FILETYPE,
            format!("`{shown}` is {}, not {}", found.kind.in_words(), stated.in_words()),
        ));
        return None;
    }
    permissions(candidate, found)?;
    match found.kind {
        FoundKind::Block => {
            not_in_use(candidate, survey)?;
            block_device(candidate, survey)
        }
        // NVMe and SCSI generic devices, raw flash.
        FoundKind::Char => not_in_use(candidate, survey),
        FoundKind::Regular if usage.trims_need_device() && !zones::wanted(job) => {
            job.report(no_trims(candidate));
            None
        }
        // A file is in use if it backs a loop device in use.
        FoundKind::Regular => not_in_use(candidate, survey),
        _ => Some(()),
    }
}

/// The error for trims of a regular file.
fn no_trims(candidate: Candidate) -> Diagnostic {
    let Candidate { job, path, usage } = candidate;
    let shown = path.display();
    let what = format!("`{shown}` is a regular file, and only block devices can be trimmed");
    if !usage.mix.has(Dir::Trim) {
        let help = "To fix: name a block device, or leave out `trim_percentage`";
        return job.error(TRIM_PERCENTAGE, what).help(help);
    }
    job.error(RW, what).help("To fix: name a block device, or use `rw=write`")
}

fn permissions(candidate: Candidate, found: Found) -> Option<()> {
    let Candidate { job, path, usage } = candidate;
    let denied = match (usage.mix.has(Dir::Read), usage.changes) {
        _ if usage.access.other_user => return Some(()),
        (true, _) if !found.readable => "read",
        (_, true) if !found.writable => "write",
        _ => return Some(()),
    };
    job.report(
        job.error(FILENAME, format!("no permission to {denied} `{}`", path.display()))
            .help("To fix: change the file's permissions, or run as another user (sudo)"),
    );
    None
}

/// Refuses to write to a device that is mounted, held or otherwise in use, or whose use is unknown.
fn not_in_use(candidate: Candidate, survey: &Survey) -> Option<()> {
    let Candidate { job, path, usage } = candidate;
    let shown = path.display();
    if !usage.changes || usage.access.mounted_write {
        return Some(());
    }
    let (what, help) = match survey.user(path) {
        Ok(None) => return Some(()),
        Ok(Some(user)) => (
            format!(
                "`{shown}` appears mounted, and 'allow_mounted_write' isn't set: {user}, and writing would destroy its data"
            ),
            "To fix: unmount it, or name another device",
        ),
        Err(why) => (
            format!("cannot determine whether `{shown}` is in use: {why}"),
            "To fix: resolve that, or set `allow_mounted_write=1` if its data may be lost",
        ),
    };
    job.report(job.error(FILENAME, what).help(help));
    None
}

fn block_device(candidate: Candidate, survey: &Survey) -> Option<()> {
    let Candidate { job, path, usage } = candidate;
    let shown = path.display();
    if usage.access.direct
        && let Some(logical) = survey.facts.logical_block(path).filter(|l| *l > 0)
        && !usage.access.block.is_multiple_of(logical)
    {
        job.report(
            job.error(
                BS,
                format!("`direct=1` on `{shown}` needs multiples of its block size of {logical} bytes; the job uses {}", usage.access.block),
            )
            .help(format!("To fix: write `bs={}` or leave out `direct=1`", usage.access.block.next_multiple_of(logical))),
        );
        return None;
    }
    Some(())
}
