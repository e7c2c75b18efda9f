//! The bytes of writes that are verified: a body, and in each interval a header with a digest.

use fiord_formats::verify::ahead::DigestsAhead;
use fiord_formats::verify::header::{HeaderLayout, VerifyHeader};
use fiord_formats::verify::interval::{self, IntervalError};
use fiord_formats::verify::method::Method;
use fiord_formats::verify::pattern::{self, BodyPattern};
use fiord_formats::verify::write::{WriteFormat, WriteIdentity};
use fiord_job::option::value::PatternPart;
use fiord_load::rng::splitmix;
use fiord_plan::{JobPlan, VerifyPattern, VerifyPlan};
use fiord_types::{Dir, Errno};

use super::shape::ShapedBody;
use crate::content::whole_pattern;
use crate::error::{JobError, Stage};

/// What the writes of a job contain.
#[derive(Debug, Clone)]
pub(crate) struct JobFormat {
    contents: WriteFormat,
    pub method: Method,
    /// Length of an interval in bytes. `None`: each write is one interval.
    interval: Option<usize>,
    /// `verify_offset`.
    header_offset: usize,
    pub pattern: Option<BodyPattern>,
    /// A number of the job, from which the seed of each write derives.
    seed: u64,
    thread: u16,
    ahead: Box<DigestsAhead>,
}

impl JobFormat {
    /// The format of a job's writes.
    pub(super) fn of(job: &JobPlan, plan: &VerifyPlan, method: Method) -> Result<Self, JobError> {
        let dir = if job.load.mix.has(Dir::Write) { Dir::Write } else { Dir::Read };
        let (smallest, largest) = (job.load.blocks[dir].min(), job.load.blocks[dir].max());
        let pattern = plan.pattern.as_ref().map(|pattern| body_pattern(pattern, largest));
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let interval = plan.interval.map_or(0, |interval| narrow(interval.0));
        let header_offset = narrow(plan.header_offset.0);
        let pattern = pattern.transpose()?;
        let refuse =
            |e: IntervalError| JobError::new(Stage::FillBuffers, Errno::EINVAL, e.to_string());
        // Each write must have room for its header.
        let shortest = if interval == 0 { smallest } else { interval };
        WriteFormat::new(method, shortest, header_offset, pattern.clone()).map_err(refuse)?;
        let contents = WriteFormat::new(method, interval, header_offset, pattern.clone());
        let shape = if pattern.is_none() { ShapedBody::of(job)? } else { None };
        Ok(JobFormat {
            contents: contents.map_err(refuse)?.shaped(shape),
            method,
            interval: (interval > 0).then_some(interval as usize),
            header_offset: header_offset as usize,
            pattern,
            seed: splitmix(&mut { job.load.seed }),
            thread: (job.identity.index.get() + 1) as u16,
            ahead: Box::default(),
        })
    }

    /// The format of a whole write.
    pub(super) fn contents(&self) -> &WriteFormat {
        &self.contents
    }

    /// The number of the job's thread in headers.
    pub(super) fn thread(&self) -> u16 {
        self.thread
    }

    /// The seed of the body of a write. It is odd, so that no body consists of zeros.
    pub(super) fn seed_of(&self, number: u64) -> u64 {
        seed_of(self.seed, number)
    }

    /// Fills the buffer of a write. `number`: writes that the job issued before. `now`: ns.
    pub(crate) fn fill(&mut self, number: u64, offset: u64, data: &mut [u8], now: u64) {
        let identity = WriteIdentity {
            offset,
            seed: self.seed_of(number),
            number,
            thread: self.thread,
            seconds: (now / 1_000_000_000) as u32,
            nanos: (now % 1_000_000_000) as u32,
        };
        // The shortest interval has room for its header: `of` has checked that.
        let seed = self.seed;
        let seeds = |number| seed_of(seed, number);
        let _ = self.contents.seal_next_write(&identity, data, &mut self.ahead, &seeds);
    }

    /// Moves the header of an interval to its place, or back.
    pub(super) fn exchange(
        &self,
        interval: &mut [u8],
        layout: HeaderLayout,
    ) -> Result<(), interval::IntervalError> {
        let taken = interval::header_and_digest(layout, self.method);
        interval::exchange(interval, taken, self.header_offset)
    }

    /// Whether headers lie at another place than the start of their interval.
    pub(super) fn moves_headers(&self) -> bool {
        self.header_offset > 0
    }

    /// The intervals of an I/O, with their offsets.
    pub(super) fn intervals<'d>(
        &self,
        offset: u64,
        data: &'d [u8],
    ) -> impl Iterator<Item = (u64, &'d [u8])> + use<'d> {
        let length = self.interval.unwrap_or(usize::MAX);
        let step = u64::try_from(length).unwrap_or(u64::MAX);
        let numbers = 0u64..;
        numbers.map(move |n| offset + n * step.min(1 << 32)).zip(data.chunks(length))
    }

    /// Turns the bytes of a read, whose headers are intact, into what was written: the body comes from the seed in
    /// the first header. `number`: that of the write, if it is known.
    pub(super) fn restore(&self, offset: u64, data: &mut [u8], number: Option<u64>) {
        let length = data.len();
        let interval = self.interval.unwrap_or(length).min(length);
        let mut first = data[..interval].to_vec();
        let _ = self.exchange(&mut first, HeaderLayout::Current);
        let seed = match VerifyHeader::read(&first) {
            Ok(header) => header.seed,
            Err(_) => number.map_or(0, |number| self.seed_of(number)),
        };
        let found = data.to_vec();
        self.contents.fill_body(seed, offset, data);
        if !self.method.has_header() {
            return;
        }
        let pairs = data.chunks_mut(interval).zip(found.chunks(interval));
        for (interval, found) in pairs {
            let mut found = found.to_vec();
            let _ = self.exchange(&mut found, HeaderLayout::Current);
            if let Ok(header) = VerifyHeader::read(&found) {
                let _ = interval::seal(interval, &header);
            }
            let _ = self.exchange(interval, HeaderLayout::Current);
        }
    }
}

/// The seed of the body of a write. `job`: see [`JobFormat::seed`].
fn seed_of(job: u64, number: u64) -> u64 {
    splitmix(&mut (job ^ number)) | 1
}

/// The pattern of a job, with the contents of its files. `most`: length of the longest write.
fn body_pattern(pattern: &VerifyPattern, most: u32) -> Result<BodyPattern, JobError> {
    let parts = whole_pattern(&pattern.parts, most)?;
    let parts = parts.into_iter().filter_map(|part| match part {
        PatternPart::Bytes(bytes) => Some(pattern::ResolvedPart::Bytes(bytes)),
        PatternPart::Offset => Some(pattern::ResolvedPart::Offset),
        // Replaced above.
        PatternPart::File(_) => None,
    });
    let interval = pattern.interval.map_or(0, |interval| interval.0);
    BodyPattern::new(parts.collect(), interval).ok_or_else(|| {
        let detail = "verify_pattern has no bytes. To fix: name a file that is not empty";
        JobError::new(Stage::FillBuffers, Errno::EINVAL, detail)
    })
}
