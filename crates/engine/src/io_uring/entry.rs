//! Types of ring entries.

use super::abi::*;

/// An entry of the submission queue.
pub(crate) trait Submission: Copy {
    /// Flags of `io_uring_setup(2)` that entries of this size need.
    const SETUP: u32;
}

/// An entry of the completion queue.
pub(crate) trait Completion: Copy {
    /// Flags of `io_uring_setup(2)` that entries of this size need.
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
