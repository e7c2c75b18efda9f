//! `zonemode=zbd`: where in a zone an I/O goes, and who waits for whom.
//!
//! A job's source says in which zone it would read or write; the job's [`Placer`] puts the I/O where
//! the zone takes it. What is known of a device's zones has one [`Owner`], which all jobs of the run
//! share, whatever path they reach the device by.
//!
//! | question | module |
//! |---|---|
//! | which owner does a file have | `owners.rs` |
//! | what is known of a zone, and the changes that take an ioctl | `owner.rs` |
//! | which zone does a write go to, who gets a place to open one | `claim.rs` |
//! | what a job does with all this; where does a trim go | `placer.rs` |
//! | where does a read go | `placer/reads.rs` |
//! | what does the block layer have to know of what is passed through | `beside.rs` |
//!
//! # What is exact
//!
//! *Write pointers.* A write is placed at the pointer under the owner's lock, which moves the pointer
//! on at once. On a real device a zone has **one write in flight**: two could overtake each other
//! between here and the drive, whatever the scheduler, and the second would then be away from the
//! pointer. (mq-deadline, and the write plugging of Linux 6.10, hold the second one back in the
//! kernel; nothing is won by queueing it there.) Emulated zones take as many as there are. After a
//! write that failed the pointer is asked of the device before anybody writes on.
//!
//! *Data.* Up to `Cell::valid` a zone was written by writes that have ended. Reads go no further
//! unless `read_beyond_wp` says so. They take no lock: a read pins its zone, then looks how far it is
//! valid; a reset shuts the zone against new pins and waits until there are none. So no read is in
//! flight in a zone that is being reset.
//!
//! *Places.* A device permits a number of open (or active) zones. Each zone that is being written has
//! a place from before its first write until its last one has ended, or it was reset or finished.
//! Zones that were open before the run have one too. There are never more places than
//! `max_open_zones` and the device permit, nor more for one job than `job_max_open_zones`.
//!
//! # Who waits for what
//!
//! A job waits only in three cases, and each of them ends without the job doing anything:
//!
//! 1. *A zone has a write in flight, or is just being reset.* The device ends it. A job that has I/Os
//!    in flight itself goes on reaping, so what others wait for is never left unreaped.
//! 2. *A zone to be reset is being read or written.* The device ends that too; no new reads and writes
//!    come.
//! 3. *There is no place.* A job asks for one only when no zone in its range has one that it could
//!    use. So nobody who holds a place waits for one, except for its own zones to fill, and there is
//!    no circle. Places are given in the order of asking: a job whose zone is full queues behind
//!    those who wait. A job that ends leaves its zones behind; whoever needs a place has one of those
//!    closed, or finished where closing does not help.
//!
//! What is left is a job that holds a place and does not write: it waits for a job of its `flow` that
//! waits for a place, or pauses for long; or it has files on several devices, holds a place on one
//! and waits for one on another, whose holders may wait for its own: the third rule knows one device
//! only. When no write ended for two minutes, whoever waits for a
//! place ends with an error that says so.
//!
//! A wait is a look at `Book::news`, then a sleep until there is other news, 50 ms at most: run time
//! and signals are never missed.

mod beside;
mod claim;
mod owner;
mod owners;
mod placer;
#[cfg(test)]
mod tests;

pub use owner::Owner;
pub use owners::Owners;
pub use placer::{Counts, Place, Placer};
