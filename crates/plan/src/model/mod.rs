//! The plan: everything a run needs to know, resolved. Nothing after it reads an option by name.
//!
//! Times are nanoseconds, sizes and offsets are bytes, unless a field says otherwise.

mod content;
mod distribution;
mod engine;
mod job;
mod load;
mod pace;
mod passthrough;
mod placement;
mod priority;
mod process;
mod protection;
mod record;
mod specification;
mod sprandom;
mod tag;
mod target;
mod zones;

pub use content::*;
pub use distribution::*;
pub use engine::*;
pub use job::*;
pub use load::*;
pub use pace::*;
pub use passthrough::*;
pub use placement::*;
pub use priority::*;
pub use process::*;
pub use protection::*;
pub use record::*;
pub use specification::*;
pub use sprandom::*;
pub use tag::*;
pub use target::*;
pub use zones::*;
