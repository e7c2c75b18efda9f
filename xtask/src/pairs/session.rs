//! Runs many cases side by side, and sorts what they find into classes.

use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use anyhow::{Result, anyhow};

use super::case::Case;
use super::compare::Difference;
use super::desk::Desk;
use super::examine::Bench;
use super::known::KnownTable;
use super::minimise::minimise;
use super::store::{Record, Store};

/// A run of cases.
pub(super) struct Session<'a> {
    pub bench: &'a Bench,
    pub known: &'a KnownTable,
    /// Results of finished cases; `None` stores nothing.
    pub store: Mutex<Option<Store>>,
    /// Results of this run and, if there is a store, of earlier ones.
    pub records: Mutex<Vec<Record>>,
    /// No case begins after this.
    pub deadline: Option<Instant>,
}

/// A smallest case that shows a difference, and the subjects of its differences.
type Class = (Case, HashSet<String>);

impl Session<'_> {
    /// Runs the cases with `workers` threads.
    pub(super) fn run(&self, cases: &[Case], workers: usize) -> Result<()> {
        let next = AtomicUsize::new(0);
        let place = &self.bench.sandbox.place;
        let work = |number: usize| -> Result<()> {
            let mut desk = Desk::new(place, number)?;
            while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                    break;
                }
                if let Some(record) = self.one(&mut desk, case)? {
                    self.keep(record)?;
                }
            }
            Ok(())
        };
        std::thread::scope(|scope| {
            let workers: Vec<_> =
                (0..workers).map(|n| scope.spawn(move || work_on(n, work))).collect();
            let ended = workers.into_iter().map(|worker| {
                worker.join().map_err(|_| anyhow!("a worker panicked")).and_then(|result| result)
            });
            ended.collect::<Result<Vec<()>>>().map(|_| ())
        })
    }

    /// Runs a case. `None`: this machine has no device for it.
    fn one(&self, desk: &mut Desk, case: &Case) -> Result<Option<Record>> {
        let space = &self.bench.space;
        if space.has_tag(case, "disk") && !desk.has_device() {
            return Ok(None);
        }
        let matters = |found: &[Difference]| !self.unknown(case, found).is_empty();
        let found = self.bench.examine(desk, case, matters)?;
        let mut record = Record {
            case: space.text(case),
            refused: found.refused,
            differences: found.differences,
            minimal: None,
        };
        let unknown = subjects(&self.unknown(case, &record.differences));
        if unknown.is_empty() {
            return Ok(Some(record));
        }
        if let Some(class) = self.class_of(case, &unknown) {
            record.minimal = Some(class);
            return Ok(Some(record));
        }
        let mut last = record.differences.clone();
        let smallest = minimise(space, case.clone(), |smaller| {
            let same = |found: &[Difference]| {
                let here = subjects(&self.unknown(smaller, found));
                here.iter().any(|subject| unknown.contains(subject))
            };
            let found = self.bench.examine(desk, smaller, same)?.differences;
            let same = same(&found);
            if same {
                last = found;
            }
            Ok(same)
        })?;
        record.minimal = Some((space.text(&smallest), last));
        Ok(Some(record))
    }

    fn keep(&self, record: Record) -> Result<()> {
        self.records.lock().map_err(|_| anyhow!("a worker panicked"))?.push(record.clone());
        match self.store.lock().map_err(|_| anyhow!("a worker panicked"))?.as_mut() {
            Some(store) => store.add(record),
            None => Ok(()),
        }
    }

    /// The differences that no entry of the table explains.
    pub(super) fn unknown(&self, case: &Case, found: &[Difference]) -> Vec<Difference> {
        let unknown = |difference: &&Difference| self.known.find(case, difference).is_none();
        found.iter().filter(unknown).cloned().collect()
    }

    /// Returns a smallest case that is part of `case` and that differs in one of the subjects. The rest is taken for a
    /// consequence: it shows when the difference is gone.
    fn class_of(
        &self,
        case: &Case,
        unknown: &HashSet<String>,
    ) -> Option<(String, Vec<Difference>)> {
        let records = self.records.lock().ok()?;
        records.iter().filter_map(|record| record.minimal.clone()).find(|(text, differences)| {
            let Some((smallest, subjects)) = self.class(text, differences) else { return false };
            smallest.choices().all(|choice| case.has(choice)) && !unknown.is_disjoint(&subjects)
        })
    }

    fn class(&self, text: &str, differences: &[Difference]) -> Option<Class> {
        let smallest = self.bench.space.parse(text)?;
        let subjects = subjects(&self.unknown(&smallest, differences));
        Some((smallest, subjects))
    }

    /// Whether a stored record still says what another run would say, although the table has changed.
    pub(super) fn is_current(&self, record: &Record) -> bool {
        let Some(case) = self.bench.space.parse(&record.case) else { return false };
        let unknown = !self.unknown(&case, &record.differences).is_empty();
        match &record.minimal {
            Some((text, differences)) if unknown => {
                self.class(text, differences).is_some_and(|(_, subjects)| !subjects.is_empty())
            }
            Some(_) => true,
            None => !unknown,
        }
    }
}

/// Calls a worker; a closure that threads share is borrowed.
fn work_on(number: usize, work: impl Fn(usize) -> Result<()>) -> Result<()> {
    work(number)
}

fn subjects(differences: &[Difference]) -> HashSet<String> {
    differences.iter().map(|difference| difference.subject().to_owned()).collect()
}
