//! Reads blktrace files as events.

use std::collections::{HashMap, VecDeque};
use std::io::BufRead;

use fiord_types::{Bytes, Nanos};

use super::record::{BlktraceRecord, CpuFiles, Meaning};
use crate::trace::error::{RowProblem, TraceError, TraceNotes};
use crate::trace::record::{TraceCompletion, TraceEvent, TraceIo, TraceName, TraceTarget};
use crate::trace::timeline::Timeline;
use crate::trace::window::SortWindow;
use crate::trace::{TraceFormat, TraceOptions, TraceReader};

/// Records of one file that may be out of order.
pub(super) const WINDOW: usize = 1024;

/// Reads the files of one trace.
#[derive(Debug)]
pub struct BlktraceReader<R> {
    files: CpuFiles<R>,
    window: SortWindow<(Meaning, BlktraceRecord)>,
    ended: bool,
    devices: Devices,
    /// The time of the first event.
    start: Option<Nanos>,
    timeline: Timeline,
    notes: TraceNotes,
    /// Events of a record that the caller has not taken yet.
    pending: VecDeque<TraceEvent>,
}

impl<R: BufRead> BlktraceReader<R> {
    /// Reads one file, or the files of all CPUs. Files without records are allowed.
    #[must_use]
    pub fn new(sources: impl IntoIterator<Item = R>, options: &TraceOptions) -> Self {
        BlktraceReader {
            files: CpuFiles::new(sources),
            window: SortWindow::new(WINDOW),
            ended: false,
            devices: Devices::default(),
            start: None,
            timeline: Timeline::new(options.longest_gap),
            notes: TraceNotes::default(),
            pending: VecDeque::new(),
        }
    }

    fn fill(&mut self) -> Result<(), TraceError> {
        while !self.ended && !self.window.is_full() {
            match self.files.next()? {
                None => self.ended = true,
                Some(record) => match record.meaning() {
                    Meaning::Nothing => self.notes.ignored += u64::from(!record.is_message()),
                    meaning => self.window.put(record.time, (meaning, record)),
                },
            }
        }
        Ok(())
    }

    /// The event of a record.
    fn event(
        &mut self,
        meaning: Meaning,
        record: &BlktraceRecord,
    ) -> Result<TraceEvent, RowProblem> {
        let start = *self.start.get_or_insert(record.time);
        let time = record.time.saturating_sub(start);
        self.timeline.check(time)?;
        let time = self.timeline.place(time, &mut self.notes);
        let (target, is_new) = self.devices.target(record.device);
        if is_new {
            let (major, minor) = (record.device >> 20, record.device & 0xf_ffff);
            let name = TraceName::Device { major, minor };
            self.pending.push_back(TraceEvent::Target(target, name));
        }
        Ok(match meaning {
            Meaning::Queued(kind, flags) => {
                // The sector of a flush has no meaning.
                let offset =
                    if record.len == Bytes::ZERO { Bytes::ZERO } else { record.offset()? };
                let io = TraceIo::new(time, target, kind, offset, record.len);
                TraceEvent::Io(TraceIo { flags, ..io })
            }
            Meaning::Completed(kind, error) => {
                let offset = record.offset()?;
                let len = record.len;
                TraceEvent::Completed(TraceCompletion { time, target, kind, offset, len, error })
            }
            Meaning::Merged | Meaning::Nothing => TraceEvent::Merged(target),
        })
    }
}

impl<R: BufRead> TraceReader for BlktraceReader<R> {
    fn next_event(&mut self) -> Result<Option<TraceEvent>, TraceError> {
        if let Some(event) = self.pending.pop_front() {
            return Ok(Some(event));
        }
        self.fill()?;
        let Some((_, (meaning, record))) = self.window.take() else { return Ok(None) };
        let event = self.event(meaning, &record).map_err(|problem| TraceError::Sequence {
            sequence: record.sequence.into(),
            problem,
        })?;
        if self.pending.is_empty() {
            return Ok(Some(event));
        }
        self.pending.push_back(event);
        Ok(self.pending.pop_front())
    }
    fn notes(&self) -> &TraceNotes {
        &self.notes
    }
    fn format(&self) -> TraceFormat {
        TraceFormat::Blktrace
    }
}

#[derive(Debug, Default)]
struct Devices {
    targets: HashMap<u32, TraceTarget>,
    before: Option<(u32, TraceTarget)>,
}

impl Devices {
    /// The target of a device, and whether it is new.
    fn target(&mut self, device: u32) -> (TraceTarget, bool) {
        if let Some((before, target)) = self.before
            && before == device
        {
            return (target, false);
        }
        let next = TraceTarget::new(self.targets.len() as u32);
        let target = *self.targets.entry(device).or_insert(next);
        self.before = Some((device, target));
        (target, target == next)
    }
}
