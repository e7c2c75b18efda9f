//! Files of a run that must survive a crash of this host: the coordinator keeps them.

use std::io;
use std::sync::Arc;

use fiord_fabric::message::{FromHost, KeptName};
use fiord_run::{FileKeeper, KeptFile};
use fiord_types::Bytes;

use super::orders::Orders;
use super::outbox::Outbox;

/// Sends parts of files to the coordinator, and waits until it has written them.
#[derive(Debug)]
pub(super) struct CoordinatorKeeper {
    pub(super) orders: Arc<Orders>,
    pub(super) outbox: Outbox,
}

impl FileKeeper for CoordinatorKeeper {
    fn keep(&self, file: &KeptFile, at: Bytes, part: &[u8]) -> io::Result<()> {
        let file = match file {
            KeptFile::State(name) => KeptName::State(name.clone()),
            KeptFile::Journal(path) => KeptName::Journal(path.display().to_string()),
        };
        let number = self.orders.next_part();
        if !self.outbox.send(&FromHost::Keep { file, offset: at, number }, part) {
            let why = format!("{} bytes are too many for one message", part.len());
            return Err(io::Error::other(why));
        }
        self.orders.wait_kept(number).map_err(io::Error::other)
    }
}
