//! One turn of the hub: it waits until a stream is ready or a time has come, and does what can be done.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::atomic::Ordering;
use std::time::Duration;

use fiord_sys::poll::{self, PollEntry, Readiness, Waited};
use fiord_types::{Errno, HostIndex, Nanos};

use super::closing::ClosingLink;
use super::connecting::Attempted;
use super::link::{FromLink, HostLink};
use super::process::AgentProcess;
use super::wire::Wire;
use super::{
    Approach, CONNECT_LIMIT, Freshness, Hub, MAX_CONNECTING, MAX_STRANGERS, PROCESS_TURN, now,
};
use crate::contract::{Arrival, Happening, Loss};

/// Polling interval for processes that are about to end.
const PROCESS_STEP: Nanos = Nanos::from_millis(5);

/// How long the hub sleeps if the kernel cannot wait.
const POLL_PAUSE: Duration = Duration::from_millis(10);

/// How much later than a thread that connects the hub gives up. The thread knows the reason.
const SLACK: Nanos = Nanos::from_millis(500);

/// Time without accepting after it failed, for example because too many files are open.
const ACCEPT_PAUSE: Nanos = Nanos::from_millis(200);

/// A peer that made a connection has this long until another one can take its place.
const PROMPT: Nanos = Nanos::from_secs(1);

/// How many connections are accepted before the peers get their turn.
const ACCEPTS: usize = 64;

/// Marks the standard error of a peer's process in [`Hub::inputs`].
const ERRORS: u64 = 1 << 32;

/// What a descriptor belongs to.
#[derive(Debug, Clone, Copy)]
enum Waits {
    Waker,
    Signals,
    Listener(usize),
    /// The inputs of all links.
    Inputs,
    /// The output of a link.
    Output(HostIndex),
    Closing,
}

impl Hub {
    /// Takes the next arrival.
    pub(super) fn next_arrival(&mut self) -> Option<Arrival> {
        loop {
            if let Some(change) = self.changes.pop_front() {
                return Some(change);
            }
            let from = self.ready.pop_front()?;
            let Some(link) = self.links.get_mut(&from) else { continue };
            match link.next(now()) {
                FromLink::Message(message) => {
                    let at = link.read_at();
                    self.fresh.remove(&from);
                    self.ready.push_back(from);
                    return Some(Arrival { from, at, what: Happening::Message(message) });
                }
                FromLink::Joined(peer) => {
                    let at = now();
                    self.ready.push_back(from);
                    return Some(Arrival { from, at, what: Happening::Joined { peer } });
                }
                FromLink::Lost(loss) => self.lose(from, loss),
                FromLink::Nothing => {}
            }
        }
    }

    /// Waits until something happens, at most until `until`. Returns whether `receive` shall return without an arrival.
    pub(super) fn turn(&mut self, until: Nanos) -> bool {
        self.begin_waiting();
        self.expire();
        if !self.changes.is_empty() {
            return false;
        }
        let (mut entries, whose) = self.entries();
        let until_next = until.min(self.next_time());
        let left = Duration::from_nanos(until_next.saturating_sub(now()).0);
        let waited = poll::wait(&mut entries, Some(left)).unwrap_or_else(|_| {
            // Without memory for the call, waiting without it is all that can be done.
            fiord_sys::clock::sleep(left.min(POLL_PAUSE));
            Waited::TimedOut
        });
        let mut is_last = now() >= until || waited == Waited::Interrupted;
        for (entry, waits) in entries.iter().zip(whose) {
            if entry.is_readable() || entry.is_writable() {
                is_last |= self.serve(waits);
            }
        }
        self.look_at_ending();
        is_last
    }

    /// The descriptors to wait for.
    fn entries(&self) -> (Vec<PollEntry>, Vec<Waits>) {
        let (mut entries, mut whose) = (Vec::new(), Vec::new());
        let mut add = |fd: BorrowedFd, readiness, waits| {
            entries.push(PollEntry::new(fd.as_raw_fd(), readiness));
            whose.push(waits);
        };
        add(self.wakes.event.as_fd(), Readiness::Readable, Waits::Waker);
        if let Some(signals) = self.signals {
            add(signals.fd(), Readiness::Readable, Waits::Signals);
        }
        if now() >= self.accepts_from {
            for (index, listener) in self.listeners.iter().enumerate() {
                add(listener.fd(), Readiness::Readable, Waits::Listener(index));
            }
        }
        add(self.inputs.as_fd(), Readiness::Readable, Waits::Inputs);
        for (peer, link) in self.links.iter().filter(|(_, link)| link.wants_output()) {
            if let Some(output) = link.streams().0.and_then(Wire::output) {
                add(output, Readiness::Writable, Waits::Output(*peer));
            }
        }
        for link in &self.closing {
            if let Some((wire, wants_output)) = link.wire() {
                wait_for_wire(wire, true, wants_output, |fd, what| add(fd, what, Waits::Closing));
            }
        }
        (entries, whose)
    }

