//! The job files of an order, which are in memory, and facts about this machine.

use std::io;

use fiord_fabric::message::{Hello, JobOrder};
use fiord_job::load::{HostWords, Loader, MachineLoader};

/// Reads what the coordinator sent.
pub(super) struct OrderLoader<'a> {
    order: &'a JobOrder,
    host: HostWords,
}

impl<'a> OrderLoader<'a> {
    pub(super) fn new(order: &'a JobOrder, hello: &Hello) -> Self {
        let host = HostWords { name: hello.host.clone(), rank: hello.rank, ranks: hello.ranks };
        OrderLoader { order, host }
    }
}

/// The value that belongs to a name.
fn of<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a String> {
    pairs.iter().find(|(this, _)| this == name).map(|(_, value)| value)
}

impl Loader for OrderLoader<'_> {
    fn read(&mut self, file: &str) -> io::Result<Vec<u8>> {
        let text = of(&self.order.files, file).map(|text| text.clone().into_bytes());
        text.ok_or_else(|| io::Error::other("the coordinator did not send this file"))
    }
    fn read_own(&mut self, file: &str) -> io::Result<Vec<u8>> {
        match file {
            "-" => Err(io::Error::other("an agent has no standard input")),
            _ => MachineLoader.read(file),
        }
    }
    fn variable(&self, name: &str) -> Option<String> {
        of(&self.order.variables, name).cloned()
    }
    fn page_size(&self) -> u64 {
        MachineLoader.page_size()
    }
    fn memory_mb(&self) -> u64 {
        MachineLoader.memory_mb()
    }
    fn cpus(&self) -> u64 {
        MachineLoader.cpus()
    }
    fn host(&self) -> HostWords {
        self.host.clone()
    }
}
