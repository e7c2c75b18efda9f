//! Which page the view shows, in which order, and what keys change about that.

use crate::keys::LiveKey;
use crate::model::LiveModel;
use crate::page::LivePage;
use crate::rows::{ListRow, LiveSort, rows};

/// What a key asks of the program around the view.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveWish {
    /// End the run, or the replay.
    End,
    /// Draw everything again.
    Redraw,
    /// Stop showing what is new, or continue. A replay pauses or continues; at its end, it begins again.
    Pause,
    /// Replay faster.
    Faster,
    /// Replay slower.
    Slower,
    /// Go back in the replay.
    Back,
    /// Go forward in the replay.
    Forward,
    /// Go back by one interval in the replay, and pause it.
    StepBack,
    /// Go forward by one interval in the replay, and pause it.
    StepForward,
    /// Go to this tenth of the replay.
    Jump(u8),
}

/// What the user has chosen.
#[derive(Debug, Clone)]
pub struct LiveControls {
    /// The page that is shown is the last one. Each has the position in its list or text.
    pages: Vec<(LivePage, usize)>,
    sort: LiveSort,
    reverse: bool,
    replay: bool,
    paused: bool,
    /// Rows of the list or text that fit on the screen.
    fit: usize,
    /// Rows of the list or text.
    total: usize,
}

impl LiveControls {
    /// The choices at the start. `replay`: keys move through the run.
    #[must_use]
    pub fn new(replay: bool) -> Self {
        LiveControls {
            pages: vec![(LivePage::Overview, 0)],
            sort: LiveSort::Order,
            reverse: false,
            replay,
            paused: false,
            fit: 1,
            total: 0,
        }
    }

    /// The page that is shown.
    #[must_use]
    pub fn page(&self) -> LivePage {
        self.pages.last().map_or(LivePage::Overview, |(page, _)| *page)
    }

    /// The selected row of the list, or the first line of the text that is shown.
    #[must_use]
    pub fn position(&self) -> usize {
        self.pages.last().map_or(0, |(_, at)| *at)
    }

    /// What the list is sorted by, and whether in reverse.
    #[must_use]
    pub fn sort(&self) -> (LiveSort, bool) {
        (self.sort, self.reverse)
    }

    /// Whether the view is paused.
    #[must_use]
    pub fn paused(&self) -> bool {
        self.paused
    }

    /// Notes whether a replay is paused, which does not only depend on keys.
    pub fn set_paused(&mut self, paused: bool) {
        self.paused = paused;
    }

    /// Whether the view shows a finished run.
    #[must_use]
    pub fn is_replay(&self) -> bool {
        self.replay
    }

    /// Notes how many of `total` rows of the list or text fit on the screen.
    pub fn fits(&mut self, fit: usize, total: usize) {
        (self.fit, self.total) = (fit.max(1), total);
        let last = match self.page() {
            LivePage::Findings | LivePage::Help => total.saturating_sub(fit),
            _ => total.saturating_sub(1),
        };
        if let Some((_, at)) = self.pages.last_mut() {
            *at = (*at).min(last);
        }
    }

    /// Changes the choices. Returns what the program has to do.
    pub fn press(&mut self, key: LiveKey, model: &LiveModel) -> Option<LiveWish> {
        match key {
            LiveKey::Char('q') => return Some(LiveWish::End),
            LiveKey::Redraw => return Some(LiveWish::Redraw),
            LiveKey::Char('p' | ' ') => {
                // A replay that is at its end begins again instead.
                self.paused = !self.paused && !self.replay;
                return Some(LiveWish::Pause);
            }
            key if self.replay && replay_wish(key).is_some() => return replay_wish(key),
            LiveKey::Char('?' | 'h') | LiveKey::F1 => self.toggle(LivePage::Help),
            LiveKey::Char('f') => self.toggle(LivePage::Findings),
            LiveKey::Char('s') | LiveKey::Tab => self.sort = self.sort.next(),
            LiveKey::Char('S') => self.sort = self.sort.previous(),
            LiveKey::Char('r') => self.reverse = !self.reverse,
            LiveKey::Enter | LiveKey::Right => self.enter(model),
            LiveKey::Escape | LiveKey::Backspace | LiveKey::Left => self.leave(),
            key => self.go(key),
        }
        None
    }

    /// Moves in the list or text.
    fn go(&mut self, key: LiveKey) {
        let (fit, last) = (self.fit, self.total.saturating_sub(1));
        let Some((_, at)) = self.pages.last_mut() else { return };
        *at = match key {
            LiveKey::Up | LiveKey::Char('k') => at.saturating_sub(1),
            LiveKey::Down | LiveKey::Char('j') => at.saturating_add(1).min(last),
            LiveKey::PageUp => at.saturating_sub(fit),
            LiveKey::PageDown => at.saturating_add(fit).min(last),
            LiveKey::Home | LiveKey::Char('g') => 0,
            LiveKey::End | LiveKey::Char('G') => last,
            _ => *at,
        };
    }

