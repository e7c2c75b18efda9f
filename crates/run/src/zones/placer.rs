//! A job's side: puts its I/Os where zones take them, and tells the owners how they ended.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use fiord_load::{Dir, Io};
use fiord_plan::{FilePlan, JobPlan, Mix, WriteForm};
use fiord_sys::zone::Action;

use super::claim::{Claim, Side};
use super::owner::{Filling, Owner, Use, advice};
use crate::error::JobError;

mod reads;

/// What a job did to zones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Zones reset that held data.
    pub resets: u64,
    /// Zones finished before they were full.
    pub finishes: u64,
    /// Commands to zones of a device, whatever the zones held.
    pub commands: u64,
    /// Reads of what was not written (`read_beyond_wp`).
    pub reads_beyond: u64,
    /// Times that a job which only reads found no zone with data, and was done with the file.
    pub nothing_to_read: u64,
    /// Failed writes after which it went on at the pointer that the device told.
    pub recovered: u64,
}

/// Where an I/O goes.
#[derive(Debug)]
pub enum Place {
    /// Here.
    Go(Io),
    /// It resets a zone: [`Placer::reset`] does it, not the engine.
    Reset(Io),
    /// Nowhere until there is news ([`Placer::wait`]).
    Busy,
    /// Nowhere behind its offset: the file is done in this pass.
    Displaced,
    /// A sequential write came to the end of the range: no zone from its offset on takes it.
    Passed {
        /// Bytes of such writes that the range takes in one lap.
        lap: u64,
    },
    /// A read, and no zone of the range holds data ([`Placer::writes_instead`]).
    NoData,
    /// Nowhere.
    Failed(Box<JobError>),
}

/// What an I/O in flight holds of a zone.
#[derive(Debug, Clone, Copy)]
enum Flight {
    /// Nothing.
    None,
    /// A pin.
    Read { file: u32, zone: u32 },
    /// Its part of the zone.
    Write { file: u32, zone: u32, offset: u64, len: u32 },
    /// The whole zone.
    Reset { file: u32, zone: u32, data: bool },
}

/// A file of the job.
#[derive(Debug)]
struct File {
    owner: Arc<Owner>,
    side: Side,
    /// Zones that held data when they were last looked at.
    known: Vec<u32>,
}

/// Places the I/Os of one job.
#[derive(Debug)]
pub struct Placer {
    files: Vec<File>,
    flights: Vec<Flight>,
    /// Placed, and not taken by the engine yet.
    ready: Option<(Io, Flight)>,
    random: bool,
    mixed: bool,
    pairs: bool,
    min_read: u32,
    read_beyond: bool,
    recover: bool,
    counts: Counts,
    /// Of the last [`Place::Busy`].
    seen: (u32, u64),
}

impl Placer {
    /// Of a job, with the owner of each of its files. `None`: it has no zones.
    pub fn new(job: &JobPlan, owners: Vec<Arc<Owner>>) -> Result<Option<Placer>, JobError> {
        let Some(zoned) = job.load.zoned else { return Ok(None) };
        let min = |dir: Dir| job.load.blocks[dir as usize].min();
        let files = job.target.files.iter().zip(owners);
        let files = files.map(|(plan, owner)| File::new(job, plan, owner));
        Ok(Some(Placer {
            files: files.collect::<Result<_, _>>()?,
            flights: vec![Flight::None; job.depth.depth.max(1) as usize],
            ready: None,
            random: job.load.random,
            mixed: matches!(job.load.mix, Mix::ReadWrite { read_percent } if read_percent < 100),
            pairs: job.load.mix == Mix::TrimWrite,
            min_read: min(Dir::Read).max(1),
            read_beyond: zoned.read_beyond,
            recover: zoned.recover,
            counts: Counts::default(),
            seen: (0, 0),
        }))
    }

    /// What was done so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Forgets it: measuring begins.
    pub fn forget(&mut self) {
        self.counts = Counts::default();
    }

