//! Pressure stall information (Linux 4.20: Documentation/accounting/psi.rst) and CPU time,
//! including stolen time (`/proc/stat`).

use crate::root::Root;

/// Time since boot in which tasks waited for one resource, in µs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stall {
    /// Time in which at least one task waited.
    pub some_us: u64,
    /// Time in which all tasks that were not idle waited.
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

    /// Returns the increase since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Stall) -> Stall {
        Stall {
            some_us: self.some_us.saturating_sub(earlier.some_us),
            full_us: self.full_us.saturating_sub(earlier.full_us),
        }
    }
}

/// Stall times of the three resources. `None`: the kernel does not report it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pressure {
    /// Tasks waited for a CPU.
    pub cpu: Option<Stall>,
    /// Tasks waited for memory to be freed.
    pub memory: Option<Stall>,
    /// Tasks waited for I/O.
    pub io: Option<Stall>,
}

impl Pressure {
    /// Reads the current values.
    #[must_use]
    pub fn read(root: &Root) -> Pressure {
        let one = |name: &str| Stall::parse(&root.text(format!("/proc/pressure/{name}"))?);
        Pressure { cpu: one("cpu"), memory: one("memory"), io: one("io") }
    }
}

/// CPU time of one CPU, or of all together, since boot, in ticks of `USER_HZ` (100 per second).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Time of programs in user mode, including guests of virtual machines. Kernel threads have none.
    pub user: u64,
    /// Time in which a virtual CPU was ready but the hypervisor did not run it.
    pub stolen: u64,
    /// Time in which the CPU had nothing to run, including waits for I/O.
    pub idle: u64,
    /// All time, including idle and stolen time.
    pub total: u64,
}

impl CpuTime {
    /// Reads the CPU time of all CPUs together.
    #[must_use]
    pub fn read(root: &Root) -> Option<CpuTime> {
        CpuTime::parse(root.text("/proc/stat")?.lines().next()?.strip_prefix("cpu ")?)
    }

    /// Reads the CPU time of each online CPU, with the CPU's number.
    #[must_use]
    pub fn of_each(root: &Root) -> Vec<(usize, CpuTime)> {
        let text = root.text("/proc/stat").unwrap_or_default();
        let one = |line: &str| {
            let (number, times) = line.strip_prefix("cpu")?.split_once(' ')?;
            Some((number.parse().ok()?, CpuTime::parse(times)?))
        };
        text.lines().filter_map(one).collect()
    }

    /// Parses the numbers of a `cpu` line (`proc_stat(5)`).
    fn parse(line: &str) -> Option<CpuTime> {
        let words = line.split_whitespace();
        let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        // The fields are user nice system idle iowait irq softirq steal; user includes guest time.
        Some(CpuTime {
            user: numbers.first()? + numbers.get(1)?,
            stolen: *numbers.get(7)?,
            idle: numbers.get(3)? + numbers.get(4)?,
            total: numbers.iter().take(8).sum(),
        })
    }

    /// Adds the time of another CPU.
    #[must_use]
    pub fn and(self, other: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user + other.user,
            stolen: self.stolen + other.stolen,
            idle: self.idle + other.idle,
            total: self.total + other.total,
        }
    }

    /// Returns the increase since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user.saturating_sub(earlier.user),
            stolen: self.stolen.saturating_sub(earlier.stolen),
            idle: self.idle.saturating_sub(earlier.idle),
            total: self.total.saturating_sub(earlier.total),
        }
    }

    /// Returns the share of the time that the hypervisor stole, 0 to 1.
    #[must_use]
    pub fn stolen_share(self) -> f64 {
        self.stolen as f64 / self.total.max(1) as f64
    }
}
