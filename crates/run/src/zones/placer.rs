//! Places the I/Os of one job in zones, and reports their outcome to the zone tables.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fiord_load::Io;
use fiord_plan::{FilePlan, JobPlan, Mix, WriteCommand};
use fiord_sys::zone::ZoneAction;
use fiord_types::{Bytes, Dir, Errno, FileIndex, ZoneIndex};

use super::open_zones::{PlacedWrite, ZoneUser};
use super::table::{Filling, ZoneTable, ZoneUse, advice};
use crate::error::{JobError, Stage};

mod reads;
mod resets;

use resets::VerifiedZones;
pub(crate) use resets::{DoomedRange, ReadBack};

/// Counts of what a job did to zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    /// Zones reset that held data.
    pub resets: u64,
    /// Zones finished before they were full.
    pub finishes: u64,
    /// Commands to zones of a device, whatever the zones held.
    pub commands: u64,
    /// Reads that ended beyond the valid data (`read_beyond_wp`).
    pub reads_beyond: u64,
    /// Times that a job which only reads found no zone with data and therefore ended its pass over the file.
    pub nothing_to_read: u64,
    /// Failed writes after which the job continued at the write pointer that the device reported.
    pub recovered: u64,
}

/// Result of placing an I/O.
#[derive(Debug)]
pub(crate) enum ZonePlacement {
    /// Issue this I/O.
    Go(Io),
    /// The I/O is a zone reset. [`Placer::reset`] carries it out instead of the engine.
    Reset(Io),
    /// Not now: the job must read back a zone before it is reset ([`ReadBack`]).
    ReadBack,
    /// No zone takes the I/O now: call [`Placer::wait`], then try again.
    Busy,
    /// No zone from its offset on takes the I/O: the pass over the file is complete.
    Displaced,
    /// All zones are full, and the job keeps what it has written in this pass.
    Filled,
    /// A sequential write reached the end of the range: no zone from its offset on takes it.
    Passed {
        /// Data that such writes fill in one pass over the range.
        lap: Bytes,
    },
    /// The I/O is a read, and no zone of the range holds data ([`Placer::writes_instead`]).
    NoData,
    /// The I/O can never be placed.
    Failed(Box<JobError>),
}

/// What an I/O in flight occupies.
#[derive(Debug, Clone, Copy)]
enum Flight {
    /// Nothing.
    None,
    /// A pin of the zone.
    Read { file: FileIndex, zone: ZoneIndex },
    /// A part of the zone.
    Write { file: FileIndex, zone: ZoneIndex, offset: Bytes, len: Bytes },
    /// The whole zone.
    Reset { file: FileIndex, zone: ZoneIndex, data: bool },
}

/// A file of the job.
#[derive(Debug)]
struct File {
    table: Arc<ZoneTable>,
    user: ZoneUser,
    /// Zones that held data at the last scan.
    known: Vec<ZoneIndex>,
}

/// Places the I/Os of one job.
#[derive(Debug)]
pub(crate) struct Placer {
    files: Vec<File>,
    flights: Vec<Flight>,
    /// The I/O that is placed but not yet accepted by the engine.
    ready: Option<(Io, Flight)>,
    random: bool,
    mixed: bool,
    pairs: bool,
    min_read: u32,
    read_beyond: bool,
    recover: bool,
    counts: Counts,
    /// File and table version of the last [`ZonePlacement::Busy`].
    seen: (FileIndex, u64),
    verified: VerifiedZones,
}

impl Placer {
    /// A placer for a job, with the zone table of each of its files. `None` if the job does not use zones. Fails if
    /// the zones do not fit the job.
    pub(crate) fn new(
        job: &JobPlan,
        tables: Vec<Arc<ZoneTable>>,
    ) -> Result<Option<Box<Placer>>, JobError> {
        let Some(zoned) = job.load.zoned else { return Ok(None) };
        let min = |dir: Dir| job.load.blocks[dir].min();
        let files = job.target.files.iter().zip(tables);
        let files = files.map(|(plan, table)| File::new(job, plan, table));
        Ok(Some(Box::new(Placer {
            files: files.collect::<Result<_, _>>()?,
            flights: vec![Flight::None; job.slots() as usize],
            ready: None,
            random: job.load.random,
            mixed: matches!(job.load.mix, Mix::ReadWrite { read_percent } if read_percent < 100),
            pairs: job.load.mix == Mix::TrimWrite,
            min_read: min(Dir::Read).max(1),
            read_beyond: zoned.read_beyond,
            recover: zoned.recover,
            counts: Counts::default(),
            seen: (FileIndex(0), 0),
            verified: VerifiedZones::default(),
        })))
    }

    /// The counts so far.
    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// Resets the counts when measuring begins.
    pub(crate) fn forget(&mut self) {
        self.counts = Counts::default();
    }

