//! Options of engines that operate on whole files.

use crate::option::declare::*;

words! {
    /// The words of `stat_type`.
    pub enum StatType {
        Stat = new("stat", "`stat(2)`"),
        Lstat = new("lstat", "`lstat(2)`, which does not follow symbolic links"),
        Statx = new("statx", "`statx(2)`"),
    }
}

/// The engines that work on names.
const NAMES: [&str; 6] =
    ["filecreate", "filestat", "filedelete", "dircreate", "dirstat", "dirdelete"];

options! {
    Category::Engine;

    /// The system call that reads attributes.
    pub const STAT_TYPE: Opt<StatType> = option("stat_type", one_of(), "stat_type=statx")
        .of(&["filestat", "dirstat"])
        .default("stat");

    /// Carries out the calls through `io_uring`, so that `iodepth` is the number of calls in flight. The kernel makes them
    /// on its own threads.
    pub const VIA_URING: Opt<bool> = option("via_uring", BOOL, "via_uring=1")
        .of(&NAMES)
        .default("0")
        .since("fiord");

    /// The job works on a tree of directories with this many items in each directory. The items are files or
    /// directories, as the engine says. Each I/O is one call on one item: `rw=read` takes them in order, `rw=randread` in
    /// random order. `filename` is the root of the tree, which several jobs can share. See [metadata](metadata.md).
    pub const TREE_ITEMS: Opt<Option<u32>> = option("tree_items", int(1, 1 << 30), "tree_items=1000")
        .of(&NAMES)
        .since("fiord");

    /// The number of levels of directories below the root of the tree.
    pub const TREE_DEPTH: Opt<u32> = option("tree_depth", int(0, 1000), "tree_depth=3")
        .of(&NAMES)
        .under("tree_items")
        .default("0")
        .since("fiord");

    /// The number of directories in each directory of the tree that is not on the lowest level.
    pub const TREE_WIDTH: Opt<u32> = option("tree_width", int(1, 1 << 20), "tree_width=10")
        .of(&NAMES)
        .under("tree_items")
        .default("1")
        .since("fiord");

    /// Only the directories on the lowest level have items.
    pub const TREE_LEAVES_ONLY: Opt<bool> = option("tree_leaves_only", BOOL, "tree_leaves_only=1")
        .of(&NAMES)
        .under("tree_items")
        .default("0")
        .since("fiord");

    /// Each instance of the job has a tree of its own below the root. Otherwise all instances have their items in the
    /// same directories.
    pub const TREE_PER_JOB: Opt<bool> = option("tree_per_job", BOOL, "tree_per_job=1")
        .of(&NAMES)
        .under("tree_items")
        .default("0")
        .since("fiord");

    /// Each instance works on the items of the instance that is this many numbers after it, so that no client finds
    /// the items that it created in its own cache.
    pub const TREE_SHIFT: Opt<u32> = option("tree_shift", COUNT, "tree_shift=1")
        .of(&NAMES)
        .under("tree_items")
        .default("0")
        .since("fiord");

    /// The donor file for the exchange of extents.
    pub const DONORNAME: Opt<Option<String>> = option("donorname", TEXT, "donorname=donor")
        .of(&["e4defrag"]);

    /// Allocates the donor's blocks at each exchange (1) or all of them before the run (0).
    pub const INPLACE: Opt<Option<u8>> = option("inplace", int(0, 1), "inplace=1")
        .of(&["e4defrag"]);

    /// Fails I/Os on erase blocks that are marked as bad with `EIO`, and does not issue them. To continue after them, add
    /// `ignore_error=EIO,EIO,EIO`. Without it, the kernel decides: it refuses to erase a bad block, but reads and
    /// writes it.
    pub const SKIP_BAD: Opt<bool> = option("skip_bad", BOOL, "skip_bad=1")
        .of(&["mtd"])
        .default("0");
}
