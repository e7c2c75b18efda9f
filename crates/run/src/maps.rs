//! The maps of targets that are verified. Jobs that write the same format to a target share a map of it; the map of
//! each format knows which blocks the other jobs have overwritten.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fiord_load::LoadError;
use fiord_load::verify::{ClaimRefused, Claimed, GranuleState, WriteMap, WriteRecords, WriteValue};
use fiord_plan::{BlockFormat, FileKind, FilePlan, JobPlan, MAX_RECORDS, Plan};
use fiord_types::Bytes;

/// The maps of a run.
#[derive(Debug, Default)]
pub(crate) struct VerifyMaps {
    /// The files that have maps, by path.
    targets: HashMap<PathBuf, MappedTarget>,
}

/// A file that has maps.
#[derive(Debug, Default)]
struct MappedTarget {
    /// The end of the last region of a job.
    end: Bytes,
    /// Number of jobs that use it.
    users: usize,
    /// Where the data ends that it had before the run. 0: it had none.
    earlier_end: Bytes,
    maps: Mutex<Vec<FormatMap>>,
}

#[derive(Debug)]
struct FormatMap {
    format: BlockFormat,
    granule: Bytes,
    /// The map is allocated when the first job asks for it.
    map: Option<Arc<TrackedWrites>>,
}

/// What is known about the writes of one format.
#[derive(Debug)]
pub(crate) struct TrackedWrites {
    pub map: WriteMap,
    /// The writes themselves, if the map alone does not say where each block begins. Then the map says only which parts
    /// of the target change.
    pub records: Option<WriteRecords>,
}

impl TrackedWrites {
    fn new(end: Bytes, format: &BlockFormat, granule: Bytes) -> Result<Arc<Self>, LoadError> {
        let records = format.has_records().then(|| WriteRecords::new(MAX_RECORDS as usize));
        let mut map = WriteMap::new(end, granule)?;
        if format.counts_generations() {
            map = map.counting_generations();
        }
        Ok(Arc::new(TrackedWrites { map, records }))
    }

    fn forget(&self, range: &Range<u64>) -> u64 {
        self.records.as_ref().map_or(0, |records| records.remove(range.clone()))
    }
}

impl VerifyMaps {
    /// The maps that the jobs of a plan need.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut targets: HashMap<PathBuf, MappedTarget> = HashMap::new();
        for (job, (format, granule)) in
            plan.jobs.iter().filter_map(|job| Some((job, job.mapped_format()?)))
        {
            for file in &job.target.files {
                let target = targets.entry(file.path.clone()).or_default();
                target.end = target.end.max(file.end());
                let maps = target.maps.get_mut().unwrap_or_else(PoisonError::into_inner);
                if !maps.iter().any(|known| known.format == format) {
                    maps.push(FormatMap { format: format.clone(), granule, map: None });
                }
            }
        }
        if !targets.is_empty() {
            for file in plan.jobs.iter().flat_map(|job| &job.target.files) {
                if let Some(target) = targets.get_mut(&file.path) {
                    if target.users == 0 {
                        target.earlier_end = earlier_end(file);
                    }
                    target.users += 1;
                }
            }
        }
        VerifyMaps { targets }
    }

    /// Whether several jobs use a file with a map.
    pub(crate) fn is_shared(&self, file: &FilePlan) -> bool {
        self.targets.get(&file.path).is_some_and(|target| target.users > 1)
    }

    /// Where the data ends that a file had before the run. [`Bytes::MAX`] if the file has no map.
    pub(crate) fn earlier_end(&self, file: &FilePlan) -> Bytes {
        self.targets.get(&file.path).map_or(Bytes::MAX, |target| target.earlier_end)
    }

    /// The maps of each file of a job. Empty if the job neither has maps nor informs those of other jobs.
    pub(crate) fn of_job(&self, job: &JobPlan) -> Result<Vec<TargetMaps>, LoadError> {
        if job.mapped_format().is_none() && !job.informs_maps {
            return Ok(Vec::new());
        }
        job.target.files.iter().map(|file| self.of_file(job, file)).collect()
    }

    fn of_file(&self, job: &JobPlan, file: &FilePlan) -> Result<TargetMaps, LoadError> {
        let own = job.mapped_format();
        let mut result = TargetMaps::default();
        let Some(target) = self.targets.get(&file.path) else {
            if let Some((format, granule)) = own {
                // The plan of a test.
                result.own = Some(TrackedWrites::new(file.end(), &format, granule)?);
            }
            return Ok(result);
        };
        let mut maps = target.maps.lock().unwrap_or_else(PoisonError::into_inner);
        for FormatMap { format, granule, map } in maps.iter_mut() {
            let map = match map {
                Some(map) => map,
                None => map.insert(TrackedWrites::new(target.end, format, *granule)?),
            };
            match &own {
                Some((own, _)) if own == format => result.own = Some(Arc::clone(map)),
                _ => result.others.push(Arc::clone(map)),
            }
        }
        Ok(result)
    }
}

