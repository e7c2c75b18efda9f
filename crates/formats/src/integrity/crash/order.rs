//! The order in which the writes of a run were issued.

use crate::integrity::sector::SectorWriter;

/// Writes between two entries of the index into the order.
const STEP: usize = 256;

/// Place of a write in the order of issue, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ordinal(pub u64);

/// The order of issue. With one job it is that of the numbers of its writes, and nothing is stored. With several jobs it
/// takes two bytes for each write, and eight for each job and 256 writes.
#[derive(Debug, Clone, Default)]
pub struct WriteOrder {
    jobs: Vec<JobWrites>,
    /// By job: index in `jobs` plus 1.
    index: Vec<u16>,
    /// Index of the job of each write, in the order of issue. Empty with one job.
    sequence: Vec<u16>,
    /// Writes of each job before every `STEP`th write of the sequence. A job that had no writes then may be absent.
    steps: Vec<Box<[u64]>>,
}

#[derive(Debug, Clone, Copy)]
struct JobWrites {
    job: u16,
    announced: u64,
    issued: u64,
}

impl WriteOrder {
    /// A write with this number was announced.
    pub(super) fn announced(&mut self, writer: SectorWriter) {
        let index = self.job(writer.job);
        let job = &mut self.jobs[index];
        job.announced = job.announced.max(writer.number.saturating_add(1));
    }

    /// A job issued its next write.
    pub(super) fn issued(&mut self, job: u16) {
        let index = self.job(job);
        if self.sequence.is_empty()
            && self.jobs.iter().any(|other| other.job != job && other.issued > 0)
        {
            // The first write of a second job.
            let first = self.jobs.iter().position(|other| other.issued > 0).unwrap_or(0);
            for _ in 0..std::mem::take(&mut self.jobs[first].issued) {
                self.append(first);
            }
        }
        match self.sequence.is_empty() {
            true => self.jobs[index].issued += 1,
            false => self.append(index),
        }
    }

    /// Number of writes that were issued.
    #[must_use]
    pub fn count_issued(&self) -> u64 {
        self.jobs.iter().map(|job| job.issued).sum()
    }

    /// Number of writes that were announced.
    #[must_use]
    pub fn count_announced(&self) -> u64 {
        self.jobs.iter().fold(0, |sum, job| sum.saturating_add(job.announced))
    }

    /// Whether the journal announces a write.
    #[must_use]
    pub fn is_announced(&self, writer: SectorWriter) -> bool {
        self.known(writer.job).is_some_and(|index| writer.number < self.jobs[index].announced)
    }

    /// The place of a write; `None` if the journal does not say that it was issued: it was issued after all others.
    #[must_use]
    pub fn ordinal(&self, writer: SectorWriter) -> Option<Ordinal> {
        let index = self.known(writer.job)?;
        if writer.number >= self.jobs[index].issued {
            return None;
        }
        if self.sequence.is_empty() {
            return Some(Ordinal(writer.number));
        }
        let before = |step: &[u64]| step.get(index).copied().unwrap_or(0);
        let step =
            self.steps.partition_point(|step| before(step) <= writer.number).checked_sub(1)?;
        let left = writer.number - before(&self.steps[step]);
        let places = self.sequence[step * STEP..].iter().enumerate();
        let mut own = places.filter(|(_, job)| usize::from(**job) == index);
        let (place, _) = own.nth(usize::try_from(left).ok()?)?;
        Some(Ordinal((step * STEP + place) as u64))
    }

    /// The write at a place.
    #[must_use]
    pub fn writer(&self, ordinal: Ordinal) -> Option<SectorWriter> {
        if self.sequence.is_empty() {
            let job = self.jobs.iter().find(|job| job.issued > 0)?;
            return Some(SectorWriter { job: job.job, number: ordinal.0 });
        }
        let place = usize::try_from(ordinal.0).ok()?;
        let index = usize::from(*self.sequence.get(place)?);
        let step = place / STEP;
        let since =
            self.sequence[step * STEP..place].iter().filter(|job| usize::from(**job) == index);
        let before = self.steps[step].get(index).copied().unwrap_or(0);
        Some(SectorWriter { job: self.jobs[index].job, number: before + since.count() as u64 })
    }

    fn append(&mut self, index: usize) {
        if self.sequence.len().is_multiple_of(STEP) {
            self.steps.push(self.jobs.iter().map(|job| job.issued).collect());
        }
        // There are at most 65536 jobs.
        self.sequence.push(index as u16);
        self.jobs[index].issued += 1;
    }

    fn known(&self, job: u16) -> Option<usize> {
        usize::from(*self.index.get(usize::from(job))?).checked_sub(1)
    }

    fn job(&mut self, job: u16) -> usize {
        if let Some(index) = self.known(job) {
            return index;
        }
        let at = usize::from(job);
        if self.index.len() <= at {
            self.index.resize(at + 1, 0);
        }
        self.jobs.push(JobWrites { job, announced: 0, issued: 0 });
        // Job 65535 of a journal with 65536 jobs would not be found. No run has as many.
        self.index[at] = u16::try_from(self.jobs.len()).unwrap_or(0);
        self.jobs.len() - 1
    }
}
