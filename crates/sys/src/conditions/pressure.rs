//! Pressure stall information (Linux 4.20: Documentation/accounting/psi.rst) and stolen CPU time
//! (`/proc/stat`).

use crate::root::Root;

/// Time since boot in which tasks waited, µs: `some` of them, or `full`: all that were not idle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stall {
    /// At least one waited.
    pub some_us: u64,
    /// All did.
    pub full_us: u64,
}

impl Stall {
    fn parse(text: &str) -> Option<Stall> {
        let total = |kind: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
            line.split_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok())
        };
        Some(Stall { some_us: total("some ")?, full_us: total("full ").unwrap_or(0) })
    }

    /// What was added since an earlier reading.
    pub fn since(self, earlier: Stall) -> Stall {
        Stall {
            some_us: self.some_us.saturating_sub(earlier.some_us),
            full_us: self.full_us.saturating_sub(earlier.full_us),
        }
    }
}

/// The three kinds. `None`: the kernel does not keep it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Waiting for a CPU.
    pub cpu: Option<Stall>,
    /// Waiting for memory to be freed.
    pub memory: Option<Stall>,
    /// Waiting for I/O.
    pub io: Option<Stall>,
}

impl Pressure {
    /// Now.
    pub fn read(root: &Root) -> Pressure {
        let one = |name: &str| Stall::parse(&root.text(format!("/proc/pressure/{name}"))?);
        Pressure { cpu: one("cpu"), memory: one("memory"), io: one("io") }
    }
}

/// CPU time since boot, in ticks of `USER_HZ`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stolen {
    /// Time a virtual CPU was ready and did not run.
    pub stolen: u64,
    /// All time, stolen included.
    pub total: u64,
}

impl Stolen {
    /// Now.
    pub fn read(root: &Root) -> Option<Stolen> {
        let text = root.text("/proc/stat")?;
        let numbers: Vec<u64> = text
            .lines()
            .next()?
            .strip_prefix("cpu ")?
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        // user nice system idle iowait irq softirq steal; guest time is in user time.
        Some(Stolen { stolen: *numbers.get(7)?, total: numbers.iter().take(8).sum() })
    }

    /// Share of the time since an earlier reading that was stolen, 0 to 1.
    pub fn share_since(self, earlier: Stolen) -> f64 {
        let total = self.total.saturating_sub(earlier.total);
        let stolen = self.stolen.saturating_sub(earlier.stolen);
        if total == 0 { 0.0 } else { stolen as f64 / total as f64 }
    }
}