/// The maps of one file, as one job uses them. A write claims its blocks in all of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct TargetMaps {
    /// The map of the job's own format. `None`: the job does not verify.
    own: Option<Arc<TrackedWrites>>,
    /// The maps of other formats. What this job writes is unknown to them.
    others: Vec<Arc<TrackedWrites>>,
}

/// A claim on all maps of a file.
#[must_use = "the blocks stay in flight until the claim is settled"]
#[derive(Debug)]
pub(crate) struct TargetClaim {
    own: Option<Claimed>,
    others: Vec<Claimed>,
    range: Range<u64>,
    /// The range consists of whole granules of the job's own map.
    whole: bool,
}

impl TargetClaim {
    /// The state that each granule of the job's own map had before the claim.
    pub(crate) fn previous(&self) -> impl Iterator<Item = GranuleState> + '_ {
        self.own.iter().flat_map(Claimed::previous)
    }

    /// The claim on the job's own map.
    pub(crate) fn own(&self) -> Option<&Claimed> {
        self.own.as_ref()
    }
}

impl TargetMaps {
    /// The map of the job's own format.
    pub(crate) fn own(&self) -> Option<&WriteMap> {
        self.own.as_ref().map(|own| &own.map)
    }

    /// The records of the job's own format, if it has any.
    pub(crate) fn records(&self) -> Option<&WriteRecords> {
        self.own.as_ref()?.records.as_ref()
    }

    /// Claims a range in all maps.
    pub(crate) fn claim(&self, offset: u64, len: u64) -> Result<TargetClaim, ClaimRefused> {
        let own = self.own().map(|map| map.claim(offset, len)).transpose()?;
        let whole = |own: &TrackedWrites| own.records.is_some() || is_whole(&own.map, offset, len);
        let mut claim = TargetClaim {
            own,
            others: Vec::with_capacity(self.others.len()),
            range: offset..offset.saturating_add(len),
            whole: self.own.as_ref().is_none_or(|own| whole(own)),
        };
        for map in self.others.iter().map(|other| &other.map) {
            // Other jobs may use a larger part of the file than those that verify it.
            let Bytes(end) = map.bytes();
            let (start, stop) = (offset.min(end), offset.saturating_add(len).min(end));
            match map.claim(start, stop - start) {
                Ok(claimed) => claim.others.push(claimed),
                Err(refused) => {
                    self.release(claim);
                    return Err(refused);
                }
            }
        }
        Ok(claim)
    }

    /// Claims the part of a range that the maps contain.
    pub(crate) fn claim_within(&self, start: u64, end: u64) -> Result<TargetClaim, ClaimRefused> {
        let last = self.own().map_or(end, |map| end.min(map.bytes().0));
        self.claim(start.min(last), last.saturating_sub(start))
    }

    /// Whether no job has written, trimmed or claimed a block of a range.
    pub(crate) fn is_untouched(&self, start: u64, end: u64) -> bool {
        let touched = |state| state != GranuleState::NeverWritten;
        let touches = |tracked: &Arc<TrackedWrites>| {
            tracked
                .map
                .next_run(start, Bytes(1), touched)
                .is_some_and(|run| run.offset < Bytes(end))
        };
        !self.own.iter().chain(&self.others).any(touches)
    }

