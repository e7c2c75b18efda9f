//! When a job starts, how fast it goes, and when it ends.
//!
//! | question | module |
//! |---|---|
//! | what does a job wait for before it starts? | `start` |
//! | how fast may a job go? | `pace` |
//! | when does a job end? | `end` |
//! | when is a measurement steady? | `steady` |
//! | may the trigger of the command line end the run (`--trigger-file`)? | `trigger` |

pub(crate) mod end;
pub(crate) mod pace;
pub(crate) mod start;
pub(crate) mod steady;
pub(crate) mod trigger;
