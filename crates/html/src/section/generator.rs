//! What did the generator itself cost?

use fiord_stat::report::Ceiling;
use fiord_stat::shares::{LoopStage, StageShares};

use crate::chart::bars::{ShareRow, cell_bar, share_bars};
use crate::quantity::Quantity;

use super::element::{Figures, HtmlCell, HtmlFigure, HtmlTable, PageSection, head, html};
use super::view::RunView;

/// Maximum number of bars.
const MAX_BARS: usize = 24;

pub(crate) fn of_run(run: &RunView<'_>) -> Option<PageSection> {
    let mut rows = Vec::new();
    let mut reasons: Vec<String> = Vec::new();
    let mut ceilings = Vec::new();
    for machine in &run.machines {
        let Some(generator) = &machine.report.extras.generator else { continue };
        let name = |job: &str| match machine.name {
            "" => job.to_owned(),
            host => format!("{host}: {job}"),
        };
        if let Some(all) = generator.shares.as_ref().filter(|_| generator.jobs.len() != 1) {
            rows.push(row(name("all jobs"), all));
        }
        rows.extend(generator.jobs.iter().map(|job| row(name(&job.name), &job.shares)));
        reasons
            .extend(generator.why_none.iter().map(|why| format!("{} {why}", name("no samples:"))));
        ceilings.extend(generator.ceilings.iter().map(|ceiling| (name("group"), *ceiling)));
    }
    if rows.is_empty() && reasons.is_empty() && ceilings.is_empty() {
        return None;
    }
    let left_out = rows.len().saturating_sub(MAX_BARS);
    rows.truncate(MAX_BARS);
    let mut body = String::new();
    if !rows.is_empty() {
        let parts = LoopStage::ALL.map(stage);
        let bars = share_bars("Shares of the time of the threads of each job", &parts, &rows);
        let figure = HtmlFigure {
            title: "Time of the threads".into(),
            note: "Waiting is time for the storage; the rest is the generator and the kernel."
                .into(),
            html: bars,
            wide: true,
        };
        let left_out = match left_out {
            0 => String::new(),
            n => format!("{n} more jobs are not shown here."),
        };
        body += &html(&Figures { figures: vec![figure], left_out });
    }
    for reason in reasons.iter().take(3) {
        body += &format!("<p>{}</p>", crate::svg::Escaped(reason));
    }
    body += &table(&ceilings);
    Some(PageSection {
        id: "generator",
        title: "The generator itself".into(),
        about: String::new(),
        body,
    })
}

/// The words of the legend.
fn stage(stage: LoopStage) -> &'static str {
    match stage {
        LoopStage::Contents => "generating data",
        LoopStage::Submission => "submission, with the kernel",
        LoopStage::Waiting => "waiting",
        LoopStage::Completion => "recording",
        LoopStage::Rest => "everything else",
    }
}

fn row(name: String, shares: &StageShares) -> ShareRow {
    ShareRow { name, shares: LoopStage::ALL.map(|stage| shares.share(stage)).to_vec() }
}

fn table(ceilings: &[(String, Ceiling)]) -> String {
    if ceilings.is_empty() {
        return String::new();
    }
    let row = |(name, ceiling): &(String, Ceiling)| {
        vec![
            HtmlCell::text(&format!("{name} {}", ceiling.group_id)),
            HtmlCell::number(&Quantity::OpRate.text(ceiling.reached)),
            HtmlCell::number(&Quantity::OpRate.text(ceiling.iops)),
            HtmlCell::number(&Quantity::Percent.text(ceiling.share() * 100.0)),
            HtmlCell::html(cell_bar(ceiling.share(), 0)),
        ]
    };
    html(&HtmlTable {
        caption: "Rates if storage took no time".into(),
        head: head(&["group", "IOPS reached", "IOPS possible", "share", ""], 1),
        rows: ceilings.iter().map(row).collect(),
    })
}