    /// The next time at which something is to be done without an event.
    fn next_time(&self) -> Nanos {
        let step = now().saturating_add(PROCESS_STEP);
        let closing = self.closing.iter().map(|link| match link.has_process() {
            true => step,
            false => link.until(),
        });
        let ending = (!self.ending.is_empty()).then_some(step);
        let fresh = self.fresh.values().map(|(until, _)| *until);
        let pause = (self.accepts_from > now()).then_some(self.accepts_from);
        closing.chain(ending).chain(fresh).chain(pause).min().unwrap_or(Nanos::MAX)
    }

    /// Handles a descriptor that is ready. Returns whether `receive` shall return.
    fn serve(&mut self, waits: Waits) -> bool {
        match waits {
            Waits::Waker => return self.woken(),
            Waits::Signals => return self.signals.is_some_and(|signals| signals.drain()),
            Waits::Listener(index) => self.accept(index),
            Waits::Output(peer) => {
                if let Some(link) = self.links.get_mut(&peer) {
                    link.flush(now());
                }
            }
            Waits::Inputs => {
                let mut numbers = Vec::new();
                self.inputs.take(&mut numbers);
                numbers.into_iter().for_each(|number| self.read(number));
            }
            // All of them are looked at after each wait.
            Waits::Closing => {}
        }
        false
    }

    /// Reads what a peer or its process has sent.
    fn read(&mut self, number: u64) {
        let peer = HostIndex(number as u32);
        let Some(link) = self.links.get_mut(&peer) else { return };
        if number & ERRORS != 0 {
            if let Some(process) = link.process() {
                process.read_errors();
            }
            return;
        }
        if !link.read(&mut self.buffer, now) {
            return;
        }
        self.ready.push_back(peer);
        if !link.wants_input()
            && let Some(wire) = link.streams().0
        {
            self.inputs.remove(wire.input());
        }
        if link.waits_for_process() {
            self.ending.insert(peer);
        }
        let making = matches!(self.fresh.get(&peer), Some((_, Freshness::Connecting(_))));
        if making && link.is_usable() {
            self.fresh.remove(&peer);
        }
    }

    /// Waits for what a peer and its process send from now on.
    pub(super) fn watch(&mut self, peer: HostIndex) {
        let Some(link) = self.links.get(&peer) else { return };
        let (wire, process) = link.streams();
        let (input, errors) = (wire.map(Wire::input), process.and_then(AgentProcess::errors));
        let number = u64::from(peer.0);
        let all = [(input, number), (errors, number | ERRORS)];
        let added = all.into_iter().try_for_each(|(fd, number)| match fd {
            Some(fd) => self.inputs.add(fd, number),
            None => Ok(()),
        });
        if let Err(error) = added {
            let error = match error.errno {
                Errno::EPERM => error
                    .saying("standard input is a file, but another fiord must be at the other end"),
                _ => error,
            };
            self.lose(peer, Loss::System(error));
        }
    }

    /// Ends the effect of [`Hub::watch`].
    pub(super) fn unwatch(&self, link: &HostLink) {
        let (wire, process) = link.streams();
        let fds = [wire.map(Wire::input), process.and_then(AgentProcess::errors)];
        fds.into_iter().flatten().for_each(|fd| self.inputs.remove(fd));
    }

    /// Continues to close connections, and checks whether processes have ended.
    fn look_at_ending(&mut self) {
        let (buffer, now) = (&mut self.buffer, now());
        self.closing.retain_mut(|link: &mut ClosingLink| !link.step(buffer, now));
        self.ready.extend(&self.ending);
    }

    /// Begins to make connections that wait for their turn.
    fn begin_waiting(&mut self) {
        let making = |(_, why): &&(Nanos, Freshness)| !matches!(why, Freshness::Accepted { .. });
        let mut count = self.fresh.values().filter(making).count();
        while count < MAX_CONNECTING
            && let Some((peer, approach)) = self.waiting.pop_front()
        {
            if !self.links.contains_key(&peer) {
                continue;
            }
            count += 1;
            match approach {
                Approach::Command(command) => match AgentProcess::start(&command) {
                    Ok((process, wire)) => {
                        let until = now().saturating_add(PROCESS_TURN);
                        self.fresh.insert(peer, (until, Freshness::Started));
                        self.connected(peer, wire, Some(process));
                    }
                    Err(loss) => self.lose(peer, loss),
                },
                Approach::Connect(attempt) => {
                    let until = now().saturating_add(attempt.limit).saturating_add(SLACK);
                    self.fresh.insert(peer, (until, Freshness::Connecting(attempt.clone())));
                    let begun = attempt.begin(peer, self.attempted.0.clone(), self.wakes.clone());
                    if let Err(loss) = begun {
                        self.lose(peer, loss);
                    }
                }
            }
        }
    }

