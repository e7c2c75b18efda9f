//! Trees of directories as a load (`tree_items` and related options).

use std::io::ErrorKind;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};

use fiord_job::diagnostic::Diagnostic;
use fiord_job::option::def::OptionDef;
use fiord_job::option::table::file_operations::{
    TREE_DEPTH, TREE_ITEMS, TREE_LEAVES_ONLY, TREE_PER_JOB, TREE_SHIFT, TREE_WIDTH,
};
use fiord_job::option::table::{ALLOW_FILE_CREATE, BS, FILENAME, FILESIZE, NRFILES, OFFSET, SIZE};
use fiord_types::{Bytes, PerDir};

use crate::files::harm;
use crate::files::instance::JobInstance;
use crate::files::paths;
use crate::files::region::{Extent, MAX_FILE};
use crate::files::usage::Usage;
use crate::machine::facts::FoundKind;
use crate::machine::survey::Survey;
use crate::model::{BlockSize, EngineDef, FileKind, FilePlan, TreePlan};
use crate::options::reading::Reading;

/// Maximum number of directories in a tree: each needs memory in each job.
const MAX_DIRECTORIES: u64 = 4 << 20;

/// The options that describe a tree, except `tree_items`, which makes one.
const OTHERS: [&OptionDef; 5] = [
    TREE_DEPTH.def(),
    TREE_WIDTH.def(),
    TREE_LEAVES_ONLY.def(),
    TREE_PER_JOB.def(),
    TREE_SHIFT.def(),
];

/// Reads the tree of a job whose engine works on names. Its root and its owner are those of an instance, which
/// [`file`] sets.
pub(crate) fn tree(job: Reading, engine: &EngineDef) -> Option<TreePlan> {
    let call = engine.access.name_call()?;
    let Some(items) = job.get(TREE_ITEMS).and_then(NonZeroU32::new) else {
        for option in OTHERS.into_iter().filter(|option| job.spec.setting(*option).is_some()) {
            let what = format!("`{}` needs `tree_items`, which makes the tree", option.name);
            job.report(
                job.error(option, what).help("To fix: add `tree_items`, such as `tree_items=1000`"),
            );
        }
        return None;
    };
    for option in [FILESIZE.def(), SIZE.def(), OFFSET.def(), NRFILES.def()] {
        if job.spec.setting(option).is_some() {
            let what =
                format!("a tree has items instead of files: `{}` does not apply", option.name);
            job.report(job.error(option, what).help("To fix: leave it out, and set `tree_items`"));
        }
    }
    Some(TreePlan {
        root: PathBuf::new(),
        depth: job.get(TREE_DEPTH),
        width: NonZeroU32::new(job.get(TREE_WIDTH)).unwrap_or(NonZeroU32::MIN),
        items,
        leaves_only: job.get(TREE_LEAVES_ONLY),
        per_job: job.get(TREE_PER_JOB),
        of_directories: call.on_directories(),
        block: 0,
        owner: 0,
        lays_out: false,
    })
}

/// Completes the tree of an instance, and plans the file that stands for it. Empty: a message says what is wrong.
pub(crate) fn file(
    instance: JobInstance,
    tree: &mut TreePlan,
    mut paths: Vec<PathBuf>,
    survey: &mut Survey,
) -> Vec<FilePlan> {
    let JobInstance { job, load, usage, .. } = instance;
    let root = paths.pop().filter(|_| paths.is_empty() && !usage.generated);
    let Some(root) = root else {
        job.report(no_root(job));
        return Vec::new();
    };
    let Some(block) = block(usage, &load.blocks) else {
        job.report(one_size(job));
        return Vec::new();
    };
    tree.root = root.clone();
    tree.block = block;
    tree.owner = ((u64::from(instance.number) + u64::from(job.get(TREE_SHIFT)))
        % u64::from(instance.instances.max(1))) as u32;
    let few = tree.directories().is_some_and(|count| count <= MAX_DIRECTORIES);
    let len = tree.count().and_then(|count| count.checked_mul(block.into()));
    let Some(len) = len.filter(|len| few && *len <= MAX_FILE) else {
        job.report(too_large(job));
        return Vec::new();
    };
    let made_before = survey.planned(&root).is_some();
    if let Err(error) = may_be_root(job, &root, survey) {
        job.report(*error);
        return Vec::new();
    }
    let Some(call) = usage.engine.access.name_call() else { return Vec::new() };
    tree.lays_out = !call.creates() && !made_before;
    if usage.readonly && tree.lays_out {
        let what = "--readonly forbids creating a tree".to_owned();
        job.report(job.error(TREE_ITEMS, what).help("To fix: leave out --readonly"));
        return Vec::new();
    }
    if !job.get(ALLOW_FILE_CREATE) {
        tree.lays_out = false;
    }
    let (candidate, extent) = (instance.candidate(&root), Extent::Growable(None));
    if harm::refuse(candidate, FileKind::Name, extent, tree.lays_out, survey) {
        return Vec::new();
    }
    if call.creates() {
        survey.plan(&root, len);
    }
    vec![FilePlan {
        path: root,
        kind: FileKind::Name,
        offset: Bytes::ZERO,
        len: Bytes(len),
        beyond: Bytes::ZERO,
        size_now: None,
        size_needed: None,
        extends: Bytes::ZERO,
        zones: None,
    }]
}

/// The size in bytes of all blocks. `None`: they have several sizes.
fn block(usage: Usage, blocks: &PerDir<BlockSize>) -> Option<u32> {
    let mut sizes = usage.mix.dirs().map(|dir| &blocks[dir]);
    let BlockSize::Fixed(block) = *sizes.next()? else { return None };
    sizes.all(|size| *size == BlockSize::Fixed(block)).then_some(block)
}

/// Checks that a path can be the root of a tree: a directory, or nothing.
fn may_be_root(job: Reading, root: &Path, survey: &mut Survey) -> Result<(), Box<Diagnostic>> {
    match survey.look(root) {
        Ok(found) if found.kind != FoundKind::Directory => {
            let kind = found.kind.in_words();
            let what = format!("the root of the tree, `{}`, is {kind}", root.display());
            let error = job.error(FILENAME, what);
            Err(Box::new(error.help("To fix: name a directory, or one that does not exist")))
        }
        Err(e) if e.kind != ErrorKind::NotFound => Err(Box::new(paths::cannot_look(job, root, &e))),
        _ => Ok(()),
    }
}

fn no_root(job: Reading) -> Diagnostic {
    job.error(TREE_ITEMS, "a tree needs the name of its root").help(
        "To fix: set one name, such as `filename=tree`, with which all jobs use the same tree",
    )
}

fn one_size(job: Reading) -> Diagnostic {
    job.error(BS, "each block stands for one item of the tree, so all blocks must have one size")
        .help("To fix: leave out `bs`, `bsrange` and `bssplit`")
}

fn too_large(job: Reading) -> Diagnostic {
    job.error(TREE_ITEMS, format!("the tree is too large: at most {MAX_DIRECTORIES} directories"))
        .help("To fix: use a smaller tree_depth, tree_width or tree_items")
}
