//! The head of all pages, and rates with latencies.

use fiord_stat::progress::{JobPhase, PROGRESS_PERCENTILES};
use fiord_types::{Dir, plural};
use ratatui_core::style::{Modifier, Style};

use super::numbers;
use super::pen::Pen;
use crate::controls::LiveControls;
use crate::history::{LiveHistory, LivePercentiles, LiveTick};
use crate::model::{LiveHost, LiveModel};

/// What runs, what it is doing, and how far it is.
pub(super) fn head(pen: &mut Pen<'_>, model: &LiveModel, controls: &LiveControls) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let x = pen.text(0, 0, &model.title, bold);
    let state = match (controls.paused(), controls.is_replay()) {
        (true, false) => format!("{} (view paused)", model.stage),
        (true, true) => format!("{} (paused)", model.stage),
        (false, _) => model.stage.clone(),
    };
    let x = pen.text(x + 2, 0, &state, Style::new());
    let jobs = counts(model);
    let room = pen.width().saturating_sub(x + 2);
    if usize::from(room) >= jobs.chars().count() {
        pen.right(x + 2, 0, room, &jobs, Style::new());
    }
    let share = model.done.map_or_else(|| "-".to_owned(), |done| format!("{:.1}%", done * 100.0));
    let elapsed = fiord_report::live::time_left(model.elapsed);
    let text = format!("{share:>6}  elapsed {elapsed}  left {}", numbers::left(model.eta));
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    let gauge = pen.width().saturating_sub(length + 2);
    if gauge >= 10 {
        pen.gauge(0, 1, gauge, model.done);
        pen.text(gauge + 1, 1, &text, Style::new());
    } else {
        pen.text(0, 1, text.trim_start(), Style::new());
    }
}

/// How many jobs there are, and what they are doing.
fn counts(model: &LiveModel) -> String {
    let count = |is: fn(JobPhase) -> bool| model.jobs().filter(|job| is(job.phase)).count();
    let all = model.jobs().count();
    let running = count(JobPhase::is_running);
    let failed = count(|phase| phase == JobPhase::Failed);
    let ended = count(|phase| matches!(phase, JobPhase::Exited | JobPhase::Reaped));
    let mut text = match model.has_hosts() {
        true => {
            let hosts = model.hosts.len();
            format!("{hosts} host{}, {all} job{}: {running} running", plural(hosts), plural(all))
        }
        false => format!("{all} job{}: {running} running", plural(all)),
    };
    if ended > 0 {
        text.push_str(&format!(", {ended} done"));
    }
    if failed > 0 {
        text.push_str(&format!(", {failed} FAILED"));
    }
    text
}

/// The line about a host.
pub(super) fn host(pen: &mut Pen<'_>, host: &LiveHost) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let x = pen.text(0, 0, &host.name, bold);
    let text = format!(
        "{}, {} of its work, left {}",
        host.state,
        numbers::percent(host.done),
        numbers::left(host.eta)
    );
    pen.text(x + 2, 0, &text, Style::new());
}

/// Rates and latencies of each direction in use, one row each. Returns the number of rows.
pub(super) fn rates(pen: &mut Pen<'_>, history: &LiveHistory, model: &LiveModel) -> u16 {
    if model.unified {
        row(pen, 0, "mixed", history, history.all_percentiles(), model, &|values| {
            values.iter().sum()
        });
        return 1;
    }
    let mut used: Vec<Dir> = Dir::ALL.into_iter().filter(|dir| history.uses(*dir)).collect();
    if used.is_empty() {
        used.push(Dir::Read);
    }
    let mut y = 0;
    for dir in used {
        let index = Dir::ALL.iter().position(|other| *other == dir).unwrap_or(0);
        row(pen, y, dir.name(), history, history.percentiles(dir), model, &|values| values[index]);
        y += 1;
    }
    y
}

/// One row: rate, IOPS, latencies and the curve of the IOPS.
fn row(
    pen: &mut Pen<'_>,
    y: u16,
    label: &str,
    history: &LiveHistory,
    latencies: Option<&LivePercentiles>,
    model: &LiveModel,
    choose: &dyn Fn(&[f32; 3]) -> f32,
) {
    let value =
        |of: fn(&LiveTick) -> &[f32; 3]| history.latest().map_or(0.0, |tick| choose(of(tick)));
    let (bw, iops) = (value(|tick| &tick.bw), value(|tick| &tick.iops));
    pen.text(0, y, label, Style::new().add_modifier(Modifier::BOLD));
    pen.right(6, y, 11, &numbers::rate(bw, model.style), Style::new());
    let x = 18;
    pen.right(x, y, 6, &numbers::count(iops, model.style), Style::new());
    let mut x = pen.text(x + 7, y, "IOPS", pen.look.label()) + 1;
    for (index, percentage) in PROGRESS_PERCENTILES.into_iter().enumerate() {
        let label = if percentage >= 100.0 { "max".to_owned() } else { format!("p{percentage}") };
        let width = u16::try_from(label.len()).unwrap_or(4) + 8;
        // The curve is worth more than the second percentile.
        if x + width > pen.width() || (index == 1 && pen.width() < 100) {
            continue;
        }
        let text = latencies.map_or_else(|| "-".to_owned(), |all| numbers::latency(all[index]));
        let at = pen.text(x + 1, y, &label, pen.look.label());
        pen.right(at, y, 7, &text, Style::new());
        x += width;
    }
    let room = pen.width().saturating_sub(x + 2);
    if room >= 4 {
        let values: Vec<f32> = history.last(room.into()).map(|tick| choose(&tick.iops)).collect();
        pen.bars((x + 2, y), (room, 1), &values);
    }
}