    /// No zone holds data to read. Whether the job makes a write in place of the read; one that only
    /// reads is done with the file.
    pub fn writes_instead(&mut self) -> bool {
        self.counts.nothing_to_read += u64::from(!self.mixed);
        self.mixed
    }

    /// Places an I/O. What was placed and not [`taken`](Placer::taken) is answered again.
    pub fn place(&mut self, io: &Io) -> Place {
        if let Some((io, flight)) = self.ready {
            return match flight {
                Flight::Reset { .. } => Place::Reset(io),
                _ => Place::Go(io),
            };
        }
        match io.dir {
            Dir::Read => self.place_read(io),
            Dir::Write => self.place_write(io),
            Dir::Trim => self.place_trim(io),
        }
    }

    /// Whether the I/O that is placed next was placed before: its source knows of it.
    pub fn is_ready(&self) -> bool {
        self.ready.is_some()
    }

    /// Whether what was placed is a reset.
    pub fn is_reset(&self) -> bool {
        matches!(self.ready, Some((_, Flight::Reset { .. })))
    }

    /// The engine took the I/O that was placed.
    #[inline]
    pub fn taken(&mut self, slot: u32) {
        if let Some((_, flight)) = self.ready.take() {
            self.flights[slot as usize] = flight;
        }
    }

    /// Waits for what the last [`Place::Busy`] waits for, or until it is time to look around.
    pub fn wait(&self) {
        let (file, news) = self.seen;
        self.files[file as usize].owner.wait(news, Duration::from_millis(50));
    }

    fn go(&mut self, io: Io, flight: Flight) -> Place {
        self.ready = Some((io, flight));
        match flight {
            Flight::Reset { .. } => Place::Reset(io),
            _ => Place::Go(io),
        }
    }

    fn place_write(&mut self, io: &Io) -> Place {
        loop {
            let file = &mut self.files[io.file as usize];
            let append = io.tag.form == WriteForm::Append;
            match file.owner.claim_write(&mut file.side, io.offset, io.len, append) {
                Claim::Write { zone, offset, len } => {
                    let flight = Flight::Write { file: io.file, zone, offset, len };
                    return self.go(Io { offset, len, ..*io }, flight);
                }
                Claim::Anywhere { offset, len } => {
                    return self.go(Io { offset, len, ..*io }, Flight::None);
                }
                Claim::First(zone, action) => {
                    if let Err(error) = self.carry_out(io.file, zone, action) {
                        return Place::Failed(error);
                    }
                }
                Claim::Busy(news) => {
                    self.seen = (io.file, news);
                    return Place::Busy;
                }
                Claim::Nothing => return Place::Passed { lap: file.owner.lap(&file.side) },
                Claim::Fail(why) => {
                    let path = file.owner.path.clone();
                    return Place::Failed(Box::new(JobError::new("write", 0, why).at(path)));
                }
            }
        }
    }

    fn carry_out(&mut self, file: u32, zone: u32, action: Action) -> Result<(), Box<JobError>> {
        let owner = &self.files[file as usize].owner;
        let held = owner.has_data(zone);
        self.counts.commands += u64::from(owner.device.is_some());
        owner.carry_out(zone, action).map_err(Box::new)?;
        match action {
            Action::Reset => self.counts.resets += u64::from(held),
            Action::Finish => self.counts.finishes += 1,
            Action::Open | Action::Close => {}
        }
        Ok(())
    }

    fn place_trim(&mut self, io: &Io) -> Place {
        let file = &mut self.files[io.file as usize];
        let zone = file.owner.zone_of(io.offset);
        let zone = if self.random && !self.pairs {
            let (first, end) = (file.side.first, file.side.end);
            let full = |zone: &u32| file.owner.has_data(*zone);
            match (zone..end).chain(first..zone).find(full) {
                Some(zone) => zone,
                None => return Place::Displaced,
            }
        } else {
            zone
        };
        let cell = file.owner.cell(zone);
        match cell.usage() {
            Use::Conventional => return self.go(*io, Flight::None),
            Use::Dead => return Place::Displaced,
            Use::Sequential => {}
        }
        let offset = cell.start;
        match file.owner.claim_reset(&mut file.side, zone) {
            Ok(()) => {
                let data = file.owner.has_data(zone);
                let flight = Flight::Reset { file: io.file, zone, data };
                self.go(Io { offset, ..*io }, flight)
            }
            Err(news) => {
                self.seen = (io.file, news);
                Place::Busy
            }
        }
    }

