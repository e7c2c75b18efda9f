//! What makes a job impossible or dangerous, apart from single values.

use std::path::Path;

use fiord_job::diagnostic::Diagnostic;

use crate::facts::{Found, FoundKind};
use crate::files::Usage;
use crate::messages::Messages;
use crate::model::{Dir, EnginePlan, FileKind, Layout, Load, Mix, OpenPlan};
use crate::reading::Reading;
use crate::survey::{Survey, Unseen};
use crate::zones;

/// What a job wants to do with its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Access {
    /// `allow_mounted_write`.
    pub(crate) mounted_write: bool,
    /// `direct`.
    pub(crate) direct: bool,
    /// `file_append`.
    pub(crate) append: bool,
    /// The job changes its user before it opens files, so permissions cannot be told here.
    pub(crate) other_user: bool,
    /// Its smallest block.
    pub(crate) block: u32,
}

impl Access {
    /// Reads the options.
    pub(crate) fn of(job: Reading, open: &OpenPlan, block: u32) -> Self {
        Access {
            mounted_write: open.allow_mounted_write,
            direct: open.direct,
            append: open.append,
            other_user: job.is_set("uid") || job.is_set("gid"),
            block,
        }
    }
    /// `file_append` was asked for on what cannot grow.
    pub(crate) fn appends_only_regular(&self, kind: FileKind) -> bool {
        self.append && !matches!(kind, FileKind::Regular | FileKind::Virtual)
    }
}

/// `--readonly`.
pub(crate) fn read_only_run(job: Reading, mix: Mix, readonly: bool, messages: &mut Messages) {
    if readonly && mix.changes_data() {
        messages.push(
            job.error("rw", "--readonly permits no job that writes or trims")
                .help("leave out --readonly, or use `rw=read` or `rw=randread`"),
        );
    }
}

/// Options that have no effect with this engine or without another option.
pub(crate) fn without_effect(
    job: Reading,
    engine: &EnginePlan,
    open: &OpenPlan,
    load: &Load,
    messages: &mut Messages,
) {
    let passes_flags = matches!(
        engine,
        EnginePlan::Pvsync2 { .. } | EnginePlan::Libaio { .. } | EnginePlan::IoUring(_)
    );
    if open.atomic && !passes_flags {
        messages.push(
            job.error("atomic", "the engine does not support atomic writes")
                .help("use `ioengine=io_uring`, `libaio` or `pvsync2`"),
        );
    }
    if open.direct && matches!(engine, EnginePlan::Mmap { .. }) {
        messages.push(
            job.warning(
                "direct",
                "a mapping always goes through the page cache: `direct` has no effect",
            )
            .help("use another engine, such as `ioengine=psync`"),
        );
    }
    if let EnginePlan::IoUring(ring) = engine
        && job.is_set("sqthread_poll_cpu")
        && !ring.sqpoll
    {
        messages.push(
            job.warning(
                "sqthread_poll_cpu",
                "`sqthread_poll_cpu` has no effect without `sqthread_poll`",
            )
            .help("add `sqthread_poll`"),
        );
    }
    if load.random && job.is_set("ba") && !job.flag("norandommap") {
        messages.push(job.warning(
            "ba",
            "any use of blockalign= turns off randommap: some blocks come up twice, some never",
        ));
    }
}

/// A missing file that is only made when it is opened has nothing to be read.
pub(crate) fn readable_when_made(
    job: Reading,
    path: &Path,
    mix: Mix,
    layout: &Layout,
    messages: &mut Messages,
) {
    if layout.on_open && matches!(mix, Mix::Read) {
        messages.push(
            job.error(
                "create_on_open",
                format!(
                    "`{}` is not there, and with `create_on_open` it is still empty when the job reads it",
                    path.display()
                ),
            )
            .help("leave out `create_on_open`, or make the file first"),
        );
    }
}

/// Pipes and sockets have no offsets.
pub(crate) fn pipe(job: Reading, path: &Path, messages: &mut Messages) {
    messages.push(
        job.error(
            "filename",
            format!("`{}` is a pipe or socket: it has no size and no offsets", path.display()),
        )
        .help("name a regular file or a device"),
    );
}

/// A `size` that holds no block.
pub(crate) fn size_holds_block(job: Reading, block: u32, messages: &mut Messages) {
    use fiord_job::option::value::Amount;
    if let Some(Amount::Bytes(size)) = job.amount("size")
        && size > 0
        && size < u64::from(block)
    {
        messages.push(
            job.error(
                "size",
                format!(
                    "size too small, must not be less than minimum block size: {size} < {block}"
                ),
            )
            .help(format!("write a size of {block} bytes or more, or a smaller `bs`")),
        );
    }
}

/// Regions in which not one block fits.
pub(crate) fn room(
    job: Reading,
    lens: impl Iterator<Item = u64>,
    block: u32,
    messages: &mut Messages,
) {
    let (mut total, mut small, mut files) = (0u64, 0u64, 0u64);
    for len in lens {
        files += 1;
        total = total.saturating_add(len);
        small += u64::from(len < u64::from(block));
    }
    if files == 0 || small == 0 {
        return;
    }
    if total < u64::from(block) {
        messages.push(
            job.error(
                "bs",
                format!("blocksize is larger than data set range: {block} bytes, and the files have {total}"),
            )
            .help("write a smaller `bs` or a larger `size`"),
        );
    } else {
        let which = if small == files { "none" } else { "some" };
        messages.push(job.warning(
            "bs",
            format!(
                "{which} of the files can hold a block of {block} bytes: {small} of {files} files \
                 are smaller and get no I/O"
            ),
        ));
    }
}

