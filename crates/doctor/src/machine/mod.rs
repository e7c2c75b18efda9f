//! A snapshot of the machine: plain data that is read before and after a run, never during it. Data
//! that could not be read is [`Unavailable`] with the reason, so that a check can report what it could
//! not examine instead of guessing.
//!
//! | part of the machine | module |
//! |---|---|
//! | the files and devices that jobs use | [`files`] |
//! | the disks under the targets | [`devices`] |
//! | the disks under the logs | [`logs`] |
//! | CPUs, clock, limits, pressure | [`surroundings`] |
//! | whether the data that jobs read is all zeros | [`samples`] |
//! | how much of the zones that jobs read is written | [`zones`] |

pub mod devices;
pub mod files;
pub mod logs;
pub mod samples;
pub mod surroundings;
pub mod zones;

use std::path::PathBuf;

use fiord_plan::Plan;
use fiord_sys::host::{self, MachineMemory};
use fiord_sys::usage::{self, StorageBytes};

pub use devices::Devices;
pub use files::{FileState, FileStates, WrittenData};
pub use logs::LogOnTarget;
use samples::When;
pub use samples::{ReadRange, SampledBlocks};
pub use surroundings::MachineState;

/// The reason why data is unavailable, in a few words: `needs root`, `Linux before 6.5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unavailable(pub String);

impl Unavailable {
    /// Describes the failed operation and the error of the kernel.
    #[must_use]
    pub fn of(error: &fiord_sys::Error) -> Unavailable {
        Unavailable(error.to_string())
    }
}

/// Data about the machine, or the reason why it is unavailable.
pub type Evidence<T> = Result<T, Unavailable>;

/// A snapshot of the machine.
#[derive(Debug, Clone)]
pub struct Machine {
    /// Memory, including how much is dirty.
    pub memory: MachineMemory,
    /// Bytes that this process has moved between memory and storage so far.
    pub storage: Evidence<StorageBytes>,
    /// The files and devices of the plan. If there are very many files, a sample of them.
    pub files: FileStates,
    /// The disks under the targets.
    pub devices: Devices,
    /// CPUs, clock, limits, pressure.
    pub surroundings: MachineState,
    /// Sampled blocks of the data that jobs read: before a run, of the files that it removes; after it, of the
    /// others.
    pub samples: Vec<SampledBlocks>,
    /// Logs on the disks of targets.
    pub logs: Vec<LogOnTarget>,
    /// The zones of the devices on which jobs read beyond write pointers.
    pub zones: Vec<(PathBuf, Evidence<zones::Written>)>,
}

impl Default for Machine {
    /// Returns a machine about which nothing is known.
    fn default() -> Self {
        Machine {
            memory: MachineMemory::default(),
            storage: Err(Unavailable("not examined".into())),
            files: FileStates::default(),
            devices: Devices::default(),
            surroundings: MachineState::default(),
            samples: Vec::new(),
            logs: Vec::new(),
            zones: Vec::new(),
        }
    }
}

impl Machine {
    /// Examines the files, devices and CPUs that the plan uses. Takes at most 50 ms of CPU time and
    /// changes nothing. Reads no data of a target except the signatures at the start of block devices
    /// that jobs write to.
    #[must_use]
    pub fn survey(plan: &Plan) -> Machine {
        Machine {
            // First, because the survey itself reads from storage.
            storage: usage::storage_bytes().map_err(|e| Unavailable::of(&e)),
            memory: host::memory(),
            files: files::survey(plan),
            devices: Devices::survey(plan),
            surroundings: MachineState::survey(plan),
            samples: Vec::new(),
            logs: logs::survey(plan),
            zones: zones::survey(plan),
        }
    }

    /// Examines the machine right before a run as [`Machine::survey`] does. If the run removes files, it also
    /// samples blocks of the data that jobs read of them, for at most 150 ms. `reads` says what they read.
    #[must_use]
    pub fn survey_before(plan: &Plan, reads: ReadRange<'_>) -> Machine {
        // First, so that the jobs do not seem to have read these blocks from storage.
        let samples = samples::take(plan, When::Before, reads);
        Machine { samples, ..Machine::survey(plan) }
    }

    /// Examines the machine after a run as [`Machine::survey`] does, and also samples blocks of the data
    /// that jobs read, for at most 150 ms. `reads` says what they read.
    #[must_use]
    pub fn survey_after(plan: &Plan, reads: ReadRange<'_>) -> Machine {
        let machine = Machine::survey(plan);
        Machine { samples: samples::take(plan, When::After, reads), ..machine }
    }

    /// Returns the state of a file or device, by its path.
    #[must_use]
    pub fn file(&self, path: &std::path::Path) -> Option<&FileState> {
        self.files.get(path)
    }
}

#[cfg(test)]
mod tests {
    use fiord_plan::{FilePlan, JobPlan};
    use fiord_sys::usage::ResourceUsage;

    use super::*;
    use crate::tests::fixture::{plan, scratch};

    /// Measures the CPU time of this thread, which does all the work: elapsed time would depend on the
    /// load of the machine.
    #[test]
    fn a_survey_takes_less_than_fifty_milliseconds_of_cpu_time() {
        let path = scratch();
        std::fs::write(&path, vec![7u8; 1 << 20]).unwrap();
        let line = format!("--name=a --rw=read --size=1m --direct=1 --filename={}", path.display());
        let (plan, _) = plan(&line);
        let all_of = |_: &JobPlan, file: &FilePlan| Some(file.offset..file.end());
        let looks: [&dyn Fn() -> Machine; 3] =
            [&|| Machine::survey(&plan), &|| Machine::survey_before(&plan, &all_of), &|| {
                Machine::survey_after(&plan, &all_of)
            }];
        for look in looks {
            let before = ResourceUsage::of_thread().unwrap();
            let machine = look();
            let used = ResourceUsage::of_thread().unwrap().since(&before);
            assert_eq!(machine.files.len(), 1);
            let ms = used.user.saturating_add(used.system).as_millis();
            assert!(ms < 50, "{ms} ms");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
