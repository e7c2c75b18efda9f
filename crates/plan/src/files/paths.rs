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

use crate::engine::{flash, nvme, pmem, scsi};
use crate::files::names;
use crate::files::sizes::Extent;
use crate::files::usage::Usage;
use crate::load::zones;
use crate::machine::facts::{Found, FoundKind};
use crate::machine::survey::{LookupError, Survey};
use crate::model::{EngineAccess, FileKind, Layout, Mix};
use crate::options::messages::Messages;
use crate::options::reading::Reading;

/// The kind of the file at a path, and its size. `None`: the job cannot use it, and a message says
/// why.
pub(crate) fn kind_of(
    job: Reading,
    path: &Path,
    usage: Usage,
    survey: &mut Survey,
    messages: &mut Messages,
) -> Option<(FileKind, Extent)> {
    let engine = usage.engine.access;
    if let Some(answer) = without_opening(job, path, usage, survey, messages) {
        return answer;
    }
    if path == Path::new("-") {
        pipe(job, path, messages);
        return None;
    }
    let found = match survey.look(path) {
        Ok(found) => found,
        Err(e) if e.kind == ErrorKind::NotFound => {
            return missing(job, path, &e, usage, survey, messages);
        }
        Err(e) => {
            messages.push(cannot_look(job, path, &e));
            return None;
        }
    };
    may_use(job, path, found, usage, survey, messages)?;
    if engine == EngineAccess::Flash {
        let bytes = flash::device(job, path, found, usage, survey, messages)?;
        return Some((FileKind::Char, Extent::Fixed(bytes)));
    }
    if engine == EngineAccess::ScsiCommands {
        let Usage { mix, access, largest, .. } = usage;
        let transfers = scsi::Transfers { mix, smallest: access.block, largest };
        let (kind, bytes) = scsi::device(job, path, found, transfers, survey, messages)?;
        return Some((kind, Extent::Fixed(bytes)));
    }
    if let EngineAccess::PersistentMemory(target) = engine {
        pmem::suits(job, path, found, target, survey, messages)?;
    }
    let commands = engine == EngineAccess::NvmeCommands;
    nvme::suits(job, path, found, commands, survey, messages)?;
    if commands {
        let device = nvme::device(job, path, survey, messages)?;
        return Some((FileKind::Char, Extent::Fixed(nvme::bytes(job, &device))));
    }
    kind_of_found(job, path, found, survey, messages).map(|(kind, extent)| match extent {
        Extent::Growable(Some(now)) if usage.engine.names_target() => (kind, Extent::Fixed(now)),
        _ => (kind, extent),
    })
}

/// The kind and size that a missing file will have. `None`: a message says why the job cannot create it.
fn missing(
    job: Reading,
    path: &Path,
    error: &LookupError,
    usage: Usage,
    survey: &mut Survey,
    messages: &mut Messages,
) -> Option<(FileKind, Extent)> {
    let for_devices = is_for_devices(path, survey);
    let planned = survey.planned(path);
    // A file that an earlier job makes is a regular file.
    if planned.is_some() && usage.trims_need_device() && !zones::wanted(job) {
        messages.push(no_trims(job, path, usage));
        return None;
    }
    if usage.engine.names_target() && !for_devices {
        if planned.is_none() {
            messages.push(no_target(job, path));
        }
        return planned.map(|size| (FileKind::Regular, Extent::Fixed(size)));
    }
    if usage.stated.is_some_and(|kind| !is_regular(kind)) || usage.engine.access.needs_device() {
        messages.push(match for_devices {
            true => no_device(job, path),
            false => cannot_look(job, path, error),
        });
        return None;
    }
    if planned.is_none() {
        if !usage.access.mounted_write && for_devices {
            messages.push(no_device(job, path));
            return None;
        }
        may_create(job, path, usage, messages)?;
        readable_when_made(job, path, usage.mix, &usage.layout, messages);
    }
    Some((FileKind::Regular, Extent::Growable(planned)))
}

/// Refuses blocks that a target without a path cannot transfer. `block`: the smallest, in bytes. Returns whether it did.
fn refuse_blocks(
    job: Reading,
    path: &Path,
    block: u32,
    survey: &Survey,
    messages: &mut Messages,
) -> bool {
    let Some(unit) = survey.endpoint(path).map(|facts| facts.block.0).filter(|unit| *unit > 0)
    else {
        return false;
    };
    let fits = u64::from(block).is_multiple_of(unit);
    if !fits {
        let what = format!(
            "`{}` needs multiples of its block size of {unit} bytes; the job uses {block}",
            path.display()
        );
        let help = format!("To fix: write `bs={}`", u64::from(block).next_multiple_of(unit));
        messages.push(job.error(BS, what).help(help));
    }
    !fits
}