    /// Handles [`ZonePlacement::NoData`]: returns true if the job issues a write instead of the read. A job that only
    /// reads ends its pass over the file.
    pub(crate) fn writes_instead(&mut self) -> bool {
        self.counts.nothing_to_read += u64::from(!self.mixed);
        self.mixed
    }

    /// Places an I/O. Until it is [`taken`](Placer::taken), further calls return the same I/O.
    pub(crate) fn place(&mut self, io: &Io) -> ZonePlacement {
        if let Some((io, flight)) = self.ready {
            return match flight {
                Flight::Reset { .. } => ZonePlacement::Reset(io),
                _ => ZonePlacement::Go(io),
            };
        }
        if let Some(stopped) = self.continue_reset() {
            return stopped;
        }
        match io.dir {
            Dir::Read => self.place_read(io),
            Dir::Write => self.place_write(io),
            Dir::Trim => self.place_trim(io),
        }
    }

    /// Whether the I/O in a slot is a reset.
    pub(crate) fn is_reset(&self, slot: u32) -> bool {
        matches!(self.flights[slot as usize], Flight::Reset { .. })
    }

    /// The placed I/O is issued in this slot.
    #[inline]
    pub(crate) fn taken(&mut self, slot: u32) {
        if let Some((_, flight)) = self.ready.take() {
            self.flights[slot as usize] = flight;
        }
    }

    /// Waits until the zone table of the last [`ZonePlacement::Busy`] changes, but for 50 ms at most, so that the worker
    /// can do its housekeeping.
    pub(crate) fn wait(&self) {
        let (file, version) = self.seen;
        self.files[file].table.wait(version, Duration::from_millis(50));
    }

    fn go(&mut self, io: Io, flight: Flight) -> ZonePlacement {
        self.ready = Some((io, flight));
        match flight {
            Flight::Reset { .. } => ZonePlacement::Reset(io),
            _ => ZonePlacement::Go(io),
        }
    }

    fn place_write(&mut self, io: &Io) -> ZonePlacement {
        loop {
            let file = &mut self.files[io.file];
            let append = io.attributes.command == WriteCommand::Append;
            match file.table.place_write(
                &mut file.user,
                Bytes(io.offset),
                Bytes(u64::from(io.len)),
                append,
            ) {
                PlacedWrite::Write { zone, offset, len } => {
                    self.note_write(io.file, zone);
                    let flight = Flight::Write { file: io.file, zone, offset, len };
                    return self.go(Io { offset: offset.0, len: len.0 as u32, ..*io }, flight);
                }
                PlacedWrite::Anywhere { offset, len } => {
                    return self
                        .go(Io { offset: offset.0, len: len.0 as u32, ..*io }, Flight::None);
                }
                PlacedWrite::First(zone, action) => {
                    if let Some(stopped) = self.prepare_zone(io.file, zone, action) {
                        return stopped;
                    }
                }
                PlacedWrite::Busy(version) => {
                    self.seen = (io.file, version);
                    return ZonePlacement::Busy;
                }
                PlacedWrite::Nothing => {
                    return ZonePlacement::Passed { lap: file.table.lap(&file.user) };
                }
                PlacedWrite::Filled => return ZonePlacement::Filled,
                PlacedWrite::Fail(why) => {
                    let path = file.table.path.clone();
                    return ZonePlacement::Failed(Box::new(
                        JobError::new(Stage::Write, None, why).at(path),
                    ));
                }
            }
        }
    }

    fn carry_out(
        &mut self,
        file: FileIndex,
        zone: ZoneIndex,
        action: ZoneAction,
    ) -> Result<(), Box<JobError>> {
        let table = &self.files[file].table;
        let held = table.has_data(zone);
        self.counts.commands += u64::from(table.device.is_some());
        table.carry_out(zone, action).map_err(Box::new)?;
        match action {
            ZoneAction::Reset => self.counts.resets += u64::from(held),
            ZoneAction::Finish => self.counts.finishes += 1,
            ZoneAction::Open | ZoneAction::Close => {}
        }
        Ok(())
    }

    fn place_trim(&mut self, io: &Io) -> ZonePlacement {
        let file = &mut self.files[io.file.get()];
        let zone = file.table.zone_of(Bytes(io.offset));
        let zone = if self.random && !self.pairs {
            let (first, end) = (file.user.first, file.user.end);
            let full = |zone: &ZoneIndex| file.table.has_data(*zone);
            match zone.to(end).chain(first.to(zone)).find(full) {
                Some(zone) => zone,
                None => return ZonePlacement::Displaced,
            }
        } else {
            zone
        };
        let view = file.table.view(zone);
        match view.usage() {
            ZoneUse::Conventional => return self.go(*io, Flight::None),
            ZoneUse::Dead => return ZonePlacement::Displaced,
            ZoneUse::Sequential => {}
        }
        let offset = view.start;
        match file.table.request_reset(&mut file.user, zone) {
            Ok(()) => {
                let data = file.table.has_data(zone);
                let flight = Flight::Reset { file: io.file, zone, data };
                self.go(Io { offset: offset.0, ..*io }, flight)
            }
            Err(version) => {
                self.seen = (io.file, version);
                ZonePlacement::Busy
            }
        }
    }

