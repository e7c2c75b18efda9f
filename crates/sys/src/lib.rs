//! Facts about the machine, and safe wrappers over system calls and ioctls.
//!
//! This crate knows nothing about jobs. Each module has one subject:
//!
//! | question | module |
//! |---|---|
//! | what time is it, and what does reading the clock cost | [`clock`] |
//! | open, size, allocate, sync, drop from the cache, lock, remove a file | [`mod@file`] |
//! | device numbers, and which block device belongs to an NVMe generic device | [`node`] |
//! | block device sizes, discard, buffer flush, scheduler | [`block`] |
//! | raw flash: erase blocks, bad blocks, erases | [`flash`] |
//! | zones: reports, resets, limits | [`zone`] |
//! | SCSI commands, sense data, the generic driver | [`scsi`] |
//! | is this device in use | [`in_use`] |
//! | what is mounted, and which mount holds this path | [`mount`] |
//! | what is this NVMe namespace, and what does its status mean | [`nvme`] |
//! | which I/O did the disk do during the run | [`diskstats`] |
//! | which CPUs and NUMA nodes exist, and which may this thread use | [`cpu`], [`numa`] |
//! | nice, I/O priority, name, user and group of this thread | [`thread`] |
//! | every disk with its model, links, queue, users and health | [`survey`] |
//! | a directory tree that stands for a machine in tests | [`root`] |
//! | CPU time, context switches, faults | [`usage`] |
//! | I/O buffers from every source | [`memory`] |
//! | which sizes of huge pages exist, how many are free | [`huge_pages`] |
//! | sockets, TCP connections, network interfaces | [`net`] |
//! | cgroups | [`cgroup`] |
//! | governors, throttling, pressure, quotas, the kernel's clock source | [`conditions`] |
//! | pauses at random points, which show faults in the order of threads | [`interleaving`] |
//! | Ctrl-C, SIGTERM, SIGUSR1, SIGPIPE, SIGXFSZ | [`signal`] |
//! | a mapped file, with SIGBUS turned into an error | [`mapping`], [`bus`] |
//! | stores that reach persistent memory | [`persistent_memory`] |
//! | resource limits, kernel version | [`limits`] |
//! | which limit denies this process memory or threads | [`shortage`] |
//! | is standard output a terminal, and how large | [`terminal`] |
//! | a terminal as a whole screen, and its restoration | [`screen`] |
//! | was standard output closed when the process started | [`standard_output`] |
//! | host name, page size, memory, wall time | [`host`] |
//! | run a shell command | [`process`] |
//! | wait for several descriptors, with a limit, or for another thread | [`poll`] |
//!
//! Every fallible call returns [`Error`], which names the call, the path, and the kernel's answer. If a
//! feature needs a certain kernel version, the documentation of the function says so; otherwise Linux
//! 4.4 or older is enough.
//!
//! ```
//! use std::path::Path;
//! use std::time::Duration;
//!
//! use fiord_sys::clock::{self, Clock};
//! use fiord_sys::file;
//!
//! let clock = Clock::best();
//! let start = clock.now();
//! clock::sleep(Duration::from_millis(1));
//! assert!(clock.now() - start >= 1_000_000);
//!
//! let error = file::facts(Path::new("/no/such/file")).unwrap_err();
//! assert_eq!(error.to_string(), "stat /no/such/file: No such file or directory (ENOENT)");
//! ```

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
pub mod flash;
pub mod host;
pub mod huge_pages;
pub mod in_use;
pub mod interleaving;
pub mod limits;
pub mod mapping;
pub mod memory;
pub mod mount;
pub mod net;
pub mod node;
pub mod numa;
pub mod nvme;
pub mod persistent_memory;
pub mod poll;
pub mod process;
pub mod root;
pub mod screen;
pub mod scsi;
pub mod shortage;
pub mod signal;
pub mod standard_output;
pub mod supervise;
pub mod survey;
pub mod task;
pub mod terminal;
pub mod thread;
pub mod usage;
pub mod zone;

pub use error::{Error, Result};
