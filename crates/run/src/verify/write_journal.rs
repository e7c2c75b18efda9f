//! `verify_journal`: records writes and flushes in a journal, for a check of the target after a crash.
//!
//! A write is issued only when the journal announces it durably. To wait for the journal seldom, the hook announces the
//! next writes of the job in groups: a second source draws them ahead. If the job issues another write than that, it
//! announces each further write alone, and waits for the journal each time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fiord_engine::OpKind;
use fiord_formats::integrity::journal::{
    AnnouncedWrite, JournalHeader, JournalRecord, JournaledTarget,
};
use fiord_formats::integrity::sector::{SectorSize, SectorWriter};
use fiord_load::{AnySource, Io, Next, Source, any_source};
use fiord_plan::{FileKind, JobPlan, JournalPlan, JournalTarget};
use fiord_stat::recorder::Recorder;
use fiord_sys::file;
use fiord_types::{Bytes, Dir, Errno};

use super::contents::{target_id, this_run};
use super::save::{Journal, JournalMark};
use super::services::VerifyServices;
use crate::error::{JobError, Stage};
use crate::hook::{Admission, Completed, Disposition, Events, Hook, IssuedIo};

/// Maximum number of bytes and of writes that are announced together, and of such groups that are ahead of the job.
const GROUP_BYTES: u64 = 16 << 20;
const GROUP_WRITES: u64 = 4096;
const GROUPS_AHEAD: usize = 4;

/// Records the writes of one job.
pub(crate) struct WriteJournal {
    journal: Arc<Journal>,
    job: u16,
    /// The job trims.
    trims: bool,
    /// Writes are durable when they complete.
    durable: bool,
    /// The source must not begin another pass while writes are in flight.
    repeats: bool,
    /// Number of the next write.
    next: u64,
    ahead: Ahead,
    /// By slot: the number of the write or flush in it.
    slots: Vec<u64>,
}

/// Where a file of the job lies in the journal.
#[derive(Debug, Clone, Copy)]
struct TargetPlace {
    index: u16,
    /// The address of its first byte.
    base: Bytes,
}

/// The writes that are announced and not issued.
struct Ahead {
    /// By file of the job.
    places: Vec<TargetPlace>,
    /// Draws the writes of the job ahead of it. `None`: the job does not follow it.
    source: Option<AnySource>,
    /// The last pass of `source` had writes.
    drew: bool,
    /// The next writes of the job.
    writes: VecDeque<AnnouncedWrite>,
    /// For each group, in the order of their writes: the number after its last write, and its place in the journal.
    groups: VecDeque<(u64, JournalMark)>,
    /// The next group.
    drawn: Vec<AnnouncedWrite>,
}

impl WriteJournal {
    /// The hook of a job; `None` if the job has no journal.
    pub(crate) fn of(
        job: &JobPlan,
        services: &VerifyServices,
    ) -> Result<Option<Box<Self>>, JobError> {
        let Some(plan) = &job.journal else { return Ok(None) };
        let header = header(plan)?;
        let (journal, warning) = services.journals.open(&plan.file, &header)?;
        if let Some(warning) = warning {
            (services.warn)(warning);
        }
        let places: Vec<TargetPlace> = plan
            .target_of_file
            .iter()
            .map(|&index| TargetPlace { index, base: header.targets[usize::from(index)].base })
            .collect();
        let trims = job.load.mix.has(Dir::Trim)
            || job.verify.as_ref().is_some_and(|verify| verify.trims.is_some());
        Ok(Some(Box::new(WriteJournal {
            journal,
            trims,
            job: (job.identity.index.get() + 1) as u16,
            durable: plan.durable_writes,
            repeats: job.end.loops > 1 || job.end.time_based,
            next: 0,
            ahead: Ahead {
                places,
                source: Some(any_source(job)?),
                drew: false,
                writes: VecDeque::new(),
                groups: VecDeque::new(),
                drawn: Vec::new(),
            },
            slots: vec![0; job.depth.depth.max(1) as usize],
        })))
    }

    /// Makes sure that the next write is announced durably.
    fn announce(&mut self, write: AnnouncedWrite) -> Result<(), JobError> {
        if self.ahead.writes.is_empty() {
            self.draw_ahead();
        }
        if self.ahead.writes.front() != Some(&write) {
            // The later announcement is valid.
            self.ahead.source = None;
            self.ahead.writes.clear();
            self.ahead.groups.clear();
            self.add_group(&[write]);
        }
        let needed = self.next + 1;
        while let Some((until, mark)) = self.ahead.groups.front().copied() {
            if until >= needed {
                if !self.journal.is_durable(mark) {
                    self.journal.wait_durable(mark)?;
                }
                break;
            }
            self.ahead.groups.pop_front();
        }
        if self.ahead.groups.len() < GROUPS_AHEAD {
            self.draw_ahead();
            self.journal.make_room()?;
        }
        Ok(())
    }

    /// Announces the next group of writes.
    fn draw_ahead(&mut self) {
        let mut drawn = std::mem::take(&mut self.ahead.drawn);
        drawn.clear();
        self.ahead.draw(&mut drawn, self.repeats);
        if !drawn.is_empty() {
            self.add_group(&drawn);
        }
        self.ahead.drawn = drawn;
    }

    fn add_group(&mut self, writes: &[AnnouncedWrite]) {
        let number = self.next + self.ahead.writes.len() as u64;
        let first = SectorWriter { job: self.job, number };
        let mark = self.journal.add(|writer| writer.announce(first, writes));
        self.ahead.writes.extend(writes);
        self.ahead.groups.push_back((number + writes.len() as u64, mark));
    }