/// Whether a job writes to its targets or trims them.
fn changes(usage: Usage) -> bool {
    usage.changes || usage.trims
}

/// The error for a target that its server does not permit to change.
fn read_only(job: Reading, path: &Path) -> Diagnostic {
    let what =
        format!("the server permits no writes and no trims: `{}` is read-only", path.display());
    job.error(naming(job), what)
        .help("To fix: use `rw=read` or `rw=randread`, or let the server permit writes")
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
    let what = format!("`{shown}` does not exist, and `ioengine={engine}` creates no file");
    job.error(naming(job), what)
        .help(format!("To fix: check the path, or create the file: truncate -s 1G {shown}"))
}

/// The kind and the size of what an engine works on that opens no path. `None`: the engine opens one.
fn without_opening(
    job: Reading,
    path: &Path,
    usage: Usage,
    survey: &mut Survey,
    messages: &mut Messages,
) -> Option<Option<(FileKind, Extent)>> {
    Some(match usage.engine.access {
        EngineAccess::Nothing | EngineAccess::Memory => Some((FileKind::Virtual, Extent::Endless)),
        EngineAccess::Endpoint | EngineAccess::Stream => {
            if refuse_blocks(job, path, usage.access.block, survey, messages) {
                return Some(None);
            }
            let extent = match survey.endpoint(path) {
                Some(facts) if facts.read_only && changes(usage) => {
                    messages.push(read_only(job, path));
                    return Some(None);
                }
                Some(facts) if facts.growable => {
                    let size = survey.planned(path).unwrap_or(0).max(facts.size.0);
                    Extent::Growable(Some(size))
                }
                Some(facts) => Extent::Fixed(facts.size.0),
                None => Extent::Endless,
            };
            Some((FileKind::Endpoint, extent))
        }
        EngineAccess::Names(call) => {
            let extent = names::extent(job, path, call, usage, survey, messages);
            extent.map(|extent| (FileKind::Name, extent))
        }
        EngineAccess::Calls
        | EngineAccess::Extents
        | EngineAccess::Flash
        | EngineAccess::Library
        | EngineAccess::Mapping
        | EngineAccess::PersistentMemory(_)
        | EngineAccess::NvmeCommands
        | EngineAccess::ScsiCommands => return None,
    })
}

/// The kind of an existing file that is accessed with calls, and its size.
fn kind_of_found(
    job: Reading,
    path: &Path,
    found: Found,
    survey: &Survey,
    messages: &mut Messages,
) -> Option<(FileKind, Extent)> {
    match found.kind {
        FoundKind::Regular => {
            let now = found.size.max(survey.planned(path).unwrap_or(0));
            Some((FileKind::Regular, Extent::Growable(Some(now))))
        }
        FoundKind::Block => Some((FileKind::Block, Extent::Fixed(found.size))),
        FoundKind::Char if found.size > 0 => Some((FileKind::Char, Extent::Fixed(found.size))),
        FoundKind::Char => Some((FileKind::Char, Extent::Endless)),
        FoundKind::Pipe => {
            pipe(job, path, messages);
            None
        }
        FoundKind::Directory => None,
    }
}

fn is_regular(kind: FoundKind) -> bool {
    kind == FoundKind::Regular
}

/// Checks that `directory` is an existing directory.
pub(crate) fn directory(job: Reading, path: &Path, survey: &mut Survey, messages: &mut Messages) {
    let why = match survey.look(path) {
        Ok(found) if found.kind == FoundKind::Directory => return,
        Ok(_) => "it is a file".to_string(),
        Err(e) => e.text,
    };
    messages.push(
        job.error(DIRECTORY, format!("{} is not a directory: {why}", path.display()))
            .help(format!("To fix: create it: mkdir -p {}", path.display())),
    );
}

