//! The machine as it was at one moment: plain data, read before and after a run and never during
//! it. What could not be read is a [`Gap`] with the reason, so that a finding says what it could not
//! look at and guesses nothing.
//!
//! | question | module |
//! |---|---|
//! | what is known of each file and device that a job uses | [`files`] |
//! | what is known of the disks under the targets | [`devices`] |
//! | CPUs, clock, limits, pressure | [`surroundings`] |

pub mod devices;
pub mod files;
pub mod surroundings;

use fiord_plan::Plan;
use fiord_sys::host::{self, Memory};

pub use devices::Devices;
pub use files::FileState;
pub use surroundings::Surroundings;

/// Why something is not known, in a few words: `needs root`, `Linux before 6.5`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap(pub String);

impl Gap {
    /// Says what was tried and what the kernel answered.
    pub fn of(error: &fiord_sys::Error) -> Gap {
        Gap(error.to_string())
    }
}

/// What is known of something, or why nothing is.
pub type Evidence<T> = Result<T, Gap>;

/// The machine at one moment.
#[derive(Debug, Clone, Default)]
pub struct Machine {
    /// Memory, and how much of it is dirty.
    pub memory: Memory,
    /// Every file and device of the plan, each path once.
    pub files: Vec<FileState>,
    /// The disks under the targets.
    pub devices: Devices,
    /// CPUs, clock, limits, pressure.
    pub surroundings: Surroundings,
}

impl Machine {
    /// Looks at what the plan uses. Takes no longer than 50 ms, changes nothing, and reads no data
    /// of a target but the marks at the start of block devices that are written to.
    pub fn survey(plan: &Plan) -> Machine {
        Machine {
            memory: host::memory(),
            files: files::survey(plan),
            devices: Devices::survey(plan),
            surroundings: Surroundings::survey(plan),
        }
    }

    /// What is known of a file, by its path.
    pub fn file(&self, path: &std::path::Path) -> Option<&FileState> {
        self.files.iter().find(|file| file.path == path)
    }
}