    fn writer(&self, slot: u32) -> SectorWriter {
        let number = self.slots.get(slot as usize).copied().unwrap_or(u64::MAX);
        SectorWriter { job: self.job, number }
    }
}

impl Ahead {
    /// Draws the next group of writes. `repeats`: the source has several passes.
    fn draw(&mut self, drawn: &mut Vec<AnnouncedWrite>, repeats: bool) {
        let Some(source) = &mut self.source else { return };
        let mut bytes = 0;
        // A job may read much more than it writes.
        for _ in 0..4 * GROUP_WRITES {
            match source.next() {
                Next::Io(io) if io.dir == Dir::Write => {
                    self.drew = true;
                    drawn.push(self.places[io.file.get()].write(&io));
                    bytes += u64::from(io.len);
                    if bytes >= GROUP_BYTES || drawn.len() as u64 >= GROUP_WRITES {
                        return;
                    }
                }
                Next::End if repeats && std::mem::take(&mut self.drew) => source.restart(),
                Next::End => {
                    self.source = None;
                    return;
                }
                _ => {}
            }
        }
    }
}

impl TargetPlace {
    fn write(self, io: &Io) -> AnnouncedWrite {
        let start = self.base + Bytes(io.offset);
        AnnouncedWrite { start, length: Bytes(u64::from(io.len)) }
    }
}

fn header(plan: &JournalPlan) -> Result<JournalHeader, JobError> {
    let Bytes(sector) = plan.sector;
    let sector = SectorSize::new(sector).ok_or_else(|| {
        let detail = format!("verify=fiord does not support sectors of {sector} bytes");
        JobError::new(Stage::Verify, Errno::EINVAL, detail)
    })?;
    let target = |target: &JournalTarget| JournaledTarget {
        id: target_id(&target.path),
        // A file may grow during the run.
        size: match target.kind {
            FileKind::Regular => Bytes::ZERO,
            _ => file::target_size(&target.path).ok().flatten().unwrap_or_default(),
        },
        base: target.base,
        path: whole_path(&target.path),
    };
    Ok(JournalHeader {
        run: this_run(),
        block: plan.block,
        sector,
        sectors_may_tear: plan.sectors_may_tear,
        targets: plan.targets.iter().map(target).collect(),
    })
}

/// The path from the root, without links. The last part need not exist.
fn whole_path(path: &Path) -> PathBuf {
    let within = || {
        let parent = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        Some(parent.canonicalize().ok()?.join(path.file_name()?))
    };
    path.canonicalize().ok().or_else(within).unwrap_or_else(|| path.to_path_buf())
}

/// The journal contains all records of the job when the job ends.
impl Drop for WriteJournal {
    fn drop(&mut self) {
        self.journal.sync();
    }
}

impl Hook for WriteJournal {
    fn events(&self) -> Events {
        // With extra ops, the worker waits for all writes of a pass before it begins another one.
        Events::EXTRA.only_if(self.repeats)
            | Events::CARRY_OUT.only_if(self.trims)
            | Events::ADMIT
            | Events::ISSUED
            | Events::COMPLETED
            | Events::FLUSHES
    }

    fn admit(&mut self, io: &mut Io) -> Admission {
        if io.dir != Dir::Write {
            return Admission::AsDrawn;
        }
        match self.announce(self.ahead.places[io.file.get()].write(io)) {
            Ok(()) => Admission::AsDrawn,
            Err(error) => Admission::Fail(Box::new(error)),
        }
    }

    fn issued(&mut self, io: &mut IssuedIo, _data: &mut [u8]) {
        let number = match io.op.kind {
            OpKind::Write => {
                let job = self.job;
                self.journal.add(|writer| writer.add(JournalRecord::Issued { job }));
                self.ahead.writes.pop_front();
                self.next += 1;
                self.next - 1
            }
            OpKind::Fsync | OpKind::Fdatasync => {
                self.journal.flush_issued(self.ahead.places[io.op.file.get()].index)
            }
            OpKind::Read | OpKind::Trim | OpKind::SyncFileRange(_) => return,
        };
        if let Some(slot) = self.slots.get_mut(io.slot as usize) {
            *slot = number;
        }
    }

    /// A trim is issued when the journal announces it durably.
    fn carry_out(&mut self, io: &IssuedIo) -> Option<Result<(), JobError>> {
        if io.op.kind != OpKind::Trim {
            return None;
        }
        let start = self.ahead.places[io.op.file.get()].base + Bytes(io.op.offset);
        let length = Bytes(u64::from(io.op.len));
        let record = JournalRecord::Trimmed { start, length };
        let mark = self.journal.add(|writer| writer.add(record));
        self.journal.wait_durable(mark).err().map(Err)
    }

    fn completed(
        &mut self,
        io: &IssuedIo,
        _data: &[u8],
        end: &Completed,
        _recorder: &mut Recorder,
    ) -> Disposition {
        let writer = self.writer(io.slot);
        let record = match (io.op.kind, end.succeeded) {
            (OpKind::Write, true) => {
                let target = self.ahead.places[io.op.file.get()].index;
                JournalRecord::Completed { writer, target, durable: self.durable }
            }
            (OpKind::Write, false) => JournalRecord::Failed(writer),
            (OpKind::Fsync | OpKind::Fdatasync, true) => {
                JournalRecord::FlushCompleted(writer.number)
            }
            _ => return Disposition::Release,
        };
        self.journal.add(|writer| writer.add(record));
        Disposition::Release
    }
}