/// A directory that files are to be put in.
pub(crate) fn directory(job: Reading, path: &Path, survey: &mut Survey, messages: &mut Messages) {
    let why = match survey.look(path) {
        Ok(found) if found.kind == FoundKind::Directory => return,
        Ok(_) => "it is a file".to_string(),
        Err(e) => e.text,
    };
    messages.push(
        job.error("directory", format!("{} is not a directory: {why}", path.display()))
            .help(format!("make it first: mkdir -p {}", path.display())),
    );
}

/// A missing file with `allow_file_create=0`, or where devices live.
pub(crate) fn may_create(job: Reading, path: &Path, messages: &mut Messages) -> Option<()> {
    if !job.flag("allow_file_create") {
        messages.push(
            job.error(
                "allow_file_create",
                format!(
                    "`{}` is not there, and file creation disallowed by allow_file_create=0",
                    path.display()
                ),
            )
            .help("make the file first, or leave out `allow_file_create=0`"),
        );
        return None;
    }
    if path.parent() == Some(Path::new("/dev")) {
        messages.push(
            job.warning(
                "filename",
                format!(
                    "there is no device `{}`: a regular file of that name will be made",
                    path.display()
                ),
            )
            .help("check the name (lsblk); `allow_file_create=0` makes this an error"),
        );
    }
    Some(())
}

/// A path that cannot be looked at.
pub(crate) fn cannot_look(job: Reading, path: &Path, error: &Unseen) -> Diagnostic {
    let option = if job.is_set("filename") { "filename" } else { "directory" };
    job.error(option, format!("cannot use `{}`: {}", path.display(), error.text))
        .help("check the path, each directory on the way to it and their permissions")
}

/// What is there: its kind, permissions, mounts and block size.
pub(crate) fn found(
    job: Reading,
    path: &Path,
    found: Found,
    usage: Usage,
    survey: &Survey,
    messages: &mut Messages,
) -> Option<()> {
    let shown = path.display();
    if found.kind == FoundKind::Directory {
        messages.push(job.error("filename", format!("`{shown}` is a directory")).help(format!(
            "use `directory={shown}` to put files in it, `opendir={shown}` to use those in it"
        )));
        return None;
    }
    if let Some(stated) = usage.stated.filter(|s| *s != found.kind) {
        messages.push(job.error(
            "filetype",
            format!("`{shown}` is {}, not {}", in_words(found.kind), in_words(stated)),
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
        FoundKind::Regular if usage.mix.has(Dir::Trim) && !zones::wanted(job) => {
            messages.push(
                job.error(
                    "rw",
                    format!("`{shown}` is a regular file, and only block devices can be trimmed"),
                )
                .help("name a block device, or use `rw=write`"),
            );
            None
        }
        _ => Some(()),
    }
}

fn permissions(
    job: Reading,
    path: &Path,
    found: Found,
    usage: Usage,
    messages: &mut Messages,
) -> Option<()> {
    let lacks = match (usage.mix.has(Dir::Read), usage.mix.changes_data()) {
        _ if usage.access.other_user => return Some(()),
        (true, _) if !found.readable => "read",
        (_, true) if !found.writable => "write",
        _ => return Some(()),
    };
    messages.push(
        job.error("filename", format!("no permission to {lacks} `{}`", path.display()))
            .help("change the file's permissions, or run as a user who may (sudo)"),
    );
    None
}

/// What is mounted, held or in use is not written by accident, nor what nobody can tell of.
fn not_in_use(
    job: Reading,
    path: &Path,
    usage: Usage,
    survey: &Survey,
    messages: &mut Messages,
) -> Option<()> {
    let shown = path.display();
    if !usage.mix.changes_data() || usage.access.mounted_write {
        return Some(());
    }
    let (what, help) = match survey.user(path) {
        Ok(None) => return Some(()),
        Ok(Some(user)) => (
            format!(
                "`{shown}` appears mounted, and 'allow_mounted_write' isn't set: {user}, and writing would destroy that"
            ),
            "unmount it, or name another device",
        ),
        Err(why) => (
            format!("it cannot be told whether `{shown}` is in use: {why}"),
            "see to that, or say `allow_mounted_write=1` if its data may be lost",
        ),
    };
    messages.push(job.error("filename", what).help(help));
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
                "bs",
                format!("`direct=1` on `{shown}` needs multiples of its block size of {logical} bytes; the job uses {}", usage.access.block),
            )
            .help(format!("write `bs={}` or leave out `direct=1`", usage.access.block.next_multiple_of(logical))),
        );
        return None;
    }
    Some(())
}

pub(crate) fn in_words(kind: FoundKind) -> &'static str {
    match kind {
        FoundKind::Regular => "a regular file",
        FoundKind::Block => "a block device",
        FoundKind::Char => "a character device",
        FoundKind::Pipe => "a pipe or socket",
        FoundKind::Directory => "a directory",
    }
}

/// `file_append` on a device.
pub(crate) fn append_ignored(job: Reading, path: &Path) -> Diagnostic {
    job.warning(
        "file_append",
        format!("`{}` is not a regular file: `file_append` has no effect on it", path.display()),
    )
}

/// `space_reserve` on what lies on no file system.
pub(crate) fn no_space_to_watch(job: Reading, path: &Path) -> Diagnostic {
    job.warning(
        "space_reserve",
        format!("`{}` is not a regular file: `space_reserve` has no effect on it", path.display()),
    )
}
