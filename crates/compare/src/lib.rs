//! Comparison of results: is one setting faster than another, and how certain is that.
//!
//! The unit of evidence is the run: I/Os and time windows of one run are not independent, and a second run of the same job
//! often differs more than any interval within the first one says. `docs/compare.md` explains the methods and
//! how often they are wrong.
//!
//! | question | module |
//! |---|---|
//! | which runs does a side have, and what were they | [`side`] |
//! | which values does a run have | [`run_values`] |
//! | what is compared | [`metric`], [`settings`] |
//! | what do five or more runs per side say | [`rank`] |
//! | what do two to four runs per side say | [`few`] |
//! | what does one run per side say | [`bootstrap`] |
//! | which of these is used | [`evidence`] |
//! | when is a difference better, worse, or neither | [`contrast`] |
//! | what if there are many results | [`multiple`] |
//! | how many runs does a verdict need | [`needed`] |
//! | what makes a comparison doubtful, and what differs between the sides | [`notes`] |
//! | when does a check fail | [`condition`] |
//! | how are normal and t distributed variables computed | [`distribution`] |
//! | how is a comparison printed | [`text`], [`markdown`], [`json`], [`page`], [`words`] |
//!
//! ```
//! use fiord_compare::rank::mann_whitney;
//!
//! let test = mann_whitney(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0]);
//! assert_eq!(test.p_larger, 1.0 / 252.0);
//! ```

#![forbid(unsafe_code)]

pub mod bootstrap;
pub mod comparison;
pub mod condition;
pub mod contrast;
pub mod distribution;
pub mod evidence;
pub mod few;
pub mod json;
pub mod markdown;
pub mod metric;
pub mod multiple;
pub mod needed;
pub mod notes;
pub mod page;
pub mod rank;
pub mod run_values;
pub mod settings;
pub mod side;
pub mod text;
pub mod words;

pub use comparison::{CompareError, Comparison, compare};
pub use condition::{ConditionState, FailCondition};
pub use contrast::CompareVerdict;
pub use metric::CompareMetric;
pub use settings::CompareSettings;
pub use side::{ComparedRun, ComparedSide};
