//! One block in each of many files, in the order of the files: the load of jobs that create, look up or remove names.

use fiord_plan::{FileService, JobPlan};
use fiord_types::{Dir, FileIndex};

use super::plain_block;
use crate::{Io, IoAttributes, Next, Source};

/// The first block of each file, one file after the other. It needs no memory for each file: a job may have a hundred
/// thousand of them.
#[derive(Debug, Clone)]
pub struct OneEach {
    dir: Dir,
    start: u64,
    block: u32,
    /// I/Os that are made, and I/Os of one loop.
    made: u32,
    ios: u32,
}

impl OneEach {
    /// The source of a job. `None`: the job needs another source.
    pub(super) fn new(job: &JobPlan) -> Option<Self> {
        let (dir, block) = plain_block(job)?;
        let target = &job.target;
        let [first, others @ ..] = &target.files[..] else { return None };
        let alike = |len, start| len == u64::from(block) && start == first.offset.0;
        let one_block = target.files.iter().all(|file| alike(file.len.0, file.offset.0));
        let in_order =
            matches!(target.service, FileService::RoundRobin(_) | FileService::Sequential);
        let once = job.end.loops <= 1 && !(job.end.time_based && job.end.runtime.is_some());
        let count = u32::try_from(target.files.len()).ok()?;
        let whole = job.end.bytes.0 == u64::from(count) * u64::from(block);
        let all = whole && job.end.ios.is_none();
        let opens_all = target.open_files >= count && !target.reopens;
        let plain = !others.is_empty() && one_block && in_order && once && all && opens_all;
        if !plain || job.load.random || target.unlink_each_loop || job.drops_cache_each_pass() {
            return None;
        }
        Some(OneEach { dir, start: first.offset.0, block, made: 0, ios: count })
    }
}

impl Source for OneEach {
    #[inline(always)]
    fn next(&mut self) -> Next {
        if self.made == self.ios {
            return Next::End;
        }
        let file = FileIndex(self.made);
        self.made += 1;
        Next::Io(Io {
            dir: self.dir,
            file,
            offset: self.start,
            len: self.block,
            attributes: IoAttributes::PLAIN,
        })
    }

    fn restart(&mut self) {
        self.made = 0;
    }
}
