//! The kinds of entries that rings are made of.

use super::abi::*;

/// An entry of the submission queue.
pub trait Submission: Copy {
    /// What the ring has to be set up with for entries of this size.
    const SETUP: u32;
}

/// An entry of the completion queue.
pub trait Completion: Copy {
    /// What the ring has to be set up with for entries of this size.
    const SETUP: u32;
}

impl Submission for Sqe {
    const SETUP: u32 = 0;
}

impl<K: Copy> Submission for Sqe128<K> {
    const SETUP: u32 = SETUP_SQE128;
}

impl Completion for Cqe {
    const SETUP: u32 = 0;
}

impl Completion for Cqe32 {
    const SETUP: u32 = SETUP_CQE32;
}
