//! The owner and its jobs on devices made up for it.
