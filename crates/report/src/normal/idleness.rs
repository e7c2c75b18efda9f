//! How idle the CPUs were (`--idle-prof`).

use std::io::{self, Write};

use fiord_stat::report::{CpuIdleness, UnitWork};

/// Writes the section after an empty line, or nothing if it was not measured.
pub(super) fn write(idleness: Option<&CpuIdleness>, out: &mut dyn Write) -> io::Result<()> {
    let Some(CpuIdleness { system, cpus, unit }) = idleness else { return Ok(()) };
    writeln!(out, "\nCPU idleness:\n  system: {system:.2}%")?;
    if !cpus.is_empty() {
        let each: Vec<String> = cpus.iter().map(|(_, share)| format!("{share:.2}%")).collect();
        writeln!(out, "  percpu: {}", each.join(", "))?;
    }
    out.write_all(unit_line(unit).as_bytes())
}

/// The output of `--idle-prof=calibrate`.
#[must_use]
pub fn unit_work(unit: &UnitWork) -> String {
    format!("CPU idleness:\n{}", unit_line(unit))
}

fn unit_line(unit: &UnitWork) -> String {
    format!("  unit work: mean={:.2}us, stddev={:.2}\n", unit.mean_us, unit.stddev_us)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_form_of_fio() {
        let unit = UnitWork { mean_us: 30.54, stddev_us: 2.0849 };
        let mut idleness = CpuIdleness { system: 35.731, cpus: vec![(0, 65.74), (1, 5.709)], unit };
        let text = |idleness: Option<&CpuIdleness>| {
            let mut out = Vec::new();
            write(idleness, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            text(Some(&idleness)),
            "\nCPU idleness:\n  system: 35.73%\n  percpu: 65.74%, 5.71%\n  unit work: mean=30.54us, stddev=2.08\n"
        );
        idleness.cpus.clear();
        assert!(!text(Some(&idleness)).contains("percpu"));
        assert_eq!(text(None), "");
        assert_eq!(unit_work(&unit), "CPU idleness:\n  unit work: mean=30.54us, stddev=2.08\n");
    }
}
