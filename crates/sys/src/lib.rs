//! What the machine is, and safe wrappers over the system calls and ioctls that reach it.
//!
//! Nothing here knows about jobs. One module a subject:
//!
//! | question | module |
//! |---|---|
//! | what time is it, and what does asking cost | [`clock`] |
//! | open, size, allocate, sync, drop from the cache, lock, remove a file | [`mod@file`] |
//! | block device sizes, discard, buffer flush, scheduler | [`block`] |
//! | zones: reports, resets, limits | [`zone`] |
//! | SCSI commands, sense data, the generic driver | [`scsi`] |
//! | who uses this device | [`in_use`] |
//! | what is mounted, and what holds this path | [`mount`] |
//! | what is this NVMe namespace, and what does its status mean | [`nvme`] |
//! | what did the disk do while we ran | [`diskstats`] |
//! | which CPUs and NUMA nodes, and which of them for this thread | [`cpu`], [`numa`] |
//! | nice, I/O priority, name, user and group of this thread | [`thread`] |
//! | every disk with its model, links, queue, users, health | [`survey`] |
//! | a tree of files that stands for a machine | [`root`] |
//! | random bytes at memory speed | [`random_fill`] |
//! | CPU time, context switches, faults | [`usage`] |
//! | I/O buffers of every kind | [`memory`] |
//! | sizes of huge pages, how many are free | [`huge_pages`] |
//! | cgroups | [`cgroup`] |
//! | governors, throttling, pressure, quotas, the kernel's clock | [`conditions`] |
//! | Ctrl-C, SIGTERM, SIGUSR1, SIGPIPE, SIGXFSZ | [`signal`] |
//! | a mapped file, and SIGBUS in it as an error | [`mapping`], [`bus`] |
//! | resource limits, kernel version | [`limits`] |
//! | which limit keeps this process from memory or threads | [`shortage`] |
//! | is standard output a terminal, how wide | [`terminal`] |
//! | was standard output closed from the start | [`standard_output`] |
//! | host name, page size, memory, wall time | [`host`] |
//! | run a shell command | [`process`] |
//!
//! Every fallible call returns [`Error`], which says what was tried, on which path, and what the
//! kernel answered. The kernel version a feature needs is in the documentation of the function;
//! nothing said means Linux 4.4 or older will do.

pub mod block;
pub mod bus;
pub mod cgroup;
pub mod clock;
pub mod conditions;
pub mod cpu;
pub mod diskstats;
pub mod errno;
mod error;
pub mod file;
pub mod host;
pub mod huge_pages;
pub mod in_use;
pub mod limits;
pub mod mapping;
pub mod memory;
pub mod mount;
pub mod numa;
pub mod nvme;
pub mod process;
pub mod random_fill;
pub mod root;
pub mod scsi;
pub mod shortage;
pub mod signal;
pub mod standard_output;
pub mod survey;
pub mod task;
pub mod terminal;
pub mod thread;
pub mod usage;
pub mod zone;

pub use error::{Error, Result};
