//! One job in detail.

use fiord_types::Dir;
use ratatui_core::style::{Modifier, Style};

use super::pen::{Pen, wrap};
use super::{heat, numbers, summary};
use crate::history::LiveTick;
use crate::model::{LiveJob, LiveModel};
use crate::rows::phase;

/// Draws everything about a job.
pub(super) fn job(pen: &mut Pen<'_>, job: &LiveJob, model: &LiveModel) {
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let x = pen.text(0, 0, &job.name, bold);
    let mut state = format!(
        "{}, {} done, left {}",
        phase(job.phase),
        numbers::percent(job.done),
        numbers::left(job.eta)
    );
    if let Some(behind) = job.behind {
        state.push_str(&format!(", {:.1} s behind its trace", behind.as_secs_f64()));
    }
    let style = if job.is_late() { pen.look.alarm() } else { Style::new() };
    pen.text(x + 2, 0, &state, style);
    let mut y = 1;
    let width = pen.width();
    let about = wrap(&job.about, width);
    let failure = job.failure.as_ref().map(|text| wrap(text, width)).unwrap_or_default();
    let alarm = pen.look.alarm();
    let lines =
        about.into_iter().filter(|line| !line.is_empty()).map(|line| (line, pen.look.label()));
    for (line, style) in
        lines.collect::<Vec<_>>().into_iter().chain(failure.into_iter().map(|line| (line, alarm)))
    {
        pen.text(0, y, &line, style);
        y += 1;
    }
    pen.text(0, y, &so_far(job, model), Style::new());
    y += 1;
    let rest = pen.height().saturating_sub(y);
    y += summary::rates(&mut pen.part(y, rest), &job.history, model);
    let left = pen.height().saturating_sub(y);
    let (curve, strip) = match left {
        0..=6 => (0, left),
        7..=15 => (2, left - 3),
        _ => (4, left - 10),
    };
    if left >= 7 {
        curves(&mut pen.part(y, left - strip), job, curve);
    }
    heat::heat(&mut pen.part(pen.height() - strip, strip), &job.history, model.interval);
}

/// What the job has done so far.
fn so_far(job: &LiveJob, model: &LiveModel) -> String {
    let used = Dir::ALL.into_iter().filter(|dir| job.totals.ios[*dir] > 0);
    let parts: Vec<String> = used
        .map(|dir| {
            let size = fiord_report::style::size(job.totals.bytes[dir], model.style);
            let ios = fiord_report::style::count(job.totals.ios[dir], model.style);
            format!("{} {size} in {ios} I/Os", dir.name())
        })
        .collect();
    match parts.is_empty() {
        true => "So far: nothing measured".to_owned(),
        false => format!("So far: {}", parts.join(", ")),
    }
}

/// IOPS and, if there is room, bandwidth over time.
fn curves(pen: &mut Pen<'_>, job: &LiveJob, height: u16) {
    let width = pen.width();
    let of = |value: fn(&LiveTick) -> f32| -> Vec<f32> {
        job.history.last(width.into()).map(value).collect()
    };
    let most = |values: &[f32]| values.iter().copied().fold(0.0, f32::max);
    pen.rule(0, "IOPS");
    let iops = of(LiveTick::all_iops);
    pen.bars((0, 1), (width, height), &iops);
    if pen.height() > 2 * height + 1 {
        pen.rule(
            height + 1,
            &format!(
                "Bandwidth, at most {}",
                numbers::rate(most(&of(LiveTick::all_bw)), Default::default())
            ),
        );
        pen.bars((0, height + 2), (width, height), &of(LiveTick::all_bw));
    }
}
