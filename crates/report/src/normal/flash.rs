//! What a job did to raw flash.

use std::io::{self, Write};

use fiord_stat::engine::{FlashCount, FlashCounts};

pub(super) fn write(counts: &FlashCounts, out: &mut dyn Write) -> io::Result<()> {
    let [erases, blocks, most, bad] = [
        FlashCount::Erases,
        FlashCount::ErasedBlocks,
        FlashCount::MostErases,
        FlashCount::BadBlocks,
    ]
    .map(|what| counts.get(what));
    write!(
        out,
        "  fiord: flash: {erases} erases of {blocks} blocks, at most {most} of one; {bad} bad blocks"
    )?;
    let more = [
        (FlashCount::Skipped, "I/Os on them were skipped"),
        (FlashCount::Overwrites, "writes over flash that was not erased"),
        (FlashCount::CorrectedBits, "bits corrected"),
        (FlashCount::Uncorrected, "errors not corrected"),
    ];
    for (what, text) in more.into_iter().filter(|(what, _)| counts.get(*what) > 0) {
        write!(out, "; {} {text}", counts.get(what))?;
    }
    writeln!(out)
}
