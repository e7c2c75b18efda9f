//! Names that a job creates, looks up or removes: the plan of engines that open no files.

use std::num::NonZeroU32;
use std::path::PathBuf;

use fiord_job::option::engine::EngineDef;

use fiord_job::option::engine::NameCall;
pub use fiord_job::option::table::file_operations::StatType;

/// What a job does with names (`ioengine=filecreate` and its relatives).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamesPlan {
    /// The engine, which may have several calls in flight (`via_uring`).
    pub engine: &'static EngineDef,
    /// What the job does with each name.
    pub call: NameCall,
    /// `stat_type`: the system call that reads attributes.
    pub stat: StatType,
    /// `tree_items` and related options: the names are those of items in a tree of directories. `None`: they are
    /// those of the job's files.
    pub tree: Option<TreePlan>,
}

/// A tree of directories with items, which a job works on: block `n` of its only file stands for item `n`.
///
/// Directories are numbered from the root, 0, level by level. Items are numbered directory by directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreePlan {
    /// `filename`: the root of the tree.
    pub root: PathBuf,
    /// `tree_depth`: levels of directories below the root.
    pub depth: u32,
    /// `tree_width`: directories in each directory that is not on the lowest level.
    pub width: NonZeroU32,
    /// `tree_items`: items in each directory that has items.
    pub items: NonZeroU32,
    /// `tree_leaves_only`: only the directories on the lowest level have items.
    pub leaves_only: bool,
    /// `tree_per_job`: each instance has a tree of its own below the root.
    pub per_job: bool,
    /// The items are directories.
    pub of_directories: bool,
    /// Length in bytes of the block that stands for an item.
    pub block: u32,
    /// The number of the instance whose items the job works on. It differs from the job's own with `tree_shift`.
    pub owner: u32,
    /// The layout creates missing items before the run: no earlier job of the run does.
    pub lays_out: bool,
}

impl TreePlan {
    /// The number of directories, including the root. `None`: more than 2^64.
    #[must_use]
    pub fn directories(&self) -> Option<u64> {
        let mut level = 1u64;
        let mut all = 1u64;
        for _ in 0..self.depth {
            level = level.checked_mul(self.width.get().into())?;
            all = all.checked_add(level)?;
        }
        Some(all)
    }

    /// The number of the first directory with items.
    #[must_use]
    pub fn first_with_items(&self) -> u64 {
        let above = TreePlan { depth: self.depth.saturating_sub(1), ..self.clone() };
        match self.leaves_only && self.depth > 0 {
            true => above.directories().unwrap_or(u64::MAX),
            false => 0,
        }
    }

    /// The number of items. `None`: more than 2^64.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        let with_items = self.directories()?.checked_sub(self.first_with_items())?;
        with_items.checked_mul(self.items.get().into())
    }

    /// The directory that is above all others: the root, or the one of an instance below it.
    #[must_use]
    pub fn top(&self) -> PathBuf {
        match self.per_job {
            true => self.root.join(format!("job.{}", self.owner)),
            false => self.root.clone(),
        }
    }

    #[must_use]
    pub fn directory(&self, number: u64) -> PathBuf {
        let mut numbers = Vec::new();
        let mut at = number;
        while at > 0 {
            numbers.push(at);
            at = (at - 1) / u64::from(self.width.get());
        }
        let mut path = self.top();
        for number in numbers.into_iter().rev() {
            path.push(format!("d.{number}"));
        }
        path
    }

    /// What the name of each item begins with. The number of the item in its directory follows.
    #[must_use]
    pub fn prefix(&self) -> String {
        let kind = if self.of_directories { "dir" } else { "file" };
        format!("{kind}.{}.", self.owner)
    }

    #[must_use]
    pub fn item(&self, number: u64) -> PathBuf {
        let items = u64::from(self.items.get());
        let directory = self.directory(self.first_with_items() + number / items);
        directory.join(format!("{}{}", self.prefix(), number % items))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn tree(depth: u32, width: u32, items: u32) -> TreePlan {
        TreePlan {
            root: PathBuf::from("/t"),
            depth,
            width: NonZeroU32::new(width).unwrap(),
            items: NonZeroU32::new(items).unwrap(),
            leaves_only: false,
            per_job: false,
            of_directories: false,
            block: 4096,
            owner: 0,
            lays_out: false,
        }
    }

    #[test]
    fn directories_and_items_are_numbered_level_by_level() {
        let flat = tree(0, 1, 10);
        assert_eq!((flat.directories(), flat.count()), (Some(1), Some(10)));
        assert_eq!(flat.item(9), Path::new("/t/file.0.9"));
        let deep = tree(3, 1, 2);
        assert_eq!((deep.directories(), deep.count()), (Some(4), Some(8)));
        assert_eq!(deep.item(7), Path::new("/t/d.1/d.2/d.3/file.0.1"));
        let wide = tree(2, 3, 5);
        assert_eq!((wide.directories(), wide.count()), (Some(13), Some(65)));
        assert_eq!(wide.directory(12), Path::new("/t/d.3/d.12"));
        assert_eq!(wide.directory(4), Path::new("/t/d.1/d.4"));
        let leaves = TreePlan { leaves_only: true, ..wide.clone() };
        assert_eq!((leaves.first_with_items(), leaves.count()), (4, Some(45)));
        assert_eq!(leaves.item(0), Path::new("/t/d.1/d.4/file.0.0"));
        let own = TreePlan { per_job: true, owner: 7, of_directories: true, ..flat };
        assert_eq!(own.item(3), Path::new("/t/job.7/dir.7.3"));
        assert_eq!(tree(64, 2, 1).directories(), None);
    }
}
