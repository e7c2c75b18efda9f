//! Files of a run that another machine keeps, so that they survive a crash of this one: verify states and journals.

use std::fmt::Debug;
use std::io;
use std::path::PathBuf;

use fiord_types::Bytes;

/// Which file of a run another machine keeps.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum KeptFile {
    /// The verify state with this file name (`local-JOB-INDEX-verify.state`).
    State(String),
    /// The journal that `verify_journal` names.
    Journal(PathBuf),
}

/// Keeps files on another machine.
pub trait FileKeeper: Debug + Send + Sync {
    /// Writes a part of a file and waits until it is durable on the other machine. A part at offset 0 replaces the file.
    ///
    /// # Errors
    /// The other machine is gone, or could not write the part.
    fn keep(&self, file: &KeptFile, at: Bytes, part: &[u8]) -> io::Result<()>;
}