    /// Does a reset that was placed. It is over with that.
    pub fn reset(&mut self) -> Result<(), JobError> {
        let Some((_, Flight::Reset { file, zone, data })) = self.ready.take() else {
            return Ok(());
        };
        let owner = &self.files[file as usize].owner;
        self.counts.commands += u64::from(owner.device.is_some());
        owner.carry_out(zone, Action::Reset)?;
        owner.emptied(zone);
        self.counts.resets += u64::from(data);
        Ok(())
    }

    /// An I/O has ended well.
    #[inline]
    pub fn ended(&mut self, slot: u32) -> Result<(), JobError> {
        match std::mem::replace(&mut self.flights[slot as usize], Flight::None) {
            Flight::Read { file, zone } => {
                self.files[file as usize].owner.unpin(zone);
                Ok(())
            }
            Flight::Write { file, zone, offset, .. } => self.wrote(file, zone, offset),
            Flight::None | Flight::Reset { .. } => Ok(()),
        }
    }

    fn wrote(&mut self, file: u32, zone: u32, offset: u64) -> Result<(), JobError> {
        let of = &self.files[file as usize];
        match of.owner.written(&of.side, zone, offset) {
            Some(action) => self.carry_out(file, zone, action).map_err(|error| *error),
            None => Ok(()),
        }
    }

    /// An I/O has failed. The error, if the job cannot go on after it even where errors are to be
    /// survived; and the zone in words.
    pub fn failed(&mut self, slot: u32, errno: i32) -> (Result<(), JobError>, String) {
        match std::mem::replace(&mut self.flights[slot as usize], Flight::None) {
            Flight::None | Flight::Reset { .. } => (Ok(()), String::new()),
            Flight::Read { file, zone } => {
                let owner = &self.files[file as usize].owner;
                owner.unpin(zone);
                (Ok(()), owner.describe(zone))
            }
            Flight::Write { file, zone, offset, len } => {
                let owner = Arc::clone(&self.files[file as usize].owner);
                let result = match owner.unwritten(zone, (offset, len), errno) {
                    Ok((now, then)) if now == then => Ok(()),
                    Ok(_) if self.recover => {
                        self.counts.recovered += 1;
                        Ok(())
                    }
                    Ok((now, then)) => {
                        let what = format!(
                            "the write pointer is at {now} after the write at {then} failed; \
                             recover_zbd_write_error=1 goes on from there"
                        );
                        Err(owner.error("write", zone, errno, what))
                    }
                    Err(mut error) if self.recover => {
                        error.detail = format!("Failed to recover write pointer: {}", error.detail);
                        Err(error)
                    }
                    Err(error) => Err(error),
                };
                (result, format!("{}{}", owner.describe(zone), advice(errno)))
            }
        }
    }
}

impl Drop for Placer {
    /// What was placed and never came to an end is let go, so that nobody waits for it.
    fn drop(&mut self) {
        let ready = self.ready.take().map(|(_, flight)| (flight, false));
        let flights = self.flights.iter().map(|flight| (*flight, true));
        for (flight, made) in flights.chain(ready).collect::<Vec<_>>() {
            let owner = |file: u32| &self.files[file as usize].owner;
            match flight {
                Flight::None => {}
                Flight::Read { file, zone } => owner(file).unpin(zone),
                // Nobody knows how far it came.
                Flight::Write { file, zone, offset, len } if made => {
                    let _ = owner(file).unwritten(zone, (offset, len), 0);
                }
                Flight::Write { file, zone, offset, len } => {
                    owner(file).unclaimed(zone, offset, len);
                }
                Flight::Reset { file, zone, .. } => owner(file).spare(zone),
            }
        }
        for file in &self.files {
            file.owner.leave(&file.side);
        }
    }
}

