//! Latencies in slices of time, as a table like that of `--profile=act` in fio.

use std::io::{self, Write};

use fiord_stat::slices::{Breach, Breached, Excess, LatencyLimit, SliceTable, Verdict};

/// Writes the tables of an ended run. As in fio, they come before everything else.
pub(super) fn write(tables: &[SliceTable], out: &mut dyn Write) -> io::Result<()> {
    tables.iter().try_for_each(|table| one(table, out))
}

fn one(table: &SliceTable, out: &mut dyn Write) -> io::Result<()> {
    let columns = table.limits.len();
    let width = 8 * columns;
    writeln!(out, "{:8}{:width$}device", "", "trans")?;
    writeln!(out, "{:8}{:width$}%>(ms)", "", "%>(ms)")?;
    write!(out, " slice")?;
    for limit in table.limits.iter().chain(&table.limits) {
        write!(out, "\t{:>3}", milliseconds(limit))?;
    }
    let half = match columns {
        0 | 1 => "------".to_owned(),
        n => format!("{}-----  ------", "-----   ".repeat(n - 2)),
    };
    writeln!(out, "\n -----  {half}   {half}")?;
    for (index, slice) in table.slices.iter().enumerate() {
        write!(out, "{:5}", index + 1)?;
        for share in slice.due.iter().chain(&slice.own) {
            write!(out, "\t{share:.2}")?;
        }
        writeln!(out)?;
    }
    let (name, not) = (&table.name, if table.complete { "" } else { "not " });
    let verdict = match table.verdict {
        Verdict::Passed => "PASSED",
        Verdict::Failed => "FAILED",
        Verdict::Open => "no verdict",
    };
    writeln!(out, "\n{name}: test {not}complete, device(s): {verdict}")?;
    table.broken.iter().try_for_each(|breach| self::breach(breach, table.slices.len(), out))
}

/// Names the limits for which the test fails or would fail.
fn breach(breach: &Breach, slices: usize, out: &mut dyn Write) -> io::Result<()> {
    let place = match (breach.slices, slices) {
        (_, 1) => String::new(),
        (n, all) => format!(" of slice {} ({n} of {all} slices are too slow)", breach.worst),
    };
    let share = |Excess { limit, percent }: &Excess| {
        let (over, most) = (milliseconds(limit), limit.percent);
        format!(
            "{percent:.2}% of the I/Os{place} took more than {over} ms, and less than {most}% may"
        )
    };
    match &breach.what {
        Breached::Own(excess) => writeln!(out, "fiord: failed: {}", share(excess)),
        Breached::Due(excess) => writeln!(
            out,
            "fiord: within the limit when counted from the start of each I/O, which decides; counted from when the \
             I/Os were due, {}",
            share(excess)
        ),
        Breached::Lag { lag } => writeln!(
            out,
            "fiord: failed: I/Os{place} began {:.1} s after they were due: the device does not keep up \
             with this load",
            lag.as_secs_f64()
        ),
    }
}

fn milliseconds(limit: &LatencyLimit) -> f64 {
    limit.over.0 as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use fiord_stat::slices::{Ending, Slice};
    use fiord_types::Nanos;

    use super::*;

    fn printed(limits: &[(u64, f64)], slices: &[Slice], ending: Ending) -> String {
        let limits = limits
            .iter()
            .map(|&(ms, percent)| LatencyLimit { over: Nanos::from_millis(ms), percent });
        let table =
            SliceTable { name: "act".into(), limits: limits.collect(), ..SliceTable::default() };
        let mut out = Vec::new();
        write(&[table.judge(slices, ending)], &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    /// The text equals fio 3.42's byte for byte if the numbers are equal.
    #[test]
    fn the_table_looks_as_that_of_fio() {
        let mut slice = Slice { ios: 10_000, ..Slice::default() };
        (slice.due[0], slice.own[0], slice.due[1], slice.own[1]) = (258, 258, 20, 20);
        let text = printed(&[(1, 5.0), (8, 1.0), (64, 0.1)], &[slice], Ending::Whole);
        let wanted = "        trans                   device\n        %>(ms)                  \
                      %>(ms)\n slice\t  1\t  8\t 64\t  1\t  8\t 64\n -----  -----   -----  ------   \
                      -----   -----  ------\n    1\t2.58\t0.20\t0.00\t2.58\t0.20\t0.00\n\nact: test \
                      complete, device(s): PASSED\n";
        assert_eq!(text, wanted);
    }

    #[test]
    fn what_is_wrong_is_said_below() {
        let mut slice = Slice { ios: 200, lag: Nanos::from_millis(12_345), ..Slice::default() };
        (slice.due[0], slice.own[0], slice.due[1]) = (60, 10, 50);
        let text = printed(&[(1, 5.0), (8, 1.0)], &[Slice::default(), slice], Ending::Short);
        for part in [
            "device(s): FAILED",
            "fiord: failed: 5.00% of the I/Os of slice 2 (1 of 2 slices are too slow) took more than 1 ms, \
             and less than 5% may\n",
            "counted from when the I/Os were due, 25.00% of the I/Os of slice 2",
            "failed: I/Os of slice 2 (1 of 2 slices are too slow) began 12.3 s after they were due",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let text = printed(&[(1, 5.0)], &[Slice { ios: 1, ..Slice::default() }], Ending::Short);
        assert!(text.contains("test not complete, device(s): no verdict"), "{text}");
    }
}
