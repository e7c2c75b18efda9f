//! CPUs: which exist, which this thread may use, and pinning the thread.

use std::fmt;

use fiord_types::Errno;

use crate::error::check;
use crate::{Error, Result};

/// A set of CPU numbers, or of NUMA node numbers, of any size.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CpuSet {
    /// One bit per CPU; the last word is never zero.
    words: Vec<u64>,
}

/// Highest number that a set can hold: far above the 8192 CPUs that Linux can be built for, and low
/// enough that a typing error does not allocate gigabytes.
const HIGHEST: usize = 65_535;

impl CpuSet {
    /// Returns the empty set.
    #[must_use]
    pub fn new() -> CpuSet {
        CpuSet::default()
    }

    /// Returns the CPUs whose bits are set in a mask; bit 0 is CPU 0 (`cpumask=`).
    #[must_use]
    pub fn from_mask(mask: u64) -> CpuSet {
        (0..64).filter(|bit| mask >> bit & 1 == 1).collect()
    }

    /// Parses a list such as `0-3,8,10-11`, as sysfs prints it and `cpus_allowed=` takes it. An empty
    /// text gives the empty set. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<CpuSet> {
        let mut set = CpuSet::new();
        for part in text.trim().split(',').filter(|_| !text.trim().is_empty()) {
            let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            if first > last || last > HIGHEST {
                return None;
            }
            (first..=last).for_each(|cpu| set.insert(cpu));
        }
        Some(set)
    }

    /// Adds a CPU. Numbers above 65535 are ignored.
    pub fn insert(&mut self, cpu: usize) {
        if cpu > HIGHEST {
            return;
        }
        if self.words.len() <= cpu / 64 {
            self.words.resize(cpu / 64 + 1, 0);
        }
        self.words[cpu / 64] |= 1 << (cpu % 64);
    }

    pub fn remove(&mut self, cpu: usize) {
        if let Some(word) = self.words.get_mut(cpu / 64) {
            *word &= !(1 << (cpu % 64));
        }
        self.shorten();
    }

    /// Whether the set contains a CPU.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        self.words.get(cpu / 64).is_some_and(|word| word >> (cpu % 64) & 1 == 1)
    }

    /// Iterates over the CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.words.len() * 64).filter(|&cpu| self.contains(cpu))
    }

    /// Returns the number of CPUs in the set.
    #[must_use]
    pub fn len(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns the CPUs that are in both sets.
    #[must_use]
    pub fn intersection(&self, other: &CpuSet) -> CpuSet {
        self.iter().filter(|&cpu| other.contains(cpu)).collect()
    }

    /// Returns the CPUs that are in this set but not in `other`.
    #[must_use]
    pub fn difference(&self, other: &CpuSet) -> CpuSet {
        self.iter().filter(|&cpu| !other.contains(cpu)).collect()
    }

    fn shorten(&mut self) {
        while self.words.last() == Some(&0) {
            self.words.pop();
        }
    }

    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }
}