    /// Whether a range contains writes of the job's format.
    pub(crate) fn holds_own_writes(&self, start: u64, end: u64) -> bool {
        let run = self.own().and_then(|map| map.next_written(start, Bytes(1)));
        run.is_some_and(|run| run.offset < Bytes(end))
    }

    /// Claims a range for a read. No job writes it meanwhile: all writers claim it in this map.
    pub(crate) fn claim_for_read(
        &self,
        offset: u64,
        len: u64,
    ) -> Result<TargetClaim, ClaimRefused> {
        let own = self.own().map(|map| map.claim(offset, len)).transpose()?;
        Ok(TargetClaim { own, others: Vec::new(), range: 0..0, whole: true })
    }

    /// The write succeeded. `value` returns the value of each granule from its state before the claim.
    pub(crate) fn complete(&self, claim: TargetClaim, value: &dyn Fn(GranuleState) -> WriteValue) {
        let whole = claim.whole;
        self.forget(&claim);
        if let Some(records) = self.records() {
            records.insert(claim.range.clone(), value(GranuleState::NeverWritten));
        }
        self.settle(claim, WriteMap::overwrite, |map, claimed| match whole {
            true => map.complete_each(claimed, value),
            // A part of a granule belongs to another write.
            false => map.abandon(claimed),
        });
    }

    /// The trim succeeded. Returns the bytes of writes that it has discarded.
    pub(crate) fn trim(&self, claim: TargetClaim) -> Bytes {
        let whole = claim.whole;
        let recorded = self.forget(&claim);
        let trimmed = match (self.records(), self.own()) {
            (None, Some(map)) => {
                let written = |state: &GranuleState| matches!(state, GranuleState::Written(_));
                map.granule() * claim.previous().filter(written).count() as u64
            }
            _ => recorded,
        };
        self.settle(claim, WriteMap::overwrite, |map, claimed| match whole {
            true => map.trim(claimed),
            false => map.abandon(claimed),
        });
        trimmed
    }

    /// The target has discarded the data of a zone.
    pub(crate) fn discard(&self, claim: TargetClaim) {
        self.forget(&claim);
        self.settle(claim, WriteMap::trim, WriteMap::trim);
    }

    /// The write or trim failed, or the job does not verify: the contents of the blocks are unknown.
    pub(crate) fn abandon(&self, claim: TargetClaim) {
        self.forget(&claim);
        self.settle(claim, WriteMap::overwrite, WriteMap::abandon);
    }

    /// The blocks contain what they contained before.
    pub(crate) fn release(&self, claim: TargetClaim) {
        self.settle(claim, WriteMap::release, WriteMap::release);
    }

    /// Removes the records of what a claim covers. Returns the bytes of those of the job's own format.
    fn forget(&self, claim: &TargetClaim) -> Bytes {
        self.others.iter().for_each(|other| {
            other.forget(&claim.range);
        });
        Bytes(self.own.as_ref().map_or(0, |own| own.forget(&claim.range)))
    }

    fn settle(
        &self,
        claim: TargetClaim,
        others: impl Fn(&WriteMap, Claimed),
        own: impl FnOnce(&WriteMap, Claimed),
    ) {
        if let (Some(map), Some(claimed)) = (self.own(), claim.own) {
            own(map, claimed);
        }
        for (other, claimed) in self.others.iter().zip(claim.others) {
            others(&other.map, claimed);
        }
    }
}

/// Where the data ends that a file had before the run, according to the first job that uses it: the plans of later jobs
/// count what the layout of earlier ones adds.
fn earlier_end(file: &FilePlan) -> Bytes {
    match file.kind {
        FileKind::Regular => file.size_now.unwrap_or(Bytes::ZERO),
        // Each run begins with a blank simulated device.
        FileKind::Virtual => Bytes::ZERO,
        _ => Bytes::MAX,
    }
}

/// Whether a range consists of whole granules.
fn is_whole(map: &WriteMap, offset: u64, len: u64) -> bool {
    let (Bytes(granule), end) = (map.granule(), offset + len);
    offset.is_multiple_of(granule) && (end.is_multiple_of(granule) || Bytes(end) == map.bytes())
}
