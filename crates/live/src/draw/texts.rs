//! Findings, help, and the line of keys.

use ratatui_core::style::{Modifier, Style};

use super::pen::{Pen, wrap};
use crate::controls::LiveControls;
use crate::model::{LiveFinding, LiveModel, LiveSeverity};
use crate::page::LivePage;

/// Maximum number of findings in the overview.
const MAX_FINDINGS: usize = 4;

const KEYS: [(&str, &str); 11] = [
    ("q", "end the run now; its report covers the time until then"),
    ("Ctrl-C", "end the run like a signal (exit status 128)"),
    ("p, Space", "pause the view; the run continues"),
    ("Up, Down, k, j", "select a job or host; scroll"),
    ("PgUp, PgDn, Home, End", "move further"),
    ("Enter, Right", "show the selected host or job"),
    ("Esc, Left", "go back"),
    ("s, S", "sort by the next or previous column; r reverses"),
    ("f", "all findings, with evidence and remedy"),
    ("Ctrl-L", "draw the screen again"),
    ("?, h, F1", "this page"),
];

const REPLAY_KEYS: [(&str, &str); 13] = [
    ("q, Ctrl-C", "end the replay"),
    ("p, Space", "pause or continue; at the end, begin again"),
    ("Left, Right", "go back or forward by a 20th of the run"),
    (", .", "go back or forward by one interval, and pause"),
    ("0 to 9", "go to the beginning, or to 10 % to 90 % of the run"),
    ("+, -", "twice or half as fast"),
    ("Up, Down, k, j", "select a job or host; scroll"),
    ("PgUp, PgDn, Home, End", "move further"),
    ("Enter, Esc", "show the selected job or host; go back"),
    ("s, S", "sort by the next or previous column; r reverses"),
    ("f", "all findings, with evidence and remedy"),
    ("Ctrl-L", "draw the screen again"),
    ("?, h, F1", "this page"),
];

const ABOUT: &str = "Rates and latencies are those of the last interval (--eta-interval); curves and the strip of \
                     latencies show one column for each interval, the newest at the right. In the strip, each row is a \
                     range of latencies that begins at its label, and a denser character is a larger share of the I/Os \
                     of that interval. A device's queue is the mean number of I/Os in it; busy is the share of the time \
                     with at least one.";

const ABOUT_REPLAY: &str = "The result contains what each job did in windows of time, at most 256 for the whole run: an interval is \
                            such a window. Rates and latencies are those of the interval that is shown last; latencies \
                            are completion latencies, exact to a 16th. Curves and the strip of latencies show one column \
                            for each interval, the newest at the right. In the strip, each row is a range of latencies \
                            that begins at its label, and a denser character is a larger share of the I/Os of that \
                            interval. What a job has done so far includes its ramp time. The findings are those of the \
                            whole run. A result has no samples of devices.";

/// The line at the bottom.
pub(super) fn keys(pen: &mut Pen<'_>, model: &LiveModel, controls: &LiveControls) {
    let text = match (controls.is_replay(), controls.page()) {
        (_, LivePage::Findings | LivePage::Help) => "q end  Esc back  Up/Down scroll",
        (true, LivePage::Job(..)) => {
            "q end  Space pause  Left/Right seek  +/- speed  Esc back  f findings  ? help"
        }
        (true, _) => {
            "q end  Space pause  Left/Right seek  +/- speed  Enter detail  f findings  ? help"
        }
        (false, LivePage::Overview) if model.has_hosts() => {
            "q end the run  p pause  s sort  Enter host  f findings  ? help"
        }
        (false, LivePage::Overview | LivePage::Host(_)) => {
            "q end the run  p pause  s sort  Enter job  f findings  ? help"
        }
        (false, LivePage::Job(..)) => "q end the run  p pause  Esc back  f findings  ? help",
    };
    pen.text(0, 0, text, Style::new());
    pen.highlight(0);
}

