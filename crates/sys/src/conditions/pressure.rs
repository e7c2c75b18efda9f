//! Pressure stall information (Linux 4.20: Documentation/accounting/psi.rst) and CPU time,
//! including stolen time (`/proc/stat`).

use fiord_types::Nanos;

use crate::root::Root;

/// Time since boot in which tasks waited for one resource.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stall {
    /// Time in which at least one task waited.
    pub some: Nanos,
    /// Time in which all tasks that were not idle waited.
    pub full: Nanos,
}

impl Stall {
    fn parse(text: &str) -> Option<Stall> {
        let total = |kind: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(kind))?;
            line.split_whitespace()
                .find_map(|word| word.strip_prefix("total=")?.parse().ok().map(Nanos::from_micros))
        };
        Some(Stall { some: total("some ")?, full: total("full ").unwrap_or_default() })
    }

    /// Returns the increase since an earlier reading.
    #[must_use]
    pub fn since(self, earlier: Stall) -> Stall {
        Stall {
            some: self.some.saturating_sub(earlier.some),
            full: self.full.saturating_sub(earlier.full),
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

/// CPU time of one CPU, or of all together, since boot. The kernel counts in ticks of `USER_HZ` (100 per second).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// Time of programs in user mode, including guests of virtual machines. Kernel threads have none.
    pub user: Nanos,
    /// Time in which a virtual CPU was ready but the hypervisor did not run it.
    pub stolen: Nanos,
    /// Time in which the CPU had nothing to run, including waits for I/O.
    pub idle: Nanos,
    /// All time, including idle and stolen time.
    pub total: Nanos,
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
        let ticks = |word: &str| Some(Nanos::from_millis(word.parse().ok()?).saturating_mul(10));
        let times: Vec<Nanos> = line.split_whitespace().filter_map(ticks).collect();
        // The fields are user nice system idle iowait irq softirq steal; user includes guest time.
        Some(CpuTime {
            user: times.first()?.saturating_add(*times.get(1)?),
            stolen: *times.get(7)?,
            idle: times.get(3)?.saturating_add(*times.get(4)?),
            total: times.iter().take(8).fold(Nanos::ZERO, |sum, time| sum.saturating_add(*time)),
        })
    }

    /// Adds the time of another CPU.
    #[must_use]
    pub fn and(self, other: CpuTime) -> CpuTime {
        CpuTime {
            user: self.user.saturating_add(other.user),
            stolen: self.stolen.saturating_add(other.stolen),
            idle: self.idle.saturating_add(other.idle),
            total: self.total.saturating_add(other.total),
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
        self.stolen.0 as f64 / self.total.0.max(1) as f64
    }
}