    /// Takes the connections that were made. Returns whether a [`Waker`](super::Waker) was used.
    fn woken(&mut self) -> bool {
        self.wakes.event.take();
        while let Ok(Attempted { peer, result }) = self.attempted.1.try_recv() {
            match result {
                Ok(wire) => self.connected(peer, wire, None),
                Err(loss) => self.lose(peer, loss),
            }
        }
        self.wakes.asked.swap(false, Ordering::Acquire)
    }

    /// Accepts the connections that wait.
    fn accept(&mut self, index: usize) {
        for _ in 0..ACCEPTS {
            if !self.has_room() && !self.make_room() {
                self.accepts_from = now().saturating_add(ACCEPT_PAUSE);
                return;
            }
            match self.listeners[index].accept() {
                Ok((wire, name)) => {
                    // Without random numbers there is no encryption, and the connection ends here.
                    let Ok(seal) = self.seal(&wire, true) else { continue };
                    // The port differs between the connections of one machine.
                    let machine = name.rsplit_once(':').map_or("", |(machine, _)| machine);
                    let from = machine.to_owned();
                    let peer = self.add(HostLink::accepted(wire, seal, name));
                    let until = now().saturating_add(CONNECT_LIMIT);
                    self.fresh.insert(peer, (until, Freshness::Accepted { from }));
                    self.ready.push_back(peer);
                    self.watch(peer);
                }
                Err(error) if error.errno == Errno::EAGAIN => return,
                // Too many files are open, for example.
                Err(_) => {
                    self.make_room();
                    self.accepts_from = now().saturating_add(ACCEPT_PAUSE);
                    return;
                }
            }
        }
    }

    /// The peers that made their connections and have not spoken, until when they may do so, and their machines.
    fn strangers(&self) -> impl Iterator<Item = (HostIndex, Nanos, &str)> {
        self.fresh.iter().filter_map(|(peer, (until, why))| match why {
            Freshness::Accepted { from } => Some((*peer, *until, from.as_str())),
            _ => None,
        })
    }

    /// Whether one more peer may be silent.
    fn has_room(&self) -> bool {
        self.strangers().count() < MAX_STRANGERS
    }

    /// Ends the connection of a peer that has said nothing. It is the oldest one of the machine that has most of them, so
    /// that whoever makes many connections gets in the way of others as little as possible. Returns false if all of them
    /// are so new that they may still speak: the ranks of a job connect all at once.
    fn make_room(&mut self) -> bool {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        self.strangers().for_each(|(_, _, from)| *counts.entry(from).or_default() += 1);
        let busiest = counts.iter().max_by_key(|(_, count)| **count).map(|(from, _)| *from);
        let of_busiest = self.strangers().filter(|(_, _, from)| busiest == Some(*from));
        let oldest = of_busiest.min_by_key(|(peer, until, _)| (*until, *peer));
        let Some((peer, until, _)) = oldest else { return false };
        if until > now().saturating_add(CONNECT_LIMIT).saturating_sub(PROMPT) {
            return false;
        }
        let said = format!("it sent nothing for {} s while other clients waited", PROMPT.as_secs());
        // Nothing waits for this peer to close its end, which would keep a descriptor.
        drop(self.lose_from_lists(peer, Loss::Closed { said }));
        true
    }

    /// Ends what took too long.
    fn expire(&mut self) {
        let now = now();
        let late: Vec<_> = self
            .fresh
            .iter()
            .filter(|(_, (until, _))| now >= *until)
            .map(|(peer, _)| *peer)
            .collect();
        for peer in late {
            match self.fresh.remove(&peer) {
                Some((_, Freshness::Connecting(attempt))) => self.lose(peer, attempt.too_late()),
                Some((_, Freshness::Accepted { .. })) => {
                    let limit = CONNECT_LIMIT.as_secs();
                    let said = format!("its first message was not complete after {limit} s");
                    self.lose(peer, Loss::Closed { said });
                }
                Some((_, Freshness::Started)) | None => {}
            }
        }
    }
}

/// The descriptors of a connection. One of a socket can be waited for in both directions.
fn wait_for_wire(
    wire: &Wire,
    input: bool,
    output: bool,
    mut add: impl FnMut(BorrowedFd, Readiness),
) {
    match (wire.input(), wire.output()) {
        (fd, Some(out)) if fd.as_raw_fd() == out.as_raw_fd() && input && output => {
            add(fd, Readiness::Both);
        }
        (fd, out) => {
            if input {
                add(fd, Readiness::Readable);
            }
            if let (Some(out), true) = (out, output) {
                add(out, Readiness::Writable);
            }
        }
    }
}
