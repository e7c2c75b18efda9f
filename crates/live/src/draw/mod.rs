//! Draws the view. Pure functions: the same model, choices and size give the same screen.
//!
//! | question | module |
//! |---|---|
//! | head, progress, rates and latencies | `summary` |
//! | which latencies how often over time | `heat` |
//! | devices | `devices` |
//! | the list of hosts or jobs | `list` |
//! | one job | `job` |
//! | findings and help | `texts` |
//! | texts and curves | `pen` |
//! | how numbers are formatted | `numbers` |

mod devices;
mod heat;
mod job;
mod list;
mod numbers;
mod pen;
mod summary;
mod texts;

use ratatui_core::buffer::Buffer;

use self::pen::Pen;
use crate::controls::LiveControls;
use crate::history::LiveHistory;
use crate::look::LiveLook;
use crate::model::LiveModel;
use crate::page::LivePage;

/// Minimum number of rows of the list on a page, with its head.
const MIN_LIST: u16 = 5;

/// Minimum and maximum number of rows of the heat strip with its title.
const MIN_HEAT: u16 = 4;
const MAX_HEAT: u16 = 14;

/// Draws a page into the whole buffer.
pub fn draw(model: &LiveModel, controls: &mut LiveControls, look: LiveLook, buffer: &mut Buffer) {
    let mut pen = Pen::new(buffer, look);
    let (width, height) = (pen.width(), pen.height());
    if width < 20 || height < 5 {
        pen.text(0, 0, "too small", ratatui_core::style::Style::new());
        return;
    }
    summary::head(&mut pen.part(0, 2), model, controls);
    let body = &mut pen.part(2, height - 3);
    match controls.page() {
        LivePage::Overview => overview(body, model, controls),
        LivePage::Host(host) => {
            if let Some(host) = model.hosts.get(host.get()) {
                summary::host(&mut body.part(0, 1), host);
                let jobs = host.jobs.len();
                let used = 1 + parts(&mut below(body, 1), &host.history, model, jobs);
                list::list(&mut below(body, used), model, controls);
            }
        }
        LivePage::Job(host, job) => {
            let jobs = model.hosts.get(host.get()).map(|host| &host.jobs);
            if let Some(job) = jobs.and_then(|jobs| jobs.get(job.get())) {
                job::job(body, job, model);
            }
        }
        LivePage::Findings => texts::findings(body, model, controls),
        LivePage::Help => texts::help(body, controls),
    }
    texts::keys(&mut pen.part(height - 1, 1), model, controls);
}

fn below<'a>(pen: &'a mut Pen<'_>, top: u16) -> Pen<'a> {
    let rows = pen.height().saturating_sub(top);
    pen.part(top, rows)
}

/// The whole run: rates, latencies, devices, the list and the last findings.
fn overview(pen: &mut Pen<'_>, model: &LiveModel, controls: &mut LiveControls) {
    let height = pen.height();
    let found = texts::last_findings_rows(model, height).min(height / 3);
    let rows = if model.has_hosts() { model.hosts.len() } else { model.jobs().count() };
    let devices = devices::rows(model).min(height.saturating_sub(found + MIN_LIST + 3));
    let top = parts(&mut pen.part(0, height - found - devices), &model.total, model, rows);
    let room = height - found - devices - top;
    devices::devices(&mut pen.part(top, devices), model);
    list::list(&mut pen.part(top + devices, room), model, controls);
    texts::last_findings(&mut pen.part(height - found, found), model);
}

/// Rates and, if there is room beside a list of `list` rows, the heat strip. Returns the rows they take.
fn parts(pen: &mut Pen<'_>, history: &LiveHistory, model: &LiveModel, list: usize) -> u16 {
    let rates = summary::rates(pen, history, model).min(pen.height());
    let left = pen.height() - rates;
    let list = u16::try_from(list).unwrap_or(u16::MAX).saturating_add(2).max(MIN_LIST);
    // A long list and the strip share the room.
    let heat = left.saturating_sub(list).max(left / 3).min(MAX_HEAT);
    let heat = if heat < MIN_HEAT { 0 } else { heat::rows(history, pen.width(), heat) };
    heat::heat(&mut pen.part(rates, heat), history, model.interval);
    rates + heat
}
