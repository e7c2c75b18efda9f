//! `zonemode=zbd`: chooses where in a zone an I/O goes, and makes jobs wait for each other.
//!
//! A job's source chooses the zone of each read and write; the job's [`Placer`] then moves the I/O to an
//! offset that the zone accepts. All jobs of the run share one [`ZoneTable`] for each device, whatever path
//! they use to reach it.
//!
//! | question | module |
//! |---|---|
//! | which table belongs to a file | `tables.rs` |
//! | the state of each zone, and the changes that need an ioctl | `table.rs` |
//! | which zone a write goes to, which job may open a zone | `open_zones.rs` |
//! | how much one pass over the zones writes, and which zones take a random write in it | `lap.rs` |
//! | where the I/Os of a job go, trims included | `placer.rs` |
//! | where a read goes | `placer/reads.rs` |
//! | what happens before a zone is reset whose data jobs verify | `placer/resets.rs` |
//! | keeping the block layer informed about passthrough commands | `block_layer_sync.rs` |
//!
//! # Invariants
//!
//! *Write pointers.* The table places a write at the write pointer and advances the pointer under its lock.
//! On a real device each zone has **one write in flight**: of two, the second could overtake the first on its
//! way to the drive, with any scheduler, and then miss the write pointer. (mq-deadline, and the write
//! plugging of Linux 6.10, hold the second write back in the kernel, so queueing it gains nothing.) Emulated
//! zones accept any number of writes in flight. After a failed write, the table asks the device for the
//! write pointer before any other write to the zone.
//!
//! *Data.* The zone is valid up to `ZoneView::valid`: completed writes cover it. Reads stay below that
//! unless `read_beyond_wp` is set. Reads take no lock: a read pins its zone, then loads `valid`; a reset
//! blocks new pins and waits until there are none. So no read is in flight in a zone that is being reset.
//!
//! *Open-zone slots.* A device limits the number of open (or active) zones. Each zone that is being written
//! holds a slot from before its first write until its last write has completed, or until it is reset or
//! finished. Zones that were open before the run hold a slot too. The number of slots never exceeds
//! `max_open_zones` and the device's limit; one job never holds more than `job_max_open_zones`.
//!
//! # Who waits for what, and why there is no deadlock
//!
//! A job waits in three cases only. Each of them ends without any action of the waiting job:
//!
//! 1. *A zone has a write in flight, or is being reset.* The device completes it. A waiting job with I/Os in
//!    flight continues to reap them, so that the I/Os that other jobs wait for are always reaped.
//! 2. *A zone to be reset is being read or written.* The device completes those I/Os, and no new ones start.
//! 3. *No open-zone slot is free.* A job requests a slot only if no zone in its range with a slot can take
//!    its write. So a job with a slot waits only for its own zones to fill, and no cycle arises. Slots are
//!    granted in the order of the requests: a job whose zone is full queues behind the waiting jobs. A job
//!    that ends leaves its open zones behind; a job that needs a slot closes one of them, or finishes it if
//!    closing does not release the slot.
//!
//! One case remains: a job that holds a slot but does not write. It may pause for long, wait for a job of its
//! `flow` that waits for a slot, or hold a slot on one device and wait for one on another, since rule 3 works
//! for each device separately. If no write completes for two minutes, every job that waits for a slot fails
//! with an error that explains this.
//!
//! To wait, a job reads `ZoneStates::version` and sleeps until it changes, but for 50 ms at most, so that the
//! run time and signals still take effect.

mod block_layer_sync;
mod lap;
mod open_zones;
mod placer;
mod table;
mod tables;
#[cfg(test)]
mod tests;

pub(crate) use placer::{Counts, DoomedRange, Placer, ReadBack, ZonePlacement};
pub(crate) use table::ZoneTable;
pub(crate) use tables::ZoneTables;