    /// Carries out the reset in a slot and completes it.
    pub(crate) fn reset(&mut self, slot: u32) -> Result<(), JobError> {
        let flight = std::mem::replace(&mut self.flights[slot as usize], Flight::None);
        let Flight::Reset { file, zone, data } = flight else { return Ok(()) };
        let table = &self.files[file].table;
        self.counts.commands += u64::from(table.device.is_some());
        table.carry_out(zone, ZoneAction::Reset)?;
        table.reset_done(zone);
        self.counts.resets += u64::from(data);
        Ok(())
    }

    /// Records that the I/O in a slot succeeded. Fails if the zone then cannot be finished.
    #[inline]
    pub(crate) fn ended(&mut self, slot: u32) -> Result<(), JobError> {
        match std::mem::replace(&mut self.flights[slot as usize], Flight::None) {
            Flight::Read { file, zone } => {
                self.files[file].table.unpin(zone);
                Ok(())
            }
            Flight::Write { file, zone, offset, .. } => self.wrote(file, zone, offset),
            Flight::None | Flight::Reset { .. } => Ok(()),
        }
    }

    fn wrote(&mut self, file: FileIndex, zone: ZoneIndex, offset: Bytes) -> Result<(), JobError> {
        let of = &self.files[file];
        match of.table.written(&of.user, zone, offset) {
            Some(action) => self.carry_out(file, zone, action).map_err(|error| *error),
            None => Ok(()),
        }
    }

    /// Records that the I/O in a slot failed. Returns an error if the job must stop even with
    /// `continue_on_error`, and a description of the zone.
    pub(crate) fn failed(
        &mut self,
        slot: u32,
        errno: Option<Errno>,
    ) -> (Result<(), JobError>, String) {
        match std::mem::replace(&mut self.flights[slot as usize], Flight::None) {
            Flight::None | Flight::Reset { .. } => (Ok(()), String::new()),
            Flight::Read { file, zone } => {
                let table = &self.files[file].table;
                table.unpin(zone);
                (Ok(()), table.describe(zone))
            }
            Flight::Write { file, zone, offset, len } => {
                let table = Arc::clone(&self.files[file].table);
                let result = match table.write_failed(zone, (offset, len), errno) {
                    Ok((now, then)) if now == then => Ok(()),
                    Ok(_) if self.recover => {
                        self.counts.recovered += 1;
                        Ok(())
                    }
                    Ok((now, then)) => {
                        let what = format!(
                            "the write pointer is at {now} after the write at {then} failed. To fix: set \
                             recover_zbd_write_error=1 and continue_on_error to continue from there"
                        );
                        Err(table.error(Stage::Write, zone, errno, what))
                    }
                    Err(mut error) if self.recover => {
                        error.detail = format!("Failed to recover write pointer: {}", error.detail);
                        Err(error)
                    }
                    Err(error) => Err(error),
                };
                (result, format!("{}{}", table.describe(zone), advice(errno)))
            }
        }
    }
}

impl Drop for Placer {
    /// Releases everything that unfinished I/Os occupy, so that no other job waits for it.
    fn drop(&mut self) {
        self.cancel_pending();
        let ready = self.ready.take().map(|(_, flight)| (flight, false));
        let flights = self.flights.iter().map(|flight| (*flight, true));
        for (flight, made) in flights.chain(ready).collect::<Vec<_>>() {
            let table = |file: FileIndex| &self.files[file].table;
            match flight {
                Flight::None => {}
                Flight::Read { file, zone } => table(file).unpin(zone),
                // The write may have been partly done.
                Flight::Write { file, zone, offset, len } if made => {
                    let _ = table(file).write_failed(zone, (offset, len), None);
                }
                Flight::Write { file, zone, offset, len } => {
                    table(file).write_cancelled(zone, offset, len);
                }
                Flight::Reset { file, zone, .. } => table(file).cancel_reset(zone),
            }
        }
        for file in &self.files {
            file.table.leave(&file.user);
        }
    }
}

