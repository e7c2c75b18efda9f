//! The machine as it was at one moment: plain data, read before and after a run and never during
//! it. What could not be read is a [`Unavailable`] with the reason, so that a finding says what it could not
//! look at and guesses nothing.
//!
//! | question | module |
//! |---|---|
//! | what is known of each file and device that a job uses | [`files`] |
//! | what is known of the disks under the targets | [`devices`] |
//! | CPUs, clock, limits, pressure | [`surroundings`] |
//! | does what jobs have read hold only zeros | [`samples`] |
//! | how much of the zones that jobs read was written | [`zones`] |

pub mod devices;
pub mod files;
pub mod samples;
pub mod surroundings;
pub mod zones;

use std::path::PathBuf;

use fiord_plan::Plan;
use fiord_sys::host::{self, Memory};
use fiord_sys::usage::{self, StorageBytes};

pub use devices::Devices;
pub use files::{Data, FileState, Files};
pub use samples::Sample;
pub use surroundings::Surroundings;

/// Why something is not known, in a few words: `needs root`, `Linux before 6.5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable(pub String);

impl Unavailable {
    /// Says what was tried and what the kernel answered.
    pub fn of(error: &fiord_sys::Error) -> Unavailable {
        Unavailable(error.to_string())
    }
}

/// What is known of something, or why nothing is.
pub type Evidence<T> = Result<T, Unavailable>;

/// The machine at one moment.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Memory, and how much of it is dirty.
    pub memory: Memory,
    /// What this process has moved between memory and storage so far.
    pub storage: Evidence<StorageBytes>,
    /// The files and devices of the plan; of very many files some.
    pub files: Files,
    /// The disks under the targets.
    pub devices: Devices,
    /// CPUs, clock, limits, pressure.
    pub surroundings: Surroundings,
    /// Blocks of what jobs have read; only after a run.
    pub samples: Vec<Sample>,
    /// The zones of devices that jobs read beyond write pointers.
    pub zones: Vec<(PathBuf, Evidence<zones::Written>)>,
}

impl Default for Machine {
    /// A machine of which nothing is known.
    fn default() -> Self {
        Machine {
            memory: Memory::default(),
            storage: Err(Unavailable("not looked at".into())),
            files: Files::default(),
            devices: Devices::default(),
            surroundings: Surroundings::default(),
            samples: Vec::new(),
            zones: Vec::new(),
        }
    }
}

impl Machine {
    /// Looks at what the plan uses. Takes no more than 50 ms of CPU time, changes nothing, and reads
    /// no data of a target but the marks at the start of block devices that are written to.
    pub fn survey(plan: &Plan) -> Machine {
        Machine {
            // First: the look itself reads.
            storage: usage::storage_bytes().map_err(|e| Unavailable::of(&e)),
            memory: host::memory(),
            files: files::survey(plan),
            devices: Devices::survey(plan),
            surroundings: Surroundings::survey(plan),
            samples: Vec::new(),
            zones: zones::survey(plan),
        }
    }

    /// The same after a run, with a few blocks of what the jobs have read: for 50 ms at most.
    pub fn survey_after(plan: &Plan) -> Machine {
        let machine = Machine::survey(plan);
        Machine { samples: samples::take(plan), ..machine }
    }

    /// What is known of a file, by its path.
    pub fn file(&self, path: &std::path::Path) -> Option<&FileState> {
        self.files.get(path)
    }
}

#[cfg(test)]
mod tests {
    use fiord_sys::usage::Usage;

    use super::*;
    use crate::fixture::{plan, scratch};

    /// By CPU time of this thread, which does all of it: a busy machine makes it longer, not more.
    #[test]
    fn a_look_costs_less_than_fifty_milliseconds_of_cpu_time() {
        let path = scratch();
        std::fs::write(&path, vec![7u8; 1 << 20]).unwrap();
        let line = format!("--name=a --rw=read --size=1m --direct=1 --filename={}", path.display());
        let (plan, _) = plan(&line);
        for look in [Machine::survey, Machine::survey_after] {
            let before = Usage::of_thread().unwrap();
            let machine = look(&plan);
            let used = Usage::of_thread().unwrap().since(&before);
            assert_eq!(machine.files.len(), 1);
            let ms = (used.user_ns + used.system_ns) / 1_000_000;
            assert!(ms < 50, "{ms} ms");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
