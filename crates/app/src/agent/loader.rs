//! The job files of an order, which are in memory, and facts about this machine.

use std::cell::RefCell;
use std::io;

use fiord_fabric::message::JobOrder;
use fiord_fabric::policy::{Forbidden, HostPolicy, Wish, WishKind};
use fiord_job::expand::HOST_WORDS;
use fiord_job::load::{HostWords, Loader, MachineLoader};

/// Reads what the coordinator sent.
#[derive(Debug)]
pub(crate) struct OrderLoader<'a> {
    order: &'a JobOrder,
    host: HostWords,
    /// What it may read of this machine. `None`: nothing.
    policy: Option<&'a HostPolicy>,
    /// The variables that the policy did not allow.
    forbidden: RefCell<Vec<Forbidden>>,
}

impl<'a> OrderLoader<'a> {
    pub(crate) fn new(order: &'a JobOrder, host: HostWords) -> Self {
        OrderLoader { order, host, policy: None, forbidden: RefCell::default() }
    }

    /// Also reads job files of this machine (`--remote-config`).
    pub(super) fn allow(self, policy: &'a HostPolicy) -> Self {
        OrderLoader { policy: Some(policy), ..self }
    }

    /// What the policy did not allow.
    pub(super) fn forbidden(&self) -> Vec<Forbidden> {
        self.forbidden.borrow().clone()
    }

    /// Reads a job file of this machine, if the policy allows it.
    fn read_allowed(&self, file: &str) -> io::Result<Vec<u8>> {
        let wish = Wish {
            job: file.to_owned(),
            option: "remote-config".to_owned(),
            kind: WishKind::Input(file.into()),
        };
        match (file, self.policy) {
            ("-", _) => Err(io::Error::other("an agent has no standard input")),
            (_, None) => Err(io::Error::other("it is a file of another host")),
            (_, Some(policy)) => match policy.check(&[wish]).first() {
                Some(why) => Err(io::Error::other(why.to_string())),
                None => MachineLoader.read(file),
            },
        }
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
        self.read_allowed(file)
    }
    fn variable(&self, name: &str) -> Option<String> {
        of(&self.order.variables, name).cloned()
    }
    fn own_variable(&self, name: &str) -> Option<String> {
        let policy = self.policy?;
        let wish = Wish {
            job: "all".to_owned(),
            option: format!("${{{name}}}"),
            kind: WishKind::Variable(name.to_owned()),
        };
        let mut refused = policy.check(&[wish]);
        let allowed = refused.is_empty();
        // `${rank}` is a word about the host if no variable has this name.
        if !allowed && HOST_WORDS.contains(&name) {
            return None;
        }
        self.forbidden.borrow_mut().append(&mut refused);
        if allowed { MachineLoader.variable(name) } else { None }
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