/// The rows that the last findings take in the overview.
pub(super) fn last_findings_rows(model: &LiveModel, height: u16) -> u16 {
    let most = if height < 12 { 1 } else { MAX_FINDINGS };
    match model.findings.len() {
        0 => 0,
        n => u16::try_from(n.min(most) + 1).unwrap_or(0),
    }
}

/// The last findings, one line each.
pub(super) fn last_findings(pen: &mut Pen<'_>, model: &LiveModel) {
    let room = usize::from(pen.height().saturating_sub(1));
    if room == 0 {
        return;
    }
    pen.rule(0, &format!("Findings: {}", counts(model)));
    let first = model.findings.len().saturating_sub(room);
    for (finding, y) in model.findings[first..].iter().zip(1..) {
        let style = pen.look.severity(finding.severity);
        let x = pen.text(0, y, finding.severity.word(), style);
        pen.text(x + 1, y, &finding.what, Style::new());
    }
}

fn counts(model: &LiveModel) -> String {
    let all =
        [LiveSeverity::Error, LiveSeverity::Invalid, LiveSeverity::Suspect, LiveSeverity::Note];
    let count = |severity| model.findings.iter().filter(|found| found.severity == severity).count();
    let parts = all.into_iter().map(|severity| (count(severity), severity.word()));
    let parts: Vec<String> =
        parts.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    parts.join(", ")
}

/// All findings, the newest last.
pub(super) fn findings(pen: &mut Pen<'_>, model: &LiveModel, controls: &mut LiveControls) {
    let mut lines: Vec<(String, Style)> = Vec::new();
    if model.findings.is_empty() {
        let text = "None so far. Most findings need the results, so they are in the report.";
        lines.extend(wrap(text, pen.width()).into_iter().map(|line| (line, Style::new())));
    }
    for LiveFinding { severity, what, more } in &model.findings {
        let style = pen.look.severity(*severity);
        let text = format!("{} {what}", severity.word());
        lines.extend(wrap(&text, pen.width()).into_iter().map(|line| (line, style)));
        for text in more {
            let wrapped = wrap(text, pen.width().saturating_sub(4));
            lines.extend(wrapped.into_iter().map(|line| (format!("    {line}"), Style::new())));
        }
    }
    scrolled(pen, "Findings", &lines, controls);
}

pub(super) fn help(pen: &mut Pen<'_>, controls: &mut LiveControls) {
    let keys: &[(&str, &str)] = if controls.is_replay() { &REPLAY_KEYS } else { &KEYS };
    let plain = Style::new();
    let mut lines: Vec<(String, Style)> = Vec::new();
    for (key, does) in keys {
        let wrapped = wrap(does, pen.width().saturating_sub(23));
        for (index, line) in wrapped.into_iter().enumerate() {
            let key = if index == 0 { key } else { "" };
            lines.push((format!("{key:<22} {line}"), plain));
        }
    }
    lines.push((String::new(), plain));
    let about = if controls.is_replay() { ABOUT_REPLAY } else { ABOUT };
    lines.extend(wrap(about, pen.width()).into_iter().map(|line| (line, plain)));
    scrolled(pen, "Keys", &lines, controls);
}

fn scrolled(
    pen: &mut Pen<'_>,
    title: &str,
    lines: &[(String, Style)],
    controls: &mut LiveControls,
) {
    let fit = usize::from(pen.height().saturating_sub(1));
    controls.fits(fit, lines.len());
    let first = controls.position();
    pen.rule(0, title);
    let last = (first + fit).min(lines.len());
    if last < lines.len() {
        let more = format!("{} more lines", lines.len() - last);
        let width = pen.width();
        pen.right(0, 0, width, &more, Style::new().add_modifier(Modifier::BOLD));
    }
    for ((line, style), y) in lines[first.min(last)..last].iter().zip(1..) {
        pen.text(0, y, line, *style);
    }
}