impl File {
    fn new(job: &JobPlan, plan: &FilePlan, owner: Arc<Owner>) -> Result<File, JobError> {
        let failed =
            |errno, what: String| Err(JobError::new("set-up of zones", errno, what).at(&plan.path));
        let (Some(zoned), Some(zones)) = (job.load.zoned, plan.zones) else {
            return failed(0, "the plan has no zones for it".into());
        };
        let range = (plan.offset / zones.size, (plan.offset + plan.len) / zones.size);
        if zones.size != owner.zone_size || range.1 > owner.cells.len() as u64 {
            let what = format!(
                "zones {} to {} of {} bytes are to be used, and the device has {} zones of {} bytes",
                range.0,
                range.1,
                zones.size,
                owner.cells.len(),
                owner.zone_size
            );
            return failed(22, what);
        }
        let (first, end) = (range.0 as u32, range.1 as u32);
        let writes = job.load.mix.has(Dir::Write);
        let dirs = [Dir::Read, Dir::Write].into_iter().filter(|dir| job.load.mix.has(*dir));
        let most = dirs.map(|dir| job.load.blocks[dir as usize].max()).max().unwrap_or(0);
        let small = (first..end).find(|zone| {
            let cell = owner.cell(*zone);
            cell.usage() == Use::Sequential && cell.limit - cell.start < u64::from(most)
        });
        if let Some(zone) = small {
            let cell = owner.cell(zone);
            let what = format!(
                "I/O buflen exceeds zone size: blocks of {most} bytes, and zone {zone} takes {}",
                cell.limit - cell.start
            );
            return failed(22, what);
        }
        let device = owner.limit.filter(|_| !zoned.ignore_limits);
        let limit = device.into_iter().chain(zoned.max_open).min();
        let resets = zoned.resets.map(|resets| {
            let threshold = (plan.len as f64 * resets.threshold) as u64;
            (threshold, resets.every)
        });
        let id = job.identity.index as u32;
        let side = Side {
            id,
            sequential: !job.load.random,
            min: job.load.blocks[Dir::Write as usize].min().max(1),
            unaligned: job.load.unaligned,
            remainders: zoned.remainders,
            own_limit: zoned.job_max_open,
            limit,
            first,
            end,
            resets,
            writes: 0,
            early_reset: false,
            closing: None,
            queued: None,
        };
        if writes {
            owner.enrol(&side);
        }
        Ok(File { owner, side, known: Vec::new() })
    }
}

impl Owner {
    /// Whether something can be read in a zone.
    fn has_data(&self, zone: u32) -> bool {
        let cell = self.cell(zone);
        cell.usage() == Use::Sequential && cell.valid.load(Ordering::Acquire) > cell.start
    }

    fn news(&self) -> u64 {
        self.lock().news
    }

    /// A job writes in a range of zones.
    fn enrol(&self, side: &Side) {
        let mut book = self.lock();
        book.writers.push((side.id, side.first, side.end));
        let known = book.fillings.iter().any(|f| (f.first, f.end) == (side.first, side.end));
        if side.resets.is_some() && !known {
            let bytes = (side.first..side.end).map(|zone| book.pages[zone as usize].filled).sum();
            book.fillings.push(Filling { first: side.first, end: side.end, bytes });
        }
    }

    /// A zone was reset for good: it needs no place.
    fn emptied(&self, zone: u32) {
        let mut book = self.lock();
        let page = &book.pages[zone as usize];
        if page.writes.is_empty() && page.pointer == self.cell(zone).start && !page.working {
            self.vacate(&mut book, zone);
            self.tell(&mut book);
        }
    }

    /// A zone that was to be reset is not.
    fn spare(&self, zone: u32) {
        let mut book = self.lock();
        let page = &mut book.pages[zone as usize];
        (page.working, page.closing) = (false, None);
        self.reopen(zone);
        self.tell(&mut book);
    }
}
