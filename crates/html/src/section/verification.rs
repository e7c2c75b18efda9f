//! What was wrong with the data?

use std::collections::BTreeMap;

use fiord_formats::integrity::diagnosis::FaultClass;
use fiord_stat::verify::{FileExtent, Unverified, VerifyResults};
use fiord_types::Bytes;

use crate::chart::bars::{ShareRow, share_bars};
use crate::chart::extents::{MappedExtent, extent_map};
use crate::quantity::Quantity;

use super::element::{Figures, HtmlCell, HtmlFigure, HtmlTable, PageSection, head, html};
use super::view::RunView;

/// Maximum number of maps, and of rows of the list.
const MAPS: usize = 16;
const LISTED: usize = 200;

pub(crate) fn of_run(run: &RunView<'_>) -> Option<PageSection> {
    let with: Vec<(&str, &VerifyResults)> = run
        .entries
        .iter()
        .filter_map(|entry| Some((entry.label.as_str(), entry.job.verify.as_ref()?)))
        .collect();
    if with.is_empty() {
        return None;
    }
    let mut body = coverage(&with);
    body += &counts(&with);
    body += &maps(&with);
    body += &list(&with);
    Some(PageSection {
        id: "verification",
        title: "Verification".into(),
        about: String::new(),
        body,
    })
}