    /// Shows a page, or leaves it if it is shown.
    fn toggle(&mut self, page: LivePage) {
        if self.page() == page {
            self.leave();
        } else {
            self.pages.retain(|(other, _)| !matches!(other, LivePage::Help | LivePage::Findings));
            self.pages.push((page, 0));
        }
    }

    fn leave(&mut self) {
        if self.pages.len() > 1 {
            self.pages.pop();
        }
    }

    /// Shows the selected row's page.
    fn enter(&mut self, model: &LiveModel) {
        let page = self.page();
        let chosen =
            rows(model, page, self.sort()).get(self.position()).map(|row: &ListRow| row.page);
        if let Some(chosen) = chosen.filter(|chosen| *chosen != page) {
            self.pages.push((chosen, 0));
        }
    }
}

/// What a key asks of a replay.
fn replay_wish(key: LiveKey) -> Option<LiveWish> {
    Some(match key {
        LiveKey::Char('+' | '=') => LiveWish::Faster,
        LiveKey::Char('-') => LiveWish::Slower,
        LiveKey::Left => LiveWish::Back,
        LiveKey::Right => LiveWish::Forward,
        LiveKey::Char(',') => LiveWish::StepBack,
        LiveKey::Char('.') => LiveWish::StepForward,
        LiveKey::Char(digit) => LiveWish::Jump(u8::try_from(digit.to_digit(10)?).ok()?),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use fiord_types::{HostIndex, JobIndex};

    use super::*;

    fn jobs(names: &[&str]) -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), String::new())).collect()
    }

    fn press(controls: &mut LiveControls, model: &LiveModel, keys: &[u8]) -> Option<LiveWish> {
        crate::keys::keys(keys).into_iter().filter_map(|key| controls.press(key, model)).last()
    }

    #[test]
    fn enter_shows_the_selected_job_and_escape_goes_back() {
        let model = LiveModel::of_jobs("test".into(), jobs(&["b", "a", "c"]));
        let mut controls = LiveControls::new(false);
        controls.fits(10, 3);
        press(&mut controls, &model, b"j\r");
        assert_eq!(controls.page(), LivePage::Job(HostIndex(0), JobIndex(1)));
        press(&mut controls, &model, b"\r\x1b");
        assert_eq!(controls.page(), LivePage::Overview);
        press(&mut controls, &model, b"sg\r");
        assert_eq!(controls.sort(), (LiveSort::Name, false));
        assert_eq!(controls.page(), LivePage::Job(HostIndex(0), JobIndex(1)), "a is the first");
        press(&mut controls, &model, b"?");
        assert_eq!(controls.page(), LivePage::Help);
        press(&mut controls, &model, b"f");
        assert_eq!(controls.page(), LivePage::Findings);
        press(&mut controls, &model, b"f");
        assert_eq!(controls.page(), LivePage::Job(HostIndex(0), JobIndex(1)));
    }

    #[test]
    fn hosts_lead_to_their_jobs() {
        let mut model = LiveModel::of_hosts("test".into(), vec!["n1".into(), "n2".into()]);
        model.set_jobs(HostIndex(1), jobs(&["a", "b"]));
        let mut controls = LiveControls::new(false);
        controls.fits(10, 2);
        press(&mut controls, &model, b"\x1b[B\r");
        assert_eq!(controls.page(), LivePage::Host(HostIndex(1)));
        controls.fits(10, 2);
        press(&mut controls, &model, b"\x1b[F\r");
        assert_eq!(controls.page(), LivePage::Job(HostIndex(1), JobIndex(1)));
    }

    #[test]
    fn wishes() {
        let model = LiveModel::of_jobs("test".into(), Vec::new());
        let mut controls = LiveControls::new(false);
        assert_eq!(press(&mut controls, &model, b"q"), Some(LiveWish::End));
        assert_eq!(press(&mut controls, &model, b" "), Some(LiveWish::Pause));
        assert!(controls.paused());
        assert_eq!(press(&mut controls, &model, b"+\x1b[C5,."), None);
        let mut controls = LiveControls::new(true);
        assert_eq!(press(&mut controls, &model, b"+"), Some(LiveWish::Faster));
        assert_eq!(press(&mut controls, &model, b"\x1b[D"), Some(LiveWish::Back));
        assert_eq!(press(&mut controls, &model, b","), Some(LiveWish::StepBack));
        assert_eq!(press(&mut controls, &model, b"7"), Some(LiveWish::Jump(7)));
        // Nothing to select or to leave.
        assert_eq!(press(&mut controls, &model, b"\r\x1b\x1b[6~"), None);
        assert_eq!((controls.page(), controls.position()), (LivePage::Overview, 0));
    }
}
