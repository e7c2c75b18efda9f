use fiord_types::Nanos;

use super::*;
use crate::cpu::CpuSet;
use crate::file::Device;
use crate::survey::fixture::Machine;

const CPUS: &str = "/sys/devices/system/cpu";

#[test]
fn reads_governors_and_the_deepest_idle_state() {
    let machine = Machine::new();
    assert_eq!(Governors::read(&machine.root()), None);
    machine.write(&format!("{CPUS}/online"), "0-3");
    for cpu in 0..4 {
        let name = if cpu < 3 { "powersave" } else { "performance" };
        let base = format!("{CPUS}/cpu{cpu}/cpufreq");
        machine.write(&format!("{base}/scaling_governor"), name);
        machine.write(&format!("{base}/scaling_min_freq"), "800000");
        machine.write(&format!("{base}/scaling_max_freq"), "3600000");
    }
    for (state, name, latency) in [(0, "POLL", 0), (1, "C1", 2), (2, "C6", 133)] {
        let base = format!("{CPUS}/cpu0/cpuidle/state{state}");
        machine.write(&format!("{base}/name"), name);
        machine.write(&format!("{base}/latency"), &latency.to_string());
    }
    let governors = Governors::read(&machine.root()).unwrap();
    assert_eq!(governors.variable(), CpuSet::parse("0-2").unwrap());
    assert_eq!(governors.range_khz, Some((800_000, 3_600_000)));
    assert_eq!(
        power::deepest_sleep(&machine.root()),
        Some(Sleep { state: "C6".into(), wake: Nanos::from_micros(133) })
    );
    machine.write(&format!("{CPUS}/cpu0/cpuidle/state2/disable"), "1");
    assert_eq!(power::deepest_sleep(&machine.root()).unwrap().state, "C1");
}

#[test]
fn the_throttle_count_of_a_package_is_added_once() {
    let machine = Machine::new();
    machine.write(&format!("{CPUS}/online"), "0-1");
    assert_eq!(power::throttles(&machine.root()), None);
    for cpu in 0..2 {
        let base = format!("{CPUS}/cpu{cpu}");
        machine.write(&format!("{base}/topology/physical_package_id"), "0");
        machine.write(&format!("{base}/thermal_throttle/core_throttle_count"), "3");
        machine.write(&format!("{base}/thermal_throttle/package_throttle_count"), "10");
    }
    assert_eq!(power::throttles(&machine.root()), Some(16));
}

#[test]
fn reads_pressure_and_stolen_time() {
    let machine = Machine::new();
    assert_eq!(Pressure::read(&machine.root()), Pressure::default());
    let text =
        "some avg10=1.55 avg60=1.24 avg300=1.04 total=1000\nfull avg10=0 avg60=0 avg300=0 total=10";
    machine.write("/proc/pressure/io", text);
    let stat = "cpu  100 0 50 800 10 0 0 40 0 0\ncpu0 60 5 0 20 2 0 0 13 0 0\ncpu12 1 2 3\nctxt 7";
    machine.write("/proc/stat", stat);
    let now = Moment::now(&machine.root());
    let io = now.pressure.io.unwrap();
    assert_eq!((io.some, io.full), (Nanos::from_millis(1), Nanos::from_micros(10)));
    let ticks = |n| Nanos::from_millis(10).saturating_mul(n);
    let cpu = now.cpu.unwrap();
    assert_eq!((cpu.user, cpu.stolen, cpu.total), (ticks(100), ticks(40), ticks(1000)));
    let since = cpu.since(pressure::CpuTime {
        user: ticks(90),
        stolen: ticks(30),
        idle: ticks(800),
        total: ticks(900),
    });
    assert_eq!((since.user, since.stolen_share(), since.idle), (ticks(10), 0.1, ticks(10)));
    let one = pressure::CpuTime {
        user: ticks(65),
        stolen: ticks(13),
        idle: ticks(22),
        total: ticks(100),
    };
    assert_eq!(now.cpus, [(0, one)], "a line with too few numbers is not a CPU");
    assert_eq!(
        (one.and(one).user, one.and(one).idle, one.and(one).total),
        (ticks(130), ticks(44), ticks(200))
    );
}

#[test]
fn reads_the_limits_of_cgroup_version_two() {
    let machine = Machine::new();
    machine.write("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
    machine.write("/proc/self/cgroup", "0::/bench/one");
    machine.write("/sys/fs/cgroup/bench/io.max", "8:16 rbps=2097152 wbps=max riops=max wiops=120");
    machine.write("/sys/fs/cgroup/bench/one/io.max", "8:32 rbps=max wbps=max riops=max wiops=max");
    machine.write("/sys/fs/cgroup/bench/one/cpu.max", "50000 100000");
    machine.write(
        "/sys/fs/cgroup/bench/one/cpu.stat",
        "usage_usec 9\nnr_throttled 4\nthrottled_usec 7",
    );
    machine.write("/sys/fs/cgroup/bench/cpu.max", "max 100000");
    let quotas = Quotas::read(&machine.root());
    assert_eq!(quotas.io.len(), 1);
    assert_eq!(quotas.io[0].device, Some(Device { major: 8, minor: 16 }));
    assert_eq!(quotas.io[0].bytes, [Some(2_097_152), None]);
    assert_eq!(quotas.io[0].ios, [None, Some(120)]);
    assert_eq!(quotas.io[0].group, "/bench");
    assert_eq!(quotas.cpu.len(), 1);
    assert_eq!((quotas.cpu[0].quota, quotas.cpu[0].throttled), (Some(Nanos::from_millis(50)), 4));
}

#[test]
fn reads_the_limits_of_cgroup_version_one() {
    let machine = Machine::new();
    let mounts = "38 31 0:35 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                  39 31 0:36 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu";
    machine.write("/proc/self/mountinfo", mounts);
    machine.write("/proc/self/cgroup", "7:blkio:/a\n1:cpu:/b\n0::/");
    machine.write("/sys/fs/cgroup/blkio/a/blkio.throttle.write_bps_device", "7:0 1048576");
    machine.write("/sys/fs/cgroup/cpu/b/cpu.cfs_quota_us", "20000");
    machine.write("/sys/fs/cgroup/cpu/b/cpu.cfs_period_us", "100000");
    machine.write(
        "/sys/fs/cgroup/cpu/b/cpu.stat",
        "nr_periods 10\nnr_throttled 2\nthrottled_time 5000000",
    );
    machine.write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
    let quotas = Quotas::read(&machine.root());
    assert_eq!(quotas.io[0].bytes, [None, Some(1_048_576)]);
    assert_eq!(quotas.cpu.len(), 1);
    assert_eq!(quotas.cpu[0].throttled_time, Nanos::from_millis(5));
}

#[test]
fn reads_the_clock_source() {
    let machine = Machine::new();
    assert_eq!(clock_source(&machine.root()), None);
    let base = "/sys/devices/system/clocksource/clocksource0";
    machine.write(&format!("{base}/current_clocksource"), "hpet");
    machine.write(&format!("{base}/available_clocksource"), "tsc hpet acpi_pm");
    let (current, available) = clock_source(&machine.root()).unwrap();
    assert_eq!((current.as_str(), available.len()), ("hpet", 3));
}