/// The words of the parts of written data, the part that was read back first. `word` is its word.
fn part_words(word: &'static str) -> Vec<&'static str> {
    let reason = |why: &Unverified| match why {
        Unverified::RuntimeEnded => "not verified: run time over",
        Unverified::Overwritten => "overwritten",
        Unverified::InFlight => "not verified: in flight",
        Unverified::Failed => "write failed",
        Unverified::Trimmed => "trimmed",
        Unverified::NeverWritten => "not verified: never written",
        Unverified::NotAsked => "not asked",
        Unverified::JobFailed => "not verified: job failed",
    };
    std::iter::once(word).chain(Unverified::ALL.iter().map(reason)).collect()
}

fn coverage(with: &[(&str, &VerifyResults)]) -> String {
    let row = |(label, results): &(&str, &VerifyResults)| {
        let coverage = &results.coverage;
        let written = coverage.written.as_f64().max(1.0);
        let part = |bytes: Bytes| bytes.as_f64() / written;
        let missing = Unverified::ALL
            .map(|why| part(coverage.unverified.get(&why).copied().unwrap_or_default()));
        let shares = std::iter::once(part(coverage.verified)).chain(missing).collect();
        ShareRow { name: (*label).to_owned(), shares }
    };
    let written = with.iter().filter(|(_, results)| results.coverage.written > Bytes::ZERO);
    let rows: Vec<ShareRow> = written.take(MAPS).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let all = with.iter().map(|(_, results)| results.coverage.written.as_f64()).sum();
    // Data that was read back and is wrong is checked, not verified.
    let right = with.iter().all(|(_, results)| results.counts().is_empty());
    let word = if right { "verified" } else { "checked" };
    let figure = HtmlFigure {
        title: format!("How much of the written data was {word}"),
        note: format!("{} written in all", Quantity::Size.text(all)),
        html: share_bars("Shares of the written data", &part_words(word), &rows),
        wide: true,
    };
    html(&Figures { figures: vec![figure], left_out: String::new() })
}

fn counts(with: &[(&str, &VerifyResults)]) -> String {
    let mut sums: BTreeMap<FaultClass, (u64, u64)> = BTreeMap::new();
    for (class, count) in with.iter().flat_map(|(_, results)| results.counts()) {
        let sum = sums.entry(*class).or_default();
        *sum = (sum.0.saturating_add(count.extents()), sum.1.saturating_add(count.bytes.0));
    }
    if sums.is_empty() {
        return "<p class=\"fine\"><svg class=\"icon\" viewBox=\"0 0 16 16\" aria-hidden=\"true\"><path d=\"M2 8.5l4 4 8-9\"/></svg> All data that was read back was right.</p>".into();
    }
    let row = |(class, (extents, bytes)): (FaultClass, (u64, u64))| {
        vec![
            HtmlCell::text(class.word()),
            HtmlCell::number(&Quantity::Count.text(extents as f64)),
            HtmlCell::number(&Quantity::Size.text(bytes as f64)),
        ]
    };
    html(&HtmlTable {
        caption: "Wrong data".into(),
        head: head(&["class", "extents", "bytes"], 1),
        rows: sums.into_iter().map(row).collect(),
    })
}

/// One map for each file with bad extents.
fn maps(with: &[(&str, &VerifyResults)]) -> String {
    let mut files: Vec<(&str, Vec<&FileExtent>)> = Vec::new();
    for extent in with.iter().flat_map(|(_, results)| results.extents()) {
        match files.iter_mut().find(|(name, _)| *name == extent.file) {
            Some((_, extents)) => extents.push(extent),
            None => files.push((&extent.file, vec![extent])),
        }
    }
    let left_out = match files.len().saturating_sub(MAPS) {
        0 => String::new(),
        n => format!("{n} more files have bad extents."),
    };
    let figures: Vec<HtmlFigure> =
        files.iter().take(MAPS).map(|(file, extents)| map(file, extents)).collect();
    match figures.is_empty() {
        true => String::new(),
        false => html(&Figures { figures, left_out }),
    }
}

fn map(file: &str, extents: &[&FileExtent]) -> HtmlFigure {
    let mut classes: Vec<FaultClass> =
        extents.iter().map(|extent| extent.extent.diagnosis.class()).collect();
    classes.sort();
    classes.dedup();
    let mapped = |extent: &&FileExtent| {
        let class = extent.extent.diagnosis.class();
        MappedExtent {
            from: extent.extent.start.as_f64(),
            to: extent.extent.start.saturating_add(extent.extent.length).as_f64(),
            class: class.word().to_owned(),
            what: extent.to_string(),
        }
    };
    let mapped: Vec<MappedExtent> = extents.iter().map(mapped).collect();
    let words: Vec<&str> = classes.iter().map(|class| class.word()).collect();
    let label = format!("Places of {} bad extents in {file}", extents.len());
    let size = extents.iter().filter_map(|extent| extent.file_size).max();
    let note = match size {
        Some(size) => format!(
            "All {} of the file in eight rows, from its first byte at the top left.",
            Quantity::Size.text(size.as_f64())
        ),
        None => "From the first byte to the end of the last bad extent, in eight rows.".into(),
    };
    HtmlFigure {
        title: format!("Bad extents in {file}"),
        note,
        html: extent_map(&label, size.map_or(0.0, Bytes::as_f64), &mapped, &words),
        wide: true,
    }
}

fn list(with: &[(&str, &VerifyResults)]) -> String {
    let row = |(label, extent): (&str, &FileExtent)| {
        let reread = extent.reread.map(|conclusion| conclusion.sentence()).unwrap_or_default();
        vec![
            HtmlCell::text(&extent.file),
            HtmlCell::number(&extent.extent.start.0.to_string()),
            HtmlCell::number(&extent.extent.length.0.to_string()),
            HtmlCell::text(extent.extent.diagnosis.class().word()),
            HtmlCell::text(&extent.extent.to_string()),
            HtmlCell::text(reread),
            HtmlCell::text(label),
        ]
    };
    let all =
        with.iter().flat_map(|(label, results)| results.extents().iter().map(|e| (*label, e)));
    let rows: Vec<_> = all.take(LISTED).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let not_shown: u64 = with.iter().map(|(_, results)| results.not_shown()).sum();
    let caption = match not_shown {
        0 => "Bad extents".to_owned(),
        n => format!("Bad extents, without {n} more that the report only counts"),
    };
    let names = ["file", "offset", "length", "class", "what", "read again", "job"];
    let mut names = head(&names, 7);
    names[1].number = true;
    names[2].number = true;
    format!(
        "<details><summary>List of the bad extents</summary>{}</details>",
        html(&HtmlTable { caption, head: names, rows })
    )
}
