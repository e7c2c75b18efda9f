//! The faults that a simulated device injected.

use std::io::{self, Write};

use fiord_stat::engine::{FaultEntry, FaultReport};

/// Maximum number of faults that are described. The JSON output has more.
const MAX_FAULTS: usize = 10;

/// Writes the number of faults of each kind, and the first of them.
pub(super) fn write(report: Option<&FaultReport>, out: &mut dyn Write) -> io::Result<()> {
    let Some(report) = report else { return Ok(()) };
    let counts: Vec<String> =
        report.counts.iter().map(|(kind, count)| format!("{kind}={count}")).collect();
    match report.total() {
        0 => writeln!(out, "  fiord: the simulated device injected no fault")?,
        1 => {
            writeln!(out, "  fiord: the simulated device injected 1 fault: {}", counts.join(", "))?
        }
        n => writeln!(
            out,
            "  fiord: the simulated device injected {n} faults: {}",
            counts.join(", ")
        )?,
    }
    report.list.iter().take(MAX_FAULTS).try_for_each(|fault| entry(fault, out))?;
    match report.total().saturating_sub(MAX_FAULTS as u64) {
        0 => Ok(()),
        more => writeln!(out, "    and {more} more"),
    }
}

fn entry(fault: &FaultEntry, out: &mut dyn Write) -> io::Result<()> {
    let FaultEntry { kind, file, offset, len, .. } = fault;
    let op = fault.op.unwrap_or(0);
    if kind == "crash" {
        return writeln!(out, "    crash before I/O {op}: lost {} bytes of writes", len.0);
    }
    write!(out, "    {kind} at I/O {op}: {} bytes at offset {} of {file}", len.0, offset.0)?;
    if let Some(other) = fault.other {
        write!(out, "; the other offset is {}", other.0)?;
    }
    if let Some(at) = fault.torn_at {
        write!(out, "; torn after {} bytes", at.0)?;
    }
    if let Some(by) = fault.shifted_by {
        write!(out, "; shifted by {by} bytes")?;
    }
    if !fault.bits.is_empty() {
        let bit = |bit: &u64| format!("{}.{}", bit / 8, bit % 8);
        let bits: Vec<String> = fault.bits.iter().map(bit).collect();
        write!(out, "; flipped bits (byte.bit): {}", bits.join(" "))?;
    }
    writeln!(out)
}