impl File {
    fn new(job: &JobPlan, plan: &FilePlan, table: Arc<ZoneTable>) -> Result<File, JobError> {
        let Some(zoned) = job.load.zoned else { return Err(no_zones(plan)) };
        let (first, end) = zones_of(job, plan, &table)?;
        let writes = job.load.mix.has(Dir::Write);
        let device = table.limit.filter(|_| !zoned.ignore_limits);
        let limit = device.into_iter().chain(zoned.max_open).min();
        let resets = zoned.resets.map(|resets| {
            let threshold = (plan.len.as_f64() * resets.threshold) as u64;
            (Bytes(threshold), resets.every)
        });
        let id = job.identity.index;
        let sequential_writes = writes && !job.load.random;
        let user = ZoneUser {
            partly_written: if sequential_writes {
                table.partly_written(first, end)
            } else {
                Vec::new()
            },
            id,
            sequential: !job.load.random,
            min: Bytes(u64::from(job.load.blocks[Dir::Write].min().max(1))),
            unaligned: job.load.unaligned,
            remainders: zoned.remainders,
            own_limit: zoned.job_max_open,
            limit,
            first,
            end,
            resets,
            writes: 0,
            early_reset: false,
            earlier: None,
            resetting: None,
            queued: None,
        };
        if writes {
            table.register_writer(&user);
        }
        Ok(File { table, user, known: Vec::new() })
    }
}

/// The zones of a file that a job uses: the first one, and the end. Fails if the device has other zones, or if
/// no block of the job fits into one of them. Larger blocks are cut.
fn zones_of(
    job: &JobPlan,
    plan: &FilePlan,
    table: &ZoneTable,
) -> Result<(ZoneIndex, ZoneIndex), JobError> {
    let invalid =
        |what: String| JobError::new(Stage::ZoneSetUp, Some(Errno::EINVAL), what).at(&plan.path);
    let zones = plan.zones.ok_or_else(|| no_zones(plan))?;
    let range = (plan.offset / zones.size, (plan.offset + plan.len) / zones.size);
    if zones.size != table.zone_size || range.1 > table.views.len() as u64 {
        return Err(invalid(format!(
            "the job uses zones {} to {} of {} bytes, but the device has {} zones of {} bytes. To \
             fix: adapt zonesize, offset and size",
            range.0,
            range.1,
            zones.size,
            table.views.len(),
            table.zone_size
        )));
    }
    let (first, end) = (ZoneIndex(range.0 as u32), ZoneIndex(range.1 as u32));
    let dirs = [Dir::Read, Dir::Write].into_iter().filter(|dir| job.load.mix.has(*dir));
    let least = dirs.map(|dir| job.load.blocks[dir].min()).max().unwrap_or(0);
    let small = first.to(end).map(|zone| (zone, table.view(zone))).find(|(_, view)| {
        view.usage() == ZoneUse::Sequential && view.limit - view.start < Bytes(u64::from(least))
    });
    if let Some((zone, view)) = small {
        return Err(invalid(format!(
            "I/O buflen exceeds zone size: blocks of {least} bytes, and zone {zone} takes {}",
            view.limit - view.start
        )));
    }
    Ok((first, end))
}

/// The error of a plan that lacks the zones of a file.
fn no_zones(plan: &FilePlan) -> JobError {
    let what = "the plan lacks zones for this file: this is a bug, please report it";
    JobError::new(Stage::ZoneSetUp, None, what).at(&plan.path)
}

impl ZoneTable {
    /// Whether a zone holds data that can be read.
    fn has_data(&self, zone: ZoneIndex) -> bool {
        let view = self.view(zone);
        view.usage() == ZoneUse::Sequential && view.valid.load(Ordering::Acquire) > view.start.0
    }

    fn version(&self) -> u64 {
        self.lock().version
    }

    /// Registers a job that writes in a range of zones.
    fn register_writer(&self, user: &ZoneUser) {
        let mut states = self.lock();
        states.writers.push((user.id, user.first, user.end));
        let known = states.fillings.iter().any(|f| (f.first, f.end) == (user.first, user.end));
        if user.resets.is_some() && !known {
            let bytes = user.first.to(user.end).map(|zone| states.zones[zone].filled).sum();
            states.fillings.push(Filling { first: user.first, end: user.end, bytes });
        }
    }

    /// Releases the slot of a zone that a trim has reset and that no job writes.
    fn reset_done(&self, zone: ZoneIndex) {
        let mut states = self.lock();
        let state = &states.zones[zone];
        if state.writes.is_empty() && state.pointer == self.view(zone).start && !state.working {
            self.release_slot(&mut states, zone);
            self.notify(&mut states);
        }
    }

    /// Cancels the pending reset of a zone.
    fn cancel_reset(&self, zone: ZoneIndex) {
        let mut states = self.lock();
        let state = &mut states.zones[zone];
        (state.working, state.resetting) = (false, None);
        self.reopen(zone);
        self.notify(&mut states);
    }
}
