//! Pressure stall information (Linux 4.20: Documentation/accounting/psi.rst) and CPU time, stolen
//! time too (`/proc/stat`).

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

/// CPU time of all CPUs or of one since boot, in ticks of `USER_HZ` (100 a second).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Of programs in user mode, guests of virtual machines too. The kernel's own threads have none.
    pub user: u64,
    /// Time a virtual CPU was ready and did not run.
    pub stolen: u64,
    /// Time in which there was nothing to run, waiting for I/O included.
    pub idle: u64,
    /// All time, idle and stolen included.
    pub total: u64,
}

impl CpuTime {
    /// Of all CPUs together, now.
    pub fn read(root: &Root) -> Option<CpuTime> {
        CpuTime::parse(root.text("/proc/stat")?.lines().next()?.strip_prefix("cpu ")?)
    }

    /// Of each CPU that is online, by its number, now.
    pub fn of_each(root: &Root) -> Vec<(usize, CpuTime)> {
        let text = root.text("/proc/stat").unwrap_or_default();
        let one = |line: &str| {
            let (number, times) = line.strip_prefix("cpu")?.split_once(' ')?;
            Some((number.parse().ok()?, CpuTime::parse(times)?))
        };
        text.lines().filter_map(one).collect()
    }

    /// The numbers of a line (`proc_stat(5)`).
    fn parse(line: &str) -> Option<CpuTime> {
        let words = line.split_whitespace();
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is in user time.
        Some(CpuTime {
            user: numbers.first()? + numbers.get(1)?,
            stolen: *numbers.get(7)?,
            idle: numbers.get(3)? + numbers.get(4)?,
            total: numbers.iter().take(8).sum(),
        })
    }

    /// Of several CPUs together.
    #[must_use]
    pub fn and(self, other: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user + other.user,
            stolen: self.stolen + other.stolen,
            idle: self.idle + other.idle,
            total: self.total + other.total,
        }
    }

    /// What was added since an earlier reading.
    pub fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user.saturating_sub(earlier.user),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            idle: self.idle.saturating_sub(earlier.idle),
            total: self.total.saturating_sub(earlier.total),
        }
    }

    /// Share of the time that was stolen, 0 to 1.
    pub fn stolen_share(self) -> f64 {
        self.stolen as f64 / self.total.max(1) as f64
    }
}