/// Checks that the job may create a missing file: not with `--readonly`, trims or
/// `allow_file_create=0`. `None`: a message says why not.
pub(super) fn may_create(
    job: Reading,
    path: &Path,
    usage: Usage,
    messages: &mut Messages,
) -> Option<()> {
    if usage.readonly {
        let option = naming(job);
        let what =
            format!("`{}` does not exist, and --readonly does not create it", path.display());
        messages.push(job.error(option, what).help(
            "To fix: create the file first: the same job with `create_only=1`, without --readonly",
        ));
        return None;
    }
    if usage.trims_need_device() && !zones::wanted(job) {
        messages.push(no_trims(job, path, usage));
        return None;
    }
    if !job.get(ALLOW_FILE_CREATE) {
        messages.push(
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
fn readable_when_made(
    job: Reading,
    path: &Path,
    mix: Mix,
    layout: &Layout,
    messages: &mut Messages,
) {
    if layout.on_open && matches!(mix, Mix::Read) {
        messages.push(
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
        format!("there is no device `{shown}`, and fiord creates no regular files in /dev"),
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
fn pipe(job: Reading, path: &Path, messages: &mut Messages) {
    messages.push(
        job.error(
            FILENAME,
            format!("`{}` is a pipe or socket: it has no size and no offsets", path.display()),
        )
        .help("To fix: name a regular file or a device"),
    );
}

/// Checks that the job may use an existing file: its kind, permissions, mounts and block size.
/// `None`: a message says why not.
fn may_use(
    job: Reading,
    path: &Path,
    found: Found,
    usage: Usage,
    survey: &Survey,
    messages: &mut Messages,
) -> Option<()> {
    let shown = path.display();
    if found.kind == FoundKind::Directory {
        messages.push(job.error(FILENAME, format!("`{shown}` is a directory")).help(format!(
            "To fix: use `directory={shown}` to put files in it, `opendir={shown}` to use those in it"
        )));
        return None;
    }
    if let Some(stated) = usage.stated.filter(|s| *s != found.kind) {
        messages.push(job.error(
            FILETYPE,
            format!("`{shown}` is {}, not {}", found.kind.in_words(), stated.in_words()),
        ));
        return None;
    }
    permissions(job, path, found, usage, messages)?;
    match found.kind {
        FoundKind::Block => {
            not_in_use(job, path, usage, survey, messages)?;
            block_device(job, path, usage, survey, messages)
        }
        // NVMe and SCSI generic devices, raw flash.
        FoundKind::Char => not_in_use(job, path, usage, survey, messages),
        FoundKind::Regular if usage.trims_need_device() && !zones::wanted(job) => {
            messages.push(no_trims(job, path, usage));
            None
        }
        // A file is in use if it backs a loop device in use.
        FoundKind::Regular => not_in_use(job, path, usage, survey, messages),
        _ => Some(()),
    }
}

/// The error for trims of a regular file.
fn no_trims(job: Reading, path: &Path, usage: Usage) -> Diagnostic {
    let shown = path.display();
    let what = format!("`{shown}` is a regular file, and only block devices can be trimmed");
    if !usage.mix.has(Dir::Trim) {
        let help = "To fix: name a block device, or leave out `trim_percentage`";
        return job.error(TRIM_PERCENTAGE, what).help(help);
    }
    job.error(RW, what).help("To fix: name a block device, or use `rw=write`")
}

fn permissions(
    job: Reading,
    path: &Path,
    found: Found,
    usage: Usage,
    messages: &mut Messages,
) -> Option<()> {
    let denied = match (usage.mix.has(Dir::Read), usage.changes) {
        _ if usage.access.other_user => return Some(()),
        (true, _) if !found.readable => "read",
        (_, true) if !found.writable => "write",
        _ => return Some(()),
    };
    messages.push(
        job.error(FILENAME, format!("no permission to {denied} `{}`", path.display()))
            .help("To fix: change the file's permissions, or run as another user (sudo)"),
    );
    None
}

/// Refuses to write to a device that is mounted, held or otherwise in use, or whose use is unknown.
fn not_in_use(
    job: Reading,
    path: &Path,
    usage: Usage,
    survey: &Survey,
    messages: &mut Messages,
) -> Option<()> {
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
    messages.push(job.error(FILENAME, what).help(help));
    None
}

fn block_device(
    job: Reading,
    path: &Path,
    usage: Usage,
    survey: &Survey,
    messages: &mut Messages,
) -> Option<()> {
    let shown = path.display();
    if usage.access.direct
        && let Some(logical) = survey.facts.logical_block(path).filter(|l| *l > 0)
        && !usage.access.block.is_multiple_of(logical)
    {
        messages.push(
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