impl FromIterator<usize> for CpuSet {
    fn from_iter<I: IntoIterator<Item = usize>>(cpus: I) -> CpuSet {
        let mut set = CpuSet::new();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

impl Extend<usize> for CpuSet {
    fn extend<I: IntoIterator<Item = usize>>(&mut self, cpus: I) {
        cpus.into_iter().for_each(|cpu| self.insert(cpu));
    }
}

/// Formats the set as sysfs prints it: `0-3,8`.
impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while cpus.next_if_eq(&(last + 1)).is_some() {
                last += 1;
            }
            match last == first {
                true => write!(f, "{separator}{first}")?,
                false => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

/// Returns the CPUs that are online according to sysfs; without sysfs, those of [`allowed`].
///
/// # Errors
/// Errors of [`allowed`].
pub fn online() -> Result<CpuSet> {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    match CpuSet::parse(&text) {
        Some(set) if !set.is_empty() => Ok(set),
        _ => allowed(),
    }
}

/// Returns the CPUs that the calling thread may run on (`sched_getaffinity(2)`). A container or
/// `taskset` may exclude some.
///
/// # Errors
/// Errors of `sched_getaffinity(2)`.
pub fn allowed() -> Result<CpuSet> {
    // The kernel refuses a buffer smaller than its own mask, whose size no call returns.
    let mut words = vec![0u64; 16];
    loop {
        let bytes = words.len() * 8;
        // SAFETY: the length describes `words`, which the kernel fills; 0 is the calling thread.
        let rc =
            unsafe { libc::syscall(libc::SYS_sched_getaffinity, 0, bytes, words.as_mut_ptr()) };
        match check("sched_getaffinity", rc) {
            Ok(_) => break,
            Err(error) if error.errno == Errno::EINVAL && words.len() <= HIGHEST / 64 => {
                words.resize(words.len() * 2, 0);
            }
            Err(error) => return Err(error),
        }
    }
    let mut set = CpuSet { words };
    set.shorten();
    Ok(set)
}

/// Counts the processor cores among the CPUs that the calling thread may run on: the hardware
/// threads of a core count as one. Returns at least 1; without `/sys` each CPU counts as a core.
#[must_use]
pub fn cores() -> u64 {
    let cpus = allowed().unwrap_or_default();
    let siblings = |cpu: usize| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
        // A CPU without a list counts as a core of its own.
        std::fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string()).trim().to_owned()
    };
    let cores: std::collections::HashSet<String> = cpus.iter().map(siblings).collect();
    (cores.len() as u64).max(1)
}

/// Restricts the calling thread to these CPUs (`sched_setaffinity(2)`).
///
/// # Errors
/// `EINVAL` if none of them is online and allowed for this process.
pub fn set_affinity(cpus: &CpuSet) -> Result<()> {
    if cpus.is_empty() {
        return Err(Error::new("sched_setaffinity", Errno::EINVAL));
    }
    let bytes = cpus.words.len() * 8;
    // SAFETY: the length describes the words, which the kernel reads; 0 is the calling thread.
    let rc = unsafe { libc::syscall(libc::SYS_sched_setaffinity, 0, bytes, cpus.words.as_ptr()) };
    check("sched_setaffinity", rc).map(drop)
}

/// Returns the CPU that the calling thread runs on at this moment.
#[must_use]
pub fn current() -> Option<usize> {
    // SAFETY: takes nothing, returns an integer.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_round_trip() {
        for text in ["", "0", "0-3", "0-3,8,10-11", "63-65,128"] {
            assert_eq!(CpuSet::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(CpuSet::parse("1,0, 2\n").unwrap().to_string(), "0-2");
        for bad in ["a", "1-", "-1", "3-1", "1,,2", "99999999"] {
            assert_eq!(CpuSet::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn masks_convert_and_sets_intersect() {
        let set = CpuSet::from_mask(0b1101);
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 2, 3]);
        assert_eq!(set.len(), 3);
        let other = CpuSet::from_mask(0b0110);
        assert_eq!(set.intersection(&other), CpuSet::from_mask(0b0100));
        assert_eq!(set.difference(&other), CpuSet::from_mask(0b1001));
        let mut one: CpuSet = [700].into_iter().collect();
        one.remove(700);
        assert_eq!(one, CpuSet::new());
        assert!(one.is_empty());
    }

    #[test]
    fn a_pinned_thread_stays_on_its_cpu() {
        std::thread::spawn(|| {
            let allowed = allowed().unwrap();
            assert!(!allowed.is_empty() && !online().unwrap().is_empty());
            let last = allowed.iter().last().unwrap();
            let one: CpuSet = [last].into_iter().collect();
            set_affinity(&one).unwrap();
            assert_eq!(super::allowed().unwrap(), one);
            assert_eq!(current(), Some(last));
            assert!(set_affinity(&CpuSet::new()).is_err());
            let far: CpuSet = [60_000].into_iter().collect();
            assert_eq!(set_affinity(&far).unwrap_err().errno, Errno::EINVAL);
        })
        .join()
        .unwrap();
    }
}
