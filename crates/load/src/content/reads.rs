//! Whether the buffers of a job's writes are also read into.

use fiord_plan::{BlockSize, Dir, JobPlan};

/// What reads may have left in a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// The job does not read and write.
    None,
    /// All I/Os have one size, and offsets are multiples of it: a buffer holds one whole block, this
    /// job's own or another one.
    SameBlocks,
    /// Anything.
    Any,
}

impl Reads {
    /// What a job reads.
    pub fn of(job: &JobPlan) -> Self {
        let load = &job.load;
        if !(load.mix.has(Dir::Read) && load.mix.has(Dir::Write)) {
            return Reads::None;
        }
        let [read, write] = [Dir::Read, Dir::Write].map(|dir| &load.blocks[dir as usize]);
        match (read, write) {
            (BlockSize::Fixed(r), BlockSize::Fixed(w)) if r == w => {
                let whole = |n: u64| n.is_multiple_of(u64::from(*w).max(1));
                let aligned = load.align[..2].iter().all(|&align| whole(align))
                    && job.target.files.iter().all(|file| whole(file.offset));
                if aligned && load.step == fiord_plan::Step::None {
                    Reads::SameBlocks
                } else {
                    Reads::Any
                }
            }
            _ => Reads::Any,
        }
    }
}
