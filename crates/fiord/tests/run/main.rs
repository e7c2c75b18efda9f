//! The binary on real files: every engine, every ending, every output.

mod contents;
mod endings;
mod engines;
mod fiord;
mod golden;
mod layout;
mod order;
mod output;
mod pace;
mod places;
mod steady;
mod sweep;
mod wrong;
mod wrong_inputs;
