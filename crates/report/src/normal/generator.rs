//! The overhead of the generator: one line, and one line with the ceiling of each group.

use std::io::{self, Write};

use fiord_stat::report::{Ceiling, Extras};
use fiord_stat::shares::{LoopStage, StageShares};

/// Writes an empty line and the lines, or nothing if nothing was measured.
pub(super) fn write(extras: &Extras, out: &mut dyn Write) -> io::Result<()> {
    let Some(generator) = &extras.generator else { return Ok(()) };
    let mut parts = Vec::new();
    if let Some(clock) = &extras.clock {
        parts.push(format!("{:.1} ns a clock read", clock.cost_ns));
    }
    match (&generator.shares, &generator.why_none) {
        (Some(shares), _) => parts.push(words(shares)),
        (None, Some(why)) => parts.push(format!("shares of the time n/a ({why})")),
        (None, None) => {}
    }
    writeln!(out, "\nGenerator: {}", parts.join("; "))?;
    for ceiling in &generator.ceilings {
        let Ceiling { group_id, iops, .. } = ceiling;
        writeln!(
            out,
            "Ceiling of group {group_id}: {iops:.0} IOPS on ioengine=null; the run reached \
             {:.1}% of it",
            100.0 * ceiling.share()
        )?;
    }
    Ok(())
}

fn words(shares: &StageShares) -> String {
    let one = |stage: LoopStage| format!("{} {:.1}%", stage.word(), 100.0 * shares.share(stage));
    let all: Vec<String> = LoopStage::ALL.into_iter().map(one).collect();
    format!("time of its threads: {} ({} I/Os sampled)", all.join(", "), shares.ios())
}

#[cfg(test)]
mod tests {
    use fiord_stat::report::{ClockReport, GeneratorReport};
    use fiord_stat::shares::TimeShares;
    use fiord_types::Nanos;

    use super::*;

    fn text(generator: GeneratorReport) -> String {
        let clock = ClockReport { source: "cpu".into(), cost_ns: 7.25, resolution_ns: 0.4 };
        let extras = Extras { clock: Some(clock), generator: Some(generator), ..Extras::default() };
        let mut out = Vec::new();
        write(&extras, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn one_line_tells_the_shares_and_one_each_ceiling() {
        let shares = TimeShares::of([0, 25, 950, 10, 15].map(Nanos), 40, 1280);
        let shares = shares.map(|shares| shares.summarise());
        let ceilings = vec![Ceiling { group_id: 0, iops: 2e6, reached: 5e5 }];
        let text = text(GeneratorReport { shares, ceilings, ..GeneratorReport::default() });
        assert_eq!(
            text,
            "\nGenerator: 7.2 ns a clock read; time of its threads: contents 0.0%, submission \
             2.5%, waiting 95.0%, completion 1.0%, rest 1.5% (1280 I/Os sampled)\nCeiling of group \
             0: 2000000 IOPS on ioengine=null; the run reached 25.0% of it\n"
        );
    }

    #[test]
    fn a_simulated_clock_has_no_shares() {
        let why_none = Some("simulated".into());
        let text = text(GeneratorReport { why_none, ..GeneratorReport::default() });
        assert!(text.ends_with("shares of the time n/a (simulated)\n"), "{text}");
    }
}
